"""The optimal basis of the compact program, and how far one entry may move while it stays optimal.

The optimal basis A_B stays optimal while A_B^-1 rhs >= 0 and all reduced costs are >= 0. In one entry these are
polynomial conditions in its change d:
    p:      rhs is affine in h, reduced costs stay;
    B(x,i): y moves along a row of A_B^-1 if rho[x,i] is basic, else only its own reduced cost moves; rho stays;
    E(x,j): with r basic columns (x,i) the basis is A_B + d G F', G = -e_(i,j), F = e_(x,i); by Woodbury
            (A_B + d G F')^-1 = A_B^-1 - d A_B^-1 G (1 + d C)^-1 F' A_B^-1, C = F' A_B^-1 G,
            and times det(1 + d C) everything is polynomial, of degree at most r + 1.

Floats and a bound on their errors show that nearly all of these conditions hold as far as the nearest end; only the
others are computed exactly. How far from 0 these polynomials stay non-negative is exact where that is rational.
A polynomial that is a + b d with b < 0 <= a changes sign at -a/b. Any other is a product of irreducible factors over
the rationals. Their roots are simple and no two share one, so the sign changes exactly at the real roots of factors
with an odd power. The root of a linear factor is rational. Other roots are irrational and enclosed in intervals; the
end returned is then the left end of the enclosure, so the whole interval returned is certain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, fmpq_poly

from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.exact_simplex import reduced_cost
from bap_lp.engines.linear.factor import Factor, basis_entries
from bap_lp.engines.linear.optimum import optimum
from bap_lp.engines.linear.program import LinearProgram
from bap_lp.engines.ties import joint_ties
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import compact
from bap_lp.rational import EXACT, Array, floats, objects

Reach = tuple[tuple[Any, bool], tuple[Any, bool]]  # downwards, upwards: how far, and whether that is exact
_RANGE = 2.0**200  # floats farther from one are not used, so that no product of a few over- or underflows
_ALL = slice(None)


@dataclass(frozen=True, eq=False)
class Change:
    """E(x,j) + d: where the basic columns (x,i) are and their rows (i,j), the nonbasic ones and theirs; `_woodbury`."""

    at: list[int]
    rows: list[int]
    places: list[int]
    lines: list[int]
    det: Array
    v: Array
    w: Array

    def map(self, f: Callable[[Array], Array]) -> Change:
        return replace(self, det=f(self.det), v=f(self.v), w=f(self.w))


@dataclass(frozen=True, eq=False)
class Tableau:
    """A_B^-1, A_B^-1 rhs, the reduced costs of the nonbasic columns and y; polynomials in a change, by row and power.

    The numbers are exact, or floats near them, or the absolute values of these. The last are added where the others are
    subtracted (`minus` is 1): the results then bound the terms of every sum, and so its errors.
    """

    lp: LinearProgram
    nonbasic: Array
    inverse: Array
    values: Array
    reduced: Array
    y: Array
    minus: int = -1

    def map(self, f: Callable[[Array], Array], minus: int) -> Tableau:
        lp = replace(self.lp.rounded, value=f(self.lp.value))
        return Tableau(lp, self.nonbasic, f(self.inverse), f(self.values), f(self.reduced), f(self.y), minus)

    def products(self, at: list[int], places: Any = _ALL) -> Array:
        """Nonbasic columns times rows of the inverse."""
        row, position, value = basis_entries(self.lp, self.nonbasic[places])
        out = self.lp.field.zeros((len(self.nonbasic[places]), len(at)))
        np.add.at(out, position, value[:, None] * self.inverse[at][:, row].T)
        return out

    def prior(self, x: int, rows: Array) -> Array:
        """The basic variables as weight moves to x."""
        values = self.values[rows]
        return np.stack([values, self.inverse[rows, x] + self.minus * values], axis=1)

    def bob(self, products: Array, places: Any = _ALL) -> Array:
        """The reduced costs as the cost of a basic column moves."""
        return np.stack([self.reduced[places], self.minus * products], axis=1)

    def eve_values(self, change: Change, rows: Array) -> Array:
        """The basic variables times the determinant, as E(x,j) moves."""
        return _moved(self.values[rows], change.det, self.inverse[np.ix_(rows, np.array(change.rows))], change.v)

    def eve_costs(self, change: Change, products: Array, places: Any = _ALL) -> Array:
        """The reduced costs times the determinant; E(x,j) is also in the nonbasic columns (x,i)."""
        out = _moved(self.reduced[places], change.det, products, change.w)
        less = self.minus * self.inverse[np.ix_(change.at, change.lines)].T
        out[change.places, 1:] += _moved(self.y[change.lines], change.det, less, change.w)[:, :-1]
        return out


@dataclass(frozen=True, eq=False)
class Polynomials:
    """Polynomials that must not be negative, and some that must be zero: near ones, their errors, exact ones by row."""

    near: Array
    error: Array
    exact: Callable[[int], Array]
    zero: Array


class OptimalTableau:
    """The optimal basis of the compact program on all states, those of probability zero included, and its tableau."""

    def __init__(self, arrays: Arrays, lam: fmpq) -> None:
        self.arrays, self.silent = arrays, lam == 0
        N, b, e = arrays.shape
        played = arrays
        if self.silent:  # Eve does not count, so her losses may be anything
            played, lam, e = Arrays(arrays.p, arrays.B, EXACT.zeros((N, 1)), (slice(0, 1),)), fmpq(1), 1
        self.N, self.b, self.e = N, b, e
        form = LinearForm.of(compact(played, lam))
        self.lp = form.lp
        vertex = optimum(self.lp, ties=[tie.cost(form) for tie in joint_ties((N, b))])
        self.basic, self.y = self._with_null_states(vertex.basic, vertex.y)
        self.rho = vertex.z[: N * b].reshape(N, b)
        self.value = self.lp.cost.dot(vertex.z)
        u = -self.y[N:].reshape(b, e)
        self.eve_derivative = 0 * arrays.E if self.silent else -self.rho.dot(u)
        self.eve_risk = arrays.eve_risk(self.rho)
        m, factor = len(self.basic), Factor(self.lp, self.basic)
        self.position = {int(v): k for k, v in enumerate(self.basic)}
        self.nonbasic = np.flatnonzero(self.lp.outside(self.basic) & ~self.lp.fixed_variables)
        self.place = {int(v): k for k, v in enumerate(self.nonbasic)}
        self.exact = Tableau(
            self.lp,
            self.nonbasic,
            np.stack([factor.solve(_unit(m, k)) for k in range(m)], axis=1),
            factor.solve(self.lp.rhs),
            objects(reduced_cost(self.lp, self.y, int(v)) for v in self.nonbasic),
            self.y,
        )
        self.near = self.exact.map(_near, -1)
        self.sizes = self.near.map(abs, 1)
        free, fixed = self.lp.free_variables, self.lp.fixed_variables
        self.signed = np.flatnonzero(~free[self.basic])
        self.pinned = fixed[self.basic[self.signed]]
        self.still = free[self.nonbasic]  # nonbasic free columns: their reduced cost must stay zero
        # a sum has at most 2 m terms, each a product of at most four rounded numbers; twice that, for its own errors
        self.unit = (4 * m + 20) * 2.0**-53

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

    def bob_reach(self, x: int) -> list[Reach]:

        def one(variable: int) -> Reach:
            if variable not in self.position:  # its own reduced cost moves with it, and nothing else
                return (self.exact.reduced[self.place[variable]], True), (None, True)

            def exact(k: int) -> Array:
                return self.exact.bob(self.exact.products(at, [k])[:, 0], [k])[0]

            at = [self.position[variable]]
            near, sizes = (t.bob(t.products(at)[:, 0]) for t in (self.near, self.sizes))
            return _both(Polynomials(near, self.unit * sizes, exact, self.still))

        return [one(x * self.b + i) for i in range(self.b)]

    def prior_reach(self, x: int) -> Reach:
        """How far h may move along p_h = (1 - h) p + h e_x."""
        near, sizes = (t.prior(x, self.signed) for t in (self.near, self.sizes))
        (down, first), (up, second) = _both(
            Polynomials(near, self.unit * sizes, lambda k: self.exact.prior(x, self.signed[[k]])[0], self.pinned)
        )
        mass = self.arrays.p[x]
        lowest = mass / (1 - mass) if mass != 1 else fmpq(0)  # p(x) = 0; at p(x) = 1 nothing moves
        down, first = (lowest, True) if down is None or down > lowest else (down, first)
        up, second = (fmpq(1), True) if up is None or up > 1 else (up, second)
        return (down, first), (up, second)

    def eve_reach(self, x: int) -> list[Reach]:
        if self.silent:
            return [((None, True), (None, True))] * self.arrays.shape[2]
        own = [i for i in range(self.b) if x * self.b + i in self.position]
        other = [i for i in range(self.b) if i not in own]
        at = [self.position[x * self.b + i] for i in own]
        places = [self.place[x * self.b + i] for i in other]
        products = [t.products(at) for t in (self.near, self.sizes)]
        found = []
        for j in range(self.e):
            rows, lines = ([self.N + i * self.e + j for i in some] for some in (own, other))
            C = -self.exact.inverse[np.ix_(at, rows)]
            change = Change(at, rows, places, lines, *_woodbury(C, self.exact.values[at], -self.y[rows]))
            found.append(self._eve_reach(change, products))
        return found

    def _eve_reach(self, change: Change, products: list[Array]) -> Reach:
        close = change.map(_near)
        size = close.map(abs)

        def exact_cost(k: int) -> Array:
            here = [a for a, place in enumerate(change.places) if place == k]
            alone = replace(change, places=[0] * len(here), lines=[change.lines[a] for a in here])
            return self.exact.eve_costs(alone, self.exact.products(change.at, [k]), [k])[0]

        return _both(
            Polynomials(
                self.near.eve_values(close, self.signed),
                self.unit * self.sizes.eve_values(size, self.signed),
                lambda k: self.exact.eve_values(change, self.signed[[k]])[0],
                self.pinned,
            ),
            Polynomials(
                self.near.eve_costs(close, products[0]),
                self.unit * self.sizes.eve_costs(size, products[1]),
                exact_cost,
                self.still,
            ),
            Polynomials(
                _padded(close.det[None]), self.unit * _padded(size.det[None]), lambda _: change.det, np.array([False])
            ),
        )


def _both(*parts: Polynomials) -> Reach:
    """Reach downwards and upwards."""
    part_of = np.repeat(np.arange(len(parts)), [len(part.near) for part in parts])
    row_of = np.concatenate([np.arange(len(part.near)) for part in parts])
    zero = np.flatnonzero(np.concatenate([part.zero for part in parts]))
    near = np.concatenate([part.near for part in parts] + [-part.near[part.zero] for part in parts])
    error = np.concatenate([part.error for part in parts] + [part.error[part.zero] for part in parts])
    powers = np.arange(near.shape[1])

    def exact(k: int, turn: int) -> list[Any]:
        sign, k = (1, k) if k < len(row_of) else (-1, int(zero[k - len(row_of)]))
        found = parts[part_of[k]].exact(int(row_of[k]))
        return [sign * turn**power * c for power, c in enumerate(found.tolist())]

    return (
        reach(near * (-1.0) ** powers - error, lambda k: exact(k, -1)),
        reach(near - error, lambda k: exact(k, 1)),
    )


def _near(values: Array) -> Array:
    """The nearest floats; nan, which shows nothing, where they are too far from one."""
    try:
        near = floats(values)
    except OverflowError:
        return np.full(values.shape, np.nan)
    inside = (abs(near) > 1 / _RANGE) & (abs(near) < _RANGE)
    return np.where(inside | (values == 0), near, np.nan)


def _moved(start: Array, det: Array, rows: Array, vectors: Array) -> Array:
    """start det(d) + d rows.v(d), where the vectors are v's coefficients; with room for one more power."""
    r = len(vectors)
    out = _padded(np.multiply.outer(start, det))
    out[:, 1 : r + 1] += rows.dot(vectors.T)
    return out


def _padded(table: Array) -> Array:
    return np.concatenate([table, 0 * table[:, :1]], axis=1)


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


def _unit(size: int, at: int) -> Array:
    out = EXACT.zeros(size)
    out[at] = fmpq(1)
    return out


def reach(low: Array, exact: Callable[[int], list[Any]]) -> tuple[Any, bool]:
    """The largest d with every polynomial c[0] + c[1] x + ... non-negative on [0, d]; None: no end.

    Also whether that end is exact. Every c[0] must be >= 0. No coefficient is below those of `low`, which is exactly
    zero at x = 0 only where c[0] is; nan says nothing. `exact` gives the coefficients of one polynomial.
    """
    zero = low[:, 0] == 0
    low[zero] = np.roll(low[zero], -1, axis=1)  # divided by x
    left = np.flatnonzero(~(low >= 0).all(axis=1))
    first, falling = low[left, 0], abs(np.minimum(low[left, 1:], 0))
    powers = np.arange(1, low.shape[1])
    with np.errstate(all="ignore"):  # where one falling term alone takes all of the first
        ends = np.where(first > 0, ((first[:, None] / falling) ** (1 / powers)).min(axis=1), 0)
    order = np.argsort(ends)
    left, first, falling = left[order], first[order], falling[order]
    best: Any = None
    exact_end = True
    while len(left):
        row = exact(int(left[0]))
        while row and row[0] == 0:
            row = row[1:]
        if row and row[0] < 0:
            return fmpq(0), True
        found = _sign_change(fmpq_poly(row), best) if row else None
        keep = np.arange(len(left)) > 0
        if found is not None:
            best, exact_end = found
            far = max(_near(objects([best]))[0], 1 / _RANGE) * (1 + 1e-9)
            with np.errstate(all="ignore"):  # the others are positive already without the terms that rise
                keep &= ~(first > (1 + 1e-9) * (falling * far**powers).sum(axis=1) + 1e-200)
        left, first, falling = left[keep], first[keep], falling[keep]
    return best, exact_end


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
            ends = [root.real.lower().man_exp() for root, _ in factor.complex_roots() if root.imag == 0]
            found += [(fmpq(mantissa) * fmpq(2) ** int(exponent), False) for mantissa, exponent in ends]
    return min((end for end in found if end[0] > 0 and (limit is None or end[0] <= limit)), default=None)
