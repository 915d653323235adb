"""Certificates checked: value and bound are computed from problem, channel and multipliers, never believed.

Under determinism the bound may go case by case. Conditions are checked twice: by the rows of the program, and each by
its definition, without the program. Nothing here imports a solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from bap_lp.model.calibration import extremes
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.program.bound import NoProof
from bap_lp.proof.binding import finer_verdict, other_mechanism
from bap_lp.proof.certificate import NEAR, Certificate, Verdict, ends_of, nearest, reported
from bap_lp.proof.statement import (
    rounds,
    statement_of,
)
from bap_lp.support.rational import EXACT, Array, InputError, is_exact, lifted, shown, text
from bap_lp.support.risks import Number


def verify(
    problem: Problem | Sequence[Problem],
    certificate: Certificate,
    mechanism: Mechanism | None = None,
    allow_float: bool = True,
    slack: float | None = None,
) -> Verdict:
    """Check a certificate with arithmetic alone: every number is computed again, in fractions.

    Args:
        problem: the problem that the certificate is about; a list of them for scenarios and tiers.
        certificate: what `solve`, `robust` or `tiers` returned as `certificate`, or one read from a file.
        mechanism: if given, it must also be the one that the certificate proves; of tiers that of the last one.
        allow_float: whether a proof about the problem in floats is good enough for exact numbers.
        slack: the largest gap that is acceptable; by default what the certificate itself states.

    Returns:
        The verdict: true if the channel is feasible and no mechanism is better by more than the gap, with the reason in
        words, and the value, bound and gap that were found.

    >>> from bap_lp import Mechanism, Problem, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> print(verify(coin, solve(coin).certificate).reason)
    R_A = 3/40 is optimal: rho attains it and u proves that no mechanism goes below
    >>> verify(coin, solve(coin, exact=False).certificate, allow_float=False).ok
    False
    >>> other = verify(coin, solve(coin).certificate, Mechanism([[1, 0], [0, 1]]))
    >>> print(*other.reason.split(": "), sep="\\n")
    the mechanism is not the one that is proved
    in state 1 it sends 0 with probability 0, the proof says 3/10
    """
    problems = [problem] if isinstance(problem, Problem) else list(problem)
    if slack is not None and not (isinstance(slack, Real) and slack >= 0):
        raise InputError("slack", None, f"must be a number that is not negative, is {slack!r:.40}")
    wrong, finer = "", None
    try:
        if mechanism is not None:
            wrong, finer = other_mechanism(problems, mechanism, certificate)
        if wrong := wrong or _misfit(problems, certificate, allow_float):
            return Verdict(False, wrong)
        if certificate.kind == "conflict":
            return Verdict(True, statement_of(problems, certificate).impossible(certificate.dual, certificate.cases))
        ends = _ends(problems, certificate)
    except InputError as error:
        return Verdict(False, f"its conditions do not fit the problem: {error}")
    except NoProof as error:
        return Verdict(False, str(error))
    verdict = _judged(certificate, ends, certificate.gap if slack is None else slack)
    if verdict and finer is not None and mechanism is not None:
        return finer_verdict(problems[0], mechanism, certificate, finer, verdict)
    return verdict


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
    if certificate.kind == "priors":
        from bap_lp.proof.prior_proofs import ends_over_priors

        value, bound, attained = ends_over_priors(one, certificate)
        how = "rho attains it and the listed priors prove that no mechanism{} goes below"
        return _Ends(value, bound, how if attained else "", problems)
    free = certificate.kind == "release" and certificate.conditions.empty and not (certificate.reports or one.reporting)
    if free and not one.misaligned:
        one = one if certificate.exact else one.as_float()
        _require_channel(q, one.shape[:2])
        return _Ends(*ends_of(one, certificate.lam, q, certificate.dual)[2:], "", [one])
    statement = statement_of(problems, certificate)
    channel = q if is_exact(q) else lifted(q)
    if wrong := statement.broken(channel):
        raise NoProof(wrong)
    value = statement.value(channel)
    bound, how = statement.bound(certificate.dual, certificate.cases, value)
    return _Ends(value, bound, how, problems, rounds(statement.program))


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
    bracketed = certificate.kind == "priors" or bool(certificate.reports)
    near = (not exact or bracketed) and nearest(value - bound) <= NEAR * spread
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
    if certificate.kind in ("scenarios", "tiers", "priors") and certificate.reports:
        return f"{certificate.kind} need agents with tables of losses"
    if certificate.cases and not certificate.conditions.deterministic:
        return "cases need determinism"
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
            if not (np.isfinite(rounded.B).all() and (problem.reporting or np.isfinite(rounded.E).all())):
                return "the numbers of the problem are too large for floats"
    return ""
