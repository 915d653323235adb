"""The k-th smallest of n independent N(0, 1) values minus their mean: its law to relative accuracy in both tails.

T_k - Zbar <= d means that at most m = n - k of the values exceed d when their sum is 0. As in module maximum,
    P(at most m exceed d) = sqrt(n/2pi)/i  integral  sum_{j <= m} C(n, j) A(p)^{n-j} B(p)^j dp,
    A(p) = e^{p^2/2} Phi(d - p),   B(p) = e^{p^2/2} Phi(p - d),
because A and B are the Laplace transforms of a normal below and above d. The sum is the Laplace transform of a positive
measure: on the real axis it is convex in the logarithm, and it is largest there. The path crosses the axis at the least
value and bends to the side where e^{pd} decays, to the left for d >= 0 and to the right for d < 0. The other tail is
the same function: P(T_k - Zbar > d) = P(at most k - 1 exceed -d), by x -> -x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrc, erfcx, gammaln, log_ndtr, ndtr, ndtri

from gaussian.arrays import Array
from gaussian.laws.maximum import hyperbola, log_m
from gaussian.laws.residual import TwoTails, level_points, tabulate
from gaussian.numerics.piecewise import Piecewise

# (n below, length, points) of the path: for few observations and d near 0 the integrand decays only like |p|^-n
_PATHS = ((5, 15.0, 320), (8, 10.0, 220), (16, 7.0, 150), (40, 5.2, 100), (10**9, 4.2, 64))
_STEPS = 60
_ROWS = 16
_NEGLIGIBLE = 1e-20
_REACH = 40.0
_IDENTITY_TOL = 1e-11


def few_exceed(n: int, m: int, d: Array) -> Array:
    """log P(at most m of n values exceed their mean by more than d), elementwise, 0 <= m < n and n >= 2."""
    order = np.argsort(d)
    out = np.empty(d.shape)
    for part in np.array_split(order, max(1, d.size // _ROWS)):
        out[part] = _few(n, m, d[part])
    return out


def _few(n: int, m: int, d: Array) -> Array:
    j = np.arange(m + 1)
    ways = gammaln(n + 1) - gammaln(j + 1) - gammaln(n - j + 1)
    tilt, curvature, weights = _crossing_point(n, j, ways, d)
    # off the axis a term is smaller than on it: terms far below the largest one are left out
    kept = np.flatnonzero((weights > _NEGLIGIBLE * weights.max(1, keepdims=True)).any(0))
    j, ways = j[kept[0] : kept[-1] + 1], ways[kept[0] : kept[-1] + 1]
    length, points = next((length, points) for most, length, points in _PATHS if n < most)
    p, speed, step = hyperbola(tilt, curvature, length, points, np.where(d >= 0, -1.0, 1.0)[:, None])
    start = _logarithms(n, j, ways, tilt, d).max(1)
    below, above = log_m(p, d[:, None]), log_m(-p, -d[:, None])
    body = np.zeros_like(p)
    for count, way in zip(j.tolist(), ways.tolist(), strict=True):
        body += np.exp(way + (n - count) * below + count * above - start[:, None])
    value = (body * speed).imag.sum(-1)
    # where the probability underflows, the sum may lose its sign: the result is nan, and no table contains it
    with np.errstate(invalid="ignore"):
        return np.asarray(start + np.log(math.sqrt(2 * n / math.pi) * step * value))


def _logarithms(n: int, j: NDArray[np.intp], ways: Array, p: Array, d: Array) -> Array:
    """The logarithms of the terms at real p, a row per d."""
    below, above = p**2 / 2 + log_ndtr(d - p), p**2 / 2 + log_ndtr(p - d)
    return np.asarray(ways + (n - j) * below[:, None] + j * above[:, None])


def _crossing_point(n: int, j: NDArray[np.intp], ways: Array, d: Array) -> tuple[Array, Array, Array]:
    """Where the logarithm of the sum is least on the real axis, its curvature there, and the shares of the terms."""
    low, high, p = np.full(d.shape, -60.0), np.full(d.shape, 60.0), np.zeros_like(d)
    for step in range(_STEPS + 1):
        z = d - p
        down = math.sqrt(2 / math.pi) / erfcx(-z / math.sqrt(2))  # phi/Phi at z
        up = math.sqrt(2 / math.pi) / erfcx(z / math.sqrt(2))
        weights = _logarithms(n, j, ways, p, d)
        weights = np.exp(weights - weights.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        above = weights @ j
        mean = -(n - above) * down + above * up
        spread = (down + up) ** 2 * (weights @ j.astype(float) ** 2 - above**2)
        bend = -(n - above) * down * (down + z) - above * up * (up - z)
        curvature = np.maximum(n + bend + spread, 1e-3 * n)
        slope = n * p + mean
        if step == _STEPS or np.all(np.abs(slope) < 1e-3 * np.sqrt(curvature)):
            break
        low, high = np.where(slope < 0, p, low), np.where(slope > 0, p, high)
        newton = p - slope / curvature
        p = np.where((newton > low) & (newton < high), newton, (low + high) / 2)
    return p, curvature, weights


@dataclass(frozen=True)
class OrderLaw(TwoTails):
    """The law of T_k - Xbar, the k-th smallest of n values minus their mean, 1 < k < n."""

    n: int
    k: int

    @cached_property
    def centre(self) -> float:
        """A point near the median of the law."""
        return float(ndtri((self.k - 0.375) / (self.n + 0.25)))

    @cached_property
    def _low(self) -> Piecewise:
        grid = np.linspace(-_REACH, self.centre, 97)
        return tabulate(lambda d: few_exceed(self.n, self.n - self.k, d), grid)

    @cached_property
    def _high(self) -> Piecewise:
        grid = np.linspace(self.centre, _REACH, 97)
        return tabulate(lambda d: few_exceed(self.n, self.k - 1, -d), grid)

    @cached_property
    def steps(self) -> Array:
        """Points between which both tails change by factors of at most e^8, down to the least float; and 0, a kink."""
        return np.unique(np.concatenate([[0.0], *(level_points(table, 17) for table in (self._low, self._high))]))

    def log_tails(self, d: ArrayLike) -> tuple[Array, Array]:
        """log P(T <= d) where d is below the centre and log P(T > d) where it is above; -inf elsewhere."""
        d = np.asarray(d, dtype=float)
        low, high = np.full(d.shape, -math.inf), np.full(d.shape, -math.inf)
        left, right = (d <= self.centre) & (d >= self._low.breaks[0]), (d > self.centre) & (d <= self._high.breaks[-1])
        low[left], high[right] = self._low.poly(d[left])[..., 0], self._high.poly(d[right])[..., 0]
        return low, high

    def checked(self) -> OrderLaw:
        """The law itself, if Xbar + (T_k - Xbar) is the k-th smallest of n values; otherwise FloatingPointError."""
        n, k = self.n, self.k
        for c in (self.centre - 1 / math.sqrt(n), self.centre, self.centre + 1 / math.sqrt(n)):
            defect = abs(self.smoothed(n, c) - float(bdtrc(k - 1, n, ndtr(c))))
            if not defect <= _IDENTITY_TOL:
                raise FloatingPointError(
                    f"n = {n} gives a law of the {k}-th smallest value that misses P(value <= {c:.6g}) by {defect:.1e}"
                )
        return self


@lru_cache(maxsize=256)
def order_law(n: int, k: int) -> OrderLaw:
    """The tabulated and checked law of the k-th smallest of n values minus their mean, 1 < k < n."""
    return OrderLaw(n, k).checked()
