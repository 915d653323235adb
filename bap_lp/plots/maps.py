"""Pictures. Every function draws on an Axes (its own if none is given) and returns it.

The risk-utility map has U = -R_B to the right and R = -R_E upwards, so level lines of R_A = -(U - lam R) have the slope
1/lam and R_A falls towards the bottom right. The frontier is a polygon line and everything attainable a polygon.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from matplotlib.patches import Polygon

from bap_lp.conditions.given import Conditions
from bap_lp.model.calibration import extremes, lam_of
from bap_lp.model.problem import Problem
from bap_lp.plots import palette as pt
from bap_lp.plots import placed_labels as lt
from bap_lp.plots.channel_pictures import channel_heatmap, signal_cards
from bap_lp.questions.path.frontier import edge_points
from bap_lp.questions.path.pieces import Path, lambda_path
from bap_lp.questions.path.region import attainable_region
from bap_lp.releases import Comparison, compare
from bap_lp.releases.families import Family, randomised_response_family
from bap_lp.support.rational import InputError, public
from bap_lp.support.risks import Number, Risks

__all__ = ["channel_heatmap", "risk_utility_map", "signal_cards", "value_of_lambda"]

_LEVELS = 5  # level lines of R_A, in addition to the calibration line and that of the optimum
_FAMILY_STATES = 200
_STAR = 9.5  # half the size of the optimum's star, in points


def _place(risks: Risks) -> tuple[float, float]:
    return -float(risks.bob), -float(risks.eve)


def risk_utility_map(
    problem: Problem,
    lam: Any = "calibrated",
    *,
    path: Path | None = None,
    comparison: Comparison | None = None,
    families: Sequence[Family] | None = None,
    optimum: Risks | None = None,
    conditions: Any = None,
    ax: Any = None,
) -> Any:
    """All mechanisms at once: what is attainable, the frontier, the optimum at lam, and the usual releases.

    Args:
        problem: the problem.
        lam: a non-negative number, or "calibrated".
        path: the path of the problem without conditions, if it is known already. Where probabilities are reported
            there is none: the frontier is drawn through optima at some lambdas.
        comparison: the releases to mark, by default those of `compare`.
        families: the curves to draw, by default randomised response.
        optimum: the risks to mark as optimal, by default those of the best mechanism that meets the conditions.
        conditions: what the mechanism must satisfy. The frontier is then the one under the conditions, or, if that
            cannot be computed for every lam, the one without them, and the legend says which.
        ax: the Axes to draw on, by default a new one.

    Returns:
        The Axes.
    """
    path = path or (None if problem.reporting else lambda_path(problem))
    problem, asked = problem if path is None else path.problem, Conditions.of(conditions or {})
    price = public(lam_of(problem, lam))
    comparison = comparison or compare(problem, price, conditions=asked)
    ends = edge_points(problem) if path is None else [piece.risks for piece in path.pieces]
    drawn, name = ends, "frontier: nothing is better" if path is not None else "frontier, through some of its points"
    if path is not None and not asked.empty:
        with suppress(InputError):  # a limit on information leaves no path
            pieces = lambda_path(problem, conditions=asked).pieces
            drawn, name = [piece.risks for piece in pieces], "frontier under the conditions"
    if families is None:
        small = 1 < len(problem.states) <= _FAMILY_STATES and not problem.misaligned and path is not None
        families = [randomised_response_family(problem)] if small else []
    ax = lt.axes(ax, 7.2, 6.4)
    full, null = (Risks(*map(public, pair)) for pair in extremes(problem))
    ideal = [Risks(ends[0].bob, ends[-1].eve)] if problem.misaligned else []
    (x0, y0), (x1, y1) = _frame(ax, [full, null, *(ideal and [*ideal, *ends])])
    region, whole = ((), False) if path is None else attainable_region(problem, path)
    lines = _region(ax, region, whole, drawn, name)
    best = comparison.optimum.risks if optimum is None else optimum
    named = "least $R_A$" if comparison.conditions is None else "$R_A$ of the optimum"
    lines += _levels(ax, full, null, best.alice(price), float(price), (x0, y0, x1, y1), named)
    for family, style, colour in zip(families, ("-.", ":", "--", "-") * 9, (pt.PURPLE, pt.SKY) * 18, strict=False):
        knots = sorted({*family.bob.breakpoints, *family.eve.breakpoints})
        curve = np.array([(-float(family.bob(w)), -float(family.eve(w))) for w in knots])
        label = lt.drawable(family.name or "family", 40, 1)
        ax.plot(*curve.T, style, color=colour, lw=1.8, label=label, zorder=3.5)
        lines.append(curve)
    corner = ideal[0] if ideal else Risks(full.bob, null.eve)
    for end in () if ideal else (full, null):
        edge = np.array([_place(end), _place(corner)])
        ax.plot(*edge.T, ":", color=pt.GREY, lw=1.1, zorder=2.5)
        lines.append(edge)
    _marks(ax, comparison, full, null, corner, best, price, lines)
    ax.set_xlabel("utility  $U = -R_B$   (better for Bob →)")
    ax.set_ylabel("disclosure risk  $R = -R_E$   (better for Eve →)")
    _legend(ax, problem.title)
    return ax


def _frame(ax: Any, inside: Sequence[Risks]) -> tuple[tuple[float, float], tuple[float, float]]:
    xs, ys = zip(*map(_place, inside), strict=True)
    (x0, x1), (y0, y1) = (min(xs), max(xs)), (min(ys), max(ys))
    pads = [0.16 * span or 0.5 for span in (x1 - x0, y1 - y0)]
    ax.set_xlim(x0 - pads[0], x1 + pads[0])
    ax.set_ylim(y0 - pads[1], y1 + pads[1])
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8.5)
    return (x0 - pads[0], y0 - pads[1]), (x1 + pads[0], y1 + pads[1])


def _region(ax: Any, region: Sequence[Risks], whole: bool, edge: Sequence[Risks], edge_name: str) -> list[np.ndarray]:
    name = "attainable: some mechanism does this" if whole else "attainable, and perhaps more above"
    corners = np.array([_place(risks) for risks in region])
    if len(corners) > 2:
        ax.add_patch(Polygon(corners, closed=True, fc=pt.REGION, ec=pt.REGION_EDGE, lw=0.8, label=name, zorder=1))
    vertices = np.array([_place(risks) for risks in edge])
    ax.plot(*vertices.T, "-o", color=pt.FRONTIER, lw=2.6, ms=4.5, label=edge_name, zorder=4)
    return [vertices, *([np.vstack([corners, corners[:1]])] if len(corners) else [])]


def _levels(
    ax: Any, full: Risks, null: Risks, value: Number, lam: float, frame: tuple[float, float, float, float], name: str
) -> list[np.ndarray]:
    x0, y0, x1, y1 = frame
    out = []

    def level(alice: float, clip: bool, **style: Any) -> None:
        # U - lam R = -R_A, cut at the frame
        if lam == 0:
            ends = np.array([(-alice, y0), (-alice, y1)])
        else:
            xs = np.clip(np.array([x0, x1]), lam * y0 - alice, lam * y1 - alice)
            ends = np.column_stack([xs, (xs + alice) / lam])
            if xs[0] == xs[1]:
                return
        ax.plot(*ends.T, zorder=2, **style)
        if clip:
            out.append(ends)

    corners = [-(x - lam * y) for x in (x0, x1) for y in (y0, y1)]
    for k, alice in enumerate(np.linspace(min(corners), max(corners), _LEVELS + 2)[1:-1]):
        label = "_" if k else "level lines: $R_A$ falls to the bottom right"
        level(float(alice), False, color=pt.EDGE, lw=0.8, ls=(0, (2, 3)), label=label)
    chord = np.array([_place(full), _place(null)])
    if (chord[0] != chord[1]).any():
        ax.plot(
            *chord.T,
            color=pt.GREY,
            lw=1.6,
            label="calibration line: full and null equal",
            zorder=2.2,
        )
        out.append(chord)
    level(float(value), True, color=pt.GREEN, lw=1.6, ls=(0, (6, 3)), label=f"{name}: {lt.short(value)}")
    return out


def _marks(
    ax: Any, comparison: Comparison, full: Risks, null: Risks, corner: Risks, best: Risks, lam: Number,
    lines: Sequence[np.ndarray],
) -> None:  # fmt: skip
    """Optimum, corner and releases; what lies at one point shares one label."""
    ax.plot(*_place(corner), "o", mfc="white", mec=pt.INK, ms=7.5, mew=1.3, zorder=5)
    others = [row for row in comparison.releases if row.name != "optimum"]
    for row in others:
        shape = "s" if row.name in ("full", "null") else "D"
        colour, layer = (pt.INK, 6.5) if shape == "s" else (pt.RELEASE, 6.0)
        ax.plot(*_place(row.risks), shape, color=colour, mec=pt.INK, mew=0.7, ms=6, zorder=layer)
    ax.plot(*_place(best), "*", color=pt.GREEN, mec=pt.INK, mew=0.7, ms=17, zorder=7)
    named = [(_place(best), f"optimum at λ = {lt.short(lam)}", pt.DARK_GREEN)]
    named += [(_place(end), name, pt.INK) for end, name in ((full, "full"), (null, "null"))]
    named += [(_place(r.risks), lt.drawable(r.name), pt.INK) for r in others if r.name not in ("full", "null")]
    named.append((_place(corner), "corner", pt.INK))
    scale = [abs(a - b) for a, b in zip(_place(full), _place(null), strict=True)]
    points, texts, colours = zip(*lt.shared(named, scale), strict=True)
    labels = lt.Labels(ax, points, texts, colours, lines, room=[_STAR, *[6.5] * (len(points) - 1)])
    labels.texts[0].set_fontweight("bold")


def _legend(ax: Any, title: str, columns: int = 2) -> None:
    legend = ax.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, fontsize=8.5, frameon=False, borderaxespad=0.2,
        title=lt.drawable(title, 70, 2) if title else None, alignment="left",
    )  # fmt: skip
    for text in (*legend.get_texts(), legend.get_title()):
        own = "$R_A$" in text.get_text() or "$V(" in text.get_text()  # other text may be somebody's label
        text.set_parse_math(own and text is not legend.get_title())
    legend.get_title().set_fontweight("bold")


def value_of_lambda(path: Path, lam: Any = None, *, ax: Any = None) -> Any:
    """V(lam), the least R_A, with its breakpoints, next to the full and the null release; lam marked if given."""
    among = "" if path.conditions is None else " under the conditions"
    ax = lt.axes(ax, 7.2, 4.2)
    full, null = (Risks(*map(public, pair)) for pair in extremes(path.problem))
    marks = [*map(float, path.breakpoints)]
    price = None if lam is None else public(lam_of(path.problem, lam))
    with suppress(InputError):  # where Eve learns nothing from the data, no lam makes full and null tie
        marks.append(float(public(lam_of(path.problem, "calibrated"))))
    end = 1.25 * max([*marks, 0.0 if price is None else float(price)]) or 1.0
    ends = np.array([0.0, end])
    for risks, name, colour, style in ((full, "full", pt.GREY, "--"), (null, "null", pt.GREY, ":")):
        ax.plot(ends, float(risks.bob) - ends * float(risks.eve), style, color=colour, lw=1.4, label=f"{name} release")
    kinks = [(float(b), float(path.value(b))) for b in path.breakpoints]
    curve = np.array([(0.0, float(path.pieces[0].risks.bob)), *kinks, (end, float(path.pieces[-1].risks.alice(end)))])
    ax.plot(*curve.T, color=pt.ALICE, lw=2.6, label=f"optimum $V(\\lambda)${among}", zorder=4)
    if kinks:
        ax.plot(*np.array(kinks).T, "o", color=pt.ALICE, mec=pt.INK, mew=0.7, ms=6, zorder=5)
    written = [lt.short(b) for b in path.breakpoints]
    if any("." in number for number in written):  # fractions next to decimals are hard to compare
        every = [[f"{float(b):.{digits}g}" for b in path.breakpoints] for digits in range(3, 7)]
        written = next((some for some in every if len(set(some)) == len(some)), every[-1])
    points, texts = kinks, [f"λ = {number}" for number in written]
    if price is not None:
        points = [(float(price), float(path.value(price))), *points]
        texts = [f"λ = {lt.short(price)}: V = {lt.short(path.value(price))}", *texts]
        ax.plot(*points[0], "*", color=pt.GREEN, mec=pt.INK, mew=0.7, ms=15, zorder=6)
    ax.set_xlim(0, end)
    ax.margins(y=0.12)
    lines = [curve, *(np.column_stack([ends, float(r.bob) - ends * float(r.eve)]) for r in (full, null))]
    room = [_STAR] * (price is not None) + [6.5] * len(kinks)
    lt.Labels(ax, points, texts, [pt.INK] * len(texts), lines, room=room)
    return _by_lambda(ax, path.problem.title)


def _by_lambda(ax: Any, title: str) -> Any:
    ax.set_xlabel("price of privacy  $\\lambda$")
    ax.set_ylabel("$R_A = R_B - \\lambda R_E$")
    ax.spines[["top", "right"]].set_visible(False)
    _legend(ax, title, 3)
    return ax
