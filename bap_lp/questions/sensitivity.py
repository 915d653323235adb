"""How value and optimum move with every entry of prior and losses.

At an optimal pair (rho, u) with y_x = min_i (B(x,i) - u_i.E(x,.)) the envelope theorem gives
    dV/dB(x,i) = rho[x,i],   dV/dE(x,j) = -sum_i u[i,j] rho[x,i],   dV/dlam = -R_E,
    dV/dp(x) = y_x for a weight added to p(x) alone (V is homogeneous in p), and
    y_x - V along p_h = (1 - h) p + h e_x, which moves weight to x and renormalises the rest in proportion.
The optimal basis stays optimal on an interval of each single entry, found by `ranging`.
Inside its interval V is linear in B(x,i) and in h, and smooth in E(x,j). An end that equals the current value marks a
degenerate optimum: the derivative is then the one towards the inside (both ends equal: a supergradient or subgradient
only), and the same mechanism may stay optimal beyond, with another basis. A decision that is never recommended is such
a case: Eve's reply to it is not unique, and the basis holds one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from sys import float_info
from typing import Any

from bap_lp.model.beliefs import shared
from bap_lp.model.calibration import lam_of
from bap_lp.model.display import Displayed
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.questions.ranging import OptimalTableau, Reach
from bap_lp.rational import EXACT, FLOAT, Array, ReadOnly, is_exact, public

_LARGEST = EXACT.number(float_info.max)


@dataclass(frozen=True)
class Interval:
    """Values of one entry for which the basis stays optimal; high None: no end. An inexact end is inside."""

    low: Number
    high: Number | None
    low_exact: bool = True
    high_exact: bool = True

    def __contains__(self, value: Any) -> bool:
        return bool(self.low <= value and (self.high is None or value <= self.high))


@dataclass(frozen=True, eq=False, repr=False)
class Sensitivity(ReadOnly, Displayed):
    """Derivatives of the value and the intervals of the optimal basis, by entry.

    bob[x,i], eve[x,j]: with respect to problem.bob_loss and problem.eve_loss (weights included). prior[x]: y_x;
    towards[x]: y_x - V, weight moved to x. Intervals are of the entries' values; a prior's is of p(x) as weight moves.
    """

    value: Number
    lam_derivative: Number
    bob: Array
    eve: Array
    prior: Array
    towards: Array
    bob_interval: tuple[tuple[Interval, ...], ...]
    eve_interval: tuple[tuple[Interval, ...], ...]
    prior_interval: tuple[Interval, ...]


def sensitivity(problem: Problem, lam: Any = "calibrated") -> Sensitivity:
    """Derivatives of the optimal R_A by every entry of prior and losses, and how far each entry may move alone.

    Args:
        problem: the problem; floats are taken as the rationals they are.
        lam: a non-negative number, or "calibrated".

    Returns:
        The derivatives and intervals: exact if problem and lam are exact, otherwise rounded to floats.

    Raises:
        InputError: lam is negative, it is "calibrated" and Eve does no better with the data than without, or an agent
            has beliefs of his own.

    >>> from bap_lp import Problem, sensitivity
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> found = sensitivity(coin, "1/3")
    >>> print(found.value, found.lam_derivative, found.bob[1, 0])
    3/40 -3/4 3/40
    >>> print(found.eve_interval[1][0].low)
    3
    """
    shared(problem, "sensitivity")
    price = lam_of(problem, lam)
    field = EXACT if problem.exact and is_exact(price) else FLOAT
    if field.exact:
        tableau = OptimalTableau(problem.arrays, price)
    else:
        tableau = OptimalTableau(problem.as_float().arrays.lifted(), EXACT.number(float(price)))
    arrays, y = tableau.arrays, tableau.y[: len(tableau.arrays.p)]

    def out(values: Array) -> Array:
        return public(field.array(values))

    def interval(value: Any, ends: Reach) -> Interval:
        """An entry's interval from the reach of its change; losses are never negative."""
        down, up = ends
        low, low_exact = (EXACT.zero, True) if down[0] is None or down[0] > value else (value - down[0], down[1])
        endless = up[0] is None or (not field.exact and value + up[0] > _LARGEST)
        high = None if endless else public(field.number(value + up[0]))
        return Interval(public(field.number(low)), high, low_exact, up[1])

    def table(losses: Array, reach: Callable[[int], list[Reach]]) -> tuple[tuple[Interval, ...], ...]:
        return tuple(tuple(map(interval, row, reach(x))) for x, row in enumerate(losses))

    prior = []
    for x, mass in enumerate(arrays.p):
        (down, down_exact), (up, up_exact) = tableau.prior_reach(x)
        low, high = (public(field.number(mass + h * (1 - mass))) for h in (-down, up))
        prior.append(Interval(low, high, down_exact, up_exact))
    return Sensitivity(
        value=public(field.number(tableau.value)),
        lam_derivative=public(field.number(-tableau.eve_risk)),
        bob=out(tableau.rho),
        eve=out(tableau.eve_derivative),
        prior=out(y),
        towards=out(y - tableau.value),
        bob_interval=table(arrays.B, tableau.bob_reach),
        eve_interval=table(arrays.E, tableau.eve_reach),
        prior_interval=tuple(prior),
    )
