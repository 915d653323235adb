"""A program for every lam at once, by the parametric simplex method in exact arithmetic.

Split the cost into that of R_B and that of -R_E, c0 and c1, and add the weights w that choose among optima as an
infinitely small part: c0 + lam c1 + eps w. At a basis the duals of the three parts make every reduced cost
d0 + lam d1 + eps d2, so the basis stays optimal up to the least root -d0/d1 - eps d2/d1 over d1 < 0, compared
first without and then with eps. The column of that root enters there by an ordinary primal pivot: lam does not move
during a pivot and never goes back. A pivot with a positive step moves the vertex and raises R_E strictly, so vertices
and pieces of V correspond one to one; a step of zero changes the basis alone. Where roots tie altogether, Bland's
rule keeps the pivots from cycling. Conditions are rows without lam: they change the program, not the method.

Roots are settled by floats where their error bounds allow: a root computed from d0 +- e0 and d1 +- e1 lies in a known
interval, and only columns whose interval reaches below every certain upper end are looked at exactly.
The start is the optimum at lam = 0: the least R_B, then the largest R_E, then the least weight. The walk ends where no
d1 is negative: then the duals of c1 alone prove that no vertex has more R_E.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.exact_simplex import filtered, leaving, reduced_cost
from bap_lp.engines.linear.factor import Factor
from bap_lp.engines.linear.linear_optimum import optimum
from bap_lp.engines.start import release_basis
from bap_lp.program.bound import Dual
from bap_lp.questions.optimum.asked import AskedProblem
from bap_lp.questions.path.lower_envelope import Stretch, SupportLine
from bap_lp.support.clock import check
from bap_lp.support.rational import EXACT, Array, floats

_PATIENCE = 20  # pivots at one lam with step zero before Bland's rule


def _first_basis(asked: AskedProblem, form: LinearForm, ties: list[Array]) -> Array:
    """The optimum at lam = 0: Bob's best decisions, if these are unique and nothing else is demanded."""
    arrays, own = asked.layout.arrays, np.array([row.argmin() for row in asked.layout.arrays.B])
    if not asked.layout.demands and int((arrays.B.min(axis=1)[:, None] == arrays.B).sum()) == len(own):
        return release_basis(asked.layout.program(EXACT.zero), form, own)
    return optimum(form.lp, ties=ties).basic


class Walk:
    """A basis that is optimal at lam, its values and duals, and the line of its vertex; costs: c0, c1 and w.

    Tables are channels on merged states. Raises Infeasible if no mechanism meets the conditions, which leave a convex
    set of them.
    """

    def __init__(self, asked: AskedProblem) -> None:
        self.form = LinearForm.of(asked.layout.program(EXACT.zero))
        ties = [tie.cost(self.form) for tie in asked.ties()]  # -R_E, and the weights
        self.lp, self.costs = self.form.lp, (self.form.lp.cost, *ties)
        self.basic = _first_basis(asked, self.form, ties)
        self.lam, self.start, self.stalled = EXACT.zero, EXACT.zero, 0
        self.rounded = [replace(self.lp.rounded, cost=floats(c)) for c in self.costs[:2]]
        self.factor = Factor(self.lp, self.basic)
        self.values = self.factor.solve(self.lp.rhs)
        self.y = [self._duals(part) for part in (0, 1)]
        least, t = (self.lp.rhs.dot(y) for y in self.y)
        self.line = self._line(least, -t, self.y, self.lam)

    def pieces(self) -> Iterator[Stretch]:
        """Every piece by increasing lam."""
        while (found := self.next_root()) is not None:
            check()
            root, entering = found
            if root > self.lam:
                self.lam, self.stalled = root, 0
            left = self.start, self.line.dual, self.line
            if self.pivot(*entering) and root > left[0]:
                yield left
        yield self.start, self.line.dual, self.line

    @property
    def drift(self) -> Dual:
        """At the end: multipliers of lam alone, which prove that R_E is the largest."""
        return self._line(EXACT.zero, EXACT.one, self.y[1:] * 2, EXACT.zero).dual

    def _line(self, bob: Any, eve: Any, y: list[Array], lam: Any) -> SupportLine:
        z = EXACT.zeros(self.lp.shape[1])
        live = self.basic < len(z)
        z[self.basic[live]] = self.values[live]
        priced, read = EXACT.zeros(self.lp.shape[0]), self.lp.row_kind > 0  # the marginals come first, and stay unread
        priced[read] = y[0][read] + y[1][read] * lam
        return SupportLine(z[self.form.rho], bob, eve, self.form.dual(priced), None)

    def next_root(self) -> tuple[Any, tuple[int, Any, Any]] | None:
        """The least root at or above lam, and the column to enter there with its d0 and d1; None at the end.

        Of columns with the same root the one with the least part in eps enters.
        """
        n, nonbasic = self.lp.shape[1], self.lp.outside(self.basic)
        exact: list[tuple[int, Any, Any]] = []
        for r in np.flatnonzero(nonbasic[n:] & ~self.lp.equality).tolist():
            exact.append((n + r, -self.y[0][r], -self.y[1][r]))
        for j in np.flatnonzero(nonbasic[:n] & self._near(nonbasic[:n])).tolist():
            exact.append((j, self._reduced(0, j), self._reduced(1, j)))
        best: Any = None
        ties: list[tuple[int, Any, Any]] = []
        for j, d0, d1 in exact:
            root = None
            if j < n and self.lp.free[j] and d1 != 0:
                root = self.lam  # a free column at rest has d = 0 here, and moves off it at once
            elif d1 < 0:
                root = -d0 / d1
            if root is not None and (best is None or root <= best):
                ties = [*(ties if root == best else ()), (j, d0, d1)]
                best = root
        if best is None:
            return None
        if len(ties) == 1:
            return best, ties[0]
        if best == self.lam and self.stalled > _PATIENCE:
            return best, min(ties)
        prices = self._duals(2)  # needed here only, so not carried along
        weighed = [(-reduced_cost(self.lp, prices, tie[0], self.costs[2]) / tie[2], tie) for tie in ties]
        return best, min(weighed)[1]

    def _duals(self, part: int) -> Array:
        return self.factor.solve_transposed(self.lp.basic_cost(self.basic, self.costs[part]))

    def _near(self, nonbasic: Array) -> Array:
        """Columns that floats cannot rule out as the next to enter."""
        with np.errstate(all="ignore"):
            (d0, e0), (d1, e1) = (filtered(self.rounded[k], self.y[k]) for k in (0, 1))
            low = np.maximum(d0 - e0, 0.0) / (e1 - d1) * (1 - 1e-15)
            high = (d0 + e0) / (-d1 - e1) * (1 + 1e-15) + 1e-300
            certain = nonbasic & (d1 < -e1) & ~self.lp.free & np.isfinite(high)
            least = high[certain].min(initial=np.inf)
            ruled_out = ~self.lp.free & ((d1 > e1) | (low > least))
        near: Array = ~ruled_out
        return near

    def _reduced(self, part: int, variable: int) -> Any:
        return reduced_cost(self.lp, self.y[part], variable, self.costs[part])

    def pivot(self, variable: int, d0: Any, d1: Any) -> bool:
        """Bring the variable into the basis; whether that moved the vertex."""
        change = self.factor.solve(self.lp.column(variable))
        sign = 1 if d1 < 0 else -1  # a free column may have to decrease
        position, step = leaving(self.lp, self.basic, self.values, change, sign)
        unit = EXACT.zeros(len(self.basic))
        unit[position] = EXACT.one
        # row of the inverse: the duals move along it until d(variable) = 0; at lam they stay, as d0 + lam d1 = 0
        move = self.factor.solve_transposed(unit, d1 / change[position])
        before = self.y
        self.y = [before[0] - move * self.lam, before[1] + move]
        self.values = self.values - change * (sign * step)
        self.values[position] = sign * step
        self.basic = self.basic.copy()
        self.basic[position] = variable
        self.factor = Factor(self.lp, self.basic)
        if step == 0:
            self.stalled += 1
            return False
        self.stalled = 0
        bob, eve = self.line.bob + sign * step * d0, self.line.eve - sign * step * d1
        # the multipliers of before are optimal at lam for the old and the new vertex
        self.start, self.line = self.lam, self._line(bob, eve, before, self.lam)
        return True
