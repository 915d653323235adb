"""The optimal basis of the compact program, and how far one entry may move while it stays optimal.

The optimal basis A_B stays optimal while A_B^-1 rhs >= 0 and all reduced costs are >= 0. In one entry these are
polynomial conditions in its change d:
    p:      rhs is affine in h, reduced costs stay;
    B(x,i): y moves along a row of A_B^-1 if rho[x,i] is basic, else only its own reduced cost moves; rho stays;
    E(x,j): with r basic columns (x,i) the basis is A_B + d G F', G = -e_(i,j), F = e_(x,i); by Woodbury
            (A_B + d G F')^-1 = A_B^-1 - d A_B^-1 G (1 + d C)^-1 F' A_B^-1, C = F' A_B^-1 G,
            and times det(1 + d C) everything is polynomial, of degree at most r + 2.

How far from 0 these polynomials stay non-negative is exact where that is rational.
A polynomial that is a + b d with b < 0 <= a changes sign at -a/b. Any other is a product of irreducible factors over
the rationals. Their roots are simple and no two share one, so the sign changes exactly at the real roots of factors
with an odd power. The root of a linear factor is rational. Other roots are irrational and enclosed in intervals; the
end returned is then the left end of the enclosure, so the whole interval returned is certain.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpq_poly

from bap_lp.engines.compact.compact import compact_program
from bap_lp.engines.compact.ties import compact_ties
from bap_lp.engines.linear.exact import reduced_cost
from bap_lp.engines.linear.factor import Factor
from bap_lp.engines.linear.optimum import optimum
from bap_lp.model.sums.arrays import Arrays
from bap_lp.rational import EXACT, Array, floats, objects

Reach = tuple[tuple[Any, bool], tuple[Any, bool]]  # downwards, upwards: how far, and whether that is exact


class OptimalTableau:
    """The optimal basis of the compact program on all states, those of probability zero included, and its tableau."""

    def __init__(self, arrays: Arrays, lam: fmpq) -> None:
        self.arrays, self.silent = arrays, lam == 0
        N, b, e = arrays.shape
        played = arrays
        if self.silent:  # Eve does not count, so her losses may be anything
            played, lam, e = Arrays(arrays.p, arrays.B, EXACT.zeros((N, 1)), (slice(0, 1),)), fmpq(1), 1
        self.N, self.b, self.e = N, b, e
        self.lp = compact_program(played, lam)
        vertex = optimum(self.lp, ties=compact_ties(played))
        self.basic, self.y = self._with_null_states(vertex.basic, vertex.y)
        self.rho = vertex.z[: N * b].reshape(N, b)
        self.value = self.lp.cost.dot(vertex.z)
        u = -self.y[N:].reshape(b, e)
        self.eve_derivative = 0 * arrays.E if self.silent else -self.rho.dot(u)
        self.eve_risk = arrays.eve_risk(self.rho)
        self.factor = Factor(self.lp, self.basic)
        self.position = {int(v): k for k, v in enumerate(self.basic)}
        self.values = self.factor.solve(self.lp.rhs)
        self.nonbasic = np.flatnonzero(self.lp.outside(self.basic) & ~self.lp.fixed_variables)
        free, fixed = self.lp.free_variables, self.lp.fixed_variables
        self.still = free[self.nonbasic]  # nonbasic free columns: their reduced cost must stay zero
        self.signed = ~free[self.basic]
        self.pinned = fixed[self.basic]
        self.reduced = objects(reduced_cost(self.lp, self.y, int(v)) for v in self.nonbasic)
        self.place = {int(v): k for k, v in enumerate(self.nonbasic)}
        self._rows: dict[int, tuple[Array, Array]] = {}
        self._columns: dict[int, Array] = {}

    def _with_null_states(self, basic: Array, y: Array) -> tuple[Array, Array]:
        """A state of probability zero may have its marginal's slack in the basis, at zero: a dual pivot removes it.

        y moves along the slack's row of the inverse until the first reduced cost is zero; the marginal is an equality,
        so its own dual may have either sign.
        """
        (m, n), basic = self.lp.shape, basic.copy()
        for x in range(self.N):
            for at in np.flatnonzero(basic == n + x):
                weight = Factor(self.lp, basic).solve_transposed(_unit(m, int(at)))
                best: tuple[Any, int, Any] | None = None
                for k in np.flatnonzero(self.lp.outside(basic) & ~self.lp.fixed_variables).tolist():
                    rate = -reduced_cost(self.lp, weight, k, phase_one=True) if k < n else weight[k - n]
                    if rate != 0:
                        step = reduced_cost(self.lp, y, k) / rate
                        if best is None or (rate < 0, abs(step)) < (best[2], best[0]):
                            best = abs(step), k, rate < 0
                assert best is not None
                basic[at] = best[1]
                y = Factor(self.lp, basic).solve_transposed(self.lp.basic_cost(basic))
        return basic, y

    def row(self, position: int) -> tuple[Array, Array]:
        """(row of the basis inverse, its products with the nonbasic columns)."""
        if position not in self._rows:
            weight = self.factor.solve_transposed(_unit(len(self.basic), position))
            products = EXACT.zeros(sum(self.lp.shape))
            live = weight[self.lp.index] != 0
            np.add.at(products, self.lp.column_of[live], self.lp.value[live] * weight[self.lp.index[live]])
            products[self.lp.shape[1] :] = weight
            self._rows[position] = weight, products[self.nonbasic]
        return self._rows[position]

    def column(self, row: int) -> Array:
        """The basis inverse times a unit vector."""
        if row not in self._columns:
            self._columns[row] = self.factor.solve(_unit(len(self.basic), row))
        return self._columns[row]

    def bob_reach(self, x: int, i: int) -> Reach:
        """How far B(x,i) may move."""
        variable = x * self.b + i
        if variable not in self.position:  # its own reduced cost moves with it, and nothing else
            return (self.reduced[self.place[variable]], True), (None, True)
        slopes = -self.row(self.position[variable])[1]
        return self._both(np.stack([self.reduced, slopes], axis=1), None)

    def prior_reach(self, x: int) -> Reach:
        """How far h may move along p_h = (1 - h) p + h e_x."""
        (down, first), (up, second) = self._both(None, np.stack([self.values, self.column(x) - self.values], axis=1))
        mass = self.arrays.p[x]
        lowest = mass / (1 - mass) if mass != 1 else fmpq(0)  # p(x) = 0; at p(x) = 1 nothing moves
        down, first = (lowest, True) if down is None or down > lowest else (down, first)
        up, second = (fmpq(1), True) if up is None or up > 1 else (up, second)
        return (down, first), (up, second)

    def eve_reach(self, x: int, j: int) -> Reach:
        """How far E(x,j) may move."""
        if self.silent:
            return (None, True), (None, True)
        N, b, e = self.N, self.b, self.e
        own = [i for i in range(b) if x * b + i in self.position]
        at = [self.position[x * b + i] for i in own]
        rows = [N + i * e + j for i in own]
        r = len(own)
        back = np.stack([self.column(k) for k in rows], axis=1)  # -A_B^-1 G
        C = -back[at]
        det, v, w = _woodbury(C, self.values[at], -self.y[rows])
        width = r + 3
        z = _padded(np.multiply.outer(self.values, det), width)
        z[:, 1 : r + 1] += back.dot(v.T)
        d = _padded(np.multiply.outer(self.reduced, det), width)
        inverse = [self.row(k) for k in at]
        d[:, 1 : r + 1] += np.stack([products for _, products in inverse], axis=1).dot(w.T)
        for i in range(b):  # the entry is also in the nonbasic columns (x,i)
            place = self.place.get(x * b + i)
            if place is not None:
                k = N + i * e + j
                d[place, 1 : r + 2] += det * self.y[k]
                d[place, 2 : r + 2] -= objects([weight[k] for weight, _ in inverse]).dot(w.T)
        return self._both(d, np.concatenate([z, _padded(det[None, :], width)]), strict=1)

    def _both(self, reduced: Array | None, values: Array | None, strict: int = 0) -> Reach:
        """Reach downwards and upwards; the last `strict` rows of values must be non-negative whatever is basic."""
        parts = []
        if reduced is not None:
            parts += [reduced[~self.still], reduced[self.still], -reduced[self.still]]
        if values is not None:
            basic = values[: len(self.basic)]
            parts += [basic[self.signed], -basic[self.pinned], values[len(self.basic) : len(self.basic) + strict]]
        conditions = np.concatenate(parts)
        signs = objects(fmpq((-1) ** k) for k in range(conditions.shape[1]))
        return reach(conditions * signs), reach(conditions)


def _woodbury(C: Array, z: Array, y: Array) -> tuple[Array, Array, Array]:
    """Coefficients of det(1 + d C), and of that times (1 + d C)^-1 z and (1 + d C')^-1 y (power x component).

    With det(1 + d C) = sum_k c_k d^k, the vectors v_0 = z, v_k = c_k z - C v_(k-1) have
    (1 + d C) sum_k v_k d^k = sum_k c_k d^k z, and v_r = 0 by the theorem of Cayley and Hamilton.
    """
    r = len(C)
    # det(x - C) = sum_k (-1)^k c_k x^(r-k)
    falling = reversed(fmpq_mat(r, r, C.ravel().tolist()).charpoly().coeffs())
    c = objects((-1) ** k * coefficient for k, coefficient in enumerate(falling))

    def powers(matrix: Array, right: Array) -> Array:
        out = [right]
        for k in range(1, r):
            out.append(c[k] * right - matrix.dot(out[-1]))
        return np.stack(out)

    return c, powers(C, z), powers(C.T, y)


def _padded(table: Array, width: int) -> Array:
    out = EXACT.zeros((len(table), width))
    out[:, : table.shape[1]] = table
    return out


def _unit(size: int, at: int) -> Array:
    out = EXACT.zeros(size)
    out[at] = fmpq(1)
    return out


def reach(conditions: Array) -> tuple[Any, bool]:
    """The largest d with every row c of `conditions` (c[0] + c[1] x + ...) non-negative on [0, d]; None: no end.

    Also whether that end is exact. Every c[0] must be >= 0.
    """
    linear = ~(conditions[:, 2:] != 0).any(axis=1)
    best, exact = _least_ratio(*conditions[linear][:, :2].T), True
    for row in conditions[~linear]:
        low = next(k for k, c in enumerate(row) if c != 0)
        if row[low] < 0:
            return fmpq(0), True
        found = _sign_change(fmpq_poly(row[low:].tolist()), best)
        if found is not None:
            best, exact = found
    return best, exact


def _least_ratio(a: Array, b: Array) -> Any:
    """The least a / -b where b < 0, None if there is none; floats say which ones it may be."""
    falling = np.flatnonzero(b < 0)
    a, b = a[falling], -b[falling]
    try:
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            rough = floats(a) / floats(b)
            near = np.flatnonzero(~(rough > rough.min(initial=np.inf) * (1 + 1e-12)))
    except OverflowError:
        near = np.arange(len(a))
    return min((a[k] / b[k] for k in near.tolist()), default=None)


def _sign_change(f: fmpq_poly, limit: Any) -> tuple[Any, bool] | None:
    """Where f, positive at 0, first turns negative in (0, limit], and whether that is exact; None if it does not."""
    first, *rest = f.coeffs()
    falling = [(k, c) for k, c in enumerate(rest, 1) if c < 0]
    if not falling or (limit is not None and first + sum(c * limit**k for k, c in falling) > 0):
        return None  # positive already without the terms that rise
    found: list[tuple[Any, bool]] = []
    for factor, power in f.factor()[1]:
        if power % 2 and factor.degree() == 1:
            found.append((-factor[0] / factor[1], True))
        elif power % 2:
            real = [root.real for root, _ in factor.complex_roots() if root.imag == 0]
            found += [(_rational(root.lower()), False) for root in real]
    return min((end for end in found if end[0] > 0 and (limit is None or end[0] <= limit)), default=None)


def _rational(exact: Any) -> fmpq:
    mantissa, exponent = exact.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)
