"""The smallest worst case: attained, proved by a mixture of scenarios, and no worse than any other mechanism's."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp.model.agents import minimum_of
from bap_lp.model.evaluation import evaluate, risks
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Agent, Problem
from bap_lp.programs.robust import rank_worst_case, robust
from bap_lp.programs.solving import solve
from bap_lp.proof.worst_case import verify_robust
from bap_lp.rational import InputError
from bap_lp.releases import RELEASES, full, null, randomised_response

F = Fraction
ZERO_ONE = [[0, 1], [1, 0]]


@st.composite
def families(draw: st.DrawFn) -> tuple[list[Problem], list[Fraction]]:
    N, b, e, K = (draw(st.integers(1, top)) for top in (4, 3, 3, 3))

    def table(columns: int) -> list[list[int]]:
        return draw(st.lists(st.lists(st.integers(0, 4), min_size=columns, max_size=columns), min_size=N, max_size=N))

    def prior() -> list[Fraction]:
        weights = draw(st.lists(st.integers(0, 4), min_size=N, max_size=N).filter(any))
        return [F(w, sum(weights)) for w in weights]

    shared = (prior(), table(b)) if draw(st.booleans()) else None
    out = []
    for _ in range(K):
        p, bob = shared or (prior(), table(b))
        out.append(Problem(p, bob, table(e)))
    return out, [F(draw(st.integers(0, 6)), 2) for _ in range(K)]


def library(problem: Problem) -> list[Mechanism]:
    rivals = [release(problem) for name, release in RELEASES.items() if name in ("full", "null", "Bob's decision")]
    return rivals + [randomised_response(problem, F(k, 4)) for k in range(5)]


@settings(max_examples=40, deadline=None)
@given(families())
def test_worst_case(family: tuple[list[Problem], list[Fraction]]) -> None:
    problems, lams = family
    best = robust(problems, lams)
    assert best.exact
    assert best.gap == 0
    assert verify_robust(problems, best.certificate)
    assert sum(best.weights) == 1
    values = [risks(p, best.mechanism).alice(lam) for p, lam in zip(problems, lams, strict=True)]
    assert best.value == max(values)
    # weight only where the worst case occurs: complementary slackness
    assert all(w == 0 or v == best.value for w, v in zip(best.weights, values, strict=True))
    singles = [solve(p, lam) for p, lam in zip(problems, lams, strict=True)]
    assert best.value >= max(s.value for s in singles)
    ranked = rank_worst_case(problems, [*library(problems[0]), *(s.mechanism for s in singles), best.mechanism], lams)
    assert ranked[0].worst == best.value
    assert all(row.worst == row.values[row.scenario] == max(row.values) for row in ranked)
    rough = robust(problems, lams, False)
    assert math.isclose(rough.value, best.value, abs_tol=1e-8)
    assert verify_robust(problems, rough.certificate)


@settings(max_examples=10, deadline=None)
@given(families())
def test_tampering_is_noticed(family: tuple[list[Problem], list[Fraction]]) -> None:
    problems, lams = family
    proof = robust(problems, lams).certificate
    assert not verify_robust(problems, replace(proof, value=proof.value - 1))
    assert not verify_robust(problems, replace(proof, weights=2 * proof.weights))
    assert not verify_robust(problems, replace(proof, channel=2 * proof.channel))
    assert not verify_robust(problems, replace(proof, replies=tuple(u + 1 for u in proof.replies)))


@settings(max_examples=15, deadline=None)
@given(families())
def test_one_scenario_is_an_ordinary_problem(family: tuple[list[Problem], list[Fraction]]) -> None:
    problem, lam = family[0][0], family[1][0]
    optimum = solve(problem, lam)
    assert robust([problem], lam).value == robust([problem] * 3, lam).value == optimum.value


def test_profiles_are_needed() -> None:
    """Two scenarios whose Bobs disagree at every signal: recommending one decision to both would cost more."""
    aligned = Problem(["1/2", "1/2"], ZERO_ONE, [[0], [0]])
    opposed = Problem(["1/2", "1/2"], [[1, 0], [0, 1]], [[0], [0]])
    best = robust([aligned, opposed], 0)
    assert best.value == 0
    assert sorted(best.mechanism.signals) == ["0 | 1", "1 | 0"]


def test_calibrated_and_refusals() -> None:
    coin = Problem(["1/2", "1/2"], ZERO_ONE, ZERO_ONE)
    assert robust([coin, coin]).lams == (1, 1)
    for wrong, message in [
        (lambda: robust([]), "problems must not be empty"),
        (lambda: robust([coin, Problem([1], [[0]], [[0]])], 1), r"problems\[1\] must have the same states"),
        (lambda: robust([coin], [1, 2]), "lams has 2 entries"),
        (lambda: robust([coin], 0.5, True), "must be exact"),
        (lambda: robust([_wide(k) for k in range(5)], 1), "7776 profiles"),
    ]:
        with pytest.raises(InputError, match=message):
            wrong()


def _wide(k: int) -> Problem:
    return Problem(["1/2", "1/2"], [[F(i + k, 7) for i in range(6)], [0] * 6], ZERO_ONE)


def test_minimum_of_eves_plays_the_complement_of_the_least_probable_cell() -> None:
    """The paper's Case 7: targets T1, T2; Eve loses only if wrong about both, R_E = smallest joint cell probability."""
    cells = list(product(range(2), repeat=2))
    first, second = ([[int(x[k] != j) for j in range(2)] for x in cells] for k in range(2))
    both = minimum_of([Agent(first, ["0", "1"], "mean"), Agent(second, ["0", "1"], "maximum")])
    prior = [F(1, 2), F(1, 4), F(1, 6), F(1, 12)]
    problem = Problem(prior, [[0]] * 4, eves=[both])
    found = evaluate(problem, null(problem))
    assert found.eve == min(prior)
    assert found.signals[0].eve == ["0, 0"]  # the complement of (1, 1)
    assert both.name == "minimum of mean, maximum"
    assert risks(problem, full(problem)).eve == 0


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_minimum_is_the_minimum(data: st.DataObject) -> None:
    N = data.draw(st.integers(1, 3))
    eves: list[Any] = []
    for _ in range(data.draw(st.integers(1, 3))):
        e = data.draw(st.integers(1, 3))
        rows = st.lists(st.lists(st.integers(0, 5), min_size=e, max_size=e), min_size=N, max_size=N)
        eves.append(Agent(data.draw(rows), weight=data.draw(st.integers(1, 2))))
    table = np.array(minimum_of(eves).loss)
    for x in range(N):
        wanted = [min(a.weight * v for a, v in zip(eves, c, strict=True)) for c in product(*(a.loss[x] for a in eves))]
        assert table[x].tolist() == wanted


def test_minimum_of_refuses() -> None:
    with pytest.raises(InputError, match="must not be empty"):
        minimum_of([])
    with pytest.raises(InputError, match="has 1 rows, must have 2"):
        minimum_of([Agent(ZERO_ONE), Agent([[1]])])
