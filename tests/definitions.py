"""Risks, every condition and the optimum by their definitions, in plain fractions and scipy: written apart from the
library, to check it against.

An agent who knows z besides the signal is one agent per z, a `View`: he acts on pi(x) k(z|x), Alice counts p(x) k(z|x).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction as F
from itertools import product
from math import exp
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sparse
from scipy.optimize import Bounds, LinearConstraint, milp

from bap_lp import Conditions, Problem


def fraction(value: Any) -> F:
    """Any number as the rational that it is."""
    return F(value) if isinstance(value, (int, float, F)) else F(str(value))


def table(values: Any) -> list[list[F]]:
    return [[fraction(v) for v in row] for row in values]


class View(NamedTuple):
    name: str
    bob: bool
    weight: F
    mass: list[F]
    belief: list[F]
    loss: list[list[F]]
    harm: list[list[F]]

    def sums(self, by: list[F], losses: list[list[F]], sent: Any) -> list[F]:
        """sum_x by(x) sent(x) losses(x,d) for every decision d."""
        return [
            sum((m * q * row[d] for m, q, row in zip(by, sent, losses, strict=True)), F(0))
            for d in range(len(losses[0]))
        ]

    def counted(self, sent: Any) -> F:
        """What Alice counts at a signal: among the agent's best decisions she has the best one for her."""
        own, counted = self.sums(self.belief, self.loss, sent), self.sums(self.mass, self.harm, sent)
        return (min if self.bob else max)(c for v, c in zip(own, counted, strict=True) if v == min(own))

    def margin(self, sent: Any) -> F | None:
        """By how much the best decision is better than the next one; None if there is no other."""
        own = sorted(self.weight * v for v in self.sums(self.belief, self.loss, sent))
        return own[1] - own[0] if len(own) > 1 else None


def views(problem: Problem) -> list[View]:
    p, out = [fraction(v) for v in problem.prior], []
    for bob, agent in [(True, a) for a in problem.bobs] + [(False, a) for a in problem.eves]:
        known: list[list[F]] = [[F(1)] * len(p)]
        if agent.knows is not None:
            known = [[F(int(z == own)) for own in agent.knows] for z in dict.fromkeys(agent.knows)]
        elif agent.knowledge is not None:
            known = [list(column) for column in zip(*table(agent.knowledge), strict=True)]
        prior = p if agent.prior is None else [fraction(v) for v in agent.prior]
        loss = table(agent.loss)
        harm = loss if agent.harm is None else table(agent.harm)
        for k in known:
            mass, belief = ([m * v for m, v in zip(by, k, strict=True)] for by in (p, prior))
            out.append(View(agent.name, bob, fraction(agent.weight), mass, belief, loss, harm))
    return out


def risks(problem: Problem, q: Any) -> tuple[F, F]:
    """R_B and R_E of a channel q[x][s]."""
    columns = [[fraction(v) for v in column] for column in zip(*q, strict=True)]
    parts = [(v.bob, v.weight * v.counted(column)) for v in views(problem) for column in columns]
    bob, eve = (sum((part for role, part in parts if role == side), F(0)) for side in (True, False))
    return bob, eve


def seen_masses(problem: Problem, eve: str | None) -> list[list[F]]:
    """P(x), or P(x, z) for every z that this Eve may know."""
    if eve is None:
        return [[fraction(v) for v in problem.prior]]
    return [view.mass for view in views(problem) if view.name == eve and not view.bob]


def event_limits(problem: Problem, c: Conditions) -> Iterator[tuple[str, list[F], set[int], F | None, F | None]]:
    """(condition, mass, event, low, high) with low <= P(event | signal) <= high under this mass."""
    p = [fraction(v) for v in problem.prior]
    for cap in c.posterior_caps or ():
        ends = [v and fraction(v) for v in (cap.at_least, cap.at_most)]
        for mass in seen_masses(problem, cap.eve):
            yield "posterior_caps", mass, set(cap.event), *ends
    for one in c.posterior_ratio or ():
        whole, K = sum(p[x] for x in set(one.event)), fraction(one.exp_epsilon)
        yield "posterior_ratio", p, set(one.event), whole / K, whole * K
    for event in c.independent_of or ():
        whole = sum(p[x] for x in set(event))
        yield "independent_of", p, set(event), whole, whole


def floors(problem: Problem, c: Conditions) -> dict[str, F]:
    """The floor per signal of every Eve who has one."""
    given = c.signal_floor
    if given is None:
        return {}
    named = dict(given) if isinstance(given, tuple) else {eve.name: given for eve in problem.eves}
    return {name: fraction(v) for name, v in named.items()}


def event_pairs(problem: Problem, c: Conditions) -> Iterator[tuple[list[F], list[F], F]]:
    """(P(x|A), P(x|B), K) of every ordered pair of pufferfish: P(s|A) <= K P(s|B)."""
    for one in c.pufferfish or ():
        for prior, pair in product(one.priors or [problem.prior], one.pairs):
            r = [fraction(v) for v in prior]
            masses = [[m if x in event else F(0) for x, m in enumerate(r)] for event in pair]
            if all(map(sum, masses)):
                a, b = ([m / sum(mass) for m in mass] for mass in masses)
                yield from ((a, b, fraction(one.exp_epsilon)), (b, a, fraction(one.exp_epsilon)))


def private_pairs(c: Conditions, states: int) -> Iterator[tuple[int, int, F]]:
    """(x, y, K) with q(s|x) <= K q(s|y), up to delta."""
    near = None if c.neighbours is None else {frozenset(pair) for pair in c.neighbours}
    for x, y in product(range(states), repeat=2):
        d = 1 if c.metric is None else c.metric[x][y]
        asked = c.exp_epsilon is not None or c.epsilon is not None
        if asked and x != y and d is not None and (near is None or frozenset((x, y)) in near):
            yield x, y, fraction(exp(c.epsilon * d) if c.exp_epsilon is None else c.exp_epsilon ** int(d))


def broken(problem: Problem, c: Conditions, q: Any, slack: F = F(0)) -> set[str]:
    """The names of the conditions that a channel breaks by more than the slack."""
    columns = [[fraction(v) for v in column] for column in zip(*q, strict=True)]
    p, agents, wrong = [fraction(v) for v in problem.prior], views(problem), set()
    bob, eve = risks(problem, q)
    delta = fraction(c.delta or 0)
    for x, y, K in private_pairs(c, len(p)):
        if sum(max(F(0), column[x] - K * column[y]) for column in columns) > delta + slack:
            wrong.add("privacy")
    for a, b, K in event_pairs(problem, c):
        for column in columns:
            first, second = (sum(m * v for m, v in zip(mass, column, strict=True)) for mass in (a, b))
            wrong |= {"pufferfish"} if first > K * second + slack else set()
    for column in columns:
        for name, mass, event, low, high in event_limits(problem, c):
            whole = sum(m * v for m, v in zip(mass, column, strict=True))
            inside = sum(mass[x] * column[x] for x in event)
            if (low is not None and inside < low * whole - slack) or (
                high is not None and inside > high * whole + slack
            ):
                wrong.add(name)
        for view in agents:
            believed, counted = (
                sum(m * v for m, v in zip(mass, column, strict=True)) for mass in (view.belief, view.mass)
            )
            floor, lead = floors(problem, c).get(view.name), view.margin(column)
            if not view.bob and floor is not None and view.counted(column) < floor * counted - slack:
                wrong.add("signal_floor")
            if c.margin is not None and lead is not None and lead < fraction(c.margin) * believed - slack:
                wrong.add("margin")
    entries = [v for column in columns for v in column]
    scalars = {
        "min_eve_risk": c.min_eve_risk is not None and eve < fraction(c.min_eve_risk) - slack,
        "max_bob_risk": c.max_bob_risk is not None and bob > fraction(c.max_bob_risk) + slack,
        "max_leakage": c.max_leakage is not None and sum(map(max, columns)) > fraction(c.max_leakage) + slack,
        "deterministic": c.deterministic and any(min(v, 1 - v) > slack for v in entries),
        "rows": min(entries) < 0 or any(abs(sum(row) - 1) > slack for row in zip(*columns, strict=True)),
    }
    return wrong | {name for name, bad in scalars.items() if bad}


class Program:
    """min cost.z over z >= 0 with rows a.z <= rhs, in scipy's words; a row is a dict from column to number."""

    def __init__(self) -> None:
        self.cost: list[float] = []
        self.top: list[float] = []
        self.whole: list[bool] = []
        self.rows: list[dict[int, Any]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def column(self, cost: Any = 0, top: float = np.inf, whole: bool = False) -> int:
        self.cost.append(float(cost))
        self.top.append(top)
        self.whole.append(whole)
        return len(self.cost) - 1

    def row(self, entries: dict[int, Any], high: Any = 0, low: Any = -np.inf) -> None:
        self.rows.append(entries)
        self.low.append(float(low))
        self.high.append(float(high))

    def value(self) -> float | None:
        """The minimum; None if there is no solution."""
        at = [(k, column, float(v)) for k, row in enumerate(self.rows) for column, v in row.items()]
        i, j, v = zip(*at, strict=True)
        matrix = sparse.csr_array((v, (i, j)), shape=(len(self.rows), len(self.cost)))
        limits = LinearConstraint(matrix, np.array(self.low), np.array(self.high))
        found = milp(np.array(self.cost), constraints=limits, integrality=np.array(self.whole, dtype=int),
                     bounds=Bounds(0, np.array(self.top)), options={"mip_rel_gap": 0.0})  # fmt: skip
        assert found.status in (0, 2), found.message
        return None if found.x is None else float(found.fun)


def least_risk(problem: Problem, lam: Any, c: Conditions) -> float | None:
    """The least R_A in floats, None if nothing meets the conditions: a signal says to every agent what to decide.

    Any mechanism becomes one whose signals are such tuples: the signals at which all decide alike are pooled. That
    keeps every condition, and every agent's preference for the decision.
    """
    p, agents, lp = [fraction(v) for v in problem.prior], views(problem), Program()
    states = range(len(p))
    signals = list(product(*(range(len(view.loss[0])) for view in agents)))
    bob_row: dict[int, F] = {}
    eve_row: dict[int, F] = {}
    rows: list[list[int]] = [[] for _ in states]
    columns: list[list[int]] = []
    for told in signals:
        column = []
        for x in states:
            bob, eve = (
                sum(
                    (v.weight * v.mass[x] * v.harm[x][d] for v, d in zip(agents, told, strict=True) if v.bob == side),
                    F(0),
                )
                for side in (True, False)
            )
            k = lp.column(bob - fraction(lam) * eve, 1, bool(c.deterministic))
            bob_row[k], eve_row[k] = bob, -eve
            column.append(k)
            rows[x].append(k)
        columns.append(column)
    for row in rows:
        lp.row(dict.fromkeys(row, 1), 1, 1)
    wanted, m = floors(problem, c), fraction(c.margin or 0)
    for told, column in zip(signals, columns, strict=True):
        for view, d in zip(agents, told, strict=True):
            for other in set(range(len(view.loss[0]))) - {d}:
                lead = [view.weight * (row[d] - row[other]) + m for row in view.loss]
                lp.row({k: view.belief[x] * lead[x] for x, k in enumerate(column)})
            if not view.bob and view.name in wanted:
                lp.row({k: view.mass[x] * (wanted[view.name] - view.harm[x][d]) for x, k in enumerate(column)})
        for _, mass, event, low, high in event_limits(problem, c):
            if high is not None:
                lp.row({k: mass[x] * ((x in event) - high) for x, k in enumerate(column)})
            if low is not None:
                lp.row({k: mass[x] * (low - (x in event)) for x, k in enumerate(column)})
        for a, b, K in event_pairs(problem, c):
            lp.row({k: a[x] - K * b[x] for x, k in enumerate(column)})
    for x, y, K in private_pairs(c, len(p)):
        over = [lp.column() for _ in signals]
        for column, more in zip(columns, over, strict=True):
            lp.row({column[x]: 1, column[y]: -K, more: -1})
        lp.row(dict.fromkeys(over, 1), fraction(c.delta or 0))
    if c.max_leakage is not None:
        tops = [lp.column() for _ in signals]
        for column, top in zip(columns, tops, strict=True):
            for k in column:
                lp.row({k: 1, top: -1})
        lp.row(dict.fromkeys(tops, 1), fraction(c.max_leakage))
    if c.min_eve_risk is not None:
        lp.row(eve_row, -fraction(c.min_eve_risk))
    if c.max_bob_risk is not None:
        lp.row(bob_row, fraction(c.max_bob_risk))
    return lp.value()


def least_joint(problems: list[Problem], lams: list[Any], weights: list[Any] | None = None) -> float:
    """The optimum of several problems about the same data, in floats, with a signal for every tuple of decisions.

    With weights they are tiers: the agents of problem k see what was told in problems 0..k, and the R_A add up.
    Without, they are scenarios: everybody sees the whole signal, and the worst R_A counts.
    """
    lp, parts = Program(), [views(problem) for problem in problems]
    told = [list(product(*(range(len(view.loss[0])) for view in agents))) for agents in parts]
    signals, states = list(product(*told)), range(len(problems[0].prior))
    cost = [{} for _ in problems]
    for k, (agents, lam) in enumerate(zip(parts, lams, strict=True)):
        for (s, signal), x in product(enumerate(signals), states):
            pairs = zip(agents, signal[k], strict=True)
            cost[k][x, s] = sum(
                v.weight * v.mass[x] * v.harm[x][d] * (1 if v.bob else -fraction(lam)) for v, d in pairs
            )
    scale = [0] * len(problems) if weights is None else [fraction(w) for w in weights]
    column = {at: lp.column(sum(w * c[at] for w, c in zip(scale, cost, strict=True)), 1) for at in cost[0]}
    for x in states:
        lp.row({column[x, s]: 1 for s in range(len(signals))}, 1, 1)
    if weights is None:
        above, below = lp.column(1), lp.column(-1)
        for own in cost:
            lp.row({column[at]: v for at, v in own.items()} | {above: -1, below: 1})
    for k, agents in enumerate(parts):
        seen: dict[Any, list[int]] = {}
        for s, signal in enumerate(signals):
            seen.setdefault(signal if weights is None else signal[: k + 1], []).append(s)
        for prefix, members in seen.items():
            for view, d in zip(agents, prefix[k], strict=True):
                for other in set(range(len(view.loss[0]))) - {d}:
                    lead = [m * (row[d] - row[other]) for m, row in zip(view.belief, view.loss, strict=True)]
                    lp.row({column[x, s]: lead[x] for x in states for s in members})
    found = lp.value()
    assert found is not None
    return found


def partitions(count: int) -> Iterator[tuple[int, ...]]:
    """Every deterministic map of so many states, up to the names of its signals."""
    if count == 0:
        yield ()
        return
    for head in partitions(count - 1):
        yield from ((*head, block) for block in range(max(head, default=-1) + 2))


def best_partition(problem: Problem, lam: Any, c: Conditions) -> F | None:
    """The least R_A of the deterministic mechanisms that meet the conditions, all of them tried."""
    values = []
    for blocks in partitions(len(problem.prior)):
        q = [[F(int(s == block)) for s in range(max(blocks) + 1)] for block in blocks]
        if not broken(problem, c, q):
            bob, eve = risks(problem, q)
            values.append(bob - fraction(lam) * eve)
    return min(values, default=None)
