"""The smallest worst case: attained, proved by a mixture of scenarios, and no worse than any other mechanism's."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from definitions import least_joint
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import priors, small, table

from bap_lp import (
    Agent,
    InputError,
    Mechanism,
    Problem,
    evaluate,
    minimum_of,
    rank_worst_case,
    robust,
    solve,
    verify,
)
from bap_lp.releases import RELEASES, full, null, randomised_response
from bap_lp.support.rational import number, public

F = Fraction
ZERO_ONE = [[0, 1], [1, 0]]


@st.composite
def families(draw: st.DrawFn, most: int = 3) -> tuple[list[Problem], list[Fraction]]:
    N, b, e, K = (draw(st.integers(1, top)) for top in (4, 3, 3, most))
    bobs = st.tuples(priors(N), table(small, N, b))
    shared = draw(bobs) if draw(st.booleans()) else None
    scenarios = [Problem(*(shared or draw(bobs)), draw(table(small, N, e))) for _ in range(K)]
    return scenarios, [F(draw(st.integers(0, 6)), 2) for _ in range(K)]


@pytest.mark.slow
@settings(max_examples=25)
@given(families(most=2))
def test_the_worst_case_is_that_of_an_independent_program(family: tuple[list[Problem], list[Fraction]]) -> None:
    problems, lams = family
    assert float(robust(problems, lams).value) == pytest.approx(least_joint(problems, lams), abs=1e-7)


def library(problem: Problem) -> list[Mechanism]:
    rivals = [release(problem) for name, release in RELEASES.items() if name in ("full", "null", "Bob's decision")]
    return rivals + [randomised_response(problem, F(k, 4)) for k in range(5)]


@pytest.mark.slow
@settings(max_examples=40)
@given(families())
def test_the_worst_case_is_attained_proved_and_no_worse_than_that_of_other_mechanisms(
    family: tuple[list[Problem], list[Fraction]],
) -> None:
    problems, lams = family
    best = robust(problems, lams)
    assert best.exact
    assert best.gap == 0
    assert verify(problems, best.certificate)
    assert sum(best.weights) == 1
    values = [evaluate(p, best.mechanism).alice(lam) for p, lam in zip(problems, lams, strict=True)]
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
    assert verify(problems, rough.certificate)


def test_a_signal_may_recommend_a_different_decision_in_every_scenario() -> None:
    """Two scenarios whose Bobs disagree at every signal: recommending one decision to both would cost more."""
    aligned = Problem(["1/2", "1/2"], ZERO_ONE, [[0], [0]])
    opposed = Problem(["1/2", "1/2"], [[1, 0], [0, 1]], [[0], [0]])
    best = robust([aligned, opposed], 0)
    assert best.value == 0
    assert sorted(best.mechanism.signals) == ["0 | 1", "1 | 0"]


COIN = Problem(["1/2", "1/2"], ZERO_ONE, ZERO_ONE)


def _wide(k: int) -> Problem:
    return Problem(["1/2", "1/2"], [[F(i + k, 7) for i in range(6)], [0] * 6], ZERO_ONE)


def test_lam_is_calibrated_scenario_by_scenario() -> None:
    other = Problem(["1/2", "1/2"], ZERO_ONE, [[0, 2], [2, 0]])
    assert robust([COIN, other]).lams == (1, F(1, 2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "problems must not be empty"),
        (([COIN, Problem([1], [[0]], [[0]])], 1), r"problems\[1\] must have the same states"),
        (([COIN], [1, 2]), "lams has 2 entries"),
        (([COIN], 0.5, True), "must be exact"),
        (([_wide(k) for k in range(5)], 1), "7776 profiles"),
    ],
)
def test_wrong_scenarios_are_refused(arguments: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        robust(*arguments)


@pytest.mark.slow
@settings(max_examples=25)
@given(families())
def test_among_several_optima_the_order_of_the_scenarios_does_not_matter(
    family: tuple[list[Problem], list[Fraction]],
) -> None:
    """Scenarios that share their Bob share all profiles, so the same vertex is chosen in any order."""
    (first, *_), lams = family
    eves = [[[F((3 * x + j * k) % 4) for j in range(2)] for x in range(len(first.p))] for k in (1, 2, 3)]
    scenarios = [Problem(first.prior, first.bob_loss, eve) for eve in eves]
    there, back = robust(scenarios, lams[0]), robust(scenarios[::-1], lams[0])
    assert there.mechanism.signals == back.mechanism.signals
    assert (there.mechanism.q == back.mechanism.q).all()


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
    assert evaluate(problem, full(problem)).eve == 0


ratio = st.builds(lambda a, b: f"{a}/{b}", st.integers(1, 99), st.integers(1, 99))
rows_of_one_kind = st.lists(ratio, min_size=2, max_size=2) | st.lists(st.floats(0.01, 40), min_size=2, max_size=2)


@given(st.lists(st.tuples(ratio | st.floats(0.01, 40), rows_of_one_kind), min_size=2, max_size=3))
def test_the_minimum_is_that_of_the_exact_products_and_rounded_once(eves: list[tuple[Any, list[Any]]]) -> None:
    found = minimum_of([Agent([losses], weight=weight) for weight, losses in eves])
    products = [[F(weight) * F(loss) for loss in losses] for weight, losses in eves]
    for loss, choice in zip(found.loss[0].tolist(), product(*products), strict=True):
        weight = F(public(number(found.weight, "weight")))
        assert loss == float(min(choice) / weight) if isinstance(loss, float) else public(loss) * weight == min(choice)


def test_the_joint_eve_needs_eves_with_the_same_states() -> None:
    with pytest.raises(InputError, match="must not be empty"):
        minimum_of([])
    with pytest.raises(InputError, match="has 1 rows, must have 2"):
        minimum_of([Agent(ZERO_ONE), Agent([[1]])])
