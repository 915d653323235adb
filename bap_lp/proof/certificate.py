"""A proof of optimality that needs no solver: a joint table rho, Eve's mixed replies u, and arithmetic.

Pool the signals of any mechanism by Bob's decision (that can only lower R_A): rho[x,i] = P(X = x, Bob decides i).
Then for any u >= 0 whose entries for signal i and Eve g sum to lam,
    R_A >= sum B(x,i) rho[x,i] - lam sum_ig min_j sum_x E(x,j) rho[x,i]
        >= sum_xi (B(x,i) - sum_j u[i,j] E(x,j)) rho[x,i]                   a minimum is below any average
        >= sum_x p(x) min_i (B(x,i) - sum_j u[i,j] E(x,j)) = bound(u)       since sum_i rho[x,i] = p(x).
So bound(u) lies below R_A of every mechanism. The second line is what a given rho promises: Bob, choosing for himself,
can only lower it. A rho that promises bound(u) is therefore optimal. Nothing here imports a solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.model.display import Displayed, clean, equals, fraction, kind
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.proof.conditional import Proof, verify_conditions
from bap_lp.rational import TOLERANCE, Array, ReadOnly, floats, is_exact, public

__all__ = ["TOLERANCE", "Certificate", "Verdict", "size_of", "verify"]


@dataclass(frozen=True, repr=False)
class Certificate(ReadOnly, Displayed):
    """rho (states x Bob's decisions) and u (Bob's decisions x Eve's decisions), with the value they prove at lam.

    rho and u are working arrays (fmpq or float64): Fractions through `public_rho`, `public_u`. Under conditions `proof`
    has them, the channel and their prices; with a margin the signals are tuples of everybody's decisions. So are they
    where agents act on beliefs of their own, and `proof` has the prices of their obedience.
    """

    lam: Number
    value: Number
    rho: Array
    u: Array
    proof: Proof | None = None

    @property
    def exact(self) -> bool:
        return is_exact(self.rho) and is_exact(self.u) and not isinstance(self.lam, float)

    def _headline(self) -> str:
        at = f"{equals('R_A', self.value, fraction)} at {equals('lambda', self.lam, fraction)}"
        asked = self.proof is not None and not self.proof.conditions.empty
        return f": {kind(self.exact)}, {at}" + (", under conditions" if asked else "")

    @property
    def public_rho(self) -> Array:
        return public(self.rho)

    @property
    def public_u(self) -> Array:
        return public(self.u)


@dataclass(frozen=True, repr=False)
class Verdict(Displayed):
    """Whether a certificate proves what it says, and why (not); true or false in a condition."""

    ok: bool
    reason: str

    def __bool__(self) -> bool:
        return self.ok

    def _headline(self) -> str:
        return f"{self.ok}: {clean(self.reason, 120)}"


def verify(problem: Problem, certificate: Certificate) -> Verdict:
    """Check a certificate with arithmetic alone: exactly if it is exact, to TOLERANCE if it is a float one."""
    N, b, e = problem.shape
    rho, u = certificate.rho, certificate.u
    if certificate.proof is not None:
        return _verify_conditions(problem, certificate)
    if problem.misaligned:
        return Verdict(False, "agents act on beliefs of their own, and the certificate has no prices of obedience")
    if rho.shape != (N, b) or u.shape != (b, e):
        return Verdict(False, f"rho has shape {rho.shape} and u {u.shape}, the problem wants {(N, b)} and {(b, e)}")
    if certificate.exact:
        if not problem.exact:
            return Verdict(False, "the certificate is exact and the problem is not")
        return _verify(problem, certificate, fmpq(0))
    if not all(np.isfinite(floats(a)).all() for a in (rho, u)):
        return Verdict(False, "rho and u must be finite")
    return _verify(problem.as_float(), certificate, TOLERANCE * size_of(problem, certificate.lam))


def _verify_conditions(problem: Problem, certificate: Certificate) -> Verdict:
    assert certificate.proof is not None
    if certificate.exact:
        if not (problem.exact and certificate.proof.conditions.exact):
            return Verdict(False, "the certificate is exact and the problem or a condition is not")
        return Verdict(*verify_conditions(problem, certificate, fmpq(0)))
    weights = [prices.weights for prices in certificate.proof.prices.values()]
    tables = (certificate.rho, certificate.u, certificate.proof.channel, *weights)
    if not all(np.isfinite(floats(a)).all() for a in tables):
        return Verdict(False, "rho, u, channel and multipliers must be finite")
    slack = TOLERANCE * size_of(problem, certificate.lam)
    return Verdict(*verify_conditions(problem.as_float(), certificate, slack))


def _verify(problem: Problem, certificate: Certificate, slack: Any) -> Verdict:
    arrays, field = problem.arrays, problem.arrays.field
    rho, u = field.array(certificate.rho), field.array(certificate.u)
    lam, claimed = field.number(certificate.lam), field.number(certificate.value)
    if lam < 0:
        return Verdict(False, f"lambda = {certificate.lam} is negative")
    if (rho < 0).any() or (u < 0).any():
        return Verdict(False, "rho and u must not be negative")
    for x, (row, mass) in enumerate(zip(rho, arrays.p, strict=True)):
        if abs(row.sum() - mass) > field.tolerance * mass:
            return Verdict(False, f"rho[{x}] sums to {row.sum()}, p({problem.states[x]}) is {mass}")
    for g in arrays.groups:
        for i, row in enumerate(u[:, g]):
            if abs(row.sum() - lam) > field.tolerance * lam:
                return Verdict(False, f"u[{i}] sums to {row.sum()}, lambda is {lam}")
    value, bound = arrays.value(rho, lam), arrays.bound(u)
    if value - bound > slack:
        return Verdict(False, f"rho has value {value} but u only proves {bound}")
    if abs(value - claimed) > slack:
        return Verdict(False, f"rho has value {value}, the certificate claims {claimed}")
    if field.exact:
        return Verdict(True, f"R_A = {value} is optimal: rho attains it and u proves that no mechanism goes below")
    return Verdict(True, f"R_A = {value:.12g} is within {max(value - bound, 0.0):.2g} of optimal")


def size_of(problem: Problem, lam: Number) -> float:
    """The scale on which a float gap is judged: the largest loss that enters R_A."""
    return problem.arrays.size(lam)
