"""The dense part of a basis: small cores by exact elimination, large ones by float factors and exact residuals.

For a large core A (scaled to integers) and an integer right side b, factor A once in floats and refine (Wan, 2006).
With y = A^-1 r in floats, rounded to s bits, replace r by 2^s r - A y, which is exact in integers, and append the s
bits of y to x. After a few steps x is known to many more bits than its fractions have. Continued fractions give them
over a common denominator d, and A (d x) = d b is checked exactly. Where that fails, exact elimination takes over.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, nmod_mat

from bap_lp.rational import EXACT, Array, common_denominator, objects

_LARGE = 150  # unknowns from which refinement is faster than elimination
_BITS = 24  # gained in a step; the factors have 53, less those lost to the condition of A
_STEPS = 40  # answers with more than half of these bits are left to elimination


class SingularCore(ArithmeticError):
    """The columns are dependent; positions of independent columns and of the rows they cover."""

    def __init__(self, columns: list[int], rows: list[int]) -> None:
        super().__init__("singular core")
        self.columns, self.rows = columns, rows


class Core:
    """A square matrix given by entries (row, column, fmpq), ready for exact solves. Raises SingularCore."""

    def __init__(self, rows: Array, columns: Array, values: Array, size: int) -> None:
        self.rows, self.columns, self.values, self.size = rows, columns, values, size
        if size < _LARGE or self._refined is None:
            _ = self._dense

    def solve(self, right: Array, transposed: bool = False) -> Array:
        """x with A x = right, or A' x = right."""
        if self.size >= _LARGE and self._refined is not None:
            found = self._refined.solve(right, transposed)
            if found is not None:
                return found
        matrix = self._dense.transpose() if transposed else self._dense
        return objects(matrix.solve(fmpq_mat(self.size, 1, right.tolist())).entries())

    @cached_property
    def _dense(self) -> Any:
        table = EXACT.zeros((self.size, self.size))
        table[self.rows, self.columns] = self.values
        matrix = fmpq_mat(self.size, self.size, table.ravel().tolist())
        # full rank modulo a prime proves full rank; only doubt pays for exact elimination
        integers, _ = matrix.numer_denom()
        if nmod_mat(integers, 2**61 - 1).rank() < self.size:
            independent = _pivots(matrix)
            if len(independent) < self.size:
                raise SingularCore(independent, _pivots(matrix.transpose()))
        return matrix

    @cached_property
    def _refined(self) -> _Refined | None:
        """The float factors, if the entries are integers of moderate size after scaling the rows."""
        scale = EXACT.full(self.size, 1)
        for r, q in zip(self.rows.tolist(), (v.q for v in self.values.tolist()), strict=True):
            if q != 1:
                scale[r] = fmpq(math.lcm(int(scale[r].p), int(q)))
        integers = [int((v * scale[r]).p) for v, r in zip(self.values.tolist(), self.rows.tolist(), strict=True)]
        if max(map(abs, integers)) >= 2**24:
            return None
        try:
            return _Refined(self.rows, self.columns, np.array(integers, dtype=np.int64), scale)
        except RuntimeError:  # exactly singular in floats
            return None


class _Refined:
    def __init__(self, rows: Array, columns: Array, integers: Array, scale: Array) -> None:
        from scipy.sparse import csc_matrix  # heavy, and needed for large programs only
        from scipy.sparse.linalg import splu

        size = len(scale)
        self.matrix, self.scale = csc_matrix((integers, (rows, columns)), shape=(size, size)), scale
        self.factor = splu(self.matrix.astype(float))

    def solve(self, right: Array, transposed: bool) -> Array | None:
        right = right if transposed else right * self.scale
        unit = common_denominator(right)
        b = [int((v * unit).p) for v in right.tolist()]
        found = self._integers(b, transposed)
        if found is None:
            return None
        numerators, denominator = found
        x = objects(fmpq(v) for v in numerators) / (denominator * unit)
        return x * self.scale if transposed else x

    def _integers(self, b: list[int], transposed: bool) -> tuple[list[int], fmpq] | None:
        """d x and d with A x = b."""
        matrix = self.matrix.T.tocsc() if transposed else self.matrix
        residual, x, bits = np.array(b, dtype=object), np.zeros(len(b), dtype=object), 0
        if not any(b):
            return [0] * len(b), fmpq(1)
        for step in range(1, _STEPS + 1):
            top = max(map(abs, residual.tolist()))
            if top == 0:
                break
            lost = max(top.bit_length() - 900, 0)  # bits of the residual that floats have no room for
            y = self.factor.solve((residual >> lost).astype(float), trans="T" if transposed else "N")
            size = float(np.abs(y).max())
            if not math.isfinite(size) or size == 0.0:
                return None
            shift = _BITS - math.frexp(size)[1]
            digits = np.rint(np.ldexp(y, shift)).astype(np.int64)  # 2^shift y, to _BITS bits of its largest entry
            removed, digits = (matrix @ digits).astype(object), digits.astype(object)
            gain, left = max(shift - lost, 0), max(lost - shift, 0)  # an x of many bits loses its leading ones first
            residual = (residual << gain) - (removed << left)
            x, bits = (x << gain) + (digits << left), bits + gain
            if step > 1 and step & (step - 1) == 0:  # after 2, 4, 8, ... steps
                found = self._reconstructed(matrix, b, x.tolist(), bits)
                if found is not None:
                    return found
        return self._reconstructed(matrix, b, x.tolist(), bits)

    def _reconstructed(self, matrix: Any, b: list[int], x: list[int], bits: int) -> tuple[list[int], fmpq] | None:
        one, d = 1 << bits, 1
        most = math.isqrt(one) >> 4
        for v in x:
            near = v * d
            off = abs((near + one // 2) % one - one // 2)
            if off > d << 6:  # farther from an integer than the error of x allows
                d *= Fraction(near % one, one).limit_denominator(max(most // d, 1)).denominator
                if d > most:
                    return None
        numerators = [(v * d + one // 2) >> bits for v in x]
        product = _times(matrix, numerators)
        return (numerators, fmpq(d)) if product == [v * d for v in b] else None


def _times(matrix: Any, x: list[int]) -> list[int]:
    """A x in Python's integers."""
    out = [0] * len(x)
    for j, v in enumerate(x):
        if v:
            for k in range(matrix.indptr[j], matrix.indptr[j + 1]):
                out[matrix.indices[k]] += int(matrix.data[k]) * v
    return out


def _pivots(matrix: Any) -> list[int]:
    """Pivot columns of the reduced row echelon form: a largest independent set of columns."""
    reduced, rank = matrix.rref()
    pivots: list[int] = []
    for r in range(rank):
        column = pivots[-1] + 1 if pivots else 0
        while reduced[r, column] == 0:
            column += 1
        pivots.append(column)
    return pivots
