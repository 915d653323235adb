"""A card per signal: how often it is sent, what it says about the data, and what everybody then does.

The height of a card follows from its text: its rows are counted in lines, and the cards of one row of the picture have
the height of the fullest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from matplotlib.patches import FancyBboxPatch, Rectangle

from bap_lp.arguments import checked
from bap_lp.model.display import decided
from bap_lp.model.evaluated import Signal
from bap_lp.model.evaluation import evaluate
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.plots import labels as lt
from bap_lp.plots import palette as pt

_SIGNALS = 12
_BARS = 5  # states of a card
_LINE = 0.21  # inches
_WIDTH = 3.3
_FRAME = 1.7  # lines around the text: gaps between cards, and inside them


@dataclass(frozen=True)
class _Row:
    """A line of a card: text, or a state with its probability as a bar; the colour is that of its agent."""

    text: str
    lines: float = 1.0
    share: Any = None
    colour: str = pt.INK
    size: float = 8.5
    bold: bool = False
    mark: str = ""


@checked
def signal_cards(problem: Problem, mechanism: Mechanism, *, ax: Any = None) -> Any:
    """A card per signal: how often it is sent, what it says about the data, and what Bob and Eve then do."""
    every = sorted(evaluate(problem, mechanism).signals, key=lambda s: -s.probability)
    cards = [_rows(signal, problem) for signal in every[:_SIGNALS]]
    wide = 2 if len(cards) == 4 else min(3, len(cards))
    deep = [cards[k : k + wide] for k in range(0, len(cards), wide)]
    heights = [max(sum(row.lines for row in card) for card in cards) + _FRAME for cards in deep]
    more = len(every) - len(cards)
    total = sum(heights) + (1.2 if more else 0)
    ax = lt.axes(ax, _WIDTH * wide, _LINE * total + 0.1)
    top = total
    for row, height in zip(deep, heights, strict=True):
        for k, card in enumerate(row):
            _draw(ax, float(k), top, height, card)
        top -= height
    if more:
        ax.text(0.03, 0.3, f"and {more} more signals, each rarer than these", fontsize=8.5, color=pt.SOFT)
    ax.set_xlim(-0.01, wide + 0.01)
    ax.set_ylim(-0.1, total + 0.1)
    ax.axis("off")
    return ax


def _rows(signal: Signal, problem: Problem) -> list[_Row]:
    exact = problem.exact and not isinstance(signal.probability, float)
    title = lt.drawable(signal.signal, 25, 2)
    rows = [_Row(f"“{title}”", 1.5 + 1.3 * title.count("\n"), size=11, bold=True)]
    rows.append(_Row(f"sent with probability {lt.short(signal.probability)}", 1.35, colour=pt.SOFT))
    ranked = sorted(((v, s) for s, v in signal.posterior.items() if v > 0), key=lambda pair: -pair[0])
    shown = ranked if len(ranked) <= _BARS else ranked[: _BARS - 1]
    rows += [_Row(lt.drawable(state, 20, 1), 1.05, value, size=8) for value, state in shown]
    if len(ranked) > len(shown):
        rest = 1 - sum(value for value, _ in shown)
        rows.append(_Row(f"{len(ranked) - len(shown)} others", 1.05, rest, pt.SOFT, 8))
    rows.append(_Row("", 0.35))
    for one in signal.decisions[:4]:
        text = lt.drawable(decided(one.agent, one.decisions, exact), 40, 3)
        rows.append(_Row(text, 1.05 * (text.count("\n") + 1) + 0.1, mark=pt.BOB if one.role == "bob" else pt.EVE))
    if len(signal.decisions) > 4:
        rows.append(_Row(f"and {len(signal.decisions) - 4} more decisions", colour=pt.SOFT))
    return rows


def _draw(ax: Any, x: float, top: float, height: float, rows: list[_Row]) -> None:
    box = FancyBboxPatch((x + 0.03, top - height + 0.35), 0.94, height - 0.5, fc=pt.CARD, ec=pt.EDGE, lw=1.0,
                         boxstyle="round,pad=0,rounding_size=0.03", mutation_aspect=_WIDTH / _LINE)  # fmt: skip
    ax.add_patch(box)
    y = top - 0.75
    for row in rows:
        weight = "bold" if row.bold else "normal"
        indent = 0.03 if row.mark else 0.0
        ax.text(x + 0.08 + indent, y, row.text, va="top", fontsize=row.size, color=row.colour, fontweight=weight,
                linespacing=1.25, parse_math=False)  # fmt: skip
        if row.mark:
            ax.add_patch(Rectangle((x + 0.08, y - row.lines + 0.25), 0.012, row.lines - 0.25, fc=row.mark, ec="none"))
        if row.share is not None:
            for width, colour in ((0.26, pt.PALE), (0.26 * float(row.share), pt.SLATE)):
                ax.add_patch(Rectangle((x + 0.52, y - 0.68), width, 0.6, fc=colour, ec="none"))
            ax.text(x + 0.80, y, lt.short(row.share, 7), va="top", fontsize=8, color=pt.INK)
        y -= row.lines
