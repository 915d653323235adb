"""`bap gaussian optimum`: the least R_A over all mechanisms, and the rule that attains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from bap_cli.app import Json
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
    as_json: Json = False,
) -> None:
    """The optimum over all mechanisms, between two proved bounds, with the rule that attains it."""
    from bap_cli.inputs import choice_of
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
        _show_draws(found, as_json, simulate, choice_of(lam, False))
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
        from bap_cli.brackets import played_line, show_bracket

        notes = ["", *_proof(found)]
        if played is not None:
            notes.append(played_line(played.size, played.alice(found.lam), played.alice_error(found.lam)))
        show_bracket(found, "", choice_of(lam, False), _ends(found), notes)


def _show_draws(found: SampleBracket, as_json: bool, simulate: int | None, choice: str) -> None:
    """A bracket from draws, for Eves that do not reduce to one statistic."""
    from bap_cli.outputs import print_json

    if simulate is not None:
        raise ValueError(f"--simulate = {simulate} must not be given: these Eves are bracketed by draws already")
    if as_json:
        risks = {"bob": found.bob, "eve": found.eve}
        ends = {"lower": found.lower, "upper": found.upper, "width": found.width}
        print_json({**ends, "level": found.level, "draws": found.draws, "lambda": found.lam, "risks": risks})
    else:
        from bap_cli.brackets import show_bracket

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
    from gaussian.optimum.cells import cell_names

    lines = [f"proof: {_NAMES.get(found.theorem or '', 'Theorem 1 of docs/brackets.md')}"]
    if found.lam > 0:
        lines.append("Eve's replies in the proof: the probability that she bets against each cell")
        for signal, row in enumerate(found.u):
            for k, (name, u) in enumerate(zip(cell_names(found.adversary), row, strict=True)):
                lines.append(f"  {'' if k else f'signal {signal}':10} {u / found.lam:.6f}  {name}")
    return lines
