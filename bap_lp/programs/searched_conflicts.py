"""Which conditions are in conflict where the mechanism must be deterministic, or send few signals.

These mechanisms are no convex set: the proof goes case by case, with the branches of the search, or tries all maps if
they are few. Which of the conditions are in conflict is found by a deletion filter, as in `attainable`: leave out one
condition after the other, determinism and the limit on signals included, and keep it out if a search shows that the
rest is still impossible. A condition stays in the conflict if the search without it was given up, at its limit of nodes
or of time.
"""

from __future__ import annotations

from typing import Any

from bap_lp.clock import OutOfTime
from bap_lp.conditions.base import Condition
from bap_lp.conditions.conditions import Conditions
from bap_lp.linear.highs import SolverError
from bap_lp.linear.optimum import Infeasible
from bap_lp.programs.attainable import laid
from bap_lp.programs.branch_and_bound import NothingFound, combinatorial
from bap_lp.programs.constrained import ChannelLayout, ChannelProgram
from bap_lp.proof.branches import Branch
from bap_lp.proof.infeasible import ConflictError, Infeasibility


def searched_refusal(
    layout: ChannelLayout, conditions: Conditions, lam: Any, bob_weight: int, branches: tuple[Branch, ...]
) -> ConflictError:
    """Why no deterministic mechanism, or none with so few signals, meets the conditions; the branches prove it."""
    arrays = layout.problem.arrays
    conflict: list[tuple[str, Condition]] = []
    for demand in layout.demands:
        if demand.priced:
            conflict += [(part.label, part.at(part.value)) for part in demand.parts(arrays, layout.signals)]
        else:
            conflict.append((demand.name, demand))
    for one in list(conflict):
        fewer = [other for other in conflict if other is not one]
        try:
            if not _possible(laid(layout, [demand for _, demand in fewer]), lam, bob_weight):
                conflict = fewer
        except (OutOfTime, SolverError):
            continue
    labels = [label for label, _ in conflict]
    name = next((name for name in ("deterministic", "max_signals") if name in labels), labels[0])
    others = ", ".join(label for label in labels if label != name)
    rule = f"cannot be met together with {others}" if others else "cannot be met"
    error = ConflictError(name, getattr(conditions, name, None), rule)
    error.conflict = tuple(labels)
    nothing = layout.problem.arrays.field.zeros((len(layout.signals), arrays.shape[2]))
    proof = Infeasibility(conditions, nothing, {}, branches)
    error.proof = proof if proof.verify(layout.problem) else None
    return error


def _possible(layout: ChannelLayout, lam: Any, bob_weight: int) -> bool:
    low = layout.lowered
    try:
        relaxed = ChannelProgram(low, lam, bob_weight).solve()
        if low.deterministic or low.most is not None:
            combinatorial(low, lam, relaxed, bob_weight)
    except (Infeasible, NothingFound):
        return False
    return True
