"""From a float basis to a rational vertex that is proved optimal: solve, check and, if need be, pivot exactly.

With A z + s = rhs a basis fixes z_B = B^-1 rhs and y = B^-T c_B. It is optimal if z_B is feasible and every reduced
cost c_j - y.A_j is non-negative (zero for free columns, -y_r for the slack of a <= row). Reduced costs are settled by
a float filter: computed from correctly rounded data, fl(c_j - y.A_j) is off by at most gamma_k (|c_j| + |y|.|A_j|) with
gamma_k = k u / (1 - k u), u = 2^-53 and k = (number of terms) + 4; what lies inside that band is computed exactly.
A basis that fails is first refined (module `iterative_refinement`), then carried to an optimal one by exact primal
pivots: phase one minimises the sum of infeasibilities, phase two the cost; Bland's rule takes over after a run of
degenerate pivots, so the walk ends. Further costs then choose among several optimal vertices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.engines.linear.factor import Factor, SingularBasis
from bap_lp.engines.linear.iterative_refinement import refine
from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.support.clock import check
from bap_lp.support.rational import EXACT, Array, floats

FEW_ROWS = 30  # rows below which pivots are cheaper than a refinement
_PATIENCE = 20  # degenerate pivots in a row before Bland's rule


@dataclass(frozen=True, eq=False)
class Optimum:
    """An optimal vertex z with its duals y (duals of <= rows are <= 0), the basis, and how it was found.

    `basic` numbers the basic variables: columns first, then one slack per row. `repairs` counts exact steps (a
    refinement, then pivots) from the guess of a basis to the optimal one. `exact`: whether it was found in rationals.
    """

    z: Array
    y: Array
    basic: Array
    repairs: int
    how: str
    exact: bool = True  # a float program may have been finished in rationals and rounded


class Infeasible(ArithmeticError):
    """No point satisfies all rows."""


class LongWalk(ArithmeticError):
    """The optimum was not reached within the steps allowed."""


def exact_optimum(
    lp: LinearProgram,
    basic: Array,
    ties: Sequence[Array] = (),
    limit: int | None = None,
    otherwise: Array | None = None,
    refined: bool = False,
) -> Optimum:
    """The exact optimum of an exact program, from any guess of a basis; `ties` are further costs, minimised in turn.

    otherwise: a second guess, to start from if the first is not optimal. refined: whether the guesses are as good as
    refinement can make them.
    Without a `limit` on the steps the walk always ends, but on a very degenerate program it may be long.
    Raises Infeasible, and LongWalk at the limit.
    """
    assert lp.field.exact
    repairs, stalled, refined = 0, 0, refined or lp.shape[0] < FEW_ROWS
    while True:
        check()
        basic, factor, values = _regular(lp, basic)
        wrong = _infeasible(lp, basic, values)
        cost = _phase_one_cost(basic, values, wrong) if wrong.any() else lp.basic_cost(basic)
        y = factor.solve_transposed(cost)
        entering = _entering(lp, basic, y, bool(wrong.any()), bland=stalled > _PATIENCE)
        if entering is None:
            if wrong.any():
                raise Infeasible("the program has no feasible solution")
            break
        if otherwise is not None:
            basic, otherwise = otherwise, None
            continue
        if limit is not None and repairs >= limit:
            raise LongWalk(f"no optimum after {limit} exact steps on a program of shape {lp.shape}")
        if not refined:
            better = refine(lp, basic)
            basic, refined = basic if better is None else better.basic, True
            repairs += 1
            continue
        variable, direction = entering
        position, step = leaving(lp, basic, values, factor.solve(lp.column(variable)), direction, wrong)
        basic = basic.copy()
        basic[position] = variable
        repairs += 1
        stalled = stalled + 1 if step == 0 else 0
    basic, values, steps = _break_ties(lp, basic, factor, values, y, ties)
    z = _point(lp, basic, values)
    repairs += steps
    return Optimum(z, y, basic, repairs, "exact basis" + (f", repaired in {repairs} exact steps" if repairs else ""))


def at_vertex(lp: LinearProgram, best: Optimum, basic: Array) -> Optimum | None:
    """The same optimum with the vertex of another basis; None if that is not optimal."""
    basic, _, values = _regular(lp, basic)
    z = _point(lp, basic, values)
    worse = _infeasible(lp, basic, values).any() or lp.cost.dot(z) != lp.cost.dot(best.z)
    return None if worse else replace(best, z=z)


def _point(lp: LinearProgram, basic: Array, values: Array) -> Array:
    """z at a basis with these values."""
    z = EXACT.zeros(lp.shape[1])
    structural = basic < lp.shape[1]
    z[basic[structural]] = values[structural]
    return z


def _break_ties(
    lp: LinearProgram, basic: Array, factor: Factor, values: Array, y: Array, ties: Sequence[Array]
) -> tuple[Array, Array, int]:
    """From an optimal basis to the vertex of the optimal face that the further costs choose; y stays optimal.

    A column may enter as long as its reduced cost is zero for all costs so far: such pivots leave their duals as they
    are. Returns basis, values and the number of pivots.
    """
    open_ = _tied(lp, basic, y) if len(ties) else []
    steps = stalled = 0
    for cost in ties:
        while open_:
            check()
            price = factor.solve_transposed(lp.basic_cost(basic, cost))
            reduced = {v: reduced_cost(lp, price, v, cost) for v in open_}
            falling = [v for v in open_ if reduced[v] < 0 or (reduced[v] > 0 and v < lp.shape[1] and lp.free[v])]
            if not falling:
                open_ = [v for v in open_ if reduced[v] == 0]
                break
            variable = falling[0] if stalled > _PATIENCE else max(falling, key=lambda v: abs(reduced[v]))
            direction = 1 if reduced[variable] < 0 else -1
            position, step = leaving(lp, basic, values, factor.solve(lp.column(variable)), direction)
            gone = int(basic[position])
            back = () if lp.fixed_variables[gone] else (gone,)  # the slack of an equality never enters
            open_ = sorted({*open_, *back} - {variable})
            basic = basic.copy()
            basic[position] = variable
            factor = Factor(lp, basic)
            values = factor.solve(lp.rhs)
            steps += 1
            stalled = stalled + 1 if step == 0 else 0
    return basic, values, steps


def _tied(lp: LinearProgram, basic: Array, y: Array) -> list[int]:
    """Nonbasic columns and slacks of reduced cost zero; slacks of equalities never enter."""
    n, nonbasic = lp.shape[1], lp.outside(basic)
    d, error = filtered(lp.rounded, y)
    columns = [j for j in np.flatnonzero(nonbasic[:n] & (np.abs(d) <= error)).tolist() if not reduced_cost(lp, y, j)]
    return columns + [n + r for r in np.flatnonzero(nonbasic[n:] & ~lp.equality).tolist() if not y[r]]


def _regular(lp: LinearProgram, basic: Array) -> tuple[Array, Factor, Array]:
    """The basis with its factor and values, after replacing dependent columns by slacks of the rows they uncover."""
    m, n = lp.shape
    if len(basic) != m:  # too many or too few: keep an independent part
        basic = np.concatenate([basic[:m], np.setdiff1d(np.arange(n, n + m), basic)])[:m]
    while True:
        try:
            factor = Factor(lp, basic)
            return basic, factor, factor.solve(lp.rhs)
        except SingularBasis as singular:
            basic = np.concatenate([basic[singular.kept], n + singular.uncovered])


def _infeasible(lp: LinearProgram, basic: Array, values: Array) -> Array:
    negative = np.array([v < 0 for v in values])
    return (negative & ~lp.free_variables[basic]) | (lp.fixed_variables[basic] & (values != 0))


def _phase_one_cost(basic: Array, values: Array, wrong: Array) -> Array:
    cost = EXACT.zeros(len(basic))
    for k in np.flatnonzero(wrong):
        cost[k] = fmpq(-1) if values[k] < 0 else fmpq(1)
    return cost


def reduced_cost(lp: LinearProgram, y: Array, variable: int, cost: Array | None = None, phase_one: bool = False) -> Any:
    """The exact reduced cost of one column or slack, for the program's own cost or another."""
    n = lp.shape[1]
    if variable >= n:
        return -y[variable - n]
    at = slice(lp.start[variable], lp.start[variable + 1])
    product = lp.value[at].dot(y[lp.index[at]]) if at.stop > at.start else EXACT.zero
    return -product if phase_one else (lp.cost if cost is None else cost)[variable] - product


def filtered(lp: LinearProgram, y: Array, phase_one: bool = False) -> tuple[Array, Array]:
    """Float reduced costs of all columns of a float program, and bounds on their errors: infinite beyond the floats."""
    try:
        rounded = floats(y)
    except OverflowError:
        rounded = np.full(len(y), np.nan)
    with np.errstate(over="ignore", invalid="ignore"):
        terms = lp.value * rounded[lp.index]
    n = lp.shape[1]
    cost = np.zeros(n) if phase_one else lp.cost
    product = np.bincount(lp.column_of, weights=terms, minlength=n)
    size = np.bincount(lp.column_of, weights=np.abs(terms), minlength=n) + np.abs(cost)
    k = int(np.diff(lp.start).max(initial=1)) + 4
    # the bound is itself a float sum: doubling covers its rounding; the tiny constant covers underflow
    known = np.isfinite(size)
    return np.where(known, cost - product, 0.0), np.where(known, 2 * k * 2.0**-53 * size + 1e-290, np.inf)


def _entering(lp: LinearProgram, basic: Array, y: Array, phase_one: bool, bland: bool) -> tuple[int, int] | None:
    """A variable whose increase (+1) or decrease (-1, free ones only) lowers the cost; None proves there is none."""
    n, nonbasic = lp.shape[1], lp.outside(basic)
    slack = [r for r in np.flatnonzero(nonbasic[n:] & ~lp.equality).tolist() if y[r] > 0]
    if slack and not bland:
        return n + max(slack, key=lambda r: y[r]), 1
    d, error = filtered(lp.rounded, y, phase_one)
    candidates = nonbasic[:n] & np.where(lp.free, np.abs(d) > -error, d < error)
    certain = candidates & np.where(lp.free, np.abs(d) > error, d < -error)
    if certain.any() and not bland:
        j = int(np.argmax(np.where(certain, np.abs(d), -1.0)))
        return j, (1 if d[j] < 0 else -1)
    for j in np.flatnonzero(candidates).tolist():
        exact = reduced_cost(lp, y, j, phase_one=phase_one)
        if exact < 0:
            return j, 1
        if exact > 0 and lp.free[j]:
            return j, -1
    return (n + slack[0], 1) if slack else None


def leaving(
    lp: LinearProgram, basic: Array, values: Array, change: Array, direction: int, wrong: Array | None = None
) -> tuple[int, Any]:
    """The first basic variable to reach a bound when values move by -step * direction * change, and that step.

    Values that are `wrong` (phase one) move until they are right.
    """
    n = lp.shape[1]
    best: tuple[Any, int, int] | None = None
    for k in np.flatnonzero(change != 0).tolist():
        variable, rate = int(basic[k]), change[k] if direction > 0 else -change[k]
        if variable < n and lp.free[variable]:
            continue
        value, fixed = values[k], variable >= n and lp.equality[variable - n]
        if wrong is not None and wrong[k]:
            if (value < 0) != (rate < 0):
                continue  # moves further out; phase one has priced that
            step = value / rate
        elif rate > 0:
            step = value / rate
        elif fixed:
            step = fmpq(0)
        else:
            continue
        if best is None or (step, variable) < best[:2]:
            best = (step, variable, k)
    if best is None:
        raise ArithmeticError("the program is unbounded")
    return best[2], best[0]
