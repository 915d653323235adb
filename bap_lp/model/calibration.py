"""lam: read from the user, or calibrated so that full and null release tie.

lam = (R_B^null - R_B^full) / (R_E^null - R_E^full), defined when Eve does better with the data than without.

In floats both differences are between sums of N non-negative products. A sum of n such terms is off by at most about
(n + 2) u of itself, u = 2^-53, however it is added up. Neither difference is negative; one that is smaller than its
error bound may be zero.

With agents who act on beliefs of their own the two releases are scored by what Alice counts, and both differences may
have any sign: full and null release tie at the ratio if it is not negative.
"""

from __future__ import annotations

from typing import Any

from bap_lp.model.agents import counted_loss
from bap_lp.model.beliefs import replies
from bap_lp.model.mechanism import degenerate
from bap_lp.model.problem import Problem
from bap_lp.support.rational import EXACT, UNIT, InputError, number, public, stated
from bap_lp.support.risks import Number

_LONGEST = 1e5  # beyond all logarithms of numbers that files hold


def calibrate(problem: Problem) -> Number:
    """The lam at which full and null releases tie: (R_B^null - R_B^full) / (R_E^null - R_E^full).

    Args:
        problem: the problem.

    Returns:
        lam, exact if the problem is; 0 if Bob gains nothing from the data, within rounding.

    Raises:
        InputError: Eve gains nothing from the data, or in floats so little that rounding could explain it.

    >>> from bap_lp import Problem, calibrate
    >>> print(calibrate(Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])))
    1/3
    """
    (bob_full, eve_full), (bob_null, eve_null) = extremes(problem)
    if problem.reporting:
        rounding = EXACT.zero if problem.exact else EXACT.number(4 * (len(problem.p) + 6) * UNIT * float(eve_null))
        if abs(eve_null - eve_full) <= rounding:
            raise InputError("lam", "calibrated", "is undefined: Eve does no better with the data than without")
        logs = any(one.kind == "log" for one in problem.reporters.values())
        # with logarithms the tie is irrational: the nearest float is taken
        return stated((bob_null - bob_full) / (eve_null - eve_full), problem.exact and not logs)
    terms = 2 * (len(problem.p) + len(problem.eve_groups) + 4)  # doubled: the bound itself is a float
    if problem.misaligned:
        same = not problem.exact and abs(eve_null - eve_full) <= terms * UNIT * (eve_null + eve_full)
        if same or eve_null == eve_full:
            rule = "is undefined: Alice counts the same R_E for full and null release"
            raise InputError("lam", "calibrated", rule)
        tie = (bob_null - bob_full) / (eve_null - eve_full)
        if tie < 0:
            why = "has the smaller R_B and the larger R_E as Alice counts them"
            raise InputError("lam", "calibrated", f"is undefined: the same release, full or null, {why}")
        return public(tie)
    bob, eve = (
        null - full if problem.exact or null - full > terms * UNIT * (null + full) else problem.arrays.field.zero
        for full, null in ((bob_full, bob_null), (eve_full, eve_null))
    )
    if eve == 0:
        both = f"{public(eve_null)} for both full and null release" + ("" if problem.exact else " within rounding")
        rule = f"is undefined: Eve does no better with the data than without (R_E = {both})"
        raise InputError("lam", "calibrated", rule)
    return public(bob / eve)


def _reported_extremes(problem: Problem) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """In rationals, log risks rounded down. Who sees the data reports them, and loses nothing."""
    p, full, null = problem.p[:, None], EXACT.zero, EXACT.zero
    for k, (n, _) in enumerate(problem.eve_views):
        if k in problem.reporters:
            null = null + problem.reporters[k].risk_ends(p)[0]
        else:
            share = 1 if problem.eve_shares is None else problem.eve_shares[:, [k]]
            losses = p * share * counted_loss(problem.eves[n])
            full, null = full + losses.min(axis=1).sum(), null + losses.sum(axis=0).min()
    losses = p * problem.B
    return (losses.min(axis=1).sum(), full), (losses.sum(axis=0).min(), null)


def extremes(problem: Problem) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """(R_B, R_E) of the full and of the null release, in working numbers."""
    if problem.misaligned:
        rows = len(problem.p)
        ends, bobs, zero = [], len(problem.bobs), problem.arrays.field.zero
        for to in (range(rows), [0] * rows):
            q = degenerate(to, max(to) + 1, problem.exact)
            counted = [losses.sum() for _, losses, _ in replies(problem, q, problem.p[:, None] * q)]
            ends.append((sum(counted[:bobs], zero), sum(counted[bobs:], zero)))
        return ends[0], ends[1]
    if problem.reporting:
        return _reported_extremes(problem.exactly)
    return problem.arrays.extremes()


def lam_of(problem: Problem, lam: Any) -> Any:
    """Read lam: "calibrated" or a non-negative number; returns a working number."""
    if isinstance(lam, str) and lam.strip().lower() == "calibrated":
        value = number(calibrate(problem), "lam")
    else:
        value = number(lam, "lam")
    if value < 0:
        raise InputError("lam", value, "must not be negative")
    largest = _LONGEST if problem.reporting else max(float(problem.arrays.rounded.E.max()), 1.0)
    if value > 1 and public(value) > 1e300 / largest:  # losses are at most 1e300
        raise InputError("lam", value, "times Eve's largest loss must be at most 1e300")
    return value
