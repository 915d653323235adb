"""`bap tiers`: releases for several circles of users that refine each other, as tables or a JSON document."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from bap_cli import inputs, outputs
from bap_cli.app import Floats, Json
from bap_cli.outputs import command_line
from bap_cli.progress import Progress
from bap_cli.show import channel, check_command
from bap_cli.terminal import console, say, say_lines, show_rows
from bap_lp.files.bundles import bundle_files
from bap_lp.files.certificates import load_certificate
from bap_lp.files.mechanisms import mechanism_document
from bap_lp.files.problems import ProblemFile
from bap_lp.program.several import tiers_of
from bap_lp.proof.binding import other_several
from bap_lp.proof.certificate import Verdict
from bap_lp.proof.checking import verify
from bap_lp.questions.tiers import TierSolution
from bap_lp.questions.tiers import tiers as nested
from bap_lp.support.display import clean, fraction
from bap_lp.support.documents import dumps, source_name
from bap_lp.support.rational import InputError, text
from bap_lp.support.writing import write_bundle


def tiers(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Problem files of the tiers, the public one first.")
    ],
    lam: Annotated[
        list[str] | None,
        typer.Option("--lambda", metavar="L", help="For all tiers, or given once per tier; the files' own by default."),
    ] = None,
    weight: Annotated[
        list[str] | None, typer.Option(metavar="W", help="How much a tier counts; given once per tier, 1 by default.")
    ] = None,
    use_floats: Floats = False,
    as_json: Json = False,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write a bundle, and mechanism-1.json, ..., there.")
    ] = None,
    check: Annotated[
        str | None, typer.Option(metavar="CERTIFICATE", help="Do not solve: check this certificate with arithmetic.")
    ] = None,
    allow_float: Annotated[
        bool, typer.Option("--allow-float", help="With --check: accept a float certificate of exact problems.")
    ] = False,
) -> None:
    """Find releases that refine each other: a public file, a research file, a secure room.

    The users of a tier see its signal and those of all tiers before it. The sum over the tiers of weight times R_A is
    minimised, proved, and compared with releases that do not refine each other.
    """
    outputs.check_folder(out)
    loaded = [inputs.load(file) for file in files]
    given = _per_tier(lam, "--lambda", len(files))
    prices = [inputs.number(one, own) for one, own in zip(loaded, given, strict=True)]
    shares = [1 if own is None else own for own in _per_tier(weight, "--weight", len(files))]
    if check is not None:
        _check(loaded, prices, shares, check, allow_float)
        return
    with _named(loaded), outputs.conflict_in(out), Progress("tiers"):
        conditions = [one.conditions for one in loaded]
        found = nested([one.problem for one in loaded], prices, shares, False if use_floats else None, conditions)
    written = _write(out, found, [one.problem for one in loaded], prices, shares) if out is not None else ""
    if as_json:
        outputs.print_json(tiers_document(found))
    else:
        show_tiers(found, loaded, written)


def _per_tier(values: list[str] | None, option: str, count: int) -> list[str | None]:
    if not values:
        return [None] * count
    if len(values) not in (1, count):
        raise ValueError(f"{option} is given {len(values)} times, must be given once, or {count} times, once per file")
    return [*values] if len(values) == count else [*values] * count


@contextmanager
def _named(loaded: Sequence[ProblemFile]) -> Iterator[None]:
    """Errors call a tier by its file."""
    try:
        yield
    except InputError as error:

        def name(match: re.Match[str]) -> str:
            return loaded[int(match[1])].source

        field = re.sub(r"problems\[(\d+)\]", name, error.field)
        field = re.sub(r"weights\[\d+\]", "--weight", field).replace("problems", "the files")
        raise InputError(field, error.value, re.sub(r"problems\[(\d+)\]", name, error.rule)) from None


def _check(
    loaded: Sequence[ProblemFile], lams: Sequence[Any], weights: Sequence[Any], path: str, allow_float: bool
) -> None:
    """Check a certificate for the lambdas and weights that are asked for."""
    proof = load_certificate(path)
    with _named(loaded), Progress("checking"):
        problems, asked, shares = tiers_of([one.problem for one in loaded], list(lams), list(weights))
        able = allow_float or any(isinstance(v, float) for v in (*asked, *shares))
        wrong = other_several(problems, asked, shares, [one.conditions for one in loaded], proof)
        verdict = Verdict(False, wrong) if wrong else verify(problems, proof, allow_float=able)
    if not verdict.optimal:
        print(f"bap: {source_name(path)} does not prove the optimum: {clean(verdict.reason, 500)}", file=sys.stderr)
        raise typer.Exit(1)
    at = ", ".join(fraction(lam) for lam in proof.lams)
    console().print(f"Verified at lambda = {at}: {clean(verdict.reason, 300)}.", soft_wrap=True)


def _write(out: Path, found: TierSolution, problems: list[Any], lams: list[Any], weights: list[Any]) -> str:
    """A bundle, and what every tier sees in a file of its own."""
    asked, shares = tiers_of(problems, lams, weights)[1:]
    how = command_line("bap tiers")
    each = enumerate(found.mechanisms, start=1)
    files = {f"mechanism-{k}.json": dumps(mechanism_document(one)).encode() for k, one in each}
    write_bundle(out, files | bundle_files(found, problems, asked, how=how, weights=shares))
    return str(out)


def tiers_document(found: TierSolution) -> dict[str, Any]:
    """What `bap tiers --json` prints; `parents` gives, per signal, the signal of the tier before that it refines."""
    tiers = []
    for k, (problem, lam, weight, own, mechanism) in enumerate(
        zip(found.problems, found.lams, found.weights, found.risks, found.mechanisms, strict=True)
    ):
        tiers.append(
            {
                "title": problem.title,
                "lambda": text(lam),
                "weight": text(weight),
                "risks": {"bob": text(own.bob), "eve": text(own.eve), "alice": text(own.alice(lam))},
                "separate": text(found.separate_values[k]),
                "mechanism": mechanism_document(mechanism),
                "parents": list(found.parents[k]) if k else [],
            }
        )
    return {
        "exact": found.exact,
        "value": text(found.value),
        "bound": text(found.bound),
        "gap": text(found.gap),
        "separate": text(found.separate),
        "price_of_nesting": text(found.price_of_nesting),
        "tiers": tiers,
        "method": found.method,
    }


def show_tiers(found: TierSolution, loaded: Sequence[ProblemFile], written: str) -> None:
    """What `bap tiers` prints."""
    out = console()
    say(out, "Releases that refine each other: the users of a tier see its signal and those of the tiers before it.")
    out.print()
    rows = found.rows()
    for row, problem, file in zip(rows, found.problems, loaded, strict=True):
        row["tier"] += "" if problem.title else file.source
    show_rows(out, rows)
    for k, mechanism in enumerate(found.mechanisms):
        out.print()
        channel(out, mechanism, f"Tier {k + 1}")
    out.print()
    say_lines(out, found.summary().splitlines()[1:])
    out.print(f"Method: {found.method}.")
    if written:
        names = f"a bundle and mechanism-1.json to mechanism-{len(loaded)}.json"
        say(out, f"Wrote {names} to {clean(written, 500)}.")
    rounded = not found.exact and all(one.problem.exact for one in loaded)
    out.print(check_command(written, rounded, found.exact), soft_wrap=True)
