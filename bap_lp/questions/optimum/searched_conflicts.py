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
from bap_lp.engines.linear.highs import SolverError
from bap_lp.engines.solve import Infeasible
from bap_lp.notions.base import Notion
from bap_lp.proof.cases import Case
from bap_lp.proof.conflict import ConflictError
from bap_lp.questions.optimum.asked import AskedProblem
from bap_lp.questions.optimum.attainable import laid, proved_conflict
from bap_lp.questions.optimum.search import NothingFound, searched


def searched_refusal(asked: AskedProblem, lam: Any, bob_weight: int, cases: tuple[Case, ...]) -> ConflictError:
    """Why no deterministic mechanism, or none with so few signals, meets the conditions; the cases prove it."""
    layout = asked.layout
    conflict: list[tuple[str, Notion]] = []
    for demand in layout.demands:
        if demand.convex:
            conflict += [(part.label, part.at(part.value)) for part in demand.parts(layout.whole, layout.signals)]
        else:
            conflict.append((demand.name, demand))
    for one in list(conflict):
        fewer = [other for other in conflict if other is not one]
        try:
            if not _possible(asked, [demand for _, demand in fewer], lam, bob_weight):
                conflict = fewer
        except (OutOfTime, SolverError):
            continue
    labels = [label for label, _ in conflict]
    name = next((name for name in ("deterministic", "max_signals") if name in labels), labels[0])
    others = ", ".join(label for label in labels if label != name)
    rule = f"cannot be met together with {others}" if others else "cannot be met"
    error = ConflictError(name, getattr(asked.conditions, name, None), rule)
    error.conflict = tuple(labels)
    error.proof = proved_conflict(asked, cases)
    return error


def _possible(asked: AskedProblem, demands: list[Notion], lam: Any, bob_weight: int) -> bool:
    fewer = asked.demanding(laid(asked.layout, demands))
    try:
        relaxed = fewer.relaxed(lam, bob_weight)
        if fewer.deterministic or fewer.most is not None:
            searched(fewer, lam, relaxed, bob_weight)
    except (Infeasible, NothingFound):
        return False
    return True
