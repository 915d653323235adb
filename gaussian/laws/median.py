"""Sub-densities of the sample median M on the events Bob and Eve test, in the form of module mean.

Given theta, {M = m, max <= c} has the sub-density of module median_max at (m - theta, c - theta):
    Bob            integral over theta > c_B  of  pi(theta) f_M(m - theta),
    the maximum    integral over theta        of  pi(theta) f_{M, max <= c}(m - theta, c - theta).
The mean needs V = M - Xbar, independent of Xbar (module median_mean):
    the mean       integral over v < m - c_1  of  f_V(v) N(m - v; 0, vbar),
    both           the mean and the maximum's joint sub-density, from sums of truncated normals.
The masses of the cells do not depend on the released statistic: their distance from those of module mean is an
error of this law.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from gaussian.eves import betting_weights
from gaussian.laws.mean import REACH, mean_bob_law, mean_eve_law, normal_density, panel_edges
from gaussian.laws.median_max import median_below, median_support, wings
from gaussian.laws.median_mean import deviation_density, deviation_support, median_mean_above
from gaussian.model import BothEves, Eve, GaussianModel, MaxEve, MeanEve
from gaussian.numerics.piecewise import Piecewise, composite_nodes, fit
from gaussian.real_arrays import Array

_TOL = 1e-14
_CHUNK = 20_000


def _reach(model: GaussianModel) -> float:
    """A bound on |M|, which is theta plus the median of N(0, 1) values."""
    return REACH * math.hypot(model.prior_sd, median_support(model.n) / REACH)


def _over_theta(model: GaussianModel, m: Array, top: float, low: float, high: float) -> Array:
    """Integral over theta in (low, high) of pi(theta) times the sub-density of {M = m, max <= top}."""
    prior_reach, reach = REACH * model.prior_sd, median_support(model.n)
    start = np.maximum(m - reach, max(low, -prior_reach))
    end = np.minimum(m + reach, min(high, prior_reach))

    def part(middle: Array, start: Array, end: Array) -> Array:
        theta, weight = composite_nodes(start, end, 5, 16)
        density = median_below(model.n, middle[:, None] - theta, top - theta)
        return np.sum(weight * normal_density(theta, model.prior_sd) * density, axis=1)

    pieces = max(1, m.size * 80 // _CHUNK)
    split = zip(*(np.array_split(values, pieces) for values in (m, start, end)), strict=True)
    return np.concatenate([part(*values) for values in split])


def _mean_above(model: GaussianModel, threshold: float, m: Array) -> tuple[Array, Array]:
    """Sub-densities of {M = m, xbar <= threshold} and {M = m, xbar > threshold}."""
    reach, xbar_reach = deviation_support(model.n), REACH * model.xbar_sd
    density = deviation_density(model.n)
    start, end = np.maximum(-reach, m - xbar_reach), np.minimum(reach, m + xbar_reach)
    # v = m - xbar: the density of V has its kink at 0, the event ends at v = m - threshold.
    cut = np.clip(np.stack([np.zeros_like(m), m - threshold]), start, np.maximum(start, end))
    edges = np.concatenate([start[None], np.sort(cut, axis=0), np.maximum(start, end)[None]])
    v, weight = composite_nodes(edges[:-1], edges[1:], 2, 16)
    body = weight * density(v)[0] * normal_density(m[:, None] - v, model.xbar_sd)
    above = v < (m - threshold)[:, None]
    return np.sum(body * ~above, axis=(0, 2)), np.sum(body * above, axis=(0, 2))


def median_kinks(model: GaussianModel, eve: Eve) -> list[float]:
    """The points where the cells are not smooth in m: the thresholds, and where j capped values reach the mean's."""
    if isinstance(eve, (MeanEve, MaxEve)):
        return [eve.threshold]
    assert isinstance(eve, BothEves)
    n, first, top = model.n, eve.mean_threshold, eve.max_threshold
    return [top, first, *[(n * first - j * top) / (n - j) for j in range(wings(n) + 1)]]


@lru_cache(maxsize=128)
def median_bob_law(model: GaussianModel) -> Piecewise:
    """The joint law of Bob's cells (theta <= c_B, theta > c_B) and the median."""
    c = model.bob_threshold

    def cells(m: Array) -> Array:
        return np.stack([_over_theta(model, m, math.inf, *side) for side in ((-math.inf, c), (c, math.inf))])

    reach, width = _reach(model), median_support(model.n)
    law = fit(cells, panel_edges(-reach, reach, 16, [c - width, c, c + width]), _TOL).scaled(model.bob_loss[::-1])
    return _checked(law, mean_bob_law(model))


@lru_cache(maxsize=128)
def median_eve_law(model: GaussianModel, eve: Eve) -> Piecewise:
    """The joint law of Eve's cells, in the order of mean.eve_cells, and the median."""

    def cells(m: Array) -> Array:
        if isinstance(eve, MeanEve):
            return np.stack(_mean_above(model, eve.threshold, m))
        total = _over_theta(model, m, math.inf, -math.inf, math.inf)
        assert isinstance(eve, (MaxEve, BothEves))
        top = eve.max_threshold if isinstance(eve, BothEves) else eve.threshold
        below = _over_theta(model, m, top, -math.inf, math.inf)
        if not isinstance(eve, BothEves):
            return np.stack([below, total - below])
        low, high = _mean_above(model, eve.mean_threshold, m)
        if eve.mean_threshold >= top:
            return np.stack([below, low - below, np.zeros_like(m), high])
        ten = median_mean_above(model.n, model.xbar_sd, eve.mean_threshold, top, m)
        zero = below - ten
        return np.stack([zero, low - zero, ten, high - ten])

    reach = _reach(model)
    law = fit(cells, panel_edges(-reach, reach, 16, median_kinks(model, eve)), _TOL)
    return _checked(law.scaled(betting_weights(eve)), mean_eve_law(model, eve))


def _checked(law: Piecewise, exact: Piecewise) -> Piecewise:
    """The law, its error increased by the largest defect of a mass."""
    return Piecewise(law.breaks, law.coef, law.error + float(np.abs(law.mass - exact.mass).max()))
