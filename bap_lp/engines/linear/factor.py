"""Exact solves with a basis matrix: peel off what is triangular, hand what is left, the core, to `core`.

A row with one remaining column, or a column with one remaining row, can be solved and removed. In the compact program
slacks are singleton columns and states with one basic column are singleton rows, so what is left is the core: the tight
Eve rows, the split states, about b*e unknowns however many states there are.
"""

from __future__ import annotations

import numpy as np
from flint import fmpq

from bap_lp.engines.linear.core import Core, SingularCore
from bap_lp.engines.linear.linear_program import LinearProgram, basis_places, ranges
from bap_lp.support.rational import EXACT, Array, common_denominator

Batch = tuple[Array, Array, Array]  # rows, columns (positions in the basis), pivot values


class SingularBasis(ArithmeticError):
    """The columns are dependent; `kept` positions are independent and `uncovered` rows want slacks."""

    def __init__(self, kept: Array, uncovered: Array) -> None:
        super().__init__("singular basis")
        self.kept, self.uncovered = kept, uncovered


class Factor:
    """The basis `basic` (columns of lp, then slacks numbered from lp's column count on), ready for exact solves."""

    def __init__(self, lp: LinearProgram, basic: Array) -> None:
        self.m = lp.shape[0]
        self.row, self.col, self.val = basis_entries(lp, basic)
        self.by_col = _grouped(self.col, self.m)
        self.by_row = _grouped(self.row, self.m)
        self._peel()

    def solve(self, rhs: Array) -> Array:
        """x with B x = rhs, by basis position."""
        first, last = self.row_batches, self.col_batches[::-1]
        # right-hand sides are summed over many rows: take their denominator out
        scale = common_denominator(rhs)
        return self._solve(rhs, scale, self.by_col, self.row, first, last, self.core_rows, self.core_cols)

    def solve_transposed(self, cost: Array, times: fmpq = EXACT.one) -> Array:
        """y with B^T y = times * cost, by row."""
        first = [(c, r, v) for r, c, v in self.col_batches]
        last = [(c, r, v) for r, c, v in reversed(self.row_batches)]
        ends = self.core_cols, self.core_rows
        return self._solve(cost, EXACT.one, self.by_row, self.col, first, last, *ends, times, transposed=True)

    def _solve(
        self,
        rhs: Array,
        scale: fmpq,
        entries: tuple[Array, Array],
        equation: Array,
        first: list[Batch],
        last: list[Batch],
        core_equations: Array,
        core_unknowns: Array,
        times: fmpq = EXACT.one,
        transposed: bool = False,
    ) -> Array:
        # From here on everything is carried times a common multiple `scale` of the long denominators met, so that the
        # many additions below see only the short denominators of the program's own entries.
        residual, x = rhs * scale, EXACT.zeros(self.m)
        for equations, unknowns, pivots in first:
            x[unknowns] = residual[equations] / pivots
            self._subtract(residual, x, unknowns, entries, equation)
        if self.core is not None:
            found = self._core_solve(residual[core_equations], transposed)
            more = common_denominator(found)
            scale, residual, x = scale * more, residual * more, x * more
            x[core_unknowns] = found * more
            self._subtract(residual, x, core_unknowns, entries, equation)
        for equations, unknowns, pivots in last:
            x[unknowns] = residual[equations] / pivots
            self._subtract(residual, x, unknowns, entries, equation)
        return x * (times / scale)

    def _core_solve(self, right: Array, transposed: bool) -> Array:
        assert self.core is not None
        try:
            return self.core.solve(right, transposed)
        except SingularCore as singular:
            raise self._singular(singular) from None

    def _singular(self, core: SingularCore) -> SingularBasis:
        lost = np.delete(self.core_cols, core.columns)
        return SingularBasis(np.setdiff1d(np.arange(self.m), lost), np.delete(self.core_rows, core.rows))

    def _subtract(
        self, residual: Array, x: Array, unknowns: Array, entries: tuple[Array, Array], equation: Array
    ) -> None:
        """residual -= (their columns) * x, for unknowns just found."""
        live = unknowns[x[unknowns] != 0]
        order, start = entries
        at = order[ranges(start[live], start[live + 1])]
        if len(at):
            owner = np.repeat(live, start[live + 1] - start[live])
            np.subtract.at(residual, equation[at], self.val[at] * x[owner])

    def _peel(self) -> None:
        alive_row, alive_col = np.ones(self.m, dtype=bool), np.ones(self.m, dtype=bool)
        alive = np.ones(len(self.row), dtype=bool)
        self.row_batches: list[Batch] = []
        self.col_batches: list[Batch] = []
        while True:
            progress = False
            for own, batches in ((self.col, self.col_batches), (self.row, self.row_batches)):
                at = np.flatnonzero(alive)
                count = np.bincount(own[at], minlength=self.m)
                single = at[count[own[at]] == 1]
                if len(single):
                    # two singletons on one line are dependent: the first takes it, the rest are left empty
                    other = self.row if own is self.col else self.col
                    single = single[np.unique(other[single], return_index=True)[1]]
                    batches.append((self.row[single], self.col[single], self.val[single]))
                    alive_row[self.row[single]] = False
                    alive_col[self.col[single]] = False
                    alive = alive & alive_row[self.row] & alive_col[self.col]
                    progress = True
            if not progress:
                break
        self.core_rows, self.core_cols = np.flatnonzero(alive_row), np.flatnonzero(alive_col)
        self.core: Core | None = None
        if len(self.core_rows):
            at = np.flatnonzero(alive)
            rows, cols = np.searchsorted(self.core_rows, self.row[at]), np.searchsorted(self.core_cols, self.col[at])
            try:
                self.core = Core(rows, cols, self.val[at], len(self.core_rows))
            except SingularCore as singular:
                raise self._singular(singular) from None


def basis_entries(lp: LinearProgram, basic: Array) -> tuple[Array, Array, Array]:
    """The basis matrix as (row, position, value) triples."""
    rows, positions, at, slacks = basis_places(lp, basic)
    return rows, positions, np.concatenate([lp.value[at], lp.field.full(len(slacks), 1)])


def _grouped(own: Array, m: int) -> tuple[Array, Array]:
    """Entries ordered by line, and where each line starts."""
    return np.argsort(own, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(own, minlength=m))])
