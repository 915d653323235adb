"""V(lam), the least R_A, where it is no broken line: certified points, and a proved bracket between them.

V is a minimum of lines R_B - lam R_E, one for every mechanism, so it is concave. Each mechanism found gives its line,
an upper end for every lam. Bounds at two points give the chord between them as a lower end. Beyond the last point V
falls at most as fast as -R_E of the null release, the largest there is. Where probabilities are reported this is all
there can be: the mechanisms change with every lam.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from bap_lp.arguments import checked
from bap_lp.model.calibration import calibrate, extremes, lam_of
from bap_lp.model.display import Grid, Tabular, counted, decimal
from bap_lp.model.problem import Problem
from bap_lp.notions.conditions import Conditions
from bap_lp.questions.optimum.solution import Solution
from bap_lp.questions.optimum.solving import solve
from bap_lp.rational import EXACT, InputError, number, public

_POWERS = range(-3, 4)  # of two, times the calibrated lam: the first points
_MOST = 60


@dataclass(frozen=True, eq=False, repr=False)
class BracketedPath(Tabular):
    """The optimum at some lam, by increasing lam, and a bracket of V in between.

    Attributes:
        problem: the problem.
        points: the optimum at each lam, with its certificate.
        most: R_E of the null release, rounded up: how fast V can fall.

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

    def bracket(self, lam: Any) -> tuple[float, float]:
        """Numbers below and above V(lam)."""
        at = Fraction(public(lam_of(self.problem, lam)))
        low, high = self._low(at), min(_line(one, at) for one in self.points)
        return float(low), float(high)

    def _low(self, at: Fraction) -> Fraction:
        k = bisect_right([one.lam for one in self.points], at) - 1
        left = self.points[k]
        if k == len(self.points) - 1:
            return Fraction(left.bound) - (at - Fraction(left.lam)) * self.most
        right = self.points[k + 1]
        share = (at - Fraction(left.lam)) / (Fraction(right.lam) - Fraction(left.lam))
        return (1 - share) * Fraction(left.bound) + share * Fraction(right.bound)

    @property
    def width(self) -> float:
        """The largest width of the bracket between two points."""
        return max((float(width) for width, _ in self._widths()), default=0.0)

    def _widths(self) -> list[tuple[Fraction, Fraction]]:
        """Between every two neighbours the width where their lines meet, and that lam."""
        out = []
        for left, right in pairwise(self.points):
            (b0, e0), (b1, e1) = ((Fraction(one.risks.bob), Fraction(one.risks.eve)) for one in (left, right))
            a, z = Fraction(left.lam), Fraction(right.lam)
            meet = (b1 - b0) / (e1 - e0) if e1 > e0 else (a + z) / 2
            meet = min(max(meet, a), z)
            out.append((min(_line(left, meet), _line(right, meet)) - self._low(meet), meet))
        return out

    def _headline(self) -> str:
        ends = f"lambda from {decimal(self.points[0].lam)} to {decimal(self.points[-1].lam)}"
        return f": {counted(len(self.points), 'point')}, {ends}, known up to {self.width:.2g}"

    def _grid(self, most: int | None = None) -> Grid:
        rows = [(one.lam, one.risks.bob, one.risks.eve, one.value, one.bound) for one in self.points[:most]]
        return Grid(("lambda", "R_B", "R_E", "R_A", "bound"), rows, len(self.points))


def _line(one: Solution, at: Fraction) -> Fraction:
    """R_A of the mechanism of a point at another lam, rounded up."""
    risks = one.risks
    bob = Fraction(risks.bob) + Fraction(risks.bob_error)
    return bob - at * (Fraction(risks.eve) - Fraction(risks.eve_error))


@checked
def bracketed_path(
    problem: Problem,
    tolerance: Any = "1/100",
    conditions: Conditions | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> BracketedPath:
    """The least R_A for lam from 0 to eight times the calibrated one, to a bracket of a stated width.

    Args:
        problem: the problem; it may have Eves who report probabilities.
        tolerance: the width to reach, as a share of what Bob gains from the data; 60 points are the most.
        conditions: what the mechanisms must satisfy.
        progress: called with the number of points and the lam reached.

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
    first = [Fraction(0), *(Fraction(float(middle)).limit_denominator(10**6) * Fraction(2) ** k for k in _POWERS)]
    points: list[Solution] = []

    def add(lam: Fraction) -> None:
        points.append(solve(problem, kind(lam), conditions=conditions))
        points.sort(key=lambda one: one.lam)
        if progress is not None:
            progress(len(points), float(lam))

    for lam in first:
        add(lam)
    while True:
        found = BracketedPath(problem, tuple(points), steep)
        width, meet = max(found._widths())
        taken = {Fraction(one.lam) for one in points}
        meet = Fraction(float(meet)).limit_denominator(10**9)
        if width <= goal or len(points) >= _MOST or meet in taken:
            return found
        add(meet)
