"""The proof that a mechanism is optimal under conditions, with arithmetic only: multipliers and weak duality.

The Lagrangian bound of `conditions.base` lies below every mechanism that satisfies the conditions; each condition adds
its own term. Determinism and max_signals are no part of it: the bound holds for randomised mechanisms with any number
of signals. If it stays below the value, the deterministic mechanisms are enumerated, as long as they are few, or the
certificate has branches: multipliers for parts that together contain every mechanism.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bap_lp.conditions.base import Condition
from bap_lp.conditions.conditions import Conditions
from bap_lp.conditions.lagrangian import Lagrangian, Multipliers, Prices, SentSignals
from bap_lp.conditions.signals import Signals, signals_of
from bap_lp.model.arrays import Arrays
from bap_lp.model.display import Displayed
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.proof.branches import Branch, uncovered
from bap_lp.proof.enumeration import best_deterministic, enumerable
from bap_lp.rational import EXACT, ROUNDING, Array, InputError, ReadOnly, field_of, public, shown

_NO_PROOF = "the multipliers do not prove that the conditions cannot be met"


@dataclass(frozen=True, eq=False, repr=False)
class Proof(ReadOnly, Displayed):
    """What a certificate has besides rho and u if there are conditions: channel q(s|x), prices by name, branches."""

    conditions: Conditions
    channel: Array
    prices: Mapping[str, Prices]
    branches: tuple[Branch, ...] = ()

    def _headline(self) -> str:
        return f": {', '.join(self.conditions.given())}, {len(self.branches)} branches"

    @property
    def floor_price(self) -> Number:
        """The shadow price of min_eve_risk."""
        return self._price("min_eve_risk")

    @property
    def cap_price(self) -> Number:
        """The shadow price of max_bob_risk."""
        return self._price("max_bob_risk")

    def _price(self, name: str) -> Number:
        zero = field_of(self.channel).zero
        return public(zero + self.prices[name].total if name in self.prices else zero)


def broken(demands: Iterable[Condition], sent: SentSignals, unit: Any) -> str:
    """Which condition a channel breaks, in words, or "" if none; `unit` is the relative tolerance, 0 for exact ones."""
    for x, row in enumerate(sent.q):
        if (row < 0).any() or abs(row.sum() - 1) > unit:
            return f"channel[{x}] is not a distribution"
    return next(filter(None, (demand.check(sent, unit) for demand in demands)), "")


def terms(
    arrays: Arrays, demands: Sequence[Condition], signals: Signals, lam: Any, dual: Multipliers, bob_weight: int = 1
) -> tuple[str, Lagrangian]:
    """What is wrong with the prices, if anything, and the Lagrangian with the terms of all conditions."""
    out = Lagrangian(arrays, signals, dual.u, lam, bob_weight)
    priced = {demand.name: demand for demand in demands if demand.priced}
    for name, prices in dual.prices.items():
        if len(prices.weights) and min(prices.weights) < 0:
            return "the prices of the conditions must not be negative", out
        if name not in priced and (prices.weights != 0).any():
            return f"there is a price for {name}, which is not a condition", out
    for name, demand in priced.items():
        none = Prices.of([], [], demand.width, arrays.field)
        wrong = demand.bound_term(dual.prices.get(name, none), out)
        if wrong:
            return wrong, out
    return "", out


def proved(
    arrays: Arrays,
    demands: Sequence[Condition],
    signals: Signals,
    lam: Any,
    dual: Multipliers,
    unit: Any,
    allowed: Array | None = None,
    bob_weight: int = 1,
) -> tuple[str, Any]:
    """What is wrong with the multipliers, if anything, and the bound that they prove."""
    if dual.u.shape != (len(signals), arrays.shape[2]):
        return f"u has shape {dual.u.shape}, must have {(len(signals), arrays.shape[2])}", None
    wrong, lagrangian = terms(arrays, demands, signals, lam, dual, bob_weight)
    wrong = wrong or lagrangian.replied(unit)
    if wrong:
        return wrong, None
    bound = lagrangian.bound(allowed)
    return ("", bound) if arrays.exact or math.isfinite(bound) else ("the multipliers must be finite", None)


@dataclass(frozen=True, eq=False)
class ConditionedProblem:
    """A problem with what is demanded; `unit` is the relative tolerance, 0 for exact numbers."""

    arrays: Arrays
    conditions: Conditions
    demands: tuple[Condition, ...]
    signals: Signals
    unit: Any

    @classmethod
    def of(cls, problem: Problem, conditions: Conditions) -> ConditionedProblem:
        demands, arrays = conditions.demands(problem), problem.arrays
        signals = signals_of(problem, any(demand.tuples for demand in demands))
        return cls(arrays, conditions, demands, signals, arrays.field.tolerance)

    @classmethod
    def lifted(cls, problem: Problem, conditions: Conditions, unit: Any) -> ConditionedProblem:
        """In rationals, with floats read as the rationals they are, and with this relative tolerance."""
        demands = conditions.demands(problem, EXACT)
        signals = signals_of(problem, any(demand.tuples for demand in demands))
        return cls(problem.arrays.lifted(), conditions, demands, signals, unit)

    def least(
        self, dual: Multipliers, branches: Sequence[Branch], lam: Any, value: Any, slack: Any, bob_weight: int = 1
    ) -> tuple[str, Any, str]:
        """What is wrong, if anything; a bound on bob_weight R_B - lam R_E (at most `value` if by cases); and how."""
        wrong, bound = proved(self.arrays, self.demands, self.signals, lam, dual, self.unit, None, bob_weight)
        if wrong or value - bound <= slack or not self.conditions.combinatorial:
            met = "" if self.conditions.empty else " with these conditions"
            return wrong, bound, f"the prices prove that no mechanism{met} goes below"
        if branches:
            wrong, bound = self._by_cases(branches, lam, value, bob_weight)
            return wrong, bound, "the prices prove, case by case, that no mechanism with these conditions goes below"
        if not (self.conditions.deterministic and enumerable(self.arrays, self.demands)):
            short = shown(bound, bool(self.unit))
            return f"it is attained under the conditions; arithmetic proves only that none goes below {short}", None, ""
        found = best_deterministic(self.arrays, self.signals, self.demands, lam, self.unit, bob_weight)
        bound = value if found is None else found[0]
        return "", bound, "all deterministic mechanisms were tried and none goes below"

    def impossible(self, dual: Multipliers, branches: Sequence[Branch]) -> tuple[str, str]:
        """What is wrong with a proof that no mechanism meets the conditions, if anything; and how it proves it."""
        zero = self.arrays.field.zero
        if branches:
            if not (self.conditions.combinatorial and all(branch.void for branch in branches)):
                return "a proof by cases needs determinism or a limit on signals, and cases that are all void", ""
            how = "the multipliers prove, case by case, that no mechanism meets the conditions"
            return self._by_cases(branches, zero, zero, 0)[0], how
        wrong, bound = proved(self.arrays, self.demands, self.signals, zero, dual, self.unit, None, 0)
        if wrong or bound > 0:
            return wrong, "the multipliers prove that no mechanism meets the conditions"
        if self.conditions.deterministic and enumerable(self.arrays, self.demands):
            if best_deterministic(self.arrays, self.signals, self.demands, zero, self.unit, 0) is None:
                return "", "all deterministic mechanisms were tried and none meets the conditions"
            return "there is a deterministic mechanism that meets the conditions", ""
        return _NO_PROOF, ""

    def _by_cases(self, branches: Sequence[Branch], lam: Any, value: Any, bob_weight: int) -> tuple[str, Any]:
        states, conditions = len(self.arrays.p), self.conditions
        try:
            wrong = uncovered(branches, states, len(self.signals), conditions.max_signals, conditions.deterministic)
        except InputError as error:
            wrong = str(error)
        for branch in branches if not wrong else ():
            part, dual = self.signals.only(branch.keep), branch.multipliers.in_field(self.arrays.field)
            price, weight = (0 * lam, 0) if branch.void else (lam, bob_weight)
            wrong, bound = proved(
                self.arrays, self.demands, part, price, dual, self.unit, branch.allowed(states), weight
            )
            if not wrong and branch.void and not bound > 0:
                wrong = _NO_PROOF
            if wrong:
                return f"branch {branch.keep}: {wrong}", None
            value = value if branch.void else min(value, bound)
        return wrong, value


def allowance(arrays: Arrays, lam: Any, unit: Any, slack: float | None = None) -> Any:
    """The largest gap of a certificate, in rationals: a share `unit` of the spread, if it is not given.

    The entries of rho and u are rounded, which moves value and bound by a share of what decisions can change.
    """
    if not unit:
        return unit
    if slack is not None:
        return EXACT.number(slack)
    return unit * arrays.spread(lam) + EXACT.number(ROUNDING) * arrays.range(lam)


def rounding(size: Any, unit: Any) -> Any:
    """How far a claimed value may be off in addition: it is not proved, and R_B and lam R_E were rounded."""
    return EXACT.number(ROUNDING) * size if unit else unit


def verify_conditions(problem: Problem, certificate: Any, unit: Any, slack: float | None = None) -> tuple[bool, str]:
    """Whether a certificate with conditions proves its value, and why (not), in rationals.

    unit is the relative tolerance, 0 for exact certificates. A float channel is scaled to rows that sum to one.
    """
    proof = certificate.proof
    problem = problem.as_float() if unit else problem
    try:
        asked = ConditionedProblem.lifted(problem, proof.conditions, unit)
    except ValueError as error:
        return False, f"its conditions do not fit the problem: {error}"
    arrays = asked.arrays
    shape = len(arrays.p), len(asked.signals)
    rho, q = EXACT.array(certificate.rho), EXACT.array(proof.channel)
    if rho.shape != shape or q.shape != shape:
        return False, f"rho and channel must have shape {shape}"
    lam, claimed = EXACT.number(certificate.lam), EXACT.number(certificate.value)
    if (abs(rho - arrays.p[:, None] * q) > unit * arrays.p[:, None]).any():
        return False, "rho is not p(x) q(s|x)"
    for x, row in enumerate(q):
        if (row < 0).any() or abs(row.sum() - 1) > unit:
            return False, f"channel[{x}] is not a distribution"
    sent = SentSignals(arrays, asked.signals, q / q.sum(axis=1)[:, None] if unit else q)
    wrong = broken(asked.demands, sent, unit)
    if wrong:
        return False, wrong
    told, eve = sent.told_risk, sent.eve_risk
    value, near = told - lam * eve, allowance(arrays, lam, unit, slack)
    if abs(value - claimed) > near + rounding(told + lam * eve, unit):
        return False, f"rho has value {shown(value, bool(unit))}, the certificate claims {shown(claimed, bool(unit))}"
    dual = Multipliers(certificate.u, proof.prices).in_field(EXACT)
    wrong, bound, how = asked.least(dual, proof.branches, lam, value, near)
    if wrong:
        return False, f"R_A = {shown(value, bool(unit))}: {wrong}"
    if value - bound > near:
        return (
            False,
            f"rho has value {shown(value, bool(unit))} but the multipliers only prove {shown(bound, bool(unit))}",
        )
    under = " under the conditions" if not proof.conditions.empty else ""
    if not unit:
        return True, f"R_A = {shown(value, False)} is optimal{under}: rho attains it and {how}"
    gap = max(float(value - bound), 0.0)
    return True, f"R_A = {float(value):.12g} is within {gap:.2g} of optimal{under}"
