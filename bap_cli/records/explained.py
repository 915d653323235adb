"""`bap explain` of a study: what is asked, what is released and why, and what would change the answer.

Every sentence is read off the result. At a released record s and known columns z a guess j costs Eve
sum_x p(x) q(s|x) L(secret(x), j); where two guesses cost the same, she is indifferent: the optimum pools records just
so far. The line of the path that lam lies on says how far lam may move.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bap_cli.commands.explain import Chapter, equal, short, show_chapters
from bap_cli.progress import Progress
from bap_cli.records.opening import Opened, called, opened
from bap_cli.terminal import console
from bap_lp.model.display import clean, counted, listed, percent, person
from bap_lp.rational import Array, is_exact, public
from bap_sdc.records.optimum.risks import as_is_of, extremes_of, weighted_risk
from bap_sdc.records.solution import StudySolution

_NAMED = 5  # record types and changes that are named one by one


def explain_study(file: str, lam: str | None) -> None:
    """Print the chapters about a study or its folder."""
    with Progress("reading") as progress:
        found = opened(file, progress, lam)
        with called(found.source, lam):
            solution = found.solved(progress)
            path = found.study.path(workers="all", progress=progress)
    chapters = [
        Chapter("In plain words", tuple(solution.verdict().words())),
        Chapter("What is asked", tuple(_question(found, solution))),
        Chapter("Which records are changed, and how", tuple(_changes(solution))),
        Chapter("Why so far and no further", tuple(_indifferent(solution))),
        Chapter("What would change the answer", tuple(_path(solution, path))),
    ]
    show_chapters(console(), found.study.title or found.source, chapters)


def _question(found: Opened, solution: StudySolution) -> Iterator[str]:
    study = solution.study
    columns = listed([t.column for t in study.targets], " and ")
    yield f"Every record is published with {columns}, as it is or changed at random by a rule that everybody may know."
    for spy in study.spies:
        knows = listed([study.names[k] for k in spy.knows], " and ") if spy.knows else "nothing about the person"
        how = f" She reports probabilities ({spy.score} loss)." if spy.score else ""
        yield f"{person(spy.name, start=True)} wants {clean(study.names[spy.secret])} and knows {knows}.{how}"
    (bob, full), (bob_null, null) = extremes_of(study.program)
    told = as_is_of(study.program)[1]
    rows = [("the columns as they are", bob, told), ("nothing", bob_null, null), ("whole records", bob, full)]
    for what, ours, theirs in rows:
        eve = public(weighted_risk(study.program, theirs))
        yield f"If Alice published {what}: {equal('R_B', public(ours))} and {equal('R_E', eve)}."
    yield f"She minimises R_A = R_B - lambda R_E at {equal('lambda', solution.lam)}, {found.choice}."


def _changes(solution: StudySolution) -> Iterator[str]:
    study = solution.study
    types = study.prior.types
    row, signal, q = solution.channel.rows(types)
    told = solution.channel.decode(signal)
    same = (told == types[row][:, list(study.published)]).all(axis=1)
    if same.all():
        yield "None: every record is published as it is."
        return
    mass = study.program.p[row] * q if is_exact(q) else np.asarray(study.program.p, dtype=float)[row] * q
    moved = np.unique(row[~same])
    yield f"{len(moved)} of {counted(len(types), 'record type')} are changed, some of them only now and then."
    names, labels = study.state_names(), [study.columns[k].labels for k in study.published]
    entries = np.flatnonzero(~same)
    order = sorted(entries.tolist(), key=lambda e: -float(mass[e]))
    for e in order[:_NAMED]:
        new = [
            f"{t.column}={labels[j][told[e, j]]}"
            for j, (t, k) in enumerate(zip(study.targets, study.published, strict=True))
            if told[e, j] != types[row[e], k]
        ]
        name = clean(names[row[e]], 200)
        yield f"“{name}” is published with {listed(new, ' and ')} in {percent(q[e])} of the cases."
    if len(order) > _NAMED:
        yield f"{counted(len(order) - _NAMED, 'more change')} like these are in mechanism.json."


def _indifferent(solution: StudySolution) -> Iterator[str]:
    study = solution.study
    for spy, risk, null in zip(study.spies, solution.eves, solution.nulls, strict=True):
        who = person(spy.name)
        how = "exactly" if solution.exact else "up to rounding"
        if any(solution.changed) and not spy.informed:
            tied, all_ = _ties(solution, spy)
            yield (
                f"At {tied} of {counted(all_, 'combination')} of a published record and what {who} knows, {who} is "
                f"{how} indifferent between two guesses: records are changed until then, since more would cost the "
                "analyst and change no guess."
            )
        if risk == null:
            yield f"So {who} guesses no better than without a release."
        elif null:
            gain = 1 - float(risk) / float(null)
            yield f"{person(spy.name, start=True)} is {percent(gain)} better off than without a release."


def _ties(solution: StudySolution, spy: Any) -> tuple[int, int]:
    """Combinations (s, z) with two best guesses of the same cost, and all that occur."""
    study = solution.study
    types = study.prior.types
    row, signal, q = solution.channel.rows(types)
    exact = solution.exact and is_exact(q)
    p: Array = study.program.p if exact else np.asarray(study.program.p, dtype=float)
    loss = spy.loss if exact else np.asarray(spy.loss, dtype=float)
    z = np.unique(study.known(types, spy), return_inverse=True)[1]
    seen, at = np.unique(z[row] * solution.channel.signals + signal, return_inverse=True)
    costs = np.zeros((len(seen), loss.shape[1]), dtype=object if exact else float)
    np.add.at(costs, at, (p[row] * q)[:, None] * loss[types[row, spy.secret]])
    least = np.sort(costs, axis=1)[:, :2]
    if least.shape[1] < 2:
        return 0, len(seen)
    slack = 0 if exact else 1e-12 * float(abs(costs).max(initial=0.0))
    return int(sum(bool(b - a <= slack) for a, b in least)), len(seen)


def _path(solution: StudySolution, path: Any) -> Iterator[str]:
    line = path.line(solution.lam)
    k = path.lines.index(line)
    if path.whole:
        to = "on" if line.end == math.inf else f"to {short(line.end)}"
        best = f"This release is the best one for every lambda from {short(line.start)} {to}"
        yield f"{best}: line {k + 1} of {len(path.lines)}."
    for other, words in ((k - 1, "The line before"), (k + 1, "The next line")):
        if path.whole and 0 <= other < len(path.lines):
            near = path.lines[other]
            bob = float(near.risks.bob - line.risks.bob)
            eve = float(near.risks.eve - line.risks.eve)
            yield (
                f"{words} costs the analyst {abs(bob):.3g} {'less' if bob < 0 else 'more'} and leaves Eve "
                f"{abs(eve):.3g} {'less' if eve < 0 else 'more'} of her risk."
            )
    if len(path.lines) == 1:
        yield "One release is the best for every lambda."
    yield "`bap microdata path` lists all lines, and what held-out records say about them."
