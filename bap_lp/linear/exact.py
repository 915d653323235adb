"""From a float basis to a rational vertex that is proved optimal: solve, check and, if need be, pivot exactly.

With A z + s = rhs a basis fixes z_B = B^-1 rhs and y = B^-T c_B. It is optimal if z_B is feasible and every reduced
cost c_j - y.A_j is non-negative (zero for free columns, -y_r for the slack of a <= row). Reduced costs are settled by
a float filter: computed from correctly rounded data, fl(c_j - y.A_j) is off by at most gamma_k (|c_j| + |y|.|A_j|) with
gamma_k = k u / (1 - k u), u = 2^-53 and k = (number of terms) + 4; what lies inside that band is computed exactly.
A basis that fails is first refined (module `refine`), then carried to an optimal one by exact primal pivots: phase one
minimises the sum of infeasibilities, phase two the cost; Bland's rule takes over after a run of degenerate pivots, so
the walk ends.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.linear.factor import Factor, SingularBasis
from bap_lp.linear.program import LinearProgram
from bap_lp.linear.refine import magnified_basis
from bap_lp.rational import Array, floats, is_exact, zeros

_LOOKS = 10
_SMALL = 30  # rows below which pivots are cheaper than a look
_PATIENCE = 20  # degenerate pivots in a row before Bland's rule


@dataclass(frozen=True)
class ExactVertex:
    """An optimal basic solution and its duals, exact, with the number of exact steps (a refinement, then pivots)."""

    z: Array
    y: Array
    basic: Array
    repairs: int


class LongWalk(ArithmeticError):
    """The optimum was not reached within the steps allowed."""


def optimise(
    lp: LinearProgram, basic: Array, rounded: LinearProgram | None = None, limit: int | None = None
) -> ExactVertex:
    """The exact optimum of an exact program, from any guess of a basis; `rounded` is lp in correctly rounded floats.

    Without a `limit` on the steps the walk always ends, but on a very degenerate program it may be long.
    """
    assert is_exact(lp.cost)
    filter_lp = rounded or lp.as_float()
    repairs, stalled, refined = 0, 0, lp.shape[0] < _SMALL
    while True:
        basic, factor = _regular(lp, basic)
        values = factor.solve(lp.rhs)
        wrong = _infeasible(lp, basic, values)
        cost = _phase_one_cost(basic, values, wrong) if wrong.any() else _basic_cost(lp, basic)
        y = factor.solve_transposed(cost)
        entering = _entering(lp, filter_lp, basic, y, bool(wrong.any()), bland=stalled > _PATIENCE)
        if entering is None:
            if wrong.any():
                raise ArithmeticError("the program has no feasible solution")
            z = zeros(lp.shape[1], True)
            structural = basic < lp.shape[1]
            z[basic[structural]] = values[structural]
            return ExactVertex(z, y, basic, repairs)
        if limit is not None and repairs >= limit:
            raise LongWalk(f"no optimum after {limit} exact steps on a program of shape {lp.shape}")
        if not refined:
            basic, refined = _refined(lp, filter_lp, basic), True
            repairs += 1
            continue
        variable, direction = entering
        position, step = _leaving(lp, basic, values, wrong, factor.solve(_column(lp, variable)), direction)
        basic = basic.copy()
        basic[position] = variable
        repairs += 1
        stalled = stalled + 1 if step == 0 else 0


def _refined(lp: LinearProgram, rounded: LinearProgram, basic: Array) -> Array:
    """The basis after a few looks through the magnifying glass of `refine`: nearly always the right one."""
    level = math.inf
    for _ in range(_LOOKS):
        basic, factor = _regular(lp, basic)
        values = factor.solve(lp.rhs)
        y = factor.solve_transposed(_basic_cost(lp, basic))
        wrong = _infeasible(lp, basic, values)
        reduced = _exact_small(lp, rounded, y)
        allowed = np.where(lp.free, np.abs(reduced), np.maximum(-reduced, 0.0))
        allowed[basic[basic < lp.shape[1]]] = 0.0
        slack = [float(v) for v, equal in zip(y, lp.equality, strict=True) if not equal and v > 0]
        primal = max((abs(float(v)) for v in values[wrong]), default=0.0)
        dual = max(float(allowed.max(initial=0.0)), max(slack, default=0.0))
        if primal == dual == 0.0:
            return basic
        if dual:
            # while infeasibility is being mended, costs keep the scale at which they were last told apart
            level = min(1 / dual, level) if primal else 1 / dual
        zoom = (1 / primal if primal else 1.0, level if level < math.inf else 1.0)
        better = magnified_basis(rounded, basic, values, reduced, y, zoom)
        if better is None:
            return basic
        basic = better
    return basic


def _exact_small(lp: LinearProgram, rounded: LinearProgram, y: Array) -> Array:
    """Reduced costs of all columns in floats, computed exactly where the filter cannot tell their sign."""
    d, error = filtered(rounded, y)
    for j in np.flatnonzero(np.abs(d) <= 1e6 * error).tolist():
        d[j] = float(reduced_cost(lp, y, j))
    return d


def _regular(lp: LinearProgram, basic: Array) -> tuple[Array, Factor]:
    """Factor the basis, after replacing dependent columns by slacks of the rows they leave uncovered."""
    m, n = lp.shape
    if len(basic) != m:  # too many or too few: keep an independent part
        basic = np.concatenate([basic[:m], np.setdiff1d(np.arange(n, n + m), basic)])[:m]
    while True:
        try:
            factor = Factor(lp, basic)
        except SingularBasis as singular:
            basic = np.concatenate([basic[singular.kept], n + singular.uncovered])
            continue
        return basic, factor


def _infeasible(lp: LinearProgram, basic: Array, values: Array) -> Array:
    m, n = lp.shape
    fixed = (basic >= n) & np.append(np.zeros(n, dtype=bool), lp.equality)[basic]
    free = np.append(lp.free, np.zeros(m, dtype=bool))[basic]
    negative = np.array([v < 0 for v in values])
    return (negative & ~free) | (fixed & (values != 0))


def _phase_one_cost(basic: Array, values: Array, wrong: Array) -> Array:
    cost = zeros(len(basic), True)
    for k in np.flatnonzero(wrong):
        cost[k] = fmpq(-1) if values[k] < 0 else fmpq(1)
    return cost


def _basic_cost(lp: LinearProgram, basic: Array) -> Array:
    return np.append(lp.cost, zeros(lp.shape[0], True))[basic]


def reduced_cost(lp: LinearProgram, y: Array, variable: int, phase_one: bool = False) -> Any:
    """The exact reduced cost of one column or slack."""
    n = lp.shape[1]
    if variable >= n:
        return -y[variable - n]
    at = slice(lp.start[variable], lp.start[variable + 1])
    product = lp.value[at].dot(y[lp.index[at]]) if at.stop > at.start else fmpq(0)
    return -product if phase_one else lp.cost[variable] - product


def filtered(lp: LinearProgram, y: Array, phase_one: bool = False) -> tuple[Array, Array]:
    """Float reduced costs of all columns of a float program, and bounds on their errors."""
    rounded = floats(y)
    terms = lp.value * rounded[lp.index]
    n = lp.shape[1]
    cost = np.zeros(n) if phase_one else lp.cost
    product = np.bincount(lp.column_of, weights=terms, minlength=n)
    size = np.bincount(lp.column_of, weights=np.abs(terms), minlength=n) + np.abs(cost)
    k = int(np.diff(lp.start).max(initial=1)) + 4
    # the bound is itself a float sum: doubling covers its rounding; the tiny constant covers underflow
    return cost - product, 2 * k * 2.0**-53 * size + 1e-290


def _entering(
    lp: LinearProgram, rounded: LinearProgram, basic: Array, y: Array, phase_one: bool, bland: bool
) -> tuple[int, int] | None:
    """A variable whose increase (+1) or decrease (-1, free ones only) lowers the cost; None proves there is none."""
    m, n = lp.shape
    nonbasic = np.ones(n + m, dtype=bool)
    nonbasic[basic] = False
    slack = [r for r in np.flatnonzero(nonbasic[n:] & ~lp.equality).tolist() if y[r] > 0]
    if slack and not bland:
        return n + max(slack, key=lambda r: y[r]), 1
    d, error = filtered(rounded, y, phase_one)
    candidates = nonbasic[:n] & np.where(lp.free, np.abs(d) > -error, d < error)
    certain = candidates & np.where(lp.free, np.abs(d) > error, d < -error)
    if certain.any() and not bland:
        j = int(np.argmax(np.where(certain, np.abs(d), -1.0)))
        return j, (1 if d[j] < 0 else -1)
    for j in np.flatnonzero(candidates).tolist():
        exact = reduced_cost(lp, y, j, phase_one)
        if exact < 0:
            return j, 1
        if exact > 0 and lp.free[j]:
            return j, -1
    return (n + slack[0], 1) if slack else None


def _column(lp: LinearProgram, variable: int) -> Array:
    m, n = lp.shape
    column = zeros(m, True)
    if variable >= n:
        column[variable - n] = fmpq(1)
    else:
        at = slice(lp.start[variable], lp.start[variable + 1])
        column[lp.index[at]] = lp.value[at]
    return column


def _leaving(
    lp: LinearProgram, basic: Array, values: Array, wrong: Array, change: Array, direction: int
) -> tuple[int, Any]:
    """The first basic variable to reach a bound when values move by -step * direction * change, and that step."""
    n = lp.shape[1]
    best: tuple[Any, int, int] | None = None
    for k, variable in enumerate(basic.tolist()):
        rate = change[k] if direction > 0 else -change[k]
        if rate == 0 or (variable < n and lp.free[variable]):
            continue
        value, fixed = values[k], variable >= n and lp.equality[variable - n]
        if wrong[k]:
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
