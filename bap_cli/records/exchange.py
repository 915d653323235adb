"""`bap microdata compare` and `publish`: what others made, and what others get."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bap_cli.app import Json, Lambda
from bap_cli.outputs import print_json
from bap_cli.progress import Progress
from bap_cli.records.opening import StudyOrFolder, called, opened
from bap_lp.model.display import clean, equals
from bap_lp.rational import InputError


def compare_command(
    file: StudyOrFolder,
    channel: Annotated[
        list[str] | None,
        typer.Option(metavar="[COLUMN=]CSV", help="A PRAM matrix, as pram(pd = ) of sdcMicro takes it; repeat it."),
    ] = None,
    lam: Lambda = None,
    as_json: Json = False,
) -> None:
    """Put the optimum next to the usual releases, or next to a release by PRAM matrices of yours."""
    from bap_cli.records.explore import compare_study

    if not channel:
        return compare_study(str(file), lam, as_json)
    from bap_cli.terminal import console, plain_table, put, say
    from bap_sdc.records.release.pram import foreign_release

    with Progress("reading") as progress:
        found = opened(file, progress, lam)
        matrices = _matrices(found.study, channel)
        with called(found.source, lam):
            solution = found.solved(progress)
        progress("comparing")
        given = foreign_release(solution, matrices)
    if as_json:
        return print_json(given.document())
    out = console()
    say(out, f"{clean(found.study.title or found.source, 200)} at {equals('lambda', solution.lam)}.")
    table = plain_table("release", "R_B", "R_E", "R_A", right=range(1, 4))
    best = ("optimum", solution.risks.bob, solution.risks.eve, solution.value)
    for name, *numbers in (best, ("given", given.risks.bob, given.risks.eve, given.alice)):
        table.add_row(str(name), *(f"{float(v):.6f}" for v in numbers))
    put(out, table)
    kind = "exactly" if given.risks.exact and solution.exact else "in floats"
    least = "No release is better than the given one by more" if given.distance else "No release is better"
    say(out, f"{least}: the distance to the proved bound is {equals('', given.distance).removeprefix(' = ')} ({kind}).")
    return None


def _matrices(study: Any, given: list[str]) -> dict[str, Any]:
    """The matrix of each column; without a name the file is that of the only published column."""
    from bap_sdc.records.release.pram import read_pram

    published = [target.column for target in study.targets]
    out: dict[str, Any] = {}
    for option in given:
        name = next((c for c in sorted(published, key=len, reverse=True) if option.startswith(f"{c}=")), None)
        if name is None and len(published) > 1:
            listed = ", ".join(published)
            raise InputError("--channel", option, f"must be COLUMN=CSV with one of the published columns {listed}")
        column = name or published[0]
        if column in out:
            raise InputError("--channel", option, "is the second matrix of this column")
        out[column] = read_pram(Path(option[len(name) + 1 :] if name else option), study[column])
    return out
