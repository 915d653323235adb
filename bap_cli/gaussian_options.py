"""The options that the commands of `bap gaussian` share: the model, and what Eve tests."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from gaussian import BothEves, Eve, MaxEve, MeanEve

EveName = Literal["mean", "max", "both"]

EveOption = Annotated[EveName, typer.Option("--eve", help="what Eve tests: the mean, the maximum, or both")]
NOption = Annotated[int, typer.Option("--n", help="number of observations")]
PriorOption = Annotated[float, typer.Option("--prior-sd", help="sigma_0, standard deviation of theta")]
BobOption = Annotated[float, typer.Option("--bob-threshold", help="c_B: Bob tests theta > c_B")]
SingleOption = Annotated[float | None, typer.Option("--eve-threshold", help="c_E of a single test; default 0.5 or 2")]
MeanOption = Annotated[float | None, typer.Option("--mean-threshold", help="threshold of the mean's test; default 0.5")]
MaxOption = Annotated[float | None, typer.Option("--max-threshold", help="threshold of the maximum's test; default 2")]
JsonOption = Annotated[bool, typer.Option("--json", help="print one JSON document and nothing else")]


def chosen_eve(name: EveName, single: float | None, mean: float | None, top: float | None) -> Eve:
    """The Eve that the options describe; an option that does not apply to her raises ValueError."""
    if name == "both":
        if single is not None:
            raise ValueError(f"--eve-threshold = {single} must be --mean-threshold or --max-threshold with --eve both")
        return BothEves(0.5 if mean is None else mean, 2.0 if top is None else top)
    own, other = (mean, top) if name == "mean" else (top, mean)
    if other is not None:
        wrong = "--max-threshold" if name == "mean" else "--mean-threshold"
        raise ValueError(f"{wrong} = {other} must not be given with --eve {name}")
    if own is not None and single is not None and own != single:
        raise ValueError(f"--eve-threshold = {single} must equal --{name}-threshold = {own}")
    given = single if single is not None else own
    return MeanEve(0.5 if given is None else given) if name == "mean" else MaxEve(2.0 if given is None else given)
