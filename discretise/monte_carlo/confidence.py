"""One-sided confidence bounds for means of independent draws, and for the largest of many means at once.

Bounded draws in an interval of length r: with probability at least 1 - delta the mean is below
    average + sqrt(2 V log(2/delta) / n) + 7 r log(2/delta) / (3 (n - 1)),    V the sample variance
(the empirical Bernstein bound of Maurer and Pontil, 2009), for every n. Unbounded draws: the Student interval, which
rests on the central limit theorem.

The largest of M means of sums over signals, W_j = sum_i w_ij(i) with one reply j(i) per signal, M = e^b: each has
failure probability delta / M, and its variance is at most sum_i v_ij(i), v the second moments about a constant, because
one draw has one signal. Since sqrt(v) <= (v/t + t)/2 for every t > 0,
    max over maps of sum_i a_ij(i) + z sqrt(sum_i v_ij(i))  <=  min_t  sum_i max_j (a_ij + z v_ij / (2 t)) + z t / 2,
which needs b e numbers and no list of the maps.
"""

from __future__ import annotations

import math

import numpy as np

from gaussian.real_arrays import Array

_LEAST_LOG = 600.0  # minus the logarithm of the probabilities whose quantiles scipy finds


def bernstein_terms(n: int, delta: float, span: float, log_maps: float = 0.0) -> tuple[float, float]:
    """z and c of the bound average + z sqrt(V) + c, which fails with probability delta exp(-log_maps)."""
    log = math.log(2 / delta) + log_maps
    return math.sqrt(2 * log / n), 7 * span * log / (3 * (n - 1))


def student_terms(n: int, delta: float, log_maps: float = 0.0) -> tuple[float, float]:
    """The same for the Student interval.

    The quantile is at most that of  P(T > t) <= (1 + t^2/m)^(-m/2)/2  with m = n - 1 degrees of freedom: the normal
    tail is at most exp(-t^2 Y/(2m))/2 at chi-square Y, averaged over Y. This bound stands where the probability is too
    small for a float, and where scipy's quantile is larger: that of version 1.15 is, by up to a half, below exp(-300).
    """
    from scipy.special import stdtrit

    growth = 2 * max(log_maps - math.log(2 * delta), 0.0) / (n - 1)
    most = math.sqrt((n - 1) * math.expm1(growth) / n) if growth < 700 else math.inf
    if log_maps - math.log(delta) > _LEAST_LOG:
        return most, 0.0
    return min(float(-stdtrit(n - 1, delta * math.exp(-log_maps))) / math.sqrt(n), most), 0.0


def interval_terms(n: int, delta: float, span: float | None, log_maps: float = 0.0) -> tuple[float, float]:
    """Bernstein if the length of the range is known, Student otherwise."""
    return student_terms(n, delta, log_maps) if span is None else bernstein_terms(n, delta, span, log_maps)


def largest_mean(mean: Array, second: Array, n: int, log_maps: float, delta: float, span: float | None) -> float:
    """An upper bound on max over maps j(.) of sum_i E[w_ij(i)], from means and second moments (signals x replies)."""
    z, c = interval_terms(n, delta, span, log_maps)
    if z == math.inf:
        return math.inf
    variance = second * (n / max(n - 1, 1))
    top = float(np.sqrt(variance.max(axis=1).sum()))
    if top == 0:
        return float(mean.max(axis=1).sum()) + c
    grid = top * np.geomspace(1e-3, 1.0, 61)
    values = [float((mean + z * variance / (2 * t)).max(axis=1).sum()) + z * t / 2 for t in grid]
    return min(values) + c
