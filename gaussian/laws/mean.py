"""Sub-densities of the sample mean on the events Bob and Eve test.

Component k of a law is  A_k(x) dx = P(cell k, xbar in dx).  With F the CDF of D = max_i(X_i - Xbar),
    P(theta > c_B | x)   from the model,     P(max <= c | x) = F(c - x),
and 1{x > c_1} for a test of the mean: every cell is phi(x) times a product of these, exact in x.
A statistic released without noise has Bayes risk  integral of min_k A_k;  for a bit, and for no release at all, module
masses turns the masses of the cells into risks.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from gaussian import _checks
from gaussian.eves import Eve, betting_weights, questions
from gaussian.laws.statistics import cell_probabilities, statistic_law
from gaussian.model import GaussianModel
from gaussian.numerics.piecewise import Piecewise, fit
from gaussian.real_arrays import Array

# P(|N(0,1)| > 8.6) < 1e-17: the mass outside is smaller than the rounding of the mass inside.
REACH = 8.6
LAW_TOL = 1e-16


def normal_density(x: Array, sd: float) -> Array:
    """Density of N(0, sd^2)."""
    return np.exp(-0.5 * (x / sd) ** 2) / (sd * math.sqrt(2 * math.pi))


def eve_cells(n: int, eve: Eve, xbar: ArrayLike) -> Array:
    """P(cell k | xbar), the probability of each cell of Eve's events given the sample mean.

    Args:
        n: number of observations.
        eve: what Eve tests.
        xbar: values of the sample mean.

    Returns:
        An array with one row per cell: (no, yes) for one test; 00, 01, 10, 11 for two, the first test first.

    Raises:
        ValueError: n is not a positive integer, Eve tests a record after the n-th, or xbar decides neither of two
            questions.

    >>> from gaussian import MaxEve
    >>> eve_cells(5, MaxEve(2.0), [0.0, 1.0]).round(4).tolist()
    [[0.9368, 0.418], [0.0632, 0.582]]
    """
    return cell_probabilities(_checks.count("n", n), eve, xbar)


def eve_kinks(n: int, eve: Eve) -> list[float]:
    """Where a quadrature in xbar should be cut: the points at which `eve_cells` is not smooth, and the tail of D.

    Args:
        n: number of observations.
        eve: what Eve tests.

    Returns:
        The points, in no particular order.

    Raises:
        ValueError: n is not a positive integer, or Eve tests a record after the n-th.

    >>> from gaussian import MeanEve
    >>> eve_kinks(5, MeanEve(0.5))
    [0.5]
    """
    size = _checks.count("n", n)
    return [kink for question in questions(eve) for kink in statistic_law(size, question).kinks]


def panel_edges(low: float, high: float, count: int, extra: list[float]) -> Array:
    """Edges of count equal panels on [low, high], with the extra points inside as further edges."""
    inside = [point for point in extra if low < point < high]
    return np.union1d(np.linspace(low, high, count + 1), inside)


@lru_cache(maxsize=256)
def mean_eve_law(model: GaussianModel, eve: Eve) -> Piecewise:
    """The joint law of Eve's cells and xbar, each cell times what Eve loses on it."""
    reach = REACH * model.xbar_sd

    def cells(x: Array) -> Array:
        return normal_density(x, model.xbar_sd) * eve_cells(model.n, eve, x)

    law = fit(cells, panel_edges(-reach, reach, 16, eve_kinks(model.n, eve)), LAW_TOL)
    return law.scaled(betting_weights(eve))


@lru_cache(maxsize=256)
def mean_bob_law(model: GaussianModel) -> Piecewise:
    """The joint law of Bob's cells (theta <= c_B, theta > c_B) and xbar, each times what Bob loses on it."""
    reach = REACH * model.xbar_sd
    slope = model.n * model.posterior_sd

    def cells(x: Array) -> Array:
        return normal_density(x, model.xbar_sd) * np.stack([model.bob_doubt(x), model.bob_posterior(x)])

    centre = model.bob_cut
    edges = [centre + step / slope for step in (-8.0, -2.0, 0.0, 2.0, 8.0)]
    return fit(cells, panel_edges(-reach, reach, 16, edges), LAW_TOL).scaled(model.bob_loss[::-1])
