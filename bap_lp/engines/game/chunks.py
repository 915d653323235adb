"""The game over states that do not fit in memory, or that live on the workers of a cluster.

One iteration reads every block once, at the replies u, and returns b*e sums and the states whose margin at u is below a
width. Those few, with the others decided by Alice's rule at u, make a small game (module `solver`). Its vertex is
a mechanism for all the states, hence an upper bound. Its replies are the next u, hence the next lower bound. If the
width covers the distance to the optimal u, no decided state changes its decision, the two bounds meet, and the loop
ends; otherwise the band of undecided states is widened. The first u is learned on a sample.

Identical states share one channel, so the mechanism is u and a short table of rows (B(x,.), E(x,.)) -> q(.|x). It needs
no state numbers, and it applies to states that were never read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from bap_lp.arguments import real_numbers, whole_number
from bap_lp.clock import OutOfTime, SolveProgress, check, time_limited
from bap_lp.engines.game.blas import one_blas_thread
from bap_lp.engines.game.cluster import RemoteBlocks, WorkersLost
from bap_lp.engines.game.pricing import largest_spread, pass_over, reduced, sum_by_key, two_least
from bap_lp.engines.game.solver import SAMPLE, consecutive, solve_game
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.merging import classes
from bap_lp.rational import Array, InputError
from bap_lp.rational import number as number_of

_PROBE = 4096  # states of a block that enter the first sample


@dataclass(frozen=True)
class ChunkRule:
    """Release the i that minimises B(x,i) - u_i.E(x,.), except for the tied rows of the table, released from q."""

    u: Array
    rows: Array
    q: Array

    def channel(self, B: Array, E: Array) -> Array:
        """q(i|x), states x Bob's decisions, for any states given by their losses."""
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
    rule: ChunkRule

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
    near: Arrays
    mass: float = 0.0


def _joined(B: Array, E: Array) -> Array:
    # adding zero turns -0.0 into 0.0, so that equal rows have equal bytes
    return np.ascontiguousarray(np.hstack([B, E]), dtype=float) + 0.0


def _load(block: Any, number: int, groups: Sequence[slice] = ()) -> Arrays:
    where, parts = f"chunks[{number}]", block() if callable(block) else block
    found = () if isinstance(parts, (str, dict)) or not isinstance(parts, Iterable) else tuple(parts)
    if len(found) != 3:
        raise InputError(where, None, "must be (p, B, E), or a function that returns them")
    p, B, E = (real_numbers(f"{where}.{name}", part) for name, part in zip("pBE", found, strict=True))
    return Arrays(p, B, E, tuple(groups))


def _check(block: Arrays, number: int, shape: tuple[int, ...]) -> None:
    where, (p, B, E) = f"chunks[{number}]", (block.p, block.B, block.E)
    if p.ndim != 1 or B.shape != (len(p), shape[0]) or E.shape != (len(p), shape[1]):
        want = f"must be (n,), (n, {shape[0]}) and (n, {shape[1]})"
        raise InputError(where, None, f"has shapes {p.shape}, {B.shape} and {E.shape}: {want}")
    for name, part in (("p", p), ("B", B), ("E", E)):
        wrong = ~(np.isfinite(part) & (part >= 0.0))
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0].tolist())
            place = "".join(f"[{k}]" for k in at)
            raise InputError(f"{where}.{name}{place}", float(part[at]), "must be finite and not negative")


def _merged(block: Arrays) -> Arrays:
    if not len(block.p):
        return block
    alike = classes(block.B, block.E, rare=True)
    assert alike is not None
    return block.classes_of(*alike)


def visit(block: Any, number: int, u: Array, groups: Sequence[slice], lam: float, width: float, most: int) -> _Visit:
    """Read a block at u; width < 0 asks for a sample of at most `most` states, weighted to represent the block."""
    data = _load(block, number, groups)
    if width < 0:
        _check(data, number, u.shape)
    live = data.p > 0.0
    data = data if live.all() else data.states(live)
    n = len(data.p)
    if not n:
        return _Visit(0, 0.0, 0.0, np.zeros(u.shape), 0.0, data)
    with one_blas_thread():
        found = pass_over(data, u)
    # a margin B - u.E takes e + 2 roundings, a pairwise sum of products 17 + log2(n) more, here at twice their size
    size = float(data.B.max()) + float((u @ data.E.max(axis=0)).max())
    error = (u.shape[1] + 40) * float(np.finfo(float).eps) * size * float(data.p.sum())
    if width < 0:
        near = data.states(np.sort(np.random.default_rng(number).permutation(n)[:most]))
        near = replace(near, p=near.p * (n / len(near.p)))
    else:
        near = _merged(data.states(np.flatnonzero(found.margin <= width)))
        if len(near.p) > most:
            margin = two_least(reduced(near.B, near.E, u))[2]
            near = near.states(np.sort(np.argpartition(margin, most - 1)[:most]))
    spread = largest_spread(data, lam)
    return _Visit(n, found.bound - error, found.cost, found.rows, spread, near, float(data.p.sum()))


class LocalBlocks:
    """Blocks that are read here, one after another, with the interface of `RemoteBlocks`."""

    def __init__(self, chunks: Any) -> None:
        self.chunks = chunks

    def call(self, function: Callable[..., Any], *arguments: Any, most: int | None = None) -> list[Any]:
        """The function of every block and its number, in order; only of the first few if told."""
        blocks = islice(self.chunks() if callable(self.chunks) else self.chunks, most)
        return [function(block, number, *arguments) for number, block in enumerate(blocks)]


def solve_chunks(
    chunks: Iterable[Any] | Callable[[], Iterable[Any]],
    lam: float,
    groups: Sequence[slice] | None = None,
    *,
    tol: float = 1e-9,
    undecided: int = 200_000,
    progress: SolveProgress | None = None,
    client: Any = None,
    limit: int = 40,
    time_limit: float | None = None,
) -> ChunkedSolution:
    """Minimise R_A over states that are read block by block, in floats, with a certified gap.

    An interrupt, a time limit or a cluster that is lost for good returns the best certified answer so far.

    Args:
        chunks: blocks (p, B, E), or callables that load one: a list, or a function that iterates over them anew.
        lam: the weight of Eve's risk.
        groups: the columns of E that belong to each Eve; one Eve by default.
        tol: the gap to reach, relative to the largest spread of losses at one state.
        undecided: the largest number of states in the small game of one iteration.
        progress: called with (iteration, bound, value).
        client: a distributed.Client: arrays are sent to its workers once, and again if a worker is lost; loaders are
            called on the workers; futures of either are used as they are.
        limit: the largest number of readings.
        time_limit: seconds after which the best certified answer so far is returned.

    Returns:
        The optimal rule with its value and bound. The gap can exceed tol if `limit` or `undecided` is too small.

    Raises:
        WorkersLost: the cluster was lost before the first answer.
        InputError: lam is negative, a block has the wrong shape or a negative or infinite entry, the prior does not sum
            to one, or chunks can be read only once.

    >>> import numpy as np
    >>> from bap_lp import array_blocks, solve_chunks
    >>> p, B = np.array([0.75, 0.25]), np.array([[1 / 3, 2 / 3], [1, 0]])
    >>> blocks = array_blocks(p, B, np.array([[0, 1], [10, 0]]))
    >>> found = solve_chunks(blocks, lam=1 / 3)
    >>> round(found.value, 9), found.states, abs(found.gap) < 1e-12
    (0.075, 2, True)
    >>> found.rule.channel(np.array([[1, 0]]), np.array([[10, 0]])).round(9).tolist()
    [[0.3, 0.7]]
    """
    price = number_of(lam, "lam")
    if price < 0:
        raise InputError("lam", price, "must not be negative")
    if not callable(chunks) and (not isinstance(chunks, Iterable) or isinstance(chunks, (str, bytes, dict))):
        raise InputError("chunks", None, f"must be a list, or a function that iterates, is a {type(chunks).__name__}")
    tol, undecided, limit = _settings(tol, undecided, limit)
    if not callable(chunks) and iter(chunks) is chunks:
        raise InputError("chunks", repr(chunks), "can be read once only: give a list, or a function that iterates")
    lam = float(price)
    best = _Best(progress)
    try:
        with time_limited(time_limit):
            blocks: LocalBlocks | RemoteBlocks = LocalBlocks(chunks)
            if client is not None:
                blocks = RemoteBlocks(client, list(chunks() if callable(chunks) else chunks))
            _iterate(blocks, lam, groups, tol, undecided, limit, best)
    except (KeyboardInterrupt, OutOfTime, WorkersLost):
        if best.rule is None:
            raise
    assert best.rule is not None
    return ChunkedSolution(best.u, best.value, best.bound, best.iterations, best.states, best.rule)


def _settings(tol: Any, undecided: Any, limit: Any) -> tuple[float, int, int]:
    small = number_of(tol, "tol")
    if small < 0:
        raise InputError("tol", small, "must not be negative")
    return float(small), whole_number("undecided", undecided, 1), whole_number("limit", limit, 1)


class _Best:
    """The best bound with its u, the best value with its rule."""

    def __init__(self, progress: SolveProgress | None) -> None:
        self.progress = progress
        self.bound, self.value, self.iterations, self.states = -math.inf, math.inf, 0, 0
        self.u: Array = np.empty(0)
        self.rule: ChunkRule | None = None

    def offer(self, bound: float, u: Array, value: float, rule: ChunkRule, slack: float) -> None:
        """Of two rules whose values differ by less than the slack the shorter is better."""
        if bound > self.bound:
            self.bound, self.u = bound, u
        shorter = self.rule is not None and len(rule.q) < len(self.rule.q)
        if value < self.value - slack or (shorter and value <= self.value + slack):
            self.value, self.rule = value, rule
        self.iterations += 1
        if self.progress is not None:
            self.progress(self.iterations, self.bound, self.value)


def _pool(visits: list[_Visit]) -> Arrays:
    parts = [answer.near for answer in visits]
    p, B, E = (np.concatenate(tables) for tables in zip(*((a.p, a.B, a.E) for a in parts), strict=True))
    return Arrays(p, B, E, parts[0].groups)


def _iterate(
    blocks: LocalBlocks | RemoteBlocks,
    lam: float,
    groups: Sequence[slice] | None,
    tol: float,
    undecided: int,
    limit: int,
    best: _Best,
) -> None:
    shapes = blocks.call(_shape, most=1)
    if not shapes:
        raise InputError("chunks", None, "must not be empty")
    b, e = shapes[0]
    nobody = Arrays(np.zeros(0), np.zeros((0, b)), np.zeros((0, e)), consecutive(groups, e))
    u = nobody.on_simplex(np.zeros((b, e)), lam)
    visits = blocks.call(visit, u, nobody.groups, lam, -1.0, _PROBE)
    best.states = sum(answer.states for answer in visits)
    total = math.fsum(answer.mass for answer in visits)
    if abs(total - 1.0) > 1e-9:
        raise InputError("sum of p over all chunks", f"{total:.12g}", "must be 1")
    scale = max(answer.spread for answer in visits)
    slack = 1e-3 * tol * scale
    value, rule, _ = _band(nobody, visits, u, lam)
    best.offer(_bound(visits), u, value, rule, slack)
    sample = _pool(visits)
    if len(sample.p) > 4 * SAMPLE:
        sample = sample.states(np.sort(np.random.default_rng(0).permutation(len(sample.p))[: 4 * SAMPLE]))
    u = solve_game(sample.p / sample.p.sum(), sample.B, sample.E, sample.groups, lam, stoppable=False).u
    target, gap = min(undecided, max(SAMPLE, best.states // 20)), math.inf
    for _ in range(limit):
        margin = two_least(reduced(sample.B, sample.E, u))[2]
        share = min(1.0, target / best.states)
        width = math.inf if share == 1.0 else max(float(np.quantile(margin, share)), 1e-9 * scale)
        check()
        visits = blocks.call(visit, u, nobody.groups, lam, width, target)
        value, rule, after = _band(_merged(_pool(visits)), visits, u, lam)
        best.offer(_bound(visits), u, value, rule, slack)
        if best.value - best.bound <= tol * scale:
            # at the replies just found only the states that a vertex splits are left to the table
            if gap <= tol * scale or len(rule.q) <= u.size:
                return
        elif best.value - best.bound > 0.1 * gap:
            target = min(2 * target, undecided)
        gap, u = best.value - best.bound, after


def _shape(block: Any, number: int) -> tuple[int, int]:
    data = _load(block, number)
    if data.B.ndim != 2 or data.E.ndim != 2:
        shapes = f"{data.p.shape}, {data.B.shape} and {data.E.shape}"
        raise InputError(f"chunks[{number}]", None, f"has shapes {shapes}: must be (n,), (n, b) and (n, e)")
    return data.B.shape[1], data.E.shape[1]


def _bound(visits: list[_Visit]) -> float:
    return math.fsum(answer.bound for answer in visits)


def _band(near: Arrays, visits: list[_Visit], u: Array, lam: float) -> tuple[float, ChunkRule, Array]:
    """Value, rule and next replies of the game on the undecided states, the others at the rule of u."""
    p, B, E = near.p, near.B, near.E
    rows, cost = np.sum([answer.rows for answer in visits], axis=0), math.fsum(answer.cost for answer in visits)
    if not len(p):
        value = cost - lam * float(near.least_replies(rows).sum())
        return value, ChunkRule(u, _joined(B, E), np.zeros((0, len(u)))), u
    key, _, _ = two_least(reduced(B, E, u))
    base = rows - sum_by_key(p, E, key, len(u))
    found = solve_game(p, B, E, near.groups, lam, base=base, stoppable=False)
    q = found.rho / p[:, None]
    other = q[np.arange(len(p)), key] < 1.0
    value = cost - float(p @ B[np.arange(len(p)), key]) + found.value
    return value, ChunkRule(u, _joined(B[other], E[other]), q[other]), found.u
