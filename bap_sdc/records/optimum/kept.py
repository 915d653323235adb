"""Releases of records that send only some decisions, the best of each part, without a proof.

A combination of published levels that is too rare must not be sent. The costs are then no sums over columns any more:
they are laid out part by part, and a part is the same transportation problem, or the same program of priced columns, on
the decisions that are left. What such a release is worth is told by its risks; the bound is that of all decisions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.support.clock import check
from bap_lp.support.rational import Array, floats, is_exact, lifted
from bap_sdc.records.optimum.optimise import expanded, laid_out, merged_records, plan, rows_on_grid
from bap_sdc.records.optimum.parts import parts_of
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.result import RecordComponent, joint_table


class KeptDecisions:
    """A program at lam, ready to be solved on some of its decisions and for some of its records."""

    def __init__(self, program: RecordProgram, lam: Any) -> None:
        self.program = program
        self.small, self.index = merged_records(program)
        self.parts = parts_of(self.small)
        self.plans = [plan(self.small, self.parts, members, lam) for members in self.parts.members]

    def rows(self, kept: Array, wanted: Array) -> tuple[Array, Array, Array]:
        """(record type, decision, q) of the records that are wanted (as flags), sorted, q rational."""
        small, found = np.zeros(len(self.small.p), dtype=bool), []
        small[self.index[wanted]] = True
        free = self.parts.free[small[self.parts.free]]
        if len(free):
            cost = laid_out([floats(table) for table in self.small.losses], self.small.codes[free])[:, kept]
            best = kept[cost.argmin(axis=1)]
            found.append(RecordComponent(free, np.arange(len(free)), best, self.small.p[free], (), None))
        for task, states, groups in self.plans:
            if small[states].any():
                check()
                a = replace(task, kept=kept).solve()
                found.append(RecordComponent(states, a.row, a.decision, a.rho, groups, None))
        parts = [expanded(self.program, self.small, self.index, part) for part in found]
        state, decision, rho = joint_table(parts)
        q = rho / self.program.p[state]
        if not is_exact(q):
            q = lifted(rows_on_grid(state, q))
            state, decision, q = (a[np.flatnonzero(q != 0)] for a in (state, decision, q))
        return state, decision, q
