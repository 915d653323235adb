"""Brackets in the terminal: the risks of the rule as everywhere, and the two ends between which the optimum lies."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bap_cli.show import risk_table
from bap_cli.terminal import console, say
from bap_lp.model.display import clean, equals
from bap_lp.model.risks import Risks


def show_bracket(
    found: Any, title: str, choice: str, ends: Iterable[tuple[str, str]], notes: Iterable[str] = ()
) -> None:
    """The bracket `found`; `ends` are lines of a name and what it is, `notes` follow, indented ones unfolded."""
    out = console()
    if title:
        say(out, clean(title, 200))
    say(out, f"{equals('lambda', float(found.lam))}, {choice}")
    out.print()
    risk_table(out, Risks(float(found.bob), float(found.eve)), float(found.lam))
    out.print()
    say(out, f"The rule: {found.describe()}")
    for name, words in ends:
        say(out, f"{name:20} {words}")
    for line in notes:
        if line and not line.startswith(" "):
            say(out, line)
        else:
            out.print(line, soft_wrap=True)


def played_line(size: int, value: float, error: float) -> str:
    """What a simulation says."""
    return f"played on {size} simulated samples: R_A = {value:.6f} +- {error:.6f} (standard error)"
