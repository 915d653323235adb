"""lam: read from the user, or calibrated so that full and null release tie.

lam = (R_B^null - R_B^full) / (R_E^null - R_E^full), defined when Eve does better with the data than without.

In floats both differences are between sums of N non-negative products. A sum of n such terms is off by at most about
(n + 2) u of itself, u = 2^-53, however it is added up. Neither difference is negative; one that is smaller than its
error bound may be zero.
"""

from __future__ import annotations

from typing import Any

from bap_lp.model.arrays import UNIT
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.rational import InputError, number, public


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
    terms = 2 * (len(problem.p) + len(problem.eve_groups) + 4)  # doubled: the bound itself is a float
    bob, eve = (
        null - full if problem.exact or null - full > terms * UNIT * (null + full) else problem.arrays.field.zero
        for full, null in ((bob_full, bob_null), (eve_full, eve_null))
    )
    if eve == 0:
        rounding = "" if problem.exact else " within rounding"
        raise InputError(
            "lam",
            "calibrated",
            "is undefined: Eve does no better with the data than without (R_E = "
            f"{public(eve_null)} for both full and null release{rounding})",
        )
    return public(bob / eve)


def extremes(problem: Problem) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """(R_B, R_E) of the full and of the null release, in working numbers."""
    return problem.arrays.extremes()


def lam_of(problem: Problem, lam: Any) -> Any:
    """Read lam: "calibrated" or a non-negative number; returns a working number."""
    if isinstance(lam, str) and lam.strip().lower() == "calibrated":
        value = number(calibrate(problem), "lam")
    else:
        value = number(lam, "lam")
    if value < 0:
        raise InputError("lam", value, "must not be negative")
    if public(value) > 1e300 / max(float(problem.arrays.rounded.E.max()), 1.0):
        raise InputError("lam", value, "times Eve's largest loss must be at most 1e300")
    return value
