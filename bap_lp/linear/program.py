"""Alice's problem as a linear program, in data: minimise cost.z subject to A z = rhs or A z <= rhs, z >= 0 or free.

The paper's program has a signal for every pair (i, j) of recommended decisions:
    min  sum (B(x,i) - lam E(x,j)) rho[i,j,x]
    s.t. sum_ij rho[i,j,x] = p(x);  sum_x (B(x,i) - B(x,i')) rho[i,j,x] <= 0;  sum_x (E(x,j) - E(x,j')) rho[i,j,x] <= 0.

The compact program pools all signals on which Bob does the same. His decision stays optimal, since the posteriors at
which it is form a convex cone; Eve's risk is concave in the posterior, so pooling can only raise it. Hence
    min  sum B(x,i) rho[x,i] - lam sum_ig t[i,g]
    s.t. sum_i rho[x,i] = p(x);  t[i,g] <= sum_x E(x,j) rho[x,i] for j in group g
has the same value, with one group of columns of E per Eve and t[i,g] her risk at signal i.

Both builders are indifferent to the kind of number: float64 in, float64 out; fmpq in, fmpq out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.rational import Array, floats, is_exact, zeros


@dataclass(frozen=True)
class LinearProgram:
    """min cost.z s.t. A z = rhs (where `equality`) or A z <= rhs, z >= 0 except where `free`; A by columns."""

    cost: Array
    start: Array
    index: Array
    value: Array
    rhs: Array
    equality: Array
    free: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self.rhs), len(self.cost)

    @cached_property
    def column_of(self) -> Array:
        """The column of each stored entry."""
        return np.repeat(np.arange(len(self.cost)), np.diff(self.start))

    def as_float(self) -> LinearProgram:
        arrays = (floats(a) for a in (self.cost, self.value, self.rhs))
        cost, value, rhs = arrays
        return LinearProgram(cost, self.start, self.index, value, rhs, self.equality, self.free)


def from_entries(
    cost: Array, rows: Array, columns: Array, values: Array, rhs: Array, equality: Array, free: Array
) -> LinearProgram:
    """A program from (row, column, value) triples; zero entries are dropped, triples must be distinct."""
    keep = values != 0
    rows, columns, values = rows[keep], columns[keep], values[keep]
    order = np.lexsort((rows, columns))
    start = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=len(cost)))])
    return LinearProgram(cost, start, rows[order], values[order], rhs, equality, free)


def one(exact: bool) -> Any:
    return fmpq(1) if exact else 1.0


def compact(p: Array, B: Array, E: Array, groups: Sequence[slice], lam: Any) -> LinearProgram:
    """The compact program. Columns: rho[x,i] at x*b + i, then t[i,g] at N*b + i*G + g. Rows: x, then N + i*e + j.

    p may be scaled by any positive number: rho and t scale with it.
    """
    (N, b), e, G = B.shape, E.shape[1], len(groups)
    exact = is_exact(B)
    cost = np.concatenate([B.ravel(), np.full(b * G, -lam if exact else -float(lam), dtype=B.dtype)])
    # a column rho[x,i]: 1 in row x, -E(x,j) in rows (i,j); already in column order
    rows = np.empty((N, b, 1 + e), dtype=np.int64)
    rows[:, :, 0] = np.arange(N)[:, None]
    rows[:, :, 1:] = N + np.arange(b)[None, :, None] * e + np.arange(e)
    values = np.empty((N, b, 1 + e), dtype=B.dtype)
    values[:, :, 0] = one(exact)
    values[:, :, 1:] = -E[:, None, :]
    group = np.concatenate([np.full(g.stop - g.start, k) for k, g in enumerate(groups)])
    t_columns = (N * b + np.arange(b)[:, None] * G + group).ravel()  # of row (i,j)
    order = np.argsort(t_columns, kind="stable")
    all_rows = np.concatenate([rows.ravel(), N + order])
    all_values = np.concatenate([values.ravel(), np.full(b * e, one(exact), dtype=B.dtype)])
    all_columns = np.concatenate([np.repeat(np.arange(N * b), 1 + e), t_columns[order]])
    keep = all_values != 0
    count = np.bincount(all_columns[keep], minlength=len(cost))
    return LinearProgram(
        cost=cost,
        start=np.concatenate([[0], np.cumsum(count)]),
        index=all_rows[keep],
        value=all_values[keep],
        rhs=np.concatenate([p, zeros(b * e, exact)]),
        equality=np.arange(N + b * e) < N,
        free=np.arange(len(cost)) >= N * b,
    )


def paper(p: Array, B: Array, E: Array, lam: Any) -> LinearProgram:
    """The paper's program for one Eve. Column rho[x,i,j] at (x*b + i)*e + j; rows: marginals, Bob's, Eve's."""
    (N, b), e = B.shape, E.shape[1]
    exact = is_exact(B)
    cost = (B[:, :, None] - lam * E[:, None, :]).ravel()
    x, i, j = (k.ravel() for k in np.meshgrid(np.arange(N), np.arange(b), np.arange(e), indexing="ij"))
    column = np.arange(N * b * e)
    rows, columns, values = [x], [column], [np.full(N * b * e, one(exact), dtype=B.dtype)]
    for other in range(b):  # row (i, j, other): Bob, told i, must not prefer `other`
        rows.append(N + (i * e + j) * b + other)
        columns.append(column)
        values.append(B[x, i] - B[x, other])
    for other in range(e):
        rows.append(N + b * e * b + (i * e + j) * e + other)
        columns.append(column)
        values.append(E[x, j] - E[x, other])
    m = N + b * e * (b + e)
    return from_entries(
        cost,
        np.concatenate(rows),
        np.concatenate(columns),
        np.concatenate(values),
        np.concatenate([p, zeros(m - N, exact)]),
        np.arange(m) < N,
        np.zeros(N * b * e, dtype=bool),
    )
