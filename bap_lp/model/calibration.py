"""lam: read from the user, or calibrated so that full and null release tie.

lam = (R_B^null - R_B^full) / (R_E^null - R_E^full), defined when Eve does better with the data than without.
"""

from __future__ import annotations

from typing import Any

from flint import fmpq

from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.rational import InputError, number, public


def calibrate(problem: Problem) -> Number:
    """The lam at which full and null releases tie: (R_B^null - R_B^full) / (R_E^null - R_E^full)."""
    (bob_full, eve_full), (bob_null, eve_null) = extremes(problem)
    if eve_null == eve_full or (not problem.exact and abs(eve_null - eve_full) <= 1e-15 * abs(eve_null)):
        raise InputError(
            "lam",
            "calibrated",
            "is undefined: Eve does no better with the data than without (R_E = "
            f"{public(eve_null)} for both full and null release)",
        )
    return public((bob_null - bob_full) / (eve_null - eve_full))


def extremes(problem: Problem) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """(R_B, R_E) of the full and of the null release, in working numbers."""
    p, losses = problem.p, [problem.B, *(problem.E[:, g] for g in problem.eve_groups)]
    full = [p.dot(loss.min(axis=1)) for loss in losses]
    null = [p.dot(loss).min() for loss in losses]
    zero = fmpq(0) if problem.exact else 0.0
    return (full[0], sum(full[1:], zero)), (null[0], sum(null[1:], zero))


def lam_of(problem: Problem, lam: Any) -> Any:
    """Read lam: "calibrated" or a non-negative number; returns a working number."""
    if isinstance(lam, str) and lam.strip().lower() == "calibrated":
        value = number(calibrate(problem), "lam")
    else:
        value = number(lam, "lam")
    if value < 0:
        raise InputError("lam", value, "must not be negative")
    return value
