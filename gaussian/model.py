"""theta ~ N(0, sigma_0^2),  X_1..X_n | theta ~ N(theta, 1) independent;  Bob tests theta > c_B.

The sample mean is sufficient for theta:  xbar ~ N(0, sigma_0^2 + 1/n)  and
theta | x ~ N(v n xbar, v)  with  1/v = 1/sigma_0^2 + n,  so Bob's posterior P(theta > c_B | x) is increasing in xbar.
The residuals x_i - xbar are independent of (theta, xbar); their law depends on n alone (module residual).

Eve tests events of the data under 0-1 loss: the mean, the maximum, or both. With both, she loses only if she is wrong
about both events (the minimum of the two losses), so her risk is the probability of the least likely of the four cells.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from gaussian import _checks
from gaussian.arrays import Array


@dataclass(frozen=True)
class GaussianModel:
    """The model: theta ~ N(0, prior_sd^2), n observations N(theta, 1), and Bob's test of theta > bob_threshold.

    Args:
        n: number of observations.
        prior_sd: sigma_0, the standard deviation of theta.
        bob_threshold: c_B.

    Raises:
        ValueError: n is not a positive integer, prior_sd is not positive, or bob_threshold is not finite.

    >>> GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0).bob_prior
    0.5
    """

    n: int = 5
    prior_sd: float = 1.0
    bob_threshold: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", _checks.count("n", self.n))
        object.__setattr__(self, "prior_sd", _checks.positive("prior_sd", self.prior_sd))
        object.__setattr__(self, "bob_threshold", _checks.real("bob_threshold", self.bob_threshold))

    @property
    def xbar_sd(self) -> float:
        """Standard deviation of the sample mean under the prior predictive law."""
        return math.hypot(self.prior_sd, 1 / math.sqrt(self.n))

    @property
    def posterior_sd(self) -> float:
        """Standard deviation of theta given the data."""
        return self.prior_sd / math.sqrt(1 + self.n * self.prior_sd**2)

    @property
    def bob_prior(self) -> float:
        """pi = P(theta > c_B)."""
        return float(ndtr(-self.bob_threshold / self.prior_sd))

    def bob_posterior(self, xbar: ArrayLike) -> Array:
        """P(theta > c_B | xbar), elementwise."""
        mean = self.posterior_sd**2 * self.n * np.asarray(xbar, dtype=float)
        return np.asarray(ndtr((mean - self.bob_threshold) / self.posterior_sd))

    def bit_threshold(self, tau: ArrayLike) -> Array:
        """The t with {P(theta > c_B | xbar) > tau} = {xbar > t}; -inf at tau = 0 and +inf at tau = 1."""
        shift = self.posterior_sd * ndtri(np.asarray(tau, dtype=float))
        return np.asarray((self.bob_threshold + shift) / (self.n * self.posterior_sd**2))


@dataclass(frozen=True)
class MeanEve:
    """Eve tests xbar > threshold."""

    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", _checks.real("threshold", self.threshold))


@dataclass(frozen=True)
class MaxEve:
    """Eve tests max_i x_i > threshold."""

    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", _checks.real("threshold", self.threshold))


@dataclass(frozen=True)
class BothEves:
    """Eve tests xbar > mean_threshold and max_i x_i > max_threshold, and loses only if she is wrong about both."""

    mean_threshold: float
    max_threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean_threshold", _checks.real("mean_threshold", self.mean_threshold))
        object.__setattr__(self, "max_threshold", _checks.real("max_threshold", self.max_threshold))


Eve = MeanEve | MaxEve | BothEves
