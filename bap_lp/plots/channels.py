"""One mechanism up close: its channel q(s|x) with the posterior p(x|s) under it, and a card per signal."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import FancyBboxPatch, Rectangle

from bap_lp.model.evaluation import AgentDecisions, Signal, evaluate
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.plots import labels as lt
from bap_lp.rational import array, floats, public

_ROWS = 24  # states drawn; the most probable ones of a longer list
_SIGNALS = 12
_BARS = 4  # states of a card
_BLUES = LinearSegmentedColormap.from_list("blues", ["#ffffff", "#cfe3f3", lt.BLUE, "#003a5c"])
_ORANGES = LinearSegmentedColormap.from_list("oranges", ["#ffffff", "#fbe3c2", lt.VERMILION, "#6b2c00"])


def channel_heatmap(mechanism: Mechanism, prior: Any = None, *, ax: Any = None) -> Any:
    """q(s|x), a row per state and a column per signal; given the prior, the posterior p(x|s) in a block below."""
    q = floats(mechanism.q)
    p = np.full(len(q), 1 / len(q)) if prior is None else floats(array(prior, "prior", 1))
    rows = np.sort(np.argsort(-p, kind="stable")[:_ROWS])
    mass = p @ q
    columns = np.sort(np.argsort(-mass, kind="stable")[:_SIGNALS])
    blocks = [(np.array(public(mechanism.q)), "q(signal | data)", _BLUES)]
    if prior is not None:
        joint = p[:, None] * q
        posterior: Any = joint / np.where(mass > 0, mass, 1.0)
        if mechanism.exact and array(prior, "prior", 1).dtype == object:
            exact = array(prior, "prior", 1)[:, None] * mechanism.q
            total = exact.sum(axis=0)
            posterior = public(np.array([c / t if t > 0 else c for c, t in zip(exact.T, total, strict=True)]).T)
        blocks.append((posterior, "p(data | signal)", _ORANGES))
    names = [lt.drawable(mechanism.states[x], 22, 2) for x in rows]
    height = (len(rows) * 0.36 + 0.5) * len(blocks) + 0.9
    ax = lt.axes(ax, 2.6 + 1.05 * len(columns), min(height, 14))
    ticks, words = [], []
    for k, (table, what, colours) in enumerate(blocks):
        top = k * (len(rows) + 1.0)
        for r, x in enumerate(rows):
            for c, s in enumerate(columns):
                _cell(ax, c, top + r, table[x, s], colours)
            ticks.append(top + r)
            words.append(names[r])
        ax.text(-0.5, top - 0.58, what, ha="left", va="bottom", fontsize=9, fontweight="bold", parse_math=False)
    ax.set_xlim(-0.5, len(columns) - 0.5)
    ax.set_ylim(len(blocks) * (len(rows) + 1) - 1.4, -1.05)
    ax.set_yticks(ticks, words, parse_math=False, fontsize=8.5)
    signals = [lt.drawable(mechanism.signals[s], 14, 3) for s in columns]
    ax.set_xticks(range(len(columns)), signals, parse_math=False, fontsize=8.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    hidden = [f"{n - len(kept)} more {what}" for n, kept, what in
              ((len(q), rows, "states"), (q.shape[1], columns, "signals")) if n > len(kept)]  # fmt: skip
    ax.set_xlabel("signal" + (f"   ({' and '.join(hidden)} not shown)" if hidden else ""))
    return ax


def _cell(ax: Any, x: float, y: float, value: Number, colours: Any) -> None:
    level = float(value)
    red, green, blue, _ = colours(level)
    ax.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, fc=(red, green, blue), ec="white", lw=1.5))
    ink = "white" if 0.3 * red + 0.59 * green + 0.11 * blue < 0.55 else lt.INK
    ax.text(x, y, lt.short(value, 7), ha="center", va="center", fontsize=9, color=ink if level else "#8a8a8a")


def signal_cards(problem: Problem, mechanism: Mechanism, *, ax: Any = None) -> Any:
    """A card per signal: how often it is sent, what it says about the data, and what Bob and Eve then do."""
    signals = sorted(evaluate(problem, mechanism).signals, key=lambda s: -s.probability)[:_SIGNALS]
    wide = min(3, len(signals))
    deep = -(-len(signals) // wide)
    ax = lt.axes(ax, 3.3 * wide, 2.75 * deep + 0.1)
    for k, signal in enumerate(signals):
        _card(ax, (k % wide) * 1.0, (deep - 1 - k // wide) * 1.0, signal, problem)
    ax.set_xlim(-0.01, wide + 0.01)
    ax.set_ylim(-0.01, deep + 0.01)
    ax.axis("off")
    return ax


def _card(ax: Any, x: float, y: float, signal: Signal, problem: Problem) -> None:
    exact = problem.exact and not isinstance(signal.probability, float)
    box = FancyBboxPatch((x + 0.03, y + 0.03), 0.94, 0.94, boxstyle="round,pad=0,rounding_size=0.04",
                         fc="#fafafa", ec="#b5b5b5", lw=1.0)  # fmt: skip
    ax.add_patch(box)

    def write(dx: float, dy: float, text: str, **style: Any) -> None:
        ax.text(x + dx, y + dy, text, va="top", parse_math=False, **{"fontsize": 8.5, "color": lt.INK, **style})

    write(0.08, 0.92, f"“{lt.drawable(signal.signal, 25, 1)}”", fontsize=11, fontweight="bold")
    write(0.08, 0.82, f"sent with probability {lt.short(signal.probability)}", color="#4a4a4a")
    ranked = sorted(((v, s) for s, v in signal.posterior.items() if v > 0), key=lambda pair: -pair[0])
    for k, (value, state) in enumerate(ranked[:_BARS]):
        top = 0.72 - 0.085 * k
        ax.add_patch(Rectangle((x + 0.52, y + top - 0.055), 0.26, 0.05, fc="#e4e4e4", ec="none"))
        ax.add_patch(Rectangle((x + 0.52, y + top - 0.055), 0.26 * float(value), 0.05, fc=lt.BLUE, ec="none"))
        write(0.08, top, lt.drawable(state, 20, 1), fontsize=8)
        write(0.80, top, lt.short(value, 7), fontsize=8)
    if len(ranked) > _BARS:
        write(0.08, 0.72 - 0.085 * _BARS, f"or one of {len(ranked) - _BARS} others", fontsize=8, color="#4a4a4a")
    lines = [_decided(d, exact) for d in signal.decisions]
    write(0.08, 0.30, "\n".join(lt.drawable(line, 42, 2) for line in lines[:3]), linespacing=1.25)


def _decided(one: AgentDecisions, exact: bool) -> str:
    names = one.decisions
    if len(names) == 1:
        return f"{one.agent} decides {names[0]}."
    how = "exactly indifferent" if exact else "indifferent up to rounding"
    many = " and ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
    return f"{one.agent} is {how}: {many}."
