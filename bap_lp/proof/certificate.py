"""A proof of optimality that needs no solver: a channel, multipliers, and arithmetic with fractions.

A certificate has a channel and multipliers of the program that its problem, lam and conditions are lowered to
(`program.bound`). The channel is feasible and attains `value`; the multipliers prove a bound below which no mechanism
goes. Value, bound and the gap between them are computed here, never believed: with a gap of zero the channel is
optimal, and otherwise it is within the gap of optimal. Under determinism or a limit on signals the bound may go case by
case. Nothing here imports a solver, and there are no tolerances: a problem in floats is read as the fractions its
floats are, and its certificate is rational too.

Conditions are checked twice: by the rows of the program, and each by its definition, without the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from bap_lp.arguments import checked
from bap_lp.limits import limit, raising
from bap_lp.model.calibration import extremes
from bap_lp.model.display import Displayed, clean, equals, fraction, kind
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.twofold import value_and_bound
from bap_lp.notions.conditions import Conditions
from bap_lp.program.bound import Dual, NoProof, compact
from bap_lp.program.finish import priced
from bap_lp.program.prior_set import PriorSet
from bap_lp.proof.cases import Case
from bap_lp.proof.statement import (
    PRICES,
    Statement,
    listing,
    nearest,
    numbers_of,
    release_statement,
    reported,
    rounds,
    statement_of,
)
from bap_lp.rational import (
    EXACT,
    Array,
    InputError,
    ReadOnly,
    is_exact,
    lifted,
    public,
    shown,
    text,
)

_NONE = Conditions()
NEAR = 1e-6  # of the spread of a problem: the gap of a solution in floats that is called optimal
_FEW = 200  # products from which pairs of floats are faster than fractions


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
        cases: multipliers for parts of the mechanisms, where these are not a convex set.
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
        splits: the subdivision of the reports of every Bob who reports probabilities.

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
    splits: tuple[str, ...] = ()
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
        return verify(problem, self)

    def _weight(self, name: str) -> Number:
        return public(EXACT.zero + self.dual.weights[name].sum() if name in self.dual.weights else EXACT.zero)

    def _headline(self) -> str:
        if self.kind == "conflict":
            return f": conflict, {', '.join(self.conditions.given())}"
        at = f"{equals('R_A', self.value, fraction)} at {equals('lambda', self.lam, fraction)}"
        return f": {kind(self.exact)}, {at}" + ("" if self.conditions.empty else ", under conditions")


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
    <Verdict True: R_A = 3/40 is optimal: rho attains it and u proves that no mechanism goes below>
    """

    ok: bool
    reason: str
    value: Number | None = None
    bound: Number | None = None
    gap: Number | None = None
    optimal: bool = False

    def __bool__(self) -> bool:
        return self.ok

    def _headline(self) -> str:
        return f"{self.ok}: {clean(self.reason, 120)}"


@checked
def verify(
    problem: Problem | Sequence[Problem],
    certificate: Certificate,
    allow_float: bool = True,
    slack: float | None = None,
) -> Verdict:
    """Check a certificate with arithmetic alone: every number is computed again, in fractions.

    Args:
        problem: the problem that the certificate is about; a list of them for scenarios and tiers.
        certificate: what `solve`, `robust` or `tiers` returned as `certificate`, or one read from a file.
        allow_float: whether a proof about the problem in floats is good enough for exact numbers.
        slack: the largest gap that is acceptable; by default what the certificate itself states.

    Returns:
        The verdict: true if the channel is feasible and no mechanism is better by more than the gap, with the reason in
        words, and the value, bound and gap that were found.

    >>> from bap_lp import Problem, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> print(verify(coin, solve(coin).certificate).reason)
    R_A = 3/40 is optimal: rho attains it and u proves that no mechanism goes below
    >>> verify(coin, solve(coin, exact=False).certificate, allow_float=False).ok
    False
    """
    problems = [problem] if isinstance(problem, Problem) else list(problem)
    wrong = _misfit(problems, certificate, allow_float)
    if wrong:
        return Verdict(False, wrong)
    try:
        if certificate.kind == "conflict":
            return Verdict(True, _told(problems, certificate)[0].impossible(certificate.dual, certificate.cases))
        ends = _ends(problems, certificate)
    except InputError as error:
        return Verdict(False, f"its conditions do not fit the problem: {error}")
    except NoProof as error:
        return Verdict(False, str(error))
    return _judged(certificate, ends, certificate.gap if slack is None else slack)


@dataclass(frozen=True, eq=False)
class _Ends:
    """Value and bound, how in words the bound is proved, the problems they are about; whether the value is rounded."""

    value: Any
    bound: Any
    how: str
    problems: Sequence[Problem]
    rounded: bool = False


def _ends(problems: Sequence[Problem], certificate: Certificate) -> _Ends:
    """Both ends, computed; raises NoProof, and InputError if certificate and problems do not fit."""
    one, q = problems[0], certificate.channel
    assert q is not None
    forecast = bool(certificate.splits) or any(problem.forecasting for problem in problems)
    if certificate.kind == "priors" and not forecast:
        from bap_lp.proof.prior_proofs import ends_over_priors

        value, bound, attained = ends_over_priors(one, certificate)
        how = "rho attains it and the listed priors prove that no mechanism{} goes below"
        return _Ends(value, bound, how if attained else "", problems)
    free = certificate.kind == "release" and certificate.conditions.empty and not (certificate.reports or one.reporting)
    if free and not (one.misaligned or forecast):
        one = one if certificate.exact else one.as_float()
        _require_channel(q, one.shape[:2])
        return _Ends(*ends_of(one, certificate.lam, q, certificate.dual)[2:], "", [one])
    statement, told = _told(problems, certificate)
    channel = q if is_exact(q) else lifted(q)
    if wrong := statement.broken(channel):
        raise NoProof(wrong)
    value, rounded = statement.value(channel), rounds(statement.program)
    if told is None:
        return _Ends(value, *statement.bound(certificate.dual, certificate.cases, value), problems, rounded)
    value = value + told.excess(told.problem.p[:, None] * channel)
    bound = statement.program.bound(certificate.dual) - told.added
    return _Ends(value, bound, PRICES, [told.finite], rounded or told.rounds)


def _told(problems: Sequence[Problem], certificate: Certificate) -> tuple[Statement, Any]:
    """What a certificate says; where Bobs report probabilities, of a finite problem, which is the second part."""
    if not (certificate.splits or any(problem.forecasting for problem in problems)):
        return statement_of(problems, certificate), None
    from bap_lp.program.forecasts import ToldProblem

    if certificate.kind not in ("release", "conflict"):
        raise NoProof(f"{certificate.kind} need Bobs with tables of losses")
    if not all(kind.with_reports for kind in certificate.conditions.kinds().values()):
        raise NoProof("a condition is not possible with a Bob who reports probabilities")
    told = ToldProblem.of(numbers_of(problems, certificate)[0], certificate.splits)
    if certificate.kind == "conflict":
        return release_statement(told.finite, EXACT.zero, certificate.conditions, 0), told
    finite, lam = listing(told.finite, certificate), EXACT.number(certificate.lam)
    return release_statement(finite, lam, certificate.conditions), told


def _require_channel(q: Array, shape: tuple[int, int]) -> None:
    """Without conditions any channel over Bob's decisions is feasible."""
    if q.shape != shape:
        raise NoProof(f"the channel has shape {q.shape}, must have {shape}")
    total = q.sum(axis=1)
    if not is_exact(q) and (total != 1).any():
        total = lifted(q).sum(axis=1)
    if not (q >= 0).all() or (total != 1).any():
        raise NoProof("a row of the channel is not a distribution")


def _judged(certificate: Certificate, ends: _Ends, most: Any) -> Verdict:
    """The verdict on these ends, with a gap of at most so much."""
    value, bound, how, rounded = ends.value, ends.bound, ends.how, ends.rounded
    exact = certificate.exact
    found, low, gap = reported(value, bound, exact, rounded)
    exact = exact and not rounded
    if found != certificate.value:
        claim = text(certificate.value)
        return Verdict(False, f"the channel has value {shown(value, not exact)}, the certificate claims {claim}")
    if gap > most:
        low_text, high_text = shown(bound, not exact), shown(value, not exact)
        reason = f"rho has value {high_text} but the multipliers only prove {low_text}"
        return Verdict(False, reason, found, low, gap)
    conditioned = not certificate.conditions.empty or bool(certificate.conditions_of)
    what = {"scenarios": "the worst case ", "tiers": ""}.get(certificate.kind, "R_A = ")
    if certificate.kind == "priors":
        what = "over all priors of the set the worst R_A = " if how else "over all priors of the set R_A <= "
    under = " under the conditions" if conditioned else ""
    if gap == 0:
        if certificate.kind == "scenarios":
            how = "the mixture of scenarios proves that none goes below"
        elif certificate.kind == "tiers":
            how = "rho attains it and no nested releases go below"
        elif certificate.kind == "priors":
            how = how.format(" with these conditions" if conditioned else "") or "no mechanism goes below"
        elif not conditioned and not certificate.dual.weights:
            how = "rho attains it and u proves that no mechanism goes below"
        else:
            how = f"rho attains it and {how.format(' with these conditions' if conditioned else '')}"
        return Verdict(True, f"{what}{shown(value, not exact)} is optimal{under}: {how}", found, low, gap, True)
    if certificate.kind == "priors":  # where one prior leaves nothing to change, another may
        near_to = ends.problems[0].arrays.rounded
        spread = float(np.ptp(near_to.B)) + float(certificate.lam) * float(np.ptp(near_to.E))
    else:
        spread = sum(_spread(p, lam) for p, lam in zip(ends.problems, certificate.lams, strict=True))
    bracketed = certificate.kind == "priors" or bool(certificate.splits or certificate.reports)
    near = (not exact or bracketed) and bool(gap <= NEAR * spread)
    reason = f"{what}{shown(value, not exact)} is within {nearest(gap):.2g} of optimal{under}"
    return Verdict(True, reason, found, low, gap, near)


def _spread(problem: Problem, lam: Number) -> float:
    """What the release can change."""
    if not problem.reporting:
        return float(problem.arrays.rounded.spread(float(lam)))
    (bob, eve), (null_bob, null_eve) = extremes(problem)
    return float(null_bob - bob + EXACT.number(lam) * (null_eve - eve))


def _misfit(problems: Sequence[Problem], certificate: Certificate, allow_float: bool) -> str:
    if certificate.kind not in ("release", "conflict", "scenarios", "tiers", "priors"):
        return f"a certificate of kind {certificate.kind[:40]!r} is not known"
    several = certificate.kind in ("scenarios", "tiers") or bool(certificate.conditions_of)
    if len(problems) != (len(certificate.lams) if several else 1):
        return f"the certificate is about {len(certificate.lams)} problems, there are {len(problems)}"
    if any(tuple(problem.states) != tuple(problems[0].states) for problem in problems[1:]):
        return "the problems have different states"
    if certificate.kind == "tiers" and len(certificate.tier_weights) != len(problems):
        return f"the certificate has {len(certificate.tier_weights)} weights, there are {len(problems)} tiers"
    asked = (certificate.conditions, *certificate.conditions_of)
    if (several and not certificate.conditions.empty) or len(asked) not in (1, 1 + len(problems)):
        return "scenarios and tiers have conditions each"
    able = all(problem.exact for problem in problems) and all(one.exact for one in asked)
    able = able and (certificate.priors is None or certificate.priors.exact)
    if (certificate.priors is None) != (certificate.kind != "priors"):
        return "a set of priors belongs to a certificate of that kind"
    if certificate.exact and not able:
        return "the certificate is exact and the problem or a condition is not"
    if able and not certificate.exact and not allow_float:
        return "the numbers of the problem are exact and those of the certificate are floats"
    if any(lam < 0 for lam in certificate.lams):
        return f"lambda = {text(min(certificate.lams))} is negative"
    if any(not w > 0 for w in certificate.tier_weights):
        return "the weights of tiers must be positive"
    if certificate.kind != "conflict" and certificate.channel is None:
        return "the certificate has no channel"
    if not certificate.exact:
        for problem in problems:
            rounded = problem.as_float()
            if rounded.forecasting:
                continue
            if not (np.isfinite(rounded.B).all() and (problem.reporting or np.isfinite(rounded.E).all())):
                return "the numbers of the problem are too large for floats"
    return ""


def settled(problem: Problem, lam: Any, u: Array) -> Dual:
    """Float replies of Eve as rationals that are not negative and sum to lam."""
    return priced(compact(_no_states(problem), EXACT.number(lam)), Dual({"eve": u}, {}))


def _no_states(problem: Problem) -> Arrays:
    (_, b, e), zero = problem.shape, EXACT.zeros((1, 1))
    return Arrays(zero[0], np.repeat(zero, b, axis=1), np.repeat(zero, e, axis=1), problem.eve_groups)


def ends_of(problem: Problem, lam: Any, channel: Array, dual: Dual) -> tuple[Any, Any, Any, Any]:
    """(R_B, R_E, R_A, bound) of a channel over Bob's decisions and Eve's replies, without conditions; raises NoProof.

    In rationals, or for larger tables of floats both ends of R_A, moved apart by all rounding.
    """
    if not problem.exact:
        ends = _twofold_ends(problem, lam, channel, dual)
        if ends is not None:
            return ends
    if not problem.exact and channel.size * problem.shape[2] > limit("work"):
        raise NoProof(f"fractions need {channel.size * problem.shape[2]} steps {raising('work')}")
    arrays, price = problem.exactly.arrays, EXACT.number(lam)
    rho = arrays.p[:, None] * (channel if is_exact(channel) else lifted(channel))
    bob, eve = arrays.told_risk(rho), arrays.eve_risk(rho)
    return bob, eve, bob - price * eve, compact(arrays, price).bound(dual)


def _twofold_ends(problem: Problem, lam: Any, q: Array, dual: Dual) -> tuple[Any, Any, Any, Any] | None:
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


verify_tiers = verify_robust = verify
