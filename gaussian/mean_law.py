"""Sub-densities of the sample mean on the events Bob and Eve test.

Component k of a law is  A_k(x) dx = P(cell k, xbar in dx).  With F the CDF of D = max_i(X_i - Xbar),
    P(theta > c_B | x)   from the model,     P(max <= c | x) = F(c - x),
and 1{x > c_1} for a test of the mean: every cell is phi(x) times a product of these, exact in x.
A statistic released as it is has Bayes risk  integral of min_k A_k;  a bit 1{xbar > t} has sum over sides of min_k of
the masses beyond t;  nothing released has min_k of the total masses.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from gaussian.arrays import Array
from gaussian.model import BothEves, Eve, GaussianModel, MaxEve, MeanEve
from gaussian.piecewise import Piecewise, fit
from gaussian.residual import max_residual_cdf, max_residual_support

# P(|N(0,1)| > 8.6) < 1e-17: what lies outside is below the rounding of what lies inside.
REACH = 8.6
LAW_TOL = 1e-16


def normal_density(x: Array, sd: float) -> Array:
    """Density of N(0, sd^2)."""
    return np.exp(-0.5 * (x / sd) ** 2) / (sd * math.sqrt(2 * math.pi))


def eve_cells(n: int, eve: Eve, xbar: Array) -> Array:
    """P(cell k | xbar): (not, yes) for one test; 00, 01, 10, 11 with the mean's test first for both."""
    xbar = np.asarray(xbar, dtype=float)
    if isinstance(eve, MeanEve):
        above = (xbar > eve.threshold).astype(float)
        return np.stack([1 - above, above])
    cdf = max_residual_cdf(n)
    if isinstance(eve, MaxEve):
        below = cdf(eve.threshold - xbar)
        return np.stack([below, 1 - below])
    above = (xbar > eve.mean_threshold).astype(float)
    below = cdf(eve.max_threshold - xbar)
    return np.stack([(1 - above) * below, (1 - above) * (1 - below), above * below, above * (1 - below)])


def eve_kinks(n: int, eve: Eve) -> list[float]:
    """The points where the cells of eve_cells are not smooth in xbar, and where the tail of D sets in."""
    if isinstance(eve, MeanEve):
        return [eve.threshold]
    top = eve.threshold if isinstance(eve, MaxEve) else eve.max_threshold
    reach = max_residual_support(n)
    kinks = [top - reach * share for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    return [*kinks, eve.mean_threshold] if isinstance(eve, BothEves) else kinks


def panel_edges(low: float, high: float, count: int, extra: list[float]) -> Array:
    """count equal panels on [low, high], cut further at the extra points inside."""
    inside = [point for point in extra if low < point < high]
    return np.union1d(np.linspace(low, high, count + 1), inside)


@lru_cache(maxsize=256)
def mean_eve_law(model: GaussianModel, eve: Eve) -> Piecewise:
    """Eve's cells jointly with xbar."""
    reach = REACH * model.xbar_sd

    def cells(x: Array) -> Array:
        return normal_density(x, model.xbar_sd) * eve_cells(model.n, eve, x)

    return fit(cells, panel_edges(-reach, reach, 16, eve_kinks(model.n, eve)), LAW_TOL)


@lru_cache(maxsize=256)
def mean_bob_law(model: GaussianModel) -> Piecewise:
    """Bob's cells (theta <= c_B, theta > c_B) jointly with xbar."""
    reach = REACH * model.xbar_sd
    slope = model.n * model.posterior_sd

    def cells(x: Array) -> Array:
        density = normal_density(x, model.xbar_sd)
        return np.stack([density * (1 - model.bob_posterior(x)), density * model.bob_posterior(x)])

    centre = float(model.bit_threshold(0.5))
    edges = [centre + step / slope for step in (-8.0, -2.0, 0.0, 2.0, 8.0)]
    return fit(cells, panel_edges(-reach, reach, 16, edges), LAW_TOL)
