"""`bap gaussian optimum`: the least R_A over all mechanisms, and the rule that attains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bap_cli.gaussian_options import (
    BobLossOption,
    BobOption,
    EitherOption,
    EveLossOption,
    EveOption,
    JsonOption,
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

if TYPE_CHECKING:
    from discretise import Bracket, SampleBracket

_NAMES = {
    "corner": "Bob's own decision already leaves Eve as uncertain as without a release (Theorem 2 of docs/brackets.md)",
    "plateau edge": "the one-bit release at the edge of its plateau (Theorem 3a of docs/brackets.md)",
    "price": "the one-bit release at tau = (1 - lambda)/2 or its mirror image (Theorem 3b of docs/brackets.md)",
    "rare cell": "the least likely cell is kept together (Theorem 4 of docs/brackets.md)",
}


def optimum_command(
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
    lam: Annotated[str, typer.Option("--lambda", metavar="L", help='"calibrated", or a number')] = "calibrated",
    simulate: Annotated[
        int | None,
        typer.Option("--simulate", metavar="SIZE", help="also apply the rule to this many simulated samples"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """The optimum over all mechanisms, between two proved bounds, with the rule that attains it."""
    from bap_cli.outputs import print_json
    from bap_cli.progress import Progress
    from discretise import SampleBracket, bracket

    if simulate is not None and not 1 <= simulate <= 10**8:
        raise ValueError(f"--simulate = {simulate} must be between 1 and 100000000")
    model = chosen_model(n, prior_sd, bob_threshold, prior_mean, noise_sd, bob_loss)
    adversary = chosen_eve(eve, eve_threshold, mean_threshold, max_threshold, eve_loss, eve_weights, either)
    with Progress("bracketing"):
        found = bracket(model, adversary, lam)
    if isinstance(found, SampleBracket):
        _show_draws(found, as_json, simulate)
        return
    with Progress("comparing with the parametric releases"):
        _ = found.best_parametric  # computed on first use, which can take seconds
    with Progress("simulating"):
        played = found.simulate(simulate) if simulate is not None else None
    if as_json:
        document = found.document()
        if played is not None:
            error = played.alice_error(found.lam)
            risks = {"bob": played.bob, "eve": played.eve, "alice": played.alice(found.lam)}
            document["simulation"] = {"size": played.size, **risks, "error": error}
        print_json(document)
    else:
        print(optimum_text(found))
        if played is not None:
            value, error = played.alice(found.lam), played.alice_error(found.lam)
            print(f"on {played.size} simulated samples: R_A = {value:.6f} +- {error:.6f} (standard error)")


def _show_draws(found: SampleBracket, as_json: bool, simulate: int | None) -> None:
    """A bracket from draws, for Eves that do not reduce to one statistic."""
    from bap_cli.outputs import print_json

    if simulate is not None:
        raise ValueError(f"--simulate = {simulate} must not be given: these Eves are bracketed by draws already")
    if as_json:
        risks = {"bob": found.bob, "eve": found.eve}
        ends = {"lower": found.lower, "upper": found.upper, "width": found.width}
        print_json({**ends, "level": found.level, "draws": found.draws, "lambda": found.lam, "risks": risks})
    else:
        print(found.describe())
        print(f"\nR_A of this rule     at most {found.upper:.6f}")
        print(f"no mechanism below   {found.lower:.6f}")
        print(f"both hold with probability {found.level:g}, from {found.draws} fresh draws; {found.rests_on}")
        print(
            f"R_B, R_E             {found.bob:.6f}, {found.eve:.6f} (estimates)\nlambda               {found.lam:.6f}"
        )


def optimum_text(found: Bracket) -> str:
    """What `bap gaussian optimum` prints."""
    from gaussian.optimum.cells import cell_names

    best = found.best_parametric
    parameter = "" if best.parameter is None else f" at {best.parameter:.6g}"
    if best.rounded:
        parameter = f" at xbar > {best.threshold:.6g}"
    excess = best.alice - found.upper
    within = max(best.error, found.width)
    verdict = "optimal" if excess <= within else f"{excess:.6f} above the optimum"
    lines = [
        found.describe(),
        "",
        f"R_A of this rule     {found.upper:.12f}",
        f"no mechanism below   {found.lower:.12f}   (width {found.width:.0e})",
        f"R_B, R_E             {found.bob:.12f}, {found.eve:.12f}",
        f"lambda               {found.lam:.12f}",
        f"best parametric      {best.mechanism}{parameter}: R_A = {best.alice:.6f}, {verdict}",
        "",
        f"proof: {_NAMES.get(found.theorem or '', 'Theorem 1 of docs/brackets.md')}",
    ]
    if found.lam > 0:
        lines.append("Eve's replies in the proof: the probability that she bets against each cell")
        for signal, row in enumerate(found.u):
            bets = [f"{u / found.lam:.6f} {name}" for name, u in zip(cell_names(found.adversary), row, strict=True)]
            lines.append(f"  signal {signal}: " + "; ".join(bets))
    return "\n".join(lines)
