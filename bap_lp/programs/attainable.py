"""What is attainable: an infeasible combination of conditions is refused with the range of the one that cannot hold.

R_E is largest under the null release, which is deterministic, private and sends one signal; R_B is smallest under the
full release. With more conditions the ends of the ranges are optima of the same program: min R_B, or max R_E.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flint import fmpq

from bap_lp.conditions.conditions import Limits
from bap_lp.model.calibration import extremes
from bap_lp.model.problem import Problem
from bap_lp.programs.conditional_optimum import Infeasible, optimum, risk_pair
from bap_lp.programs.constrained import Data
from bap_lp.proof.certificate import TOLERANCE
from bap_lp.rational import InputError, public


def within_range(problem: Problem, limits: Limits) -> None:
    """Refuse a floor above the null release's R_E or a cap below the full release's R_B."""
    (bob_full, eve_full), (bob_null, eve_null) = (tuple(map(public, pair)) for pair in extremes(problem))
    loose = 0 if problem.exact else TOLERANCE
    if limits.floor is not None and public(limits.floor) > eve_null * (1 + loose):
        rule = f"is not attainable: R_E lies between {eve_full} (full release) and {eve_null} (null release)"
        raise InputError("min_eve_risk", public(limits.floor), rule + ", which is the most private of all")
    if limits.cap is not None and public(limits.cap) < bob_full * (1 - loose):
        rule = f"is not attainable: R_B lies between {bob_full} (full release) and {bob_null} (null release)"
        raise InputError("max_bob_risk", public(limits.cap), rule)


def refusal(data: Data, problem: Problem) -> InputError:
    """Why the conditions cannot hold together, and which value of one of them could."""
    limits = data.limits
    zero = fmpq(0) if data.exact else 0.0
    if limits.margin is not None and not _feasible(replace(data, limits=replace(limits, floor=None, cap=None))):
        full, null = (public(margin_of(problem, kind)) for kind in (False, True))
        rule = f"is not attainable: full release leaves a margin of {full}, null release {null}, no mechanism that much"
        return InputError("margin", public(limits.margin), rule)
    if limits.cap is not None:
        without = replace(data, limits=replace(limits, cap=None))
        if _feasible(without):
            low = risk_pair(without, optimum(without, zero).q)[0]
            rule = f"cannot be met: under the other conditions R_B is at least {public(low)}"
            return InputError("max_bob_risk", public(limits.cap), rule)
    without = replace(data, limits=replace(limits, floor=None))
    high = risk_pair(without, optimum(without, zero + 1, 0).q)[1]
    rule = f"cannot be met: under the other conditions R_E is at most {public(high)}"
    return InputError("min_eve_risk", public(limits.floor), rule)


def _feasible(data: Data) -> bool:
    try:
        optimum(data, fmpq(0) if data.exact else 0.0)
    except Infeasible:
        return False
    return True


def margin_of(problem: Problem, null: bool) -> Any:
    """The smallest margin by which a decision is preferred at a signal of the null or the full release."""
    tables = [problem.B, *(problem.E[:, g] for g in problem.eve_groups)]
    out = []
    for table in tables:
        rows = [problem.p.dot(table)] if null else [r for r, mass in zip(table, problem.p, strict=True) if mass > 0]
        for row in rows:
            best = sorted(row)
            if len(best) > 1:
                out.append(best[1] - best[0])
    return min(out, default=0 * problem.p[0])
