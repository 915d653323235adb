"""What is said about draws that are in the ledger of a folder: the same again, or what all of them leave."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from bap_lp.files.ledger import Draw
from bap_lp.support.display import both

Again = Annotated[
    bool, typer.Option("--again", help="Draw anew what was drawn before, which leaves Eve less risk than one draw.")
]


def say_repeated(draw: Draw, what: str) -> None:
    """Say that this draw was made before, if it was."""
    if draw.made is not None:
        print(f"bap: the same {what} as on {draw.made}: --again draws anew", file=sys.stderr)


def risk_left(said: str, once: Any, often: Any, whole: bool = True) -> str:
    """What several draws leave of Eve's risk; if not whole, `often` is what draws without end would leave."""
    if whole and both(once) == both(often):  # a signal that is certain, or that tells her nothing, says the same again
        return f"{said} leave Eve the risk that one leaves, {both(once)}"
    warning = f"{said} can say more than one: Eve's risk"
    if not whole:
        return f"{warning} falls from {both(once)} to no less than {both(often)}, which draws without end would leave"
    return f"{warning} {'falls' if often < once else 'rises'} from {both(once)} to {both(often)}"
