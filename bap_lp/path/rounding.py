"""A float path under conditions, finished in rationals: the exact path of the rationals that its floats are, rounded.

Where losses or probabilities lie many powers of ten apart, float solutions leave gaps above the tolerance of
certificates, and a bound computed in floats may be off by more than that. The exact path has no gaps. What rounding its
channels and multipliers leaves is measured as in `envelope`, with bounds computed in rationals.
"""

from __future__ import annotations

from typing import Any

from bap_lp.notions.conditions import Conditions
from bap_lp.conditions.lagrangian import Multipliers
from bap_lp.path.envelope import Stretch, SupportLine, envelope
from bap_lp.programs.conditioned import best_channel
from bap_lp.programs.layout import ChannelLayout
from bap_lp.proof.conditional import proved
from bap_lp.rational import EXACT, FLOAT, UNIT, InputError, float_below, floats

_MOST = 400  # probabilities of a program whose path is finished in rationals
Rounded = tuple[list[Stretch], SupportLine, float]  # the pieces, the most private mechanism, and the tolerance


def rounded_path(layout: ChannelLayout, conditions: Conditions) -> Rounded | None:
    """The exact path in floats; None if it is too large, or if the conditions cannot hold in rationals."""
    if conditions.combinatorial or layout.weights.size > _MOST:
        return None
    deep = layout.lifted(conditions)
    demands = [demand for demand in deep.demands if demand.priced]

    def at(lam: Any, bob_weight: int = 1) -> SupportLine:
        best, bound, _, _ = best_channel(deep, lam, conditions, bob_weight)
        sent = deep.sent(best.q)
        return SupportLine(best.q, sent.told_risk, sent.eve_risk, best.dual, bound)

    def rounded(line: SupportLine, dual: Multipliers, lam: float, bob_weight: int = 1) -> SupportLine:
        q = floats(line.table)
        q = q / q.sum(axis=1, keepdims=True)
        sent, prices = layout.sent(q), dual.in_field(FLOAT)
        price, near = EXACT.number(lam), EXACT.number(10 * FLOAT.tolerance)
        wrong, bound = proved(deep.whole, demands, deep.signals, price, prices.in_field(EXACT), near, None, bob_weight)
        if wrong:
            raise ArithmeticError(f"the rounded multipliers do not verify: {wrong}")
        return SupportLine(q, sent.told_risk, sent.eve_risk, prices, float_below(bound))

    try:
        last = at(EXACT.one, 0)
        exact, _ = envelope(deep.arrays, at, last, None)
        end = rounded(last, last.dual, 1.0, 0)
        found: list[Stretch] = []
        gaps = [0.0]
        for start, dual, vertex in exact:
            lam = float(start)
            line = rounded(vertex, dual, lam)
            before = found[-1][2] if found else None
            if before is None or (line.bob > before.bob and line.eve > before.eve and lam > found[-1][0]):
                found.append((lam, line.dual, line))
            elif line.eve > before.eve:  # two pieces are one within rounding: the line that is lower for large lam
                found[-1] = (*found[-1][:2], line)
            gaps.append((found[-1][2].at(lam) - line.bound) / layout.arrays.size(lam))
    except (InputError, ArithmeticError):
        return None
    gaps.append((-end.bound - found[-1][2].eve) / max(float(layout.arrays.E.max()), 1e-300))
    return found, end, 2 * max(gaps) + 8 * (len(layout.arrays.p) + 40) * UNIT
