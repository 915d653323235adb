"""`bap microdata path`, and what `bap path`, `compare` and `plot` do with a study or its folder."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from bap_cli.app import Json, TimeLimit
from bap_cli.outputs import print_json
from bap_cli.progress import Progress
from bap_cli.records.opening import Opened, StudyOrFolder, Workers, called, choice_words, opened
from bap_lp.support.display import clean, equals, percent
from bap_lp.support.rational import InputError, public

_FEW = 12  # of the records that are published
_ROWS = 40  # lines shown before the rest is only counted


def path_command(
    file: StudyOrFolder,
    in_model: Annotated[bool, typer.Option("--no-held-out", help="Leave out what held-out records say.")] = False,
    workers: Workers = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
) -> None:
    """Find the best release for every lambda, in the model and on held-out records."""
    from bap_sdc.records.path import study_path

    with Progress("reading") as progress:
        found = opened(file, progress)
        with called(found.source, None):
            path = study_path(
                found.study, workers="all" if workers is None else workers, progress=progress, time_limit=time_limit
            )
            if not in_model:
                path = path.audited(progress=progress)
    if as_json:
        print_json(path.document())
    else:
        show_path(path, found)


def show_path(path: Any, found: Opened) -> None:
    """The lines as a table, and where the lambdas with a name lie."""
    from bap_cli.terminal import console, say, show_rows

    study, out = path.study, console()
    say(out, clean(study.title or found.source, 200))
    audited, rows = any(line.audit for line in path.lines), path.rows()
    for row in rows:
        row["Eve gains"] = percent(row["Eve gains"])
    out.print()
    show_rows(out, rows, _ROWS)
    out.print()
    say(out, "Eve gains: how much better off she is than without a release, as a share of her risk without one;")
    informed = " Informed: she knows the shares of the held-out records." if audited else ""
    say(out, f"of several Eves the one who gains most.{informed}")
    say(
        out, "Gains are averages: what `bap microdata solve` says of a line tells which records still make her certain."
    )
    named = [(found.lam, found.choice)] if found.eve_gain is None else []
    asked_for = None if found.eve_gain is not None else found.lam
    named += [(name, choice_words(name, None, True)) for name in ("calibrated", "as is") if name != asked_for]
    for lam, words in named:
        _where(out, path, lam, words)
    usual = Fraction(1, 50)
    for gain in dict.fromkeys([usual if found.eve_gain is None else found.eve_gain, usual]):
        try:
            line = path.within_gain(gain)
        except InputError:
            continue
        share = f"{100 * float(gain):.3g}%"
        first = f"Line {1 + path.lines.index(line)} is the first on which no Eve gains more than {share}"
        chosen = "chooses it" if path.whole else "looks between it and the one before"
        say(out, f"{first}: --eve-gain {share} {chosen}.")
    if path.whole:
        say(
            out,
            "Every line is exact. A --lambda between its start and the next one solves for it, with proof.",
        )
    else:
        say(out, f"Each point is proved. Between two of them the least R_A is known up to {float(path.width):.2g}.")


def _where(out: Any, path: Any, lam: Any, words: str) -> None:
    from bap_cli.terminal import say
    from bap_sdc.records.optimum.risks import record_lam

    try:
        price = public(record_lam(path.study.program, lam))
    except InputError as error:
        say(out, f"lambda = {error.value!r} {error.rule}.")
        return
    line = 1 + path.lines.index(path.line(price))
    say(out, f"{equals('lambda', price)} ({words}) is on line {line} of {len(path.lines)}.")


def compare_study(file: str, lam: str | None, as_json: bool) -> None:
    """The optimum of a study next to what people would have used instead."""
    from bap_cli.records.tables import show_releases

    with Progress("reading") as progress:
        found = opened(file, progress, lam)
        with called(found.source, lam):
            solution = found.solved(progress)
        progress("comparing")
        comparison = solution.compare()
    if as_json:
        print_json(comparison.document())
    else:
        show_releases(comparison, found.study.title or found.source, found.choice)


def explain_study(file: str, lam: str | None) -> None:
    """The verdict on a study, its optimum, and the path that it lies on, in sentences."""
    from bap_cli.terminal import console, say, say_lines, show_rows

    with Progress("reading") as progress:
        found = opened(file, progress, lam)
        with called(found.source, lam):
            solution = found.solved(progress)
            path = found.study.path(workers="all", progress=progress)
    out = console()
    say(out, clean(found.study.title or found.source, 200))
    say_lines(out, map(clean_line, solution.verdict().words()))
    out.print()
    say(out, f"{equals('lambda', solution.lam)}, {found.choice}")
    say_lines(out, map(clean_line, solution.summary().splitlines()))
    out.print()
    show_rows(out, solution.rows(_FEW))
    out.print()
    if path.whole:
        line = path.line(solution.lam)
        say(out, f"This is line {1 + path.lines.index(line)} of {len(path.lines)} of the path: `bap path` lists them.")
    say_lines(out, path.summary().splitlines()[1:])


def clean_line(line: str) -> str:
    return clean(line, 1000)


def plot_study(file: str, lam: str | None, kind: str, out: Path) -> None:
    """The frontier of a study with its alternatives, or its path in the model and on held-out records."""
    from bap_cli.pictures import FORMATS, check_file, drawing, save

    check_file(out, FORMATS)
    if kind not in ("map", "path"):
        raise InputError("--kind", kind, "is not drawn for a study: map and path are")
    with Progress("reading") as progress, drawing():
        from bap_sdc.records import plots

        found = opened(file, progress, lam)
        with called(found.source, lam):
            path = found.study.path(workers="all", progress=progress)
            if kind == "path":
                ax = plots.frontier(path.audited(progress=progress))
            else:
                solution = found.solved(progress)
                progress("comparing")
                ax = plots.release_map(solution.compare(()), path=path)
        save(ax.figure, out)
