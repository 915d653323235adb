"""The six releases q(eta | x):  x,  nothing,  x + sigma N(0, I),  xbar + sigma N(0, 1),  med(x) + sigma N(0, 1),
and the bit 1{P(theta > c_B | x) > tau}.  The median of an even number of values is the mean of the two middle ones.
"""

from __future__ import annotations

from dataclasses import dataclass

from gaussian import _checks
from gaussian.eves import SharedSections, ShortRepr, optional


@dataclass(frozen=True)
class Full:
    """Release the data.

    >>> from gaussian import Full, GaussianModel, MeanEve, risks
    >>> risks(GaussianModel(n=5), MeanEve(0.5), Full()).eve
    0.0
    """


@dataclass(frozen=True)
class Null:
    """Release nothing.

    >>> from gaussian import GaussianModel, MeanEve, Null, risks
    >>> risks(GaussianModel(n=5, bob_threshold=0.0), MeanEve(0.5), Null()).bob
    0.5
    """


@dataclass(frozen=True)
class _Noisy(SharedSections):
    """A statistic of the data, released with noise.

    Args:
        sigma: the standard deviation of the noise, which may be 0.

    Raises:
        ValueError: sigma is negative or not a finite number.
    """

    sigma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "sigma", _checks.non_negative("sigma", self.sigma))


@dataclass(frozen=True)
class NoisyFull(_Noisy):
    """Release every observation with independent N(0, sigma^2) noise.

    >>> NoisyFull(0.5)
    NoisyFull(sigma=0.5)
    """


@dataclass(frozen=True)
class NoisyMean(_Noisy):
    """Release the sample mean with N(0, sigma^2) noise.

    >>> NoisyMean(0.5)
    NoisyMean(sigma=0.5)
    """


@dataclass(frozen=True)
class NoisyMedian(_Noisy):
    """Release the sample median with N(0, sigma^2) noise.

    >>> NoisyMedian(0.5)
    NoisyMedian(sigma=0.5)
    """


@dataclass(frozen=True, repr=False)
class OneBit(ShortRepr):
    """Release whether Bob's posterior probability of theta > c_B exceeds tau.

    Args:
        tau: the threshold, from 0 to 1.
        cut: the same bit as 1{xbar > cut}, used if given: where tau rounds to 0 or 1 it no longer tells the bit.

    Raises:
        ValueError: tau is outside [0, 1], or cut is not a finite number.

    >>> OneBit(0.5)
    OneBit(tau=0.5)
    """

    tau: float
    cut: float | None = optional(None)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tau", _checks.unit("tau", self.tau))
        if self.cut is not None:
            object.__setattr__(self, "cut", _checks.real("cut", self.cut))


GaussianRelease = Full | Null | NoisyFull | NoisyMean | NoisyMedian | OneBit
ReleaseFamily = type[NoisyFull] | type[NoisyMean] | type[NoisyMedian] | type[OneBit]

NAMES: dict[type, str] = {
    Full: "full",
    Null: "null",
    NoisyFull: "noisy full",
    NoisyMean: "noisy mean",
    NoisyMedian: "noisy median",
    OneBit: "one-bit",
}
