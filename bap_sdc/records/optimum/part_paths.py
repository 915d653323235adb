"""The path of a program of records: R_B and R_E of the optimum for every lam at once, part by part.

Parts do not depend on each other, so V(lam) = min R_B - lam R_E is the sum of what the parts contribute, each a concave
function with few pieces. With the least loss of every row subtracted, a record that no Eve can use contributes nothing,
and the null release of a part (everything at one signal) has its largest R_E: it is the last line of its envelope.
Lines cross at rationals, so every breakpoint is exact. Floats are solved as the fractions they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.program.bound import Dual
from bap_lp.questions.path.lower_envelope import Stretch, SupportLine, envelope
from bap_lp.support.clock import check, remaining, time_limited
from bap_lp.support.rational import EXACT, Array
from bap_sdc.records.optimum.optimise import merged_records, plan
from bap_sdc.records.optimum.parts import parts_of
from bap_sdc.records.optimum.program import RecordProgram, TableEve
from bap_sdc.records.optimum.risks import column_risks, eve_risk, extremes_of, summed
from bap_sdc.records.pricing.workers import Workers
from bap_sdc.records.pricing.workers import answers as solved_parts

PathProgress = Callable[[int, int], None]  # record types done, of how many
_NOTHING = Dual({}, {})


@dataclass(frozen=True, eq=False)
class PathPiece:
    """From lam = start on: the part of each published column in R_B (weighted), and each Eve's own risk."""

    start: Any
    columns: tuple[Any, ...]
    eves: tuple[Any, ...]


class _ExactScale:
    """Exact lines are equal or different: nothing depends on the size of the losses."""

    field, B, E = EXACT, np.ones(1), np.ones(1)

    def size(self, lam: Any) -> float:
        return 1.0


@dataclass(frozen=True, eq=False)
class _PartPath:
    """What a worker needs for the envelope of one part: its task, and the losses that its records can suffer."""

    task: Any
    p: Array
    codes: Array
    losses: tuple[Array, ...]
    eves: tuple[TableEve, ...]
    deadline: float

    @property
    def effort(self) -> float:
        return 30.0 * float(self.task.effort)

    def _line(self, state: Array, decision: Array, rho: Array) -> SupportLine:
        columns = column_risks(self.losses, self.codes, state, decision, rho)
        return self._of(columns, [eve_risk(eve, state, decision, rho) for eve in self.eves])

    def _of(self, columns: Sequence[Any], eves: list[Any]) -> SupportLine:
        bob, eve = (
            sum(columns, EXACT.zero),
            sum((e.weight * v for e, v in zip(self.eves, eves, strict=True)), EXACT.zero),
        )
        table = np.array([*columns, *eves], dtype=object)
        return SupportLine(table, bob, eve, _NOTHING, None)

    def _null(self) -> SupportLine:
        """Everything at one signal, where Bob chooses column by column."""
        columns = [summed(self.p, self.codes[:, k], len(t)).dot(t).min() for k, t in enumerate(self.losses)]
        everywhere, one = np.arange(len(self.p)), np.zeros(len(self.p), dtype=np.int64)
        return self._of(columns, [eve_risk(eve, everywhere, one, self.p) for eve in self.eves])

    def _at(self, lam: Any) -> SupportLine:
        check()
        found = replace(self.task, lam=lam).solve()
        return self._line(found.row, found.decision, found.rho)

    def solve(self) -> list[Stretch]:
        with time_limited(None if self.deadline == np.inf else max(self.deadline - time.monotonic(), 0.0)):
            return envelope(_ExactScale(), self._at, self._null(), None, True)[0]  # type: ignore[arg-type]


def record_path(
    program: RecordProgram, workers: Workers = None, client: Any = None, progress: PathProgress | None = None
) -> list[PathPiece]:
    """The pieces of the path by increasing lam, the first from lam = 0; OutOfTime at the deadline of the clock."""
    small, _ = merged_records(program.lifted())
    low = _relative(small)
    parts = parts_of(small)
    left = remaining()
    deadline = np.inf if left == np.inf else time.monotonic() + left
    tasks = []
    for members in parts.members:
        task, states, _ = plan(small, parts, members, EXACT.zero)
        eves = tuple(e.among(states) for e in low.eves)
        tasks.append(_PartPath(task, small.p[states], small.codes[states], low.losses, eves, deadline))
    done, tell = len(parts.free), progress or (lambda *_: None)
    tell(done, len(small.p))
    steps: list[tuple[Any, Array]] = []
    now = _least(small)
    for k, stretches in solved_parts(tasks, workers, client):
        before: Any = None
        for start, _, line in stretches:
            if before is None:
                now = now + line.table
            else:
                steps.append((start, line.table - before))
            before = line.table
        done += len(tasks[k].p)
        tell(done, len(small.p))
    steps.sort(key=lambda step: step[0])
    columns = len(program.losses)
    pieces = [PathPiece(EXACT.zero, tuple(now[:columns]), tuple(now[columns:]))]
    for start, change in steps:
        now = now + change
        if start == pieces[-1].start:
            pieces.pop()
        pieces.append(PathPiece(start, tuple(now[:columns]), tuple(now[columns:])))
    return pieces


def _relative(program: RecordProgram) -> RecordProgram:
    """The least loss of every row subtracted."""
    losses = tuple(table - table.min(axis=1)[:, None] for table in program.losses)
    eves = tuple(replace(e, loss=e.loss - e.loss.min(axis=1)[:, None]) for e in program.eves)
    return RecordProgram(program.p, program.codes, losses, eves)


def _least(program: RecordProgram) -> Array:
    """What was subtracted: by column (weighted) and by Eve (unweighted)."""
    columns = [summed(program.p, program.codes[:, k], len(t)).dot(t.min(axis=1)) for k, t in enumerate(program.losses)]
    return np.array([*columns, *extremes_of(program)[0][1]], dtype=object)
