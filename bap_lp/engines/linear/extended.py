"""Solves with a basis to many more bits than floats have, without the cost of exact fractions.

The program is written in integers, the basis B is factored once in floats (SuperLU), and x is built up step by step
(Wan, 2006): with y = B^-1 r in floats, rounded to 24 bits, r becomes 2^24 r - B y, which is exact in integers, and the
bits of y are appended to x. After k steps x is known to about 24 k bits, whatever its size: a probability of 2^-100 is
as accurate as one of 1/2. That is needed to judge a basis where the float solver's tolerances are too coarse. A basis
that passes is then proved in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from bap_lp.engines.linear.linear_program import LinearProgram, basis_places
from bap_lp.support.clock import check
from bap_lp.support.rational import Array, floats

_STEP = 24  # bits gained in a step; the factors have 53, less those lost to the condition of the basis
_SMALL = 2**24  # entries up to which products with 24 bits can be summed in 64-bit integers
SPARE = 40  # last bits of an answer, which are not to be trusted
_DEEP = 160  # bits of an answer behind the point
_LONG = 2**64  # common denominators of costs from which they are rounded
_POINT = 256  # bits behind the point of a rounded program
_PASSES = 3  # over rows and columns, to bring them to one size
_FAR = 2**40  # beyond every exponent
_NORMAL = 1e-300  # what floats hold with all their bits

Ratios = list[tuple[int, int]]


class Unsolved(ArithmeticError):
    """The basis is singular in floats, or too badly conditioned for the refinement to converge."""


class ExtendedProgram:
    """A program as integers, as short as they may be.

    Where the denominators of every row have a short common multiple `scale`, and those of the costs a multiple `unit`,
    the integers are scale * (row), scale * rhs and unit * cost. Otherwise (losses of many sizes, or with many
    denominators) rows and columns are first brought to one size by powers of two, as in module `optimum`:
        min 2^k (C c).z'   s.t.  R A C z' = 2^h R rhs,   z = 2^-h C z',   y = 2^-k R y',
    and the numbers of that program are rounded to 2^-256, far below the 160 bits to which its bases are solved. Without
    that the integers would have thousands of bits, and the float factors of their bases no correct one.
    """

    def __init__(self, lp: LinearProgram) -> None:
        self.lp = lp
        m, n = lp.shape
        self.row, self.column = np.zeros(m, dtype=np.int64), np.zeros(n, dtype=np.int64)  # logarithms of R and C
        self.k = self.h = self.point = 0  # point: the bits behind the point of all numbers
        self.scale: Array = np.ones(m, dtype=object)
        self.unit = 1
        if not _coarse(lp.value) or not self._multiplied(_ratios(lp.value), _ratios(lp.rhs), _ratios(lp.cost)):
            self._rounded()

    def _multiplied(self, values: Ratios, rhs: Ratios, costs: Ratios) -> bool:
        """Multiply by common denominators; whether the integers are short."""
        scale, rows = [q for _, q in rhs], self.lp.index.tolist()
        for r, (_, q) in zip(rows, values, strict=True):
            if q != 1:
                scale[r] = math.lcm(scale[r], q)
                if scale[r] >= _SMALL:
                    return False
        unit = 1
        for q in {q for _, q in costs}:
            unit = math.lcm(unit, q)
            if unit >= _LONG:
                return False
        entries = [p * (scale[r] // q) for (p, q), r in zip(values, rows, strict=True)]
        if max(map(abs, entries), default=0) >= _SMALL or max(scale, default=1) >= _SMALL:
            return False
        self.scale, self.unit = np.array(scale, dtype=object), unit
        self.value, self.slack = np.array(entries, dtype=object), self.scale
        self.rhs = np.array([p * (s // q) for (p, q), s in zip(rhs, scale, strict=True)], dtype=object)
        self.cost = np.array([p * (unit // q) for p, q in costs], dtype=object)
        return True

    def _rounded(self) -> None:
        """Bring the program to one size and round it."""
        lp, index, column_of = self.lp, self.lp.index, self.lp.column_of
        sizes, live = _sizes(lp.value), lp.value != 0
        for own, lines in ((self.row, index), (self.column, column_of)) * _PASSES:
            left = (sizes + self.row[index] + self.column[column_of])[live]
            most = np.full(len(own), -_FAR)
            np.maximum.at(most, lines[live], left)
            own -= np.where(most > -_FAR, most, 0)
        self.k, self.h = -_largest(lp.cost, self.column), -_largest(lp.rhs, self.row)
        self.point = _POINT
        self.value = _fixed(lp.value, self.row[index] + self.column[column_of])
        self.rhs, self.cost = _fixed(lp.rhs, self.row + self.h), _fixed(lp.cost, self.column + self.k)
        self.slack = np.full(len(lp.rhs), 1 << _POINT, dtype=object)

    def reduced(self, y: Array, bits: int) -> Array:
        """c - A'y for all columns in the units of `duals`, y as `ExtendedBasis.duals` gives it."""
        products = self.value * y[self.lp.index]
        starts = self.lp.start[:-1]
        sums = np.zeros(self.lp.shape[1], dtype=object)
        full = np.diff(self.lp.start) > 0
        if full.any():
            sums[full] = np.add.reduceat(products, starts[full])
        return (self.cost * (1 << bits) - sums) >> self.point

    def duals(self, y: Array, bits: int) -> Array:
        """y of the program at one size, as floats."""
        return to_floats(y, bits, self.unit) * self.scale.astype(float)

    @cached_property
    def sized(self) -> LinearProgram:
        """The program at one size, in floats."""
        lp = self.lp.rounded
        value = np.ldexp(lp.value, self.row[lp.index] + self.column[lp.column_of])
        cost, rhs = np.ldexp(lp.cost, self.column + self.k), np.ldexp(lp.rhs, self.row + self.h)
        return replace(lp, value=value, cost=cost, rhs=rhs)

    def restored(self, z: Array, y: Array) -> tuple[Array, Array]:
        """z and y of the program itself from those at one size."""
        return np.ldexp(z, self.column - self.h), np.ldexp(y, self.row - self.k)


class IntegerFactor:
    """A square matrix of integers, given by its entries and factored once in floats."""

    def __init__(self, rows: Array, columns: Array, integers: Array, size: int) -> None:
        from scipy.sparse import csc_matrix  # heavy, and needed for large programs only
        from scipy.sparse.linalg import splu

        self.entries, self.size = (rows, columns, integers), size
        small = integers.dtype != object or max(map(abs, integers.tolist()), default=0) < _SMALL
        self.matrix = csc_matrix((integers.astype(np.int64 if small else float), (rows, columns)), shape=(size, size))
        # short columns first: slacks and singletons leave no fill. With privacy between all pairs of 180 states and 20
        # decisions it takes 0.06 s, and 2.5 s in the order that SuperLU chooses; on chains there is no difference
        self.order = np.argsort(np.diff(self.matrix.indptr), kind="stable")
        try:
            self.factor = splu(self.matrix[:, self.order].astype(float), permc_spec="NATURAL")
        except RuntimeError:
            raise Unsolved("the matrix is singular in floats") from None
        self.small = small

    def times(self, x: Array, transposed: bool) -> Array:
        """A x or A'x, exactly; where the entries are small, so must be those of x: at most 24 bits."""
        if self.small and x.dtype != object:
            return ((self.matrix.T if transposed else self.matrix) @ x).astype(object)
        rows, columns, integers = self.entries
        target, source = (columns, rows) if transposed else (rows, columns)
        out = np.zeros(self.size, dtype=object)
        np.add.at(out, target, integers.astype(object) * x.astype(object)[source])
        return out

    def _rough(self, right: Array, transposed: bool) -> Array:
        """x with A x = right, or A'x = right, in floats."""
        if transposed:
            return self.factor.solve(right[self.order], trans="T")
        x = np.empty(self.size)
        x[self.order] = self.factor.solve(right)
        return x

    def solutions(self, right: Array, transposed: bool, steps: int) -> Iterator[tuple[Array, int, bool]]:
        """x with A x = right, or A'x = right, in units of 2^-bits, after every step; the bits; whether x is exact."""
        residual, x, bits = right.astype(object), np.zeros(self.size, dtype=object), 0
        if not residual.any():
            yield x, bits, True
        for _ in range(steps):
            check()
            top = max(map(abs, residual.tolist()), default=0)
            if top == 0:
                return
            lost = max(top.bit_length() - 900, 0)  # bits of the residual that do not fit in floats
            y = self._rough((residual >> lost).astype(float), transposed)
            size = float(np.abs(y).max())
            if not math.isfinite(size) or size == 0.0:
                raise Unsolved("the factors of the matrix overflow")
            shift = _STEP - math.frexp(size)[1]
            digits = np.rint(np.ldexp(y, shift)).astype(np.int64)  # 2^shift y, to _STEP bits of its largest entry
            gain, left = max(shift - lost, 0), max(lost - shift, 0)  # an x of many bits loses its leading ones first
            residual = (residual << gain) - (self.times(digits, transposed) << left)
            x, bits = (x << gain) + (digits.astype(object) << left), bits + gain
            yield x, bits, not residual.any()


class ExtendedBasis:
    """A basis (columns of the program, then slacks) with its float factors."""

    def __init__(self, program: ExtendedProgram, basic: Array) -> None:
        self.program, self.basic = program, basic
        rows, columns, at, slacks = basis_places(program.lp, basic)
        integers = np.concatenate([program.value[at], program.slack[slacks]])
        self.factor = IntegerFactor(rows, columns, integers, program.lp.shape[0])

    def values(self) -> tuple[Array, int]:
        """The basic variables in units of 2^-bits."""
        return self._solve(self.program.rhs, False)

    def duals(self) -> tuple[Array, int]:
        """y over the scaled rows, in units of 2^-bits / unit of the cost."""
        cost = np.append(self.program.cost, np.zeros(len(self.basic), dtype=object))[self.basic]
        return self._solve(cost, True)

    def _solve(self, right: Array, transposed: bool) -> tuple[Array, int]:
        for x, bits, exact in self.factor.solutions(right, transposed, 4 * _DEEP // _STEP):
            if exact:
                return x << SPARE, bits + SPARE  # no bit of it is noise
            if bits >= _DEEP:
                return x, bits
        raise Unsolved("the refinement does not converge")


def _coarse(values: Array) -> bool:
    """Whether a common denominator may be short; most floats have none."""
    if values.dtype == object:
        return True
    whole = values * _SMALL
    return bool((np.rint(whole) == whole).all())


def _ratios(values: Array) -> Ratios:
    if values.dtype == object:
        return [(int(v.p), int(v.q)) for v in values.tolist()]
    return [v.as_integer_ratio() for v in values.tolist()]


def _sizes(values: Array) -> Array:
    """Logarithms to base two, up to one."""
    try:
        near = floats(values)
        if ((np.abs(near) >= _NORMAL) | (values == 0)).all():
            return np.frexp(near)[1].astype(np.int64)
    except OverflowError:
        pass  # beyond the range of floats
    return np.array([abs(p).bit_length() - q.bit_length() for p, q in _ratios(values)], dtype=np.int64)


def _largest(values: Array, factors: Array) -> int:
    """The logarithm of the largest number after scaling; 0 if all are zero."""
    live = values != 0
    return int((_sizes(values) + factors)[live].max()) if live.any() else 0


def _fixed(values: Array, factors: Array) -> Array:
    """The numbers times 2^factors, in units of 2^-_POINT, rounded down."""
    if values.dtype == object:
        shifts = zip(_ratios(values), (factors + _POINT).tolist(), strict=True)
        return np.array([((p << s) // q if s >= 0 else p // (q << -s)) for (p, q), s in shifts], dtype=object)
    part, exponent = np.frexp(values)
    shift = (factors + _POINT + exponent - 53).astype(object)
    return (np.ldexp(part, 53).astype(np.int64).astype(object) << np.maximum(shift, 0)) >> np.maximum(-shift, 0)


def to_floats(numerators: Array, bits: int, unit: int = 1) -> Array:
    """numerators 2^-bits / unit, correctly rounded."""
    whole = unit << bits
    return np.array([v / whole for v in numerators.tolist()], dtype=float)
