"""The sample median M and the maximum of n independent N(0, 1) values: sub-density of {M = u, max <= w}.

n = 2k + 1:   n!/(k!)^2  phi(u) Phi(u)^k (Phi(w) - Phi(u))^k.
n = 2k + 2:   the two middle values are u - g and u + g, so
              2 n!/(k!)^2  integral_0^{w-u} phi(u-g) phi(u+g) Phi(u-g)^k (Phi(w) - Phi(u+g))^k dg.
w = inf gives the density of the median. Given theta the data are these values shifted by theta.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri

from gaussian.numerics.piecewise import gauss_nodes
from gaussian.real_arrays import Array

_GAP_NODES = 32


def wings(n: int) -> int:
    """k: the number of observations below the middle one or two, and above."""
    return (n - 1) // 2


def log_arrangements(n: int) -> float:
    """log of n!/(k!)^2: the ways to choose the middle, the lower and the upper observations."""
    return math.lgamma(n + 1) - 2 * math.lgamma(wings(n) + 1)


def median_support(n: int) -> float:
    """A u with P(|M| > u) < 1e-16: at least k + 1 of n observations must lie beyond it."""
    k = wings(n)
    ways = math.lgamma(n + 1) - math.lgamma(k + 2) - math.lgamma(n - k)
    return float(-ndtri(math.exp((math.log(1e-17) - ways) / (k + 1))))


@lru_cache(maxsize=4096)
def gap_support(n: int) -> float:
    """A half-gap g beyond which the integrand is below exp(-38) of its value at g = 0, for every u.

    phi/Phi is convex, so Phi(u-g) Phi(-u-g) falls in g at least as fast as at u = 0, where it is Phi(-g)^2.
    """
    from scipy.optimize import brentq

    k = wings(n)
    return float(brentq(lambda g: 2 * k * (log_ndtr(-g) + math.log(2)) - g * g + 38, 0.0, 7.0))


def _between(low: Array, high: Array) -> Array:
    """Phi(high) - Phi(low) where positive, from the smaller tail."""
    upper = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return np.maximum(upper, 0.0)


def median_below(n: int, u: Array, w: Array) -> Array:
    """Sub-density of {median = u, max <= w}, elementwise."""
    k = wings(n)
    if n % 2:
        return np.exp(log_arrangements(n) - 0.5 * u**2 + _log_wings(k, u, u, w)) / math.sqrt(2 * math.pi)
    g, weight = gauss_nodes(np.zeros_like(u), np.minimum(w - u, gap_support(n)), _GAP_NODES)
    centre = u[..., None]
    inside = _log_wings(k, centre - g, centre + g, w[..., None])
    return np.sum(weight * np.exp(log_arrangements(n) - centre**2 - g**2 + inside), axis=-1) / math.pi


def _log_wings(k: int, low: Array, high: Array, top: Array) -> Array:
    """log of Phi(low)^k (Phi(top) - Phi(high))^k; -inf where high > top."""
    with np.errstate(divide="ignore"):
        if k == 0:
            return np.log((high <= top).astype(float))
        return k * (log_ndtr(low) + np.log(_between(high, top)))
