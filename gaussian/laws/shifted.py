"""The law of  max_i (W_i + s (Z_i - Zbar))  for given shifts W with zero sum and independent N(0, 1) Z_i.

Independent normals below b_i = (d - W_i)/s, conditioned on their sum: an inverse Laplace integral
    G(d) = sqrt(n/2pi)/i  integral  prod_i M_i(p) dp,
    M_i(p) = integral_{-inf}^{b_i} phi(z) e^{pz} dz = e^{p^2/2} Phi(b_i - p)
           = e^{p b_i - b_i^2/2} erfcx((p - b_i)/sqrt 2)/2,
along any path from -i inf to +i inf, because each M_i is entire. The path is a hyperbola. It crosses the real axis at
the saddle point (the tilt that gives the truncated sum mean 0) and bends left into the sector where both e^{p^2/2} and
e^{p sum b} decay. On it the midpoint rule converges geometrically.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, wofz

from gaussian.laws.maximum import hyperbola
from gaussian.real_arrays import Array

_LENGTH = 3.0
# With bounds of at most 8.5 standard deviations a product of this many factors neither overflows nor vanishes.
_GROUP = 6
_TILT_STEPS = 8
# At a larger tilt G is negligible, and a path through any crossing point is valid.
_MAX_TILT = 50.0
# A bound 8.5 standard deviations out truncates less than 1e-16; capping it keeps erfcx from overflowing.
_FAR = 8.5
REACH = 7.5
_OUTSIDE = 1e-9
_RANGE_STEPS = 12


def shifted_max_range(shifts: Array, s: float) -> tuple[Array, Array]:
    """For each row of shifts, an interval outside which G is 0 or 1 to 1e-9; the maximum is never negative.

    The residuals are negatively correlated, so G is at most the product of their own probabilities (Slepian), and 1 - G
    is at most the sum of their tails. Both bounds are monotone in d: bisection finds where they are 1e-9.
    """
    sd = s * math.sqrt(1 - 1 / shifts.shape[-1])
    top = shifts.max(axis=-1)

    def crossing(before: Callable[[Array], Array]) -> tuple[Array, Array]:
        low, high = np.maximum(top - REACH * s, 0.0), top + REACH * s
        for _ in range(_RANGE_STEPS):
            middle = (low + high) / 2
            left = before((middle[:, None] - shifts) / sd)
            low, high = np.where(left, middle, low), np.where(left, high, middle)
        return low, high

    low, _ = crossing(lambda bounds: log_ndtr(bounds).sum(axis=-1) < math.log(_OUTSIDE))
    _, high = crossing(lambda bounds: ndtr(-bounds).sum(axis=-1) > _OUTSIDE)
    return low, high


def shifted_max_cdf(d: Array, shifts: Array, s: float, points: int) -> Array:
    """G(d): d of shape (rows, columns), shifts (rows, n), s > 0; error about 1e-9 with 20 points on the path."""
    n = shifts.shape[-1]
    bounds = np.minimum((d[..., None] - shifts[:, None, :]) / s, _FAR)
    if n == 2:
        # Z_1 - Zbar ~ N(0, 1/2) and the other residual is its negative: |W_1 + s r| <= d.
        root = math.sqrt(2)
        return np.maximum(ndtr(root * bounds[..., 0]) - ndtr(-root * bounds[..., 1]), 0.0)
    tilt, variance = _saddle(bounds)
    p, speed, step = hyperbola(tilt, variance, _LENGTH, points)
    # Bounds with a negative sum cannot all hold for values with zero sum.
    feasible = bounds.sum(-1) > 0
    exponent = p * bounds.sum(-1)[..., None] - 0.5 * (bounds**2).sum(-1)[..., None]
    # Single factors may be huge or tiny although the product is of moderate size: logarithms of groups are added.
    factors = np.ones_like(p)
    for i in range(n):
        factors *= 0.5 * wofz(1j * (p - bounds[..., i, None]) / math.sqrt(2))
        if i % _GROUP == _GROUP - 1 or i == n - 1:
            exponent += np.log(factors)
            factors = np.ones_like(p)
    product = np.exp(np.where(feasible[..., None], exponent, -math.inf)) * speed
    # The path is symmetric about the real axis: twice the upper half.
    value = math.sqrt(n / (2 * math.pi)) * 2 * step * product.imag.sum(-1)
    return np.clip(value, 0.0, 1.0)


def _saddle(bounds: Array) -> tuple[Array, Array]:
    """The tilt p >= 0 at which truncated normals of density phi(z) e^{pz}, z <= b, have total mean 0; their variance.

    The total mean is increasing and concave in p, so Newton's method from p = 0 increases to the root.
    """
    tilt = np.zeros(bounds.shape[:-1])
    for step in range(_TILT_STEPS + 1):
        x = bounds - tilt[..., None]
        hazard = math.sqrt(2 / math.pi) / erfcx(-x / math.sqrt(2))
        variance = np.maximum((1 - hazard * (hazard + x)).sum(-1), 1e-8)
        if step < _TILT_STEPS:
            tilt = np.minimum(tilt - (bounds.shape[-1] * tilt - hazard.sum(-1)) / variance, _MAX_TILT)
    return tilt, variance
