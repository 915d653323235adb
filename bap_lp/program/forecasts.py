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

c is rounded down to multiples of 2^-44, and the number n of corners of a simplex is added, which makes it non-negative:
m(theta) >= v(theta) / n, so T > -n for log; for Brier T = B - (v - m)^2 >= -2, and T = B if n = 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from bap_lp.logarithms import log_above
from bap_lp.program.bound import NoProof
from bap_lp.rational import EXACT, Array, ReadOnly

BITS = 44  # of a loss behind the point: floats hold losses below 256 exactly
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
    """The simplices of a subdivision of one with so many corners: 1 is a halved one, whose halves follow, 0 is whole.

    Raises NoProof if these are not the steps of one.
    """
    if len(splits) > 2 * MOST_CELLS:
        raise NoProof(f"a subdivision has {len(splits)} steps, must have at most {2 * MOST_CELLS}")
    whole = tuple(tuple((k == n) << DEPTH for n in range(corners)) for k in range(corners))
    todo = [(whole, 0)]
    for step in splits:
        if not todo or step not in "01":
            raise NoProof("the splits of a subdivision must be 0 and 1, a whole number of simplices")
        cell, depth = todo.pop()
        if step == "0":
            yield cell
        elif depth == DEPTH or corners == 1:
            raise NoProof("a subdivision halves a simplex too often")
        else:
            first, second = halves(cell)
            todo += [(second, depth + 1), (first, depth + 1)]
    if todo:
        raise NoProof("a subdivision does not cover all reports")


@dataclass(frozen=True, eq=False)
class Forecaster(ReadOnly):
    """Who wants theta, with the law[x,theta] given the data in rationals, and reports probabilities of its values."""

    kind: str
    law: Array
    values: tuple[str, ...]

    @cached_property
    def classes(self) -> tuple[Array, Array]:
        """The different rows of the law, and the row of every state."""
        place: dict[tuple[Any, ...], int] = {}
        index = [place.setdefault(tuple(row), len(place)) for row in self.law.tolist()]
        return np.array([*place], dtype=object), np.array(index)

    @cached_property
    def start(self) -> Array:
        """The corners of a simplex that contains every row of the law: the rows themselves, or all certain reports."""
        rows, K = self.classes[0], len(self.values)
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
            if self.kind == "log":
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
        cells, place = [*cells_of(len(self.start), splits)], {}
        for cell in cells:
            for corner in cell:
                place.setdefault(corner, len(place))
        rows, index = self.classes
        least = np.full((len(rows), len(place)), None, dtype=object)
        for cell in cells:
            where = [place[corner] for corner in cell]
            for k, values in enumerate(self.tangent(cell)):
                for v, value in zip(where, values.tolist(), strict=True):
                    old = least[k, v]
                    least[k, v] = value if old is None or value < old else old
        reports = np.array([self.report(corner) for corner in place])
        return FiniteBob(least[index], reports, self._names(reports), tuple(cells), place)

    def _names(self, reports: Array) -> tuple[str, ...]:
        """Probabilities with three digits, and a number where they are those of another report."""
        found: dict[str, int] = {}
        out = []
        for row in reports:
            name = ", ".join(f"{a} {float(v):.3g}" for a, v in zip(self.values, row, strict=True))
            found[name] = found.get(name, 0) + 1
            out.append(name if found[name] == 1 else f"{name} ({found[name]})")
        return tuple(out)


@dataclass(frozen=True, eq=False)
class FiniteBob(ReadOnly):
    """c(x,v) + n, the reports v with their names, the simplices, and the number of every corner."""

    losses: Array
    reports: Array
    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    place: dict[Corner, int]
