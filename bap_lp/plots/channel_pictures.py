"""One mechanism up close: its channel q(s|x) with the posterior p(x|s) under it, and a card per signal.

Nothing is dropped from a large mechanism. States with the same row of q are one row, the rows in the order in which
they run through the signals, and what is still too much is added up: the least probable rows into one with their
average q(s|x) = sum p(x) q(s|x) / sum p(x), the rarest signals into one column. Every column of the posterior still
sums to one.

A card says how often its signal is sent, what it says about the data, and what everybody then does. Its height follows
from its text: its rows are counted in lines, and the cards of one row of the picture have the height of the fullest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import FancyBboxPatch, Rectangle

from bap_lp.model.evaluated import Signal
from bap_lp.model.evaluation import evaluate
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.plots import palette as pt
from bap_lp.plots import placed_labels as lt
from bap_lp.support.display import counted, decided
from bap_lp.support.rational import Array, InputError, array, floats, public
from bap_lp.support.risks import Number

_ROWS = 24  # rows drawn
_SIGNALS = 12
_LETTERS = 22  # of a line of a row's name
_SMALL = 48  # cells up to which a zero is written
_GREENS = LinearSegmentedColormap.from_list("greens", pt.GREENS)
_SLATES = LinearSegmentedColormap.from_list("slates", pt.SLATES)


@dataclass(frozen=True, eq=False)
class DrawnChannel:
    """Rows and columns as they are drawn: q(s|x) and p(x|s) of kinds of states and of signals."""

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    channel: Array
    posterior: Array


def drawn_channel(mechanism: Mechanism, prior: Any = None) -> DrawnChannel:
    """A mechanism with few enough rows and columns to draw, everything still in it.

    Args:
        mechanism: the mechanism.
        prior: probabilities of the states, by default equal ones.

    Returns:
        The rows and columns, exact if mechanism and prior are.

    >>> from bap_lp import Mechanism
    >>> found = drawn_channel(Mechanism([[k % 2, 1 - k % 2] for k in range(100)]))
    >>> found.rows[0], found.channel.tolist()
    ('1; 3; 48 more', [[Fraction(1, 1), Fraction(0, 1)], [Fraction(0, 1), Fraction(1, 1)]])
    """
    count = len(mechanism.q)
    given = array([f"1/{count}"] * count if prior is None else prior, "prior", 1)
    if len(given) != count:
        raise InputError("prior", None, f"has {len(given)} entries, must have {count}, one per state")
    exact = mechanism.exact and given.dtype == object
    q, p = (mechanism.q, given) if exact else (floats(mechanism.q), floats(given))
    columns, signals = _columns(p.dot(q), mechanism.signals)
    q = np.stack([q[:, which].sum(axis=1) for which in columns], axis=1)
    parts = [[x] for x in range(count)] if count <= _ROWS else _kinds(q, p)
    weight = [p[part].sum() for part in parts]
    zero = p[0] * 0
    rows = [p[part].dot(q[part]) / mass if mass else q[part[0]] for part, mass in zip(parts, weight, strict=True)]
    channel = np.stack(rows)
    joint = np.array([mass * row for mass, row in zip(weight, channel, strict=True)], dtype=q.dtype)
    sent = joint.sum(axis=0)
    posterior = np.array([c / t if t else c * zero for c, t in zip(joint.T, sent, strict=True)], dtype=q.dtype).T
    own = ([mechanism.states[x] for x in part] for part in parts)
    names = tuple("; ".join(some if len(some) < 3 else [*some[:2], f"{len(some) - 2} more"]) for some in own)
    return DrawnChannel(names, signals, public(channel), public(posterior))


def _columns(mass: Array, names: tuple[str, ...]) -> tuple[list[list[int]], tuple[str, ...]]:
    """The signals of each column drawn: one each, and the rarest together if there are too many."""
    if len(names) <= _SIGNALS:
        return [[s] for s in range(len(names))], tuple(names)
    ranked = np.argsort(-floats(mass), kind="stable")
    kept, rest = sorted(ranked[: _SIGNALS - 1].tolist()), sorted(ranked[_SIGNALS - 1 :].tolist())
    return [*([s] for s in kept), rest], (*(names[s] for s in kept), counted(len(rest), "other signal"))


def _kinds(q: Array, p: Array) -> list[list[int]]:
    """States with the same row together, along the signals; the least probable kinds together if there are too many."""
    found: dict[Any, list[int]] = {}
    for x, row in enumerate(q.tolist()):
        found.setdefault(tuple(map(str, row)), []).append(x)
    kinds = list(found.values())
    rest: list[int] = []
    if len(kinds) > _ROWS:
        ranked = sorted(kinds, key=lambda part: -float(p[part].sum()))
        kinds, rest = ranked[: _ROWS - 1], [x for part in ranked[_ROWS - 1 :] for x in part]
    centre = floats(q) @ np.arange(q.shape[1])
    return sorted(kinds, key=lambda part: (float(centre[part[0]]), part[0])) + ([rest] if rest else [])


def _drawn(name: str) -> str:
    """A row's name on two lines. Of several states the first one is cut, and not how many there are."""
    first, semicolon, count = name.rpartition("; ")
    whole = lt.drawable(name, _LETTERS, 2)
    if not (whole.endswith("…") and semicolon and count.endswith(" more")):
        return whole
    return f"{lt.drawable(first.split('; ')[0], _LETTERS, 1)}\nand {int(count.split()[0]) + 1} more"


def channel_heatmap(mechanism: Mechanism, prior: Any = None, *, ax: Any = None) -> Any:
    """q(s|x), a row per state and a column per signal; given the prior, the posterior p(x|s) in a block below.

    More than 24 states are drawn by kind: those with the same row together, in the order of the signals.
    """
    found = drawn_channel(mechanism, prior)
    blocks = [(found.channel, "q(signal | data)", _GREENS)]
    if prior is not None:
        blocks.append((found.posterior, "p(data | signal)", _SLATES))
    names = [_drawn(name) for name in found.rows]
    count, zeros = len(names), found.channel.size <= _SMALL
    height = (count * 0.36 + 0.5) * len(blocks) + 0.9
    ax = lt.axes(ax, 2.6 + 1.05 * len(found.columns), min(height, 20))
    ticks, words = [], []
    for k, (table, what, colours) in enumerate(blocks):
        top = k * (count + 1.0)
        for r in range(count):
            for c in range(len(found.columns)):
                _cell(ax, c, top + r, table[r, c], colours, zeros)
            ticks.append(top + r)
            words.append(names[r])
        ax.text(-0.5, top - 0.58, what, ha="left", va="bottom", fontsize=9, fontweight="bold", parse_math=False)
    ax.set_xlim(-0.5, len(found.columns) - 0.5)
    ax.set_ylim(len(blocks) * (count + 1) - 1.4, -1.05)
    ax.set_yticks(ticks, words, parse_math=False, fontsize=8.5)
    ax.set_xticks(
        range(len(found.columns)), [lt.drawable(s, 14, 3) for s in found.columns], parse_math=False, fontsize=8.5
    )
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    merged = len(mechanism.states) > count
    ax.set_xlabel("signal" + (f"\n{len(mechanism.states)} states, equal rows together" if merged else ""))
    return ax


def _cell(ax: Any, x: float, y: float, value: Number, colours: Any, zeros: bool) -> None:
    level = float(value)
    red, green, blue, _ = colours(level) if level else (0.975, 0.978, 0.982, 1)
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fc=(red, green, blue), ec="white", lw=1.5))
    ink = "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 0.55 else pt.INK
    if level or zeros:
        ax.text(x, y, lt.short(value, 7), ha="center", va="center", fontsize=9, color=ink if level else pt.FAINT)


_CARDS = 12
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


def signal_cards(problem: Problem, mechanism: Mechanism, *, ax: Any = None) -> Any:
    """A card per signal: how often it is sent, what it says about the data, and what Bob and Eve then do."""
    every = sorted(evaluate(problem, mechanism).signals, key=lambda s: -s.probability)
    cards = [_rows(signal, problem) for signal in every[:_CARDS]]
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
