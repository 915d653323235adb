"""theta ~ N(m, sigma_0^2),  X_1..X_n | theta ~ N(theta, s^2) independent;  Bob tests theta > c_B.

The sample mean is sufficient for theta:  xbar ~ N(m, sigma_0^2 + s^2/n)  and
theta | x ~ N(m + k (xbar - m), v)  with  1/v = 1/sigma_0^2 + n/s^2,  k = v n/s^2,  so Bob's posterior P(theta > c_B |
x) is increasing in xbar. The residuals x_i - xbar are independent of (theta, xbar); their law depends on n and s alone.

Standard form. With theta = m + s theta', X_i = m + s X_i' the primed variables follow the model with m = 0, s = 1 and
prior sd sigma_0/s. A test theta > c or T(x) > c becomes a test at (c - m)/s. Losses of tests do not change under
x -> x', so neither does any risk; a threshold t' in xbar' is the threshold m + s t' in xbar, and noise of standard
deviation sigma on the data is noise sigma/s in the standard form.

Bob's loss is (miss, false alarm): what he loses if he decides "no" and theta > c_B, and if he decides "yes" and
theta <= c_B. On the full data he decides "yes" when his posterior exceeds false alarm/(miss + false alarm).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from gaussian import _checks
from gaussian.eves import (
    UNIT_LOSS,
    BothEves,
    Eve,
    GaussianEves,
    MaxEve,
    MeanEve,
    ShortRepr,
    ThresholdEve,
    optional,
)
from gaussian.real_arrays import Array

_MOST = 10**15  # observations: floats tell all of these numbers apart
_WIDEST = 1e100  # squares of larger ratios of standard deviations are no floats

__all__ = ["BothEves", "Eve", "GaussianModel", "MaxEve", "MeanEve", "StandardForm", "standard_form"]


@dataclass(frozen=True, repr=False)
class GaussianModel(ShortRepr):
    """The model: theta ~ N(prior_mean, prior_sd^2), n observations N(theta, noise_sd^2), Bob's test of theta > c_B.

    Args:
        n: number of observations.
        prior_sd: sigma_0, the standard deviation of theta.
        bob_threshold: c_B.
        prior_mean: m, the mean of theta.
        noise_sd: s, the standard deviation of an observation given theta.
        bob_loss: what Bob loses by a miss and by a false alarm.

    Raises:
        ValueError: n is not a positive integer up to 10^15, a standard deviation or a loss is not positive, a number is
            not finite, or one standard deviation is more than 10^100 times the other.

    >>> GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0).bob_prior
    0.5
    >>> GaussianModel(n=5, prior_sd=2.0, bob_threshold=10.0, prior_mean=10.0, noise_sd=2.0).bob_prior
    0.5
    """

    n: int = 5
    prior_sd: float = 1.0
    bob_threshold: float = 0.0
    prior_mean: float = optional(0.0)
    noise_sd: float = optional(1.0)
    bob_loss: tuple[float, float] = optional(UNIT_LOSS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", _checks.count("n", self.n))
        object.__setattr__(self, "prior_sd", _checks.positive("prior_sd", self.prior_sd))
        object.__setattr__(self, "bob_threshold", _checks.real("bob_threshold", self.bob_threshold))
        object.__setattr__(self, "prior_mean", _checks.real("prior_mean", self.prior_mean))
        object.__setattr__(self, "noise_sd", _checks.positive("noise_sd", self.noise_sd))
        object.__setattr__(self, "bob_loss", _checks.loss_pair("bob_loss", self.bob_loss))
        if self.n > _MOST:
            raise ValueError(f"n = {self.n} must be at most {_MOST}")
        if not 1 / _WIDEST <= self.prior_sd / self.noise_sd <= _WIDEST:
            raise ValueError(
                f"prior_sd = {self.prior_sd} must be between {1 / _WIDEST:g} and {_WIDEST:g} times "
                f"noise_sd = {self.noise_sd}"
            )

    @property
    def xbar_sd(self) -> float:
        """Standard deviation of the sample mean under the prior predictive law."""
        return math.hypot(self.prior_sd, self.noise_sd / math.sqrt(self.n))

    @property
    def posterior_sd(self) -> float:
        """Standard deviation of theta given the data."""
        return self.prior_sd / math.sqrt(1 + self.n * (self.prior_sd / self.noise_sd) ** 2)

    @property
    def bob_prior(self) -> float:
        """pi = P(theta > c_B)."""
        return float(ndtr((self.prior_mean - self.bob_threshold) / self.prior_sd))

    @property
    def _gain(self) -> float:
        """k: the posterior mean of theta is m + k (xbar - m)."""
        return self.posterior_sd**2 * self.n / self.noise_sd**2

    def bob_score(self, xbar: ArrayLike) -> Array:
        """The z with P(theta > c_B | xbar) = Phi(z): it distinguishes posteriors that round to 0 or 1."""
        centred = np.asarray(xbar, dtype=float) - self.prior_mean
        mean = self._gain * centred
        return np.asarray((mean - (self.bob_threshold - self.prior_mean)) / self.posterior_sd)

    def bob_posterior(self, xbar: ArrayLike) -> Array:
        """P(theta > c_B | xbar), elementwise."""
        return np.asarray(ndtr(self.bob_score(xbar)))

    def bob_doubt(self, xbar: ArrayLike) -> Array:
        """P(theta <= c_B | xbar), elementwise, with its own digits where it is small."""
        return np.asarray(ndtr(-self.bob_score(xbar)))

    def score_threshold(self, z: ArrayLike) -> Array:
        """The t with {bob_score(xbar) > z} = {xbar > t}."""
        shift = self.posterior_sd * np.asarray(z, dtype=float)
        return np.asarray(self.prior_mean + (self.bob_threshold - self.prior_mean + shift) / self._gain)

    def bit_threshold(self, tau: ArrayLike) -> Array:
        """The t with {P(theta > c_B | xbar) > tau} = {xbar > t}; -inf at tau = 0 and +inf at tau = 1."""
        return self.score_threshold(ndtri(np.asarray(tau, dtype=float)))

    @property
    def bob_cut(self) -> float:
        """t_B: on the full data Bob decides theta > c_B when xbar > t_B."""
        miss, alarm = self.bob_loss
        return float(self.bit_threshold(alarm / (miss + alarm)))


@dataclass(frozen=True)
class StandardForm:
    """A model and an Eve with m = 0 and s = 1, and the map back: a value t in xbar' is shift + scale t in xbar."""

    model: GaussianModel
    eve: Eve
    shift: float
    scale: float

    def back(self, t: ArrayLike) -> Array:
        """A value of xbar' in the units of the data."""
        return np.asarray(self.shift + self.scale * np.asarray(t, dtype=float))

    def there(self, t: ArrayLike) -> Array:
        """A value of xbar in standard units."""
        return np.asarray((np.asarray(t, dtype=float) - self.shift) / self.scale)


def standard_form(model: GaussianModel, eve: Eve) -> StandardForm:
    """The standard form of a model and an Eve; they themselves if they have it already."""
    m, s = model.prior_mean, model.noise_sd
    eve = _simplest(eve)
    if m == 0 and s == 1:
        return StandardForm(model, eve, 0.0, 1.0)

    def moved(question: ThresholdEve) -> ThresholdEve:
        return replace(question, threshold=(question.threshold - m) / s)

    standard = GaussianModel(model.n, model.prior_sd / s, (model.bob_threshold - m) / s, bob_loss=model.bob_loss)
    if isinstance(eve, ThresholdEve):
        return StandardForm(standard, moved(eve), m, s)
    if isinstance(eve, BothEves):
        mean, top = (moved(question).threshold for question in eve.members)
        return StandardForm(standard, replace(eve, mean_threshold=mean, max_threshold=top), m, s)
    return StandardForm(standard, replace(eve, members=tuple(moved(q) for q in eve.members)), m, s)


def _simplest(eve: Eve) -> Eve:
    """A list of one Eve is this Eve, her losses times her weight; "either the mean or the maximum" is BothEves."""
    if not isinstance(eve, GaussianEves):
        return eve
    if len(eve.members) == 1:
        (only,), (weight,) = eve.members, eve.weights or (1.0,)
        return replace(only, loss=(weight * only.loss[0], weight * only.loss[1]))
    first, second = eve.members[:2]
    if eve.either and len(eve.members) == 2 and isinstance(first, MeanEve) and isinstance(second, MaxEve):
        return BothEves(first.threshold, second.threshold, first.loss, second.loss)
    return eve


def gaussian_draws(model: GaussianModel, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
    """theta, one number per draw, and x, one row of n observations per draw."""
    theta = model.prior_mean + model.prior_sd * rng.standard_normal(size)
    return theta, theta[:, None] + model.noise_sd * rng.standard_normal((size, model.n))
