"""Random problems of every temper: ordinary, degenerate, badly scaled, with several agents and impossible states."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction as F
from typing import Any

import definitions
import numpy as np
from hypothesis import strategies as st

from bap_lp import Agent, Conditions, Mechanism, Problem

ordinary = st.builds(F, st.integers(0, 1000), st.integers(1, 1000))
zero_one = st.integers(0, 1).map(F)
small = st.integers(0, 3).map(F)
perturbed = st.builds(lambda k, d, z: F(k) + F(d, 10**z), st.integers(0, 2), st.integers(0, 3), st.integers(7, 20))
wide = st.builds(lambda a, z: a * F(10) ** z, ordinary, st.integers(-9, 9))
dyadic = st.integers(0, 60).map(lambda k: F(1, 2**k))
TEMPERS = {
    "ordinary": ordinary,
    "zero_one": zero_one,
    "small": small,
    "perturbed": perturbed,
    "wide": wide,
    "dyadic": dyadic,
}


def table(entry: st.SearchStrategy[F], rows: int, columns: int) -> st.SearchStrategy[list[list[F]]]:
    return st.lists(st.lists(entry, min_size=columns, max_size=columns), min_size=rows, max_size=rows)


@st.composite
def priors(draw: st.DrawFn, size: int, temper: str = "ordinary") -> list[F]:
    entry = dyadic if temper in ("dyadic", "wide") else st.integers(0, 12).map(F)
    weights = draw(st.lists(entry, min_size=size, max_size=size).filter(any))
    return [w / sum(weights) for w in weights]


@st.composite
def problems(
    draw: st.DrawFn, states: int = 8, decisions: int = 4, tempers: tuple[str, ...] = tuple(TEMPERS), eves: int = 2
) -> Problem:
    """Up to `states` states, `decisions` decisions each, and up to `eves` Eves."""
    temper = draw(st.sampled_from(tempers))
    entry = TEMPERS[temper]
    N, b = draw(st.integers(1, states)), draw(st.integers(1, decisions))
    agents = [
        Agent(draw(table(entry, N, draw(st.integers(1, decisions)))), name=f"Eve{k}", weight=draw(st.integers(1, 3)))
        for k in range(draw(st.integers(1, eves)))
    ]
    return Problem(draw(priors(N, temper)), draw(table(entry, N, b)), eves=agents)


@st.composite
def channels(draw: st.DrawFn, problem: Problem) -> Mechanism:
    signals = draw(st.integers(1, 4))
    return Mechanism([draw(priors(signals)) for _ in problem.states])


lams = st.one_of(st.just(F(0)), st.builds(F, st.integers(0, 40), st.integers(1, 12)))


def parts_of(low: int, high: int, parts: int = 4) -> st.SearchStrategy[F]:
    """Numbers from low to high in steps of 1/parts: ties are common among them."""
    return st.integers(low * parts, high * parts).map(lambda k: F(k, parts))


@st.composite
def few_states(draw: st.DrawFn, most: int = 4, eves: int = 2) -> Problem:
    """Small problems with ties, possible states of probability zero, equal states, and one or two Eves."""
    N, b, e = draw(st.integers(1, most)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    weights = draw(st.lists(st.integers(0, 4), min_size=N, max_size=N).filter(any))
    group = [Agent(draw(table(parts_of(0, 2), N, e)), name=f"Eve {k}") for k in range(draw(st.integers(1, eves)))]
    return Problem([F(w, sum(weights)) for w in weights], draw(table(parts_of(0, 2), N, b)), eves=group)


few_lams = parts_of(0, 3)


@st.composite
def private(draw: st.DrawFn, N: int, kind: str = "") -> dict[str, Any]:
    """DP between all pairs, along a path, with a metric, or with any distances."""
    given: dict[str, Any] = {"exp_epsilon": draw(parts_of(1, 4))}
    kind = kind or draw(st.sampled_from(["all", "path", "metric", "distances"]))
    if kind == "path":
        given["neighbours"] = [(x, x + 1) for x in range(N - 1)]
    if kind == "metric":
        given["metric"] = [[abs(x - y) for y in range(N)] for x in range(N)]
    if kind == "distances":  # no metric: some pairs are implied by others, some are free, d(x,y) is not d(y,x)
        given["metric"] = [[draw(st.sampled_from([None, 0, 0, 1, 2])) for _ in range(N)] for _ in range(N)]
    return given


@st.composite
def events(draw: st.DrawFn, N: int) -> list[int]:
    """Some of the states, at least one, perhaps all."""
    return sorted(draw(st.sets(st.integers(0, N - 1), min_size=1, max_size=N)))


@st.composite
def any_problem(draw: st.DrawFn, states: int = 4, tuples: int = 30, own: bool | None = None) -> Problem:
    """Bobs and Eves who share Alice's prior and count or have their own, and Eves who know something or do not.

    Some states are equal, some have no probability. All agents together have at most so many tuples of decisions. With
    `own` somebody has a harm or a prior of his own, if it is not None.
    """
    N = draw(st.integers(1, states))
    rows = draw(st.lists(st.integers(0, max(1, N - 2)), min_size=N, max_size=N))
    own = draw(st.integers(0, 2)) == 0 if own is None else own

    def repeated(columns: int) -> list[list[F]]:
        few = draw(table(parts_of(0, 2), max(rows) + 1, columns))
        return [few[k] for k in rows]

    def agent(name: str, most: int, eve: bool) -> Agent:
        kind = draw(st.sampled_from(["", "knows", "knowledge"])) if eve and most >= 4 else ""
        d = draw(st.integers(1, min(3, most if not kind else int(most**0.5))))
        given: dict[str, Any] = {}
        if kind == "knows":
            given["knows"] = draw(st.lists(st.sampled_from("ab"), min_size=N, max_size=N))
        if kind == "knowledge":
            given["knowledge"] = [draw(priors(2)) for _ in range(N)]
        if own and draw(st.booleans()):
            given["harm"] = repeated(d)
        if own and draw(st.booleans()):
            given["prior"] = draw(priors(N))
        return Agent(repeated(d), name=name, weight=draw(st.sampled_from([1, 1, F(1, 3), 2])), **given)

    groups: list[list[Agent]] = [[], []]
    for role, count in enumerate([draw(st.sampled_from([1, 1, 2])), draw(st.integers(1, 2))]):
        for k in range(count):
            groups[role].append(agent(f"{'BE'[role]}{k}", tuples, role == 1))
            last = groups[role][-1]
            values = len(set(last.knows)) if last.knows else 1 if last.knowledge is None else 2
            tuples //= len(last.loss[0]) ** values
    weights = draw(st.lists(st.integers(0, 4), min_size=N, max_size=N).filter(any))
    return Problem([F(w, sum(weights)) for w in weights], bobs=groups[0], eves=groups[1])


ASKED = ("delta", "posterior_caps", "posterior_ratio", "signal_floor", "max_leakage", "pufferfish", "independent_of")
LIMITS = (
    "min_eve_risk",
    "max_bob_risk",
    "exp_epsilon",
    "neighbours",
    "metric",
    *ASKED,
    "margin",
    "deterministic",
)


@st.composite
def condition(draw: st.DrawFn, problem: Problem, kind: str) -> dict[str, Any]:
    """A demand of this kind, often at the edge of what is possible. The null release meets the ASKED if all agents
    share Alice's prior and count."""
    N = len(problem.p)
    if kind in ("min_eve_risk", "max_bob_risk"):
        ends = [definitions.risks(problem, q)[kind == "min_eve_risk"] for q in (np.eye(N, dtype=int), [[1]] * N)]
        return {kind: ends[0] + (ends[1] - ends[0]) * draw(parts_of(0, 1, 8))}
    if kind in ("exp_epsilon", "neighbours", "metric"):
        return draw(private(N, {"exp_epsilon": "all", "neighbours": "path", "metric": "distances"}[kind]))
    if kind == "deterministic":
        return {kind: True}
    if kind == "margin":
        return {kind: draw(st.sampled_from([F(0), F(1, 20), F(1, 10), F(1, 4)]))}
    if kind == "delta":
        return draw(private(N)) | {"delta": draw(parts_of(0, 1, 8))}
    if kind in ("posterior_caps", "posterior_ratio"):
        out = []
        for _ in range(draw(st.integers(1, 2))):
            event = draw(events(N))
            if kind == "posterior_ratio":
                out.append({"event": event, "exp_epsilon": draw(parts_of(1, 3))})
                continue
            eve = draw(st.sampled_from([None, *(eve.name for eve in problem.eves)]))
            out.append({"event": event} if eve is None else {"event": event, "eve": eve})
            masses = [mass for mass in definitions.seen_masses(problem, eve) if sum(mass)]
            given = [sum(mass[x] for x in set(event)) / sum(mass) for mass in masses]
            sides = draw(st.sampled_from([("at_most",), ("at_least",), ("at_most", "at_least")]))
            if "at_most" in sides:
                out[-1]["at_most"] = max(given) + (1 - max(given)) * draw(parts_of(0, 1))
            if "at_least" in sides:
                out[-1]["at_least"] = min(given) * draw(parts_of(0, 1))
        return {kind: out}
    if kind == "signal_floor":
        null = [1] * N
        most = {v.name: v.counted(null) for v in definitions.views(problem) if not v.bob and sum(v.mass) == 1}
        given = {eve.name: most.get(eve.name, F(1, 2)) * draw(parts_of(0, 1)) for eve in problem.eves}
        return {kind: given if draw(st.booleans()) else min(given.values())}
    if kind == "max_leakage":
        return {kind: 1 + draw(parts_of(0, 2))}
    if kind == "independent_of":
        return {kind: [draw(events(N)) for _ in range(draw(st.integers(1, 2)))]}
    one: dict[str, Any] = {"pairs": [[draw(events(N)), draw(events(N))] for _ in range(draw(st.integers(0, 2)))]}
    one["exp_epsilon"] = draw(parts_of(1, 3))
    if draw(st.booleans()):
        one["priors"] = [draw(priors(N)) for _ in range(draw(st.integers(1, 2)))]
    return {kind: one}


@st.composite
def demands(draw: st.DrawFn, problem: Problem, kinds: Iterable[str]) -> Conditions:
    """Conditions of all these kinds together."""
    wanted: dict[str, Any] = {}
    for kind in sorted(kinds):
        wanted |= draw(condition(problem, kind))
    if "neighbours" in wanted:
        wanted.pop("metric", None)
    return Conditions(**wanted)


@st.composite
def conditioned(draw: st.DrawFn) -> tuple[Problem, F, Conditions]:
    """A small problem with up to three conditions of any kinds."""
    problem = draw(any_problem(3))
    return problem, draw(few_lams), draw(demands(problem, draw(st.sets(st.sampled_from(LIMITS), max_size=3))))


def knowing_problems() -> st.SearchStrategy[Problem]:
    """Problems whose Eves know labels, a channel of the data, or nothing."""
    return any_problem(own=False)
