"""`bap gaussian`: the releases of the Gaussian model, the data of its figures, pictures, and the proved optimum."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from bap_cli.app import Group, Json, TimeLimit
from bap_cli.gaussian.options import GaussianQuestion, about_a_model
from bap_cli.inputs import choice_of
from bap_cli.outputs import print_json
from bap_cli.pictures import check_file, write_gaussian_plot
from bap_cli.progress import Progress, limited
from bap_cli.show import played_line, show_bracket
from bap_cli.terminal import console, say, show_table
from bap_lp.support.display import clean
from bap_lp.support.rational import InputError
from bap_lp.support.writing import write_files
from discretise import Bracket, SampleBracket, bracket
from gaussian import GaussianModel, OneBit, Row, Table, calibrate, curve, table
from gaussian.eves import cell_words, questions
from gaussian.paper import PrintedTable, printed
from gaussian.releases import NAMES
from gaussian.risk_tables import FAMILIES, computed_families

app = typer.Typer(cls=Group, help="The continuous Gaussian model.", no_args_is_help=True, rich_markup_mode=None)


@app.command("table")
@about_a_model
def table_command(
    asked: GaussianQuestion,
    time_limit: TimeLimit = None,
    as_json: Json = False,
) -> None:
    """Every release at its best parameter, against one Eve, next to the paper's values if the paper prints them."""
    model, adversary = asked.model, asked.eve
    with limited(time_limit), Progress("every release") as progress:
        result = table(model, adversary, progress=progress)
    if as_json:
        print_json(result.document())
    else:
        paper = printed(model, adversary)
        out = console()
        say(out, _title(asked.words, model))
        said = f" (paper {paper.lam:g})" if paper else ""
        say(out, f"lambda = {result.lam:.6f}{said}; corner R_A* = {result.corner:.6f}")
        out.print()
        show_table(out, _HEADINGS, _rendered(result), range(1, 6))
        if paper:
            out.print()
            say(out, "The paper's value, and ours minus it")
            out.print()
            show_table(out, _HEADINGS[:5], _beside(result, paper), range(1, 5))
        if any(_by_threshold(row) for row in result.releases):
            out.print()
            say(out, "t: the bit tells whether the sample mean is above t; its tau is 0 or 1 to four digits")


def _title(eve: str, model: GaussianModel) -> str:
    words = f"Eve tests: {eve}; n = {model.n}, sigma_0 = {model.prior_sd:g}, c_B = {model.bob_threshold:g}"
    if model.prior_mean != 0 or model.noise_sd != 1:
        words += f", prior mean {model.prior_mean:g}, noise {model.noise_sd:g}"
    if model.bob_loss != (1.0, 1.0):
        words += f", Bob's losses {model.bob_loss[0]:g} and {model.bob_loss[1]:g}"
    return words


def _parameter(row: Row) -> str:
    """sigma or tau; a bit whose tau shows as 0.0000 or 1.0000 is told by its threshold."""
    if row.parameter is None:
        return ""
    return f"t = {row.threshold:.4f}" if _by_threshold(row) else f"{row.parameter:.4f}"


def _by_threshold(row: Row) -> bool:
    t = row.threshold
    inner = t is not None and abs(t) < np.inf
    return inner and row.parameter is not None and not 5e-5 <= row.parameter < 1 - 5e-5


_HEADINGS = ("mechanism", "parameter", "R_B", "R_E", "R_A", "error", "optimum")


def _rendered(result: Table) -> list[list[str]]:
    out = []
    for row in result.releases:
        numbers = [f"{value:.6f}" for value in (row.risks.bob, row.risks.eve, row.alice)]
        out.append([row.mechanism, _parameter(row), *numbers, f"{row.error:.0e}", row.kind or ""])
    return out


def _beside(result: Table, paper: PrintedTable) -> list[list[str]]:
    out = []
    for row in result.releases:
        old = paper.rows[row.mechanism]
        pairs = [(old.bob, row.risks.bob), (old.eve, row.risks.eve), (old.alice, row.alice)]
        cells = [f"{theirs:.2f} {float(ours) - theirs:+.4f}" for theirs, ours in pairs]
        parameter = ""
        if old.parameter is not None and row.parameter is not None and not _by_threshold(row):
            parameter = f"{old.parameter:.2f} {row.parameter - old.parameter:+.4f}"
        out.append([row.mechanism, parameter, *cells])
    return out


@app.command("curve")
@about_a_model
def curve_command(
    asked: GaussianQuestion,
    family: Annotated[
        list[str] | None,
        typer.Option("--family", help="Only noisy-full, noisy-mean, noisy-median or one-bit; repeat it for several."),
    ] = None,
    sigma_max: Annotated[float, typer.Option("--sigma-max", help="Largest noise level.")] = 5.0,
    points: Annotated[int, typer.Option("--points", help="Parameters per family.")] = 51,
    out: Annotated[Path | None, typer.Option("--out", help="CSV file; standard output by default.")] = None,
) -> None:
    """The data of the figures: R_B, R_E and R_A of every family along sigma or tau, as CSV."""
    model, adversary = asked.model, asked.eve
    if points < 2:
        raise ValueError(f"--points = {points} must be at least 2")
    if not 0 < sigma_max < np.inf:
        raise ValueError(f"--sigma-max = {sigma_max} must be positive and finite")
    known = {NAMES[kind].replace(" ", "-"): kind for kind in FAMILIES}
    computed = computed_families(model, adversary)
    wanted = family or [name for name, kind in known.items() if kind in computed]
    for name in wanted:
        if name not in known:
            raise ValueError(f"--family = {name!r} must be one of {', '.join(known)}")
    if out is not None:
        check_file(out)
    lam = calibrate(model, adversary)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["mechanism", "parameter", "bob", "eve", "alice", "error", "lambda"])
    with Progress("curves") as progress:
        for name in wanted:
            kind = known[name]
            grid = np.linspace(0.0, 1.0 if kind is OneBit else sigma_max, points)
            for value in grid:
                progress(f"{NAMES[kind]}, parameter {value:.3g}")
                found = curve(model, adversary, kind, [value])
                error = found.bob_error[0] + lam * found.eve_error[0]
                numbers = (value, found.bob[0], found.eve[0], found.alice(lam)[0], error, lam)
                writer.writerow([NAMES[kind], *(repr(float(number)) for number in numbers)])
    if out is None:
        sys.stdout.write(text.getvalue())
    else:
        write_files({out: text.getvalue()})


@app.command("plot")
@about_a_model
def plot_command(
    asked: GaussianQuestion,
    kind: Annotated[
        Literal["map", "noise", "threshold", "rule"],
        typer.Option("--kind", help="Risk-utility map; R_A against sigma or tau; the optimal rule on the data."),
    ] = "map",
    out: Annotated[Path, typer.Option("-o", "--out", help="A .png, .svg or .pdf file.")] = Path("gaussian.png"),
) -> None:
    """A picture: a figure of the paper with the proved optimum, or the optimal rule on the data space."""
    model, adversary = asked.model, asked.eve
    write_gaussian_plot(model, adversary, kind, out)
    say(console(), f"Wrote {clean(str(out), 500)}.")


_THEOREMS = {
    "corner": "Bob's own decision leaves Eve as uncertain as no release (Theorem 2 of docs/proofs/brackets.md)",
    "plateau edge": "the one-bit release at the edge of its plateau (Theorem 3a of docs/proofs/brackets.md)",
    "price": "the one-bit release at tau = (1 - lambda)/2 or its mirror image (Theorem 3b of docs/proofs/brackets.md)",
    "rare cell": "the least likely cell is kept together (Theorem 4 of docs/proofs/brackets.md)",
}


@app.command("optimum")
@about_a_model
def optimum_command(
    asked: GaussianQuestion,
    lam: Annotated[str, typer.Option("--lambda", metavar="L", help='"calibrated", or a number.')] = "calibrated",
    simulate: Annotated[
        int | None,
        typer.Option("--simulate", metavar="SIZE", help="Also apply the rule to this many simulated samples."),
    ] = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
) -> None:
    """The optimum over all mechanisms, between two proved bounds, with the rule that attains it."""
    if simulate is not None and not 1 <= simulate <= 10**8:
        raise ValueError(f"--simulate = {simulate} must be between 1 and 100000000")
    with limited(time_limit):
        try:
            with Progress("bracketing"):
                found = bracket(asked.model, asked.eve, lam)
        except InputError as error:
            raise InputError("--lambda" if error.field == "lam" else error.field, error.value, error.rule) from None
        if isinstance(found, SampleBracket):
            _show_draws(found, as_json, simulate, choice_of(lam, False))
            return
        with Progress("comparing with the parametric releases"):
            _ = found.best_parametric  # computed on first use, which can take seconds
    with Progress("simulating"):
        played = found.simulate(simulate) if simulate is not None else None
    if as_json:
        document = found.document()
        if played is not None:
            risks = {"bob": played.bob, "eve": played.eve, "alice": played.alice(found.lam)}
            document["simulation"] = {"size": played.size, **risks, "error": played.alice_error(found.lam)}
        print_json(document)
    else:
        notes = ["", *_proof(found)]
        if played is not None:
            notes.append(played_line(played.size, played.alice(found.lam), played.alice_error(found.lam)))
        show_bracket(found, "", choice_of(lam, False), _ends(found), notes)


def _show_draws(found: SampleBracket, as_json: bool, simulate: int | None, choice: str) -> None:
    """A bracket from draws, for Eves that do not reduce to one statistic."""
    if simulate is not None:
        raise ValueError(f"--simulate = {simulate} must not be given: these Eves are bracketed by draws already")
    if as_json:
        risks = {"bob": found.bob, "eve": found.eve}
        ends = {"lower": found.lower, "upper": found.upper, "width": found.width}
        print_json({**ends, "level": found.level, "draws": found.draws, "lambda": found.lam, "risks": risks})
    else:
        told = [("R_A of this rule", f"at most {found.upper:.6f}"), ("no mechanism below", f"{found.lower:.6f}")]
        more = f"both hold with probability {found.level:g}, from {found.draws} fresh draws; {found.rests_on}"
        show_bracket(found, "", choice, [*told, ("R_B, R_E", "are estimates")], [more])


def _ends(found: Bracket) -> list[tuple[str, str]]:
    """The two ends of the bracket, and the best of the parametric releases."""
    best = found.best_parametric
    parameter = "" if best.parameter is None else f" at {best.parameter:.6g}"
    if best.rounded:
        parameter = f" at xbar > {best.threshold:.6g}"
    excess = best.alice - found.upper
    within = max(best.error, found.width)
    verdict = "optimal" if excess <= within else f"{excess:.6f} above the optimum"
    return [
        ("R_A of this rule", f"{found.upper:.12f}"),
        ("no mechanism below", f"{found.lower:.12f}   (width {found.width:.0e})"),
        ("best parametric", f"{best.mechanism}{parameter}: R_A = {best.alice:.6f}, {verdict}"),
    ]


def _proof(found: Bracket) -> list[str]:
    """Which theorem proves the bracket, and Eve's replies."""
    lines = [f"proof: {_THEOREMS.get(found.theorem or '', 'Theorem 1 of docs/proofs/brackets.md')}"]
    if found.lam > 0:
        lines.append("Eve's replies in the proof: the probability that she bets against each cell")
        for signal, row in enumerate(found.u):
            for k, (name, u) in enumerate(zip(cell_words(questions(found.adversary)), row, strict=True)):
                lines.append(f"  {'' if k else f'signal {signal}':10} {u / found.lam:.6f}  {name}")
    return lines
