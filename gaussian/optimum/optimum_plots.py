"""A picture of Alice's optimal rule on the data space: which (xbar, max) release 1, and what Bob and Eve test.

The horizontal axis is the sample mean, the vertical axis the maximum; no sample lies below the diagonal max = xbar. The
shaded region releases 1. The contours are those of the density of (xbar, max), which is phi(xbar) f_D(max - xbar)
because D = max - xbar is independent of the mean. The picture is drawn for an Eve who tests the mean, the maximum or
both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from bap_lp.plots import palette as pt
from bap_lp.plots import placed_labels as lt
from gaussian.eves import MaxEve, MeanEve, questions
from gaussian.laws.residual import max_residual_cdf, max_residual_support
from gaussian.model import GaussianModel
from gaussian.optimum.gaussian_brackets import Bracket

_REACH = 3.2  # standard deviations of xbar shown on either side
_CELLS = 240
_SENT = pt.signal_colours(2)[0]


def _told(found: Bracket, width: int) -> str:
    """The rule in words, with the sample mean as the axis names it."""
    return "\n".join(wrap(found.describe(), width)).replace("xbar", r"$\mathbf{\bar{x}}$")


def rule_pictures(found: Sequence[Bracket]) -> Any:
    """Several rules in one figure, two in a row, with one legend; at a size that can be read on a page."""
    import matplotlib.pyplot as plt

    places = len(found) + 1
    figure, panels = plt.subplots(-(-places // 2), 2, figsize=(10, 4.7 * -(-places // 2)), layout="constrained")
    handles: dict[str, Any] = {}
    for ax, one in zip(panels.flat, found, strict=False):
        rule_picture(one, ax)
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
        ax.get_legend().remove()
        ax.set_title(_told(one, 46), loc="left", fontsize=10.5, fontweight="bold")
    for ax in panels.flat[len(found) :]:
        ax.axis("off")
    panels.flat[len(found)].legend(handles.values(), handles.keys(), loc="center", fontsize=10.5, frameon=False)
    return figure


def rule_picture(found: Bracket, ax: Any = None) -> Any:
    """The regions of the optimal rule in the (xbar, max) plane, with Bob's and Eve's thresholds."""
    for question in questions(found.adversary):
        if not isinstance(question, (MeanEve, MaxEve)):
            raise ValueError(f"eve = {question} must test the mean or the maximum for this picture")
    ax = lt.axes(ax, 6.2, 5.2)
    model, spread = found.model, found.model.xbar_sd
    low, high = model.prior_mean - _REACH * spread, model.prior_mean + _REACH * spread
    top = high + model.noise_sd * min(4.0, max_residual_support(model.n)) / 2 if model.n > 1 else high
    for region in found.regions:
        left, right = max(region.xbar_above, low), min(region.xbar_upto, high)
        floor = low if region.max_above is None else max(region.max_above, low)
        roof = top if region.max_upto is None else min(region.max_upto, top)
        if region.release == 1 and left < right and floor < roof:
            # the part of the rectangle above the diagonal
            bend = [(x, max(floor, x)) for x in np.unique([left, right, *np.clip([floor], left, right)]) if x <= roof]
            corners = [*bend, (min(right, roof), roof), (left, roof)]
            ax.fill(*np.array(corners).T, color=_SENT, lw=0, zorder=1)
    _contours(ax, model, low, high, top)
    ax.fill([low, high, high], [low, low, high], color="white", zorder=3)
    ax.plot([low, high], [low, high], color=pt.GREY, lw=1.0, zorder=4)
    _thresholds(ax, found, low, high, top)
    ax.plot([], [], color=_SENT, lw=9, label="release 1")
    ax.plot([], [], color=pt.INK, alpha=0.35, lw=0.8, label="where the data lie")
    ax.set_xlim(low, high)
    ax.set_ylim(low, top)
    ax.set_xlabel(r"sample mean $\bar x$")
    ax.set_ylabel("largest value  max x")
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_title(_told(found, 70), loc="left", fontsize=10, fontweight="bold", pad=38)
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8, frameon=False, borderaxespad=0.2)
    return ax


def _contours(ax: Any, model: GaussianModel, low: float, high: float, top: float) -> None:
    if model.n == 1:
        return  # the maximum is the mean, so that all data lie on the diagonal
    x, m = np.meshgrid(np.linspace(low, high, _CELLS), np.linspace(low, top, _CELLS))
    below, step, residual = max_residual_cdf(model.n), 1e-3, np.clip((m - x) / model.noise_sd, 0.0, None)
    slope = (below(residual + step) - below(residual)) / step
    density = np.exp(-0.5 * ((x - model.prior_mean) / model.xbar_sd) ** 2) * slope
    density[m < x] = 0.0
    levels = density.max() * np.array([0.02, 0.1, 0.3, 0.6, 0.9])
    ax.contour(x, m, density, levels=levels, colors=pt.INK, alpha=0.35, linewidths=0.8, zorder=2)


def _thresholds(ax: Any, found: Bracket, low: float, high: float, top: float) -> None:
    for question in questions(found.adversary):
        c = question.threshold
        if isinstance(question, MeanEve) and low < c < high:
            ax.plot([c, c], [c, top], color=pt.EVE, lw=1.6, ls="--", label="Eve asks: mean above", zorder=4)
        if isinstance(question, MaxEve) and low < c < top:
            end = min(c, high)
            ax.plot([low, end], [c] * 2, color=pt.EVE, lw=1.8, ls=":", label="Eve asks: maximum above", zorder=4)
    # given all the data, Bob decides theta > c_B where he expects to lose less by it
    bob = found.model.bob_cut
    if math.isfinite(bob) and low < bob < high:
        ax.plot([bob, bob], [bob, top], color=pt.BOB, lw=1.6, label="Bob with all the data", zorder=4)
