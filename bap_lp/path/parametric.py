"""The compact program for every lam at once, by the parametric simplex method in exact arithmetic.

Split the cost, c0 = B on rho and c1 = -1 on t. At a basis the duals y0, y1 of the two parts make every reduced cost
affine in lam, d_j(lam) = d0_j + lam d1_j, so the basis stays optimal up to the least root -d0_j/d1_j over d1_j < 0. The
column of that root enters there by an ordinary primal pivot: lam does not move during a pivot and never goes back. A
pivot with a positive step moves the vertex and raises R_E strictly, so vertices and pieces of V correspond one to one;
a step of zero changes the basis alone. Pivots at one lam are the simplex method for max R_E on the face of optima
there, which Bland's rule keeps from cycling.

Roots are settled by floats where their error bounds allow: a root computed from d0 +- e0 and d1 +- e1 lies in a known
interval, and only columns whose interval reaches below every certain upper end are looked at exactly.
The start is explicit. At lam = 0 every state sends Bob's best decision and u = 0, and t_ig rests on Eve's best reply.
Where Bob is indifferent at some states that is one optimum among many. V just above 0 then wants the largest R_E on
their face, the program max sum t on Bob's best columns alone; a basis of its optimum is a better place to start.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.linear import program
from bap_lp.linear.exact import filtered, optimise
from bap_lp.linear.factor import Factor
from bap_lp.linear.highs import SolverError, solve_lp
from bap_lp.programs.solving import Data
from bap_lp.rational import Array, zeros

_PATIENCE = 20  # pivots at one lam with step zero before Bland's rule
_TIES = 10  # spare columns, best for Bob too, beyond which a float solution beats pivots at lam = 0


@dataclass(frozen=True, eq=False)
class Vertex:
    """A joint table that is optimal from lam = start on, its risks, and Eve's replies u that are optimal at start."""

    start: Any
    u: Array
    rho: Array
    bob: Any
    eve: Any


def vertices(data: Data) -> Iterator[Vertex]:
    """The vertices of the frontier by increasing lam, each optimal up to the start of the next."""
    walk = _Walk(data)
    ceiling = sum((data.p.dot(data.E[:, g]).min() for g in data.groups), start=fmpq(0))
    while walk.vertex.eve < ceiling:  # every vertex but the last has less than the R_E of the null release
        root, entering = walk.next_root()
        if root > walk.lam:
            walk.lam, walk.stalled = root, 0
        left = walk.vertex
        if walk.pivot(*entering) and root > left.start:
            yield left
    yield walk.vertex


class _Walk:
    """A basis that is optimal at lam, its values and duals, and the vertex it stands on."""

    def __init__(self, data: Data) -> None:
        (N, b), e = data.B.shape, data.E.shape[1]
        self.data, self.lam, self.stalled = data, fmpq(0), 0
        lp = program.compact(data.p, data.B, data.E, data.groups, fmpq(1))
        rho_cost, t_cost = lp.cost.copy(), lp.cost.copy()
        rho_cost[N * b :], t_cost[: N * b] = fmpq(0), fmpq(0)
        self.lp, self.costs = lp, (rho_cost, t_cost)
        rounded = lp.as_float()
        self.rounded = tuple(replace(rounded, cost=c.astype(float)) for c in self.costs)
        self.basic = _start(data, lp)
        self.factor = Factor(lp, self.basic)
        self.values = self.factor.solve(lp.rhs)
        none = zeros(lp.shape[0], True)
        self.y = [self.factor.solve_transposed(np.append(c, none)[self.basic]) for c in self.costs]
        bob, t = (lp.rhs.dot(y) for y in self.y)
        self.vertex = Vertex(fmpq(0), zeros((b, e), True), self._rho(), bob, -t)

    def next_root(self) -> tuple[Any, tuple[int, Any, Any]]:
        """The least root at or above lam, and the column to enter there with its d0 and d1."""
        m, n = self.lp.shape
        nonbasic = np.ones(n + m, dtype=bool)
        nonbasic[self.basic] = False
        exact: list[tuple[int, Any, Any]] = []
        for r in np.flatnonzero(nonbasic[n:] & ~self.lp.equality).tolist():
            exact.append((n + r, -self.y[0][r], -self.y[1][r]))
        for j in np.flatnonzero(nonbasic[:n] & self._near(nonbasic[:n])).tolist():
            exact.append((j, *(self._reduced(k, j) for k in (0, 1))))
        best: Any = None
        ties: list[tuple[int, Any, Any]] = []
        for j, d0, d1 in exact:
            root = None
            if j < n and self.lp.free[j] and d1 != 0:
                root = self.lam  # a free column at rest has d = 0 here, and moves off it at once
            elif d1 < 0:
                root = -d0 / d1
            if root is not None and (best is None or root <= best):
                ties = [*(ties if root == best else ()), (j, d0, d1)]
                best = root
        if best is None:
            raise ArithmeticError("the path ends below the R_E of the null release")
        by_index = best == self.lam and self.stalled > _PATIENCE
        return best, min(ties) if by_index else min(ties, key=lambda tie: (-abs(tie[2]), tie[0]))

    def _near(self, nonbasic: Array) -> Array:
        """Columns that floats cannot rule out as the next to enter."""
        with np.errstate(all="ignore"):
            (d0, e0), (d1, e1) = (filtered(lp, y) for lp, y in zip(self.rounded, self.y, strict=True))
            low = np.maximum(d0 - e0, 0.0) / (e1 - d1) * (1 - 1e-15)
            high = (d0 + e0) / (-d1 - e1) * (1 + 1e-15) + 1e-300
            certain = nonbasic & (d1 < -e1) & ~self.lp.free & np.isfinite(high)
            least = high[certain].min(initial=np.inf)
            ruled_out = ~self.lp.free & ((d1 > e1) | (low > least))
        near: Array = ~ruled_out
        return near

    def _reduced(self, part: int, j: int) -> Any:
        at = slice(self.lp.start[j], self.lp.start[j + 1])
        return self.costs[part][j] - self.lp.value[at].dot(self.y[part][self.lp.index[at]])

    def pivot(self, variable: int, d0: Any, d1: Any) -> bool:
        """Bring the variable into the basis; whether that moved the vertex."""
        m, n = self.lp.shape
        column = zeros(m, True)
        if variable >= n:
            column[variable - n] = fmpq(1)
        else:
            at = slice(self.lp.start[variable], self.lp.start[variable + 1])
            column[self.lp.index[at]] = self.lp.value[at]
        change = self.factor.solve(column)
        sign = 1 if d1 < 0 else -1  # a free column may have to decrease
        position, step = self._leaving(change, sign)
        unit = zeros(m, True)
        unit[position] = fmpq(1)
        row = self.factor.solve_transposed(unit)  # row of the inverse: the duals move along it until d(variable) = 0
        before = self.y
        self.y = [y + row * (d / change[position]) for y, d in zip(before, (d0, d1), strict=True)]
        self.values = self.values - change * (sign * step)
        self.values[position] = sign * step
        self.basic = self.basic.copy()
        self.basic[position] = variable
        self.factor = Factor(self.lp, self.basic)
        if step == 0:
            self.stalled += 1
            return False
        self.stalled = 0
        N, shape = len(self.data.p), self.vertex.u.shape
        u = -(before[0][N:] + before[1][N:] * self.lam).reshape(shape)  # optimal at lam for the old and the new vertex
        moved = sign * step
        self.vertex = Vertex(self.lam, u, self._rho(), self.vertex.bob + moved * d0, self.vertex.eve - moved * d1)
        return True

    def _leaving(self, change: Array, sign: int) -> tuple[int, Any]:
        """The first basic variable to reach zero as the values move by -step * sign * change, and that step."""
        n = self.lp.shape[1]
        best: tuple[Any, int, int] | None = None
        for k in np.flatnonzero(change != 0).tolist():
            variable = int(self.basic[k])
            if variable < n and self.lp.free[variable]:
                continue
            rate = change[k] * sign
            fixed = variable >= n and self.lp.equality[variable - n]
            if rate < 0 and not fixed:
                continue
            step = fmpq(0) if fixed else self.values[k] / rate
            if best is None or (step, variable) < best[:2]:
                best = (step, variable, k)
        if best is None:
            raise ArithmeticError("the program is unbounded")
        return best[2], best[0]

    def _rho(self) -> Array:
        N, b = self.data.B.shape
        rho = zeros(N * b, True)
        live = self.basic < N * b
        rho[self.basic[live]] = self.values[live]
        return rho.reshape(N, b)


def _start(data: Data, lp: program.LinearProgram) -> Array:
    """A basis of Bob's best columns, every t and slacks: c0 prices it at y0 = (min_i B(x,i), 0), optimal at lam = 0."""
    least = data.B.min(axis=1, keepdims=True)
    best = least == data.B
    if best.sum() > len(best) + _TIES:
        with suppress(SolverError):
            basic = _most_private(data, lp, best)
            if not np.append(np.zeros(lp.shape[1], dtype=bool), lp.equality)[basic].any():  # such slacks have y0 = 0
                return basic
    return _one_column_each(data)


def _most_private(data: Data, lp: program.LinearProgram, best: Array) -> Array:
    """An optimal basis of max sum t on the columns that are best for Bob."""
    m, n = lp.shape
    live = np.append(best.ravel(), lp.free[best.size :])
    entries = live[lp.column_of]
    start = np.concatenate([[0], np.cumsum(np.diff(lp.start)[live])])
    cost = np.where(lp.free, fmpq(-1), fmpq(0))[live]
    face = program.LinearProgram(cost, start, lp.index[entries], lp.value[entries], lp.rhs, lp.equality, lp.free[live])
    rounded = face.as_float()
    size = float(data.E.max()) or 1.0
    scaled = replace(
        rounded, rhs=rounded.rhs * len(best), value=np.where(rounded.value < 0, rounded.value / size, rounded.value)
    )
    basic = optimise(face, solve_lp(scaled).basic, rounded).basic
    number = np.append(np.flatnonzero(live), n + np.arange(m))  # of the face's columns and slacks in lp
    return number[basic]


def _one_column_each(data: Data) -> Array:
    """Bob's first best column per state, and all slacks but those of Eve's best replies."""
    (N, b), e, G = data.B.shape, data.E.shape[1], len(data.groups)
    sent = np.array([row.argmin() for row in data.B])
    slack = np.ones((b, e), dtype=bool)
    for i in range(b):
        losses = data.p[sent == i].dot(data.E[sent == i]) if (sent == i).any() else zeros(e, True)
        for g in data.groups:
            slack[i, g.start + int(losses[g].argmin())] = False
    t, slacks = N * b + np.arange(b * G), N * b + b * G + N + np.flatnonzero(slack.ravel())
    return np.concatenate([np.arange(N) * b + sent, t, slacks])
