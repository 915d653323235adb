"""Solves with a basis to many more bits than floats have, without the cost of exact fractions.

Rows are scaled to integers, the basis B is factored once in floats (SuperLU), and x is built up step by step (Wan,
2006): with y = B^-1 r in floats, rounded to 24 bits, r becomes 2^24 r - B y, which is exact in integers, and the bits
of y are appended to x. After k steps x is known to about 24 k bits, whatever its size: a probability of 2^-100 is as
accurate as one of 1/2. That is needed to judge a basis where the float solver's tolerances are too coarse. A basis that
passes is then proved in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from bap_lp.linear.program import LinearProgram, basis_places
from bap_lp.rational import Array

_STEP = 24  # bits gained in a step; the factors have 53, less those lost to the condition of the basis
_SMALL = 2**24  # entries up to which products with 24 bits can be summed in 64-bit integers
SPARE = 40  # last bits of an answer, which are not to be trusted
_DEEP = 160  # bits of an answer behind the point


class Unsolved(ArithmeticError):
    """The basis is singular in floats, or too badly conditioned for the refinement to converge."""


class ExtendedProgram:
    """The rows of a program as integers over one scale per row: scale[r] * (row r), rhs and cost likewise."""

    def __init__(self, lp: LinearProgram) -> None:
        self.lp = lp
        values, rhs = _ratios(lp.value), _ratios(lp.rhs)
        scale = [q for _, q in rhs]
        for r, (_, q) in zip(lp.index.tolist(), values, strict=True):
            if q != 1:
                scale[r] = math.lcm(scale[r], q)
        self.scale = np.array(scale, dtype=object)
        entries = [p * (scale[r] // q) for (p, q), r in zip(values, lp.index.tolist(), strict=True)]
        self.value = np.array(entries, dtype=object)
        self.rhs = np.array([p * (s // q) for (p, q), s in zip(rhs, scale, strict=True)], dtype=object)
        costs = _ratios(lp.cost)
        self.unit = math.lcm(*{q for _, q in costs})
        self.cost = np.array([p * (self.unit // q) for p, q in costs], dtype=object)

    def reduced(self, y: Array, bits: int) -> Array:
        """unit 2^bits (c - A'y) for all columns, y over the scaled rows in units of 2^-bits / unit."""
        products = self.value * y[self.lp.index]
        starts = self.lp.start[:-1]
        sums = np.zeros(self.lp.shape[1], dtype=object)
        full = np.diff(self.lp.start) > 0
        if full.any():
            sums[full] = np.add.reduceat(products, starts[full])
        return self.cost * (1 << bits) - sums


class IntegerFactor:
    """A square matrix of integers, given by its entries and factored once in floats."""

    def __init__(self, rows: Array, columns: Array, integers: Array, size: int) -> None:
        from scipy.sparse import csc_matrix  # heavy, and needed for large programs only
        from scipy.sparse.linalg import splu

        self.entries, self.size = (rows, columns, integers), size
        small = integers.dtype != object or max(map(abs, integers.tolist()), default=0) < _SMALL
        self.matrix = csc_matrix((integers.astype(np.int64 if small else float), (rows, columns)), shape=(size, size))
        try:
            self.factor = splu(self.matrix.astype(float))
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

    def solutions(self, right: Array, transposed: bool, steps: int) -> Iterator[tuple[Array, int, bool]]:
        """x with A x = right, or A'x = right, in units of 2^-bits, after every step; the bits; whether x is exact."""
        residual, x, bits = right.astype(object), np.zeros(self.size, dtype=object), 0
        if not residual.any():
            yield x, bits, True
        for _ in range(steps):
            top = max(map(abs, residual.tolist()), default=0)
            if top == 0:
                return
            lost = max(top.bit_length() - 900, 0)  # bits of the residual that do not fit in floats
            y = self.factor.solve((residual >> lost).astype(float), trans="T" if transposed else "N")
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
        integers = np.concatenate([program.value[at], program.scale[slacks]])
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


def _ratios(values: Array) -> list[tuple[int, int]]:
    if values.dtype == object:
        return [(int(v.p), int(v.q)) for v in values.tolist()]
    return [v.as_integer_ratio() for v in values.tolist()]


def to_floats(numerators: Array, bits: int, unit: Any = 1) -> Array:
    """numerators 2^-bits / unit, correctly rounded up to an ulp or two."""
    out = np.empty(len(numerators))
    for k, v in enumerate(numerators.tolist()):
        spare = max(abs(v).bit_length() - 64, 0)
        out[k] = math.ldexp(float(v >> spare), spare - bits)
    return out / np.array(unit, dtype=float)
