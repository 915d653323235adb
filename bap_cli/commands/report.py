"""`bap report` and `bap plot`: a page to share, and pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bap_cli import inputs, pictures
from bap_cli.app import AllowFloat, File, Lambda
from bap_cli.terminal import console, say
from bap_lp.support.display import clean


def report(
    file: Annotated[str, typer.Argument(metavar="FILE", help="Problem file, a name of `bap examples`, or a bundle.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="HTML", help="Where to write the page.")] = Path(
        "report.html"
    ),
    lam: Lambda = None,
    allow_float: AllowFloat = False,
) -> None:
    """Write a report to share: one HTML page that needs no server and no network.

    It opens at lambda, and its slider shows the exact optimum for every other one. Of a bundle it shows the mechanism
    and the proof in the bundle, after they were verified.
    """
    if Path(file).is_dir():
        from bap_cli.commands import verify

        verify.report(file, lam, allow_float, out)
    else:
        pictures.write_report(inputs.load(file), lam, file, out)
    say(console(), f"Wrote {clean(str(out), 500)}: open it in a browser.")


def plot(
    file: File,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="PICTURE", help="A .png, .svg or .pdf file.")] = Path(
        "map.png"
    ),
    kind: Annotated[
        Literal["map", "path", "channel", "signals"],
        typer.Option(help="Risk-utility map, least R_A by lambda, an optimal mechanism, or its signals."),
    ] = "map",
    lam: Lambda = None,
) -> None:
    """Draw a picture of the problem and its optimum; FILE may also be a study of records, or its folder."""
    if inputs.is_study(file):
        from bap_cli.records.explore import plot_study

        plot_study(file, lam, kind, out)
    else:
        pictures.write_plot(inputs.load(file, sets=kind == "channel"), lam, kind, out)
    say(console(), f"Wrote {clean(str(out), 500)}.")
