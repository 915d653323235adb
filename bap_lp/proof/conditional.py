"""The proof that a mechanism is optimal under conditions, with arithmetic only: multipliers and weak duality.

Let q be feasible, s range over the signals, i_s be Bob's decision at s and D = {x, x'} the pairs with a DP row
q(s|x) <= r q(s|x'). For any multipliers mu, nu, w[s,(x,x')], v >= 0 and any u >= 0 whose entries for signal s and Eve g
sum to lam + mu,
    R_A >= R_A + mu (floor - R_E) + nu (R_B - cap) + sum w (q(s|x) - r q(s|x'))
        >= mu floor - nu cap + sum_xs q(s|x) (p(x) c(x,s) + d(x,s))
        >= mu floor - nu cap + sum_x min_s (p(x) c(x,s) + d(x,s)),
    c = (1 + nu) B(x,i_s) - sum_j u[s,j] E(x,j),    d = sum_x' w[s,(x,x')] - sum_x' r w[s,(x',x)],
since sum_s q(s|x) = 1: a bound on all feasible mechanisms. A state of probability zero enters through d alone.
With a margin m a signal prescribes Eve's decisions j_s as well, and u, v >= 0 are the prices of obedience instead:
    c = (1 + nu) B(x,i_s) + sum_i v[s,i] (B(x,i_s) - B(x,i) + m)
        - (lam + mu) sum_g E(x,j_sg) + sum_g sum_j u[s,j] (E(x,j_sg) - E(x,j) + m),   i != i_s, j != j_sg.
Determinism and max_signals are no part of the Lagrangian: the bound holds for randomised mechanisms with any number of
signals. If it stays below the value, the deterministic mechanisms are enumerated, as long as they are few; and a limit
of k signals is proved by branches, multipliers for every set of k signals: a mechanism sends only the signals of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.conditions.conditions import Conditions, Limits, Signals, signals_of
from bap_lp.model.arrays import signal_losses
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.proof.enumeration import best_deterministic, enumerable
from bap_lp.proof.feasibility import check_conditions
from bap_lp.rational import Array, floats, zeros


@dataclass(frozen=True)
class Proof:
    """What a certificate needs beside rho and u when there are conditions. Arrays are working arrays.

    channel: q(s|x), also where p(x) = 0. floor_price mu, cap_price nu. DP multipliers w: `pairs[k]` = (s, x, x') has
    `weights[k]`. obedience: Bob's prices v[s,i], with a margin only.
    """

    conditions: Conditions
    channel: Array
    floor_price: Number
    cap_price: Number
    pairs: Array
    weights: Array
    obedience: Array | None = None
    branches: tuple[Branch, ...] = ()


@dataclass(frozen=True)
class Branch:
    """The multipliers for mechanisms that send only the signals `keep`; the proof's channel is not used."""

    keep: tuple[int, ...]
    u: Array
    proof: Proof


def lagrangian(
    problem: Problem, limits: Limits, signals: Signals, lam: Any, u: Array, proof: Proof, prices: tuple[Any, Any]
) -> tuple[Any, Any]:
    """The bound, and the sum of the sizes of its terms (on which its rounding error in floats is judged)."""
    mu, nu = prices
    own = problem.B[:, signals.bob]
    cost = own + nu * own
    size = abs(cost)
    if limits.margin is None:
        cost = cost - problem.E.dot(u.T)
        size = size + problem.E.dot(u.T)
    else:
        assert signals.eve is not None
        assert proof.obedience is not None
        v = proof.obedience
        cost = cost + (own + limits.margin) * v.sum(axis=1) - problem.B.dot(v.T)
        for k, g in enumerate(problem.eve_groups):
            hers = problem.E[:, signals.eve[:, k]]
            cost = cost - (lam + mu) * hers + (hers + limits.margin) * u[:, g].sum(axis=1)
            size = size + (lam + mu) * hers + (hers + limits.margin) * u[:, g].sum(axis=1)
        cost = cost - problem.E.dot(u.T)
        size = size + (own + limits.margin) * v.sum(axis=1) + problem.B.dot(v.T) + problem.E.dot(u.T)
    terms, sizes = problem.p[:, None] * cost, problem.p[:, None] * size
    if len(proof.pairs):
        s, x, other = proof.pairs.T
        ratio = _ratios(limits, x, other)
        moved, back = zeros(cost.shape, problem.exact), zeros(cost.shape, problem.exact)
        np.add.at(moved, (x, s), proof.weights)
        np.add.at(back, (other, s), ratio * proof.weights)
        terms, sizes = terms + moved - back, sizes + moved + back
    total, scale = terms.min(axis=1).sum(), sizes.max(axis=1).sum()
    if limits.floor is not None:
        total, scale = total + mu * limits.floor, scale + mu * limits.floor
    if limits.cap is not None:
        total, scale = total - nu * limits.cap, scale + nu * limits.cap
    return total, scale


def _ratios(limits: Limits, x: Array, other: Array) -> Any:
    if limits.pairs is None:
        return limits.ratio
    ends = zip(limits.pairs.x.tolist(), limits.pairs.other.tolist(), strict=True)
    known = dict(zip(ends, limits.pairs.ratio, strict=True))
    found = [known[a, c] for a, c in zip(x.tolist(), other.tolist(), strict=True)]
    out = zeros(len(found), limits.pairs.ratio.dtype == object)
    out[:] = found
    return out


def check_multipliers(
    problem: Problem,
    limits: Limits,
    signals: Signals,
    lam: Any,
    u: Array,
    proof: Proof,
    prices: tuple[Any, Any],
    unit: Any,
) -> str:
    """Which sign or sum of the multipliers is wrong, or ""."""
    mu, nu = prices
    if mu < 0 or nu < 0 or (len(proof.weights) and min(proof.weights) < 0):
        return "the prices of the conditions must not be negative"
    if (mu != 0 and limits.floor is None) or (nu != 0 and limits.cap is None):
        return "there is a price for a condition that is not there"
    if (u < 0).any():
        return "u must not be negative"
    if len(proof.pairs):
        if limits.ratio is None and limits.pairs is None:
            return "there are multipliers of differential privacy, which is no condition"
        s, x, other = proof.pairs.T
        ends = np.concatenate([x, other])
        if s.min() < 0 or s.max() >= len(signals) or ends.min() < 0 or ends.max() >= len(problem.p):
            return "a multiplier of differential privacy is about no signal or state"
        if limits.pairs is not None:
            known = set(zip(limits.pairs.x.tolist(), limits.pairs.other.tolist(), strict=True))
            if not known.issuperset(zip(x.tolist(), other.tolist(), strict=True)):
                return "a multiplier of differential privacy is about states that are no neighbours"
    if limits.margin is None:
        for g in problem.eve_groups:
            for s, row in enumerate(u[:, g]):
                if abs(row.sum() - lam - mu) > unit * (lam + mu):
                    return f"u[{s}] sums to {row.sum()}, lambda and the floor's price to {lam + mu}"
        return ""
    v = proof.obedience
    if v is None or v.shape != (len(signals), problem.shape[1]) or (v < 0).any():
        return "a margin needs non-negative prices of Bob's obedience, one per signal and decision"
    assert signals.eve is not None
    every = np.arange(len(signals))
    if (v[every, signals.bob] != 0).any() or (u[every[:, None], signals.eve] != 0).any():
        return "obedience has a price for the decision itself"
    return ""


def verify_conditions(problem: Problem, certificate: Any, unit: float, slack: Any) -> tuple[bool, str]:
    """Whether a certificate with conditions proves its value, and why (not); unit and slack are 0 for exact ones."""
    proof, exact = certificate.proof, problem.exact
    try:
        limits = proof.conditions.limits(problem)
    except ValueError as error:
        return False, f"its conditions do not fit the problem: {error}"
    signals = signals_of(problem, limits.margin is not None)
    shape, e = (len(problem.p), len(signals)), problem.shape[2]
    rho, u, q = certificate.rho, certificate.u, proof.channel
    if rho.shape != shape or q.shape != shape or u.shape != (len(signals), e):
        return False, f"rho and channel must have shape {shape}, u shape {(len(signals), e)}"
    if not exact:
        rho, u, q = floats(rho), floats(u), floats(q)
        v = None if proof.obedience is None else floats(proof.obedience)
        proof = Proof(proof.conditions, q, 0.0, 0.0, proof.pairs, floats(proof.weights), v)
    zero = fmpq(0) if exact else unit
    lam, claimed, *prices = (
        working(v, exact)
        for v in (certificate.lam, certificate.value, certificate.proof.floor_price, certificate.proof.cap_price)
    )
    if lam < 0:
        return False, f"lambda = {certificate.lam} is negative"
    if (abs(rho - problem.p[:, None] * q) > zero * problem.p[:, None]).any():
        return False, "rho is not p(x) q(s|x)"
    wrong = check_conditions(problem, limits, signals, q, zero) or check_multipliers(
        problem, limits, signals, lam, u, proof, (prices[0], prices[1]), zero
    )
    if wrong:
        return False, wrong
    eve = signal_losses(rho, problem.E)
    risk = sum((eve[:, g].min(axis=1).sum() for g in problem.eve_groups), start=0 * lam)
    value = (problem.B[:, signals.bob] * rho).sum() - lam * risk
    bound, _ = lagrangian(problem, limits, signals, lam, u, proof, (prices[0], prices[1]))
    if abs(value - claimed) > slack:
        return False, f"rho has value {value}, the certificate claims {claimed}"
    how = "the prices prove that no mechanism with these conditions goes below"
    if value - bound > slack and certificate.proof.branches:
        wrong, bound = _branches(problem, limits, signals, lam, certificate.proof.branches, zero)
        if wrong:
            return False, wrong
    elif value - bound > slack and proof.conditions.combinatorial:
        if not (limits.deterministic and enumerable(problem, limits)):
            return False, (
                f"R_A = {value} is attained under the conditions; arithmetic proves only that none goes below {bound}"
            )
        found = best_deterministic(problem.p, problem.B, problem.E, problem.eve_groups, lam, limits)
        bound = found[0] if found is not None else value
        how = "all deterministic mechanisms were tried and none goes below"
    if value - bound > slack:
        return False, f"rho has value {value} but the multipliers only prove {bound}"
    if exact:
        return True, f"R_A = {value} is optimal under the conditions: rho attains it and {how}"
    return True, f"R_A = {value:.12g} is within {max(value - bound, 0.0):.2g} of optimal under the conditions"


def _branches(
    problem: Problem, limits: Limits, signals: Signals, lam: Any, branches: tuple[Branch, ...], zero: Any
) -> tuple[str, Any]:
    """What is wrong with the branches, if anything, and the bound that they prove together."""
    known = [set(branch.keep) for branch in branches]
    if limits.max_signals is None or limits.max_signals > len(signals):
        return "there are branches without a limit on the signals", None
    for wanted in combinations(range(len(signals)), limits.max_signals):
        if not any(keep.issuperset(wanted) for keep in known):
            return f"no branch is about the signals {wanted}", None
    bounds = []
    for branch in branches:
        part, prices = signals.only(branch.keep), (branch.proof.floor_price, branch.proof.cap_price)
        mu, nu = (working(v, problem.exact) for v in prices)
        if branch.u.shape != (len(part), problem.shape[2]):
            return f"u of the branch {branch.keep} has shape {branch.u.shape}", None
        wrong = check_multipliers(problem, limits, part, lam, branch.u, branch.proof, (mu, nu), zero)
        if wrong:
            return f"branch {branch.keep}: {wrong}", None
        bounds.append(lagrangian(problem, limits, part, lam, branch.u, branch.proof, (mu, nu))[0])
    return "", min(bounds)


def working(value: Number, exact: bool) -> Any:
    """A public number as the arrays hold it: fmpq in exact arithmetic, float otherwise."""
    if exact and not isinstance(value, float):
        return fmpq(value.numerator, value.denominator)
    return float(value)
