"""The game between Alice and Eve, for many states: an optimal vertex in a time that hardly grows faster than N.

    V(lam) = max over u_i, u[i, g] in lam * simplex,  of  sum_x p[x] min_i [ B[x,i] - sum_j u[i,j] E[x,j] ]

has b*e unknowns whatever N is. With u known to an accuracy delta, every state whose margin at u exceeds about delta is
decided; only the rest need a linear program. So u is learned on a sample of the states, then on the states that the
sample leaves undecided, while the others enter as a constant. This is repeated until no decided state changes its
decision. Then a simplex method on the few nearly tied columns ends at a vertex. Every lower bound is the dual function
itself and every value is computed from rho, so the gap is right whatever either method did.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np

from bap_lp.clock import OutOfTime, SolveProgress, check
from bap_lp.engines.game.blas import one_blas_thread
from bap_lp.engines.game.interior import interior_point
from bap_lp.engines.game.pricing import Pricing, centred, largest_spread, over, pass_over, sum_by_key
from bap_lp.engines.game.vertex import GameVertex, near_basis, to_vertex
from bap_lp.model.sums.arrays import Arrays
from bap_lp.rational import Array, InputError

SAMPLE = 20_000  # states on which the first replies are learned
_PARALLEL = 50_000  # states from which two threads are faster than one
FEW = 8  # values of a table of losses that make ties certain


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


class _GameSearch:
    """The data, and the best certified pair so far: a bound with its u (unit rows), a value with its rule."""

    def __init__(
        self,
        arrays: Arrays,
        lam: float,
        tell: SolveProgress | None,
        pool: Executor | None,
        base: Array | None = None,
        noise: Array | None = None,
    ) -> None:
        self.arrays, self.lam, self.tell, self.pool, self.noise = arrays, lam, tell, pool, noise
        self.uniform = arrays.on_simplex(np.zeros(arrays.shape[1:]), 1.0)
        self.base = self.uniform * 0.0 if base is None else base
        self.u = self.latest = self.uniform
        self.bound, self.value, self.iterations = -math.inf, math.inf, 0
        self.key: Array | None = None
        self.spent, self.since = 0.0, time.perf_counter()

    def look(self, u: Array, held: Array | None = None, tol: float = 0.0) -> Pricing:
        """One pass at u; its bound and the value of its rule are kept where they are the best so far."""
        begin = time.perf_counter()
        u = self.arrays.on_simplex(u, 1.0)
        found = pass_over(self.arrays, self.lam * u, self.pool, held, tol)
        bound = found.bound - self.lam * float((u * self.base).sum())
        if bound > self.bound:
            self.bound, self.u = bound, u
        value = found.cost - self.lam * float(self.arrays.least_replies(found.rows + self.base).sum())
        if value < self.value:
            self.value, self.key = value, found.key.copy()
        self.since = time.perf_counter()
        self.spent = self.since - begin
        return found

    def tick(self, _: int, u: Array) -> None:
        """Count an iteration. With a listener a pass is made as long as passes take less than a fifth of the time."""
        check()
        self.iterations += 1
        self.latest = u
        if self.tell is not None:
            if time.perf_counter() - self.since > 4 * self.spent:
                self.look(u)
            self.tell(self.iterations, self.bound, self.value)


def _scaled(search: _GameSearch, chosen: Array | slice, scale: float) -> Arrays:
    """The chosen states, centred and of order one; stored by columns, as the interior point reads them."""
    arrays = search.arrays
    B = np.array(arrays.B[chosen].T, dtype=float, order="C")
    B /= scale
    B -= B.min(axis=0)
    E = np.array(arrays.E[chosen].T, dtype=float, order="C")
    E *= search.lam / scale
    for g in arrays.groups:
        E[g] -= E[g].mean(axis=0)
    return Arrays(arrays.p[chosen], B.T, E.T, arrays.groups)


def _learn(search: _GameSearch, scale: float, tol: float) -> tuple[Array, float, Pricing]:
    """u with unit rows, the gap relative to the scale at which the interior point left it, and the pass at u."""
    arrays, u, weight = search.arrays, search.uniform, search.lam / scale
    n, b, _ = arrays.shape
    follow = partial(interior_point, pool=search.pool, watch=search.tick)
    if n <= 2 * SAMPLE:
        point = follow(_scaled(search, slice(None), scale), centred(search.base * weight, arrays.groups), u, 0.1, tol)
        u = arrays.on_simplex(point.u, 1.0)
        return u, point.gap, search.look(u)
    few = min(SAMPLE, max(n // 10, SAMPLE // 4))
    some = _scaled(search, np.sort(np.random.default_rng(0).choice(n, few, replace=False)), scale)
    some = replace(some, p=some.p / some.p.sum())
    point = follow(some, centred(search.base * (weight / arrays.p.sum()), arrays.groups), u, 0.1, 1e-5)
    size = max(SAMPLE // 2, n // 20)
    found = search.look(point.u)
    for round_ in count():
        near = np.sort(np.argpartition(found.margin, size - 1)[:size]) if size < n else np.arange(n)
        fixed = search.base + found.rows - sum_by_key(arrays.p[near], arrays.E[near], found.key[near], b)
        mu = min(max(float(found.margin[near].max()) / scale, 1e-2), 0.1)
        start = 0.9 * arrays.on_simplex(point.u, 1.0) + 0.1 * search.uniform
        point = follow(_scaled(search, near, scale), centred(fixed * weight, arrays.groups), start, mu, tol)
        u = arrays.on_simplex(point.u, 1.0)
        found = search.look(u, found.key, 1e-9 * scale)
        if size == n or len(np.setdiff1d(found.late, near, assume_unique=True)) <= u.size:
            break
        # the second band has the same size, around better replies
        size = min(2 * size, n) if round_ else size
    return u, point.gap, found


def _vertex(search: _GameSearch, scale: float, tol: float) -> GameVertex:
    """Learn u, then pivot. Where many states are tied, losses perturbed by 1e-6 break the ties first.

    A basis that is optimal for a small enough perturbation is optimal without it, so the last step, on the losses
    themselves, starts at its end or close to it.
    """
    arrays, lam = search.arrays, search.lam
    pivot = partial(to_vertex, lam=lam, scale=scale, base=search.base, pool=search.pool, watch=search.tick)
    # noise must stay well below Bob's own losses, or the perturbed vertex says nothing about the true one
    noisy = arrays.B.size > 1000 and not 0.0 < largest_spread(arrays, 0.0, search.pool) < 1e-3 * scale
    if not (noisy and few_values(arrays.B) and few_values(arrays.E)):
        u, gap, found = _learn(search, scale, tol)
        width, tied = _width(found.margin / scale, gap, u.size)
        if not (noisy and tied):
            return pivot(arrays, start=near_basis(arrays, lam, u, found, width * scale, search.base))
    noise = np.random.default_rng(3).random(arrays.B.shape) if search.noise is None else search.noise.copy()
    noise *= 1e-6 * scale
    noise += arrays.B
    perturbed = replace(arrays, B=noise)
    other = _GameSearch(perturbed, lam, None, search.pool, search.base)
    other.tick = search.tick  # type: ignore[method-assign]
    u, gap, found = _learn(other, scale, 1e-9)  # a thousandth of the perturbation
    width = _width(found.margin / scale, gap, u.size)[0]
    start = near_basis(perturbed, lam, u, found, width * scale, search.base)
    return pivot(arrays, start=pivot(perturbed, start=start).basis, solved=True)


def few_values(losses: Array) -> bool:
    """Whether losses repeat so much that ties are certain: then nothing is learned without the perturbation."""
    return all(len(set(losses[:rows].ravel().tolist())) <= FEW for rows in (4, 256))


def _width(margin: Array, gap: float, size: int) -> tuple[float, bool]:
    """The margin below which a state counts as undecided, and whether ties make far more such states than a vertex has.

    On the path q z is about the gap, so q = z near its root; a vertex splits at most b*e = size states.
    """
    few = 2 * size + 50
    reach = float(np.partition(margin, few - 1)[few - 1]) if few < len(margin) else math.inf
    return min(3 * math.sqrt(max(gap, 1e-14)), max(reach, 1e-10)), reach < 1e-7


def _trivial(search: _GameSearch) -> GameVertex:
    """With lam = 0, one decision or constant losses the rule of any u is optimal: its vertex."""
    found = search.look(search.uniform)
    basis = near_basis(search.arrays, search.lam, search.uniform, found, -1.0, search.base)
    u = np.where(basis.slack, 0.0, 1.0)
    search.tick(0, u)
    return GameVertex(basis, u, np.zeros((0, len(u))), True)


def _value(search: _GameSearch, rho: Array) -> float:
    arrays = search.arrays

    def work(cut: slice) -> tuple[float, Array]:
        return float(np.vdot(arrays.B[cut], rho[cut])), rho[cut].T @ arrays.E[cut]

    parts = over(search.pool, work, len(rho))
    rows = search.base + np.sum([part[1] for part in parts], axis=0)
    return math.fsum(part[0] for part in parts) - search.lam * float(arrays.least_replies(rows).sum())


def _assemble(search: _GameSearch, found: GameVertex) -> GameSolution:
    (n, b, _), p, basis = search.arrays.shape, search.arrays.p, found.basis
    basic = np.zeros((n, b), dtype=bool)
    basic[np.arange(n), basis.key] = True
    basic[basis.near] = basis.basic
    rho = search.arrays.rule_table(basis.key)
    weights = np.maximum(found.rho, 0.0)
    rho[basis.near] = weights * (p[basis.near] / weights.sum(axis=1))[:, None]
    search.look(found.u)
    value, u = _value(search, rho), search.lam * search.u
    if search.tell is not None:
        search.tell(search.iterations, search.bound, value)
    return GameSolution(rho, u, value, search.bound, search.iterations, found.settled, basic, basis.t, basis.slack)


def _without_basis(search: _GameSearch, stopped: bool) -> GameSolution:
    """The best pair seen, with no basis."""
    search.look(search.latest)
    assert search.key is not None
    rho, u = search.arrays.rule_table(search.key), search.lam * search.u
    shapes = rho.shape, (len(u), len(search.arrays.groups)), u.shape
    columns, t, slack = (np.zeros(shape, dtype=bool) for shape in shapes)
    value = _value(search, rho)
    return GameSolution(rho, u, value, search.bound, search.iterations, False, columns, t, slack, stopped)


def _solve(search: _GameSearch, tol: float, stoppable: bool) -> GameSolution:
    try:
        scale = largest_spread(search.arrays, search.lam, search.pool)
        trivial = search.lam == 0.0 or search.arrays.shape[1] == 1 or scale == 0.0
        return _assemble(search, _trivial(search) if trivial else _vertex(search, scale, tol))
    except (KeyboardInterrupt, OutOfTime):
        if not stoppable:
            raise
        return _without_basis(search, stopped=True)
    except ArithmeticError:
        # the simplex method found no optimum of the restricted program: bound and value hold, but there is no basis
        return _without_basis(search, stopped=False)


def consecutive(groups: Any, columns: int) -> tuple[slice, ...]:
    """The columns of each Eve, all of them one Eve's if nothing is said; refuses what does not cut them up."""
    try:
        parts = (slice(0, columns),) if groups is None else tuple(groups)
        cut = [0, *(part.stop for part in parts)] == [*(part.start for part in parts), columns]
    except (TypeError, AttributeError):
        parts, cut = (), False
    if not cut:
        rule = f"must cut the {columns} columns of Eve's losses into consecutive slices"
        raise InputError("groups", groups, rule)
    return parts


def solve_game(
    p: Array,
    B: Array,
    E: Array,
    groups: Sequence[slice] | None = None,
    lam: float = 1.0,
    *,
    tol: float = 1e-9,
    progress: SolveProgress | None = None,
    base: Array | None = None,
    stoppable: bool = True,
    noise: Array | None = None,
) -> GameSolution:
    """An optimal vertex of the compact program, with a gap of at most tol times the largest spread of losses.

    The spread is the larger of max_x (max_i - min_i) B[x,i] and lam max_x (max_j - min_j) E[x,j]; sums over states add
    rounding of order 1e-15 of the losses themselves.

    Args:
        p: the prior, all entries positive.
        B: Bob's losses, states x decisions.
        E: Eve's losses, states x decisions of all Eves, weighted.
        groups: the columns of E that belong to each Eve; one Eve by default.
        lam: the weight of Eve's risk.
        tol: the gap to reach.
        progress: called with (iteration, bound, value).
        base: (b, e), added to Eve's rows: what states decided elsewhere contribute.
        stoppable: whether an interrupt or the end of the time limit returns the best certified answer so far, with
            `vertex` False.
        noise: (N, b) of order one, breaks ties: among several optimal vertices, one at which the sum of noise weighted
            by rho is least becomes likely.

    Returns:
        The solution; `vertex` is False if it has no basis.

    Raises:
        InputError: groups are not consecutive slices that cover the columns of E.
        KeyboardInterrupt: the user stops it and `stoppable` is False.
    """
    n, e = E.shape
    parts = consecutive(groups, e)
    arrays = Arrays(p, B, E, parts)
    with one_blas_thread(), ThreadPoolExecutor(2) if n >= _PARALLEL else nullcontext() as pool:
        return _solve(_GameSearch(arrays, lam, progress, pool, base, noise), min(tol, 1e-9), stoppable)
