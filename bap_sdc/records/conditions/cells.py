"""min_cell: no combination of published levels is released that is expected for too few records.

A combination that is released too rarely is either forbidden, or it must be released often enough: a row of the
program of the whole study, if that is small. The choice is made by how often it is released, with several thresholds,
and single choices are then tried the other way round. The bound is that of the study without min_cell, whatever the
choice, so releases are compared by their R_A alone, and the best of them is proved at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp import Conditions
from bap_lp.engines.driver import Infeasible, optimise
from bap_lp.program.bound import Rows
from bap_lp.program.lowering import LoweredProblem
from bap_lp.support.clock import check
from bap_lp.support.rational import EXACT, InputError
from bap_sdc.records.conditions.parts import Prices, StudyPart
from bap_sdc.records.conditions.proof import StudyProof
from bap_sdc.records.conditions.solving import Excluded, PartRelease, StudyTask
from bap_sdc.records.conditions.stated import COUPLING
from bap_sdc.records.optimum.risks import summed

_SHARES = (EXACT.number("1/2"), EXACT.one, EXACT.zero)  # of min_cell, from which a rare combination is made frequent
_SMALL = 20_000  # probabilities of a study that is solved at once where combinations must be frequent
_BACK = 24  # choices that are tried the other way round

Mix = Sequence[PartRelease]


def with_cells(task: StudyTask) -> StudyProof:
    """The release in which no combination is rarer than min_cell, with the bound of the study without it."""
    relaxed = task.best()
    search = _CellSearch(task, relaxed.mix)
    if not search.rare(relaxed.mix):
        return task.proof(relaxed)
    task.sized()
    # without rows that make a combination frequent, all thresholds are the same choice
    tried = [search.decided({}, share) for share in (_SHARES if search.small else _SHARES[:1])]
    known = [one for one in tried if one is not None]
    if not known:
        rule = "is not met by any choice of cells that was tried, together with the other conditions"
        raise InputError("conditions.min_cell", task.asked.min_cell, rule)
    best, choice = min(known, key=lambda one: search.value(one[0]))
    left, todo = _BACK, list(reversed(choice))
    while todo and left:
        cell, left = todo.pop(0), left - 1
        other = search.decided({**choice, cell: not choice[cell]}, _SHARES[0])
        if other is not None and search.value(other[0]) < search.value(best):
            best, choice = other
            todo = [i for i in choice if i != cell]
    return task.proof(relaxed, best)


class _CellSearch:
    """Which rare combinations are sent often enough, and which never."""

    def __init__(self, task: StudyTask, first: Mix) -> None:
        self.task, self.first = task, first
        self.least = EXACT.number(task.asked.min_cell) / task.study.records

    @property
    def small(self) -> bool:
        """Whether the whole study fits one program, in which combinations can be made frequent."""
        return len(self.task.study.prior.types) * self.task.study.decisions <= _SMALL

    def value(self, mix: Mix) -> Any:
        """R_A of a release."""
        task = self.task
        return sum((task.told(part, Prices(), task.lam, one) for part, one in zip(task.parts, mix, strict=True)))

    def rare(self, mix: Mix) -> dict[int, Any]:
        """The combinations that are sent too rarely, and how often they are, the rarest first."""
        x, i, q = (np.concatenate([one.rows[at] for one in mix]) for at in range(3))
        used, at = np.unique(i, return_inverse=True)
        mass = summed(self.task.program.p[x] * q, at.ravel(), len(used))
        found = [(m, i) for m, i in zip(mass, used.tolist(), strict=True) if m < self.least]
        return {i: m for m, i in sorted(found, key=lambda pair: (float(pair[0]), pair[1]))}

    def decided(self, choice: dict[int, bool], share: Any) -> tuple[Mix, dict[int, bool]] | None:
        """A release without rare combinations, and the choice for each: often enough (true), or never.

        choice: what is chosen already. Others are sent often enough if they have this share of it.
        """
        choice = dict(choice)
        made = self._chosen(choice) if choice else self.first
        while made is not None and (rare := self.rare(made)):
            late = [(i, m) for i, m in rare.items() if i not in choice]
            if not late:
                return None
            for i, m in late[: (len(late) + 1) // 2]:  # the others may become frequent, or rarer
                choice[i] = self.small and bool(m >= share * self.least)
            made = self._chosen(choice)
        return None if made is None else (made, choice)

    def _chosen(self, choice: dict[int, bool]) -> Mix | None:
        """The optimum under a choice; None if the other conditions exclude it."""
        task = self.task
        never = [i for i, often in choice.items() if not often]
        task.kept = np.setdiff1d(np.arange(task.study.decisions), never)
        task.columns = [[] for _ in task.parts]
        try:
            return self._at_once([i for i, often in choice.items() if often]) if self.small else task.best().mix
        except (Excluded, Infeasible):
            return None

    def _at_once(self, often: Sequence[int]) -> list[PartRelease]:
        """The optimum of the whole study in one program, with a row for every combination that must be frequent."""
        check()
        task, study, given = self.task, self.task.study, self.task.asked.types.given()
        levels = tuple(tuple(range(n)) for n in task.program.levels)
        whole = StudyPart(study, np.arange(len(study.prior.types)), levels)
        limits = {name: value for name, value in given.items() if name in COUPLING}
        asked = Conditions(**whole.conditions().given() | limits)
        problem = whole.problem(task.lam, Prices(), task.exact)[0]
        problem = (problem if task.exact else problem.as_float()).exactly
        layout = LoweredProblem.of(problem, asked.demands(problem))
        program, rows = layout.whole_program(task.lam), []
        signals, eves = np.arange(program.shape[1]), np.array([n for n, _ in problem.eve_views])
        for limit in (one for one in task.limits if one.name.startswith("floor ")):
            n = int(limit.name.removeprefix("floor "))
            s, g = (own.ravel() for own in np.meshgrid(signals, np.flatnonzero(eves == n)))
            terms = ("eve", 0 * s, s, g, EXACT.full(len(s), 1 / task.weights[n]))
            rows.append(Rows(limit.name, EXACT.full(1, limit.rhs), None, (terms,)))
        states = np.arange(program.shape[0])
        for i in often:
            entries = 0 * states, states, 0 * states + i, -problem.p
            rows.append(Rows(f"cell {i}", EXACT.full(1, -self.least), entries))
        assert task.kept is not None
        allowed = np.broadcast_to(np.isin(signals, task.kept), program.shape)
        full = replace(program, rows=(*program.rows, *rows))
        q = optimise(full, exact=task.exact, near=float(task.near()), allowed=allowed).rho
        out = []
        for k, part in enumerate(task.parts):
            x, s = np.nonzero(q[part.states] != 0)
            out.append(task.release(k, part.states[x], s, q[part.states][x, s]))
        return out
