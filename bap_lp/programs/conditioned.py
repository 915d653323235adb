"""solve under conditions: lay out the program, find its optimum, and publish the channel with its proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.conditions.conditions import Conditions, Limits, signals_of
from bap_lp.model.merging import class_sums, merge_index
from bap_lp.model.problem import Problem
from bap_lp.programs.attainable import refusal, within_range
from bap_lp.programs.compact import solve_compact
from bap_lp.programs.conclusion import conclude
from bap_lp.programs.conditional_optimum import Infeasible, optimum
from bap_lp.programs.constrained import Data
from bap_lp.programs.integer import combinatorial
from bap_lp.programs.solution import Solution
from bap_lp.rational import Array, InputError, is_exact, public

_MOST = 2_000_000  # entries q[x,s] of a program


def solve_conditioned(problem: Problem, lam: Any, exact: bool | None, conditions: Conditions) -> Solution:
    """Minimise R_A over the mechanisms that satisfy the conditions."""
    able = problem.exact and is_exact(lam) and conditions.exact
    exact = able if exact is None else exact
    if exact and not able:
        rule = 'must be exact, such as "1/3", for an exact solution'
        if problem.exact and is_exact(lam):
            rule += " (exp_epsilon, not epsilon, with whole distances)"
        raise InputError("conditions" if problem.exact and is_exact(lam) else "problem and lam", None, rule)
    used, price = (problem, lam) if exact else (problem.as_float(), float(lam))
    limits = conditions.limits(used)
    within_range(used, limits)
    data, index = layout(used, limits)
    free = public(solve_compact(used.arrays.merged()[0], price).bound)
    try:
        point = optimum(data, price)
    except Infeasible:
        raise refusal(data, used) from None
    convex = conclude(used, data, index, price, conditions, point, point)
    if not conditions.combinatorial or (not limits.deterministic and (limits.max_signals or 0) >= len(data.signals)):
        return replace(convex, unconstrained=free)
    found = combinatorial(used, data, index, price, conditions, point)
    return replace(found, unconstrained=free, randomised=convex.value)


def layout(problem: Problem, limits: Limits) -> tuple[Data, Array]:
    """The program's states and the class of each state of the problem (-1: none, it gets the null row)."""
    p, B, E = problem.p, problem.B, problem.E
    if limits.pairs is not None:
        index = np.arange(len(p))
    elif limits.deterministic:
        index = np.full(len(p), -1)
        live = [x for x, mass in enumerate(p) if mass > 0]
        index[live] = np.arange(len(live))
    else:
        index, _ = merge_index(p, np.hstack([B, E]))
    first = np.unique(index[index >= 0], return_index=True)[1]
    first = np.flatnonzero(index >= 0)[first]
    signals = signals_of(problem, limits.margin is not None)
    if len(first) * len(signals) > _MOST:
        raise InputError("conditions", None, f"need {len(first)} x {len(signals)} probabilities, more than {_MOST}")
    margins = None if limits.margin is None else (limits.margin, limits.margin)
    p = class_sums(p, index, len(first))
    return Data(p, B[first], E[first], problem.eve_groups, signals, limits, margins), index
