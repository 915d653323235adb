"""The median and the mean together:  V = M - Xbar  is a function of the residuals, independent of Xbar.

Put the middle at m. With k observations below it by a_1..a_k and k above it by b_1..b_k, A = sum a and B = sum b,
    V = (A - B)/n,  density of (Xbar, a, b) = N(xbar; 0, vbar) n!/(k!^2 sqrt n) e^{n V^2/2} prod phi(a_i) prod phi(b_i),
on a, b >= 0 for odd n. For even n the two middle values are m -+ g: then a, b >= g, and g has weight 2 phi(0) e^{-g^2}.
Sums of truncated normals: with F_k the CDF of the maximum residual of k values (module residual),
    h_k(A; g, inf) = N(A; 0, k) F_k(A/k - g),   h_k(B; g, beta) = integral_g^beta phi(b) h_{k-1}(B - b; g, beta) db;
max_i X_i <= c is b_i <= beta = c - m for all i, so
    P(M in dm, Xbar > c_1, max <= c)  integrates  h_k(A; g) h_k(B; g, beta) and the weights over  A < B + n (m - c_1).
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from gaussian.laws.median_max import gap_support, log_arrangements, wings
from gaussian.laws.residual import max_residual_cdf
from gaussian.numerics.piecewise import Piecewise, composite_nodes, fit, gauss_nodes
from gaussian.real_arrays import Array

_ORDER = 24
_B_NODES = 12
_A_NODES = 12
_GAPS = 14
_FINE_GAPS = 32
_CHUNK = 1_000_000
# Phi(-8.4) < 3e-17: a higher cap on the upper observations changes nothing.
_NO_CAP = 8.4


def _gap_weight(g: Array) -> Array:
    return 2 * np.exp(-(g**2)) / math.sqrt(2 * math.pi)


def _log_constant(n: int) -> float:
    k = wings(n)
    return log_arrangements(n) - 0.5 * math.log(n) - math.log(2 * math.pi * k)


def _sum_reach(k: int) -> float:
    """A bound on the sum of k half-normals: its mean is 0.8 k, and its spread is at most that of a normal sum."""
    return 0.8 * k + 8.6 * math.sqrt(k)


def deviation_support(n: int) -> float:
    """A v with P(|V| > v) negligible: e^{n v^2/2} N(n v; 0, k) falls like a normal of variance k/(n(n-k))."""
    k = wings(n)
    height = 38 + max(0.0, _log_constant(n) + math.log(n) + 0.5 * math.log(k))
    return math.sqrt(2 * height * k / (n * (n - k)))


@lru_cache(maxsize=64)
def deviation_density(n: int) -> Piecewise:
    """Density of V = median - mean, n >= 3; not smooth at 0, where the order of the two changes."""
    k = wings(n)
    cdf = max_residual_cdf(k)
    panels = 4 + k // 4

    def values(v: Array) -> Array:
        g, weight = np.zeros((1, 1)), np.ones((1, 1))
        if n % 2 == 0:
            g, weight = gauss_nodes(np.zeros(1), np.full(1, gap_support(n)), _FINE_GAPS)
            weight = weight * _gap_weight(g)
        v3 = v[:, None, None]
        low = np.maximum(k * g, k * g - n * v[:, None])
        b, w = composite_nodes(low, np.maximum(low, -n * v[:, None] / 2) + _sum_reach(k), panels, 16)
        a = b + n * v3
        log_normal = n * v3**2 / 2 - (a**2 + b**2) / (2 * k) + _log_constant(n) + math.log(n)
        inside = cdf(a / k - g[..., None]) * cdf(b / k - g[..., None])
        return np.sum(weight * np.sum(w * np.exp(log_normal) * inside, axis=2), axis=1)

    def density(v: Array) -> Array:
        chunks = np.array_split(v, max(1, v.size * panels * 16 * (1 if n % 2 else _FINE_GAPS) // _CHUNK))
        return np.concatenate([values(part) for part in chunks])[None]

    reach = deviation_support(n)
    return fit(density, np.linspace(-reach, reach, 9), 1e-14)


_POINTS = (chebyshev.chebpts1(_ORDER) + 1) / 2
_INVERSE = np.linalg.inv(chebyshev.chebvander(2 * _POINTS - 1, _ORDER - 1))


def _interpolate(x: Array) -> Array:
    """Matrix from values at the _ORDER Chebyshev points of [0, 1] to values at x."""
    return chebyshev.chebvander(2 * x - 1, _ORDER - 1) @ _INVERSE


_Y_SAME, _W_SAME = gauss_nodes(np.zeros(_ORDER), _POINTS, _ORDER)
_Y_BELOW, _W_BELOW = gauss_nodes(_POINTS, np.ones(_ORDER), _ORDER)
_FROM_SAME = _interpolate(_POINTS[:, None] - _Y_SAME)
_FROM_BELOW = _interpolate(1 + _POINTS[:, None] - _Y_BELOW)


def capped_sum(k: int, g: Array, beta: Array) -> Array:
    """h_k(k g + (beta - g)(l + y); g, beta) at the Chebyshev points y of each unit piece l: shape (rows, k, _ORDER).

    In units of beta - g the sum lives on [0, k] and is smooth between integers; adding one term reaches back one unit.
    """
    length = (beta - g)[:, None, None]

    def phi(y: Array) -> Array:
        return np.exp(-0.5 * (g[:, None, None] + length * y) ** 2) / math.sqrt(2 * math.pi)

    law = np.exp(-0.5 * (g[:, None] + length[:, 0] * _POINTS) ** 2)[:, None, :] / math.sqrt(2 * math.pi)
    if k == 1:
        return law
    same, below = length * phi(_Y_SAME) * _W_SAME, length * phi(_Y_BELOW) * _W_BELOW
    # One kernel per row: kernel[row, p, q] maps the previous law on a piece to the next one at point p.
    from_same = np.einsum("apr,prq->apq", same, _FROM_SAME, optimize=True)
    from_below = np.einsum("apr,prq->apq", below, _FROM_BELOW, optimize=True)
    for terms in range(2, k + 1):
        longer = np.zeros((g.size, terms, _ORDER))
        longer[:, :-1] = np.einsum("apq,alq->alp", from_same, law, optimize=True)
        longer[:, 1:] += np.einsum("apq,alq->alp", from_below, law, optimize=True)
        law = longer
    return law


def median_mean_above(n: int, xbar_sd: float, mean_threshold: float, top: float, m: Array) -> Array:
    """Sub-density of {median = m, xbar > mean_threshold, max <= top}, n >= 3, elementwise in m."""
    index, g, weight = _gap_rows(n, mean_threshold, top, m)
    pieces = max(1, index.size * wings(n) * _B_NODES * 2 * _A_NODES // _CHUNK)
    total = np.zeros(m.size)
    if not index.size:
        return total
    for rows in np.array_split(np.arange(index.size), pieces):
        middle = m[index[rows]]
        value = _above(n, xbar_sd, mean_threshold, np.minimum(top - middle, _NO_CAP), middle, g[rows])
        np.add.at(total, index[rows], weight[rows] * value)
    return total


def _gap_rows(n: int, mean_threshold: float, top: float, m: Array) -> tuple[NDArray[np.intp], Array, Array]:
    """Rows (index into m, half-gap g, weight) of the integral over g: g = 0 alone for odd n.

    In g it is smooth between the points where l capped values reach the region, n (c_1 - m) = l (beta - g).
    """
    beta = np.minimum(top - m, _NO_CAP)
    if n % 2:
        inside = np.flatnonzero(beta > 0)
        return inside, np.zeros(inside.size), np.ones(inside.size)
    reach = np.maximum(np.minimum(beta, gap_support(n)), 0.0)[:, None]
    kinks = beta[:, None] - n * (mean_threshold - m[:, None]) / np.arange(1, wings(n) + 1)
    edges = np.concatenate([np.zeros_like(reach), np.clip(kinks, 0.0, reach), reach], axis=1)
    g, weight = gauss_nodes(edges[:, :-1], edges[:, 1:], _GAPS)
    rows, segment, node = np.nonzero(weight > 0)
    return rows, g[rows, segment, node], (weight * _gap_weight(g))[rows, segment, node]


def _above(n: int, xbar_sd: float, mean_threshold: float, cap: Array, m: Array, g: Array) -> Array:
    k = wings(n)
    law = capped_sum(k, g, cap)
    length = (cap - g)[:, None]
    # A >= k g and A < B + n (m - c_1) need B > k g - n (m - c_1).
    start = np.maximum(-n * (m - mean_threshold), 0.0) / (cap - g)
    total = np.zeros(g.size)
    for piece in range(k):
        # B is negligible above k g + _sum_reach(k), and the region starts at `start`: the other rows add nothing
        rows = np.flatnonzero((start < piece + 1) & (length[:, 0] * piece < _sum_reach(k)))
        if not rows.size:
            continue
        y, weight = gauss_nodes(np.clip(start[rows] - piece, 0.0, 1.0), np.ones(rows.size), _B_NODES)
        value = np.einsum("ayq,aq->ay", _interpolate(y), law[rows, piece], optimize=True)
        b = k * g[rows, None] + length[rows] * (piece + y)
        # h_k(B) is scaled by e^{B^2/2k} and the other factor by e^{-B^2/2k}, so that neither overflows for large k.
        value = value * np.exp(np.minimum(b**2 / (2 * k), 700.0))
        lower = _lower(n, xbar_sd, mean_threshold, m[rows], g[rows], b)
        total[rows] += np.sum(value * length[rows] * weight * lower, axis=1)
    return total


def _lower(n: int, xbar_sd: float, mean_threshold: float, m: Array, g: Array, b: Array) -> Array:
    """Integral over A of h_k(A; g) and the weights on {xbar > c_1}, for each (row, B)."""
    k = wings(n)
    centre, floor = m[:, None], k * g[:, None]
    scale = math.sqrt(n * k / (n - k))
    # xbar = m - (A - B)/n exceeds c_1 and is within its own support; the normal factor of A bounds A.
    high = np.minimum(b + n * (centre - mean_threshold), floor + 0.8 * k + 8.6 * scale)
    high = np.minimum(high, b + n * (centre + 8.6 * xbar_sd))
    low = np.maximum(floor, b + n * (centre - 8.6 * xbar_sd))
    a, weight = composite_nodes(low, high, 2, _A_NODES)
    v = (a - b[..., None]) / n
    exponent = n * v**2 / 2 - (a**2 + b[..., None] ** 2) / (2 * k) - 0.5 * ((centre[..., None] - v) / xbar_sd) ** 2
    # The normal constants of h_k(B) are in its law; those of h_k(A) and of Xbar are here.
    constant = log_arrangements(n) - 0.5 * math.log(n) - 0.5 * math.log(2 * math.pi * k)
    inside = max_residual_cdf(k)(a / k - g[:, None, None])
    return np.sum(weight * np.exp(exponent + constant) * inside, axis=2) / (xbar_sd * math.sqrt(2 * math.pi))
