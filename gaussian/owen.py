"""Bayes risks of a thresholded normal target observed through a jointly normal signal.

Standardise the target to Z with threshold h = c/sd and the signal to S with correlation rho. The Bayes rule decides
Z > h iff rho S > h, and it errs on two wedges of equal probability between the lines z = h and rho s = h:
    R = P(Z > h, rho S <= h) + P(Z <= h, rho S > h) = 2 T(h, sqrt(1 - rho^2)/rho)     (Owen's T).
rho = 0 gives 2 T(h, inf) = Phi(-|h|), the risk without a signal; rho = 1 gives 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, owens_t

from gaussian.arrays import Array

# Owen's T in double precision: a few units in the last place of a probability.
OWEN_ERROR = 1e-15


def gaussian_pair_risk(threshold: float, target_sd: float, noise_sd: ArrayLike) -> Array:
    """Risk of testing N(0, target_sd^2) > threshold from target + N(0, noise_sd^2), elementwise in noise_sd."""
    # sqrt(1 - rho^2)/rho = noise_sd/target_sd for a target observed with independent noise.
    slope = np.asarray(noise_sd, dtype=float) / target_sd
    return np.asarray(2 * owens_t(threshold / target_sd, slope))


def prior_risk(threshold: float, target_sd: float) -> float:
    """Risk of the same test without a signal."""
    return float(ndtr(-abs(threshold) / target_sd))
