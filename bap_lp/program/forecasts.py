"""Bob who reports probabilities: finitely many reports, at losses that no report of his goes below.

Bob wants theta and reports a distribution r of it. With t(theta|x), the law of theta given the data, he loses
    log:    B(x,r) = - sum_theta t(theta|x) log r(theta)        Brier:  B(x,r) = 1 - 2 t(.|x).r + r.r,
both convex in r, and his best reports lie in the convex hull of the rows t(.|x). Simplices C cover that hull: one whole
simplex, halved along an edge again and again. With the centre m of C, the tangent at m,
    log:    T(x,r) = sum_theta t(theta|x) (1 - log m(theta) - r(theta) / m(theta))
    Brier:  T(x,r) = 1 - m.m + 2 (m - t(.|x)).r,
is affine in r and at most B(x,r). Let c(x,v), for a corner v, be the least T(x,v) over all C with that corner. Then
    B(x,r) >= sum_v w_v T(x,v) >= sum_v w_v c(x,v)        for r = sum_v w_v v in C,
so if Alice sends the corner v with probability w_v in place of the report r, Bob loses no more by the table c, and
nobody else learns anything new. Hence R_A of every mechanism is at least the optimum of the *finite* problem whose Bob
has the decisions v and the losses c. Its optimal channel is a mechanism too, and its true R_A an upper end.

c is rounded down to multiples of 2^-96, and the number n of corners of a simplex is added, which makes it non-negative:
m(theta) >= v(theta) / n, so T > -n for log; for Brier T = B - (v - m)^2 >= -2, and T = B if n = 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from bap_lp.limits import limit, raising
from bap_lp.logarithms import log_above
from bap_lp.model.agents import Agent, counted_loss
from bap_lp.model.problem import Problem
from bap_lp.model.reports import Forecaster
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.program.bound import NoProof
from bap_lp.rational import EXACT, Array, ReadOnly, floats, tree_sum

BITS = 96  # of a loss behind the point
DEPTH = 256  # halvings of an edge, one inside the other
MOST_CELLS = 20_000
_ONE, _UNIT = fmpz(1) << DEPTH, fmpz(1) << BITS

Corner = tuple[int, ...]  # barycentric coordinates times 2^DEPTH
Cell = tuple[Corner, ...]


def halves(cell: Cell) -> tuple[Cell, Cell]:
    """A simplex halved along the first of its longest edges, in barycentric coordinates."""
    length = [sum((a - b) ** 2 for a, b in zip(*pair, strict=True)) for pair in combinations(cell, 2)]
    i, j = list(combinations(range(len(cell)), 2))[length.index(max(length))]
    middle = tuple((a + b) // 2 for a, b in zip(cell[i], cell[j], strict=True))
    return (*cell[:j], middle, *cell[j + 1 :]), (*cell[:i], middle, *cell[i + 1 :])


def cells_of(corners: int, splits: str) -> Iterator[Cell]:
    """The simplices of a subdivision: s is one that is split, whose halves follow, and . is one that is whole.

    Raises NoProof if these are not the steps of one.
    """
    if len(splits) > 2 * MOST_CELLS:
        raise NoProof(f"a subdivision has {len(splits)} steps, must have at most {2 * MOST_CELLS}")
    whole = tuple(tuple((k == n) << DEPTH for n in range(corners)) for k in range(corners))
    todo = [(whole, 0)]
    for step in splits:
        if not todo or step not in "s.":
            raise NoProof('the splits of a subdivision must be "s" and ".", and cover all reports once')
        cell, depth = todo.pop()
        if step == ".":
            yield cell
        elif depth == DEPTH or corners == 1:
            raise NoProof("a subdivision halves a simplex too often")
        else:
            first, second = halves(cell)
            todo += [(second, depth + 1), (first, depth + 1)]
    if todo:
        raise NoProof("a subdivision does not cover all reports")


@dataclass(frozen=True, eq=False)
class ReportTangents(ReadOnly):
    """The tangents of a Bob who reports probabilities, in rationals."""

    bob: Forecaster

    @cached_property
    def classes(self) -> tuple[Array, Array]:
        """The different rows of the law, and the row of every state."""
        place: dict[tuple[Any, ...], int] = {}
        index = [place.setdefault(tuple(row), len(place)) for row in self.bob.law.tolist()]
        return np.array([*place], dtype=object), np.array(index)

    @cached_property
    def start(self) -> Array:
        """The corners of a simplex that contains every row of the law: the rows themselves, or all certain reports."""
        rows, K = self.classes[0], len(self.bob.values)
        certain = [[EXACT.number(int(k == n)) for n in range(K)] for k in range(K)]
        return rows if len(rows) <= K else np.array(certain, dtype=object)

    @cached_property
    def _tangents(self) -> dict[Cell, Array]:
        return {}

    def report(self, corner: Corner) -> Array:
        return np.array([fmpq(v, _ONE) for v in corner], dtype=object).dot(self.start)

    def tangent(self, cell: Cell) -> Array:
        """T(x,v) + n for every different row of the law and every corner of a simplex, rounded down."""
        if cell not in self._tangents:
            t, v = self.classes[0], np.array([self.report(corner) for corner in cell])
            m = v.sum(axis=0) / len(cell)
            if self.bob.kind == "log":
                live = [k for k in range(len(m)) if m[k]]
                t, v, m = t[:, live], v[:, live], m[live]
                constant = t.dot(EXACT.list(1 - log_above(each) for each in m))
                found = constant[:, None] - (t / m).dot(v.T)
            else:
                found = (1 - m.dot(m) + 2 * v.dot(m))[None] - 2 * t.dot(v.T)
            whole = ((each + len(cell)) * _UNIT for each in found.ravel().tolist())
            self._tangents[cell] = EXACT.list(fmpq(each.p // each.q, _UNIT) for each in whole).reshape(found.shape)
        return self._tangents[cell]

    def finite(self, splits: str) -> FiniteBob:
        """The Bob with finitely many decisions for a subdivision; raises NoProof."""
        work = len(splits) * self.start.size * len(self.classes[0])
        if work > limit("work"):
            raise NoProof(f"a subdivision takes {work} steps {raising('work')}")
        cells = [*cells_of(len(self.start), splits)]
        place: dict[Corner, int] = {}
        for cell in cells:
            for corner in cell:
                place.setdefault(corner, len(place))
        rows, index = self.classes
        least: Array = np.empty((len(rows), len(place)), dtype=object)
        for cell in cells:
            where = [place[corner] for corner in cell]
            for k, values in enumerate(self.tangent(cell)):
                for v, value in zip(where, values.tolist(), strict=True):
                    old = least[k, v]
                    least[k, v] = value if old is None or value < old else old
        reports = np.array([self.report(corner) for corner in place])
        numbered = np.array([[place[corner] for corner in cell] for cell in cells])
        return FiniteBob(least[index], reports, self._names(reports), numbered)

    def _names(self, reports: Array) -> tuple[str, ...]:
        """Probabilities with as many digits as tell a report from all others, or its number."""
        out, rows = [f"report {k}" for k in range(len(reports))], floats(reports).tolist()
        for digits in (15, 12, 9, 6, 3):
            names = [
                ", ".join(f"{a} {v:.{digits}g}" for a, v in zip(self.bob.values, row, strict=True)) for row in rows
            ]
            count = Counter(names)
            out = [name if count[name] == 1 else old for name, old in zip(names, out, strict=True)]
        return tuple(out)


@dataclass(frozen=True, eq=False)
class FiniteBob(ReadOnly):
    """c(x,v) + n, the reports v with their names, and the simplices."""

    losses: Array
    reports: Array
    names: tuple[str, ...]
    numbered: Array  # the reports that are the corners of every simplex


@dataclass(frozen=True, eq=False)
class ToldProblem(ReadOnly):
    """A problem in rationals whose Bobs who report are replaced by finite ones, so that its optimum is not larger."""

    problem: Problem
    finite: Problem
    bobs: dict[int, FiniteBob]
    added: Any  # to R_B, so that losses are not negative

    @classmethod
    def of(cls, problem: Problem, splits: Sequence[str], known: Sequence[ReportTangents] = ()) -> ToldProblem:
        """splits: a subdivision for every Bob who reports; raises NoProof."""
        tangents = known or [ReportTangents(one) for one in problem.forecasters.values()]
        if len(splits) != len(tangents):
            raise NoProof(f"there are {len(splits)} subdivisions, must be {len(tangents)}, one per Bob who reports")
        own = dict(zip(problem.forecasters, (t.finite(s) for t, s in zip(tangents, splits, strict=True)), strict=True))
        agents: list[Agent] = [
            replace(a, loss=own[k].losses, decisions=own[k].names, secret=None) if k in own else a
            for k, a in enumerate(problem.bobs)
        ]
        eves, states = problem.eves, problem.states
        finite = Problem(problem.p, bobs=agents, eves=eves, states=states, title=problem.title)
        finite.of_floats = problem.of_floats
        corners = (one.weight * own[k].numbered.shape[1] for k, one in problem.forecasters.items())
        return cls(problem, finite, own, sum(corners, EXACT.zero))

    @property
    def rounds(self) -> bool:
        """Whether R_B has logarithms, which are rounded."""
        return any(one.kind == "log" for one in self.problem.forecasters.values())

    def excess(self, rho: Array) -> Any:
        """How much R_B of a joint table, rounded up, is above what it is by the finite losses."""
        x, s = np.nonzero(rho != 0)
        told, sent = tree_sum(rho[x, s] * self.finite.B[x, s]), rho[:, np.unique(s)]
        own = [one.risk_ends(sent)[1] for one in self.problem.forecasters.values()]
        for k, bob in enumerate(self.problem.bobs):
            if k not in self.bobs:
                own.append(tree_sum(signal_losses(sent, counted_loss(bob)).min(axis=1)))
        return sum(own, EXACT.zero) - told
