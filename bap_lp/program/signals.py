"""Which signals are needed: one per decision of Bob, or one per tuple of everybody's decisions.

Pool the signals on which Bob takes the same decision i. R_B stays and R_E can only rise, and a condition that survives
post-processing stays too: one signal per decision of Bob is enough. A condition about the decisions themselves, such as
a margin, survives pooling only where Bob and all Eves decide alike; both risks stay. One signal per tuple is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from bap_lp.limits import limit, raising
from bap_lp.model.labels import joints
from bap_lp.model.problem import Problem
from bap_lp.rational import Array, InputError, ReadOnly


@dataclass(frozen=True, eq=False)
class Signals(ReadOnly):
    """bob[s]: the decision told to Bob; eve[s,g]: in tuples, the column of E prescribed to Eve g."""

    bob: Array
    eve: Array | None
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.bob)

    def only(self, keep: Sequence[int]) -> Signals:
        eve = None if self.eve is None else self.eve[list(keep)]
        return Signals(self.bob[list(keep)], eve, tuple(self.names[s] for s in keep))


def signals_of(problem: Problem, tuples: bool) -> Signals:
    """One signal per decision of Bob, or one per tuple of everybody's decisions."""
    b = problem.shape[1]
    if not tuples:
        return Signals(np.arange(b), None, problem.bob_decisions)
    sizes = [g.stop - g.start for g in problem.eve_groups]
    for name, size in (("columns", b * prod(sizes)), ("cells", b * prod(sizes) * len(problem.p))):
        if size > limit(name):
            rule = f"needs {b * prod(sizes)} signals, one per tuple of decisions: more than {limit(name)} {name}"
            raise InputError("margin", None, f"{rule} {raising(name)}")
    table = np.indices((b, *sizes)).reshape(1 + len(sizes), -1).T
    eves = [problem.eves[n].decisions or () for n, _ in problem.eve_views]
    names = tuple(joints([problem.bob_decisions, joints(eves)], " / "))
    return Signals(table[:, 0], table[:, 1:] + np.array([g.start for g in problem.eve_groups]), names)
