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
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

import numpy as np

from bap_lp.game.blas import one_blas_thread
from bap_lp.game.interior import interior_point
from bap_lp.game.pricing import Sweep, least_replies, over, project, spread, sum_by_key, sweep
from bap_lp.game.unmerge import classes, unmerge
from bap_lp.game.vertex import Vertex, near_basis, to_vertex

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
    interrupted: bool = False

    @property
    def gap(self) -> float:
        return self.value - self.bound


class _Search:
    """The data, and the best certified pair so far: a bound with its u (unit rows), a value with its rule."""

    def __init__(
        self,
        p: Array,
        B: Array,
        E: Array,
        groups: Sequence[slice],
        lam: float,
        tell: Progress | None,
        pool: Executor | None,
        base: Array | None = None,
        noise: Array | None = None,
    ) -> None:
        self.noise = noise
        self.p, self.B, self.E, self.groups, self.lam, self.tell, self.pool = p, B, E, groups, lam, tell, pool
        self.uniform = project(np.zeros((B.shape[1], E.shape[1])), groups, 1.0)
        self.base = self.uniform * 0.0 if base is None else base
        self.u = self.latest = self.uniform
        self.bound, self.value, self.iterations = -math.inf, math.inf, 0
        self.key: Array | None = None
        self.spent, self.since = 0.0, time.perf_counter()

    def look(self, u: Array, held: Array | None = None, tol: float = 0.0) -> Sweep:
        """Sweep at u, and keep its bound and the value of its rule where they are the best."""
        begin = time.perf_counter()
        u = project(u, self.groups, 1.0)
        found = sweep(self.p, self.B, self.E, self.lam * u, self.pool, held, tol)
        bound = found.bound - self.lam * float((u * self.base).sum())
        if bound > self.bound:
            self.bound, self.u = bound, u
        value = found.cost - self.lam * float(least_replies(found.rows + self.base, self.groups).sum())
        if value < self.value:
            self.value, self.key = value, found.key.copy()
        self.since = time.perf_counter()
        self.spent = self.since - begin
        return found

    def tick(self, _: int, u: Array) -> None:
        """Count an iteration.  A listener is worth a sweep when sweeps take less than a fifth of the time."""
        self.iterations += 1
        self.latest = u
        if self.tell is not None:
            if time.perf_counter() - self.since > 4 * self.spent:
                self.look(u)
            self.tell(self.iterations, self.bound, self.value)


def _scale(B: Array, E: Array, groups: Sequence[slice], lam: float, pool: Executor | None) -> float:
    """The largest spread of Bob's losses at one state, or of lam times those of one Eve."""

    def work(cut: slice) -> float:
        return max(spread(B[cut]), *(lam * spread(E[cut, part]) for part in groups))

    return max(over(pool, work, len(B)))


def _scaled(search: _Search, chosen: Array | slice, scale: float) -> tuple[Array, Array, Array]:
    """p, B and E of the chosen states, transposed, centred and of order one."""
    B = np.array(search.B[chosen].T, dtype=float, order="C")
    B /= scale
    B -= B.min(axis=0)
    E = np.array(search.E[chosen].T, dtype=float, order="C")
    E *= search.lam / scale
    for part in search.groups:
        E[part] -= E[part].mean(axis=0)
    return search.p[chosen], B, E


def _centred(rows: Array, groups: Sequence[slice]) -> Array:
    """A constant added to the rows of one signal and group only shifts t."""
    return np.concatenate([rows[:, part] - rows[:, part].mean(axis=1, keepdims=True) for part in groups], axis=1)


def _learn(search: _Search, scale: float, tol: float) -> tuple[Array, float, Sweep]:
    """u with unit rows, the gap relative to the scale at which the interior point left it, and the sweep at u."""
    n, b = search.B.shape
    u, groups = search.uniform, search.groups
    if n <= 2 * SAMPLE:
        data = _scaled(search, slice(None), scale)
        fixed = _centred(search.base * (search.lam / scale), groups)
        point = interior_point(*data, groups, fixed, u, 0.1, tol, pool=search.pool, watch=search.tick)
        u = project(point.u, groups, 1.0)
        return u, point.gap, search.look(u)
    few = min(SAMPLE, max(n // 10, SAMPLE // 4))
    p, B, E = _scaled(search, np.sort(np.random.default_rng(0).choice(n, few, replace=False)), scale)
    fixed = _centred(search.base * (search.lam / scale / search.p.sum()), groups)
    point = interior_point(p / p.sum(), B, E, groups, fixed, u, 0.1, 1e-5, pool=search.pool, watch=search.tick)
    size = max(SAMPLE // 2, n // 20)
    found = search.look(point.u)
    for round_ in count():
        near = np.sort(np.argpartition(found.margin, size - 1)[:size]) if size < n else np.arange(n)
        p, B, E = _scaled(search, near, scale)
        fixed = search.base + found.rows - sum_by_key(search.p[near], search.E[near], found.key[near], b)
        fixed = _centred(fixed * (search.lam / scale), groups)
        mu = min(max(float(found.margin[near].max()) / scale, 1e-2), 0.1)
        start = 0.9 * project(point.u, groups, 1.0) + 0.1 * search.uniform
        point = interior_point(p, B, E, groups, fixed, start, mu, tol, pool=search.pool, watch=search.tick)
        u = project(point.u, groups, 1.0)
        found = search.look(u, found.key, 1e-9 * scale)
        if size == n or len(np.setdiff1d(found.late, near, assume_unique=True)) <= u.size:
            break
        # the second band is as large, around better replies
        size = min(2 * size, n) if round_ else size
    return u, point.gap, found


def _vertex(search: _Search, scale: float, tol: float) -> Vertex:
    """Learn u, then pivot.  Where many states are tied, losses perturbed by 1e-6 break the ties first.

    A basis that is optimal for a small enough perturbation is optimal without it, so the last step, on the losses
    themselves, starts at its end or close to it.
    """
    p, B, E, groups, lam = search.p, search.B, search.E, search.groups, search.lam
    pivot = partial(to_vertex, base=search.base, pool=search.pool, watch=search.tick)
    # noise must stay well below Bob's own losses, or the perturbed vertex says nothing about the true one
    noisy = B.size > 1000 and not 0.0 < _scale(B, E, groups, 0.0, search.pool) < 1e-3 * scale
    if not (noisy and few_values(B) and few_values(E)):
        u, gap, found = _learn(search, scale, tol)
        width, tied = _width(found.margin / scale, gap, u.size)
        if not (noisy and tied):
            start = near_basis(B, E, groups, lam, u, found, width * scale, search.base)
            return pivot(p, B, E, groups, lam, scale, start)
    noise = np.random.default_rng(3).random(B.shape) if search.noise is None else search.noise.copy()
    noise *= 1e-6 * scale
    noise += B
    other = _Search(p, noise, E, groups, lam, None, search.pool, search.base)
    other.tick = search.tick  # type: ignore[method-assign]
    u, gap, found = _learn(other, scale, 1e-13)
    width = _width(found.margin / scale, gap, u.size)[0]
    start = near_basis(noise, E, groups, lam, u, found, width * scale, search.base)
    return pivot(p, B, E, groups, lam, scale, pivot(p, noise, E, groups, lam, scale, start).basis, solved=True)


def few_values(losses: Array) -> bool:
    """Whether losses repeat so much that ties are certain: then nothing is learned without the perturbation."""
    return len(set(losses[:256].ravel().tolist())) <= 8


def _width(margin: Array, gap: float, size: int) -> tuple[float, bool]:
    """The margin below which a state counts as undecided, and whether ties make far more such states than a vertex has.

    On the path q z is about the gap, so q = z near its root; a vertex splits at most b*e = size states.
    """
    few = 2 * size + 50
    reach = float(np.partition(margin, few - 1)[few - 1]) if few < len(margin) else math.inf
    return min(3 * math.sqrt(max(gap, 1e-14)), max(reach, 1e-10)), reach < 1e-7


def _trivial(search: _Search) -> Vertex:
    """With lam = 0, one decision or constant losses the rule of any u is optimal: its vertex."""
    found = search.look(search.uniform)
    basis = near_basis(search.B, search.E, search.groups, search.lam, search.uniform, found, -1.0, search.base)
    u = np.where(basis.slack, 0.0, 1.0)
    search.tick(0, u)
    return Vertex(basis, u, np.zeros((0, search.B.shape[1])), True)


def _value(search: _Search, rho: Array) -> float:
    def work(cut: slice) -> tuple[float, Array]:
        return float(np.vdot(search.B[cut], rho[cut])), rho[cut].T @ search.E[cut]

    parts = over(search.pool, work, len(rho))
    rows = search.base + np.sum([part[1] for part in parts], axis=0)
    return math.fsum(part[0] for part in parts) - search.lam * float(least_replies(rows, search.groups).sum())


def _assemble(search: _Search, found: Vertex) -> GameSolution:
    n, b = search.B.shape
    basis = found.basis
    basic = np.zeros((n, b), dtype=bool)
    basic[np.arange(n), basis.key] = True
    basic[basis.near] = basis.basic
    rho = np.zeros((n, b))
    rho[np.arange(n), basis.key] = search.p
    weights = np.maximum(found.rho, 0.0)
    rho[basis.near] = weights * (search.p[basis.near] / weights.sum(axis=1))[:, None]
    search.look(found.u)
    value, u = _value(search, rho), search.lam * search.u
    if search.tell is not None:
        search.tell(search.iterations, search.bound, value)
    return GameSolution(
        rho, u, value, search.bound, search.iterations, found.settled, basic, basis.t, basis.slack
    )  # fmt: skip


def _without_basis(search: _Search, stopped: bool) -> GameSolution:
    """The best pair seen, with no basis."""
    n, b = search.B.shape
    search.look(search.latest)
    rho = np.zeros((n, b))
    rho[np.arange(n), search.key] = search.p
    u = search.lam * search.u
    columns, t, slack = (np.zeros(shape, dtype=bool) for shape in ((n, b), (b, len(search.groups)), u.shape))
    value = _value(search, rho)
    return GameSolution(rho, u, value, search.bound, search.iterations, False, columns, t, slack, stopped)


def _solve(search: _Search, tol: float, stoppable: bool) -> GameSolution:
    try:
        scale = _scale(search.B, search.E, search.groups, search.lam, search.pool)
        trivial = search.lam == 0.0 or search.B.shape[1] == 1 or scale == 0.0
        return _assemble(search, _trivial(search) if trivial else _vertex(search, scale, tol))
    except KeyboardInterrupt:
        if not stoppable:
            raise
        return _without_basis(search, stopped=True)
    except ArithmeticError:
        # the simplex method gave up on the restricted program: bound and value stand, a basis is not at hand
        return _without_basis(search, stopped=False)


def solve_game(
    p: Array,
    B: Array,
    E: Array,
    groups: Sequence[slice] | None = None,
    lam: float = 1.0,
    *,
    tol: float = 1e-9,
    progress: Progress | None = None,
    base: Array | None = None,
    stoppable: bool = True,
    noise: Array | None = None,
) -> GameSolution:
    """An optimal vertex of the compact program, with a gap of at most tol times the largest spread of losses.

    The spread is the larger of max_x (max_i - min_i) B[x,i] and lam max_x (max_j - min_j) E[x,j]; sums over states add
    rounding of order 1e-15 of the losses themselves.  Without a basis `vertex` is False.  `progress` is called
    with (iteration, bound, value).  Where `stoppable`, an interrupt returns the best certified answer so far, with
    vertex False.
    `base` (b, e) adds to Eve's rows what states decided elsewhere contribute. `noise` (N, b) of order one breaks ties:
    of several optimal vertices it makes the one likely at which its sum weighted by rho is least.
    """
    n, e = E.shape
    parts = tuple(groups) if groups is not None else (slice(0, e),)
    if [0, *(part.stop for part in parts)] != [*(part.start for part in parts), e]:
        raise ValueError(f"groups = {parts} must cut the {e} columns of Eve's losses into consecutive slices")
    with one_blas_thread(), ThreadPoolExecutor(2) if n >= PARALLEL else nullcontext() as pool:
        alike = classes(B, E)
        search = _Search(p, B, E, parts, lam, progress, pool, base, noise)
        if alike is None:
            return _solve(search, min(tol, 1e-9), stoppable)
        order, start = alike
        first = order[start]
        reduced = None if noise is None else noise[first]
        merged = _Search(
            np.add.reduceat(p[order], start), B[first], E[first], parts, lam, progress, pool, base, reduced
        )
        found = _solve(merged, min(tol, 1e-9), stoppable)
        rho, basic = unmerge(p, order, start, found.rho, found.basic_columns)
        search.look(merged.u)
        return replace(found, rho=rho, basic_columns=basic, value=_value(search, rho), bound=search.bound)
