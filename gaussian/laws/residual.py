"""The law of  D = max_i (X_i - Xbar),  independent of Xbar and of theta.

P(D <= d) is 1{d >= 0} for n = 1 and erf(d) for n = 2; module maximum integrates it for n >= 3. Piecewise
polynomials tabulate log P(D <= d) as a function of log d up to near the median, and log P(D > d) as a function of d
beyond it. So both tails keep their relative accuracy, about 1e-15 times the logarithm. Near 0, P(D <= d) is
proportional to d^{n-1}. Xbar + D is the maximum of n independent values, which gives every table a check:
    integral sqrt(n) phi(sqrt(n) x) P(D <= c - x) dx = Phi(c)^n.
A table that misses it by more than 1e-13 is refused.
By the symmetry of the residuals,  P(all Z_i >= g | Z_1 + ... + Z_k = s) = P(D_k <= s/k - g)  for independent N(0, 1)
Z_i.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, erfc, expm1, log_ndtr, ndtri

from gaussian import _checks
from gaussian.laws.maximum import residual_log_cdf, residual_log_sf
from gaussian.numerics.piecewise import Piecewise, fit, gauss_nodes
from gaussian.real_arrays import Array

# Panels end where the logarithm has these values, so that its rounding error is relative to values of one size.
_LEVELS = np.array([-1.0, -2.0, -4.0, -8.0, -16.0, -32.0, -64.0, -128.0, -256.0, -512.0])
_LEAST = -744.0  # below e^-744 there are no floats
_SMALL = 1e-8  # below it P(D <= d) is proportional to d^{n-1} to within n d^2
_IDENTITY_TOL = 1e-13
_TABLE_TOL = 1e-17


def max_residual_support(n: int) -> float:
    """A bound on D = max_i (X_i - Xbar) that fails with probability below 1e-17.

    Args:
        n: number of observations.

    Returns:
        The d with n P(X_1 - Xbar > d) = 1e-17; 0 for n = 1.

    Raises:
        ValueError: n is not a positive integer.

    >>> round(max_residual_support(5), 4)
    7.7625
    """
    return 0.0 if _checks.count("n", n) == 1 else float(-ndtri(1e-17 / n) * math.sqrt((n - 1) / n))


def _level_points(table: Piecewise) -> Array:
    """Points between which a tabulated logarithm changes by at most 8, down to that of the least float."""
    ends = table.breaks
    grid = np.unique(np.concatenate([ends[:-1] + share * np.diff(ends) for share in np.linspace(0, 1, 33)]))
    values = table.poly(grid)[..., 0]
    order = np.argsort(values)
    return np.interp(np.arange(_LEAST, 0.0, 8.0), values[order], grid[order])


@dataclass(frozen=True)
class ResidualLaw:
    """The law of D for n >= 3, tabulated."""

    n: int

    @cached_property
    def centre(self) -> float:
        """A point near the median, where the two tables meet."""
        return float(ndtri(0.5 ** (1 / self.n)))

    @cached_property
    def _low(self) -> Piecewise:
        """log P(D <= e^y) for y up to log(centre)."""
        start = math.log(_SMALL)
        y = np.linspace(start, math.log(self.centre), 400)
        return _tabulate(lambda t: residual_log_cdf(self.n, np.exp(t)), y)

    @cached_property
    def _high(self) -> Piecewise:
        """log P(D > d) for d from the centre on."""
        end = math.sqrt((self.n - 1) / self.n) * 40
        return _tabulate(lambda d: residual_log_sf(self.n, d), np.linspace(self.centre, end, 400))

    @cached_property
    def _slopes(self) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        return self._low.poly.derivative(), self._high.poly.derivative()

    @cached_property
    def steps(self) -> Array:
        """Points between which both tails change by factors of at most e^8, down to the least float."""
        return np.unique(np.concatenate([np.exp(_level_points(self._low)), _level_points(self._high)]))

    def log_cdf(self, d: Array) -> Array:
        """log P(D <= d) for 0 < d <= centre."""
        y = np.log(d)
        start, inside = self._low.breaks[0], np.maximum(y, self._low.breaks[0])
        known = self._low.poly(inside)[..., 0]
        if math.exp(start) > 2 * _SMALL:
            return np.asarray(np.where(y < start, -math.inf, known))
        return np.asarray(known + (self.n - 1) * np.minimum(y - start, 0.0))

    def log_sf(self, d: Array) -> Array:
        """log P(D > d) for d >= centre."""
        end = self._high.breaks[-1]
        return np.asarray(np.where(d > end, -math.inf, self._high.poly(np.minimum(d, end))[..., 0]))

    def log_tails(self, d: ArrayLike) -> tuple[Array, Array]:
        """The smaller tail: log P(D <= d) and -inf below the centre, -inf and log P(D > d) above it."""
        d = np.asarray(d, dtype=float)
        low, high = np.full(d.shape, -math.inf), np.full(d.shape, -math.inf)
        left, right = (d > 0) & (d <= self.centre), d > self.centre
        low[left], high[right] = self.log_cdf(d[left]), self.log_sf(d[right])
        return low, high

    def cdf(self, d: ArrayLike) -> Array:
        """P(D <= d), elementwise."""
        low, high = self.log_tails(d)
        return np.where(np.asarray(d, dtype=float) > self.centre, -expm1(high), np.exp(low))

    def sf(self, d: ArrayLike) -> Array:
        """P(D > d), elementwise."""
        low, high = self.log_tails(d)
        return np.where(np.asarray(d, dtype=float) > self.centre, np.exp(high), -expm1(low))

    def smoothed(self, c: float) -> float:
        """P(Xbar + D <= c) for an independent Xbar ~ N(0, 1/n), by quadrature of the distribution function."""
        n = self.n
        ends = np.union1d(np.linspace(-8.6, 8.6, 33) / math.sqrt(n), [c, c - self.centre])
        x, weight = gauss_nodes(ends[:-1], ends[1:], 24)
        density = np.exp(-0.5 * n * x**2) * math.sqrt(n / (2 * math.pi))
        return float((weight * density * self.cdf(c - x)).sum())

    def density(self, d: Array) -> Array:
        """The density of D, from the slope of the table: about ten digits."""
        low, high = self.log_tails(d)
        left, right = low > -math.inf, high > -math.inf
        out = np.zeros(d.shape)
        below, above = self._slopes
        out[left] = np.exp(low[left]) * below(np.maximum(np.log(d[left]), self._low.breaks[0]))[..., 0] / d[left]
        out[right] = -np.exp(high[right]) * above(d[right])[..., 0]
        return out

    def checked(self) -> ResidualLaw:
        """The law itself, if the maximum Xbar + D has the distribution Phi^n; otherwise FloatingPointError."""
        n = self.n
        for level in (1e-9, 0.01, 0.3, 0.7, 0.99, 1 - 1e-9):
            c = float(ndtri(level ** (1 / n)))
            defect = abs(self.smoothed(c) - math.exp(n * float(log_ndtr(c))))
            if not defect <= _IDENTITY_TOL:
                raise FloatingPointError(
                    f"n = {n} gives a law of max - mean that misses P(max <= {c:.6g}) by {defect:.1e}, more than "
                    f"{_IDENTITY_TOL:.0e}: nothing computed from it would be proved"
                )
        return self


def _tabulate(logarithm: Callable[[Array], Array], grid: Array) -> Piecewise:
    """A table of a monotone logarithm over the part of the grid on which it exceeds _LEAST."""
    values = logarithm(grid)
    inside = values > _LEAST
    for good in np.flatnonzero(inside)[[0, -1]]:
        for bad in (good - 1, good + 1):
            if 0 <= bad < len(grid) and not inside[bad]:
                # the end of the table is the point where the logarithm is _LEAST
                low, high = float(grid[bad]), float(grid[good])
                for _ in range(50):
                    middle = (low + high) / 2
                    low, high = (low, middle) if logarithm(np.array([middle]))[0] > _LEAST else (middle, high)
                grid[good], values[good] = high, logarithm(np.array([high]))[0]
    grid, values = grid[inside], values[inside]
    order = np.argsort(values)
    levels = _LEVELS[(values.min() < _LEVELS) & (values.max() > _LEVELS)]
    breaks = np.concatenate([grid[[0, -1]], np.interp(levels, values[order], grid[order])])
    return fit(lambda t: logarithm(t)[None], breaks, _TABLE_TOL)


@lru_cache(maxsize=1024)
def residual_law(n: int) -> ResidualLaw:
    """The tabulated and checked law of D, n >= 3."""
    return ResidualLaw(n).checked()


def max_residual_cdf(n: int) -> Callable[[ArrayLike], Array]:
    """The distribution function of D = max_i (X_i - Xbar).

    Args:
        n: number of observations.

    Returns:
        The function d -> P(D <= d), elementwise in d. Its error is below 1e-14, and below 1e-12 P(D <= d).

    Raises:
        ArithmeticError: the law of the maximum computed from it would be wrong.

    >>> max_residual_cdf(5)([1.0, 2.0]).round(4).tolist()
    [0.418, 0.9368]
    """
    if n == 1:
        return lambda d: np.where(np.asarray(d, dtype=float) >= 0, 1.0, 0.0)
    if n == 2:
        return lambda d: np.asarray(erf(np.maximum(np.asarray(d, dtype=float), 0.0)))
    return residual_law(n).cdf


def max_residual_sf(n: int) -> Callable[[ArrayLike], Array]:
    """The survival function of D = max_i (X_i - Xbar).

    Args:
        n: number of observations.

    Returns:
        The function d -> P(D > d), elementwise in d. Its error is below 1e-14, and below 1e-12 P(D > d).

    Raises:
        ArithmeticError: the law of the maximum computed from it would be wrong.

    >>> max_residual_sf(5)([1.0, 2.0, 9.0]).tolist()[1:]  # doctest: +ELLIPSIS
    [0.063..., 2.0...e-23]
    """
    if n == 1:
        return lambda d: np.where(np.asarray(d, dtype=float) >= 0, 0.0, 1.0)
    if n == 2:
        return lambda d: np.asarray(erfc(np.maximum(np.asarray(d, dtype=float), 0.0)))
    return residual_law(n).sf


def max_exceedance(n: int, threshold: float, xbar: ArrayLike) -> Array:
    """P(max_i X_i > threshold | Xbar = xbar): the maximum is xbar + D.

    Args:
        n: number of observations.
        threshold: the value that the maximum exceeds.
        xbar: values of the sample mean.

    Returns:
        The probabilities, elementwise in xbar.

    Raises:
        ValueError: n is not a positive integer.

    >>> max_exceedance(5, 2.0, [0.0, 1.0]).round(4).tolist()
    [0.0632, 0.582]
    """
    return max_residual_sf(_checks.count("n", n))(threshold - np.asarray(xbar, dtype=float))


def _density(n: int) -> Callable[[Array], Array]:
    if n == 2:
        return lambda d: 2 / math.sqrt(math.pi) * np.exp(-(d**2))
    return residual_law(n).density


def max_residual_quantile(n: int, probability: Array) -> Array:
    """The d with P(D <= d) = probability, n >= 2, elementwise, by Newton's method inside a tabulated bracket."""
    cdf, density = max_residual_cdf(n), _density(n)
    grid = np.linspace(0.0, max_residual_support(n), 2049)
    values = cdf(grid)
    index = np.clip(np.searchsorted(values, probability), 1, grid.size - 1)
    low, high = grid[index - 1], grid[index]
    d = np.interp(probability, values, grid)
    for _ in range(10):
        slope = density(d)
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
