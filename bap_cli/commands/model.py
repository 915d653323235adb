"""`bap model`: the bracket of a model file, its rule, and a picture."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bap_cli.app import Json, Lambda, TimeLimit
from bap_cli.catalogue import locate_model
from bap_cli.inputs import choice_of
from bap_cli.outputs import print_json
from bap_cli.pictures import FORMATS, check_file, drawing, save
from bap_cli.progress import Progress, limited
from bap_cli.show import played_line, show_bracket
from bap_lp import InputError
from bap_lp.support.clock import watched
from bap_lp.support.display import clean
from discretise import bracket
from discretise.model_files import load_model

File = Annotated[str, typer.Argument(metavar="FILE", help="Model file (TOML, JSON) or a model of `bap examples`.")]


def model(
    file: File,
    lam: Lambda = None,
    plot: Annotated[
        Path | None, typer.Option("--plot", metavar="PICTURE", help="Also draw the rule: a .png, .svg or .pdf file.")
    ] = None,
    simulate: Annotated[
        int | None,
        typer.Option("--simulate", metavar="SIZE", help="Also apply the rule to this many simulated samples."),
    ] = None,
    time_limit: TimeLimit = None,
    as_json: Json = False,
) -> None:
    """Bracket the optimum of a model of your own.

    Prior and likelihood are distributions of scipy.stats. The optimum over all mechanisms lies between two proved
    bounds; the rule attains the upper one.
    """
    if plot is not None:
        check_file(plot, FORMATS, "--plot")
    if simulate is not None and not 2 <= simulate <= 10**8:
        raise ValueError(f"--simulate = {simulate} must be between 2 and 100000000")
    try:
        with limited(time_limit):
            with Progress("reading the model"):
                loaded = watched(partial(load_model, locate_model(file)))
            with loaded.named(), Progress("bracketing") as progress:
                price = loaded.lam if lam is None else lam
                found = watched(partial(bracket, loaded.model, lam=price, progress=progress))
    except InputError as error:
        if lam is None or not error.field.endswith(": alice.lambda"):
            raise
        raise InputError("--lambda", error.value, error.rule) from None
    with Progress("simulating"):
        played = found.simulate(simulate) if simulate is not None else None
    if plot is not None:
        with drawing():
            from discretise.continuum.bracket_plots import bracket_picture

            save(bracket_picture(found).figure, plot)
    if as_json:
        document = {"title": loaded.model.title, **found.document()}
        if played is not None:
            risks = {"bob": played.bob, "eve": played.eve, "alice": played.alice(found.lam)}
            document["simulation"] = {"size": played.size, **risks, "error": played.alice_error(found.lam)}
        print_json(document)
        return
    price = found.lam
    nothing, everything = (f"{one.alice(price):.6f}" for one in (found.null, found.full))
    ends = [
        ("R_A of this rule", f"{found.upper:.12f}"),
        ("no mechanism below", f"{found.lower:.12f}   (width {found.width:.0e}, errors included)"),
        ("nothing, everything", f"R_A = {nothing}, {everything}"),
    ]
    notes = []
    if played is not None:
        notes.append(played_line(played.size, played.alice(price), played.alice_error(price)))
    show_bracket(
        found,
        loaded.model.title or loaded.source,
        choice_of(loaded.lam if lam is None else lam, lam is None),
        ends,
        notes + ([] if plot is None else [f"Wrote {clean(str(plot), 500)}."]),
    )
