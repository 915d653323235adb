"""`bap gaussian table` and `bap gaussian curve`: the releases of the Gaussian model, and the data of its figures."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer
from rich.table import Table as RichTable

from bap_cli.app import Json
from bap_cli.gaussian.optimum import optimum_command
from bap_cli.gaussian.options import (
    BobLossOption,
    BobOption,
    EitherOption,
    EveLossOption,
    EveOption,
    MaxOption,
    MeanOption,
    NoiseOption,
    NOption,
    PriorMeanOption,
    PriorOption,
    SingleOption,
    WeightsOption,
    chosen_eve,
    chosen_model,
)
from bap_cli.outputs import print_json
from bap_cli.progress import Progress
from bap_cli.show import clean
from bap_cli.terminal import console, plain_table, put, say
from bap_lp.files.writing import write_files
from gaussian import GaussianModel, OneBit, Row, Table, calibrate, curve, table
from gaussian.paper import PrintedTable, printed
from gaussian.releases import NAMES
from gaussian.tables import FAMILIES, computed_families

app = typer.Typer(help="The continuous Gaussian model.", no_args_is_help=True, rich_markup_mode=None)

_FAMILY_HELP = "noisy-full, noisy-mean, noisy-median or one-bit; may be repeated"
FamilyOption = Annotated[list[str] | None, typer.Option("--family", help=_FAMILY_HELP)]


@app.command("table")
def table_command(
    eve: EveOption,
    n: NOption = 5,
    prior_sd: PriorOption = 1.0,
    bob_threshold: BobOption = 0.0,
    eve_threshold: SingleOption = None,
    mean_threshold: MeanOption = None,
    max_threshold: MaxOption = None,
    prior_mean: PriorMeanOption = 0.0,
    noise_sd: NoiseOption = 1.0,
    bob_loss: BobLossOption = "1,1",
    eve_loss: EveLossOption = None,
    eve_weights: WeightsOption = None,
    either: EitherOption = False,
    as_json: Json = False,
) -> None:
    """Every release at its best parameter, against one Eve, next to the paper's values if the paper prints them."""
    model = chosen_model(n, prior_sd, bob_threshold, prior_mean, noise_sd, bob_loss)
    adversary = chosen_eve(eve, eve_threshold, mean_threshold, max_threshold, eve_loss, eve_weights, either)
    with Progress("every release") as progress:
        result = table(model, adversary, progress=progress)
    if as_json:
        print_json(result.document())
    else:
        paper = printed(model, adversary)
        out = console()
        say(out, _title(", ".join(eve), model))
        said = f" (paper {paper.lam:g})" if paper else ""
        say(out, f"lambda = {result.lam:.6f}{said}; corner R_A* = {result.corner:.6f}")
        out.print()
        put(out, _rendered(result))
        if paper:
            out.print()
            say(out, "The paper's value, and ours minus it")
            out.print()
            put(out, _beside(result, paper))
        if any(_by_threshold(row) for row in result.rows):
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


def _grid(*headings: str) -> RichTable:
    return plain_table(*headings, right=[k for k, name in enumerate(headings) if name not in ("mechanism", "optimum")])


def _rendered(result: Table) -> RichTable:
    grid = _grid("mechanism", "parameter", "R_B", "R_E", "R_A", "error", "optimum")
    for row in result.rows:
        parameter = _parameter(row)
        numbers = [f"{value:.6f}" for value in (row.risks.bob, row.risks.eve, row.alice)]
        grid.add_row(row.mechanism, parameter, *numbers, f"{row.error:.0e}", row.kind or "")
    return grid


def _beside(result: Table, paper: PrintedTable) -> RichTable:
    grid = _grid("mechanism", "parameter", "R_B", "R_E", "R_A")
    for row in result.rows:
        old = paper.rows[row.mechanism]
        pairs = [(old.bob, row.risks.bob), (old.eve, row.risks.eve), (old.alice, row.alice)]
        cells = [f"{theirs:.2f} {float(ours) - theirs:+.4f}" for theirs, ours in pairs]
        parameter = ""
        if old.parameter is not None and row.parameter is not None and not _by_threshold(row):
            parameter = f"{old.parameter:.2f} {row.parameter - old.parameter:+.4f}"
        grid.add_row(row.mechanism, parameter, *cells)
    return grid


@app.command("curve")
def curve_command(
    eve: EveOption,
    n: NOption = 5,
    prior_sd: PriorOption = 1.0,
    bob_threshold: BobOption = 0.0,
    eve_threshold: SingleOption = None,
    mean_threshold: MeanOption = None,
    max_threshold: MaxOption = None,
    prior_mean: PriorMeanOption = 0.0,
    noise_sd: NoiseOption = 1.0,
    bob_loss: BobLossOption = "1,1",
    eve_loss: EveLossOption = None,
    eve_weights: WeightsOption = None,
    either: EitherOption = False,
    family: FamilyOption = None,
    sigma_max: Annotated[float, typer.Option("--sigma-max", help="largest noise level")] = 5.0,
    points: Annotated[int, typer.Option("--points", help="parameters per family")] = 51,
    out: Annotated[Path | None, typer.Option("--out", help="CSV file; standard output by default")] = None,
) -> None:
    """The data of the figures: R_B, R_E and R_A of every family along sigma or tau, as CSV."""
    model = chosen_model(n, prior_sd, bob_threshold, prior_mean, noise_sd, bob_loss)
    adversary = chosen_eve(eve, eve_threshold, mean_threshold, max_threshold, eve_loss, eve_weights, either)
    if points < 2:
        raise ValueError(f"points = {points} must be >= 2")
    if not 0 < sigma_max < np.inf:
        raise ValueError(f"sigma_max = {sigma_max} must be positive and finite")
    known = {NAMES[kind].replace(" ", "-"): kind for kind in FAMILIES}
    computed = computed_families(model, adversary)
    wanted = family or [name for name, kind in known.items() if kind in computed]
    for name in wanted:
        if name not in known:
            raise ValueError(f"family = {name!r} must be one of {', '.join(known)}")
    if out is not None:
        from bap_cli.pictures import check_file

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
def plot_command(
    eve: EveOption,
    n: NOption = 5,
    prior_sd: PriorOption = 1.0,
    bob_threshold: BobOption = 0.0,
    eve_threshold: SingleOption = None,
    mean_threshold: MeanOption = None,
    max_threshold: MaxOption = None,
    prior_mean: PriorMeanOption = 0.0,
    noise_sd: NoiseOption = 1.0,
    bob_loss: BobLossOption = "1,1",
    eve_loss: EveLossOption = None,
    eve_weights: WeightsOption = None,
    either: EitherOption = False,
    kind: Annotated[
        Literal["map", "noise", "threshold", "rule"],
        typer.Option("--kind", help="risk-utility map; R_A against sigma or tau; the optimal rule on the data"),
    ] = "map",
    out: Annotated[Path, typer.Option("-o", "--out", help="a .png, .svg or .pdf file")] = Path("gaussian.png"),
) -> None:
    """A picture: a figure of the paper with the proved optimum, or the optimal rule on the data space."""
    from bap_cli.pictures import write_gaussian_plot

    model = chosen_model(n, prior_sd, bob_threshold, prior_mean, noise_sd, bob_loss)
    adversary = chosen_eve(eve, eve_threshold, mean_threshold, max_threshold, eve_loss, eve_weights, either)
    write_gaussian_plot(model, adversary, kind, out)
    say(console(), f"Wrote {clean(str(out), 500)}.")


app.command("optimum")(optimum_command)
