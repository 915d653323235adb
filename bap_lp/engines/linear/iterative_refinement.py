"""From the float solver's basis to one that is right to 160 bits, by solving the program again on a finer scale.

Where an optimum has probabilities of 2^-50 next to ones of order one (geometric mechanisms on long chains), the float
solver cannot tell a right basis from a wrong one. A refinement solves the basis in extended precision, scales what is
still violated to order one and lets the float solver go on from there.

At a basis with exact values x and duals y, substitute z = x + z'/P and let the cost be the exact reduced costs times D:
    min  D (c - A'y).z' - D y.s'   s.t.  A z' + s' = 0,  z' >= -P x,  s' >= -P s  (s' = -P s in equality rows).
It is the same program, seen from x at scale P and from y at scale D, so its optimal bases are the same; but violations
of 1e-12, which the float solver cannot see at scale one, are of order one here. What was already settled becomes huge
and is cut off: costs stay large, bounds out of reach vanish. Only the basis is wanted, and it is checked exactly
afterwards (Gleixner, Steffy and Wolter, 2016, refine solutions in the same way).

Where floats are asked for, `refine_in_floats` comes first: with residuals in long doubles x and y are right to
rounding, in a fraction of the time, which is enough unless very small probabilities matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import highspy
import numpy as np

from bap_lp.engines.linear.extended import SPARE, ExtendedBasis, ExtendedProgram, Unsolved, to_floats
from bap_lp.engines.linear.highs import basic_flags, loaded, run, set_basis
from bap_lp.engines.linear.linear_program import LinearProgram, basis_places
from bap_lp.support.clock import check
from bap_lp.support.rational import Array

_MOST = 12
_IN_FLOATS = 3
_LARGE = 1e5  # what is cut off
_ROUNDING = 1e-14  # what is noise in floats


class RefinedBasis:
    """A basis with its values and duals, in floats that are right to the last bit, and how much is violated.

    All of them are those of the program at one size (`ExtendedProgram.sized`).
    """

    def __init__(self, program: ExtendedProgram, basic: Array, number: int = 0) -> None:
        self.program, self.number = program, number  # of refinements before this one
        lp, n = program.lp, program.lp.shape[1]
        basis = ExtendedBasis(program, basic)
        x, bits = basis.values()
        y, deep = basis.duals()
        reduced = program.reduced(y, deep)
        self.basic = basic
        self.values = to_floats(_clean(x, bits), bits)
        self.reduced = to_floats(_clean(reduced, deep), deep, program.unit)
        self.y = program.duals(_clean(y, deep), deep)
        self.reduced[basic[basic < n]] = 0.0
        self.primal, self.dual = _violations(lp, basic, self.values, self.reduced, self.y)

    @property
    def optimal(self) -> bool:
        return self.primal == self.dual == 0.0

    def point(self) -> tuple[Array, Array]:
        """z and y of the program itself."""
        n = self.program.lp.shape[1]
        z, own = np.zeros(n), self.basic < n
        z[self.basic[own]] = self.values[own]
        return self.program.restored(z, self.y)


class FloatBasis:
    """The same in floats, with one step of refinement: right to rounding where nothing is very small.

    The solver stops when violations are below its tolerances. A right basis has none but rounding.
    """

    def __init__(self, lp: LinearProgram, basic: Array, number: int = 0) -> None:
        from scipy.sparse import csc_matrix
        from scipy.sparse.linalg import splu

        m, n = lp.shape
        rows, positions, at, slacks = basis_places(lp, basic)
        values = np.append(lp.value[at], np.ones(len(slacks)))
        matrix = csc_matrix((values, (rows, positions)), shape=(m, m))
        order = np.argsort(np.diff(matrix.indptr), kind="stable")  # short columns first, as in `IntegerFactor`
        try:
            factor = splu(matrix[:, order], permc_spec="NATURAL")
        except RuntimeError:
            raise Unsolved("the matrix is singular in floats") from None

        def forward(right: Array) -> Array:
            out = np.empty(m)
            out[order] = factor.solve(right)
            return out

        def refined(right: Array, into: Array, out_of: Array, solve: Callable[[Array], Array]) -> Array:
            found, left = solve(right), right.astype(np.longdouble)
            np.subtract.at(left, into, values.astype(np.longdouble) * found[out_of])
            found += solve(left.astype(float))
            return np.where(np.abs(found) < _ROUNDING, 0.0, found)

        self.basic, self.number = basic, number
        self.values = refined(lp.rhs, rows, positions, forward)
        self.y = refined(lp.basic_cost(basic), positions, rows, lambda right: factor.solve(right[order], trans="T"))
        if not (np.isfinite(self.values).all() and np.isfinite(self.y).all()):
            raise Unsolved("the basis is singular in floats")
        reduced = lp.cost - np.bincount(lp.column_of, weights=lp.value * self.y[lp.index], minlength=n)
        self.reduced = np.where(np.abs(reduced) < _ROUNDING, 0.0, reduced)
        self.reduced[basic[basic < n]] = 0.0
        self.primal, self.dual = _violations(lp, basic, self.values, self.reduced, self.y)
        self.z, own = np.zeros(n), basic < n
        self.z[basic[own]] = self.values[own]


def _violations(lp: LinearProgram, basic: Array, values: Array, reduced: Array, y: Array) -> tuple[float, float]:
    """By how much the values, and the duals, break their signs."""
    wrong = np.where(lp.fixed_variables[basic], np.abs(values), np.maximum(-values, 0.0))
    dual = np.where(lp.free, np.abs(reduced), np.maximum(-reduced, 0.0))
    slack = np.where(lp.equality, 0.0, np.maximum(y, 0.0))
    primal = float(wrong[~lp.free_variables[basic]].max(initial=0.0))
    return primal, max(float(dual.max(initial=0.0)), float(slack.max(initial=0.0)))


def _clean(numerators: Array, bits: int) -> Array:
    """Without what is noise."""
    least = 1 << max(min(SPARE, bits // 2), 0)
    return np.where(np.abs(numerators) < least, 0, numerators)


_L = TypeVar("_L", RefinedBasis, FloatBasis)


def refine(lp: LinearProgram, basic: Array, enough: float = 0.0) -> RefinedBasis | None:
    """The basis after some refinements; None if extended precision cannot follow.

    enough: violations, relative to the largest cost, with which a float answer is content.
    """
    if len(basic) != lp.shape[0]:
        return None
    try:
        program = ExtendedProgram(lp)
        enough *= float(np.abs(program.sized.cost).max(initial=0.0))
        return _settled(program.sized, lambda own, number: RefinedBasis(program, own, number), basic, enough, _MOST)
    except (Unsolved, OverflowError):
        return None


def refine_in_floats(lp: LinearProgram, basic: Array) -> FloatBasis | None:
    """The basis of a program at ordinary size after some refinements in floats; None if they cannot follow."""
    if len(basic) != lp.shape[0]:
        return None
    try:
        return _settled(lp, lambda own, number: FloatBasis(lp, own, number), basic, 0.0, _IN_FLOATS)
    except Unsolved:
        return None


def _settled(sized: LinearProgram, at: Callable[[Array, int], _L], basic: Array, enough: float, most: int) -> _L:
    """The one at which no more than enough is violated, or the last one."""
    level = math.inf
    for number in range(most):
        check()
        found = at(basic, number)
        if found.primal <= enough and found.dual <= enough:
            break
        if found.dual:
            # until the basis is feasible, costs keep the scale at which they last differed
            level = min(1 / found.dual, level) if found.primal else 1 / found.dual
        zoom = (1 / found.primal if found.primal else 1.0, level if level < math.inf else 1.0)
        better = _magnified_basis(sized, found, zoom)
        if better is None or len(better) != sized.shape[0]:
            break
        basic = better
    return found


def _magnified_basis(
    rounded: LinearProgram, found: RefinedBasis | FloatBasis, zoom: tuple[float, float]
) -> Array | None:
    """The basis that is optimal at the scales P and D; None if the float solver finds none."""
    m, n = rounded.shape
    P, D = zoom
    at, is_basic = np.zeros(n + m), ~rounded.outside(found.basic)
    at[found.basic] = found.values
    cost = np.concatenate([found.reduced, -found.y]) * D
    cost[is_basic] = 0.0
    lower = -P * at
    far = P * at > _LARGE
    inf = highspy.kHighsInf
    low, high = np.where(rounded.free_variables | far, -inf, lower), np.where(rounded.fixed_variables, lower, inf)
    highs = loaded(
        (np.clip(cost, -_LARGE, _LARGE), low, high),
        (np.zeros(m), np.zeros(m)),
        (
            np.concatenate([rounded.start, rounded.start[-1] + np.arange(1, m + 1)]),
            np.concatenate([rounded.index, np.arange(m)]),
            np.concatenate([rounded.value, np.ones(m)]),
        ),
    )
    set_basis(highs, np.append(is_basic, np.zeros(m, dtype=bool)))
    run(highs)
    if not highs.getBasis().valid:  # it may lose its way on a bad basis
        highs.clearSolver()
        run(highs)
    flags = basic_flags(highs)
    if not len(flags):
        return None
    # a basic row is one whose slack is as good as basic
    return np.flatnonzero(flags[: n + m] | np.append(np.zeros(n, dtype=bool), flags[n + m :]))
