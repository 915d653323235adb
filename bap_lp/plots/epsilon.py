"""Utility against epsilon: what a privacy budget costs, with the certified band between the values computed."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from bap_lp.plots import labels as lt
from bap_lp.plots import palette as pt
from bap_lp.questions.path.epsilon import EpsilonPath


def value_of_epsilon(path: EpsilonPath, *, axes: Any = None) -> Any:
    """R_A against exp(epsilon), on a logarithmic scale, over a panel with R_B and R_E.

    Args:
        path: what `epsilon_path` found.
        axes: two Axes, one above the other, to draw into; new ones by default.

    Returns:
        The two Axes.
    """
    if axes is None:
        _, axes = plt.subplots(2, 1, figsize=(7.2, 6.0), sharex=True, layout="constrained")
    top, below = axes
    K = np.array([float(p.exp_epsilon) for p in path.points])
    value, bound = (np.array([float(getattr(p, name)) for p in path.points]) for name in ("value", "bound"))
    free = float(path.free)
    # between two values the optimum lies below the left one and above the right one
    top.fill_between(
        np.append(K, K[-1] * 1.15), np.append(value, value[-1]), np.append(bound[1:], [min(bound[-1], free)] * 2),
        step="post", color=pt.ALICE, alpha=0.25, lw=0, label="certified band",
    )  # fmt: skip
    top.plot(K, value, "o", color=pt.ALICE, mec=pt.INK, mew=0.4, ms=4, label="optimum, proved", zorder=4)
    top.axhline(free, color=pt.GREY, lw=1.2, ls="--", label="without differential privacy")
    top.set_ylabel(f"least $R_A$ at λ = {lt.short(path.lam)}")
    for name, colour in (("bob", pt.BOB), ("eve", pt.EVE)):
        risks = [float(getattr(p.risks, name)) for p in path.points]
        told = "$R_B$, Bob's, wanted low" if name == "bob" else "$R_E$, Eve's, wanted high"
        below.plot(K, risks, "o-" if name == "bob" else "D--", color=colour, lw=1.2, ms=3.5, label=told)
    below.set_ylabel("risks of the optimum")
    for ax in (top, below):
        ax.set_xscale("log", base=2)
        ax.set_xlim(K[0], K[-1] * 1.15)
        ax.margins(y=0.1)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(loc="best", fontsize=8.5, frameon=False)
    ticks = [k for k in 2.0 ** np.arange(0, 21) if K[0] <= k <= K[-1]]
    step = -(-len(ticks) // 8)  # eight labels of two lines fit the width
    below.set_xticks(ticks[::step], [f"{k:g}\n(ε = {np.log(k):.2g})" for k in ticks[::step]])
    below.set_xlabel("exp(ε), with ε below")
    if path.problem.title:
        top.set_title(lt.drawable(path.problem.title, 70, 2), loc="left", fontsize=10, fontweight="bold")
    return axes
