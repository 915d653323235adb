"""A solved mechanism applied to data, either constant on the cells or pointwise by its dual solution.

Cells: at x, draw from the row of the cell of x. This is the solution of the gridded model, and has its R_A.
Pointwise: at x, release the i that minimises B(x,i) - u_i . E(x,.), with the losses at x itself. The margin is the
difference to the second smallest value; in a tie the first i is released. The rule needs only the b*e numbers u, so it
is defined for every x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bap_lp import InputError, Solution
from bap_lp.model.mechanism import Generator
from bap_lp.support.rational import floats
from discretise.models import GriddedProblem
from gaussian.real_arrays import Array

_TIE = 1e-10  # of the losses: far above what rounding and threads change in u, far below what a choice costs


def rule_of(u: Array, B: Array, E: Array) -> tuple[Array, NDArray[np.intp]]:
    """B(x,i) - u_i . E(x,.), and for each row the first i with the least of them, up to rounding."""
    value = B - E @ u.T
    size = np.abs(B).max(axis=1) + np.abs(E).max(axis=1) * np.abs(u).sum(axis=1).max(initial=0.0)
    return value, (value <= (value.min(axis=1) + _TIE * size)[:, None]).argmax(axis=1)


def dual_choice(u: Array, B: Array, E: Array) -> tuple[NDArray[np.intp], Array]:
    """argmin_i B(x,i) - u_i . E(x,.) for each row, and the margin to the second smallest (inf if there is only one)."""
    value, best = rule_of(u, B, E)
    if value.shape[1] == 1:
        return best, np.full(len(value), np.inf)
    two = np.partition(value, 1, axis=1)
    return best, two[:, 1] - two[:, 0]


@dataclass(frozen=True)
class CellRule:
    """The mechanism of `solution`, which solves `problem`, on data.

    Args:
        problem: a problem made by `discretise.model`.
        solution: its solution.

    Raises:
        InputError: solution solves another problem.

    >>> from scipy import stats
    >>> from bap_lp import solve
    >>> from discretise import model, zero_one
    >>> problem = model(([-1, 1], [0.5, 0.5]), stats.norm, zero_one(0), zero_one(0),
    ...                 bob_decisions=[0, 1], eve_decisions=[0, 1], data_cells=4)
    >>> CellRule(problem, solve(problem, 0.1))
    <CellRule: 4 cells, signals 0, 1>
    """

    problem: GriddedProblem
    solution: Solution

    def __post_init__(self) -> None:
        if self.solution.problem.states != self.problem.states:
            raise InputError("solution", repr(self.solution.problem), f"must solve {self.problem!r}")

    def __repr__(self) -> str:
        return f"<CellRule: {len(self.problem.edges) - 1} cells, signals {', '.join(self.signals)}>"

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals of the mechanism."""
        return self.solution.mechanism.signals

    def __call__(self, x: ArrayLike) -> Array:
        """P(signal | x), a row per data point and a column per signal."""
        return np.atleast_2d(floats(self.solution.mechanism.q)[self.problem.cell(x)])

    def release(self, x: float, generator: Generator | None = None) -> str:
        """Draw the signal for data x; without a generator, from the secure random source of the operating system."""
        return self.solution.mechanism.release(int(self.problem.cell(x)), generator)

    def pointwise(self, x: ArrayLike) -> tuple[NDArray[np.intp], Array]:
        """The position of the decision that the pointwise rule releases at each x, and its margin."""
        B, E = self.problem.losses(x)
        u: Any = self.solution.certificate.u
        return dual_choice(floats(u), B, E)
