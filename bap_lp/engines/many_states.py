"""The game between Alice and Eve, for many states: an optimal vertex in a time that hardly grows faster than N.

    V(lam) = max over u_i, u[i, g] in lam * simplex,  of  sum_x p[x] min_i [ B[x,i] - sum_j u[i,j] E[x,j] ]

has b*e unknowns whatever N is. Alice's rule at u sends, at x, the i of the least term. With u known to an accuracy
delta, every state whose margin at u (the distance from the least term to the next) exceeds about delta is decided. So u
is learned on a sample of the states, then on the states of least margin, while the others enter as the constant
c[i,j] = sum of p E over those that send i, until no decided state changes its decision.

Then the columns that are nearly tied at u are open, states with one open column are decided, and HiGHS solves

    min  sum B rho - lam sum t   s.t.  sum_i rho[x,i] = p[x],   c_ij + sum_x E[x,j] rho[x,i] - t_ig >= 0,   rho >= 0

over the open columns of the others, from the vertex at which every state sends its least one. Columns that its
duals u price below zero are opened, over all states, until there are none: the vertex is optimal.

Ties are broken by noise in Bob's losses, 1e-6 of their spread. The last step, without it, starts from the vertex of the
perturbed program, which is optimal without the noise too if this is small enough. Every lower bound is the dual
function itself and every value is computed from rho, so the gap is right whatever the methods did.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import count
from typing import Any

import highspy
import numpy as np

from bap_lp.engines.blas import one_blas_thread
from bap_lp.engines.interior_point import interior_point
from bap_lp.engines.linear.highs import PRIMAL, basic_flags, loaded, run, set_basis
from bap_lp.model.sums.arrays import Arrays
from bap_lp.support.clock import OutOfTime, SolveProgress, check
from bap_lp.support.rational import Array

SAMPLE = 20_000  # states on which the first replies are learned
_BLOCK = 16384  # states whose tables stay in a core's cache
_NOISE = 1e-6  # of the spread of Bob's losses: what breaks ties
_FEW = 1000  # losses of Bob up to which ties do no harm
_ROUGH, _GAP = 1e-5, 1e-9  # of the scale: where the interior point ends, a thousandth of the noise
_TOL = 1e-11  # of the scale: reduced costs that count as negative
_ROUNDS = 60  # of columns that are opened
_OPTIONS: dict[str, Any] = {
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "small_matrix_value": 1e-12,
    "simplex_strategy": PRIMAL,  # the start is a vertex
}


@dataclass(frozen=True)
class GameSolution:
    """rho (N, b) with marginals p; replies u (b, e); value from rho, bound from u.

    With `vertex`, the N + b*e basic variables of an optimal vertex: basic_columns (N, b), basic_t (b, G) and
    basic_slack (b, e); otherwise these are empty.
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


@dataclass(frozen=True)
class Rule:
    """At one u: the dual function, what x sends, by what margin, rows[i,j] = sum of p E over sent i, and sum of p B."""

    bound: float
    sent: Array
    margin: Array
    rows: Array
    cost: float


def margins(B: Array, E: Array, u: Array) -> tuple[Array, Array, Array]:
    """Per state the least of B(x,i) - u_i.E(x), its i, and the distance to the next one."""
    R = np.array(B.T, dtype=float, order="C")
    R -= u @ E.T
    least, second = R[0].copy(), np.full(len(B), np.inf)
    sent = np.zeros(len(B), dtype=np.int32)
    for i in range(1, len(R)):
        below = R[i] < least
        np.minimum(second, np.maximum(R[i], least), out=second)
        np.minimum(least, R[i], out=least)
        sent[below] = i
    return least, sent, second - least


def rule_at(arrays: Arrays, u: Array) -> Rule:
    """One pass over all states."""
    (n, b, e), parts = arrays.shape, []
    sent, margin = np.empty(n, dtype=np.int32), np.empty(n)
    for k in range(0, n, _BLOCK):
        cut = slice(k, min(k + _BLOCK, n))
        p, B, E = arrays.p[cut], arrays.B[cut], arrays.E[cut]
        least, sent[cut], margin[cut] = margins(B, E, u)
        cost = float(p @ np.take_along_axis(B, sent[cut, None], axis=1)[:, 0])
        parts.append((float((p * least).sum()), cost, sums_of(p, E, sent[cut], b)))
    bounds, costs, rows = zip(*parts, strict=True) if parts else ((), (), ())
    return Rule(math.fsum(bounds), sent, margin, sum(rows, np.zeros((b, e))), math.fsum(costs))


def sums_of(p: Array, E: Array, sent: Array, b: int) -> Array:
    """rows[i, j] = sum of p * E[:, j] over the states that send i."""
    return np.stack([np.bincount(sent, weights=p * column, minlength=b) for column in E.T], axis=1)


def largest_spread(arrays: Arrays, lam: float) -> float:
    """The largest max - min of Bob's losses at one state, or of lam times those of one Eve."""

    def spread(losses: Array) -> float:  # column by column, since rows are short
        return float((reduce(np.maximum, losses.T) - reduce(np.minimum, losses.T)).max())

    return max(spread(arrays.B), *(lam * spread(table) for table in arrays.tables[1:]))


class _Game:
    """The data with lam and Eve's rows of states decided elsewhere; and the best certified pair so far."""

    def __init__(self, arrays: Arrays, lam: float, base: Array | None, progress: SolveProgress | None) -> None:
        self.arrays, self.lam, self.progress = arrays, lam, progress
        self.uniform = arrays.on_simplex(np.zeros(arrays.shape[1:]), 1.0)
        self.base = 0.0 * self.uniform if base is None else base
        self.scale = largest_spread(arrays, lam) or 1.0
        self.u = self.latest = self.uniform
        self.bound, self.value, self.iterations = -math.inf, math.inf, 0
        self.sent = np.zeros(len(arrays.p), dtype=np.int32)

    def seen(self, u: Array) -> Rule:
        """The rule at u (rows sum to one); its bound and its value are kept where they are the best so far."""
        u = self.arrays.on_simplex(u, 1.0)
        found = rule_at(self.arrays, self.lam * u)
        bound = found.bound - self.lam * float((u * self.base).sum())
        value = found.cost - self.lam * float(self.arrays.least_replies(found.rows + self.base).sum())
        if bound > self.bound:
            self.bound, self.u = bound, u
        if value < self.value:
            self.value, self.sent = value, found.sent
        return found

    def tick(self, u: Array, whole: bool) -> None:
        """Count an iteration. With a listener a pass is made at the first, and after each that was about all states."""
        check()
        self.iterations, self.latest = self.iterations + 1, u
        if self.progress is not None:
            if whole or self.iterations == 1:
                self.seen(u)
            self.progress(self.iterations, self.bound, self.value)

    def attained(self, rho: Array) -> float:
        """R_A of a joint table."""
        bob, rows = float(np.vdot(self.arrays.B, rho)), rho.T @ self.arrays.E
        return bob - self.lam * float(self.arrays.least_replies(rows + self.base).sum())

    def columns(self, arrays: Arrays) -> tuple[Array, Array, Array]:
        """(p, B, E) with a column per state, of order one; Bob's least loss is zero, and the mean of each Eve's."""
        B = np.array(arrays.B.T, dtype=float, order="C")
        B -= B.min(axis=0)
        B /= self.scale
        return arrays.p, B, np.ascontiguousarray(self.centred(arrays.E).T)

    def centred(self, rows: Array) -> Array:
        """Eve's rows, times lam and of order one, with mean zero over each Eve's decisions: that only shifts t."""
        out = rows * (self.lam / self.scale)
        for g in self.arrays.groups:
            out[:, g] -= out[:, g].mean(axis=1, keepdims=True)
        return out


def _followed(
    game: _Game, arrays: Arrays, fixed: Array, start: tuple[Array, float], tol: float = _GAP
) -> tuple[Array, float]:
    """u with unit rows, and the gap relative to the scale, of the game on these states, others entering as `fixed`."""
    watch = partial(game.tick, whole=len(arrays.p) == len(game.arrays.p) <= 2 * SAMPLE)
    u, gap = interior_point(game.columns(arrays), arrays.groups, game.centred(fixed), start, tol, watch)
    return arrays.on_simplex(u, 1.0), gap


def _learned(game: _Game, arrays: Arrays) -> tuple[Array, float, Rule]:
    """u with unit rows, its gap, and its rule; `arrays` has the losses with noise."""
    n = len(arrays.p)
    if n <= 2 * SAMPLE:
        u, gap = _followed(game, arrays, game.base, (game.uniform, 0.1))
        return u, gap, rule_at(arrays, game.lam * u)
    some = arrays.states(np.sort(np.random.default_rng(0).choice(n, min(SAMPLE, n // 10), replace=False)))
    some = replace(some, p=some.p * (arrays.p.sum() / some.p.sum()))
    u, gap = _followed(game, some, game.base, (game.uniform, 0.1), _ROUGH)
    found, size = rule_at(arrays, game.lam * u), max(SAMPLE // 2, n // 20)
    for round_ in count():
        near = np.sort(np.argpartition(found.margin, size - 1)[:size])
        band = arrays.states(near)
        fixed = game.base + found.rows - sums_of(band.p, band.E, found.sent[near], len(u))
        mu = min(max(float(found.margin[near].max()) / game.scale, 1e-2), 0.1)
        u, gap = _followed(game, band, fixed, (0.9 * u + 0.1 * game.uniform, mu))
        before, found = found.sent, rule_at(arrays, game.lam * u)
        changed = found.sent != before
        changed[near] = False
        if np.count_nonzero(changed) <= u.size:
            break
        # the second band has the same size, around better replies
        size = min(2 * size, n) if round_ else size
    return u, gap, found


def _width(game: _Game, margin: Array, gap: float) -> float:
    """The margin below which a state counts as undecided.

    On the path q z is about the gap, so q = z near its root; a vertex splits at most b*e states.
    """
    few = 2 * game.u.size + 50
    reach = float(np.partition(margin, few - 1)[few - 1]) if few < len(margin) else math.inf
    return min(3 * math.sqrt(max(gap, 1e-14)) * game.scale, max(reach, 1e-10 * game.scale))


class _Vertex:
    """A basis of the compact program: columns that are open and that are basic (N, b), t (b, G) and slacks (b, e).

    The states `near` have several open columns. `sent` is the basic column of most weight, of the others the only one.
    """

    def __init__(self, game: _Game, arrays: Arrays) -> None:
        """The vertex of the rule at the u that is learned, with the columns that are nearly tied open."""
        self.game, b = game, arrays.shape[1]
        if game.lam == 0.0 or b == 1:
            u, gap, found = game.uniform, 0.0, rule_at(arrays, game.lam * game.uniform)
        else:
            u, gap, found = _learned(game, arrays)
        width = _width(game, found.margin, gap)
        self.first, self.sent = found, found.sent.copy()
        self.near: Array = np.flatnonzero(found.margin <= width)
        near = self.near
        self.basic = found.sent[:, None] == np.arange(b)
        self.open = self.basic.copy()
        R = arrays.B[near] - game.lam * (arrays.E[near] @ u.T)
        self.open[near] |= R - R.min(axis=1, keepdims=True) <= width
        self.t: Array = np.ones((b, len(arrays.groups)), dtype=bool)
        self.slack: Array = np.ones(u.shape, dtype=bool)
        self.slack[np.arange(b)[:, None], arrays.reply_columns(found.rows + game.base)] = False
        self.u: Array = u
        self.q: Array = np.zeros((0, b))

    def optimise(self, arrays: Arrays) -> bool:
        """Open columns until none has a negative reduced cost; whether that was reached."""
        game, own = self.game, arrays is self.game.arrays
        for _ in range(_ROUNDS):
            self._pivot(arrays)
            x, i = self._negative(arrays, game.seen(self.u) if own else rule_at(arrays, game.lam * self.u))
            game.tick(self.u, whole=False)
            if not len(x):
                return True
            self.open[x, i] = True
            self.near = np.union1d(self.near, x)
        return False

    def _negative(self, arrays: Arrays, rule: Rule) -> tuple[Array, Array]:
        """(x, i) of the columns that are not open and cost less than the basic one of their state."""
        x = np.flatnonzero(rule.sent != self.sent)
        R = arrays.B[x] - self.game.lam * (arrays.E[x] @ self.u.T)
        held = R[np.arange(len(x)), self.sent[x]][:, None] - _TOL * self.game.scale
        at, i = np.nonzero((held > R) & ~self.open[x])
        return x[at], i

    def _pivot(self, arrays: Arrays) -> None:
        """Solve the program on the open columns from the basis at hand."""
        near, band, (b, e) = self.near, arrays.states(self.near), self.u.shape
        open_ = self.open[near]
        fixed = self.game.base + self.first.rows - sums_of(band.p, band.E, self.first.sent[near], b)
        highs = self._program(band, open_, fixed, sums_of(band.p, band.E, self.sent[near], b))
        m, columns = len(near), np.count_nonzero(open_)
        start = self.basic[near][open_], self.t.ravel(), np.zeros(m, dtype=bool), self.slack.ravel()
        set_basis(highs, np.concatenate(start))
        run(highs)
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            status = highs.modelStatusToString(highs.getModelStatus())
            raise ArithmeticError(f"the restricted program ended as {status}")
        found, t, whole, slack = np.split(basic_flags(highs), np.cumsum([columns, self.t.size, m]))
        values = highs.getSolution()
        q, basic = np.full((m, b), -1.0), np.zeros((m, b), dtype=bool)
        q[open_], basic[open_] = np.asarray(values.col_value)[:columns], found
        # a basic slack of a marginal row is zero and redundant: the state's best non-basic column takes its place
        for x in np.flatnonzero(whole):
            basic[x, np.where(basic[x], -2.0, q[x]).argmax()] = True
        self.basic[near], self.q, self.sent[near] = basic, np.maximum(q, 0.0), np.where(basic, q, -2.0).argmax(axis=1)
        self.t, self.slack = t.reshape(self.t.shape), slack.reshape(b, e)
        self.u = arrays.on_simplex(np.array(values.row_dual)[m:].reshape(b, e), 1.0)

    def _program(self, band: Arrays, open_: Array, fixed: Array, sent: Array) -> highspy.Highs:
        """In q = rho / p every marginal is one; Eve's rows over the mean prior have coefficients of order one."""
        (m, b, e), G, game, inf = band.shape, len(band.groups), self.game, np.inf
        state, i = np.nonzero(open_)
        p, B, E = game.columns(band)
        weight = p / p.mean() if m else p
        unit = weight.sum() / p.sum() if m else 1.0
        fixed = game.centred(fixed)
        # t counts from its value at the start
        level = band.least_replies(fixed + game.centred(sent))[:, band.group_of]
        replies = m + i[:, None] * e + np.arange(e)
        index = np.concatenate([np.hstack([state[:, None], replies]).ravel(), m + np.arange(b * e)])
        losses = weight[state, None] * E.T[state]
        value = np.concatenate([np.hstack([np.ones((len(i), 1)), losses]).ravel(), -np.ones(b * e)])
        widths = np.concatenate([np.full(len(i), e + 1), np.tile([g.stop - g.start for g in band.groups], b)])
        columns = np.append(weight[state] * B[i, state], -np.ones(b * G)), np.repeat([0.0, -inf], [len(i), b * G])
        rows = np.append(np.ones(m), (level - fixed) * unit), np.repeat([1.0, inf], [m, b * e])
        matrix = np.append(0, np.cumsum(widths)), index, value
        return loaded((*columns, np.full(len(i) + b * G, inf)), rows, matrix, **_OPTIONS)

    def solution(self, settled: bool) -> GameSolution:
        game, p = self.game, self.game.arrays.p
        rho = game.arrays.rule_table(self.sent)
        rho[self.near] = self.q * (p[self.near] / self.q.sum(axis=1))[:, None]
        value = game.attained(rho)
        if game.progress is not None:
            game.progress(game.iterations, game.bound, value)
        return GameSolution(
            rho, game.lam * game.u, value, game.bound, game.iterations, settled, self.basic, self.t, self.slack
        )


def _without_basis(game: _Game, stopped: bool) -> GameSolution:
    """The best pair seen, with no basis."""
    game.seen(game.latest)
    rho, none = game.arrays.rule_table(game.sent), np.zeros(0, dtype=bool)
    value = game.attained(rho)
    return GameSolution(rho, game.lam * game.u, value, game.bound, game.iterations, False, none, none, none, stopped)


def solve_game(
    p: Array,
    B: Array,
    E: Array,
    groups: tuple[slice, ...],
    lam: float,
    *,
    progress: SolveProgress | None = None,
    base: Array | None = None,
    stoppable: bool = True,
    noise: Array | None = None,
) -> GameSolution:
    """An optimal vertex of the compact program, with a gap of at most 1e-9 times the largest spread of losses.

    All of p is positive, and the groups are the consecutive columns of E that belong to each Eve. base: (b, e), added
    to Eve's rows: what states decided elsewhere contribute. noise: (N, b) of order one, breaks ties: among several
    optimal vertices, one at which the sum of noise weighted by rho is least becomes likely. stoppable: an interrupt or
    the end of the time limit returns the best certified answer so far, without a basis.
    """
    arrays = Arrays(p, B, E, groups)
    game = _Game(arrays, lam, base, progress)
    with one_blas_thread():
        try:
            noisy = arrays
            if B.size > _FEW:
                noise = np.random.default_rng(3).random(B.shape) if noise is None else noise
                noisy = replace(arrays, B=B + _NOISE * (largest_spread(arrays, 0.0) or game.scale) * noise)
            vertex = _Vertex(game, noisy)
            if noisy is not arrays:
                vertex.optimise(noisy)
            return vertex.solution(vertex.optimise(arrays))
        except (KeyboardInterrupt, OutOfTime):
            if not stoppable:
                raise
            return _without_basis(game, stopped=True)
        except ArithmeticError:
            # the simplex method found no optimum of the restricted program: bound and value hold without a basis
            return _without_basis(game, stopped=False)
