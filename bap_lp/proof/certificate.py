"""A proof of optimality that needs no solver: a channel, multipliers, and arithmetic with fractions.

A certificate has a channel and multipliers of the program that its problem, lam and conditions are lowered to
(`program.bound`). The channel is feasible and attains `value`; the multipliers prove a bound below which no mechanism
goes. With a gap of zero between them the channel is optimal, and otherwise it is within the gap of optimal. There are
no tolerances: a problem in floats is read as the fractions its floats are, and its certificate is rational too.

Both ends without conditions are computed here, and all others in `checking`; `reported` says how results state them.

Conditions that no mechanism meets are refused with what is in conflict, and the proof. With cost and prices zero the
bound of the program lies below zero for every channel that meets the conditions. If it is positive, there is no such
channel. The proof is a certificate of kind "conflict", which `verify` checks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual, NoProof, compact
from bap_lp.program.finish import priced
from bap_lp.proof.large_sums import value_and_bound
from bap_lp.support.display import Displayed, clean, equals, fraction, kind
from bap_lp.support.limits import limit, raising
from bap_lp.support.rational import (
    EXACT,
    Array,
    InputError,
    ReadOnly,
    float_above,
    float_below,
    is_exact,
    lifted,
    public,
)
from bap_lp.support.risks import Number

if TYPE_CHECKING:
    from bap_lp.program.prior_set import PriorSet
    from bap_lp.proof.cases import Case

_NONE = Conditions()
NEAR = 1e-6  # of the spread of a problem: the gap of a solution in floats that is called optimal
_FEW = 200  # products from which pairs of floats are faster than fractions
_HUGE = 10**308  # beyond it floats are infinite


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(ReadOnly, Displayed):
    """A channel and the multipliers that prove how good it is, for the problem, lam and conditions it is about.

    Arrays are working arrays (fmpq, or float64 for very large channels); Fractions through `public_rho`, `public_u`.

    Attributes:
        lams: the price of privacy, one for every problem: one alone, unless there are scenarios or tiers.
        value: R_A of the channel, the worst case of scenarios, or the sum over tiers.
        gap: how far below the value other mechanisms could be, at most.
        channel: q(s|x), a row per state and a column per signal of the program; None in the proof of a conflict.
        dual: the multipliers: replies of Eve (and of other observers), weights of rows.
        exact: whether the numbers of the problem are read exactly, or as floats.
        conditions: what the mechanism must satisfy.
        cases: multipliers for parts of the mechanisms, where these must be deterministic.
        kind: "release", "conflict", "scenarios", "tiers" or "priors".
        tier_weights: how much each tier counts.
        conditions_of: of scenarios and tiers, the conditions of each; empty if there are none.
        prior: p(x) of the problem, so that `rho` can be shown.
        reports: where probabilities are reported, the lists that the proof uses: a table for every Eve who reports (and
            every value that she may know), one row per signal and a column per value of her secret.
        priors: the set of priors whose worst case counts.
        listed: priors of the set, a row each: the worst one of the channel, then those that prove the bound.
        witness: what shows that these lie in a Wasserstein ball (how mass is moved, a table per prior), or what proves
            the largest sums over a polytope (multipliers of its rows).

    >>> from bap_lp import Problem, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> proof = solve(coin).certificate
    >>> print([[str(v) for v in row] for row in proof.public_rho], bool(verify(coin, proof)))
    [['3/4', '0'], ['3/40', '7/40']] True
    """

    lams: tuple[Number, ...]
    value: Number
    gap: Number
    channel: Array | None
    dual: Dual
    exact: bool = True
    conditions: Conditions = _NONE
    cases: tuple[Case, ...] = ()
    kind: str = "release"
    tier_weights: tuple[Number, ...] = ()
    prior: Array | None = None
    reports: tuple[Array, ...] = ()
    priors: PriorSet | None = None
    listed: Array | None = None
    witness: Array | None = None
    conditions_of: tuple[Conditions, ...] = ()

    @property
    def lam(self) -> Number:
        """The price of privacy of the first problem."""
        return self.lams[0]

    @cached_property
    def rho(self) -> Array | None:
        """The joint table p(x) q(s|x) of data and signal; None if the prior is not known here."""
        if self.prior is None or self.channel is None:
            return None
        return self.prior[:, None] * self.channel

    @property
    def u(self) -> Array:
        """Eve's replies at every signal, which sum to lam; empty where signals tell her what to do."""
        return self.dual.replies.get("eve", EXACT.zeros((0, 0)))

    @property
    def replies(self) -> dict[str, Array]:
        """What every observer replies, by name."""
        return dict(self.dual.replies)

    @property
    def weights(self) -> dict[str, Array]:
        """What every row weighs, by the name of its condition."""
        return dict(self.dual.weights)

    @property
    def public_rho(self) -> Array | None:
        return None if self.rho is None else public(self.rho)

    @property
    def public_u(self) -> Array:
        return public(self.u)

    @property
    def floor_price(self) -> Number:
        """The shadow price of min_eve_risk."""
        return self._weight("min_eve_risk")

    @property
    def cap_price(self) -> Number:
        """The shadow price of max_bob_risk."""
        return self._weight("max_bob_risk")

    def verify(self, problem: Problem | Sequence[Problem]) -> Verdict:
        """Check it with arithmetic alone, as `verify` does."""
        from bap_lp.proof.checking import verify  # which knows all that a certificate may say

        return verify(problem, self)

    def _weight(self, name: str) -> Number:
        return public(EXACT.zero + self.dual.weights[name].sum() if name in self.dual.weights else EXACT.zero)

    def _lines(self) -> Iterator[str]:
        if self.kind == "conflict":
            yield f"conflict, {', '.join(self.conditions.given())}"
            return
        at = f"{equals('R_A', self.value, fraction)} at {equals('lambda', self.lam, fraction)}"
        yield f"{kind(self.exact)}, {at}" + ("" if self.conditions.empty else ", under conditions")


@dataclass(frozen=True, repr=False)
class Verdict(Displayed):
    """Whether a certificate proves what it says, and why (not); true or false in a condition.

    Attributes:
        ok: whether it is a proof.
        reason: why, or why not, in words.
        value: R_A of the channel, as computed.
        bound: a number that no mechanism can beat, as computed.
        gap: the difference, which is zero if the channel is optimal.
        optimal: whether the gap is zero, or in floats at most a millionth of what the release can change. A proof may
            also be one of a wider gap, such as that of a search that was stopped.

    >>> from bap_lp import Problem, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> verify(coin, solve(coin).certificate)
    <Verdict: True, R_A = 3/40 is optimal: rho attains it and u proves that no mechanism goes below>
    """

    ok: bool
    reason: str
    value: Number | None = None
    bound: Number | None = None
    gap: Number | None = None
    optimal: bool = False

    def __bool__(self) -> bool:
        return self.ok

    def _lines(self) -> Iterator[str]:
        yield f"{self.ok}, {clean(self.reason, 120)}"


def settled(problem: Problem, lam: Any, u: Array) -> Dual:
    """Float replies of Eve as rationals that are not negative and sum to lam."""
    _, b, e = problem.shape
    nothing = Arrays(EXACT.zeros(1), EXACT.zeros((1, b)), EXACT.zeros((1, e)), problem.eve_groups)
    return priced(compact(nothing, EXACT.number(lam)), Dual({"eve": u}, {}))


def ends_of(problem: Problem, lam: Any, channel: Array, dual: Dual) -> tuple[Any, Any, Any, Any]:
    """(R_B, R_E, R_A, bound) of a channel over Bob's decisions and Eve's replies, without conditions; raises NoProof.

    In rationals, or for larger tables of floats both ends of R_A, moved apart by all rounding.
    """
    if not problem.exact:
        ends = _large_ends(problem, lam, channel, dual)
        if ends is not None:
            return ends
    if not problem.exact and channel.size * problem.shape[2] > limit("work"):
        raise NoProof(f"fractions need {channel.size * problem.shape[2]} steps {raising('work')}")
    arrays, price = problem.exactly.arrays, EXACT.number(lam)
    rho = arrays.p[:, None] * (channel if is_exact(channel) else lifted(channel))
    bob, eve = arrays.told_risk(rho), arrays.eve_risk(rho)
    return bob, eve, bob - price * eve, compact(arrays, price).bound(dual)


def _large_ends(problem: Problem, lam: Any, q: Array, dual: Dual) -> tuple[Any, Any, Any, Any] | None:
    (N, b, e), arrays = problem.shape, problem.arrays
    if N * b * e < _FEW or is_exact(q) or q.shape != (N, b) or not (q >= 0).all() or set(dual.replies) != {"eve"}:
        return None
    whole = q * 2.0**52
    if (q.sum(axis=1) != 1).any() or (whole != np.rint(whole)).any() or dual.weights:
        return None  # such rows sum to one without rounding
    u, price = dual.replies["eve"], EXACT.number(lam)
    if u.shape != (b, e) or (u < 0).any() or any((u[:, g].sum(axis=1) != price).any() for g in arrays.groups):
        return None
    return value_and_bound(arrays, q, price, u)


def reported(value: Any, bound: Any, exact: bool, rounded: bool = False) -> tuple[Number, Number, Number]:
    """Value, bound and gap as a result states them; floats are rounded outwards, so that they stay true.

    The value is stated from above and the bound from below, as far as floats reach, and the gap is their difference.
    rounded: the value is itself rounded up. Then floats are stated even if the numbers are exact.
    """
    if rounded or not exact:
        ends = (value, float_above), (bound, float_below)
        value, bound = (EXACT.number(outwards(v)) if abs(v) < _HUGE else v for v, outwards in ends)
    gap = value - bound if value > bound else EXACT.zero
    if exact and not (rounded and max(abs(value), abs(bound)) < _HUGE):
        return public(value), public(bound), public(gap)
    return nearest(value), nearest(bound), float_above(gap) if gap < _HUGE else math.inf


def closed(value: Any, bound: Any, exact: bool) -> tuple[Number, Number, Number]:
    """The same of an optimum, whose ends agree if they are exact."""
    if exact and value != bound:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {bound}")
    return reported(value, bound, exact)


def nearest(value: Any) -> float:
    return float(value) if abs(value) < _HUGE else math.inf if value > 0 else -math.inf


class ConflictError(InputError):
    """Conditions that no mechanism meets.

    `proof` has the multipliers that prove the conflict; it is None in the rare cases where the multipliers found in
    floats do not prove it.

    Args:
        field: the condition that is named first.
        value: the number demanded.
        rule: why it cannot be met.

    Attributes:
        conflict: the labels of conditions that cannot hold together, while they can if any of them is left out.
            Where deterministic is given, a condition is also listed if the search without it was given up, at its limit
            of nodes or of time.

    >>> from bap_lp import Conditions, ConflictError, Problem, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> try:
    ...     solve(coin, conditions=Conditions(min_eve_risk="3/4", max_bob_risk="3/10"))
    ... except ConflictError as error:
    ...     print(error.conflict, bool(verify(coin, error.proof)))
    ('min_eve_risk', 'max_bob_risk') True
    """

    conflict: tuple[str, ...] = ()
    proof: Certificate | None = None
