"""A solved mechanism applied to data: constant on the cells, or pointwise by the rule of its dual.

Cells: at x draw from the row of the cell of x. On the gridded model this is the solution, its R_A the solution's value.
Pointwise: release the i that minimises B(x,i) - u_i . E(x,.), with the losses at x itself. Its margin says how clearly;
where the best two tie to rounding, the first is taken. It needs nothing but the b*e numbers u, so it extends to any x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bap_lp import InputError, Solution
from bap_lp.model.mechanism import Generator
from bap_lp.rational import floats
from discretise.models import GriddedProblem
from gaussian.arrays import Array


def dual_choice(u: Array, B: Array, E: Array) -> tuple[NDArray[np.intp], Array]:
    """argmin_i B(x,i) - u_i . E(x,.) for each row, and by how much the next best is worse (inf if there is none)."""
    value = B - E @ u.T
    best = value.argmin(axis=1)
    if value.shape[1] == 1:
        return best, np.full(len(value), np.inf)
    two = np.partition(value, 1, axis=1)
    return best, two[:, 1] - two[:, 0]


@dataclass(frozen=True)
class CellRule:
    """The mechanism of `solution`, found on `problem`, for real data."""

    problem: GriddedProblem
    solution: Solution

    def __post_init__(self) -> None:
        if self.solution.problem.states != self.problem.states:
            raise InputError("solution", repr(self.solution.problem), f"must solve {self.problem!r}")

    @property
    def signals(self) -> tuple[str, ...]:
        return self.solution.mechanism.signals

    def __call__(self, x: ArrayLike) -> Array:
        """P(signal | x), a row per data point and a column per signal."""
        return np.atleast_2d(floats(self.solution.mechanism.q)[self.problem.cell(x)])

    def release(self, x: float, generator: Generator | None = None) -> str:
        """Draw the signal for data x; from the operating system's secure source unless a generator is given."""
        return self.solution.mechanism.release(int(self.problem.cell(x)), generator)

    def pointwise(self, x: ArrayLike) -> tuple[NDArray[np.intp], Array]:
        """Bob's decision (its position in his grid) by the rule of u at x itself, and its margin."""
        B, E = self.problem.losses(x)
        u: Any = self.solution.certificate.u
        return dual_choice(floats(u), B, E)
