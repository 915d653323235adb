"""Random problems of every temper: ordinary, degenerate, badly scaled, with several agents and impossible states."""

from __future__ import annotations

from fractions import Fraction as F

from hypothesis import strategies as st

from bap_lp import Agent, Mechanism, Problem

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
