"""The losses of paired record types, from the small tables of the columns.

For a secret with spread a the cost of publishing level l for truth t in column k is T(s; t, l) = (L_k(t,l) - min
L_k(t,.)) / a, and the best meeting level of two records is found column by column:
    d(x,y) = sum_k min_l T(x; x_k, l) + T(y; y_k, l).
So the cost of all pairs is a sum of look-ups, whatever the number of decisions. If exact, all T have one unit, and
are integers. If only some decisions may be sent, losses are laid out decision by decision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.support.rational import Array, common_denominator, floats
from bap_sdc.records.optimum.program import RecordProgram

_TIE = 1e-11  # of the largest cost, in floats
_FITS = 2.0**52
_BLOCK = 1 << 20  # entries of a table of sums


class ColumnTables:
    """T for every column and every spread, in one unit; `classes` numbers the spreads."""

    def __init__(self, program: RecordProgram, spreads: Array) -> None:
        self.levels, self.exact = program.levels, program.exact
        relative = [table - table.min(axis=1)[:, None] for table in program.losses]
        tables = [
            np.stack([table / a if a else table for a in spreads]) for table in relative
        ]  # spread, truth, published
        self.unit: Any = 1.0
        if self.exact:
            self.unit = common_denominator(np.concatenate([t.ravel() for t in tables]))
            tables = [_whole(t * self.unit) for t in tables]
            if sum(float(floats(t).max()) for t in tables) * 4 >= _FITS or any(t.dtype == object for t in tables):
                tables = [t.astype(object) for t in tables]
        self.tables = [t.reshape(-1, t.shape[2]) for t in tables]
        self.truths = [t.shape[1] for t in tables]
        self.pairs = [(t[:, None, :] + t[None, :, :]).min(axis=2) for t in self.tables]
        self.size = max(sum(float(floats(t).max()) for t in self.tables), 1e-300)
        self.tie = 0 if self.exact else _TIE * self.size
        self.rates = self._rates(spreads)

    def _rates(self, spreads: Array) -> Array:
        if not self.exact:
            return 1.0 / np.where(spreads > 0, spreads, 1.0)
        inverse = np.array([1 / a if a else 1 / (a + 1) for a in spreads], dtype=object)
        whole = _whole(inverse * common_denominator(inverse))
        return whole if whole.dtype != object and float(whole.max()) < 2.0**19 else whole.astype(object)

    def place(self, codes: Array, kind: Array) -> list[Array]:
        """The row of every record in the table of each column."""
        return [kind * truths + codes[:, k] for k, truths in enumerate(self.truths)]

    def decisions(self, attained: list[Array]) -> tuple[Array, Array]:
        return all_decisions(attained, self.levels)


def all_decisions(attained: list[Array], levels: tuple[int, ...]) -> tuple[Array, Array]:
    """All (row, decision) with an allowed level in every column, sorted; attained: rows x levels, by column."""
    row = np.arange(len(attained[0]))
    decision = np.zeros(len(row), dtype=np.int64)
    for allowed, count in zip(attained, levels, strict=True):
        k, level = np.nonzero(allowed[row])
        row, decision = row[k], decision[k] * count + level
    return row, decision


class ColumnLosses:
    """Losses of left and right record types in one unit, integers (in floats or objects) if exact.

    cost: d, left x right. rates: 1/a of the left and of the right records, in a unit of their own.
    """

    def __init__(self, tables: ColumnTables, codes: tuple[Array, Array], kinds: tuple[Array, Array]) -> None:
        self.tables = tables
        self.places = tables.place(codes[0], kinds[0]), tables.place(codes[1], kinds[1])
        self.rates = (tables.rates[kinds[0]], tables.rates[kinds[1]])
        left, right = self.places
        self.cost = sum(t[np.ix_(a, b)] for t, a, b in zip(tables.pairs, left, right, strict=True))

    def tied(self, row: Array, column: Array) -> tuple[Array, Array]:
        """All (k, i) such that pair k attains its cost at decision i, sorted by k."""
        left, right = self.places
        attained = []
        for k, table in enumerate(self.tables.tables):
            a, b = left[k][row], right[k][column]
            attained.append(table[a] + table[b] <= self.tables.pairs[k][a, b][:, None] + self.tables.tie)
        return self.tables.decisions(attained)

    def alone(self, side: int) -> tuple[Array, Array]:
        """All (x, i) such that record x of this side has its least loss at decision i, sorted by x."""
        tables = self.tables
        return tables.decisions([t[at] <= tables.tie for t, at in zip(tables.tables, self.places[side], strict=True)])


class KeptLosses(ColumnLosses):
    """The same where only some decisions may be sent: losses by decision, the least of every record subtracted."""

    def __init__(
        self, tables: ColumnTables, codes: tuple[Array, Array], kinds: tuple[Array, Array], kept: Array
    ) -> None:
        self.tables, self.kept, levels = tables, kept, np.unravel_index(kept, tables.levels)
        self.places = tables.place(codes[0], kinds[0]), tables.place(codes[1], kinds[1])
        self.rates = (tables.rates[kinds[0]], tables.rates[kinds[1]])
        whole = [sum(t[p][:, i] for t, p, i in zip(tables.tables, own, levels, strict=True)) for own in self.places]
        self.rows = [table - table.min(axis=1)[:, None] for table in whole]
        left, right = self.rows
        step = max(1, _BLOCK // max(1, right.size))
        cuts = range(0, len(left), step)
        self.cost = np.concatenate([(left[k : k + step, None] + right[None]).min(axis=2) for k in cuts])

    def tied(self, row: Array, column: Array) -> tuple[Array, Array]:
        pairs, decisions = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        step = max(1, _BLOCK // len(self.kept))
        for cut in range(0, len(row), step):
            total = self.rows[0][row[cut : cut + step]] + self.rows[1][column[cut : cut + step]]
            k, at = np.nonzero(total <= total.min(axis=1)[:, None] + self.tables.tie)
            pairs.append(k + cut)
            decisions.append(self.kept[at])
        return np.concatenate(pairs), np.concatenate(decisions)

    def alone(self, side: int) -> tuple[Array, Array]:
        x, at = np.nonzero(self.rows[side] <= self.tables.tie)
        return x, self.kept[at]


def _whole(values: Array) -> Array:
    """Integers as floats if those represent them, else as Python integers."""
    if float(floats(values).max(initial=0.0)) < _FITS:
        return np.array([float(int(v.p)) for v in values.ravel().tolist()]).reshape(values.shape)
    return np.array([int(v.p) for v in values.ravel().tolist()], dtype=object).reshape(values.shape)
