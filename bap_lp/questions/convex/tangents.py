"""The caller's own constraints in the lower bound: their tangents at the solution, with the solver's multipliers.

A convex g satisfies g(z) >= g(z0) + g'(z0) (z - z0) at every z0, so g(z) <= 0 implies that its tangent is at most zero,
and for any w >= 0
    R_A(z) >= R_A(z) + w.(g(z0) + g'(z0) (z - z0))                       for every z with g(z) <= 0:
the constraint enters the bound as a linear cost and a constant. For a linear g the tangent is g itself, and for an
equation w may have any sign. z0 and w are suggestions of the solver; the inequality needs neither to be accurate.
Constraints without a gradient at z0, with variables of their own, or on cones get the multiplier zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.support.rational import Array


@dataclass(frozen=True, eq=False)
class Tangents:
    """w.(g(z0) + g'(z0) (z - z0)) as a function of z: a coefficient per entry of each variable, and a constant."""

    coefficients: list[Array]
    constant: float

    def scaled(self, share: float) -> Tangents:
        """With all multipliers times `share` >= 0."""
        return Tangents([share * part for part in self.coefficients], share * self.constant)

    @property
    def size(self) -> float:
        """Of any sum of them: rounding errors are judged on it."""
        return abs(self.constant) + sum(float(np.abs(part).max(initial=0.0)) for part in self.coefficients)


def tangents(constraints: Sequence[Any], variables: Sequence[Any]) -> Tangents:
    """The tangents of all constraints at the values of the variables, with the multipliers of the last solution."""
    total = Tangents([np.zeros(v.shape) for v in variables], 0.0)
    for constraint in constraints:
        found = _tangent(constraint, variables)
        if found is not None:
            parts = [a + b for a, b in zip(total.coefficients, found.coefficients, strict=True)]
            total = Tangents(parts, total.constant + found.constant)
    return total


def _tangent(constraint: Any, variables: Sequence[Any]) -> Tangents | None:
    import cvxpy as cp

    expression, own = constraint.args[0], {v.id: k for k, v in enumerate(variables)}
    if isinstance(constraint, (cp.constraints.Inequality, cp.constraints.Equality)):
        expression = constraint.expr
    elif isinstance(constraint, cp.constraints.NonNeg):
        expression = -expression
    elif not isinstance(constraint, (cp.constraints.NonPos, cp.constraints.Zero)):
        return None
    linear = isinstance(constraint, (cp.constraints.Equality, cp.constraints.Zero))
    multiplier, value = constraint.dual_value, expression.value
    if multiplier is None or value is None or not (expression.is_affine() or (expression.is_convex() and not linear)):
        return None
    if any(v.id not in own for v in expression.variables()):
        return None
    w = np.asarray(multiplier, dtype=float).ravel(order="F")
    w, g = w if linear else np.maximum(w, 0.0), np.asarray(value, dtype=float).ravel(order="F")
    gradients = expression.grad
    if any(gradient is None for gradient in gradients.values()):
        return None
    parts, constant = [np.zeros(v.shape) for v in variables], float(w @ g)
    for variable, gradient in gradients.items():
        # columns of a gradient are the entries of g, rows those of the variable, both by columns
        slope = np.asarray(gradient @ w, dtype=float).ravel().reshape(variable.shape, order="F")
        parts[own[variable.id]] = parts[own[variable.id]] + slope
        constant -= float(np.sum(slope * variable.value))
    if not (np.isfinite(constant) and all(np.isfinite(part).all() for part in parts)):
        return None
    return Tangents(parts, constant)
