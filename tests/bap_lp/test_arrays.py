"""Risks that are computed by shortcuts, through floats or integers where these are enough, are exact."""

from __future__ import annotations

from fractions import Fraction as F

import definitions
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import channels, lams, problems

from bap_lp import Agent, Mechanism, Problem, evaluate, solve


def check(problem: Problem, mechanism: Mechanism) -> None:
    found = evaluate(problem, mechanism)
    assert (found.bob, found.eve) == definitions.risks(problem, mechanism.channel)


@pytest.mark.slow
@settings(max_examples=30)
@given(problems(states=30, decisions=4), lams, st.data())
def test_risks_are_those_of_the_definition_whatever_the_numbers(problem: Problem, lam: F, data: st.DataObject) -> None:
    best = solve(problem, lam)
    for mechanism in (data.draw(channels(problem)), best.mechanism):
        check(problem, mechanism)
    assert (best.risks.bob, best.risks.eve) == definitions.risks(problem, best.mechanism.channel)


@pytest.mark.parametrize("related", [True, False])
def test_risks_of_long_probabilities_are_those_of_the_definition(related: bool) -> None:
    draw, N = np.random.default_rng(3), 80
    losses = [[[F(int(v), 1 + k) for k, v in enumerate(row)] for row in draw.integers(0, 9, (N, 3))] for _ in range(2)]
    shares = [F(1 + x % 5, 3**200 + (0 if related else 2 * x)) if x % 3 else F(x % 2) for x in range(N)]
    check(Problem([F(1, N)] * N, *losses), Mechanism([[v, 1 - v] for v in shares]))


def test_risks_of_losses_that_floats_cannot_tell_apart_are_exact() -> None:
    near = [[1 + F(k, 10**20), 1 + F(3 - k % 3, 10**20), 1 + F(1, 10**20)] for k in range(80)]
    problem = Problem([F(1, 80)] * 80, near, near)
    check(problem, Mechanism([[F(k % 4, 7), 1 - F(k % 4, 7)] for k in range(80)]))
    check(problem, solve(problem, "1/2").mechanism)


@pytest.mark.parametrize("bits", [10, 29, 31, 60])
def test_sums_that_floats_cannot_hold_are_not_rounded(bits: int) -> None:
    top, p = 2**23 - 1, F(1, 2**bits + 1)
    eves = [Agent([[top, top], [top - k, top]], name=str(k)) for k in range(7)]
    problem = Problem([p, 1 - p], [[0, top], [1, 0]], eves=eves)
    for channel in ([[1], [1]], [[1, 0], [0, 1]], [["1/3", "2/3"], [1, 0]]):
        check(problem, Mechanism(channel))
    assert solve(problem, "1/3").gap == 0


@pytest.mark.parametrize("last", [F(1), 1 + F(1, 10**30), 1 + F(1, 2**27), F(2**60)])
def test_losses_that_round_to_integers_are_not_taken_for_integers(last: F) -> None:
    losses = [[0, 1], [1, 0]] * 40
    problem = Problem([F(1, 80)] * 80, losses, [*losses[:79], [last, 0]])
    best = solve(problem, 1)
    check(problem, best.mechanism)
    assert best.gap == 0
    if last != 1:
        assert evaluate(problem, Mechanism([[1]] * 80)).eve == min(F(40), F(39) + last) / 80
