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

from dataclasses import dataclass
from typing import Any

from flint import fmpq

from bap_lp.model.calibration import lam_of
from bap_lp.model.display import Displayed, equals, fraction
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.questions.ranging import Basis
from bap_lp.rational import Array, ReadOnly, floats, is_exact, lifted, public


@dataclass(frozen=True)
class Interval:
    """Values of one entry for which the basis stays optimal; high None: no end. An inexact end is certain but inner."""

    low: Number
    high: Number | None
    low_exact: bool = True
    high_exact: bool = True

    def __contains__(self, value: Any) -> bool:
        return bool(self.low <= value and (self.high is None or value <= self.high))


@dataclass(frozen=True, repr=False)
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

    def _headline(self) -> str:
        slope = equals("dR_A/dlambda", self.lam_derivative, fraction)
        return f": {equals('R_A', self.value, fraction)}, {slope}, (N, b, e) = {(*self.bob.shape, self.eve.shape[1])}"


def sensitivity(problem: Problem, lam: Any = "calibrated") -> Sensitivity:
    """Exact for an exact problem and lam; floats are taken as the rationals they are, and the results rounded."""
    price = lam_of(problem, lam)
    exact = problem.exact and is_exact(price)
    if exact:
        basis = Basis(problem.p, problem.B, problem.E, problem.eve_groups, price)
    else:
        rough = problem.as_float()
        p, B, E = (lifted(a) for a in (rough.p, rough.B, rough.E))
        basis = Basis(p, B, E, rough.eve_groups, fmpq(*float(price).as_integer_ratio()))
    N, b, e = problem.shape
    out = public if exact else _rounded
    intervals = [
        tuple(tuple(_interval(table[x, k], *move(x, k), exact) for k in range(width)) for x in range(N))
        for table, width, move in ((basis.B, b, basis.bob_reach), (basis.given_E, e, basis.eve_reach))
    ]
    prior = []
    for x in range(N):
        (down, down_exact), (up, up_exact) = basis.prior_reach(x)
        low, high = (_number(basis.p[x] + h * (1 - basis.p[x]), exact) for h in (-down, up))
        prior.append(Interval(low, high, down_exact, up_exact))
    y = basis.y[:N]
    return Sensitivity(
        _number(basis.value, exact),
        _number(-basis.eve_risk, exact),
        out(basis.rho),
        out(basis.eve_derivative),
        out(y),
        out(y - basis.value),
        intervals[0],
        intervals[1],
        tuple(prior),
    )


def _interval(value: Any, down: tuple[Any, bool], up: tuple[Any, bool], exact: bool) -> Interval:
    """An entry's interval from the reach of its change; losses are never negative."""
    low, low_exact = (fmpq(0), True) if down[0] is None or down[0] > value else (value - down[0], down[1])
    high = None if up[0] is None else _number(value + up[0], exact)
    return Interval(_number(low, exact), high, low_exact, up[1])


def _number(value: Any, exact: bool) -> Number:
    return public(value) if exact else float(value)


def _rounded(values: Array) -> Array:
    return public(floats(values))
