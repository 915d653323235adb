"""The figures of the paper and its supplement: risks against sigma and tau, and the risk-utility maps.

Every function draws on an Axes (a new one if none is given) and returns it. The argument `optimum` is the pair of risks
of the best mechanism of all. The paper's figures do not show it: they compare the parametric families only.

Curves are computed at sigma = s u/(1 - u) for evenly spaced u, from no noise to nearly the null release, and are drawn
through these points by a monotone cubic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from bap_lp.plots import palette as pt
from bap_lp.plots import placed_labels as lt
from bap_lp.support.risks import Risks
from gaussian.corners import corner
from gaussian.evaluate import calibrate, risks
from gaussian.eves import questions
from gaussian.laws.noisy_full import SEARCH
from gaussian.model import BothEves, Eve, GaussianModel, MaxEve, MeanEve
from gaussian.paper import PAPER_MODEL, PAPER_TABLES
from gaussian.real_arrays import Array
from gaussian.releases import NAMES, Full, NoisyFull, NoisyMean, NoisyMedian, Null, OneBit, ReleaseFamily
from gaussian.risk_tables import Curve, bit_curve, computed_families, curve
from gaussian.tuning import TunedRelease, optimise

STYLES: dict[ReleaseFamily, tuple[str, Any]] = {
    NoisyFull: (pt.ORANGE, "-"),
    NoisyMean: (pt.SKY, "-."),
    NoisyMedian: (pt.PURPLE, ":"),
    OneBit: (pt.BROWN, (0, (5, 1.5))),
}
SYMBOLS = {"bob": "R_B", "eve": "R_E", "alice": "R_A"}
_POINTS, _BITS = 26, 401
_LAST = 0.97  # of u
_DOT = 6.0
_DENSE = 400


def family_curve(model: GaussianModel, eve: Eve, family: ReleaseFamily) -> Curve:
    """The risks of a family from one end to nearly the other; computed once."""
    return _family_curve(model, eve, NAMES[family])


@lru_cache(maxsize=64)
def _family_curve(model: GaussianModel, eve: Eve, name: str) -> Curve:
    family = next(f for f in STYLES if NAMES[f] == name)
    if family is OneBit:
        # evenly spaced tau, and evenly spaced thresholds in xbar, many of which have tau = 0 or 1 to the last digit
        t = model.bit_threshold(np.linspace(0.0, 1.0, _BITS))
        even = model.prior_mean + model.xbar_sd * np.linspace(-6.0, 6.0, _BITS)
        return bit_curve(model, eve, np.union1d(t, even))
    scale = model.xbar_sd * (math.sqrt(model.n) if family is NoisyFull else 1.0)
    u = np.linspace(0.0, _LAST, _POINTS)
    return curve(model, eve, family, scale * u / (1 - u), SEARCH)


def _dense(found: Curve, lam: float, risk: str) -> tuple[Array, Array]:
    """Parameter and risk of a curve, at many points."""
    from scipy.interpolate import PchipInterpolator

    values: Array = found.alice(lam) if risk == "alice" else np.asarray(getattr(found, risk))
    if found.family is OneBit:
        return found.parameter, values
    u = np.linspace(0.0, 1.0, len(found.parameter))
    dense = np.linspace(0.0, 1.0, _DENSE)
    return PchipInterpolator(u, found.parameter)(dense), PchipInterpolator(u, values)(dense)


def best_of_family(model: GaussianModel, eve: Eve, family: ReleaseFamily, lam: float) -> TunedRelease:
    """The best member of a family, as in the table; computed once."""
    return _best_of_family(model, eve, NAMES[family], lam)


@lru_cache(maxsize=256)
def _best_of_family(model: GaussianModel, eve: Eve, name: str, lam: float) -> TunedRelease:
    return optimise(model, eve, next(f for f in STYLES if NAMES[f] == name), lam=lam)


def _dots(ax: Any, dots: list[tuple[float, float, str]]) -> None:
    """Mark points; of points too close to tell apart the first is the largest ring and the next lie inside it."""
    ax.margins(y=0.1)
    ax.autoscale_view()
    places = [ax.transData.transform(dot[:2]) for dot in dots]
    for k, (x, y, colour) in enumerate(dots):
        near = [j for j, place in enumerate(places) if np.hypot(*(place - places[k])) < _DOT * ax.figure.dpi / 72]
        size = _DOT + 4.5 * sum(j > k for j in near)
        ax.plot(x, y, "o", color=colour, ms=size, mec="white", mew=0.8, clip_on=False, zorder=4 + k)


def _value(pair: Risks, lam: float, risk: str) -> float:
    return float(pair.alice(lam)) if risk == "alice" else float(getattr(pair, risk))


def risk_against_noise(
    model: GaussianModel,
    eve: Eve,
    risk: str = "alice",
    *,
    lam: float | None = None,
    largest: float = 5.0,
    optimum: Risks | None = None,
    ax: Any = None,
) -> Any:
    """R_A, R_B or R_E ("alice", "bob", "eve") of the three noisy releases against sigma, up to `largest`."""
    weight, ax = _start(model, eve, risk, lam, optimum, ax)
    dots: list[tuple[float, float, str]] = []
    for family in computed_families(model, eve):
        if family is OneBit:
            continue
        colour, style = STYLES[family]
        x, y = _dense(family_curve(model, eve, family), weight, risk)
        ax.plot(x, y, color=colour, ls=style, lw=2, label=NAMES[family], zorder=3)
        if risk == "alice":
            # the optimum of the table, not the least point of the drawn curve
            best = best_of_family(model, eve, family, weight)
            if best.parameter <= largest:
                dots.append((best.parameter, best.alice, colour))
    ax.set_xlim(0, largest)
    _dots(ax, dots)
    ax.set_xlabel("noise  $\\sigma$")
    return _finish(ax)


def risk_against_threshold(
    model: GaussianModel,
    eve: Eve,
    risk: str = "alice",
    *,
    lam: float | None = None,
    optimum: Risks | None = None,
    ax: Any = None,
) -> Any:
    """R_A, R_B or R_E of the one-bit release against tau; on the curve of R_A the minimum tau* is marked."""
    weight, ax = _start(model, eve, risk, lam, optimum, ax)
    colour, style = STYLES[OneBit]
    found = family_curve(model, eve, OneBit)
    x, y = _dense(found, weight, risk)
    ax.plot(x, y, color=colour, ls=style, lw=2, label=NAMES[OneBit], zorder=3)
    if risk == "alice":
        best = best_of_family(model, eve, OneBit, weight)
        ax.plot(best.parameter, best.alice, "o", color=colour, ms=6, clip_on=False, zorder=4)
        lt.Labels(ax, [(best.parameter, best.alice)], [_bit_words(best)], [colour], [np.column_stack([x, y])])
    ax.set_xlim(0, 1)
    ax.set_xlabel("threshold  $\\tau$")
    return _finish(ax)


def _bit_words(best: TunedRelease) -> str:
    """tau* of the best bit, or its threshold in xbar where tau* is 0 or 1 to the last digit."""
    t = best.threshold
    if t is not None and math.isfinite(t) and not 1e-6 < best.parameter < 1 - 1e-6:
        return f"τ* ≈ {round(best.parameter)}, mean > {t:.3g}"
    return f"τ* = {best.parameter:.3g}"


def _start(
    model: GaussianModel, eve: Eve, risk: str, lam: float | None, optimum: Risks | None, ax: Any
) -> tuple[float, Any]:
    """Draw full, null and the optimum as horizontal lines. At the calibrated lam full and null have the same R_A."""
    if risk not in SYMBOLS:
        raise ValueError(f"risk = {risk!r} must be one of {', '.join(SYMBOLS)}")
    weight = calibrate(model, eve) if lam is None else float(lam)
    ax = lt.axes(ax, 5.6, 4.0)
    levels = [(_value(risks(model, eve, r), weight, risk), NAMES[type(r)]) for r in (Full(), Null())]
    if math.isclose(levels[0][0], levels[1][0], abs_tol=1e-9):
        ax.axhline(levels[0][0], color=pt.GREY, lw=1.4, label="full and null")
    else:
        for (level, name), style in zip(levels, ("--", ":"), strict=True):
            ax.axhline(level, color=pt.GREY, lw=1.4, ls=style, label=name)
    if risk == "alice" and lam is None:
        ax.axhline(corner(model), color=pt.GREY, lw=1.1, ls=(0, (1, 2)), label="corner, a bound")
    if optimum is not None:
        ax.axhline(_value(optimum, weight, risk), color=pt.GREEN, lw=2, ls=(0, (7, 2)), label="best mechanism of all")
    ax.set_ylabel(f"${SYMBOLS[risk]}$")
    return weight, ax


def _finish(ax: Any) -> Any:
    ax.margins(y=0.1)
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, fontsize=8, frameon=False, borderaxespad=0.2)
    return ax


def risk_utility_map(
    model: GaussianModel,
    eve: Eve,
    *,
    lam: float | None = None,
    optimum: Risks | None = None,
    frontier: Sequence[Risks] | None = None,
    ax: Any = None,
) -> Any:
    """U = -R_B against R = -R_E: all families, full, null, the line through them, the corner, and the best releases.

    `frontier` are the risks of `gaussian.optimum.frontier.attainable_frontier`: below the line through them there is no
    mechanism. The shaded points are attained by one; there may be more above them.
    """
    weight = calibrate(model, eve) if lam is None else float(lam)
    ax = lt.axes(ax, 6.4, 5.6)
    full, null = (risks(model, eve, release) for release in (Full(), Null()))
    (x1, y1), (x0, y0) = _place(full), _place(null)
    pads = 0.14 * (x1 - x0), 0.14 * (y1 - y0)
    ax.set_xlim(x0 - pads[0], x1 + pads[0])
    ax.set_ylim(y0 - pads[1], y1 + pads[1])
    lines: list[Any] = [np.array([(x1, y1), (x0, y0)]), np.array([(x1, y1), (x1, y0)]), np.array([(x0, y0), (x1, y0)])]
    if frontier is not None:
        edge = np.array([_place(pair) for pair in frontier])
        ax.plot(*edge.T, color=pt.FRONTIER, lw=2.6, label="frontier of all mechanisms", zorder=3.5)
        lines.append(edge)
    ax.plot(*lines[0].T, color=pt.GREY, lw=1.6, label="full and null equal", zorder=2)
    for line in lines[1:]:
        ax.plot(*line.T, ":", color=pt.GREY, lw=1.1, zorder=1.5)
    for family in computed_families(model, eve):
        colour, style = STYLES[family]
        found = family_curve(model, eve, family)
        ends = [] if family is OneBit else [_place(null)]
        x, y = (_dense(found, weight, risk)[1] for risk in ("bob", "eve"))
        line = np.vstack([np.column_stack([-x, -y]), *ends])
        ax.plot(*line.T, color=colour, ls=style, lw=1.9, label=NAMES[family], zorder=3)
        lines.append(line)
    if frontier is not None:
        # a public coin between two mechanisms is a mechanism, so all points between those drawn are attained
        hull = _hull(np.vstack([lines[0], *lines[3:]]))
        ax.fill(*hull.T, fc=pt.REGION, ec=pt.REGION_EDGE, lw=0.8, label="some mechanism does this", zorder=1)
    best = best_of_family(model, eve, OneBit, weight)
    ax.plot(x1, y0, "o", mfc="white", mec=pt.INK, ms=7.5, mew=1.3, zorder=4)
    ax.plot([x1, x0], [y1, y0], "s", color=pt.INK, ms=6, zorder=5)
    named = [(_place(best.risks), f"best bit, {_bit_words(best)}", STYLES[OneBit][0])]
    winner, words = (best.risks, "least") if optimum is None else (optimum, "least of all")
    if optimum is not None:
        ax.plot(*_place(optimum), "*", color=pt.GREEN, mec=pt.INK, mew=0.7, ms=17, zorder=6)
        named.insert(0, (_place(optimum), "best of all", pt.DARK_GREEN))
    if optimum is None or len(lt.shared(named, (x1 - x0, y1 - y0))) == 2:
        ax.plot(*_place(best.risks), "X", color=STYLES[OneBit][0], mec="white", mew=0.8, ms=9, zorder=7)
    label = f"{words} $R_A$: {_value(winner, weight, 'alice'):.4f}".replace("-", "−")
    # U - lam R = -R_A is a line of slope 1/lam through the winner, cut at the frame
    (u, r), low, high = _place(winner), *np.array([ax.get_xlim(), ax.get_ylim()]).T
    xs = np.clip(np.array([low[0], high[0]]), u + weight * (low[1] - r), u + weight * (high[1] - r))
    level = np.column_stack([xs, r + (xs - u) / weight if weight else np.array([low[1], high[1]])])
    ax.plot(*level.T, color=pt.GREEN, lw=1.6, ls=(0, (6, 3)), label=label, zorder=2)
    named += [((x1, y1), "full", pt.INK), ((x0, y0), "null", pt.INK), ((x1, y0), "corner", pt.INK)]
    points, texts, colours = zip(*lt.shared(named, (x1 - x0, y1 - y0)), strict=True)
    lt.Labels(ax, points, texts, colours, [*lines, level], room=[9.5, *[6.5] * (len(points) - 1)])
    ax.set_xlabel("utility  $U = -R_B$   (better for Bob →)")
    ax.set_ylabel("disclosure risk  $R = -R_E$   (better for Eve →)")
    return _finish(ax)


def _hull(points: Array) -> Array:
    """The corners of the convex hull, in order."""
    from scipy.spatial import ConvexHull

    return np.asarray(points[ConvexHull(points).vertices])


def _place(pair: Risks) -> tuple[float, float]:
    return -float(pair.bob), -float(pair.eve)


def paper_figures(
    optima: Mapping[str, Risks] | None = None,
    progress: Callable[[str], None] | None = None,
    frontiers: Mapping[str, Sequence[Risks]] | None = None,
) -> dict[str, Any]:
    """Every Gaussian figure of the paper and its supplement, by name, at a width that a page has.

    "mean", "max", "both": R_A against sigma and tau; "mean sigma", "mean tau", ...: all three risks; "maps": the three
    risk-utility maps. `optima` gives the risks of the best mechanism against "mean", "max" or "both", `frontiers` the
    frontiers of all mechanisms.
    """
    import matplotlib.pyplot as plt

    best, out = optima or {}, {}
    for name, printed in PAPER_TABLES.items():
        eve = printed.eve
        if progress:
            progress(eve_question(eve))
        figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
        risk_against_noise(PAPER_MODEL, eve, optimum=best.get(name), ax=left)
        risk_against_threshold(PAPER_MODEL, eve, optimum=best.get(name), ax=right)
        out[name] = figure
        for what, draw in (("sigma", risk_against_noise), ("tau", risk_against_threshold)):
            figure, panels = plt.subplots(1, 3, figsize=(10, 3.9), layout="constrained")
            for ax, risk in zip(panels, ("bob", "eve", "alice"), strict=True):
                draw(PAPER_MODEL, eve, risk, optimum=best.get(name), ax=ax)
            out[f"{name} {what}"] = figure
        for key in (name, f"{name} sigma", f"{name} tau"):
            out[key].suptitle(eve_question(eve))
            _one_legend(out[key])
    out["maps"] = three_maps(best, frontiers or {})
    return out


def three_maps(optima: Mapping[str, Risks], frontiers: Mapping[str, Sequence[Risks]]) -> Any:
    """The risk-utility maps of the paper's three adversaries, with one legend in the place of a fourth."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(2, 2, figsize=(10, 9), layout="constrained")
    handles: dict[str, Any] = {}
    for ax, (name, printed) in zip(panels.flat, PAPER_TABLES.items(), strict=False):
        risk_utility_map(PAPER_MODEL, printed.eve, optimum=optima.get(name), frontier=frontiers.get(name), ax=ax)
        words, value = eve_question(printed.eve), ""
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            level, _, number = label.partition(" $R_A$: ")
            value = f"{level} $R_A$: {number}" if number else value
            handles.setdefault(f"{level} $R_A$, a level line" if number else label, handle)
        ax.get_legend().remove()
        ax.set_title(f"{words.replace(' and the', chr(10) + 'and the')}\n{value}", loc="left", fontsize=10.5)
    panels[1, 1].axis("off")
    panels[1, 1].legend(handles.values(), handles.keys(), loc="center", fontsize=10, frameon=False, labelspacing=0.8)
    return figure


def _one_legend(figure: Any) -> None:
    """Replace the legends of the panels by one legend below the panels."""
    handles: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
        ax.get_legend().remove()
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=5, fontsize=8.5, frameon=False)


def eve_question(eve: Eve) -> str:
    """What Eve tests, in words."""
    match eve:
        case BothEves():
            return f"Eve tests the mean > {eve.mean_threshold:g} and the maximum > {eve.max_threshold:g}"
        case MaxEve():
            return f"Eve tests the maximum > {eve.threshold:g}"
        case MeanEve():
            return f"Eve tests the mean > {eve.threshold:g}"
        case _:
            return "Eve tests " + " and ".join(f"{q.label} > {q.threshold:g}" for q in questions(eve))
