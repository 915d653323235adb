"""What is attainable: an infeasible combination of conditions is refused with the range of the one that cannot hold.

R_E is largest under the null release, which is deterministic, private and sends one signal; R_B is smallest under the
full release. With more conditions the ends of the ranges are optima of the same program: min R_B, or max R_E.
"""

from __future__ import annotations

from typing import Any

from bap_lp.linear.optimum import Infeasible
from bap_lp.model.calibration import extremes
from bap_lp.model.problem import Problem
from bap_lp.programs.constrained import ChannelLayout, ChannelProgram
from bap_lp.rational import InputError, public


def within_range(layout: ChannelLayout) -> None:
    """Refuse a floor above the null release's R_E or a cap below the full release's R_B."""
    (bob_full, eve_full), (bob_null, eve_null) = (tuple(map(public, pair)) for pair in extremes(layout.problem))
    loose, limits = public(layout.arrays.field.tolerance), _limits(layout)
    floor, cap = limits.get("min_eve_risk"), limits.get("max_bob_risk")
    if floor is not None and floor > eve_null * (1 + loose):
        rule = f"is not attainable: R_E lies between {eve_full} (full release) and {eve_null} (null release)"
        raise InputError("min_eve_risk", floor, rule + ", which is the most private of all")
    if cap is not None and cap < bob_full * (1 - loose):
        rule = f"is not attainable: R_B lies between {bob_full} (full release) and {bob_null} (null release)"
        raise InputError("max_bob_risk", cap, rule)


def refusal(layout: ChannelLayout) -> InputError:
    """Why the conditions cannot hold together, and which value of one of them could."""
    limits, zero = _limits(layout), layout.arrays.field.zero
    if "margin" in limits and not _feasible(layout.without("min_eve_risk", "max_bob_risk")):
        full, null = (public(margin_of(layout.problem, kind)) for kind in (False, True))
        rule = f"is not attainable: full release leaves a margin of {full}, null release {null}, no mechanism that much"
        return InputError("margin", limits["margin"], rule)
    without = layout.without("max_bob_risk")
    if "max_bob_risk" in limits and _feasible(without):
        low = public(without.sent(ChannelProgram(without, zero).solve().q).told_risk)
        rule = f"cannot be met: under the other conditions R_B is at least {low}"
        return InputError("max_bob_risk", limits["max_bob_risk"], rule)
    without = layout.without("min_eve_risk")
    if "min_eve_risk" in limits and _feasible(without):
        high = public(without.sent(ChannelProgram(without, zero + 1, 0).solve().q).eve_risk)
        rule = f"cannot be met: under the other conditions R_E is at most {high}"
        return InputError("min_eve_risk", limits["min_eve_risk"], rule)
    return InputError("conditions", None, "cannot be met together: " + ", ".join(d.name for d in layout.demands))


def _limits(layout: ChannelLayout) -> dict[str, Any]:
    """The numbers of floor, cap and margin."""
    found = {d.name: getattr(d, "limit", getattr(d, "margin", None)) for d in layout.demands}
    return {name: public(value) for name, value in found.items() if value is not None}


def _feasible(layout: ChannelLayout) -> bool:
    try:
        ChannelProgram(layout, layout.arrays.field.zero).solve()
    except Infeasible:
        return False
    return True


def margin_of(problem: Problem, null: bool) -> Any:
    """The smallest margin by which a decision is preferred at a signal of the null or the full release."""
    tables = [problem.B, *(problem.E[:, g] for g in problem.eve_groups)]
    whole, shares = problem.arrays.field.full(len(problem.p), 1), problem.eve_shares
    weights = [whole] + [whole if shares is None else shares[:, k] for k in range(len(problem.eve_groups))]
    out = []
    for table, share in zip(tables, weights, strict=True):
        live = (problem.p > 0) & (share > 0)
        rows = [problem.p.dot(table) / problem.p.dot(share)] if null and live.any() else []
        rows = rows if null else [row / part for row, part in zip(table[live], share[live], strict=True)]
        for row in rows:
            best = sorted(row)
            if len(best) > 1:
                out.append(best[1] - best[0])
    return min(out, default=0 * problem.p[0])
