"""P(D <= d) and P(D > d) for D = max_i (X_i - Xbar) of n independent N(0, 1) values, to relative accuracy, for any n.

D <= d means that n independent normals, conditioned on the sum 0, all lie below d. With
    M(p) = integral_{-inf}^d phi(z) e^{pz} dz = e^{p^2/2} Phi(d - p)
the density of their sum at 0 is an inverse Laplace integral, and N(0, n) has the density 1/sqrt(2 pi n) at 0:
    P(D <= d) = sqrt(n/2pi)/i  integral M(p)^n dp,
    P(D > d)  = sqrt(n/2pi)/i  integral (e^{n p^2/2} - M(p)^n) dp,
along any path from -i inf to +i inf, because both integrands are entire. The path is a hyperbola that crosses the real
axis at the saddle point, where the integrand is largest, and bends left into the sector where e^{p^2/2} and e^{pd} both
decay. The midpoint rule converges geometrically on it, and nothing cancels: the errors are relative, about the unit
roundoff times the logarithm of the result. log M = p^2/2 + log1p(-Phi(p - d)) keeps its digits where M is near 1, which
n log M needs for large n; elsewhere log M = p d - d^2/2 + log(w(i (p - d)/sqrt 2)/2) with the Faddeeva function w.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, expm1, log1p, log_ndtr, wofz

from gaussian.real_arrays import Array

Complex = NDArray[np.complex128]

_ROOT2 = math.sqrt(2.0)
_BEND = 0.3
_STRETCH = 1.5
# Length and points of the path. For few observations the integrand decays slowly, like |p|^-n. Tuned against 40-digit
# arithmetic: the error is at most 2e-15 (1 + |log P|) for every n from 3 to 10,000.
_PATHS = {8: (5.6, 110), math.inf: (4.0, 52)}
_NEWTON_STEPS = 14


def residual_log_cdf(n: int, d: Array) -> Array:
    """log P(D <= d), elementwise, n >= 3 and d > 0."""
    tilt, variance = _lower_saddle(d)
    start = log_m(tilt[:, None].astype(complex), d[:, None]).real
    p, speed, step = hyperbola(tilt, n * variance, *_path(n))
    body = np.exp(n * (log_m(p, d[:, None]) - start)) * speed
    return np.asarray(n * start[:, 0] + np.log(math.sqrt(2 * n / math.pi) * step * body.imag.sum(-1)))


def residual_log_sf(n: int, d: Array) -> Array:
    """log P(D > d), elementwise, n >= 3, for d at which this is at most about 1/2."""
    tilt, variance = _upper_saddle(n, d)
    p, speed, step = hyperbola(tilt, variance, *_path(n))
    # P(some > d) <= n P(one > d): the size of the integrand at the saddle
    start = (n * tilt**2 / 2 + math.log(n) + log_ndtr(tilt - d))[:, None]
    body = np.exp(_log_exceeding(n, p, d[:, None]) - start) * speed
    return np.asarray(start[:, 0] + np.log(math.sqrt(2 * n / math.pi) * step * body.imag.sum(-1)))


def _log_exceeding(n: int, p: Complex, d: Array) -> Complex:
    """log(e^{n p^2/2} - M^n) = n p^2/2 + log(1 - Phi(d - p)^n)."""
    z = d - p
    right = _near_one(z)
    out = np.empty(p.shape, dtype=complex)
    # 1 - (1 - Q)^n with Q = Phi(p - d), which is n Q where that is far below rounding
    x, q = z[right], p[right]
    log_q = -(x**2) / 2 + np.log(0.5 * wofz(1j * x / _ROOT2))
    tiny = log_q.real < -60
    beyond = -expm1(n * log1p(-np.exp(np.where(tiny, -60.0, log_q))))
    out[right] = n * q**2 / 2 + np.where(tiny, math.log(n) + log_q, np.log(beyond))
    q = p[~right]
    power = n * q**2 / 2
    gain = n * log_m(q, np.broadcast_to(d, p.shape)[~right]) - power
    large = gain.real > 60  # there 1 - Phi^n is -Phi^n
    out[~right] = power + np.where(large, gain + 1j * math.pi, np.log(-expm1(np.where(large, 0.5, gain))))
    return out


def _path(n: int) -> tuple[float, int]:
    return next(path for most, path in _PATHS.items() if n < most)


def hyperbola(tilt: Array, variance: Array, length: float, points: int) -> tuple[Complex, Complex, float]:
    """The upper half of a path through `tilt` (the lower one is its mirror image), its derivative, and the step.

    It bends to the left. The points are in the last axis.
    """
    scale = (_STRETCH / np.sqrt(variance))[..., None]
    u = (np.arange(points) + 0.5) * length / points
    across, along = -scale * math.sin(_BEND), 1j * scale * math.cos(_BEND)
    p = tilt[..., None] + across * (np.cosh(u) - 1) + along * np.sinh(u)
    return p, across * np.sinh(u) + along * np.cosh(u), length / points


def _near_one(z: Complex) -> NDArray[np.bool_]:
    """Where Phi(z) is computed from 1 - Phi(z) without cancellation or overflow."""
    return np.asarray((z.real > 0) & ((z**2).real > -1))


def log_m(p: Complex, d: Array) -> Complex:
    z, d = d - p, np.broadcast_to(d, p.shape)
    right = _near_one(z)
    out = np.empty(p.shape, dtype=complex)
    x, q = z[right], p[right]
    out[right] = q**2 / 2 + log1p(-0.5 * np.exp(-(x**2) / 2) * wofz(1j * x / _ROOT2))
    q, far = p[~right], d[~right]
    out[~right] = q * far - far**2 / 2 + np.log(0.5 * wofz(1j * (q - far) / _ROOT2))
    return out


def _lower_saddle(d: Array) -> tuple[Array, Array]:
    """The tilt p at which a normal of density phi(z) e^{pz} below d has mean 0, and its variance.

    The mean is p - h(d - p), h = phi/Phi, increasing and concave in p. For small d the truncated normal is nearly
    exponential: the tilt is d + 1/d and the variance d^2.
    """
    tilt = np.where(d < 0.7, d + 1 / d, 0.0)
    exponential = d < 0.03
    for step in range(_NEWTON_STEPS + 1):
        x = d - tilt
        hazard = math.sqrt(2 / math.pi) / erfcx(-x / _ROOT2)
        variance = np.where(exponential, d**2, np.maximum(1 - hazard * (hazard + x), 1e-4))
        if step < _NEWTON_STEPS:
            tilt = np.where(exponential, tilt, np.maximum(tilt - (tilt - hazard) / variance, 0.0))
    return tilt, variance


def _upper_saddle(n: int, d: Array) -> tuple[Array, Array]:
    """The p at which n p^2/2 + log Phi(p - d) is least, and its second derivative there."""
    tilt = -d / (n - 1)
    for step in range(_NEWTON_STEPS + 1):
        x = d - tilt
        hazard = math.sqrt(2 / math.pi) / erfcx(x / _ROOT2)
        variance = np.maximum(n - hazard * (hazard - x), 0.5 * n)
        if step < _NEWTON_STEPS:
            tilt = tilt - (n * tilt + hazard) / variance
    return tilt, variance
