"""solve under conditions: lay out the program, find its optimum, and publish the channel with its proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.conditions.conditions import Conditions, Limits, signals_of
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.evaluation import signal_losses
from bap_lp.model.mechanism import Mechanism, without_unused
from bap_lp.model.merging import class_sums, merge_index
from bap_lp.model.problem import Problem
from bap_lp.programs.attainable import refusal, within_range
from bap_lp.programs.conditional_optimum import Infeasible, Point, bound_of, optimum
from bap_lp.programs.constrained import Data
from bap_lp.programs.solving import Solution, solve
from bap_lp.proof.certificate import Certificate
from bap_lp.rational import Array, InputError, is_exact, public, zeros

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
    free = solve(used, public(price), exact).value
    try:
        point = optimum(data, price)
    except Infeasible:
        raise refusal(data, used) from None
    convex = conclude(used, data, index, price, conditions, point, point)
    if not conditions.combinatorial or (not limits.deterministic and (limits.max_signals or 0) >= len(data.signals)):
        return replace(convex, unconstrained=free)
    from bap_lp.programs.integer import combinatorial

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


def conclude(
    problem: Problem,
    data: Data,
    index: Array,
    lam: Any,
    conditions: Conditions,
    point: Point,
    prices: Point,
    bound: Any = None,
    method: str = "",
) -> Solution:
    """The solution of channel point.q, proved by the multipliers of `prices` or, if given, by another bound."""
    exact, names = data.exact, data.signals.names
    q = obedient(data, point.q) if data.margins is None else point.q
    rows = q[index]
    if (index < 0).any():
        null = data.p.dot(q)
        if conditions.deterministic:
            null = np.where(np.arange(len(null)) == int(np.argmax(null)), 1 + 0 * null, 0 * null)
        rows[index < 0] = null
    shown, signals = without_unused(rows, names, zeros(len(rows), exact) + 1)
    mechanism = Mechanism(shown, signals=signals, states=problem.states, name="optimum under conditions")
    proved, (u, proof) = bound_of(problem, data, lam, prices, index)
    proof = replace(
        proof,
        conditions=conditions,
        channel=rows,
        floor_price=public(prices.floor_price),
        cap_price=public(prices.cap_price),
    )
    risks = risks_of(problem, mechanism)
    value = risks.alice(public(lam))
    bound = public(proved) if bound is None else bound
    if exact and not conditions.combinatorial and value != bound:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {bound}")
    certificate = Certificate(public(lam), value, problem.p[:, None] * rows, u, proof)
    method = f"compact program under conditions, {point.how}" + method
    return Solution(problem, public(lam), value, mechanism, risks, bound, value - bound, method, certificate)


def obedient(data: Data, q: Array) -> Array:
    """Relabel signals that Bob would disobey: pooling them with his choice is post-processing and lowers R_A."""
    losses = signal_losses(data.p[:, None] * q, data.B)
    own = losses[np.arange(len(losses)), data.signals.bob]
    slack = 0 if data.exact else 1e-12 * losses.max(initial=0.0)
    position = {int(i): s for s, i in enumerate(data.signals.bob)}
    out = 0 * q
    for s, row in enumerate(losses):
        target = s if own[s] <= row.min() + slack else position.get(int(row.argmin()), s)
        out[:, target] += q[:, s]
    return out
