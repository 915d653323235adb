"""The dense part of a basis: small cores by exact elimination, large ones by float factors and exact residuals.

For a large core A (scaled to integers) and an integer right side b, the solution x is refined (module `extended`) until
it is known to many more bits than its fractions have. Continued fractions give them over a common denominator d, and
A (d x) = d b is checked exactly. Where that fails, exact elimination takes over, in another process if it may be long.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat, nmod_mat

from bap_lp.engines.linear.apart import solved_apart
from bap_lp.engines.linear.extended import IntegerFactor, Unsolved
from bap_lp.engines.linear.memory import require_precision, require_square
from bap_lp.support.rational import EXACT, Array, common_denominator, objects

# unknowns from which refinement is tried: at 550 it takes 0.02 s where fractions are short, elimination 0.19 s, and 0.5
# against 0.3 s where they are long; at 300 it takes 0.17 against 0.04 s
_LARGE = 400
LONG = 600  # unknowns from which elimination may take more than a second: 24 s at 2300
BYTES = 64  # of an entry of a dense matrix of rationals: in numpy, as a list, in flint and as integers
_PRIME = 2**61 - 1
_STEPS = 40  # of refinement at least; a determinant of n small integers has some ten n bits, and a step finds forty


class SingularCore(ArithmeticError):
    """The columns are dependent; positions of independent columns and of the rows they cover."""

    def __init__(self, columns: list[int], rows: list[int]) -> None:
        super().__init__("singular core")
        self.columns, self.rows = columns, rows


class Core:
    """A square matrix given by entries (row, column, fmpq), ready for exact solves. Raises SingularCore."""

    def __init__(self, rows: Array, columns: Array, values: Array, size: int, apart: bool = False) -> None:
        """apart: whether it is left to the first solution to find that the columns are dependent."""
        self.rows, self.columns, self.values, self.size = rows, columns, values, size
        require_precision(size, max((v.height_bits() for v in values.tolist()), default=0))
        if not apart and (size < _LARGE or (size < LONG and self._refined is None)):
            _ = self._dense

    def solve(self, right: Array, transposed: bool = False) -> Array:
        """x with A x = right, or A' x = right."""
        found = self.refined(right, transposed) if self.size >= _LARGE else None
        if found is not None:
            return found
        return self.solved_exactly(right, transposed)

    def solved_exactly(self, right: Array, transposed: bool) -> Array:
        """The same by exact elimination, in another process if it may be long."""
        return self.eliminated(right, transposed) if self.size < LONG else self._eliminated_apart(right, transposed)

    def eliminated(self, right: Array, transposed: bool) -> Array:
        """The same by exact elimination in this process."""
        matrix = self._dense.transpose() if transposed else self._dense
        return objects(matrix.solve(fmpq_mat(self.size, 1, right.tolist())).entries())

    def _eliminated_apart(self, right: Array, transposed: bool) -> Array:
        matrix = self.rows.tolist(), self.columns.tolist(), self.values.tolist(), self.size
        found = solved_apart(matrix, right.tolist(), transposed)
        if found is None:
            return self.eliminated(right, transposed)
        if isinstance(found, tuple):
            raise SingularCore(*found)
        return objects(found)

    @cached_property
    def _matrix(self) -> Any:
        require_square(self.size, BYTES)
        table = EXACT.zeros((self.size, self.size))
        table[self.rows, self.columns] = self.values
        return fmpq_mat(self.size, self.size, table.ravel().tolist())

    @property
    def doubtful(self) -> bool:
        """Whether the rank is not full modulo a prime, which would prove that it is full."""
        integers, _ = self._matrix.numer_denom()
        return bool(nmod_mat(integers, _PRIME).rank() < self.size)

    @cached_property
    def _dense(self) -> Any:
        """The matrix; only doubt pays for exact elimination."""
        if self.doubtful:
            independent = _pivots(self._matrix)
            if len(independent) < self.size:
                raise SingularCore(independent, _pivots(self._matrix.transpose()))
        return self._matrix

    @cached_property
    def _refined(self) -> tuple[IntegerFactor, Array] | None:
        """The float factors and the scale of the rows, if the entries are integers of moderate size after scaling."""
        scale = EXACT.full(self.size, 1)
        for r, q in zip(self.rows.tolist(), (v.q for v in self.values.tolist()), strict=True):
            if q != 1:
                scale[r] = fmpq(math.lcm(int(scale[r].p), int(q)))
        integers = np.array([int(v.p) for v in (self.values * scale[self.rows]).tolist()], dtype=object)
        if max(map(abs, integers.tolist())) >= 2**24:
            return None
        try:
            return IntegerFactor(self.rows, self.columns, integers, self.size), scale
        except Unsolved:
            return None

    def refined(self, right: Array, transposed: bool = False) -> Array | None:
        """The same by refinement; None where it does not succeed."""
        if self._refined is None:
            return None
        factor, scale = self._refined
        right = right if transposed else right * scale
        unit = common_denominator(right)
        b = np.array([int((v * unit).p) for v in right.tolist()], dtype=object)
        most = max(_STEPS, self.size)
        try:
            for step, (x, bits, exact) in enumerate(factor.solutions(b, transposed, most), 1):
                if exact or step == most or (step > 1 and step & (step - 1) == 0):  # after 2, 4, 8, ... steps
                    found = _fractions(x.tolist(), bits)
                    if found is not None:
                        numerators, d = found
                        if (factor.times(numerators, transposed) == b * d).all():
                            out = objects(map(fmpq, numerators.tolist())) / (fmpq(d) * unit)
                            return out * scale if transposed else out
        except Unsolved:
            pass
        return None


def _fractions(x: list[int], bits: int) -> tuple[Array, int] | None:
    """Fractions near x 2^-bits with a common denominator d: numerators and d; None if d would be too long."""
    one, d = 1 << bits, 1
    most = math.isqrt(one) >> 4
    for v in x:
        near = v * d
        off = abs((near + one // 2) % one - one // 2)
        if off > d << 6:  # farther from an integer than the error of x allows
            d *= Fraction(near % one, one).limit_denominator(max(most // d, 1)).denominator
            if d > most:
                return None
    return np.array([(v * d + one // 2) >> bits for v in x], dtype=object), d


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
