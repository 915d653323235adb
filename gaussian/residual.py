"""The law of  D = max_i (X_i - Xbar),  independent of Xbar and of theta.

X_i - Xbar ~ N(0, (m-1)/m), and given that it equals d the other m - 1 observations have mean Xbar - d/(m-1), so that
    F_1(d) = 1{d >= 0},      F_m'(d) = m sqrt(m/(m-1)) phi(d sqrt(m/(m-1))) F_{m-1}(d m/(m-1)).
Each F_m is an entire function of d on d > 0 with a zero of order m - 1 at 0: piecewise polynomials fit it to 1e-15.
By the symmetry of the residuals,  P(all Z_i >= g | Z_1 + ... + Z_k = s) = F_k(s/k - g)  for independent N(0, 1) Z_i.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from gaussian.arrays import Array
from gaussian.piecewise import Piecewise, fit

_DENSITY_TOL = 1e-32


def max_residual_support(n: int) -> float:
    """A bound on D = max_i (X_i - Xbar) that fails with probability below 1e-17.

    Args:
        n: number of observations.

    Returns:
        The d with n P(X_1 - Xbar > d) = 1e-17; 0 for n = 1.

    >>> round(max_residual_support(5), 4)
    7.7625
    """
    return 0.0 if n == 1 else float(-ndtri(1e-17 / n) * math.sqrt((n - 1) / n))


@lru_cache(maxsize=4096)
def _density(n: int) -> Piecewise:
    below = max_residual_cdf(n - 1)
    root = math.sqrt(n / (n - 1))

    def density(d: Array) -> Array:
        normal = np.exp(-0.5 * (d * root) ** 2) / math.sqrt(2 * math.pi)
        return (n * root * normal * below(d * n / (n - 1)))[None]

    return fit(density, np.linspace(0.0, max_residual_support(n), 9), _DENSITY_TOL)


@lru_cache(maxsize=4096)
def max_residual_cdf(n: int) -> Callable[[ArrayLike], Array]:
    """The distribution function of D = max_i (X_i - Xbar).

    Args:
        n: number of observations.

    Returns:
        The function d -> P(D <= d), elementwise in d, with an absolute error below 1e-14.

    >>> max_residual_cdf(5)([1.0, 2.0]).round(4).tolist()
    [0.418, 0.9368]
    """
    if n == 1:
        return lambda d: np.where(np.asarray(d, dtype=float) >= 0, 1.0, 0.0)
    # F_n calls F_{n-1}: filling the cache from below avoids a recursion of depth n.
    for m in range(2, n):
        max_residual_cdf(m)
    density = _density(n)
    total = float(density.mass[0])
    return lambda d: density.below(d)[0] / total


def max_exceedance(n: int, threshold: float, xbar: ArrayLike) -> Array:
    """P(max_i X_i > threshold | Xbar = xbar): the maximum is xbar + D.

    Args:
        n: number of observations.
        threshold: the value that the maximum exceeds.
        xbar: values of the sample mean.

    Returns:
        The probabilities, elementwise in xbar.

    >>> max_exceedance(5, 2.0, [0.0, 1.0]).round(4).tolist()
    [0.0632, 0.582]
    """
    return 1.0 - max_residual_cdf(n)(threshold - np.asarray(xbar, dtype=float))


def max_residual_quantile(n: int, probability: Array) -> Array:
    """The d with P(D <= d) = probability, n >= 2, elementwise, by Newton's method inside a tabulated bracket."""
    cdf, density = max_residual_cdf(n), _density(n)
    grid = np.linspace(0.0, max_residual_support(n), 2049)
    values = cdf(grid)
    index = np.clip(np.searchsorted(values, probability), 1, grid.size - 1)
    low, high = grid[index - 1], grid[index]
    d = np.interp(probability, values, grid)
    for _ in range(10):
        slope = density(d)[0]
        step = np.where(slope > 1e-12, (cdf(d) - probability) / np.maximum(slope, 1e-12), 0.0)
        d = np.clip(d - step, low, high)
    return d


def ordered_residuals(uniforms: Array) -> Array:
    """Residuals of n independent N(0, 1) values, largest first, from n - 1 uniforms per row.

    The largest has law F_n. Given that it is d, the others are n - 1 normals about their own mean -d/(n-1), and their
    largest residual has law F_{n-1} conditioned on not exceeding d n/(n-1). So each step repeats the first one. The map
    is smooth.
    """
    rows, dimensions = uniforms.shape
    residuals = np.zeros((rows, dimensions + 1))
    centre, cap = np.zeros(rows), np.full(rows, math.inf)
    for position in range(dimensions):
        m = dimensions + 1 - position
        d = max_residual_quantile(m, uniforms[:, position] * max_residual_cdf(m)(cap))
        residuals[:, position] = centre + d
        centre, cap = centre - d / (m - 1), d * m / (m - 1)
    residuals[:, -1] = centre
    return residuals
