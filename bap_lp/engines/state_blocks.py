"""The game over states that do not fit in memory, or that live on the workers of a cluster, in blocks.

One iteration reads every block once, at the replies u, and returns b*e sums and the states whose margin at u is below a
width. Those few, with the others decided by Alice's rule at u, make a small game (module `many_states`). Its vertex is
a mechanism for all the states, hence an upper bound. Its replies are the next u, hence the next lower bound. If the
width covers the distance to the optimal u, no decided state changes its decision, the two bounds meet, and the loop
ends; otherwise the band of undecided states is widened. The first u is learned on a sample.

Identical states share one channel, so the mechanism is u and a short table of rows (B(x,.), E(x,.)) -> q(.|x). It needs
no state numbers, and it applies to states that were never read.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bap_lp.engines.blas import one_blas_thread
from bap_lp.engines.block_workers import RemoteBlocks, WorkersLost
from bap_lp.engines.many_states import SAMPLE, largest_spread, margins, rule_at, solve_game, sums_of
from bap_lp.model.sums.arrays import Arrays, groups_of
from bap_lp.model.sums.merging import class_sums, first_members, merge_index
from bap_lp.support.arguments import real_numbers
from bap_lp.support.clock import OutOfTime, SolveProgress, check, time_limited
from bap_lp.support.rational import Array, InputError
from bap_lp.support.rational import number as number_of

Each = Callable[..., list[Any]]
_PROBE = 4096  # states of a block that enter the first sample
_MOST = 200_000  # undecided states of one small game
_READINGS = 40
_GAP = 1e-9  # of the largest spread of losses at one state


@dataclass(frozen=True)
class BlockRule:
    """Release the i that minimises B(x,i) - u_i.E(x,.), except for the tied rows of the table, released from q."""

    u: Array
    rows: Array
    q: Array

    def channel(self, B: Array, E: Array) -> Array:
        """q(i|x), states x Bob's decisions, for any states given by their losses (of all Eves, side by side)."""
        B, E = real_numbers("B", B), real_numbers("E", E)
        out = np.eye(len(self.u))[margins(B, E, self.u)[1]]
        if len(self.rows):
            table = {row.tobytes(): k for k, row in enumerate(self.rows)}
            found = np.array([table.get(row.tobytes(), -1) for row in _joined(B, E)])
            out[found >= 0] = self.q[found[found >= 0]]
        return out


@dataclass(frozen=True)
class BlockSolution:
    """An optimal rule over states in blocks, with its proof. `solve` makes it.

    Attributes:
        u: Eve's replies, one row per signal.
        value: R_A of `rule` over all states.
        bound: the dual function at u, a number that no mechanism can beat.
        iterations: how often the blocks were read.
        states: how many states of positive probability they have.
        rule: the mechanism.
    """

    u: Array
    value: float
    bound: float
    iterations: int
    states: int
    rule: BlockRule

    @property
    def gap(self) -> float:
        return self.value - self.bound


class _Visit(NamedTuple):
    """What one block answers: its part of the bound, of the cost and of Eve's rows at u, and the states near a tie."""

    states: int
    mass: float
    bound: float
    cost: float
    rows: Array
    spread: float
    near: Arrays


def _joined(B: Array, E: Array) -> Array:
    # adding zero turns -0.0 into 0.0, so that equal rows have equal bytes
    return np.ascontiguousarray(np.hstack([B, E]), dtype=float) + 0.0


def _read(block: Any, number: int) -> Arrays:
    parts, where = block() if callable(block) else block, f"blocks[{number}]"
    parts = () if isinstance(parts, (str, dict)) or not isinstance(parts, Iterable) else tuple(parts)
    if len(parts) < 3:
        raise InputError(where, None, "must be (p, B, E), with a table E for every Eve, or a function that returns it")
    p, *losses = (real_numbers(f"{where}[{k}]", part) for k, part in enumerate(parts))
    if p.ndim != 1 or any(table.ndim != 2 or len(table) != len(p) for table in losses):
        shapes = ", ".join(str(part.shape) for part in (p, *losses))
        raise InputError(where, None, f"has shapes {shapes}: must be (n,), (n, b) and (n, e)")
    return Arrays(p, losses[0], np.hstack(losses[1:]), groups_of([table.shape[1] for table in losses[1:]]))


def _check(block: Arrays, number: int) -> None:
    for name, part in (("p", block.p), ("B", block.B), ("E", block.E)):
        wrong = np.argwhere(~(np.isfinite(part) & (part >= 0.0)))
        if len(wrong):
            place = "".join(f"[{k}]" for k in wrong[0].tolist())
            value = float(part[tuple(wrong[0])])
            raise InputError(f"blocks[{number}].{name}{place}", value, "must be finite and not negative")


def _merged(block: Arrays) -> Arrays:
    if not len(block.p):
        return block
    index, classes = merge_index(block.p, [block.B, block.E])
    return replace(block.states(first_members(index)), p=class_sums(block.p, index, classes))


def _visit(block: Any, number: int, lam: float, u: Array | None, width: float, most: int) -> _Visit:
    """Read a block at u; the first time at uniform u, with a sample of its states, weighted to represent it."""
    data, first = _read(block, number), u is None
    if u is None:
        _check(data, number)
        u = data.on_simplex(np.zeros(data.shape[1:]), lam)
    data = data.states(data.p > 0.0)
    n = len(data.p)
    if not n:
        return _Visit(0, 0.0, 0.0, 0.0, np.zeros(u.shape), 0.0, data)
    with one_blas_thread():
        found = rule_at(data, u)
    # a margin B - u.E takes e + 2 roundings, a pairwise sum of products 17 + log2(n) more, here at twice their size
    size = float(data.B.max()) + float((u @ data.E.max(axis=0)).max())
    error = (u.shape[1] + 40) * float(np.finfo(float).eps) * size * float(data.p.sum())
    if first:
        near = data.states(np.sort(np.random.default_rng(number).permutation(n)[:most]))
        near = replace(near, p=near.p * (n / len(near.p)))
    else:
        near = _merged(data.states(found.margin <= width))
        if len(near.p) > most:
            near = near.states(np.sort(np.argpartition(margins(near.B, near.E, u)[2], most - 1)[:most]))
    spread = largest_spread(data, lam)
    return _Visit(n, float(data.p.sum()), found.bound - error, found.cost, found.rows, spread, near)


def _each(blocks: list[Any], function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """The function of every block and its number, read here one after another; `RemoteBlocks.each` on workers."""
    return [function(block, number, *arguments) for number, block in enumerate(blocks)]


def solve_blocks(
    blocks: Iterable[Any],
    lam: Any,
    progress: SolveProgress | None = None,
    client: Any = None,
    time_limit: float | None = None,
) -> BlockSolution:
    """`solve` over states in blocks. The end of the time, an interrupt or a lost cluster leaves the best answer so far.

    Raises:
        WorkersLost: the cluster was lost before the first answer.
        InputError: lam is no number, a block has the wrong shape or a negative or infinite entry, or the prior does not
            sum to one.
    """
    if not isinstance(blocks, Iterable) or isinstance(blocks, (str, bytes, dict)):
        raise InputError("problem", None, f"must be a Problem or a list of blocks, is of type {type(blocks).__name__}")
    price = number_of(lam, "lam")
    if price < 0:
        raise InputError("lam", price, "must not be negative")
    search = _BlockSearch(float(price), progress)
    try:
        with time_limited(time_limit):
            listed = list(blocks)
            search.run(partial(_each, listed) if client is None else RemoteBlocks(client, listed).each)
    except (KeyboardInterrupt, OutOfTime, WorkersLost):
        if search.rule is None:
            raise
    assert search.rule is not None
    return BlockSolution(search.u, search.value, search.bound, search.iterations, search.states, search.rule)


class _BlockSearch:
    """The best bound with its u, the best value with its rule."""

    def __init__(self, lam: float, progress: SolveProgress | None) -> None:
        self.lam, self.progress = lam, progress
        self.bound, self.value, self.iterations, self.states, self.scale = -math.inf, math.inf, 0, 0, 0.0
        self.u: Array = np.empty(0)
        self.rule: BlockRule | None = None

    def run(self, each: Each) -> None:
        sample, u = self._sampled(each)
        target, gap = min(_MOST, max(SAMPLE, self.states // 20)), math.inf
        for _ in range(_READINGS):
            margin, share = margins(sample.B, sample.E, u)[2], target / self.states
            width = math.inf if share >= 1.0 else max(float(np.quantile(margin, share)), 1e-9 * self.scale)
            check()
            visits = each(_visit, self.lam, u, width, target)
            value, rule, after = self._band(_merged(_pool(visits)), visits, u)
            self._offer(visits, u, value, rule)
            if self.value - self.bound <= _GAP * self.scale:
                # at the replies just found only the states that a vertex splits are left to the table
                if gap <= _GAP * self.scale or len(rule.q) <= u.size:
                    return
            elif self.value - self.bound > 0.1 * gap:
                target = min(2 * target, _MOST)
            gap, u = self.value - self.bound, after

    def _sampled(self, each: Each) -> tuple[Arrays, Array]:
        """A sample of the states and the u learned on it, after a first answer at uniform u."""
        visits: list[_Visit] = each(_visit, self.lam, None, 0.0, _PROBE)
        if not visits:
            raise InputError("blocks", None, "must not be empty")
        kinds = [(*answer.near.shape[1:], answer.near.groups) for answer in visits]
        for number, own in enumerate(kinds):
            if own != kinds[0]:
                must = f"has {own[0]} and {own[1]} columns, must have {kinds[0][0]} and {kinds[0][1]} as blocks[0]"
                raise InputError(f"blocks[{number}]", None, must)
        total = math.fsum(answer.mass for answer in visits)
        if abs(total - 1.0) > 1e-9:
            raise InputError("sum of p over all blocks", f"{total:.12g}", "must be 1")
        self.states, self.scale = sum(answer.states for answer in visits), max(answer.spread for answer in visits)
        sample = _pool(visits)
        u = sample.on_simplex(np.zeros(sample.shape[1:]), self.lam)
        value, rule, _ = self._band(sample.states(slice(0)), visits, u)
        self._offer(visits, u, value, rule)
        if len(sample.p) > 4 * SAMPLE:
            sample = sample.states(np.sort(np.random.default_rng(0).permutation(len(sample.p))[: 4 * SAMPLE]))
        found = solve_game(sample.p / sample.p.sum(), sample.B, sample.E, sample.groups, self.lam, stoppable=False)
        return sample, found.u

    def _offer(self, visits: list[_Visit], u: Array, value: float, rule: BlockRule) -> None:
        bound = math.fsum(answer.bound for answer in visits)
        if bound > self.bound:
            self.bound, self.u = bound, u
        if value <= self.value + 1e-3 * _GAP * self.scale:  # where values hardly differ the later table is shorter
            self.value, self.rule = value, rule
        self.iterations += 1
        if self.progress is not None:
            self.progress(self.iterations, self.bound, self.value)

    def _band(self, near: Arrays, visits: list[_Visit], u: Array) -> tuple[float, BlockRule, Array]:
        """Value, rule and next replies of the game on the undecided states, the others at the rule of u."""
        p, B, E = near.p, near.B, near.E
        rows, cost = np.sum([answer.rows for answer in visits], axis=0), math.fsum(answer.cost for answer in visits)
        if not len(p):
            value = cost - self.lam * float(near.least_replies(rows).sum())
            return value, BlockRule(u, _joined(B, E), np.zeros((0, len(u)))), u
        sent, every = margins(B, E, u)[1], np.arange(len(p))
        base = rows - sums_of(p, E, sent, len(u))
        found = solve_game(p, B, E, near.groups, self.lam, base=base, stoppable=False)
        q = found.rho / p[:, None]
        other = q[every, sent] < 1.0
        value = cost - float(p @ B[every, sent]) + found.value
        return value, BlockRule(u, _joined(B[other], E[other]), q[other]), found.u


def _pool(visits: list[_Visit]) -> Arrays:
    parts = [answer.near for answer in visits]
    p, B, E = (np.concatenate(tables) for tables in zip(*((a.p, a.B, a.E) for a in parts), strict=True))
    return Arrays(p, B, E, parts[0].groups)
