"""What a report shows, as one JSON document: numbers exact, labels as text, every price of privacy at once.

The optimum is constant between two breakpoints of lambda and R_A = R_B - lambda R_E, so the pieces of the path are all
a page needs to answer for every lambda.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bap_cli.report.conditions import conditions_for_people
from bap_cli.report.page_tables import pair, proof_tables, release_lines, slider
from bap_cli.report.sign import asked_uniqueness, signing
from bap_lp.conditions.given import Conditions
from bap_lp.model.agents import Agent, values_of
from bap_lp.model.calibration import extremes, lam_of
from bap_lp.model.evaluated import AgentDecisions, certainties
from bap_lp.model.evaluation import evaluate
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem, own_beliefs
from bap_lp.model.reports import reports
from bap_lp.questions.optimum.solution import Solution
from bap_lp.questions.optimum.solving import solve
from bap_lp.questions.path.frontier import edge_points
from bap_lp.questions.path.pieces import Path, lambda_path
from bap_lp.questions.path.region import attainable_region
from bap_lp.releases import compare
from bap_lp.support.display import both, clean, counted, fraction
from bap_lp.support.rational import Array, InputError, public, text
from bap_lp.support.risks import Number, Risks

LABEL = 200  # characters of a label that are shown
_ROWS = 40  # states listed one by one; more are grouped by what the mechanism does with them
_NAMED = 6  # states of a group that are named
_SIGNALS = 24
_BRIEF = 9  # characters of a fraction next to a bar
_SHARES = 8  # states of a posterior that are listed
_DETAILS = 2_000_000  # characters of JSON for mechanisms
_PIECES = 1000
_JOINER = "\N{ZERO WIDTH JOINER}"

News = Callable[..., None]  # words, (pieces, lam) or (iteration, bound, value)


class _TooMany(Exception):
    pass


@dataclass(frozen=True)
class _Optimum:
    """What a page shows from lam = start to end: a piece of a path has the same fields."""

    start: Number
    end: Number
    risks: Risks
    mechanism: Mechanism


def report_document(
    problem: Problem,
    lam: Any,
    choice: str,
    file: str,
    conditions: Conditions | None = None,
    progress: News = lambda *_: None,
    best: Solution | None = None,
) -> Any:
    """The document of a report that opens at lam; `choice` says in words how lam was chosen.

    `best` is the solution to show, if there is one already; other lambdas are shown only if the path has the same one.

    If there are too many pieces, or the path cannot be computed under the conditions, the page is `partial`: it shows
    the optimum at this lam only.
    """
    given, wanted = best, public(lam_of(problem, lam))
    best = given or solve(problem, wanted, progress=progress, conditions=conditions)
    problem, wanted, exact = best.problem, best.lam, best.exact
    free = _path(problem, None, progress)
    path = free if best.conditions is None else _path(problem, conditions, progress)
    if path is not None and given is not None and path.piece(wanted).mechanism != given.mechanism:
        path = None
    shown: Sequence[Any] = [_Optimum(best.lam, best.lam, best.risks, best.mechanism)]
    if path is not None:
        shown = path.pieces
    here = 0 if path is None else path.pieces.index(path.piece(wanted))
    progress("usual releases")
    comparison = compare(problem, wanted, best)
    region, whole = _region(free, progress)
    calibrated = _calibrated(problem)
    stops, marks = ([wanted], []) if path is None else slider(path, wanted, calibrated)
    progress("explanations")
    details = _details(problem, shown, here)
    alone = asked_uniqueness(problem, shown, path is not None and best.conditions is None)
    tie = None if calibrated is None else text(calibrated)
    full, null = (pair(*map(public, both)) for both in extremes(problem))
    edge = path or free
    curved = edge_points(problem) if problem.reporting else []
    drawn = curved if edge is None else [p.risks for p in edge.pieces]
    ideal = None
    if problem.misaligned and free is not None:
        ideal = pair(free.pieces[0].risks.bob, free.pieces[-1].risks.eve)
    return {
        "title": label(problem.title),
        "exact": exact,
        "file": os.path.basename(file.rstrip("/")),  # readers of a page do not need the folders of its author
        "tolerance": float(best.gap) if path is None else path.tolerance,
        "method": best.method if path is None else path.method,
        "partial": path is None,
        "conditions": _conditions(best),
        "beliefs": label(own_beliefs(problem)) if problem.misaligned else None,
        "problem": _problem(problem),
        "sign": signing(problem),
        "made": None,
        "lambda": {"wanted": text(wanted), "choice": choice, "calibrated": tie},
        "full": full,
        "null": null,
        "corner": ideal,
        "region": [[float(r.bob), float(r.eve)] for r in region],
        "whole": whole,
        "frontier": [[float(risks.bob), float(risks.eve)] for risks in drawn],
        "stops": [text(s) for s in stops],
        "marks": marks,
        "pieces": [
            {"start": text(p.start), "end": None if p.end == math.inf else text(p.end), "bob": text(p.risks.bob),
             "eve": text(p.risks.eve), "unique": unique, "detail": detail}
            for p, detail, unique in zip(shown, details, alone, strict=True)
        ],
        "releases": release_lines(problem, comparison),
        "omitted": [[name, label(reason)] for name, reason in comparison.omitted],
        "proof": None if path is None or best.conditions or problem.misaligned else proof_tables(problem, path),
    }  # fmt: skip


def label(words: str) -> str:
    """Other people's text, printable and not too long; joiners stay, because they hold emoji together."""
    return _JOINER.join(clean(part, LABEL) for part in words[: LABEL + 1].split(_JOINER))


def _path(problem: Problem, conditions: Conditions | None, progress: News) -> Path | None:
    """The whole path, unless it has too many pieces or cannot be computed under the conditions."""

    def count(pieces: int, lam: float) -> None:
        if pieces > _PIECES:
            raise _TooMany
        progress(pieces, lam)

    try:
        return lambda_path(problem, progress=count, conditions=conditions)
    except (_TooMany, InputError):
        return None


def _region(path: Path | None, progress: News) -> tuple[Sequence[Risks], bool]:
    if path is None:
        return (), False

    def told(count: int, _: float) -> None:
        progress(f"attainable region, {count} corners")

    return attainable_region(path.problem, path, most=_PIECES, progress=told)


def _conditions(best: Solution) -> dict[str, Any] | None:
    """The conditions in words, and what they cost at the lam of the solution."""
    if best.conditions is None:
        return None
    price: Any = best.price_of_conditions
    words = label(best.conditions.words())
    cost = None if price is None else float(price)
    costs = [label(one.summary()) for one in best.costs()]
    plain = [label(line) for line in conditions_for_people(best.problem, best.conditions)]
    price = None if price is None else both(price)
    return {"words": words, "plain": plain, "price": price, "cost": cost, "costs": costs}


def _calibrated(problem: Problem) -> Number | None:
    try:
        return public(lam_of(problem, "calibrated"))
    except InputError:
        return None


def _problem(problem: Problem) -> dict[str, Any]:
    def agent(one: Agent, several: bool) -> dict[str, Any]:
        def table(values: Array | None) -> list[list[str]] | None:
            return values if values is None else [[fraction(v) for v in row] for row in public(values[:_ROWS]).tolist()]

        weight = both(public(one.weight)) if several else None
        known = values_of(one.knows, one.knowledge)
        name = label(one.name) + ("" if known is None else f" (who knows which of {counted(len(known), 'case')} holds)")
        own = {"name": name, "weight": weight, "decisions": _labels(one.decisions or ())}
        own["views"] = None if known is None else [label(f"{one.name}, {z}") for z in known]
        own["reports"] = one.loss if reports(one) else None
        if reports(one):
            named = dict.fromkeys(problem.states if one.secret is None else one.secret)
            return own | {"decisions": _labels([*named]), "loss": None, "harm": None, "prior": None}
        prior = None if one.prior is None else [fraction(v) for v in public(one.prior[:_ROWS]).tolist()]
        return own | {"loss": table(one.loss), "harm": table(one.harm), "prior": prior}

    ranked = sorted(range(len(problem.states)), key=lambda x: -problem.p[x])[:_SHARES]
    return {
        "count": len(problem.states),
        "likely": [[label(problem.states[x]), _brief(public(problem.p[x])).partition(" (")[0], x] for x in ranked],
        "states": _labels(problem.states[:_ROWS]),
        "prior": [fraction(v) for v in public(problem.p[:_ROWS]).tolist()],
        "theta": problem.theta and _labels(problem.theta.labels),
        "bobs": [agent(a, len(problem.bobs) > 1) for a in problem.bobs],
        "eves": [agent(a, len(problem.eves) > 1) for a in problem.eves],
        "empty": _labels(problem.null_states[:_NAMED]),
        "emptyCount": len(problem.null_states),
    }


def _labels(names: Sequence[str]) -> list[str]:
    return [label(name) for name in names]


def _details(problem: Problem, shown: Sequence[Any], here: int) -> list[Any]:
    """What each mechanism does and means; nearest the wanted lam first, until the page is large enough."""
    out: list[Any] = [None] * len(shown)
    size = 0
    for k in sorted(range(len(out)), key=lambda k: abs(k - here)):
        detail = _detail(problem, shown[k].mechanism)
        size += len(json.dumps(detail))
        if size > _DETAILS:
            break
        out[k] = detail
    return out


def _detail(problem: Problem, mechanism: Mechanism) -> dict[str, Any]:
    evaluation = evaluate(problem, mechanism)
    told = mechanism.signals[:_SIGNALS]
    groups: dict[Any, list[int]] = {}
    for x, row in enumerate(mechanism.q[:, :_SIGNALS].tolist()):
        groups.setdefault(x if len(problem.states) <= _ROWS else tuple(row), []).append(x)
    shown = sorted(groups.values(), key=lambda m: m[0] if len(problem.states) <= _ROWS else -len(m))[:_ROWS]
    ratio, places = mechanism.max_ratio, {name: i for i, name in enumerate(problem.bob_decisions)}
    numbers = {name: x for x, name in enumerate(problem.states)}
    return {
        "agents": [text(v) for v in evaluation.agents.values()],
        "certain": [text(one.probability) for one in certainties(problem, mechanism)],
        "signals": _labels(told),
        "columns": [places.get(name, -1) for name in told],
        "hiddenSignals": len(mechanism.signals) - len(told),
        "rows": [
            {"states": _labels([problem.states[x] for x in m[:_NAMED]]), "more": max(len(m) - _NAMED, 0),
             "at": m[:_NAMED],
             "cells": [[_brief(v).partition(" (")[0], float(v)] for v in public(mechanism.q[m[0], :_SIGNALS]).tolist()]}
            for m in shown
        ],
        "hiddenRows": len(groups) - len(shown),
        "epsilon": None if ratio == math.inf else [fraction(ratio), mechanism.epsilon],
        "cards": [
            {
                "signal": label(s.signal),
                "probability": both(s.probability),
                "share": float(s.probability),
                "column": places.get(s.signal, -1),
                "data": _shares(s.posterior, numbers),
                "theta": s.theta_posterior and _shares(s.theta_posterior, {}),
                **{role: [_decided(d) for d in s.decisions if d.role == role] for role in ("bob", "eve")},
            }
            for s in evaluation.signals[:_SIGNALS]
        ],
    }  # fmt: skip


def _shares(posterior: dict[str, Number], numbers: dict[str, int]) -> dict[str, Any]:
    ranked = sorted(((v, k) for k, v in posterior.items() if v > 0), key=lambda pair: -pair[0])
    listed = [[label(k), _brief(v), float(v), numbers.get(k)] for v, k in ranked[:_SHARES]]
    return {"listed": listed, "others": len(ranked[_SHARES:])}


def _brief(value: Number) -> str:
    """A number next to a bar: a short fraction with three digits, or three digits alone."""
    exact, digits = fraction(value), f"{float(value):.3g}"
    if isinstance(value, float) or exact == digits:
        return digits
    return f"{exact} ({digits})" if len(exact) <= _BRIEF else f"≈ {digits}"


def _decided(one: AgentDecisions) -> list[Any]:
    """An agent's name and all decisions that are best for it."""
    return [label(one.agent), _labels(one.decisions[:_NAMED]), max(len(one.decisions) - _NAMED, 0)]
