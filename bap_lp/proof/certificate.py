"""A proof of optimality that needs no solver: a joint table rho, Eve's mixed replies u, and arithmetic.

Pool the signals of any mechanism by Bob's decision (that can only lower R_A): rho[x,i] = P(X = x, Bob decides i).
Then for any u >= 0 whose entries for signal i and Eve g sum to lam,
    R_A >= sum B(x,i) rho[x,i] - lam sum_ig min_j sum_x E(x,j) rho[x,i]
        >= sum_xi (B(x,i) - sum_j u[i,j] E(x,j)) rho[x,i]                   a minimum is below any average
        >= sum_x p(x) min_i (B(x,i) - sum_j u[i,j] E(x,j)) = bound(u)       since sum_i rho[x,i] = p(x).
So bound(u) lies below R_A of every mechanism. The second line is what a given rho promises: Bob, choosing for himself,
can only lower it. A rho that promises bound(u) is therefore optimal. Nothing here imports a solver.

A float certificate is checked in rationals too: every float is the rational it is, the rows of rho are scaled to sum to
p(x) and those of u to lam, if they miss it by rounding only, so that rho is a mechanism and bound(u) a bound. What is
left is the gap between the two, computed without error. It must be at most TOLERANCE times the spread of the problem,
that is R_B(null) - R_B(full) + lam (R_E(null) - R_E(full)), the scale on which mechanisms are good or bad, plus what
the rounding of rho and u can change: 64 units in the last place of the mean range of the losses over the decisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.arguments import checked
from bap_lp.limits import limit, raising
from bap_lp.model.arrays import Arrays
from bap_lp.model.display import Displayed, clean, equals, fraction, kind
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.proof.conditional import Proof, allowance, rounding, verify_conditions
from bap_lp.proof.sums import on_sums
from bap_lp.rational import EXACT, TOLERANCE, UNIT, Array, ReadOnly, finite, floats, is_exact, public, shown, text

_MANY = 300_000  # products up to which rationals take about a second

__all__ = ["TOLERANCE", "Certificate", "Verdict", "size_of", "verify"]


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(ReadOnly, Displayed):
    """rho (states x Bob's decisions) and u (Bob's decisions x Eve's decisions), with the value they prove at lam.

    rho and u are working arrays (fmpq or float64): Fractions through `public_rho`, `public_u`. Under conditions `proof`
    has them, the channel and their prices; with a margin the signals are tuples of everybody's decisions. So are they
    where agents act on beliefs of their own, and `proof` has the prices of their obedience.

    Attributes:
        lam: the price of privacy.
        value: the R_A that is proved to be least.
        rho: the joint table p(x) q(i|x) of data and signal.
        u: Eve's replies at every signal, with the sum lam.
        proof: what conditions and beliefs add; None without them.

    >>> from bap_lp import Problem, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> proof = solve(coin).certificate
    >>> print([[str(v) for v in row] for row in proof.public_rho], bool(verify(coin, proof)))
    [['3/4', '0'], ['3/40', '7/40']] True
    """

    lam: Number
    value: Number
    rho: Array
    u: Array
    proof: Proof | None = None

    @property
    def exact(self) -> bool:
        return all(map(is_exact, self._numbers()))

    def _numbers(self) -> list[Any]:
        """All numbers and arrays of numbers but those of the conditions."""
        out, proof = [self.lam, self.value, self.rho, self.u], self.proof
        if proof is not None:
            parts = [proof.prices, *(branch.multipliers.prices for branch in proof.branches)]
            out += [prices.weights for part in parts for prices in part.values() if len(prices.weights)]
            out += [proof.channel, *(branch.multipliers.u for branch in proof.branches)]
        return out

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
    """Whether a certificate proves what it says, and why (not); true or false in a condition.

    Attributes:
        ok: whether it is a proof.
        reason: why, or why not, in words.

    >>> from bap_lp import Problem, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> verify(coin, solve(coin).certificate)
    <Verdict True: R_A = 3/40 is optimal: rho attains it and u proves that no mechanism goes below>
    """

    ok: bool
    reason: str

    def __bool__(self) -> bool:
        return self.ok

    def _headline(self) -> str:
        return f"{self.ok}: {clean(self.reason, 120)}"


@checked
def verify(problem: Problem, certificate: Certificate, allow_float: bool = True, slack: float | None = None) -> Verdict:
    """Check a certificate with arithmetic alone: exactly if it is exact, up to a gap if it is a float one.

    Args:
        problem: the problem that the certificate is about.
        certificate: what `solve` returned as `certificate`, or one read from a file.
        allow_float: whether a float certificate is good enough for exact numbers.
        slack: the largest gap of a float certificate; by default TOLERANCE times the spread of the problem.

    Returns:
        The verdict: true if no mechanism is better, with the reason in words.

    >>> from bap_lp import Problem, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> print(verify(coin, solve(coin).certificate).reason)
    R_A = 3/40 is optimal: rho attains it and u proves that no mechanism goes below
    >>> verify(coin, solve(coin, exact=False).certificate, allow_float=False).ok
    False
    """
    (N, b, e), proof = problem.shape, certificate.proof
    rho, u, exact = certificate.rho, certificate.u, certificate.exact
    if not finite(*certificate._numbers()):
        return Verdict(False, "lambda, value, rho, u, channel and multipliers must be finite")
    able = problem.exact and (proof is None or proof.conditions.exact)
    if exact and not able:
        return Verdict(False, "the certificate is exact and the problem or a condition is not")
    if able and not exact and not allow_float:
        return Verdict(False, "the numbers of the problem are exact and those of the certificate are floats")
    if certificate.lam < 0:
        return Verdict(False, f"lambda = {text(certificate.lam)} is negative")
    if not exact and not finite(problem.as_float().B, problem.as_float().E):
        return Verdict(False, "the numbers of the problem are too large for floats")
    if proof is not None:
        return Verdict(*verify_conditions(problem, certificate, EXACT.number(0.0 if exact else TOLERANCE), slack))
    if problem.misaligned:
        return Verdict(False, "agents act on beliefs of their own, and the certificate has no prices of obedience")
    if rho.shape != (N, b) or u.shape != (b, e):
        return Verdict(False, f"rho has shape {rho.shape} and u {u.shape}, the problem wants {(N, b)} and {(b, e)}")
    if exact:
        return _verify(problem, certificate, EXACT.zero, None)
    early = _in_floats(problem, certificate)
    if early is None and N * b * e > limit("work"):
        return Verdict(False, f"floats cannot decide, and fractions need {N * b * e} steps {raising('work')}")
    return early or _verify(problem, certificate, EXACT.number(TOLERANCE), slack)


def _verify(problem: Problem, certificate: Certificate, unit: Any, slack: float | None) -> Verdict:
    """The check in rationals; unit is the relative tolerance, 0 for an exact certificate."""
    return check_table((problem.as_float() if unit else problem).arrays.lifted(), certificate, unit, slack)


def check_table(arrays: Arrays, certificate: Certificate, unit: Any, slack: float | None = None) -> Verdict:
    """The same, given the numbers of the problem as rationals."""
    rho, u = EXACT.array(certificate.rho), EXACT.array(certificate.u)
    lam, claimed = EXACT.number(certificate.lam), EXACT.number(certificate.value)
    if (rho < 0).any() or (u < 0).any():
        return Verdict(False, "rho and u must not be negative")
    wrong, rho = on_sums(rho, arrays.p, unit * arrays.p, ("rho", "p(x) is"))
    if not wrong:
        wrong, u = on_sums(u, lam, unit * lam, ("u", "lambda is"), arrays.groups)
    if wrong:
        return Verdict(False, wrong)
    told, eve, bound = arrays.told_risk(rho), arrays.eve_risk(rho), arrays.bound(u)
    value, near = told - lam * eve, allowance(arrays, lam, unit, slack)
    if value - bound > near:
        share = f", which is more than {TOLERANCE:g} of the spread {shown(arrays.spread(lam), True)}" if unit else ""
        return Verdict(
            False, f"rho has value {shown(value, bool(unit))} but u only proves {shown(bound, bool(unit))}{share}"
        )
    if abs(value - claimed) > near + rounding(told + lam * eve, unit):
        claim = shown(claimed, bool(unit))
        return Verdict(False, f"rho has value {shown(value, bool(unit))}, the certificate claims {claim}")
    if not unit:
        return Verdict(
            True, f"R_A = {shown(value, False)} is optimal: rho attains it and u proves that no mechanism goes below"
        )
    return Verdict(True, f"R_A = {float(value):.12g} is within {max(float(value - bound), 0.0):.2g} of optimal")


def _in_floats(problem: Problem, certificate: Certificate) -> Verdict | None:
    """A verdict on many states from floats with bounds on their rounding errors, if these are small enough to decide.

    A sum of n products >= 0 is off by at most (n + 2) u of itself; the doubled count covers the bounds' own rounding.
    """
    (N, b, e), arrays, lam = problem.shape, problem.as_float().arrays, float(certificate.lam)
    rho, u, p = floats(certificate.rho), floats(certificate.u), arrays.p
    if N * b * e < _MANY or (rho < 0).any() or (u < 0).any():
        return None
    sums = np.stack([u[:, g].sum(axis=1) for g in arrays.groups])
    if (abs(rho.sum(axis=1) - p) > 0.5 * TOLERANCE * p).any() or (abs(sums - lam) > 0.5 * TOLERANCE * lam).any():
        return None
    live = p > 0
    rho = np.where(live[:, None], rho * (p / np.where(live, rho.sum(axis=1), 1.0))[:, None], 0.0)
    u = arrays.on_simplex(u, lam)
    told, eve, bound = arrays.told_risk(rho), float(arrays.eve_risk(rho)), arrays.bound(u)
    value, unit = told - lam * eve, 2 * (N * b + e + 40) * UNIT
    size = float(p @ (arrays.B.max(axis=1) + (arrays.E @ u.T).max(axis=1)))  # of the terms of bound(u)
    error = unit * (told + lam * eve + size)
    bob, hers = arrays.spreads
    null_bob, null_eve = arrays.extremes()[1]
    nulls = float(null_bob) + lam * float(null_eve)
    slack = TOLERANCE * (float(bob) + lam * float(hers) - 2 * unit * nulls)
    off = abs(value - float(certificate.value))
    if not (np.isfinite(error) and value - bound + error <= slack and off + error <= slack):
        return None
    return Verdict(True, f"R_A = {value:.12g} is within {max(value - bound + error, 0.0):.2g} of optimal")


def size_of(problem: Problem, lam: Number) -> float:
    """The scale on which a float gap is judged: the largest loss that enters R_A."""
    return problem.arrays.size(lam)
