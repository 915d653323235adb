"""Parts of a problem that no Eve joins, solved apart and put together with one certificate.

Subtract min_j E_g(x,j) from every row of every Eve group: R_E changes by a constant. A state *touches* g if something
is left. If one reply is best at every state that touches g, Eve's risk there is zero whatever is sent, and g is
settled. The rows t[i,g] <= sum_x E_g(x,j) rho[x,i] of the other groups are the only ones that join states, so the
compact program is a sum of programs, one per connected component of states and groups (docs/theory.md, Theorem 5).
rho is put together from the components, u[.,g] comes from the component of g, and at a settled group Eve plays the
reply that is best for all. The costs that choose among several optima are sums over states too, so the choice is the
same as in the whole program.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.model.arrays import Arrays, groups_of
from bap_lp.programs.master import PricedProgram
from bap_lp.programs.paired import paired_optimum
from bap_lp.programs.priced import solve_priced
from bap_lp.programs.ties import weight_at
from bap_lp.programs.workers import answers
from bap_lp.rational import Array, common_denominator, floats, objects, tree_sum

_SMALL = 500  # columns rho up to which nothing is gained
_FITS = 2.0**51
_PAIRED = 30_000_000  # left x right x decisions up to which pairs are tried
_DENSE = 40  # decisions up to which a component is solved with all of them


@dataclass(frozen=True, eq=False)
class Component:
    """States and groups that belong together."""

    states: Array
    groups: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Split:
    """Components, states that no Eve can use, settled groups with their reply, and min_j E_g(x,j) summed over g."""

    components: tuple[Component, ...]
    free: Array
    settled: dict[int, int]
    shift: Array


def components_of(arrays: Arrays) -> Split | None:
    """The components; None if the problem is one, or too small to gain."""
    N, b, _ = arrays.shape
    if N * b <= _SMALL or N < 3:
        return None
    shift = arrays.field.zeros(N)
    touched = np.zeros((N, len(arrays.groups)), dtype=bool)
    settled: dict[int, int] = {}
    for k, g in enumerate(arrays.groups):
        rows = arrays.E[:, g]
        low = reduce(np.minimum, rows.T)  # column by column, since rows are short
        shift = shift + low
        above = rows != low[:, None]
        best = np.flatnonzero(~above.any(axis=0))
        if len(best):
            settled[k] = int(best[0])
        else:
            touched[:, k] = reduce(np.logical_or, above.T)
            if touched[:, k].all():
                return None  # she joins all states
    label = _labels(touched)
    free = np.flatnonzero(label < 0)
    count = int(label.max(initial=-1)) + 1
    if count <= 1 and len(free) == 0:
        return None
    parts = []
    for k in range(count):
        states = np.flatnonzero(label == k)
        parts.append(Component(states, tuple(np.flatnonzero(touched[states].any(axis=0)).tolist())))
    return Split(tuple(parts), free, settled, shift)


def _labels(touched: Array) -> Array:
    """The component of every state, in the order of their first states; -1 for states that touch nothing."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    N, G = touched.shape
    if G == 1:
        return touched[:, 0].astype(int) - 1
    x, g = np.nonzero(touched)
    out = np.full(N, -1)
    if len(x):
        graph = coo_array((np.ones(len(x)), (x, N + g)), shape=(N + G, N + G))
        label = connected_components(graph, directed=False)[1]
        live = np.unique(x)
        _, first, place = np.unique(label[live], return_index=True, return_inverse=True)
        out[live] = np.argsort(np.argsort(first))[place]
    return out


@dataclass(frozen=True, eq=False)
class ComponentAnswer:
    """rho (n, b), u (b, columns of its groups) and v (n), for losses relative to the least."""

    rho: Array
    u: Array
    v: Array
    how: str


@dataclass(frozen=True, eq=False)
class ComponentTask:
    """A component with E relative to its least; places: x * b of the whole program, which number the fixed weights."""

    arrays: Arrays
    lam: Any
    places: Array

    @property
    def effort(self) -> float:
        return float(self.arrays.B.size) * len(self.arrays.p)

    def solve(self) -> ComponentAnswer:
        arrays = self.arrays
        N, b, _ = arrays.shape
        if len(arrays.groups) == 1 and arrays.shape[2] == 2 and b > 4:
            losses = TableLosses.of(arrays)
            if losses is not None:
                return self._paired(losses)
        if b > _DENSE and N > 2:
            return self._priced()
        from bap_lp.programs.compact import solve_undivided

        found = solve_undivided(arrays, self.lam, None, self.places)
        v = arrays.least_margins(found.u) if arrays.exact else (arrays.B - arrays.E @ found.u.T).min(axis=1)
        return ComponentAnswer(found.rho, found.u, v, found.how)

    def _paired(self, losses: TableLosses) -> ComponentAnswer:
        arrays, (left, right) = self.arrays, losses.sides
        lam = self.lam * losses.unit
        spread = arrays.E.max(axis=1)
        supply = arrays.p * spread
        found = paired_optimum(losses, (supply[left], supply[right]), lam, (self.places[left], self.places[right]))
        state = np.where(
            found.side == 0,
            left[np.minimum(found.state, len(left) - 1)],
            right[np.minimum(found.state, len(right) - 1)],
        )
        rho = arrays.field.zeros(arrays.B.shape)
        rho[state, found.decision] = found.amount / spread[state]
        alpha, U = arrays.field.zeros(len(arrays.p)), []
        for side, A, k, C in zip(losses.sides, found.pairing.potential, found.pairing.slope, losses.costs, strict=True):
            own = _numbers(A, arrays.exact) + k * lam
            alpha[side] = own if arrays.exact else np.minimum(own, 0.0)
            U.append(
                (_numbers(C, arrays.exact) - alpha[side][:, None]).min(axis=0)
                if not arrays.exact
                else _ceilings(C, A, k, lam)
            )
        low = objects_or_floats([lam - u if u < lam else 0 * lam for u in U[1]], arrays.exact)
        high = objects_or_floats([min(u, lam) for u in U[0]], arrays.exact)
        first = (low + high) / 2
        u = np.stack([first, lam - first], axis=1) / losses.unit
        if not arrays.exact:
            u = arrays.on_simplex(u, self.lam)
            v = (arrays.B - arrays.E @ u.T).min(axis=1)
        else:
            v = arrays.B.min(axis=1) + spread * (alpha / losses.unit)
        return ComponentAnswer(rho, u, v, "pairs")

    def _priced(self) -> ComponentAnswer:
        arrays = self.arrays
        N, b, _ = arrays.shape
        least = arrays.B.min(axis=1)
        widths = np.array([g.stop - g.start for g in arrays.groups])
        live = np.stack([(arrays.E[:, g] != 0).any(axis=1) for g in arrays.groups], axis=1)
        slots = max(int(live.sum(axis=1).max()), 1)
        group = np.full((N, slots), -1)
        loss = arrays.field.zeros((N, slots, int(widths.max())))
        used = np.zeros(N, dtype=int)
        for k, g in enumerate(arrays.groups):
            x = np.flatnonzero(live[:, k])
            group[x, used[x]] = k
            loss[x, used[x], : widths[k]] = arrays.E[x, g]
            used[x] += 1
        program = PricedProgram(
            arrays.p,
            floats(arrays.B - least[:, None]),
            lambda x, i: arrays.B[x, i] - least[x],
            group,
            loss,
            widths,
            self.lam,
            self.places,
        )
        found = solve_priced(program)
        rho = arrays.field.zeros((N, b))
        rho[found.state, found.decision] = found.rho
        u = found.u[:, np.arange(int(widths.max())) < widths[:, None]]
        return ComponentAnswer(rho, u, found.v + least, "priced decisions")


def _numbers(values: Array, exact: bool) -> Array:
    """Integers in floats or objects as working numbers."""
    return objects(fmpq(int(v)) for v in values.ravel().tolist()).reshape(values.shape) if exact else values


def objects_or_floats(values: list[Any], exact: bool) -> Array:
    return objects(values) if exact else np.array(values)


def _ceilings(C: Array, A: Array, k: Array, lam: Any) -> list[Any]:
    """min over states of C(x,i) - A(x) - k(x) lam, for every decision."""
    parts = []
    for slope in (0, -1):
        at = k == slope
        if at.any():
            least = (C[at] - A[at][:, None]).min(axis=0)
            parts.append([fmpq(int(v)) - slope * lam for v in least.tolist()])
    return [min(options) for options in zip(*parts, strict=True)]


class TableLosses:
    """`paired.PairLosses` of a table of losses: integers over one unit if exact."""

    def __init__(
        self, sides: tuple[Array, Array], costs: tuple[Array, Array], rates: tuple[Array, Array], unit: Any
    ) -> None:
        self.sides, self.costs, self.rates, self.unit = sides, costs, rates, unit
        left, right = costs
        self.cost = np.full((len(left), len(right)), np.inf)
        for i in range(left.shape[1]):
            np.minimum(self.cost, left[:, i, None] + right[:, i], out=self.cost)
        self.tie = 0.0 if isinstance(unit, fmpq) else 1e-11 * max(float(np.abs(left).max()), float(np.abs(right).max()))

    @classmethod
    def of(cls, arrays: Arrays) -> TableLosses | None:
        """None if there are too many pairs, or the integers are too long for floats."""
        side = (arrays.E[:, 1] != 0).astype(int)
        sides = np.flatnonzero(side == 0), np.flatnonzero(side == 1)
        N, b, _ = arrays.shape
        if not len(sides[0]) or not len(sides[1]) or len(sides[0]) * len(sides[1]) * b > _PAIRED:
            return None
        if len(sides[0]) * len(sides[1]) > 40 * N * b:
            return None
        spread = arrays.E.max(axis=1)
        table = (arrays.B - arrays.B.min(axis=1)[:, None]) / spread[:, None]
        rate, unit = 1 / spread, 1.0
        if arrays.exact:
            unit, other = common_denominator(table), common_denominator(rate)
            if float(floats(table).max()) * float(unit) >= _FITS or float(floats(rate).max()) * float(other) >= 2.0**19:
                return None
            table, rate = np.rint(floats(table * unit)), np.rint(floats(rate * other))
        left, right = sides
        return cls(sides, (table[left], table[right]), (rate[left], rate[right]), unit)

    def tied(self, row: Array, column: Array) -> tuple[Array, Array]:
        found = [np.zeros((2, 0), dtype=np.int64)]
        for cut in range(0, len(row), 4096):
            r, c = row[cut : cut + 4096], column[cut : cut + 4096]
            k, i = np.nonzero(self.costs[0][r] + self.costs[1][c] <= self.cost[r, c][:, None] + self.tie)
            found.append(np.stack([k + cut, i]))
        k, i = np.concatenate(found, axis=1)
        return k, i

    def alone(self, side: int) -> tuple[Array, Array]:
        x, i = np.nonzero(self.costs[side] <= self.tie)
        return x, i


def solve_split(
    arrays: Arrays, lam: Any, split: Split, workers: int | None = None, client: Any = None
) -> tuple[Array, Array, Any, str]:
    """rho, u, the bound and how, of the whole program from its components."""
    N, b, e = arrays.shape
    places = np.arange(N) * b
    tasks = [ComponentTask(_restricted(arrays, part), lam, places[part.states]) for part in split.components]
    rho, u = arrays.field.zeros((N, b)), arrays.field.zeros((b, e))
    v = arrays.field.zeros(N)
    own = _own_decisions(arrays, split.free)
    rho[split.free, own] = arrays.p[split.free]
    v[split.free] = arrays.B[split.free, own]
    for k, g in enumerate(arrays.groups):
        u[:, g.start + split.settled.get(k, 0)] = arrays.field.number(lam)
    how = set()
    for k, answer in answers(tasks, workers, client):
        part, start = split.components[k], 0
        rho[part.states] = answer.rho
        v[part.states] = answer.v
        for group in part.groups:
            g = arrays.groups[group]
            u[:, g] = answer.u[:, start : start + g.stop - g.start]
            start += g.stop - g.start
        how.add(answer.how)
    bound = tree_sum(arrays.p * (v - lam * split.shift))
    if not arrays.exact:
        size = float(arrays.B.max()) + 2 * float(lam) * float(
            np.abs(split.shift).max() + arrays.E.max() * len(arrays.groups)
        )
        bound = float(bound) - (e + 40) * float(np.finfo(float).eps) * size
    return rho, u, bound, f"{len(tasks)} components: {', '.join(sorted(how)) or 'none'}"


def _restricted(arrays: Arrays, part: Component) -> Arrays:
    columns = [arrays.E[part.states][:, arrays.groups[k]] for k in part.groups]
    relative = np.hstack([c - c.min(axis=1)[:, None] for c in columns])
    return Arrays(arrays.p[part.states], arrays.B[part.states], relative, groups_of([c.shape[1] for c in columns]))


def _own_decisions(arrays: Arrays, states: Array) -> Array:
    """Bob's best decisions at states that no Eve can use; the fixed weights choose among several."""
    B = arrays.B[states]
    weight = weight_at(states[:, None] * arrays.shape[1] + np.arange(arrays.shape[1]))
    slack = 0 if arrays.exact else 1e-12 * float(np.abs(B).max(initial=0.0))
    best = B.min(axis=1)[:, None] + slack >= B if len(B) else np.zeros(B.shape, dtype=bool)
    return np.where(best, weight, np.inf).argmin(axis=1) if len(B) else np.zeros(0, dtype=int)
