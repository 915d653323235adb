"""The proof that a mechanism is optimal under conditions, with arithmetic only: multipliers and weak duality.

The Lagrangian bound of `conditions.base` lies below every mechanism that satisfies the conditions; each condition adds
its own term. Determinism and max_signals are no part of it: the bound holds for randomised mechanisms with any number
of signals. If it stays below the value, the deterministic mechanisms are enumerated, as long as they are few, or the
certificate has branches: multipliers for parts that together contain every mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bap_lp.conditions.base import Condition, Lagrangian, Multipliers, Prices, SentSignals
from bap_lp.conditions.conditions import Conditions
from bap_lp.conditions.signals import Signals, signals_of
from bap_lp.model.arrays import Arrays
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.proof.branches import Branch, uncovered
from bap_lp.proof.enumeration import best_deterministic, enumerable
from bap_lp.proof.feasibility import broken
from bap_lp.rational import Array, field_of, public


@dataclass(frozen=True, eq=False)
class Proof:
    """What a certificate needs beside rho and u when there are conditions: channel q(s|x), prices by name, branches."""

    conditions: Conditions
    channel: Array
    prices: Mapping[str, Prices]
    branches: tuple[Branch, ...] = ()

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
            return f"there is a price for {name}, which is no condition", out
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
    return wrong, None if wrong else lagrangian.bound(allowed)


def verify_conditions(problem: Problem, certificate: Any, unit: float, slack: Any) -> tuple[bool, str]:
    """Whether a certificate with conditions proves its value, and why (not); unit and slack are 0 for exact ones."""
    proof, arrays, field = certificate.proof, problem.arrays, problem.arrays.field
    try:
        demands = proof.conditions.demands(problem)
    except ValueError as error:
        return False, f"its conditions do not fit the problem: {error}"
    signals = signals_of(problem, any(demand.tuples for demand in demands))
    shape, zero = (len(arrays.p), len(signals)), field.number(unit)
    rho, q = field.array(certificate.rho), field.array(proof.channel)
    if rho.shape != shape or q.shape != shape:
        return False, f"rho and channel must have shape {shape}"
    lam, claimed = field.number(certificate.lam), field.number(certificate.value)
    if lam < 0:
        return False, f"lambda = {certificate.lam} is negative"
    if (abs(rho - arrays.p[:, None] * q) > zero * arrays.p[:, None]).any():
        return False, "rho is not p(x) q(s|x)"
    sent = SentSignals(arrays, signals, q)
    wrong = broken(demands, sent, zero)
    if wrong:
        return False, wrong
    wrong, bound = proved(arrays, demands, signals, lam, Multipliers(certificate.u, proof.prices).in_field(field), zero)
    if wrong:
        return False, wrong
    value = sent.told_risk - lam * sent.eve_risk
    if abs(value - claimed) > slack:
        return False, f"rho has value {value}, the certificate claims {claimed}"
    how = "the prices prove that no mechanism with these conditions goes below"
    if value - bound > slack and proof.branches:
        wrong, bound = _by_cases(arrays, demands, signals, lam, proof, value, zero)
        if wrong:
            return False, wrong
    elif value - bound > slack and proof.conditions.combinatorial:
        if not (proof.conditions.deterministic and enumerable(arrays, demands)):
            return False, (
                f"R_A = {value} is attained under the conditions; arithmetic proves only that none goes below {bound}"
            )
        found = best_deterministic(arrays, signals, demands, lam, zero)
        bound = found[0] if found is not None else value
        how = "all deterministic mechanisms were tried and none goes below"
    if value - bound > slack:
        return False, f"rho has value {value} but the multipliers only prove {bound}"
    if problem.exact:
        return True, f"R_A = {value} is optimal under the conditions: rho attains it and {how}"
    return True, f"R_A = {value:.12g} is within {max(value - bound, 0.0):.2g} of optimal under the conditions"


def _by_cases(
    arrays: Arrays, demands: Sequence[Condition], signals: Signals, lam: Any, proof: Proof, value: Any, zero: Any
) -> tuple[str, Any]:
    """What is wrong with the branches, if anything, and the bound that they prove together (at most `value`)."""
    conditions, states = proof.conditions, len(arrays.p)
    wrong = uncovered(proof.branches, states, len(signals), conditions.max_signals, conditions.deterministic)
    if wrong:
        return wrong, None
    for branch in proof.branches:
        part, dual = signals.only(branch.keep), branch.multipliers.in_field(arrays.field)
        price, weight = (0 * lam, 0) if branch.void else (lam, 1)
        wrong, bound = proved(arrays, demands, part, price, dual, zero, branch.allowed(states), weight)
        if not wrong and branch.void and not bound > 0:
            wrong = "the multipliers do not prove that the conditions cannot be met"
        if wrong:
            return f"branch {branch.keep}: {wrong}", None
        value = value if branch.void else min(value, bound)
    return "", value
