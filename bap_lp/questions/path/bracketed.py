"""V(lam), the least R_A, where it is no broken line: certified points, and a proved bracket between them.

One prior. V is a minimum of lines R_B - lam R_E, one for every mechanism, so it is concave. Each mechanism found gives
its line, an upper end for every lam. Bounds at two points give the chord between them as a lower end. Beyond the last
point V falls at most as fast as -R_E of the null release, the largest there is. Where probabilities are reported this
is all there can be: the mechanisms change with every lam.

A set of priors. The worst R_A of a mechanism is a maximum of such lines, convex in lam, and what the priors and replies
of a proof prove is concave in lam (`prior_sets.solving.ends_at`). So between two points the chords of the first are
upper ends, and those of the second lower ends.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from bap_lp.model.calibration import calibrate, extremes, lam_of
from bap_lp.model.display import Displayed, counted, decimal
from bap_lp.model.problem import Problem
from bap_lp.notions.conditions import Conditions
from bap_lp.program.prior_set import PriorSet
from bap_lp.questions.optimum.solution import Solution
from bap_lp.questions.optimum.solving import solve
from bap_lp.questions.path.pieces import Path, lambda_path
from bap_lp.rational import EXACT, InputError, float_above, float_below, number, public

_POWERS = range(-3, 4)  # of two, times the calibrated lam: the first points
_MOST = 60

Ends = tuple[Fraction, Fraction]


@dataclass(frozen=True, eq=False)
class _Span:
    """Between two points: lines above V and lines below it, by their values at both ends."""

    start: Fraction
    end: Fraction
    above: tuple[Ends, ...]
    below: tuple[Ends, ...]

    @classmethod
    def of(cls, left: Solution, right: Solution) -> _Span:
        a, z = Fraction(left.lam), Fraction(right.lam)
        if left.priors is None:
            above = tuple((_line(one, a), _line(one, z)) for one in (left, right))
            return cls(a, z, above, ((Fraction(left.bound), Fraction(right.bound)),))
        (low, high), (low_too, high_too) = _over_priors(left, z), _over_priors(right, a)
        (bound, value), (bound_too, value_too) = ((Fraction(one.bound), Fraction(one.value)) for one in (left, right))
        return cls(a, z, ((value, high), (high_too, value_too)), ((bound, low), (low_too, bound_too)))

    def bracket(self, at: Fraction) -> Ends:
        share = (at - self.start) / (self.end - self.start)
        high, low = ([(1 - share) * one + share * other for one, other in lines] for lines in (self.above, self.below))
        return max(low), min(high)

    @cached_property
    def widest(self) -> Ends:
        """The largest width, and its lam: where two lines above or two lines below meet, or at an end."""
        meets = {self.start, self.end}
        for (a, z), (b, y) in (lines for lines in (self.above, self.below) if len(lines) > 1):
            if (a - b) * (z - y) < 0:
                at = self.start + (self.end - self.start) * (a - b) / (a - b - z + y)
                short = at.limit_denominator(10**9)
                meets.add(short if self.start <= short <= self.end else at)
        return max((high - low, at) for at in meets for low, high in [self.bracket(at)])


@dataclass(frozen=True, eq=False, repr=False)
class BracketedPath(Displayed):
    """The optimum at some lam, by increasing lam, and a bracket of V in between.

    Attributes:
        problem: the problem.
        points: the optimum at each lam, with its certificate.
        most: R_E of the null release, rounded up: how fast V can fall if there is one prior.
        spans: what is known of V between two neighbouring points.

    >>> from bap_lp import Agent, Problem, bracketed_path
    >>> bit = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=[Agent("log")])
    >>> path = bracketed_path(bit, tolerance="1/20")
    >>> low, high = path.bracket(1)
    >>> low <= -0.313261687518 <= high
    True
    """

    problem: Problem
    points: tuple[Solution, ...]
    most: Fraction
    spans: tuple[_Span, ...]

    def bracket(self, lam: Any) -> tuple[float, float]:
        """Numbers below and above V(lam)."""
        at, last = Fraction(public(lam_of(self.problem, lam))), self.points[-1]
        if at < last.lam:
            low, high = self.spans[bisect_right([one.start for one in self.spans], at) - 1].bracket(at)
        elif last.priors is None:
            low, high = Fraction(last.bound) - (at - Fraction(last.lam)) * self.most, _line(last, at)
        else:
            low, high = _over_priors(last, at)
        return float_below(EXACT.number(low)), float_above(EXACT.number(high))

    @property
    def width(self) -> float:
        """The largest width of the bracket between two points."""
        return max((float_above(EXACT.number(one.widest[0])) for one in self.spans), default=0.0)

    def _lines(self) -> Iterator[str]:
        ends = f"lambda from {decimal(self.points[0].lam)} to {decimal(self.points[-1].lam)}"
        yield f"{counted(len(self.points), 'point')}, {ends}, known up to {self.width:.2g}"

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The points."""
        names = ("lambda", "R_B", "R_E", "R_A", "bound")
        cells = ((one.lam, one.risks.bob, one.risks.eve, one.value, one.bound) for one in self.points[:most])
        return [dict(zip(names, own, strict=True)) for own in cells]


def _line(one: Solution, at: Fraction) -> Fraction:
    """R_A of the mechanism of a point at another lam, rounded up."""
    risks = one.risks
    bob = Fraction(risks.bob) + Fraction(risks.bob_error)
    return bob - at * (Fraction(risks.eve) - Fraction(risks.eve_error))


def _over_priors(one: Solution, at: Fraction) -> Ends:
    from bap_lp.questions.prior_sets.solving import ends_at

    low, high = ends_at(one, at)
    return Fraction(public(low)), Fraction(public(high))


def bracketed_path(
    problem: Problem,
    tolerance: Any = "1/100",
    conditions: Conditions | None = None,
    progress: Callable[[int, float], None] | None = None,
    priors: PriorSet | None = None,
) -> BracketedPath:
    """The least R_A for lam from 0 to eight times the calibrated one, to a bracket of a stated width.

    Args:
        problem: the problem; its agents may report probabilities.
        tolerance: the width to reach, as a share of what Bob gains from the data; 60 points are the most.
        conditions: what the mechanisms must satisfy.
        progress: called with the number of points and the lam reached.
        priors: a set of priors whose worst case counts, as for `solve`.

    Returns:
        The points, and a bracket at every lam.

    Raises:
        InputError: the calibrated lam is undefined or zero, or no mechanism meets the conditions.

    >>> from bap_lp import Agent, Problem, bracketed_path
    >>> bit = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=[Agent("log")])
    >>> bracketed_path(bit).width < 0.005
    True
    """
    share, middle = number(tolerance, "tolerance"), Fraction(calibrate(problem))
    if not share > 0:
        raise InputError("tolerance", share, "must be positive")
    if not middle > 0:
        raise InputError("lam", "calibrated", "is 0: Bob gains nothing from the data")
    kind = Fraction if problem.exact else float
    (bob, _), (null_bob, eve) = extremes(problem)
    goal = Fraction(public(EXACT.number(share) * EXACT.number(null_bob - bob)))
    steep = Fraction(public(EXACT.number(eve))) * (1 + Fraction(1, 2**40))
    middle = Fraction(float(middle)).limit_denominator(10**6) or middle
    first = [Fraction(0), *(middle * Fraction(2) ** k for k in _POWERS)]

    def solved(lam: Fraction, count: int) -> Solution:
        found = solve(problem, kind(lam), conditions=conditions, priors=priors)
        if progress is not None:
            progress(count, float(lam))
        return found

    points = [solved(lam, k) for k, lam in enumerate(first, start=1)]
    spans = [_Span.of(*pair) for pair in pairwise(points)]
    while len(points) < _MOST:
        k = max(range(len(spans)), key=lambda k: spans[k].widest)
        width, meet = spans[k].widest
        if width <= goal or meet in (spans[k].start, spans[k].end):
            break
        points.insert(k + 1, solved(meet, len(points) + 1))
        spans[k : k + 1] = [_Span.of(*pair) for pair in pairwise(points[k : k + 3])]
    return BracketedPath(problem, tuple(points), steep, tuple(spans))


def every_lambda(
    problem: Problem,
    exact: bool | None = None,
    progress: Callable[[int, float], None] | None = None,
    conditions: Conditions | None = None,
    priors: PriorSet | None = None,
) -> Path | BracketedPath:
    """The path by its pieces; by points where probabilities are reported, or priors are a set."""
    limited = conditions is not None and conditions.max_information is not None
    if problem.reporting or problem.forecasting or limited or priors is not None:
        known = problem.as_float() if exact is False else problem
        return bracketed_path(known, conditions=conditions, progress=progress, priors=priors)
    return lambda_path(problem, exact, progress, conditions)
