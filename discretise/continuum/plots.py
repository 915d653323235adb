"""A picture of the bracket of a scalar model: the predictive law of the data, shaded by the signal that they send."""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.plots import labels as lt
from discretise.continuum.brackets import ModelBracket
from discretise.losses import jumps

_POINTS = 600


def bracket_picture(found: ModelBracket, ax: Any = None) -> Any:
    """The predictive law, coloured by signal, with Eve's thresholds; the bracket is the title."""
    import matplotlib

    ax = lt.axes(ax, 6.4, 3.8)
    rule, problem = found.rule, found.problem
    used = rule.used
    colours = matplotlib.colormaps["viridis"](np.linspace(0.1, 0.85, max(len(used), 2)))
    if rule.discrete:
        mass = problem.likelihood.mixture(problem.points.weights, rule.edges)
        seen = mass > 1e-4 * mass.max()
        bottom = np.zeros(len(mass))
        for colour, s in zip(colours, used, strict=False):
            part = mass * rule.rows[:, s]
            ax.bar(rule.edges[seen], part[seen], bottom=bottom[seen], color=colour, label=f"release {rule.signals[s]}")
            bottom += part
        ax.set_ylabel("probability")
    else:
        ends = problem.edges[1:-1]
        x = np.linspace(ends[0] - 0.1 * np.ptp(ends), ends[-1] + 0.1 * np.ptp(ends), _POINTS)
        density = problem.likelihood.mixture(problem.points.weights, x)
        rows = rule(x)
        for colour, s in zip(colours, used, strict=False):
            ax.fill_between(
                x, density, where=rows[:, s] > 0.5, color=colour, lw=0, step="mid", label=f"release {rule.signals[s]}"
            )
        ax.plot(x, density, color="black", lw=1)
        ax.set_ylabel("predictive density")
        ax.set_xlim(x[0], x[-1])
    for eve in problem.eve_tasks:
        for c in jumps(eve.loss) + (0.5 if rule.discrete else 0.0):
            ax.axvline(
                c,
                color=lt.GREY,
                ls=":",
                lw=1.2,
                label=f"{eve.name}'s threshold" if c - jumps(eve.loss)[0] < 1 else None,
            )
    ax.set_ylim(0, 1.08 * ax.dataLim.y1)
    ax.set_xlabel("x")
    ax.set_title(f"{found.lower:.6f} <= least R_A <= {found.upper:.6f} at lambda = {found.lam:.4g}", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(fontsize=8, frameon=False)
    return ax
