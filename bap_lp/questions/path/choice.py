"""For which lam a given mechanism is optimal, and what choosing it costs at one lam."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from bap_lp.arguments import checked
from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.questions.optimum.solving import solve
from bap_lp.questions.path.pieces import Path, all_mechanisms, lambda_path
from bap_lp.rational import TOLERANCE, is_exact, number, public


@dataclass(frozen=True)
class LamInterval:
    """Closed interval of lam, `end` perhaps inf; empty if `start` is None."""

    start: Number | None
    end: Number | None

    @property
    def empty(self) -> bool:
        return self.start is None

    def __contains__(self, lam: Any) -> bool:
        if self.start is None or self.end is None:
            return False
        return bool(self.start <= public(number(lam, "lam")) <= self.end)


@checked
def chooses(problem: Problem, mechanism: Mechanism, path: Path | None = None) -> LamInterval:
    """All lam for which the mechanism is optimal.

    Its excess R_A - V is convex in lam, never negative and linear on every piece. So it vanishes inside a piece only if
    it does at both ends, and its zeros form an interval between two breakpoints (or 0, or inf): exact if both
    arguments are. In floats, zero means within the tolerance of certificates.

    Args:
        problem: the problem.
        mechanism: the mechanism.
        path: the path of the problem, if it is known already.

    Returns:
        The interval of lam; empty if no lam chooses the mechanism.

    Raises:
        InputError: the mechanism has other states than the problem.

    >>> from bap_lp import Mechanism, Problem, chooses
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> chooses(coin, Mechanism([[1, 0], ["3/10", "7/10"]]))
    LamInterval(start=Fraction(1, 10), end=inf)
    """
    exact = problem.exact and mechanism.exact
    path = all_mechanisms(path)
    path = path if path is not None and path.exact == exact else lambda_path(problem, exact=exact)
    own = risks_of(path.problem, mechanism)

    def zero(lam: Number) -> bool:
        slack = 0 if exact else max(TOLERANCE, path.tolerance) * path.problem.arrays.size(lam)
        return bool(own.alice(lam) - path.value(lam) <= slack)

    zeros_at = [piece.start for piece in path.pieces if zero(piece.start)]
    if not zeros_at:
        return LamInterval(None, None)
    last = path.pieces[-1]
    slack = 0 if exact else max(TOLERANCE, path.tolerance) * float(path.problem.E.max())
    endless = zeros_at[-1] == last.start and last.risks.eve - own.eve <= slack
    return LamInterval(zeros_at[0], math.inf if endless else zeros_at[-1])


@checked
def excess(problem: Problem, mechanism: Mechanism, lam: Any = "calibrated") -> Number:
    """R_A of the mechanism minus the least R_A of all: what choosing it costs at lam.

    Args:
        problem: the problem.
        mechanism: the mechanism.
        lam: the price of privacy, or "calibrated".

    Returns:
        The difference, which is not negative: exact if all numbers are.

    Raises:
        InputError: the mechanism has other states than the problem, or lam is not a number that is at least 0.

    >>> from bap_lp import Mechanism, Problem, excess
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> print(excess(coin, Mechanism([[1, 0], [0, 1]])))
    7/40
    """
    price = lam_of(problem, lam)
    exact = problem.exact and mechanism.exact and is_exact(price)
    at = public(price) if exact else float(price)
    return risks_of(problem, mechanism).alice(at) - solve(problem, at, exact=exact).value
