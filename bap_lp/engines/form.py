"""The canonical program as a linear program, and its vertices as tables and multipliers.

Columns are rho[x,s], then t of every observer, then the largest of the worst rows v. Rows are the marginals, then
t_o[v,g] - sum_x losses_o[x,j] rho[x,v] <= 0 of every observer, then the program's own rows. A kind of rows or columns
is a block of its own, so that scaling treats its members alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.engines.linear.linear_program import LinearProgram, ProgramBuilder
from bap_lp.program.bound import Dual, Program, Sparse
from bap_lp.support.rational import Array, ReadOnly


@dataclass(frozen=True, eq=False)
class LinearForm(ReadOnly):
    """A linear program with the places of rho, of t and of all rows in it."""

    lp: LinearProgram
    rho: Array
    t: dict[str, Array]
    replies: dict[str, slice]
    weights: dict[str, slice]
    shapes: dict[str, tuple[int, int]]
    lazy: Array

    @classmethod
    def of(cls, program: Program, more: Callable[[ProgramBuilder, Array], None] | None = None) -> LinearForm:
        """more: adds columns and rows of its own, given the columns of rho."""
        (N, S), field = program.shape, program.field
        make, one = ProgramBuilder(field), field.one
        rho = make.columns((N, S), program.cost)
        t = {o.name: make.columns((o.views, len(o.starts)), -o.price, free=True) for o in program.observers}
        worst = make.columns(1, one, free=True) if any(rows.worst for rows in program.rows) else None
        make.rows(N, [(np.arange(N)[:, None], rho, one)], program.mass, equality=True)
        replies: dict[str, slice] = {}
        for o in program.observers:
            V, e, s = o.views, o.columns, np.arange(S)
            row = np.arange(V * e).reshape(V, e)
            entries: list[tuple[Any, Any, Any]] = [(row, t[o.name][:, o.group_of], one)]
            if isinstance(o.losses, Sparse):
                x, j, value = o.losses.x, o.losses.j, o.losses.value
                entries.append((row[o.sees[s][:, None], j], rho[x, s[:, None]], -value))
            else:
                entries.append((row[o.sees][None], rho[:, :, None], -o.losses[:, None, :]))
            replies[o.name] = make.rows(V * e, entries)
        weights, lazy = {}, [np.zeros(make.row_count, dtype=bool)]
        for rows in program.rows:
            entries = []
            if rows.entries is not None:
                k, x, s, value = rows.entries
                entries.append((k, rho[x, s], value))
            for name, k, view, group, c in rows.terms:
                entries.append((k, t[name][view, group], -c))
            if rows.worst and worst is not None:
                entries.append((np.arange(len(rows)), worst[0], -one))
            weights[rows.name] = make.rows(len(rows), entries, rows.rhs, rows.equal)
            lazy.append(np.zeros(len(rows), dtype=bool) if rows.lazy is None else rows.lazy)
        if more is not None:
            more(make, rho)
            lazy.append(np.zeros(make.row_count - sum(map(len, lazy)), dtype=bool))
        shapes = {o.name: (o.views, o.columns) for o in program.observers}
        return cls(make.build(), rho, t, replies, weights, shapes, np.concatenate(lazy))

    def kept(self, allowed: Array | None) -> Array:
        """Which columns stay if each state may send only the signals allowed."""
        out = np.ones(self.lp.shape[1], dtype=bool)
        if allowed is not None:
            out[self.rho] = allowed
        return out

    def dual(self, y: Array) -> Dual:
        """The multipliers of a solution; duals of <= rows are <= 0, those of equalities have any sign."""
        replies = {name: -y[rows].reshape(self.shapes[name]) for name, rows in self.replies.items()}
        return Dual(replies, {name: -y[rows] for name, rows in self.weights.items()})

    def tie(self, table: Array | None, hidden: dict[str, Any]) -> Array:
        """A further cost: of rho, and of t by observer."""
        out = self.lp.field.zeros(self.lp.shape[1])
        if table is not None:
            out[self.rho] = table
        for name, cost in hidden.items():
            out[self.t[name]] = cost
        return out
