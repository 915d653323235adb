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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import fmpq, fmpq_mat

from bap_lp.rational import Array, common_denominator, floats, objects, tree_sum, zeros

UNIT = 2.0**-53


@dataclass(frozen=True)
class Basis:
    """Which variables of the compact program are basic: rho (N, b), t (b, G), slacks of the Eve rows (b, e)."""

    rho: Array
    t: Array
    slack: Array

    @classmethod
    def of(cls, basic: Array, N: int, b: int, e: int, G: int) -> Basis:
        """From variable numbers of `program.compact`: columns, then slacks of the marginal and of the Eve rows."""
        flags = np.zeros(N * b + b * G + N + b * e, dtype=bool)
        flags[basic] = True
        rho, t, _, slack = np.split(flags, np.cumsum([N * b, b * G, N]))
        return cls(rho.reshape(N, b), t.reshape(b, G), slack.reshape(b, e))


@dataclass(frozen=True)
class _Layout:
    """Keys, splits and tight rows of a basis."""

    key: Array  # per state
    state: Array  # per split
    signal: Array  # per split
    first: Array  # j0 per (signal, group)
    row_signal: Array  # per remaining tight row
    row_reply: Array
    row_first: Array


def exact_vertex(
    p: Array, B: Array, E: Array, groups: Sequence[slice], lam: fmpq, basis: Basis, rounded: tuple[Array, Array, Array]
) -> tuple[Array, Array, fmpq] | None:
    """(rho, u, value) of the basis if that is an optimal vertex, exactly; None if not, or if its structure differs.

    `rounded` is (p, B, E) in correctly rounded floats.
    """
    layout = _layout(basis, groups)
    if layout is None:
        return None
    sums = _key_sums(p, E, basis.slack, layout)
    solved = _solve(p, B, E, groups, lam, layout, sums)
    if solved is None:
        return None
    rho, u, table, splits = solved
    left = rho[layout.state, layout.key[layout.state]]  # elsewhere the key carries all of p > 0
    if any(v < 0 for v in (*splits, *left, *u.ravel())):
        return None
    if not _slacks_hold(E, groups, basis, layout, rho, table, rounded):
        return None
    if not _margins_hold(B, E, u, layout.key, rounded):
        return None
    scale = common_denominator(p)
    keys = tree_sum((p * scale) * B[np.arange(len(p)), layout.key]) / scale
    moved = B[layout.state, layout.signal] - B[layout.state, layout.key[layout.state]]
    return rho, u, keys + tree_sum(splits * moved) - lam * table.sum()


def _layout(basis: Basis, groups: Sequence[slice]) -> _Layout | None:
    if not basis.t.all() or not basis.rho.any(axis=1).all():
        return None
    key = basis.rho.argmax(axis=1)
    split = basis.rho.copy()
    split[np.arange(len(key)), key] = False
    state, signal = np.nonzero(split)
    tight = ~basis.slack
    if not all(tight[:, g].any(axis=1).all() for g in groups):
        return None
    first = np.stack([tight[:, g].argmax(axis=1) + g.start for g in groups], axis=1)
    rest = tight.copy()
    rest[np.arange(len(rest))[:, None], first] = False
    row_signal, row_reply = np.nonzero(rest)
    group_of = np.concatenate([np.full(g.stop - g.start, k) for k, g in enumerate(groups)])
    if len(row_signal) != len(state):
        return None
    return _Layout(key, state, signal, first, row_signal, row_reply, first[row_signal, group_of[row_reply]])


def _key_sums(p: Array, E: Array, slack: Array, layout: _Layout) -> Array:
    """sum_{x: key(x) = i} p(x) E(x,j) for tight (i,j); zero elsewhere."""
    scale = common_denominator(p)
    weights = p * scale
    sums = zeros(slack.shape, True)
    for i in range(len(slack)):
        mine = np.flatnonzero(layout.key == i)
        tight = np.flatnonzero(~slack[i])
        if len(mine):
            sums[i, tight] = tree_sum(weights[mine, None] * E[np.ix_(mine, tight)]) / scale
    return sums


def _solve(
    p: Array, B: Array, E: Array, groups: Sequence[slice], lam: fmpq, layout: _Layout, sums: Array
) -> tuple[Array, Array, Array, Array] | None:
    """rho, u, the exact sum_x E(x,j) rho[x,i] at the first tight rows per (signal, group), and the split amounts."""
    m, (N, b) = len(layout.state), B.shape
    other = layout.key[layout.state]
    r, s = np.nonzero((layout.row_signal[:, None] == layout.signal[None]) | (layout.row_signal[:, None] == other[None]))
    x = layout.state[s]
    d = E[x, layout.row_reply[r]] - E[x, layout.row_first[r]]
    matrix = zeros((m, m), True)
    matrix[r, s] = np.where(layout.row_signal[r] == layout.signal[s], d, -d)
    i = layout.row_signal
    right = sums[i, layout.row_first] - sums[i, layout.row_reply]

    def base(states: Array, signals: Array) -> Array:
        first = E[states[:, None], layout.first[signals]].sum(axis=1)
        return B[states, signals] - lam * first

    amounts = weights = objects([])
    if m:
        # a column holds losses of one state: times their common denominator it is short integers
        unit = objects(common_denominator(column) for column in matrix.T)
        core = fmpq_mat(m, m, (matrix * unit).ravel().tolist())
        prices = unit * (base(layout.state, layout.signal) - base(layout.state, other))
        try:
            amounts = unit * objects(core.solve(fmpq_mat(m, 1, right.tolist())).entries())
            weights = objects(core.transpose().solve(fmpq_mat(m, 1, prices.tolist())).entries())
        except ZeroDivisionError:  # singular
            return None
    rho = zeros((N, b), True)
    rho[np.arange(N), layout.key] = p
    rho[layout.state, layout.signal] = amounts
    np.subtract.at(rho, (layout.state, other), amounts)
    u = zeros((b, E.shape[1]), True)
    u[layout.row_signal, layout.row_reply] = weights
    for k, g in enumerate(groups):
        u[np.arange(b), layout.first[:, k]] = lam - u[:, g].sum(axis=1)
    table = sums[np.arange(b)[:, None], layout.first]
    for k in range(len(groups)):
        at = layout.first[:, k]
        np.add.at(table[:, k], layout.signal, amounts * E[layout.state, at[layout.signal]])
        np.subtract.at(table[:, k], other, amounts * E[layout.state, at[other]])
    return rho, u, table, amounts


def _slacks_hold(
    E: Array,
    groups: Sequence[slice],
    basis: Basis,
    layout: _Layout,
    rho: Array,
    table: Array,
    rounded: tuple[Array, Array, Array],
) -> bool:
    """t[i,g] <= sum_x E(x,j) rho[x,i] in the rows whose slack is basic."""
    joint = rounded[0][:, None] * (np.arange(rho.shape[1]) == layout.key[:, None])
    joint[np.unique(layout.state)] = floats(rho[np.unique(layout.state)])
    found = joint.T @ rounded[2]
    error = 2 * (len(joint) + 4) * UNIT * found + 1e-290
    for k, g in enumerate(groups):
        t = floats(table[:, k])[:, None]
        close = basis.slack[:, g] & (found[:, g] - error[:, g] <= t * (1 + 4 * UNIT) + 1e-290)
        for i, j in np.argwhere(close).tolist():
            live = np.flatnonzero(joint[:, i])
            if tree_sum(rho[live, i] * E[live, g.start + j]) < table[i, k]:
                return False
    return True


def _margins_hold(B: Array, E: Array, u: Array, key: Array, rounded: tuple[Array, Array, Array]) -> bool:
    """B(x,i) - u_i.E(x) is smallest at the key."""
    x, i = near_minimum(rounded[1], rounded[2], floats(u))
    nearest = key[x] == i
    if len(np.unique(x[nearest])) < len(key):
        return False  # some key lies surely above another decision
    x, i = x[~nearest], i[~nearest]
    if not len(x):
        return True
    scale = common_denominator(u)
    long = u * scale
    gain = (B[x, i] - B[x, key[x]]) * scale - ((long[i] - long[key[x]]) * E[x]).sum(axis=1)
    return all(v >= 0 for v in gain)


def near_minimum(B: Array, E: Array, u: Array) -> tuple[Array, Array]:
    """The (x, i) at which B(x,i) - u_i.E(x) may be the minimum over i, from correctly rounded data.

    With k = e + 4 operations on each term the float value is off by at most k ulp of |B| + |u|.|E|; doubling covers the
    rounding of the bound itself.
    """
    margins = B - E @ u.T
    error = 2 * (E.shape[1] + 4) * UNIT * (np.abs(B) + E @ np.abs(u).T) + 1e-290
    x, i = np.nonzero(margins - error <= (margins + error).min(axis=1, keepdims=True))
    return x, i
