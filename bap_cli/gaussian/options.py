"""The options that the commands of `bap gaussian` share: the model, and what Eve tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, signature
from typing import Annotated, Any

import typer

from gaussian import BothEves, Eve, GaussianEves, GaussianModel, MaxEve, MeanEve, MedianEve, RecordEve
from gaussian.eves import ThresholdEve

_EVE_HELP = (
    "What Eve tests: mean, max, both (mean and max, she loses only if wrong about both), median or record@NUMBER; "
    "a threshold and losses may follow, as in max=2 or record@3=1.5/2,1. Repeat it for several Eves."
)
_KINDS: dict[str, type[ThresholdEve]] = {
    "mean": MeanEve,
    "max": MaxEve,
    "median": MedianEve,
    "record": RecordEve,
}
_DEFAULTS = {"mean": 0.5, "max": 2.0}


@dataclass(frozen=True)
class GaussianQuestion:
    """The model, its Eve, and what she tests in the user's words."""

    model: GaussianModel
    eve: Eve
    words: str


def asked(
    eve: Annotated[list[str], typer.Option("--eve", metavar="EVE", help=_EVE_HELP)],
    n: Annotated[int, typer.Option("--n", help="Number of observations.")] = 5,
    prior_sd: Annotated[float, typer.Option("--prior-sd", help="sigma_0, standard deviation of theta.")] = 1.0,
    bob_threshold: Annotated[float, typer.Option("--bob-threshold", help="c_B: Bob tests theta > c_B.")] = 0.0,
    eve_threshold: Annotated[
        float | None, typer.Option("--eve-threshold", help="c_E of a single test; default 0.5 or 2.")
    ] = None,
    mean_threshold: Annotated[
        float | None, typer.Option("--mean-threshold", help="Threshold of the mean's test; default 0.5.")
    ] = None,
    max_threshold: Annotated[
        float | None, typer.Option("--max-threshold", help="Threshold of the maximum's test; default 2.")
    ] = None,
    prior_mean: Annotated[float, typer.Option("--prior-mean", help="Mean of theta.")] = 0.0,
    noise_sd: Annotated[
        float, typer.Option("--noise-sd", help="Standard deviation of an observation given theta.")
    ] = 1.0,
    bob_loss: Annotated[
        str, typer.Option("--bob-loss", metavar="A,B", help="What Bob loses by a miss (A) and by a false alarm (B).")
    ] = "1,1",
    eve_loss: Annotated[
        str | None, typer.Option("--eve-loss", metavar="A,B", help="The same for every Eve without losses of her own.")
    ] = None,
    eve_weights: Annotated[
        str | None,
        typer.Option("--eve-weights", metavar="W,W,...", help="What each Eve's risk counts in R_E."),
    ] = None,
    either: Annotated[
        bool,
        typer.Option("--either", help="One Eve has all tests, and loses only if wrong about every one."),
    ] = False,
) -> GaussianQuestion:
    """What the options that all commands share describe."""
    model = GaussianModel(n, prior_sd, bob_threshold, prior_mean, noise_sd, _pair("--bob-loss", bob_loss))
    found = chosen_eve(eve, eve_threshold, mean_threshold, max_threshold, eve_loss, eve_weights, either)
    return GaussianQuestion(model, found, ", ".join(eve))


def about_a_model(command: Callable[..., None]) -> Callable[..., None]:
    """A command with the options of `asked` before its own, and what they describe as its first argument."""
    shared = signature(asked, eval_str=True).parameters
    own = list(signature(command, eval_str=True).parameters.values())[1:]

    @wraps(command)
    def run(**given: Any) -> None:
        try:
            command(asked(**{name: given.pop(name) for name in shared}), **given)
        except (FloatingPointError, OverflowError) as error:
            raise ValueError(f"these parameters are too extreme to compute with floats: {error}") from error

    run.__signature__ = Signature([*shared.values(), *own])  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in (*shared.values(), *own)}
    return run


def chosen_eve(
    names: list[str],
    single: float | None,
    mean: float | None,
    top: float | None,
    loss: str | None = None,
    weights: str | None = None,
    either: bool = False,
) -> Eve:
    """The Eve that the options describe; an option that does not apply to her raises ValueError."""
    losses = (1.0, 1.0) if loss is None else _pair("--eve-loss", loss)
    if "both" in names:
        if len(names) > 1 or either or weights is not None:
            raise ValueError("--eve = both must be the only Eve: use --eve mean=C --eve max=C --either with others")
        if single is not None:
            raise ValueError(f"--eve-threshold = {single} must be --mean-threshold or --max-threshold with --eve both")
        return BothEves(0.5 if mean is None else mean, 2.0 if top is None else top, losses, losses)
    given = {"mean": mean, "max": top}
    members = [_one(name, single, given, losses, len(names)) for name in names]
    for kind, value in given.items():
        if value is not None and not any(isinstance(member, _KINDS[kind]) for member in members):
            raise ValueError(f"--{kind}-threshold = {value} must not be given with --eve {' --eve '.join(names)}")
    if len(members) == 1 and weights is None:
        return members[0]
    return GaussianEves(tuple(members), None if weights is None else _numbers("--eve-weights", weights), either)


def _one(
    text: str, single: float | None, given: dict[str, float | None], losses: tuple[float, float], count: int
) -> ThresholdEve:
    """One Eve from NAME[@ARGUMENT][=THRESHOLD][/MISS,FALSE ALARM] and the options for thresholds."""
    rest, _, own_loss = text.partition("/")
    head, _, after = rest.partition("=")
    kind, at, argument = head.strip().partition("@")
    if kind not in _KINDS:
        raise ValueError(f"--eve = {text!r} must be one of {', '.join([*_KINDS, 'both'])}, as in max or record@3=1.5")
    if at and kind != "record":
        raise ValueError(f"--eve = {text!r} must not have @: only record@NUMBER has it")
    candidates = {
        f"--eve {text}": _number(f"--eve = {text!r}", after) if after else None,
        "--eve-threshold": single,
        f"--{kind}-threshold": given.get(kind),
    }
    if single is not None and count > 1:
        raise ValueError(
            f"--eve-threshold = {single} must be given with each of several Eves, as in --eve {kind}={single}"
        )
    found = {name: value for name, value in candidates.items() if value is not None}
    if len(set(found.values())) > 1:
        (first, a), (second, b) = list(found.items())[:2]
        raise ValueError(f"{first} = {a} must equal {second} = {b}")
    threshold = next(iter(found.values()), _DEFAULTS.get(kind))
    if threshold is None:
        raise ValueError(f"--eve = {text!r} must have a threshold, as in --eve {head}=1.5")
    loss = _pair(f"--eve = {text!r}", own_loss) if own_loss else losses
    if kind == "record":
        if at and not argument.strip().isdigit():
            raise ValueError(f"--eve = {text!r} must name the record by a number, as in record@3")
        return RecordEve(threshold, loss, int(argument) if at else 1)
    return _KINDS[kind](threshold, loss)


def _number(field: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{field}: {text!r} must be a number") from None


def _numbers(field: str, text: str) -> tuple[float, ...]:
    return tuple(_number(f"{field} = {text!r}", part) for part in text.split(","))


def _pair(field: str, text: str) -> tuple[float, float]:
    values = _numbers(field, text)
    if len(values) != 2 or not all(0 < value < float("inf") for value in values):
        raise ValueError(f"{field} = {text!r} must be two positive numbers with a comma, as in 2,1")
    return values[0], values[1]
