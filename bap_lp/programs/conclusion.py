"""Publishing the optimum under conditions: the channel of the program as a mechanism with its proof."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.conditions.conditions import Conditions
from bap_lp.model.arrays import signal_losses
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism, without_unused
from bap_lp.model.problem import Problem
from bap_lp.programs.conditional_optimum import Point, bound_of
from bap_lp.programs.constrained import Data
from bap_lp.programs.solution import Solution
from bap_lp.proof.certificate import Certificate
from bap_lp.rational import Array, public, zeros


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
