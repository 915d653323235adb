"""A picture of the bracket of a scalar model: the predictive law of the data, shaded by the signal that they send."""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.plots import palette as pt
from bap_lp.plots import placed_labels as lt
from discretise.continuum.scalar_brackets import ModelBracket
from discretise.losses import jumps

_POINTS = 600


def bracket_picture(found: ModelBracket, ax: Any = None) -> Any:
    """The predictive law, coloured by signal, with Eve's thresholds; the bracket is the title."""
    ax = lt.axes(ax, 6.4, 3.8)
    rule, model = found.rule, found.model
    used = rule.used
    colours = pt.signal_colours(len(used))
    names = [f"release {lt.drawable(rule.signals[s], 30, 1)}" for s in used]
    if rule.discrete:
        mass = model.likelihood.mixture(model.points.weights, rule.edges)
        seen = mass > 1e-4 * mass.max()
        bottom = np.zeros(len(mass))
        for colour, name, s in zip(colours, names, used, strict=True):
            part = mass * rule.probabilities[:, s]
            ax.bar(rule.edges[seen], part[seen], bottom=bottom[seen], color=colour, label=name)
            bottom += part
        ax.set_ylabel("probability")
    else:
        ends = found.problem.edges[1:-1]
        x = np.linspace(ends[0] - 0.1 * np.ptp(ends), ends[-1] + 0.1 * np.ptp(ends), _POINTS)
        density = model.likelihood.mixture(model.points.weights, x)
        rows = rule(x)
        for colour, name, s in zip(colours, names, used, strict=True):
            ax.fill_between(x, density, where=rows[:, s] > 0.5, color=colour, lw=0, step="mid", label=name)
        ax.plot(x, density, color=pt.INK, lw=1)
        ax.set_ylabel("predictive density")
        ax.set_xlim(x[0], x[-1])
    for eve in model.eves:
        cuts = jumps(eve.loss)
        for k, c in enumerate(cuts):
            label = f"{lt.drawable(eve.name, 30, 1)}'s threshold" + ("s" if len(cuts) > 1 else "")
            at = c + (0.5 if rule.discrete else 0.0)
            ax.axvline(at, color=pt.EVE, ls=":", lw=1.6, label=None if k else label)
    ax.set_ylim(0, 1.08 * ax.dataLim.y1)
    ax.set_xlabel("x")
    bounds = (f"{end:.6f}".replace("-", "−") for end in (found.lower, found.upper))
    title = f"{' ≤ least $R_A$ ≤ '.join(bounds)} at λ = {found.lam:.4g}"
    ax.set_title(title, loc="left", fontsize=10, fontweight="bold", pad=24)
    ax.spines[["top", "right"]].set_visible(False)
    legend = ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8.5, frameon=False, borderaxespad=0.2
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return ax
