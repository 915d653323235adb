"""P(T <= c | xbar) and P(T > c | xbar) for the statistic T of each question of Eve, in the standard form.

A statistic that moves with the data is xbar plus a function of the residuals, which are independent of xbar:
    P(T <= c | xbar = x) = P(T - xbar <= c - x),
with the law of T - xbar from modules residual (maximum; minimum by x -> -x), ranks (k-th smallest) and
median_mean (median of an even number), and N(0, 1 - 1/n) for one record. The range is itself a function of the
residuals, so its probability does not depend on x. Both tails are computed on their own, so that a rare answer keeps
its digits; each law states its error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from gaussian.arrays import Array
from gaussian.eves import (
    Eve,
    GaussianEves,
    MaxEve,
    MeanEve,
    MedianEve,
    MinEve,
    QuantileEve,
    RangeEve,
    RecordEve,
    ThresholdEve,
    questions,
)
from gaussian.laws.median_mean import deviation_density
from gaussian.laws.ranks import order_law
from gaussian.laws.residual import max_residual_cdf, max_residual_sf, max_residual_support, residual_law
from gaussian.numerics.piecewise import composite_nodes

XbarSupport = tuple[float, float]
# Tables of logarithms are right to 2e-15 (4 + |log P|), measured against 40-digit arithmetic for n up to 10,000; sums
# of n logarithms of order statistics lose another n units in the last place.
_TABLE_ERROR = 2e-15
_LINE: XbarSupport = (-math.inf, math.inf)
# Above this the table of an inner order statistic takes minutes.
MOST_ORDERED = 1000
_WIDE = 16.0  # every range of up to 10^6 values is below it almost surely


@dataclass(frozen=True)
class StatisticLaw:
    """One question of Eve about n standard observations."""

    n: int
    question: ThresholdEve

    @cached_property
    def decided(self) -> bool:
        """Whether xbar decides the answer: T is xbar."""
        q = self.question
        if isinstance(q, MeanEve):
            return True
        return (self.n == 1 and q.location) or (self.n == 2 and isinstance(q, MedianEve))

    @cached_property
    def _order(self) -> int:
        """k if T is the k-th smallest value, 0 if it is not."""
        q, n = self.question, self.n
        if isinstance(q, QuantileEve):
            return q.rank(n)
        return (n + 1) // 2 if isinstance(q, MedianEve) and n % 2 else 0

    @cached_property
    def _extreme(self) -> int:
        """1 if T is the maximum, -1 if it is the minimum, 0 otherwise."""
        if isinstance(self.question, MaxEve) or (self._order == self.n):
            return 1
        return -1 if isinstance(self.question, MinEve) or self._order == 1 else 0

    @cached_property
    def supports(self) -> tuple[XbarSupport, XbarSupport]:
        """The intervals of xbar on which the answers "no" and "yes" are possible."""
        c, inf = self.question.threshold, math.inf
        if self.decided:
            return (-inf, c), (c, inf)
        if self._extreme > 0:
            return (-inf, c), _LINE
        if self._extreme < 0:
            return _LINE, (c, inf)
        return _LINE, _LINE

    def answers(self, xbar: ArrayLike) -> Array:
        """P(no | xbar) and P(yes | xbar), shape (2, *xbar.shape)."""
        x = np.asarray(xbar, dtype=float)
        c, q = self.question.threshold, self.question
        if self.decided:
            return np.stack([(x <= c).astype(float), (x > c).astype(float)])
        if self._extreme > 0:
            return np.stack([max_residual_cdf(self.n)(c - x), max_residual_sf(self.n)(c - x)])
        if self._extreme < 0:
            return np.stack([max_residual_sf(self.n)(x - c), max_residual_cdf(self.n)(x - c)])
        if isinstance(q, RecordEve):
            spread = math.sqrt((self.n - 1) / self.n)
            return np.stack([ndtr((c - x) / spread), ndtr((x - c) / spread)])
        if isinstance(q, RangeEve):
            below, above = range_tails(self.n, c)
            return np.stack([np.full(x.shape, below), np.full(x.shape, above)])
        if self._order:
            law = order_law(self.n, self._order)
            return np.stack([law.cdf(c - x), law.sf(c - x)])
        # the median of an even number: V = M - xbar is symmetric about 0
        density = deviation_density(self.n)
        tail = np.clip(density.below(-np.abs(c - x))[0], 0.0, 0.5)
        return np.where(c - x <= 0, np.stack([tail, 1 - tail]), np.stack([1 - tail, tail]))

    def error(self, xbar: Array) -> Array:
        """A bound on the error of `answers` at each xbar: the same for both answers, which add to 1."""
        if self.decided:
            return np.zeros(np.shape(xbar))
        both = self.answers(xbar)
        smaller = both.min(0)
        if isinstance(self.question, RecordEve):
            # Phi(z) is right to a few units in the last place, and a rounding of z changes it by z^2 of them
            size = 4 + 2 * np.abs(np.log(np.maximum(smaller, 1e-300)))
            return 4e-16 * smaller * size
        if isinstance(self.question, RangeEve):
            return 1e-13 * smaller
        if self._order == 0 and not self._extreme:
            density = deviation_density(self.n)
            return np.full(np.shape(xbar), density.error + abs(float(density.mass[0]) - 1) + 1e-14)
        lost = 0.0 if self._extreme else 1e-15 * self.n
        return smaller * (_TABLE_ERROR * (4 - np.log(np.maximum(smaller, 1e-300))) + lost)

    @cached_property
    def knots(self) -> list[float]:
        """Where a quadrature in xbar should be cut: kinks, and the scale on which the answers change."""
        c, n = self.question.threshold, self.n
        if self.decided:
            return [c]
        if isinstance(self.question, RangeEve):
            return []
        if self._extreme:
            reach = np.arange(0.0, 40.25, 0.25)
            steps = residual_law(n).steps if n > 2 else np.geomspace(1e-6, 1.0, 13)
            return [c, *(c - self._extreme * np.concatenate([reach, steps])).tolist()]
        scale = math.sqrt((n - 1) / n) if isinstance(self.question, RecordEve) else 1 / math.sqrt(n)
        centre = order_law(n, self._order).centre if self._order else 0.0
        near = np.concatenate([np.arange(-12.0, 12.5, 0.5) * scale, np.arange(-40.0, 40.5, 0.5)])
        near = near if not self._order else np.concatenate([near, order_law(n, self._order).steps - centre])
        return [c, *(c - centre - near).tolist()]

    @cached_property
    def kinks(self) -> list[float]:
        """The few points where the answers are not smooth, and the tail of the maximum."""
        c = self.question.threshold
        if self.decided or isinstance(self.question, RangeEve):
            return [] if isinstance(self.question, RangeEve) else [c]
        if self._extreme:
            reach = max_residual_support(self.n)
            return [c - self._extreme * reach * share for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
        scale = math.sqrt((self.n - 1) / self.n) if isinstance(self.question, RecordEve) else 1 / math.sqrt(self.n)
        centre = order_law(self.n, self._order).centre if self._order else 0.0
        return [c, *[c - centre + step * scale for step in (-8.0, -2.0, 0.0, 2.0, 8.0)]]


@lru_cache(maxsize=512)
def statistic_law(n: int, question: ThresholdEve) -> StatisticLaw:
    """The law of one question, tabulated once."""
    law = StatisticLaw(n, question)
    if isinstance(question, RecordEve) and question.record > n:
        raise ValueError(f"record = {question.record} must be at most n = {n}")
    inner = isinstance(question, (MedianEve, QuantileEve)) and not law.decided and not law._extreme
    if inner and n > MOST_ORDERED:
        raise ValueError(
            f"n = {n} must be at most {MOST_ORDERED} for a proved bracket against the {question.label}: "
            "bracket(sample(...)) of discretise works from draws, see gaussian.eve_simulator"
        )
    return law


@lru_cache(maxsize=256)
def range_tails(n: int, r: float) -> tuple[float, float]:
    """P(R <= r) and P(R > r) for the range R of n independent N(0, 1) values.

    With the least value at t the others lie in (t, t + r):  P(R <= r) = n integral phi(t) (Phi(t+r) - Phi(t))^{n-1} dt,
    and the density is  n (n-1) integral phi(t) phi(t+r) (Phi(t+r) - Phi(t))^{n-2} dt,  integrated beyond r for the
    tail.
    """
    if n == 1 or r < 0:
        return (1.0, 0.0) if r >= 0 else (0.0, 1.0)
    if r == 0:
        return 0.0, 1.0
    if r < _WIDE:
        # the least value t: phi(t) beyond 12 on the right, and Phi(t + r) beyond 12 on the left, are negligible
        t, weight = composite_nodes(np.array([-r - 12.0]), np.array([12.0]), 96, 12)
        with np.errstate(divide="ignore"):
            inside = np.exp((n - 1) * np.log(_inside(t, r)) - t**2 / 2)
        lower = n * float(np.sum(weight * inside)) / math.sqrt(2 * math.pi)
        if lower < 0.5:
            return lower, 1 - lower
    # phi(t) phi(t + r) is a normal density about -r/2 of standard deviation 0.7; in r it falls like e^{-r^2/4}
    s, outer = composite_nodes(np.array([r]), np.array([r + 20.0]), 40, 12)
    width = s[0][:, None]
    t, weight = composite_nodes(-s[0] / 2 - 9.0, -s[0] / 2 + 9.0, 24, 12)
    with np.errstate(divide="ignore"):
        power = (n - 2) * np.log(_inside(t, width)) if n > 2 else np.zeros_like(t)
    inner = np.sum(weight * np.exp(power - t**2 / 2 - (t + width) ** 2 / 2), axis=1)
    upper = n * (n - 1) * float(np.sum(outer[0] * inner)) / (2 * math.pi)
    return 1 - upper, upper


def _inside(t: Array, r: float | Array) -> Array:
    """Phi(t + r) - Phi(t), from the smaller tails."""
    return np.maximum(np.where(t > 0, ndtr(-t) - ndtr(-t - r), ndtr(t + r) - ndtr(t)), 0.0)


def reducible(n: int, eve: Eve) -> bool:
    """Whether the data matter to Bob and Eve only through xbar and the cell, with P(cell | xbar) known.

    One question always is. Several are if the Eves are one ("either") and at most one question is not decided by xbar.
    """
    if isinstance(eve, GaussianEves) and not eve.either and len(eve.members) > 1:
        return False
    return _undecided(n, eve) <= 1


def _undecided(n: int, eve: Eve) -> int:
    """How many of Eve's questions xbar does not decide."""
    return sum(not StatisticLaw(n, question).decided for question in questions(eve))


def cell_probabilities(n: int, eve: Eve, xbar: ArrayLike) -> Array:
    """P(cell | xbar), shape (cells, *xbar.shape), in the order of `eves.cell_index`.

    A product of the answers, as at most one of them is not decided by xbar; two that are not depend on each other.
    """
    if _undecided(n, eve) > 1:
        raise ValueError(
            f"eve = {eve} must not ask two questions that the sample mean leaves open: her cells have no known "
            "probabilities. gaussian.eve_simulator draws them"
        )
    x = np.asarray(xbar, dtype=float)
    out = np.ones((1, *x.shape))
    for question in questions(eve):
        answers = statistic_law(n, question).answers(x)
        out = (out[:, None] * answers[None]).reshape(-1, *x.shape)
    return out


def cell_ranges(n: int, eve: Eve) -> tuple[XbarSupport, ...]:
    """The interval of xbar on which each cell is possible; it is empty if the first end is not below the second."""
    out: list[XbarSupport] = [_LINE]
    for question in questions(eve):
        pair = statistic_law(n, question).supports
        out = [(max(low, a), min(high, b)) for low, high in out for a, b in pair]
    return tuple(out)


def cell_errors(n: int, eve: Eve, xbar: Array) -> Array:
    """A bound on the error of every P(cell | xbar), shape (cells, *xbar.shape)."""
    laws = [statistic_law(n, question) for question in questions(eve)]
    out = np.ones((1, *xbar.shape))
    for law in laws:
        # a factor that xbar decides is exact, 0 or 1; at most one other has an error
        factor = law.answers(xbar) if law.decided else np.broadcast_to(law.error(xbar), (2, *xbar.shape))
        out = (out[:, None] * factor[None]).reshape(-1, *xbar.shape)
    return out if any(not law.decided for law in laws) else np.zeros_like(out)
