"""The exact vertex of the compact program from its basis, by its structure: one small dense system, transposed once.

In a basis with every t[i,g] basic, give each state x a key decision (one of its basic columns) and let the other basic
columns be its splits; at signal i and Eve g let j0 be the first tight row and call the other tight rows rows r = (i,j).
With d_r(x) = E(x,j) - E(x,j0) and rho[x,key] = p(x) - (splits of x), tightness of row r reads
    sum_splits (x,i'): (1{i' = i} - 1{key(x) = i}) d_r(x) rho[x,i']  =  - sum_{x: key(x) = i} p(x) d_r(x),
M rho = h: as many rows as splits. Writing u[i,j] = w_r and u[i,j0] = lam - (the rest of the group), zero reduced cost
of the splits reads M^T w = h' with h'_(x,i) = c(x,i) - c(x,key) and c(x,i) = B(x,i) - lam sum_g E(x,j0).
The vertex is optimal if rho >= 0, u >= 0, t <= sum_x E(x,j) rho[x,i] in the slack rows and
B(x,i) - u_i.E(x) >= B(x,key) - u_key.E(x). The last two are settled in floats with a proved error bound wherever that
decides, exactly elsewhere. Complementary slackness holds by construction, so value = bound.

A further cost, W on rho and -l on t, has duals by the same matrix: W for B and l for lam. Columns and slacks of reduced
cost zero may enter the basis without loss; the vertex is the one that the ties choose if the first further reduced cost
of each of them that is not zero is positive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpz, fmpz_mat

from bap_lp.engines.linear.core import LONG, Core, SingularCore
from bap_lp.engines.linear.memory import require_precision
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.signal_sums import weighted_sums
from bap_lp.program.bound import Program
from bap_lp.support.rational import EXACT, UNIT, Array, common_denominator, floats, is_exact, lifted, objects, tree_sum


@dataclass(frozen=True, eq=False)
class _Basis:
    """Which variables are basic: rho (N, b), t (b, G), slacks of the observer's rows (b, e)."""

    rho: Array
    t: Array
    slack: Array

    @classmethod
    def of(cls, basic: Array, arrays: Arrays) -> _Basis:
        """From variable numbers: columns, then slacks of the marginal and of the observer's rows."""
        (N, b, e), G = arrays.shape, len(arrays.groups)
        flags = np.zeros(N * b + b * G + N + b * e, dtype=bool)
        flags[basic] = True
        rho, t, _, slack = np.split(flags, np.cumsum([N * b, b * G, N]))
        return cls(rho.reshape(N, b), t.reshape(b, G), slack.reshape(b, e))


@dataclass(frozen=True, eq=False)
class StructuredVertex:
    """An optimal vertex: rho, Eve's replies u, their common value, and whether it is the one that the ties choose."""

    rho: Array
    u: Array
    value: fmpq
    chosen: bool


@dataclass(frozen=True, eq=False)
class _Layout:
    """Keys, splits and tight rows of a basis."""

    key: Array  # per state
    state: Array  # per split
    signal: Array  # per split
    first: Array  # j0 per (signal, group)
    row_signal: Array  # per remaining tight row
    row_reply: Array
    row_first: Array

    @property
    def other(self) -> Array:
        """The key of every split's state."""
        return self.key[self.state]


def exact_vertex(program: Program, basic: Array, ties: Sequence[Array] = ()) -> StructuredVertex | None:
    """The vertex of a basis if that is optimal, exactly; None if not, or if its structure differs.

    ties: further costs of all columns of the program, in floats that hold them.
    """
    arrays, lam = program.free, program.observers[0].price
    assert arrays is not None
    basis = _Basis.of(basic, arrays)
    layout = _layout(basis, arrays)
    if layout is None:
        return None
    core = _Core(arrays, layout)
    sums = _key_sums(arrays, basis.slack, layout)
    solved = core.primal(sums)
    u = core.dual(arrays.B, lam)
    if solved is None or u is None:
        return None
    rho, splits = solved
    left = rho[layout.state, layout.other]  # elsewhere the key carries all of p > 0
    if any(v.p < 0 for v in (*splits, *left, *u.ravel())):
        return None
    risks = _risks(core, basis, sums, rho, splits)
    tied = None if risks is None else _tied(arrays, u, basis.rho, layout.key)
    if risks is None or tied is None:
        return None
    chosen = _ties_settled(core, basis, u, tied, ties, risks[1])
    return StructuredVertex(rho, u, risks[0] - lam * risks[1], chosen)


def _risks(core: _Core, basis: _Basis, sums: Array, rho: Array, splits: Array) -> tuple[fmpq, fmpq] | None:
    """What Bob loses if he does as he is told, and sum t; None if a slack is negative."""
    arrays, layout = core.arrays, core.layout
    table = core.first_rows(sums, splits)
    if not _slacks_hold(arrays, basis, layout, rho, table):
        return None
    keys = weighted_sums(arrays.p, arrays.B[np.arange(len(arrays.p)), layout.key][:, None])[0]
    moved = arrays.B[layout.state, layout.signal] - arrays.B[layout.state, layout.other]
    return keys + weighted_sums(splits, moved[:, None])[0], table.sum()


def _layout(basis: _Basis, arrays: Arrays) -> _Layout | None:
    if not basis.t.all() or not basis.rho.any(axis=1).all():
        return None
    key = basis.rho.argmax(axis=1)
    split = basis.rho.copy()
    split[np.arange(len(key)), key] = False
    state, signal = np.nonzero(split)
    tight = ~basis.slack
    if not all(tight[:, g].any(axis=1).all() for g in arrays.groups):
        return None
    first = np.stack([tight[:, g].argmax(axis=1) + g.start for g in arrays.groups], axis=1)
    rest = tight.copy()
    rest[np.arange(len(rest))[:, None], first] = False
    row_signal, row_reply = np.nonzero(rest)
    if len(row_signal) != len(state):
        return None
    return _Layout(key, state, signal, first, row_signal, row_reply, first[row_signal, arrays.group_of[row_reply]])


def _key_sums(arrays: Arrays, slack: Array, layout: _Layout) -> Array:
    """sum_{x: key(x) = i} p(x) E(x,j) for tight (i,j); of no meaning elsewhere."""
    sums = EXACT.zeros(slack.shape)
    for i in range(len(slack)):
        mine, tight = np.flatnonzero(layout.key == i), np.flatnonzero(~slack[i])
        sums[i, tight] = weighted_sums(arrays.p[mine], arrays.E[np.ix_(mine, tight)])
    return sums


class _Core:
    """The matrix M of a basis, its columns brought to short integers, and both systems with it."""

    def __init__(self, arrays: Arrays, layout: _Layout) -> None:
        self.arrays, self.layout = arrays, layout
        whole, m = arrays.integers, len(layout.state)
        # a column holds losses of one state: times their common denominator it is short integers
        self.losses = E = arrays.E if whole is None else whole[2]
        row = layout.row_signal[:, None]
        r, s = np.nonzero((row == layout.signal[None]) | (row == layout.other[None]))
        x = layout.state[s]
        d = E[x, layout.row_reply[r]] - E[x, layout.row_first[r]]
        d = np.where(layout.row_signal[r] == layout.signal[s], d, -d)
        if whole:
            self.unit, short = EXACT.full(m, whole[0]), d.astype(int)
        else:
            units = [fmpz(1)] * m
            for column, v in zip(s.tolist(), d.tolist(), strict=True):
                units[column] = units[column].lcm(v.q)
            self.unit = objects(map(fmpq, units))
            short = objects(v.p for v in d * self.unit[s])
        self.entries = r, s, short
        if whole is None:
            require_precision(m, max((int(v).bit_length() for v in short.tolist()), default=0))
        self.matrix: Any = None
        if 0 < m < LONG:
            matrix = np.zeros((m, m), dtype=short.dtype)
            matrix[r, s] = short
            self.matrix = fmpz_mat(m, m, matrix.ravel().tolist())

    def _solve(self, right: Array, factor: Any = 1, transposed: bool = False) -> Array | None:
        """The solution times a factor, perhaps one for every unknown."""
        if not len(right):
            return objects([])
        if self.matrix is None:
            r, s, short = self.entries
            try:
                core = Core(r, s, objects(map(fmpq, short.tolist())), len(right), apart=True)
                found = core.refined(right, transposed)
                if found is None:  # where columns are dependent, another basis is looked for
                    found = None if core.doubtful else core.solved_exactly(right, transposed)
                return None if found is None else found * factor
            except SingularCore:
                return None
        whole, denominator = fmpq_mat(len(right), 1, right.tolist()).numer_denom()
        try:
            matrix = self.matrix.transpose() if transposed else self.matrix
            return objects(matrix.solve(whole).entries()) * (factor / fmpq(denominator))
        except ZeroDivisionError:  # singular
            return None

    def primal(self, sums: Array) -> tuple[Array, Array] | None:
        """rho and the split amounts."""
        arrays, layout = self.arrays, self.layout
        (N, b, _), i = arrays.shape, layout.row_signal
        amounts = self._solve(sums[i, layout.row_first] - sums[i, layout.row_reply], self.unit)
        if amounts is None:
            return None
        rho = EXACT.zeros((N, b))
        rho[np.arange(N), layout.key] = arrays.p
        rho[layout.state, layout.signal] = amounts
        np.subtract.at(rho, (layout.state, layout.other), amounts)
        return rho, amounts

    def first_rows(self, sums: Array, amounts: Array) -> Array:
        """sum_x E(x,j) rho[x,i] at the first tight rows per (signal, group)."""
        arrays, layout = self.arrays, self.layout
        b, other = arrays.shape[1], layout.other
        table = sums[np.arange(b)[:, None], layout.first]
        signals = np.arange(b)[:, None]
        come = (layout.signal == signals).astype(int) - (other == signals)
        i, s = np.nonzero(come)
        for k in range(len(arrays.groups) if len(s) else 0):
            losses = EXACT.zeros(come.shape)
            losses[i, s] = arrays.E[layout.state[s], layout.first[i, k]] * come[i, s]
            moved = fmpq_mat(*come.shape, losses.ravel().tolist()) * fmpq_mat(len(amounts), 1, amounts.tolist())
            table[:, k] += objects(moved.entries())
        return table

    def dual(self, losses: Array, lam: Any) -> Array | None:
        """u for the cost `losses` on rho and -lam on t."""
        arrays, layout = self.arrays, self.layout
        state, signal, other = layout.state, layout.signal, layout.other
        prices = self.unit * EXACT.array(losses[state, signal] - losses[state, other])
        if lam:
            x = state[:, None]
            heard = (self.losses[x, layout.first[signal]] - self.losses[x, layout.first[other]]).sum(axis=1)
            prices -= lam * (self.unit * heard if is_exact(heard) else lifted(heard))
        found = self._solve(prices, transposed=True)
        if found is None:
            return None
        b, scale = arrays.shape[1], common_denominator(found)
        u = EXACT.zeros((b, arrays.shape[2]))
        u[layout.row_signal, layout.row_reply] = found
        for k, g in enumerate(arrays.groups):
            u[np.arange(b), layout.first[:, k]] = lam - (u[:, g] * scale).sum(axis=1) / scale
        return u


def _slacks_hold(arrays: Arrays, basis: _Basis, layout: _Layout, rho: Array, table: Array) -> bool:
    """t[i,g] <= sum_x E(x,j) rho[x,i] in the rows whose slack is basic."""
    small = arrays.rounded
    joint = small.p[:, None] * (np.arange(rho.shape[1]) == layout.key[:, None])
    used = np.flatnonzero(np.bincount(layout.state))
    joint[used] = floats(rho[used])
    found = joint.T @ small.E
    error = 2 * (len(joint) + 4) * UNIT * found + 1e-290
    for k, g in enumerate(arrays.groups):
        t = floats(table[:, k])[:, None]
        close = basis.slack[:, g] & (found[:, g] - error[:, g] <= t * (1 + 4 * UNIT) + 1e-290)
        for i, j in np.argwhere(close).tolist():
            live = np.flatnonzero(joint[:, i])
            if tree_sum(rho[live, i] * arrays.E[live, g.start + j]) < table[i, k]:
                return False
    return True


def _tied(arrays: Arrays, u: Array, basic: Array, key: Array) -> tuple[Array, Array] | None:
    """The (x, i) outside the basis with B(x,i) - u_i.E(x) equal to that of the key; None if one lies below it.

    The basic ones have reduced cost zero: that is M^T w = h'.
    """
    whole = arrays.whole_margins(u)
    x, i = arrays.near_minimum(u) if whole is None else np.nonzero(whole[1] == whole[1].min(axis=1, keepdims=True))
    if np.count_nonzero(key[x] == i) < len(key):
        return None  # some key lies surely above another decision
    x, i = x[~basic[x, i]], i[~basic[x, i]]
    if not len(x) or whole is not None:
        return x, i
    gain = _gains(arrays.B, arrays, u, key, x, i)
    return None if (gain < 0).any() else (x[gain == 0], i[gain == 0])


def _gains(losses: Array, arrays: Arrays, u: Array, key: Array, x: Array, i: Array) -> Array:
    """The reduced costs of (x, i), times a positive number."""
    scale = common_denominator(u)
    long = u * scale
    return EXACT.array(losses[x, i] - losses[x, key[x]]) * scale - ((long[i] - long[key[x]]) * arrays.E[x]).sum(axis=1)


def _ties_settled(
    core: _Core, basis: _Basis, u: Array, tied: tuple[Array, Array], ties: Sequence[Array], eve_risk: fmpq
) -> bool:
    """Whether no column or slack that may enter without loss lowers a further cost.

    If the vertex is as private as the null release, nothing lowers the first, minus R_E.
    """
    arrays = core.arrays
    N, b, _ = arrays.shape
    x, i = tied
    row_i, row_j = np.nonzero(~basis.slack & (u == 0))
    for cost in ties:
        if not len(x) and not len(row_i):
            return True
        losses, lam = cost[: N * b].reshape(N, b), EXACT.number(-cost[N * b])
        if lam and eve_risk == arrays.eve_risk(arrays.p[:, None]):
            continue
        prices = core.dual(losses, lam)
        assert prices is not None  # the matrix was solved before
        rise = prices[row_i, row_j]
        open_ = _still_tied(losses, arrays, prices, core.layout.key, x, i)
        if open_ is None or any(v.p < 0 for v in rise):
            return False
        x, i = x[open_], i[open_]
        row_i, row_j = row_i[rise == 0], row_j[rise == 0]
    return True


def _still_tied(losses: Array, arrays: Arrays, u: Array, key: Array, x: Array, i: Array) -> Array | None:
    """Which (x, i) have reduced cost zero for these losses; None if one is negative. Floats decide where they can."""
    small, cost, E = floats(u), floats(losses), arrays.rounded.E[x]
    terms = cost[x, i] - cost[x, key[x]] - ((small[i] - small[key[x]]) * E).sum(axis=1)
    sizes = ((np.abs(small[i]) + np.abs(small[key[x]])) * E).sum(axis=1)
    size = np.abs(cost[x, i]) + np.abs(cost[x, key[x]]) + sizes
    error = 2 * (E.shape[1] + 6) * UNIT * size + 1e-290
    if (terms < -error).any():
        return None
    near = np.flatnonzero(terms <= error)
    gain = _gains(losses, arrays, u, key, x[near], i[near])
    return None if (gain < 0).any() else near[gain == 0]
