"""The game over states that do not fit in memory, or that live on the workers of a cluster.

One iteration reads every block once, at the replies u, and brings back b*e sums and the states whose margin at u is
below a width.  Those few, with the others decided by Alice's rule at u, make a small game (bap_lp.game) whose vertex is
a mechanism for all the states, hence an upper bound, and whose replies are the next u, hence the next lower bound.
Where the width covers the distance to the optimal u no decided state is overtaken, the two bounds meet, and the loop
ends; otherwise the band of undecided states is widened.  The first u is learned on a sample.

Identical states share one channel, so the mechanism is u and a short table of rows (B[x,:], E[x,:]) -> q(.|x); it needs
no state numbers, and it applies to states that were never read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bap_lp.game.blas import one_blas_thread
from bap_lp.game.pricing import least_replies, project, reduced, spread, sum_by_key, sweep, two_least
from bap_lp.game.solver import SAMPLE, Progress, solve_game
from bap_lp.game.unmerge import classes
from bap_lp.rational import InputError
from bap_lp.rational import number as number_of

Array = np.ndarray
Block = tuple[Array, Array, Array]
PROBE = 4096


@dataclass(frozen=True)
class Rule:
    """Release the i that minimises B[x,i] - u_i . E[x,:], except for the tied rows of the table, released from q."""

    u: Array
    rows: Array
    q: Array

    def channel(self, B: Array, E: Array) -> Array:
        """q(i|x), (n, b), for any states given by their losses."""
        key, _, _ = two_least(reduced(B, E, self.u))
        out = np.zeros((len(B), len(self.u)))
        out[np.arange(len(B)), key] = 1.0
        if len(self.rows):
            table = {row.tobytes(): k for k, row in enumerate(self.rows)}
            found = np.array([table.get(row.tobytes(), -1) for row in _joined(B, E)])
            out[found >= 0] = self.q[found[found >= 0]]
        return out


@dataclass(frozen=True)
class ChunkedSolution:
    """value: what `rule` attains over all states; bound: the dual function at u; states: how many were read."""

    u: Array
    value: float
    bound: float
    iterations: int
    states: int
    rule: Rule

    @property
    def gap(self) -> float:
        return self.value - self.bound


class _Visit(NamedTuple):
    """What one block answers."""

    states: int
    bound: float
    cost: float
    rows: Array
    spread: float
    near: Block
    mass: float = 0.0


def _joined(B: Array, E: Array) -> Array:
    # adding zero turns -0.0 into 0.0, so that equal rows have equal bytes
    return np.ascontiguousarray(np.hstack([B, E]), dtype=float) + 0.0


def _load(block: Any) -> Block:
    p, B, E = (np.asarray(part, dtype=float) for part in (block() if callable(block) else block))
    return p, B, E


def _possible(p: Array, B: Array, E: Array) -> Block:
    """Without the states of probability zero, which cannot matter."""
    live = p > 0.0
    return (p, B, E) if live.all() else (p[live], B[live], E[live])


def _check(p: Array, B: Array, E: Array, number: int, shape: tuple[int, ...]) -> None:
    where = f"chunks[{number}]"
    if p.ndim != 1 or B.shape != (len(p), shape[0]) or E.shape != (len(p), shape[1]):
        want = f"must be (n,), (n, {shape[0]}) and (n, {shape[1]})"
        raise InputError(where, None, f"has shapes {p.shape}, {B.shape} and {E.shape}: {want}")
    for name, part in (("p", p), ("B", B), ("E", E)):
        wrong = ~(np.isfinite(part) & (part >= 0.0))
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0].tolist())
            place = "".join(f"[{k}]" for k in at)
            raise InputError(f"{where}.{name}{place}", float(part[at]), "must be finite and not negative")


def _merged(p: Array, B: Array, E: Array) -> Block:
    if not len(p):
        return p, B, E
    alike = classes(B, E, rare=True)
    assert alike is not None
    order, start = alike
    return np.add.reduceat(p[order], start), B[order[start]], E[order[start]]


def visit(block: Any, number: int, u: Array, groups: Sequence[slice], lam: float, width: float, most: int) -> _Visit:
    """Read a block at u; width < 0 asks for a sample of at most `most` states, weighted to stand for the block."""
    p, B, E = _load(block)
    if width < 0:
        _check(p, B, E, number, u.shape)
    p, B, E = _possible(p, B, E)
    if not len(p):
        return _Visit(0, 0.0, 0.0, np.zeros(u.shape), 0.0, (p, B, E))
    with one_blas_thread():
        found = sweep(p, B, E, u)
    widest = max(spread(B), *(lam * spread(E[:, part]) for part in groups))
    if width < 0:
        chosen = np.sort(np.random.default_rng(number).permutation(len(p))[:most])
        near = p[chosen] * (len(p) / len(chosen)), B[chosen], E[chosen]
    else:
        chosen = np.flatnonzero(found.margin <= width)
        near = _merged(p[chosen], B[chosen], E[chosen])
        if len(near[0]) > most:
            margin = two_least(reduced(near[1], near[2], u))[2]
            kept = np.sort(np.argpartition(margin, most - 1)[:most])
            near = near[0][kept], near[1][kept], near[2][kept]
    return _Visit(len(p), found.bound, found.cost, found.rows, widest, near, float(p.sum()))


def _visits(chunks: Any, client: Any, *arguments: Any) -> list[_Visit]:
    if client is None:
        blocks = chunks() if callable(chunks) else chunks
        return [visit(block, number, *arguments) for number, block in enumerate(blocks)]
    futures = [client.submit(visit, block, number, *arguments, pure=False) for number, block in enumerate(chunks)]
    return list(client.gather(futures))


def solve_chunks(
    chunks: Iterable[Any] | Callable[[], Iterable[Any]],
    lam: float,
    groups: Sequence[slice] | None = None,
    *,
    tol: float = 1e-9,
    undecided: int = 200_000,
    progress: Progress | None = None,
    client: Any = None,
    limit: int = 40,
) -> ChunkedSolution:
    """Solve over blocks (p, B, E), or callables that load one; `chunks` is re-iterable or a callable that iterates.

    The gap is at most tol times the largest spread of losses (as in solve_game), or what `limit` readings and bands of
    at most `undecided` states allow.  With `client`, a distributed.Client, the blocks (arrays, loaders, or futures of
    either) are sent to the workers once and read there.  An interrupt returns the best certified answer so far.
    """
    price = number_of(lam, "lam")
    if price < 0:
        raise InputError("lam", price, "must not be negative")
    if not callable(chunks) and iter(chunks) is chunks:
        raise InputError("chunks", repr(chunks), "can be read once only: give a list, or a function that iterates")
    lam = float(price)
    if client is not None:
        blocks = list(chunks() if callable(chunks) else chunks)
        future = type(client.submit(int))
        chunks = [k if isinstance(k, future) else client.scatter(_Sealed(k), hash=False) for k in blocks]
    best = _Best(progress)
    try:
        _iterate(chunks, lam, groups, tol, undecided, client, limit, best)
    except KeyboardInterrupt:
        if best.rule is None:
            raise
    assert best.rule is not None
    return ChunkedSolution(best.u, best.value, best.bound, best.iterations, best.states, best.rule)


class _Sealed:
    """A block as one object: scatter would take a tuple apart."""

    def __init__(self, block: Any) -> None:
        self.block = block

    def __call__(self) -> Block:
        return _load(self.block)


class _Best:
    """The best bound with its u, the best value with its rule."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress
        self.bound, self.value, self.iterations, self.states = -math.inf, math.inf, 0, 0
        self.u: Array = np.empty(0)
        self.rule: Rule | None = None

    def offer(self, bound: float, u: Array, value: float, rule: Rule, slack: float) -> None:
        """Of two rules whose values differ by less than the slack the shorter is better."""
        if bound > self.bound:
            self.bound, self.u = bound, u
        shorter = self.rule is not None and len(rule.q) < len(self.rule.q)
        if value < self.value - slack or (shorter and value <= self.value + slack):
            self.value, self.rule = value, rule
        self.iterations += 1
        if self.progress is not None:
            self.progress(self.iterations, self.bound, self.value)


def _pool(visits: list[_Visit]) -> Block:
    p, B, E = (np.concatenate(parts) for parts in zip(*(answer.near for answer in visits), strict=True))
    return p, B, E


def _iterate(
    chunks: Any,
    lam: float,
    groups: Sequence[slice] | None,
    tol: float,
    undecided: int,
    client: Any,
    limit: int,
    best: _Best,
) -> None:
    first = next(iter(chunks() if callable(chunks) else chunks), None)
    if first is None:
        raise InputError("chunks", None, "must not be empty")
    shapes = client.submit(_shape, first).result() if client is not None else _shape(first)
    parts = tuple(groups) if groups is not None else (slice(0, shapes[1]),)
    u = project(np.zeros(shapes), parts, lam)
    visits = _visits(chunks, client, u, parts, lam, -1.0, PROBE)
    best.states = sum(answer.states for answer in visits)
    total = math.fsum(answer.mass for answer in visits)
    if abs(total - 1.0) > 1e-9:
        raise InputError("sum of p over all chunks", f"{total:.12g}", "must be 1")
    scale = max(answer.spread for answer in visits)
    rows, cost, bound = _totals(visits)
    none = np.zeros((0, sum(shapes))), np.zeros((0, shapes[0]))
    slack = 1e-3 * tol * scale
    best.offer(bound, u, cost - lam * float(least_replies(rows, parts).sum()), Rule(u, *none), slack)
    sample = _pool(visits)
    if len(sample[0]) > 4 * SAMPLE:
        kept = np.sort(np.random.default_rng(0).permutation(len(sample[0]))[: 4 * SAMPLE])
        sample = sample[0][kept] * (len(sample[0]) / len(kept)), sample[1][kept], sample[2][kept]
    p, B, E = sample
    u = solve_game(p / p.sum(), B, E, parts, lam, stoppable=False).u
    target, gap = min(undecided, max(SAMPLE, best.states // 20)), math.inf
    for _ in range(limit):
        margin = two_least(reduced(B, E, u))[2]
        share = min(1.0, target / best.states)
        width = math.inf if share == 1.0 else max(float(np.quantile(margin, share)), 1e-9 * scale)
        visits = _visits(chunks, client, u, parts, lam, width, target)
        rows, cost, bound = _totals(visits)
        near = _merged(*_pool(visits))
        value, rule, after = _band(near, rows, cost, u, parts, lam)
        best.offer(bound, u, value, rule, slack)
        if best.value - best.bound <= tol * scale:
            # at the replies just found only the states that a vertex splits are left to the table
            if gap <= tol * scale or len(rule.q) <= u.size:
                return
        elif best.value - best.bound > 0.1 * gap:
            target = min(2 * target, undecided)
        gap, u = best.value - best.bound, after


def _shape(block: Any) -> tuple[int, int]:
    _, B, E = _load(block)
    return B.shape[1], E.shape[1]


def _totals(visits: list[_Visit]) -> tuple[Array, float, float]:
    rows = np.sum([answer.rows for answer in visits], axis=0)
    return rows, math.fsum(answer.cost for answer in visits), math.fsum(answer.bound for answer in visits)


def _band(
    near: Block, rows: Array, cost: float, u: Array, groups: Sequence[slice], lam: float
) -> tuple[float, Rule, Array]:
    """Value, rule and next replies of the game on the undecided states, the others at the rule of u."""
    p, B, E = near
    key, _, _ = two_least(reduced(B, E, u))
    if not len(p):
        empty = Rule(u, np.zeros((0, B.shape[1] + E.shape[1])), np.zeros((0, len(u))))
        return cost - lam * float(least_replies(rows, groups).sum()), empty, u
    base = rows - sum_by_key(p, E, key, len(u))
    found = solve_game(p, B, E, groups, lam, base=base, stoppable=False)
    q = found.rho / p[:, None]
    other = q[np.arange(len(p)), key] < 1.0
    value = cost - float(p @ B[np.arange(len(p)), key]) + found.value
    return value, Rule(u, _joined(B[other], E[other]), q[other]), found.u
