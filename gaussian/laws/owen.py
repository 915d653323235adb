"""Bayes risks of a thresholded normal target observed through a jointly normal signal.

Standardise the target to Z with threshold h = c/sd and the signal to S with correlation rho. The Bayes rule decides
Z > h iff rho S > h, and it errs on two wedges of equal probability between the lines z = h and rho s = h:
    R = P(Z > h, rho S <= h) + P(Z <= h, rho S > h) = 2 T(h, sqrt(1 - rho^2)/rho)     (Owen's T).
rho = 0 gives 2 T(h, inf) = Phi(-|h|), the risk without a signal; rho = 1 gives 0.
With losses a for a miss and b for a false alarm the rule decides Z > h iff S > k = (h + r q)/rho, r = sqrt(1 - rho^2),
Phi(q) = b/(a + b). The two wedges then have the probabilities (W +- (P(Z > h) - P(S > k)))/2 with
    W = 2 T(h, (k - rho h)/(h r)) + 2 T(k, (h - rho k)/(k r)) + 1{h k < 0, or h k = 0 and h + k < 0},
and W = arccos(rho)/pi at h = k = 0, where neither of the two has a limit of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri, owens_t

from gaussian.real_arrays import Array

# Owen's T in double precision: a few units in the last place of a probability.
OWEN_ERROR = 1e-15


def gaussian_pair_risk(
    threshold: float, target_sd: float, noise_sd: ArrayLike, loss: tuple[float, float] = (1.0, 1.0)
) -> Array:
    """Risk of testing N(0, target_sd^2) > threshold from target + N(0, noise_sd^2), elementwise in noise_sd."""
    # sqrt(1 - rho^2)/rho = noise_sd/target_sd for a target observed with independent noise.
    noise = np.asarray(noise_sd, dtype=float)
    miss, alarm = loss
    if miss == alarm:
        return np.asarray(miss * 2 * owens_t(threshold / target_sd, noise / target_sd))
    # a signal without noise tells everything
    safe = np.where(noise > 0, noise, 1.0)
    signal_sd = np.hypot(target_sd, safe)
    rho, r, h = target_sd / signal_sd, safe / signal_sd, threshold / target_sd
    k = (h + r * float(ndtri(alarm / (miss + alarm)))) / rho
    gap = ndtr(-h) - ndtr(-k)
    risk = (miss + alarm) / 2 * wedges(np.full(k.shape, h), k, rho, r) + (miss - alarm) / 2 * gap
    return np.where(noise > 0, np.maximum(risk, 0.0), 0.0)


def wedges(h: Array, k: Array, rho: float | Array, r: float | Array) -> Array:
    """P(Z > h, S <= k) + P(Z <= h, S > k) for standard normals with correlation rho, r = sqrt(1 - rho^2) > 0."""
    total = 2 * _owen(h, k - rho * h, r) + 2 * _owen(k, h - rho * k, r)
    apart = (h * k < 0) | ((h * k == 0) & (h + k < 0))
    return np.where((h == 0) & (k == 0), np.arctan2(r, rho) / np.pi, total + apart)


def _owen(h: Array, gap: Array, r: float | Array) -> Array:
    """T(h, gap/(h r)), whose limit at h = 0 is T(0, +-inf) = +-1/4."""
    safe = np.where(h == 0, 1.0, h)
    return np.where(h == 0, 0.25 * np.sign(gap), owens_t(h, gap / (safe * r)))


def prior_risk(threshold: float, target_sd: float, loss: tuple[float, float] = (1.0, 1.0)) -> float:
    """Risk of the same test without a signal."""
    miss, alarm = loss
    h = threshold / target_sd
    return float(min(miss * ndtr(-h), alarm * ndtr(h)))
