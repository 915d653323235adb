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

A float certificate is checked in rationals too, as in `certificate`: every float is the rational it is, rows of rho and
of the replies that miss their sums by rounding are scaled, and the gap between value and bound must be at most the sum
over the tiers of w_k times what the certificate of tier k alone might have, a share of its spread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from bap_lp.arguments import checked
from bap_lp.model.arrays import Arrays
from bap_lp.model.beliefs import shared
from bap_lp.model.calibration import lam_of
from bap_lp.model.display import Displayed, counted, equals, fraction, kind
from bap_lp.model.labels import weight_of
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.proof.certificate import Verdict
from bap_lp.proof.conditional import allowance, rounding
from bap_lp.proof.sums import on_sums
from bap_lp.rational import (
    EXACT,
    TOLERANCE,
    UNIT,
    Array,
    Field,
    InputError,
    ReadOnly,
    finite,
    float_below,
    floats,
    is_exact,
    shown,
    text,
    tree_sum,
)

_MOST = 100_000  # tuples of decisions
_MANY = 300_000  # products up to which rationals take about a second


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

    @property
    def tiers(self) -> Iterator[tuple[Arrays, Any, Any]]:
        """The numbers, weight and lam of every tier."""
        return zip(self.arrays, self.weights, self.lams, strict=True)

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
        parts = (w * a.B[:, self.tuples[:, k]] for k, (a, w, _) in enumerate(self.tiers))
        return sum(parts, self.field.zeros((len(self.p), len(self.tuples))))

    def lifted(self) -> Nest:
        """Floats as the rationals they are."""
        lams, weights = (tuple(map(EXACT.number, own)) for own in (self.lams, self.weights))
        return Nest(tuple(a.lifted() for a in self.arrays), lams, weights)

    def lowered(self) -> Nest:
        """The least loss of every row subtracted: it is a constant in the value of all releases, and in the bound."""
        return Nest(tuple(a.lowered(0)[0] for a in self.arrays), self.lams, self.weights)

    def told(self, rho: Array) -> Any:
        """sum_k w_k R_B,k of Bobs who decide what their signals tell them."""
        return tree_sum((self.costs() * rho).ravel())

    def harm(self, rho: Array) -> Any:
        """sum_k w_k lam_k R_E,k."""
        own = (w * lam * a.eve_risk(self.pooled(rho, k)) for k, (a, w, lam) in enumerate(self.tiers))
        return sum(own, self.field.zero)

    def value(self, rho: Array) -> Any:
        """The objective of a joint table whose signals tell every Bob what to decide."""
        return self.told(rho) - self.harm(rho)

    def bound(self, replies: Sequence[Array]) -> Any:
        """bound(u), in floats lowered by more than its rounding error, which is one of the differences of losses."""
        if self.field.exact:
            return tree_sum(self.p * self.margins(replies).min(axis=1))
        low = self.lowered()
        least = float((self.p * low.margins(replies).min(axis=1)).sum())  # pairwise
        terms = sum(a.shape[2] for a in self.arrays) + len(self.arrays) + 60
        least -= terms * float(np.finfo(float).eps) * low.height(replies)
        full = [(EXACT.number(w), EXACT.number(lam), *a.full_risks()) for a, w, lam in self.tiers]
        return float_below(EXACT.number(least) + sum((w * (bob - lam * eve) for w, lam, bob, eve in full), EXACT.zero))

    def margins(self, replies: Sequence[Array]) -> Array:
        """What every tuple costs at every state against the replies: the rule sends the tuple with the least."""
        margins = self.costs()
        for k, (a, u) in enumerate(zip(self.arrays, replies, strict=True)):
            margins = margins - a.E.dot(u.T)[:, self.prefix(k)]
        return margins

    def height(self, replies: Sequence[Array]) -> float:
        """The largest sum of the sizes of the terms of a margin."""
        parts = zip(self.arrays, self.weights, replies, strict=True)
        return sum(float(w * a.B.max() + a.E.dot(u.T).max(initial=0.0)) for a, w, u in parts)

    @property
    def spread(self) -> Any:
        """The scale on which a float gap is judged: sum_k w_k (what Bob k gains from the data + lam_k times Eve k)."""
        return sum((w * a.spread(lam) for a, w, lam in self.tiers), self.field.zero)

    def allowance(self, unit: Any) -> Any:
        """The largest gap of a certificate, in rationals."""
        return sum((w * allowance(a, lam, unit) for a, w, lam in self.tiers), EXACT.zero)

    def small_gap(self, rho: Array, replies: Sequence[Array]) -> bool:
        """Whether the gap of a float pair is half of what its certificate may have, computed in rationals."""
        exact, unit = self.lifted(), EXACT.number(TOLERANCE)
        wrong, table, own = exact.scaled(EXACT.array(rho), [EXACT.array(u) for u in replies], unit)
        return not wrong and bool(2 * (exact.value(table) - exact.bound(own)) <= exact.allowance(unit))

    def scaled(self, rho: Array, replies: Sequence[Array], unit: Any) -> tuple[str, Array, list[Array]]:
        """What is wrong, if anything, and the tables, in rationals, with rows that sum to p(x) and to w_k lam_k.

        unit: by how much of it a row may miss its sum.
        """
        out = list(replies)
        if rho.shape != (len(self.p), len(self.tuples)):
            return f"rho has shape {rho.shape}, must have {(len(self.p), len(self.tuples))}", rho, out
        for k, (a, u) in enumerate(zip(self.arrays, out, strict=True)):
            shape, total = (int(self.prefix(k)[-1]) + 1, a.shape[2]), self.weights[k] * self.lams[k]
            if u.shape != shape or (u < 0).any():
                return f"replies[{k}] must be a table of shape {shape} without negative numbers", rho, out
            words = f"replies[{k}]", "weight times lambda is"
            wrong, out[k] = on_sums(u, total, unit * total, words, a.groups)
            if wrong:
                return wrong, rho, out
        if (rho < 0).any():
            return "rho must not be negative", rho, out
        return *on_sums(rho, self.p, unit * self.p, ("rho", "p(x) is")), out


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
    working = tuple(weight_of(w, f"weights[{k}]") for k, w in enumerate(shares))
    for k, (problem, weight) in enumerate(zip(given, working, strict=True)):
        largest = max(float(problem.arrays.rounded.B.max()), float(problem.arrays.rounded.E.max()), 1.0)
        if weight > 1 and EXACT.number(weight) * EXACT.number(largest) > 10**300:
            raise InputError(f"weights[{k}]", weight, "times the largest loss must be at most 1e300")
    return given, tuple(lam_of(problem, lam) for problem, lam in zip(given, prices, strict=True)), working


def _each(value: Any, field: str, count: int) -> list[Any]:
    found = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value] * count
    if len(found) != count:
        raise InputError(field, None, f"has {len(found)} entries, must have {count}, one per tier")
    return found


def _same_prior(one: Problem, other: Problem) -> bool:
    if one.exact and other.exact:
        return bool((one.p == other.p).all())
    return bool(np.allclose(floats(one.p), floats(other.p), rtol=1e-9, atol=0))


@checked
def verify_tiers(problems: Sequence[Problem], certificate: TierCertificate, allow_float: bool = True) -> Verdict:
    """Check with arithmetic alone that nested releases are optimal: exactly if the certificate is exact.

    Args:
        problems: the problem of each tier, the public one first.
        certificate: of `tiers(problems, ...)`.
        allow_float: whether a float certificate is good enough for exact numbers.

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
    tables = certificate.rho, *certificate.replies
    if not finite(*certificate.lams, *certificate.weights, certificate.value, *tables):
        return Verdict(False, "lambdas, weights, value, rho and replies must be finite")
    if any(v < 0 for v in certificate.lams) or any(v <= 0 for v in certificate.weights):
        return Verdict(False, "lambdas must not be negative, and weights must be positive")
    given, exact = tiers_of(problems, 0, None)[0], certificate.exact
    able = all(problem.exact for problem in given)
    if exact and not able:
        return Verdict(False, "the certificate is exact and a problem is not")
    if able and not exact and not allow_float:
        return Verdict(False, "the numbers of the problems are exact and those of the certificate are floats")
    given = given if exact else tuple(problem.as_float() for problem in given)
    if not finite(*(table for one in given for table in (one.B, one.E))):
        return Verdict(False, "the numbers of a problem are too large for floats")
    unit = EXACT.number(0.0 if exact else TOLERANCE)
    rough = Nest.of(given, certificate.lams, certificate.weights, EXACT)
    early = None if exact else _in_floats(rough, certificate)
    if early is not None:
        return early
    nest = rough.lifted()
    wrong, rho, replies = nest.scaled(EXACT.array(certificate.rho), [EXACT.array(u) for u in certificate.replies], unit)
    if wrong:
        return Verdict(False, wrong)
    told, harm, bound, near = nest.told(rho), nest.harm(rho), nest.bound(replies), nest.allowance(unit)
    value, claimed = told - harm, EXACT.number(certificate.value)
    if value - bound > near:
        share = f", which is more than {TOLERANCE:g} of the spread {shown(nest.spread, True)}" if unit else ""
        proved = shown(bound, bool(unit))
        return Verdict(False, f"rho has value {shown(value, bool(unit))} but the replies only prove {proved}{share}")
    if abs(value - claimed) > near + rounding(told + harm, unit):
        claim = text(certificate.value) if exact else shown(claimed, True)
        return Verdict(False, f"rho has value {shown(value, bool(unit))}, the certificate claims {claim}")
    if exact:
        return Verdict(True, f"{value} is optimal: rho attains it and no nested releases go below")
    return Verdict(True, f"{float(value):.12g} is within {max(float(value - bound), 0.0):.2g} of optimal")


def _in_floats(nest: Nest, certificate: TierCertificate) -> Verdict | None:
    """A verdict on large tables from floats with bounds on their rounding errors, if these are small enough to decide.

    A sum of n products >= 0 is off by at most (n + 2) u of itself; the doubled count covers the bounds' own rounding.
    """
    T, count = len(nest.tuples), sum(a.shape[2] for a in nest.arrays)
    rho, replies = floats(certificate.rho), [floats(u) for u in certificate.replies]
    shapes = [(int(nest.prefix(k)[-1]) + 1, a.shape[2]) for k, a in enumerate(nest.arrays)]
    if len(nest.p) * T * count < _MANY or rho.shape != (len(nest.p), T) or [u.shape for u in replies] != shapes:
        return None
    try:
        nest = Nest(nest.arrays, tuple(map(float, nest.lams)), tuple(map(float, nest.weights)))
        claimed = float(certificate.value)
    except OverflowError:
        return None
    if (rho < 0).any() or any((u < 0).any() for u in replies):
        return None
    totals, near = [w * lam for _, w, lam in nest.tiers], 0.5 * TOLERANCE
    sums = [
        (u[:, g].sum(axis=1), total) for a, u, total in zip(nest.arrays, replies, totals, strict=True) for g in a.groups
    ]
    p, mass = nest.p, rho.sum(axis=1)
    if (abs(mass - p) > near * p).any() or any((abs(own - total) > near * total).any() for own, total in sums):
        return None
    live = p > 0
    rho = np.where(live[:, None], rho * (p / np.where(live, mass, 1.0))[:, None], 0.0)
    replies = [a.on_simplex(u, total) for a, u, total in zip(nest.arrays, replies, totals, strict=True)]
    told, harm, bound = float(nest.told(rho)), float(nest.harm(rho)), nest.bound(replies)
    unit = 2 * (rho.size + T + count + 40) * UNIT
    ends = [(w, lam, *a.extremes()[1]) for a, w, lam in nest.tiers]
    nulls = sum(w * float(bob + lam * eve) for w, lam, bob, eve in ends)
    error = unit * (told + harm + nest.height(replies))
    slack = TOLERANCE * (float(nest.spread) - 2 * unit * nulls)
    value = told - harm
    if not (np.isfinite(error) and value - bound + error <= slack and abs(value - claimed) + error <= slack):
        return None
    return Verdict(True, f"{value:.12g} is within {max(value - bound + error, 0.0):.2g} of optimal")
