"""Every epsilon at once: V(K), the least R_A under differential privacy with exp(epsilon) = K, at a fixed lam.

A larger K allows more mechanisms, so V does not increase. At rational K it is solved exactly, with a certificate;
between two neighbours K1 < K < K2 it lies between the bound at K2 and the value at K1. That band is certified by both
certificates alone, whatever V does inside. It is refined, at a simple fraction near the geometric mean, until it is
narrow everywhere. The path starts at K = 1, or at the least K that the other conditions allow, and ends where V is as
good as without differential privacy (`free`), or at the largest K that can be written down.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import pairwise
from numbers import Integral
from typing import Any

from bap_lp.arguments import checked
from bap_lp.model.calibration import lam_of
from bap_lp.model.display import Displayed, Grid, Tabular, both, counted, equals, fraction, kind, risks_line
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number, Risks
from bap_lp.notions.conditions import Conditions
from bap_lp.proof.certificate import Certificate, ConflictError, Verdict
from bap_lp.proof.checking import verify
from bap_lp.questions.optimum.asked import AskedProblem, exactly
from bap_lp.questions.optimum.conflicts import is_feasible, within_range
from bap_lp.questions.optimum.solution import Solution
from bap_lp.questions.optimum.solving import solve
from bap_lp.rational import EXACT, InputError, float_above, number, public

EpsilonProgress = Callable[[str], None]
_WIDE = 2**20  # ratio of the last K to the first, if V does not come close to `free` before
_LARGEST = Fraction(2**996)  # of the first K: numbers are at most 10^300
_CLOSE = Fraction(101, 100)  # ratio of the two K between which the other conditions become possible


@dataclass(frozen=True, eq=False, repr=False)
class EpsilonPoint(Displayed):
    """The optimum at one K = exp(epsilon)."""

    exp_epsilon: Fraction
    solution: Solution

    @property
    def epsilon(self) -> float:
        return math.log(self.exp_epsilon)

    @property
    def value(self) -> Number:
        return self.solution.value

    @property
    def bound(self) -> Number:
        return self.solution.bound

    @property
    def risks(self) -> Risks:
        return self.solution.risks

    @property
    def mechanism(self) -> Mechanism:
        return self.solution.mechanism

    @property
    def certificate(self) -> Certificate:
        return self.solution.certificate

    def _headline(self) -> str:
        at = equals("K", self.exp_epsilon, fraction)
        return f": {at}, {equals('R_A', self.value, fraction)}, {risks_line(self.risks.bob, self.risks.eve)}"


@dataclass(frozen=True, eq=False, repr=False)
class EpsilonPath(Tabular):
    """V(K) at some K = exp(epsilon), by increasing K, and a certified band between them.

    Attributes:
        problem: the problem.
        lam: the price of privacy.
        conditions: the other conditions; None if there are none.
        points: the optimum at each K, with its certificate.
        free: the least R_A without differential privacy; in floats a number that no mechanism can beat.
        impossible: the largest K found at which the other conditions cannot be met; None if K = 1 is possible.

    >>> from bap_lp import Problem, epsilon_path
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> path = epsilon_path(coin, tolerance="1/20")
    >>> print(path.points[0].exp_epsilon, path.points[0].value, path.free, bool(path.verify()))
    1 1/4 3/40 True
    """

    problem: Problem
    lam: Number
    conditions: Conditions | None
    points: tuple[EpsilonPoint, ...]
    free: Number
    impossible: Fraction | None = None

    @property
    def exact(self) -> bool:
        return all(point.solution.exact for point in self.points)

    @property
    def width(self) -> Number:
        """The largest width of the band, the stretch beyond the last K included."""
        least = [*(point.bound for point in self.points[1:]), self._least]
        width = max(Fraction(a.value) - Fraction(b) for a, b in zip(self.points, least, strict=True))
        return width if self.exact else float_above(EXACT.number(width))

    @property
    def _least(self) -> Number:
        return min(self.free, self.points[-1].bound)

    def band(self, exp_epsilon: Any) -> tuple[Number, Number]:
        """Lower and upper end of V at any K from the first point on.

        Raises:
            InputError: if K lies before the first point.
        """
        K = public(number(exp_epsilon, "exp_epsilon"))
        known = [point.exp_epsilon for point in self.points]
        if known[0] > K:
            raise InputError("exp_epsilon", K, f"must be at least {known[0]}")
        k = bisect_left(known, K)
        if k < len(known) and known[k] == K:
            return self.points[k].bound, self.points[k].value
        return (self.points[k].bound if k < len(known) else self._least), self.points[k - 1].value

    def verify(self) -> Verdict:
        """Check every certificate again, with arithmetic alone; the band follows from them."""
        for point in self.points:
            verdict = verify(self.problem, point.certificate)
            if not verdict or point.certificate.conditions.exp_epsilon != point.exp_epsilon:
                return Verdict(False, f"at K = {point.exp_epsilon}: {verdict.reason}")
        return Verdict(
            True, f"V is proved at {counted(len(self.points), 'value')} of K, and so is the band between them"
        )

    def summary(self) -> str:
        """What privacy costs, in plain sentences."""
        first, last, free = self.points[0], self.points[-1], both(self.free)
        return (
            f"At {equals('lambda', self.lam)}, from K = {both(first.exp_epsilon)} to {both(last.exp_epsilon)}, R_A "
            f"falls from {both(first.value)} to {both(last.value)}; without differential privacy it is {free}.\n"
            f"Between the {counted(len(self.points), 'value')} it is known up to {float(self.width):.2g}."
        )

    def _headline(self) -> str:
        ends = f"K from {fraction(self.points[0].exp_epsilon)} to {fraction(self.points[-1].exp_epsilon)}"
        return f": {kind(self.exact)}, {counted(len(self.points), 'value')}, {ends}"

    def _grid(self, most: int | None = None) -> Grid:
        columns = ("exp(epsilon)", "epsilon", "R_A", "R_B", "R_E", "signals")
        rows = [
            (p.exp_epsilon, p.epsilon, p.value, p.risks.bob, p.risks.eve, len(p.mechanism.signals))
            for p in self.points[:most]
        ]
        return Grid(columns, rows, len(self.points))


@checked
def epsilon_path(
    problem: Problem,
    lam: Any = "calibrated",
    *,
    conditions: Conditions | None = None,
    tolerance: Any = "1/50",
    exact: bool | None = None,
    most: int = 400,
    progress: EpsilonProgress | None = None,
) -> EpsilonPath:
    """The least R_A as a function of epsilon: exact at rational exp(epsilon), with a certified band between.

    Args:
        problem: the problem.
        lam: a non-negative number, or "calibrated".
        conditions: which pairs or metric, which delta, and any other conditions; their epsilon is replaced. By default
            all pairs of states.
        tolerance: how wide the band may be, as a share of the whole decrease of R_A.
        exact: True insists on rationals, False works in floats, None follows the numbers given.
        most: how many optima are computed at most.
        progress: called with words that say how far the computation is.

    Returns:
        The path, with its width as reached.

    Raises:
        InputError: if the other conditions cannot be met at any K, or the tolerance is not positive.

    >>> from bap_lp import Problem, epsilon_path
    >>> bit = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])
    >>> path = epsilon_path(bit, 0, tolerance="1/4")
    >>> [str(v) for v in path.band(3)], path.points[0]
    (['1/4', '1/4'], <EpsilonPoint: K = 1, R_A = 1/2, R_B = 1/2, R_E = 1/2>)
    """
    allowed = public(number(tolerance, "tolerance"))
    if not allowed > 0:
        raise InputError("tolerance", allowed, "must be positive")
    price, given = public(lam_of(problem, lam)), conditions or Conditions()
    rest = replace(given, exp_epsilon=None, epsilon=None, neighbours=None, metric=None, delta=None)
    if not isinstance(most, Integral) or most < 1:
        raise InputError("most", most, "must be a positive integer")
    found = _Sampler(problem, price, given, exact, int(most), progress)
    free = solve(problem, price, exact, conditions=None if rest.empty else rest).bound
    impossible = found.start()
    goal = allowed * max(found.points[min(found.points)].value - free, 0)
    found.extend(free, goal)
    found.refine(goal)
    points = tuple(found.points[K] for K in sorted(found.points))
    solved = points[0].solution
    return EpsilonPath(solved.problem, solved.lam, conditions, points, free, impossible)


@dataclass(frozen=True, eq=False)
class _Sampler:
    problem: Problem
    lam: Number
    given: Conditions
    exact: bool | None
    most: int
    progress: EpsilonProgress | None
    points: dict[Fraction, EpsilonPoint] = field(default_factory=dict)

    def at(self, K: Fraction) -> EpsilonPoint:
        if self.progress is not None:
            self.progress(f"epsilon: {len(self.points)} optima, exp(epsilon) = {float(K):.4g}")
        asked = replace(self.given, exp_epsilon=K, epsilon=None)
        self.points[K] = EpsilonPoint(K, solve(self.problem, self.lam, self.exact, conditions=asked))
        return self.points[K]

    def start(self) -> Fraction | None:
        """The first point: K = 1, or soon after the least K that is possible. The largest K found impossible."""
        low, high = None, Fraction(1)
        while not self.possible(high):
            low, high = high, self.next(high)
        while low is not None and high > low * _CLOSE:
            middle = between(low, high)
            low, high = (low, middle) if self.possible(middle) else (middle, high)
        self.at(high)
        return low

    def next(self, K: Fraction) -> Fraction:
        """The next K to try: twice this one, later its square, and less if its powers are too large."""
        high = min(K * 2 if K < _WIDE else K**2, _LARGEST)
        while not self.writable(high) and high > K * _CLOSE:
            high = between(K, high)
        if high <= K * _CLOSE:
            rule = f"cannot be met together with differential privacy, not even at exp(epsilon) = {float(K):.4g}"
            raise InputError("conditions", None, rule)
        return high

    def writable(self, K: Fraction) -> bool:
        """Whether the powers K^d are not too large."""
        try:
            replace(self.given, exp_epsilon=K, epsilon=None, max_information=None).demands(self.problem.exactly)
        except InputError:
            return False
        return True

    def possible(self, K: Fraction) -> bool:
        """Whether anything meets the conditions at K."""
        asked = replace(self.given, exp_epsilon=K, epsilon=None)
        searched = self.problem.reporting or self.problem.forecasting or asked.max_information is not None
        if not searched:
            lowered = AskedProblem.of(self.problem, asked, exactly(self.problem, self.lam, self.exact, asked))
            within_range(lowered)
            if not is_feasible(lowered.layout):
                return False
        if searched or asked.deterministic:
            try:
                self.at(K)
            except ConflictError:
                return False
        return True

    def extend(self, free: Number, goal: Number) -> None:
        """Double K until V is near the optimum without differential privacy."""
        K, last = max(self.points), _WIDE * max(self.points)
        while self.points[K].value - free > goal and last > K and len(self.points) < self.most:
            if not self.writable(K * 2):
                return
            K = self.at(K * 2).exp_epsilon

    def refine(self, goal: Number) -> None:
        """Halve, in epsilon, the widest stretch of the band until none is wider than the goal."""
        while len(self.points) < self.most:
            known = sorted(self.points)
            wide = [(self.points[a].value - self.points[b].bound, a, b) for a, b in pairwise(known)]
            width, low, high = max(wide, default=(0, Fraction(1), Fraction(1)))
            floor = 0 if isinstance(width, Fraction) else 1e-9
            if width <= max(goal, floor) or high <= low * (1 + Fraction(1, 10**6)):
                return
            self.at(between(low, high))


def between(low: Fraction, high: Fraction) -> Fraction:
    """A simple fraction near the geometric mean of two numbers, strictly between them."""
    middle = math.sqrt(low) * math.sqrt(high)
    for digits in range(1, 40):
        found = Fraction(middle).limit_denominator(2**digits)
        if low < found < high and abs(found - Fraction(middle)) <= (high - low) / 8:
            return found
    return (low + high) / 2
