"""`bap explain`: a problem and its optimum in plain sentences, which are those of their summaries."""

from __future__ import annotations

from typing import Annotated

import typer

from bap_cli import inputs
from bap_cli.app import Condition
from bap_cli.progress import Progress
from bap_cli.show import heading
from bap_cli.terminal import console, say, say_lines
from bap_lp.questions.optimum.solving import solve
from bap_lp.support.display import equals


def explain(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="Problem file, study, or a name of `bap examples`.")
    ] = "coin_toss",
    lam: Annotated[
        str | None, typer.Option("--lambda", metavar="L", help='"calibrated", or a number; the file\'s own by default.')
    ] = None,
    condition: Condition = None,
) -> None:
    """Explain an optimum in plain words: what it does, what it costs, and what everybody decides.

    Without FILE it is the coin toss: a coin is fair or always shows tails; Bob wants to know which, Eve the toss.
    """
    asked = inputs.asked_conditions({}, condition or ())
    if inputs.is_study(file, asked):
        from bap_cli.records.explore import explain_study

        explain_study(file, lam)
        return
    loaded = inputs.asking(inputs.load(file, sets=True), asked)
    with inputs.named(loaded, lam, asked), Progress("explaining") as progress:
        price, choice = inputs.wanted(loaded, lam), inputs.choice(loaded, lam)
        best = solve(loaded.problem, price, progress=progress, conditions=loaded.conditions, priors=loaded.priors)
        words = best.summary().splitlines()
    out = console()
    heading(out, best.problem)
    say(out, f"{equals('lambda', best.lam)}, {choice}")
    out.print()
    say_lines(out, words)
