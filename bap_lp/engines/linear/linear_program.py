"""A linear program as data: minimise cost.z subject to A z = rhs or A z <= rhs, z >= 0 or free; and how to build one.

Builders are indifferent to the kind of number: float64 in, float64 out; fmpq in, fmpq out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bap_lp.engines.linear.memory import require
from bap_lp.support.rational import Array, Field, field_of, floats, lifted


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """min cost.z s.t. A z = rhs (where `equality`) or A z <= rhs, z >= 0 except where `free`; A by columns.

    Rows and columns of one kind (numbered in `row_kind`, `column_kind`) are scaled alike.
    """

    cost: Array
    start: Array
    index: Array
    value: Array
    rhs: Array
    equality: Array
    free: Array
    row_kind: Array
    column_kind: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        return len(self.rhs), len(self.cost)

    @property
    def field(self) -> Field:
        return field_of(self.cost)

    @cached_property
    def column_of(self) -> Array:
        """The column of each stored entry."""
        return np.repeat(np.arange(len(self.cost)), np.diff(self.start))

    @cached_property
    def free_variables(self) -> Array:
        """Which variables (columns, then slacks) may have any sign."""
        return np.append(self.free, np.zeros(len(self.rhs), dtype=bool))

    @cached_property
    def fixed_variables(self) -> Array:
        """Which variables must be zero: the slacks of equalities."""
        return np.append(np.zeros(len(self.cost), dtype=bool), self.equality)

    def outside(self, basic: Array) -> Array:
        """Which variables are not basic."""
        out: Array = np.ones(sum(self.shape), dtype=bool)
        out[basic] = False
        return out

    def basic_cost(self, basic: Array, cost: Array | None = None) -> Array:
        """The program's own cost, or another, of basic variables; slacks cost nothing."""
        return np.append(self.cost if cost is None else cost, self.field.zeros(len(self.rhs)))[basic]

    @cached_property
    def rounded(self) -> LinearProgram:
        """The same program in the nearest floats."""
        if not self.field.exact:
            return self
        return replace(self, cost=floats(self.cost), value=floats(self.value), rhs=floats(self.rhs))

    def lifted(self) -> LinearProgram:
        """A float program as the rationals its floats are."""
        if self.field.exact:
            return self
        return replace(self, cost=lifted(self.cost), value=lifted(self.value), rhs=lifted(self.rhs))

    def column(self, variable: int) -> Array:
        """A column of (A, 1): slacks are numbered after the columns."""
        m, n = self.shape
        out = self.field.zeros(m)
        if variable >= n:
            out[variable - n] = self.field.one
        else:
            at = slice(self.start[variable], self.start[variable + 1])
            out[self.index[at]] = self.value[at]
        return out

    def on_columns(self, keep: Array, cost: Array | None = None, equality: Array | None = None) -> LinearProgram:
        """The program on the columns where `keep` is true, perhaps with another cost (of all columns) or other rows."""
        entries = keep[self.column_of]
        start = np.concatenate([[0], np.cumsum(np.diff(self.start)[keep])])
        return LinearProgram(
            (self.cost if cost is None else cost)[keep],
            start,
            self.index[entries],
            self.value[entries],
            self.rhs,
            self.equality if equality is None else equality,
            self.free[keep],
            self.row_kind,
            self.column_kind[keep],
        )


def from_entries(
    cost: Array,
    rows: Array,
    columns: Array,
    values: Array,
    rhs: Array,
    equality: Array,
    free: Array,
    row_kind: Array | None = None,
    column_kind: Array | None = None,
) -> LinearProgram:
    """A program from (row, column, value) triples; zero entries are dropped, triples must be distinct.

    Unless told otherwise, equalities and inequalities are two kinds of rows, signed and free columns two of columns.
    """
    row_kind = equality.astype(int) if row_kind is None else row_kind
    column_kind = free.astype(int) if column_kind is None else column_kind
    keep = np.flatnonzero(values)
    order = keep[np.argsort(columns[keep] * len(rhs) + rows[keep], kind="stable")]  # blocks are in order: they merge
    start = np.concatenate([[0], np.cumsum(np.bincount(columns[order], minlength=len(cost)))])
    return LinearProgram(cost, start, rows[order], values[order], rhs, equality, free, row_kind, column_kind)


def basis_places(lp: LinearProgram, basic: Array) -> tuple[Array, Array, Array, Array]:
    """(row, position) of the entries of a basis matrix, where they are stored in lp, and the rows of its slacks."""
    n = lp.shape[1]
    columns, slacks = basic[basic < n], basic[basic >= n] - n
    at = ranges(lp.start[columns], lp.start[columns + 1])
    lengths = lp.start[columns + 1] - lp.start[columns]
    positions = np.concatenate([np.repeat(np.flatnonzero(basic < n), lengths), np.flatnonzero(basic >= n)])
    return np.concatenate([lp.index[at], slacks]), positions, at, slacks


def ranges(start: Array, stop: Array) -> Array:
    """Concatenation of arange(start[k], stop[k])."""
    lengths = stop - start
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(start - (ends - lengths), lengths)


class ProgramBuilder:
    """Collects columns and rows block by block; a block is a kind of its own.

    `columns` gives the numbers of new columns, `rows` the slice of new rows; entries are (row, column, value) arrays
    that broadcast together, rows counted from the block's own first.
    """

    def __init__(self, field: Field) -> None:
        self.field = field
        self.row_count = self.column_count = self._count = 0
        self._entries: list[tuple[Array, Array, Array]] = []
        self._cost: list[Array] = []
        self._free: list[Array] = []
        self._rhs: list[Array] = []
        self._equality: list[Array] = []

    def columns(self, shape: int | tuple[int, ...], cost: Any = 0, free: bool = False) -> Array:
        """New columns, laid out in this shape; `cost` broadcasts to it."""
        count = int(np.prod(shape))
        first, self.column_count = self.column_count, self.column_count + count
        self._cost.append(np.broadcast_to(self.field.zeros(1)[0] + cost, shape).ravel())
        self._free.append(np.full(count, free))
        return np.arange(first, first + count).reshape(shape)

    def rows(self, count: int, entries: Sequence[tuple[Any, Any, Any]], rhs: Any = 0, equality: bool = False) -> slice:
        """`count` rows sum value z[column] <= rhs, or = rhs."""
        first, self.row_count = self.row_count, self.row_count + count
        for row, column, value in entries:
            row, column, value = np.broadcast_arrays(row, column, value)
            self._count += row.size
            require(self._count, self.field.exact)
            self._entries.append(((first + row).ravel(), column.ravel(), value.ravel()))
        self._rhs.append(self.field.zeros(count) + rhs)
        self._equality.append(np.full(count, equality))
        return slice(first, self.row_count)

    def build(self) -> LinearProgram:
        rows, columns, values = (np.concatenate([entry[k] for entry in self._entries]) for k in range(3))
        return from_entries(
            np.concatenate(self._cost),
            rows,
            columns,
            values,
            np.concatenate(self._rhs),
            np.concatenate(self._equality),
            np.concatenate(self._free),
            np.repeat(np.arange(len(self._rhs)), [len(part) for part in self._rhs]),
            np.repeat(np.arange(len(self._cost)), [len(part) for part in self._cost]),
        )
