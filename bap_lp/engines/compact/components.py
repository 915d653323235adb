"""Parts of a problem that no Eve joins, solved apart and put together with one certificate.

Subtract min_j E_g(x,j) from every row of every Eve group: R_E changes by a constant. A state *touches* g if something
is left. If one reply is best at every state that touches g, Eve's risk there is zero whatever is sent, and g is
settled. The rows t[i,g] <= sum_x E_g(x,j) rho[x,i] of the other groups are the only ones that join states, so the
compact program is a sum of programs, one per connected component of states and groups (docs/proofs, Theorem 5).
rho is put together from the components, u[.,g] comes from the component of g, and at a settled group Eve plays the
reply that is best for all. The costs that choose among several optima are sums over states too, so the choice is the
same as in the whole program.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from bap_lp.clock import SolveProgress
from bap_lp.engines.compact.ties import table_weights, weight_at
from bap_lp.engines.compact.tiny import JointOptimum, is_tiny, proved, tiny_optimum
from bap_lp.model.sums.arrays import Arrays, groups_of
from bap_lp.rational import Array, floats

_SMALL = 500  # columns rho up to which nothing is gained
_DENSE = 40  # decisions up to which a component is solved with all of them


@dataclass(frozen=True, eq=False)
class Component:
    """States and groups that belong together."""

    states: Array
    groups: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Split:
    """Components, states that no Eve can use, and settled groups with their reply."""

    components: tuple[Component, ...]
    free: Array
    settled: dict[int, int]


def components_of(arrays: Arrays) -> Split | None:
    """The components; None if the problem is one, or nearly one, or too small to gain."""
    N, b, _ = arrays.shape
    if N * b <= _SMALL or N < 3:
        return None
    touched = np.zeros((N, len(arrays.groups)), dtype=bool)
    settled: dict[int, int] = {}
    for k, g in enumerate(arrays.groups):
        rough = _above(arrays.rounded.E[:, g])
        if arrays.exact and rough.any(axis=0).all() and reduce(np.logical_or, rough.T).all():
            return None  # she joins all states: floats that differ prove it
        # floats of small integers differ where these do
        above = rough if not arrays.exact or arrays.integers is not None else _above(arrays.E[:, g])
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
    if count <= 1 and 4 * len(free) <= (0 if settled else N):
        return None
    parts = []
    for k in range(count):
        states = np.flatnonzero(label == k)
        parts.append(Component(states, tuple(np.flatnonzero(touched[states].any(axis=0)).tolist())))
    return Split(tuple(parts), free, settled)


def _above(losses: Array) -> Array:
    """Which replies are worse than the best one at each state; column by column, since rows are short."""
    return losses != reduce(np.minimum, losses.T)[:, None]


def _labels(touched: Array) -> Array:
    """The component of every state, in the order of their first states; -1 for states that touch nothing."""
    N, G = touched.shape
    if G == 1:
        return touched[:, 0].astype(int) - 1
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

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
class ComponentTask:
    """A component with E relative to its least; places: x * b of the whole program, which number the fixed weights."""

    arrays: Arrays
    lam: Any
    places: Array

    @property
    def effort(self) -> float:
        return float(self.arrays.B.size) * len(self.arrays.p)

    def solve(self) -> tuple[Array, Array, str]:
        """rho (n, b), u (b, columns of its groups), and how they were found."""
        if self.arrays.shape[1] > _DENSE and len(self.arrays.p) > 2:
            return self._priced()
        from bap_lp.engines.compact.compact import solve_undivided

        found = solve_undivided(self.arrays, self.lam, None, self.places)
        return found.rho, found.u, found.how

    def _priced(self) -> tuple[Array, Array, str]:
        from bap_lp.engines.compact.master import PricedProgram
        from bap_lp.engines.compact.priced import solve_priced

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
        return rho, u, "priced decisions"


def solve_compact(
    arrays: Arrays,
    lam: Any,
    progress: SolveProgress | None = None,
    workers: int | None = None,
    client: Any = None,
) -> JointOptimum:
    """The optimum on merged states, exact if the numbers are; problems that no Eve joins are split into components."""
    if is_tiny(arrays):
        return tiny_optimum(arrays, lam, table_weights(arrays))
    from bap_lp.engines.compact.compact import normalised, solve_undivided  # with HiGHS
    from bap_lp.engines.compact.workers import answers

    split = components_of(arrays)
    if split is None:
        return solve_undivided(arrays, lam, progress)
    (N, b, e), lam = arrays.shape, arrays.field.number(lam)
    places = np.arange(N) * b
    tasks = [ComponentTask(_restricted(arrays, part), lam, places[part.states]) for part in split.components]
    rho, u = arrays.field.zeros((N, b)), arrays.field.zeros((b, e))
    rho[split.free, _own_decisions(arrays, split.free)] = arrays.p[split.free]
    for k, g in enumerate(arrays.groups):
        u[:, g.start + split.settled.get(k, 0)] = lam
    how = set()
    for k, (own_rho, own_u, own_how) in answers(tasks, workers, client):
        part = split.components[k]
        rho[part.states] = own_rho
        u[:, np.isin(arrays.group_of, part.groups)] = own_u
        how.add(own_how)
    if not arrays.exact:
        rho = arrays.obedient(normalised(rho, arrays, u))
    told = f"compact program, {len(tasks)} components: {', '.join(sorted(how)) or 'none'}"
    return JointOptimum(rho, u, proved(arrays, lam, u), told)


def _restricted(arrays: Arrays, part: Component) -> Arrays:
    tables = [arrays.E[part.states, arrays.groups[k]] for k in part.groups]
    relative = np.hstack([losses - losses.min(axis=1)[:, None] for losses in tables])
    return Arrays(arrays.p[part.states], arrays.B[part.states], relative, groups_of([t.shape[1] for t in tables]))


def _own_decisions(arrays: Arrays, states: Array) -> Array:
    """Bob's best decisions at states that no Eve can use; the fixed weights choose among several."""
    B = arrays.B[states]
    weight = weight_at(states[:, None] * arrays.shape[1] + np.arange(arrays.shape[1]))
    slack = 0 if arrays.exact else 1e-12 * float(np.abs(B).max(initial=0.0))
    best = B.min(axis=1)[:, None] + slack >= B if len(B) else np.zeros(B.shape, dtype=bool)
    return np.where(best, weight, np.inf).argmin(axis=1) if len(B) else np.zeros(0, dtype=int)
