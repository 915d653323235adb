"""The game between Alice and Eve, for many states: an optimal vertex in a time that hardly grows faster than N.

    V(lam) = max over u_i, u[i, g] in lam * simplex,  of  sum_x p[x] min_i [ B[x,i] - sum_j u[i,j] E[x,j] ]

has b*e unknowns whatever N is.  With u known to an accuracy delta, every state whose margin at u exceeds about delta
is decided; only the rest need a linear program.  So u is learned on a sample of the states, then on the states that
the sample leaves undecided while the others enter as a constant, until no decided state is overtaken; then a simplex
method on the few nearly tied columns ends at a vertex.  Every lower bound is the dual function itself, every value is
computed from rho, so the gap needs no trust in either method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np

from bap_lp.interior import interior_point
from bap_lp.sweep import least_replies, over, project, sum_by_key, sweep
from bap_lp.vertex import Vertex, to_vertex

Array = np.ndarray
Progress = Callable[[int, float, float], None]

SAMPLE = 20_000
PARALLEL = 50_000


@dataclass(frozen=True)
class GameSolution:
    """rho (N, b) with marginals p; replies u (b, e); value from rho, bound from u.

    With `vertex`, the N + b*e basic variables of an optimal vertex: basic_columns (N, b), basic_t (b, G) and
    basic_slack (b, e).
    """

    rho: Array
    u: Array
    value: float
    bound: float
    iterations: int
    vertex: bool
    basic_columns: Array
    basic_t: Array
    basic_slack: Array

    @property
    def gap(self) -> float:
        return self.value - self.bound


class _State:
    """The best certified pair so far, and whom to tell."""

    def __init__(self, p: Array, B: Array, E: Array, groups: Sequence[slice], lam: float, progress: Progress | None) -> None:
        self.p, self.B, self.E, self.groups, self.lam, self.progress = p, B, E, groups, lam, progress
        self.u = project(np.ones((B.shape[1], E.shape[1])), groups, 1.0)
        self.bound, self.value, self.iterations = -math.inf, math.inf, 0
        self.key: Array | None = None
        self.pool: Executor | None = None

    def look(self, u: Array) -> tuple[Array, Array, Array]:
        """Sweep at u: keep its bound and the value of its rule; return key, margin and the rows of the rule."""
        u = project(u, self.groups, 1.0)
        found = sweep(self.p, self.B, self.E, self.lam * u, self.pool)
        if found.bound > self.bound:
            self.bound, self.u = found.bound, u
        value = found.cost - self.lam * float(least_replies(found.rows, self.groups).sum())
        if value < self.value:
            self.value, self.key = value, found.key
        return found.key, found.margin, found.rows

    def tick(self, *_: object) -> None:
        self.iterations += 1
        if self.progress is not None:
            self.progress(self.iterations, self.bound, self.value)


def _scale(B: Array, E: Array, groups: Sequence[slice], lam: float, pool: Executor | None) -> float:
    """The largest spread of Bob's losses at one state, or of lam times those of one Eve."""

    def work(cut: slice) -> float:
        spread = float((B[cut].max(axis=1) - B[cut].min(axis=1)).max())
        eve = max(float((E[cut, part].max(axis=1) - E[cut, part].min(axis=1)).max()) for part in groups)
        return max(spread, lam * eve)

    return max(over(pool, work, len(B)))


def _scaled(state: _State, chosen: Array | slice, scale: float) -> tuple[Array, Array, Array]:
    """p, B and E of the chosen states, transposed, centred and of order one."""
    B = np.array(state.B[chosen].T, dtype=float, order="C")
    B /= scale
    B -= B.min(axis=0)
    E = np.array(state.E[chosen].T, dtype=float, order="C")
    E *= state.lam / scale
    for part in state.groups:
        E[part] -= E[part].mean(axis=0)
    return state.p[chosen], B, E


def _learn(state: _State, scale: float, tol: float) -> tuple[Array, float]:
    """u with unit rows, and the gap at which the interior point left it, relative to the scale."""
    n, b = state.B.shape
    e = state.E.shape[1]
    none = np.zeros((b, e))
    if n <= 2 * SAMPLE:
        point = interior_point(*_scaled(state, slice(None), scale), state.groups, none, state.u, 0.1, tol, pool=state.pool,
                               watch=state.tick)  # fmt: skip
        return project(point.u, state.groups, 1.0), point.gap
    rng = np.random.default_rng(0)
    sample = np.sort(rng.choice(n, SAMPLE, replace=False))
    p, B, E = _scaled(state, sample, scale)
    point = interior_point(p / p.sum(), B, E, state.groups, none, state.u, 0.1, 1e-5, pool=state.pool, watch=state.tick)
    u = project(point.u, state.groups, 1.0)
    size = max(SAMPLE, n // 20)
    while True:
        key, margin, rows = state.look(u)
        size = min(size, n)
        near = np.sort(np.argpartition(margin, size - 1)[:size]) if size < n else np.arange(n)
        p, B, E = _scaled(state, near, scale)
        fixed = (rows - sum_by_key(state.p[near], state.E[near], key[near], b)) * (state.lam / scale)
        for part in state.groups:
            fixed[:, part] -= fixed[:, part].mean(axis=1, keepdims=True)
        reach = float(margin[near].max()) / scale
        point = interior_point(p, B, E, state.groups, fixed, 0.9 * u + 0.1 * project(u * 0, state.groups, 1.0), reach / 10,
                               tol, pool=state.pool, watch=state.tick)  # fmt: skip
        u = project(point.u, state.groups, 1.0)
        moved = state.look(u)[0]
        moved[near] = key[near]
        if size == n or np.count_nonzero(moved != key) <= b * e:
            return u, point.gap
        size *= 4


def _assemble(state: _State, found: Vertex) -> GameSolution:
    n, b = state.B.shape
    basis = found.basis
    basic = np.zeros((n, b), dtype=bool)
    basic[np.arange(n), basis.key] = True
    basic[basis.near] = basis.basic
    rho = np.zeros((n, b))
    rho[np.arange(n), basis.key] = state.p
    weights = np.maximum(found.rho, 0.0)
    rho[basis.near] = weights * (state.p[basis.near] / weights.sum(axis=1))[:, None]
    state.look(found.u)
    value = _value(state, rho)
    return GameSolution(rho, state.lam * state.u, value, state.bound, state.iterations, found.settled, basic, basis.t, basis.slack)


def _value(state: _State, rho: Array) -> float:
    def work(cut: slice) -> tuple[float, Array]:
        return float(np.vdot(state.B[cut], rho[cut])), rho[cut].T @ state.E[cut]

    parts = over(state.pool, work, len(rho))
    rows = np.sum([part[1] for part in parts], axis=0)
    return math.fsum(part[0] for part in parts) - state.lam * float(least_replies(rows, state.groups).sum())


def _interrupted(state: _State) -> GameSolution:
    """The best pair seen, with no basis."""
    n, b = state.B.shape
    if state.key is None:
        state.look(state.u)
    rho = np.zeros((n, b))
    rho[np.arange(n), state.key] = state.p
    none = np.zeros((n, b), dtype=bool)
    return GameSolution(rho, state.lam * state.u, _value(state, rho), state.bound, state.iterations, False, none,
                        np.zeros((b, len(state.groups)), dtype=bool), np.zeros((b, state.E.shape[1]), dtype=bool))  # fmt: skip


def solve_game(
    p: Array,
    B: Array,
    E: Array,
    groups: Sequence[slice] | None = None,
    lam: float = 1.0,
    *,
    tol: float = 1e-9,
    progress: Progress | None = None,
) -> GameSolution:
    """An optimal vertex of the compact program.  An interrupt returns the best certified answer so far."""
    n, b = B.shape
    e = E.shape[1]
    parts = tuple(groups) if groups is not None else (slice(0, e),)
    state = _State(p, B, E, parts, lam, progress)
    try:
        with ThreadPoolExecutor(2) if n >= PARALLEL else nullcontext() as state.pool:
            scale = _scale(B, E, parts, lam, state.pool)
            if lam == 0.0 or b == 1 or scale == 0.0:
                u, width, scale = state.u, -1.0, scale or 1.0
            else:
                u, gap = _learn(state, scale, min(tol, 1e-9))
                width = 10 * math.sqrt(max(gap, 1e-11)) * scale
            return _assemble(state, to_vertex(p, B, E, parts, lam, u, width, scale, pool=state.pool, watch=state.tick))
    except KeyboardInterrupt:
        return _interrupted(state)
