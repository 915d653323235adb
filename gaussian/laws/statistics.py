"""P(T <= c | xbar) and P(T > c | xbar) for the statistic T of each question of Eve, in the standard form.

T moves with the data, so it is xbar plus a function of the residuals, which are independent of xbar:
    P(T <= c | xbar = x) = P(T - xbar <= c - x),
with the law of T - xbar from modules residual (maximum) and median_mean (median), and N(0, 1 - 1/n) for one record.
Both tails of the maximum and of a record are computed on their own, so that a rare answer keeps its digits; each law
states its error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from gaussian.eves import Eve, GaussianEves, MaxEve, MeanEve, MedianEve, RecordEve, ThresholdEve, questions
from gaussian.laws.median_mean import deviation_density
from gaussian.laws.residual import max_residual_cdf, max_residual_sf, max_residual_support, residual_law
from gaussian.real_arrays import Array

XbarSupport = tuple[float, float]
# Tables of logarithms are right to 2e-15 (4 + |log P|), measured against 40-digit arithmetic for n up to 10,000.
_TABLE_ERROR = 2e-15
_LINE: XbarSupport = (-math.inf, math.inf)
# Above this e^{n V^2/2} overflows in the density of V = median - mean.
MOST_MEDIAN = 1000


@dataclass(frozen=True)
class StatisticLaw:
    """One question of Eve about n standard observations."""

    n: int
    question: ThresholdEve

    @cached_property
    def decided(self) -> bool:
        """Whether xbar decides the answer: T is xbar."""
        q = self.question
        return isinstance(q, MeanEve) or self.n == 1 or (self.n == 2 and isinstance(q, MedianEve))

    @cached_property
    def supports(self) -> tuple[XbarSupport, XbarSupport]:
        """The intervals of xbar on which the answers "no" and "yes" are possible."""
        c, inf = self.question.threshold, math.inf
        if self.decided:
            return (-inf, c), (c, inf)
        return ((-inf, c) if isinstance(self.question, MaxEve) else _LINE), _LINE

    def answers(self, xbar: ArrayLike) -> Array:
        """P(no | xbar) and P(yes | xbar), shape (2, *xbar.shape)."""
        x = np.asarray(xbar, dtype=float)
        c, q = self.question.threshold, self.question
        if self.decided:
            return np.stack([(x <= c).astype(float), (x > c).astype(float)])
        if isinstance(q, MaxEve):
            return np.stack([max_residual_cdf(self.n)(c - x), max_residual_sf(self.n)(c - x)])
        if isinstance(q, RecordEve):
            spread = math.sqrt((self.n - 1) / self.n)
            return np.stack([ndtr((c - x) / spread), ndtr((x - c) / spread)])
        # the median: V = M - xbar is symmetric about 0
        density = deviation_density(self.n)
        tail = np.clip(density.below(-np.abs(c - x))[0], 0.0, 0.5)
        return np.where(c - x <= 0, np.stack([tail, 1 - tail]), np.stack([1 - tail, tail]))

    def error(self, xbar: Array) -> Array:
        """A bound on the error of `answers` at each xbar: the same for both answers, which add to 1."""
        if self.decided:
            return np.zeros(np.shape(xbar))
        if isinstance(self.question, MedianEve):
            density = deviation_density(self.n)
            return np.full(np.shape(xbar), density.error + abs(float(density.mass[0]) - 1) + 1e-14)
        smaller = self.answers(xbar).min(0)
        logarithm = np.log(np.maximum(smaller, 1e-300))
        if isinstance(self.question, RecordEve):
            # Phi(z) is right to a few units in the last place, and a rounding of z changes it by z^2 of them
            return 4e-16 * smaller * (4 + 2 * np.abs(logarithm))
        return smaller * _TABLE_ERROR * (4 - logarithm)

    @property
    def _spread(self) -> float:
        """The scale of T - xbar, for a record or the median."""
        return math.sqrt((self.n - 1) / self.n) if isinstance(self.question, RecordEve) else 1 / math.sqrt(self.n)

    @cached_property
    def knots(self) -> list[float]:
        """Where a quadrature in xbar should be cut: kinks, and the scale on which the answers change."""
        c, n = self.question.threshold, self.n
        if self.decided:
            return [c]
        if isinstance(self.question, MaxEve):
            reach = np.arange(0.0, 40.25, 0.25)
            steps = residual_law(n).steps if n > 2 else np.geomspace(1e-6, 1.0, 13)
            return [c, *(c - np.concatenate([reach, steps])).tolist()]
        near = np.concatenate([np.arange(-12.0, 12.5, 0.5) * self._spread, np.arange(-40.0, 40.5, 0.5)])
        return [c, *(c - near).tolist()]

    @cached_property
    def kinks(self) -> list[float]:
        """The few points where the answers are not smooth, and the tail of the maximum."""
        c = self.question.threshold
        if self.decided:
            return [c]
        if isinstance(self.question, MaxEve):
            reach = max_residual_support(self.n)
            return [c - reach * share for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
        return [c, *[c + step * self._spread for step in (-8.0, -2.0, 0.0, 2.0, 8.0)]]


@lru_cache(maxsize=512)
def statistic_law(n: int, question: ThresholdEve) -> StatisticLaw:
    """The law of one question, tabulated once."""
    law = StatisticLaw(n, question)
    if isinstance(question, RecordEve) and question.record > n:
        raise ValueError(f"record = {question.record} must be at most n = {n}")
    if isinstance(question, MedianEve) and n > MOST_MEDIAN:
        raise ValueError(
            f"n = {n} must be at most {MOST_MEDIAN} for a proved bracket against the {question.label}: "
            "bracket(sample(...)) of discretise works from draws, see gaussian.eve_simulator"
        )
    return law


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
