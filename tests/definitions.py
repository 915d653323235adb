"""Every condition by its definition, in plain fractions: written apart from the library, to check it against."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from typing import Any

from bap_lp import Conditions, Problem


def holds(problem: Problem, conditions: Conditions, q: Any, told: Any, prescribed: Any = None) -> bool:
    """Whether a channel meets the conditions; told[s] is Bob's decision, prescribed[s] the Eves' with a margin."""
    return not broken(problem, conditions, q, told, prescribed)


def broken(problem: Problem, conditions: Conditions, q: Any, told: Any, prescribed: Any = None) -> list[str]:
    """The names of the conditions that a channel breaks."""
    p, B, E = problem.prior, problem.bob_loss, problem.eve_loss
    rho, states, S = p[:, None] * q, range(len(p)), range(q.shape[1])
    bob = sum(sum(rho[x, s] * B[x, i] for x in states) for s, i in enumerate(told))
    eve = sum(
        min(sum(rho[x, s] * E[x, j] for x in states) for j in range(g.start, g.stop))
        for s in S
        for g in problem.eve_groups
    )
    wrong = []
    if conditions.min_eve_risk is not None and eve < conditions.min_eve_risk:
        wrong.append("min_eve_risk")
    if conditions.max_bob_risk is not None and bob > conditions.max_bob_risk:
        wrong.append("max_bob_risk")
    if conditions.private and not private(conditions, q):
        wrong.append("privacy")
    if conditions.deterministic and not set(q.ravel().tolist()) <= {0, 1}:
        wrong.append("deterministic")
    if conditions.max_signals is not None and sum(max(column) > 0 for column in q.T) > conditions.max_signals:
        wrong.append("max_signals")
    if conditions.max_leakage is not None and sum(max(column) for column in q.T) > conditions.max_leakage:
        wrong.append("max_leakage")
    if (
        conditions.margin is not None
        and prescribed is not None
        and not margin(problem, conditions, rho, told, prescribed)
    ):
        wrong.append("margin")
    for s in S:
        mass = sum(rho[:, s])
        if mass > 0:
            wrong += at_signal(problem, conditions, [rho[x, s] / mass for x in states])
    for one in conditions.pufferfish or ():
        for prior, (a, b), s in product(one.priors or [p.tolist()], one.pairs, S):
            first, second = (conditional(prior, q, event, s) for event in (a, b))
            if first is not None and second is not None:
                K = one.exp_epsilon
                if first > K * second or second > K * first:
                    wrong.append("pufferfish")
    return wrong


def private(conditions: Conditions, q: Any) -> bool:
    K, delta, states = conditions.exp_epsilon, conditions.delta or F(0), range(len(q))
    for x, y in product(states, repeat=2):
        near = conditions.neighbours is None or (x, y) in conditions.neighbours or (y, x) in conditions.neighbours
        d = 1 if conditions.metric is None else int(conditions.metric[x][y])
        if x != y and near and sum(max(F(0), a - K**d * b) for a, b in zip(q[x], q[y], strict=True)) > delta:
            return False
    return True


def at_signal(problem: Problem, conditions: Conditions, posterior: list[Any]) -> list[str]:
    """What breaks at a signal with this posterior."""
    p, wrong = problem.prior, []
    for cap in conditions.posterior_caps or ():
        believed = sum(posterior[x] for x in cap.event)
        if (cap.at_most is not None and believed > cap.at_most) or (
            cap.at_least is not None and believed < cap.at_least
        ):
            wrong.append("posterior_caps")
    for one in conditions.posterior_ratio or ():
        believed, before = (sum(v[x] for x in one.event) for v in (posterior, p))
        if not before / one.exp_epsilon <= believed <= one.exp_epsilon * before:
            wrong.append("posterior_ratio")
    for event in conditions.independent_of or ():
        if sum(posterior[x] for x in event) != sum(p[x] for x in event):
            wrong.append("independent_of")
    floors = conditions.signal_floor
    if floors is not None:
        wanted = dict(floors) if isinstance(floors, tuple) else {eve.name: floors for eve in problem.eves}
        for eve in problem.eves:
            loss = [[F(int(v.p), int(v.q)) for v in row] for row in eve.loss.tolist()]
            for known in set(eve.knows or [None]):
                mass = [
                    m if eve.knows is None or z == known else 0 for m, z in zip(posterior, eve.knows or p, strict=True)
                ]
                risk = min(sum(m * row[j] for m, row in zip(mass, loss, strict=True)) for j in range(len(loss[0])))
                if eve.name in wanted and risk < wanted[eve.name] * sum(mass):
                    wrong.append("signal_floor")
    return wrong


def conditional(prior: Any, q: Any, event: Any, s: int) -> Any:
    """P(s | event) under a prior, None if the event has probability zero."""
    whole = sum(prior[x] for x in event)
    return sum(prior[x] * q[x, s] for x in set(event)) / whole if whole else None


def margin(problem: Problem, conditions: Conditions, rho: Any, told: Any, prescribed: Any) -> bool:
    B, E, states = problem.bob_loss, problem.eve_loss, range(len(rho))
    for s, i in enumerate(told):
        mass, agents = sum(rho[:, s]), [(B, int(i), range(B.shape[1]))]
        agents += [(E, int(j), range(g.start, g.stop)) for j, g in zip(prescribed[s], problem.eve_groups, strict=True)]
        for losses, own, others in agents:
            played = {d: sum(rho[x, s] * losses[x, d] for x in states) for d in others}
            if any(played[own] + conditions.margin * mass > v for d, v in played.items() if d != own):
                return False
    return True
