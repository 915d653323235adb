"""Tiers: nested releases, and the proof that they are optimal together, by arithmetic alone.

Tier k has a Bob and Eves of its own, and they see the signals of tiers 1, ..., k. Alice minimises
    sum_k w_k (R_B,k - lam_k R_E,k).
Signals (i_1, ..., i_K) of the Bobs' decisions are enough. Pool the signals of any nested mechanism on which Bob 1
decides alike, then those of tier 2 with the same i_1 on which Bob 2 does, and so on. What tier k sees, (i_1, ..., i_k),
is a function of what it saw; its Bob's decision stays optimal on each pooled signal (a convex cone), and no Eve gains.
With rho[x,i_1..i_K] = P(X = x, signals) and any u_k >= 0 whose entries for a prefix (i_1..i_k) and an Eve sum to
w_k lam_k,
    sum_k w_k R_A,k >= sum_x p(x) min_{i_1..i_K} sum_k (w_k B_k(x,i_k) - sum_j u_k[i_1..i_k, j] E_k(x,j)) = bound(u),
as in `certificate`: a minimum is below any average, and sum rho[x,.] = p(x). For one tier it is that certificate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from bap_lp.model.arrays import Arrays
from bap_lp.model.beliefs import shared
from bap_lp.model.calibration import lam_of
from bap_lp.model.display import Displayed, counted, equals, fraction, kind
from bap_lp.model.labels import weight_of
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.proof.certificate import Verdict
from bap_lp.rational import EXACT, FLOAT, TOLERANCE, Array, Field, InputError, ReadOnly, floats, is_exact, tree_sum

_MOST = 100_000  # tuples of decisions


@dataclass(frozen=True, eq=False, repr=False)
class TierCertificate(ReadOnly, Displayed):
    """rho (states x tuples of the Bobs' decisions, the last tier's changing fastest) and the Eves' replies, per tier.

    replies[k] has a row per prefix (i_1..i_k) and a column per decision of Eve k. Working arrays (fmpq or float64).
    """

    lams: tuple[Number, ...]
    weights: tuple[Number, ...]
    value: Number
    rho: Array
    replies: tuple[Array, ...]

    @property
    def exact(self) -> bool:
        numbers = (*self.lams, *self.weights, self.value)
        return not any(isinstance(v, float) for v in numbers) and all(map(is_exact, (self.rho, *self.replies)))

    def _headline(self) -> str:
        return f": {kind(self.exact)}, {counted(len(self.lams), 'tier')}, {equals('value', self.value, fraction)}"


@dataclass(frozen=True, eq=False)
class Nest(ReadOnly):
    """The tiers in working numbers: what each loses, its lam and weight, and the prefix of every tuple."""

    arrays: tuple[Arrays, ...]
    lams: tuple[Any, ...]
    weights: tuple[Any, ...]

    @classmethod
    def of(cls, problems: Sequence[Problem], lams: Sequence[Any], weights: Sequence[Any], field: Field) -> Nest:
        arrays = tuple(problem.arrays for problem in problems)
        return cls(arrays, tuple(map(field.number, lams)), tuple(map(field.number, weights)))

    @property
    def field(self) -> Field:
        return self.arrays[0].field

    @property
    def p(self) -> Array:
        return self.arrays[0].p

    @cached_property
    def tuples(self) -> Array:
        """All (i_1, ..., i_K), a row each."""
        return np.array(list(product(*(range(a.shape[1]) for a in self.arrays))))

    def prefix(self, tier: int) -> Array:
        """The number of each tuple's prefix (i_1, ..., i_tier), counted from tier 0."""
        sizes = [a.shape[1] for a in self.arrays[: tier + 1]]
        return np.ravel_multi_index(tuple(self.tuples[:, : tier + 1].T), tuple(sizes))

    def pooled(self, rho: Array, tier: int) -> Array:
        """The joint table of what a tier sees: states x prefixes."""
        return rho.reshape(len(rho), int(self.prefix(tier)[-1]) + 1, -1).sum(axis=2)

    def costs(self) -> Array:
        """sum_k w_k B_k(x,i_k), states x tuples."""
        parts = (w * a.B[:, self.tuples[:, k]] for k, (a, w) in enumerate(zip(self.arrays, self.weights, strict=True)))
        return sum(parts, self.field.zeros((len(self.p), len(self.tuples))))

    def value(self, rho: Array) -> Any:
        """The objective of a joint table whose signals tell every Bob what to decide."""
        total = tree_sum((self.costs() * rho).ravel())
        for k, (a, w, lam) in enumerate(zip(self.arrays, self.weights, self.lams, strict=True)):
            total = total - w * lam * a.eve_risk(self.pooled(rho, k))
        return total

    def bound(self, replies: Sequence[Array]) -> Any:
        """bound(u), in floats lowered by more than its rounding error."""
        margins, size = self.costs(), 0.0
        for k, (a, u) in enumerate(zip(self.arrays, replies, strict=True)):
            charged = a.E.dot(u.T)
            margins = margins - charged[:, self.prefix(k)]
            if not self.field.exact:
                size += float(self.weights[k] * a.B.max() + charged.max(initial=0.0))
        least = self.p.dot(margins.min(axis=1))
        if self.field.exact:
            return least
        terms = sum(a.shape[2] for a in self.arrays) + len(self.arrays) + 40
        return float(least) - terms * float(np.finfo(float).eps) * size

    @property
    def size(self) -> float:
        """The scale on which a float gap is judged."""
        return sum(float(w) * a.size(lam) for a, w, lam in zip(self.arrays, self.weights, self.lams, strict=True))


def tiers_of(
    problems: Sequence[Problem], lams: Any, weights: Any
) -> tuple[tuple[Problem, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The problems, checked to have the same states and prior, with the working lam and weight of each tier."""
    given = tuple(problems)
    if not given:
        raise InputError("problems", None, "must not be empty")
    for k, problem in enumerate(given):
        shared(problem, f"problems[{k}]")
        if problem.states != given[0].states:
            raise InputError(f"problems[{k}]", None, "must have the same states as problems[0]")
        if not _same_prior(problem, given[0]):
            raise InputError(f"problems[{k}]", None, "must have the same prior as problems[0]")
    count = int(np.prod([problem.shape[1] for problem in given], dtype=object))
    if count > _MOST:
        raise InputError("problems", None, f"have {count} tuples of decisions, more than {_MOST}")
    prices = _each(lams, "lams", len(given))
    shares = _each(1 if weights is None else weights, "weights", len(given))
    return (
        given,
        tuple(lam_of(problem, lam) for problem, lam in zip(given, prices, strict=True)),
        tuple(weight_of(w, f"weights[{k}]") for k, w in enumerate(shares)),
    )


def _each(value: Any, field: str, count: int) -> list[Any]:
    found = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value] * count
    if len(found) != count:
        raise InputError(field, None, f"has {len(found)} entries, must have {count}, one per tier")
    return found


def _same_prior(one: Problem, other: Problem) -> bool:
    if one.exact and other.exact:
        return bool((one.p == other.p).all())
    return bool(np.allclose(floats(one.p), floats(other.p), rtol=1e-9, atol=0))


def verify_tiers(problems: Sequence[Problem], certificate: TierCertificate) -> Verdict:
    """Check with arithmetic alone that nested releases are optimal: exactly if the certificate is exact.

    Args:
        problems: the problem of each tier, the public one first.
        certificate: of `tiers(problems, ...)`.

    Returns:
        Whether the certificate proves its value, and why (not).

    Raises:
        InputError: the problems have different states or priors, or agents with beliefs of their own.

    >>> from bap_lp import Problem, tiers, verify_tiers
    >>> bob = [["1/3", "2/3"], [1, 0]]
    >>> both = [Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (10, 2)]
    >>> verify_tiers(both, tiers(both, "1/3").certificate).ok
    True
    """
    count = len(problems)
    if not len(certificate.lams) == len(certificate.weights) == len(certificate.replies) == count:
        return Verdict(False, f"the certificate is about {len(certificate.lams)} tiers, there are {count}")
    if any(v < 0 for v in certificate.lams) or any(v <= 0 for v in certificate.weights):
        return Verdict(False, "lambdas must not be negative, and weights must be positive")
    given, lams, weights = tiers_of(problems, certificate.lams, certificate.weights)
    field = EXACT if certificate.exact else FLOAT
    if field.exact and not all(problem.exact for problem in given):
        return Verdict(False, "the certificate is exact and a problem is not")
    if not all(np.isfinite(floats(a)).all() for a in (certificate.rho, *certificate.replies)):
        return Verdict(False, "rho and replies must be finite")
    nest = Nest.of(given if field.exact else [problem.as_float() for problem in given], lams, weights, field)
    rho, replies = field.array(certificate.rho), [field.array(u) for u in certificate.replies]
    if rho.shape != (len(nest.p), len(nest.tuples)):
        return Verdict(False, f"rho has shape {rho.shape}, must have {(len(nest.p), len(nest.tuples))}")
    wrong = _wrong_replies(nest, replies)
    if wrong:
        return Verdict(False, wrong)
    if (rho < 0).any():
        return Verdict(False, "rho must not be negative")
    for x, (row, mass) in enumerate(zip(rho, nest.p, strict=True)):
        if abs(row.sum() - mass) > field.tolerance * mass:
            return Verdict(False, f"rho[{x}] sums to {row.sum()}, p({given[0].states[x]}) is {mass}")
    value, bound, slack = nest.value(rho), nest.bound(replies), 0 if field.exact else TOLERANCE * nest.size
    if value - bound > slack:
        return Verdict(False, f"rho has value {value} but the replies only prove {bound}")
    if abs(value - field.number(certificate.value)) > slack:
        return Verdict(False, f"rho has value {value}, the certificate claims {certificate.value}")
    if field.exact:
        return Verdict(True, f"{value} is optimal: rho attains it and no nested releases go below")
    return Verdict(True, f"{value:.12g} is within {max(value - bound, 0.0):.2g} of optimal")


def _wrong_replies(nest: Nest, replies: Sequence[Array]) -> str:
    for k, (a, u) in enumerate(zip(nest.arrays, replies, strict=True)):
        shape, total = (int(nest.prefix(k)[-1]) + 1, a.shape[2]), nest.weights[k] * nest.lams[k]
        if u.shape != shape or (u < 0).any():
            return f"replies[{k}] must be a table of shape {shape} without negative numbers"
        for g in a.groups:
            for s, row in enumerate(u[:, g]):
                if abs(row.sum() - total) > nest.field.tolerance * total:
                    return f"replies[{k}][{s}] sums to {row.sum()}, weight times lambda is {total}"
    return ""
