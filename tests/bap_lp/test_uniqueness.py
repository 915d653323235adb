"""Unique or not, decided exactly: against brute force over the vertices of the optimal face, and by known cases."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import lams, problems

from bap_lp import Agent, InputError, Mechanism, Problem, evaluate, solve, uniqueness

F = Fraction
ZERO_ONE = [[0, 1], [1, 0]]


def mutual_information(problem: Problem, mechanism: Mechanism) -> float:
    """I(X; signal) in nats."""
    rho = (problem.prior[:, None] * mechanism.channel).astype(float)
    shares = rho.sum(axis=1, keepdims=True) * rho.sum(axis=0, keepdims=True)
    sent = rho > 0
    return float((rho[sent] * np.log(rho[sent] / shares[sent])).sum())


TIED = problems(4, 3, ("small", "zero_one"), eves=1)


def spread(problem: Problem, lam: Fraction) -> float:
    """How far the optimal face reaches from the solution, by a float program per entry of the joint table."""
    from scipy.optimize import linprog

    live = problem.p > 0
    p, B, E = (a[live].astype(float) for a in (problem.p, problem.B, problem.E))
    (N, b), e = B.shape, E.shape[1]
    value = float(solve(problem, lam).value)
    A = np.zeros((b * e + 1, N * b + b))
    for i in range(b):
        for j in range(e):
            A[i * e + j, [x * b + i for x in range(N)]] = -E[:, j]
            A[i * e + j, N * b + i] = 1
    A[-1] = [*B.ravel(), *([-float(lam)] * b)]
    right = np.append(np.zeros(b * e), value + 1e-11)
    marginals = np.hstack([np.kron(np.eye(N), np.ones(b)), np.zeros((N, b))])
    bounds = [(0, None)] * (N * b) + [(None, None)] * b
    widths = []
    for k in range(N * b):
        ends = [linprog(sign * np.eye(N * b + b)[k], A, right, marginals, p, bounds).fun * sign for sign in (1.0, -1.0)]
        widths.append(abs(ends[1] - ends[0]))
    return max(widths)


@pytest.mark.slow
@settings(max_examples=12)
@given(TIED, st.sampled_from([F(0), F(1, 2), F(1), F(2)]))
def test_the_optimum_is_unique_exactly_when_the_optimal_face_is_a_point(problem: Problem, lam: Fraction) -> None:
    found, optimum = uniqueness(problem, lam), solve(problem, lam)
    assert found.value == optimum.value
    assert found.unique == (spread(problem, lam) < 1e-7)
    assert evaluate(problem, found.fewest_signals).alice(lam) == optimum.value
    assert math.isclose(evaluate(problem, found.least_disclosure).alice(lam), optimum.value, abs_tol=1e-6)
    assert found.mutual_information <= mutual_information(problem, optimum.mechanism) + 1e-6
    assert found.mutual_information == pytest.approx(mutual_information(problem, found.least_disclosure), abs=1e-6)
    assert found.mutual_information <= found.fewest_information + 1e-6
    assert len(found.fewest_signals.signals) <= len(optimum.mechanism.signals)
    assert found.fewest_proved
    if found.unique:
        table = dict(zip(optimum.mechanism.signals, optimum.mechanism.channel.T, strict=True))
        for signal, column in zip(found.fewest_signals.signals, found.fewest_signals.channel.T, strict=True):
            assert all(a == b for a, b, mass in zip(column, table[signal], problem.prior, strict=True) if mass > 0)


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(6, 4, ("small", "zero_one", "perturbed")), lams)
def test_solve_shows_an_optimal_mechanism_and_the_only_one_if_there_is_one(problem: Problem, lam: Fraction) -> None:
    found, shown = uniqueness(problem, lam), solve(problem, lam).mechanism
    assert evaluate(problem, shown).alice(lam) == found.value
    assert evaluate(problem, found.fewest_signals).alice(lam) == found.value
    if found.unique:
        for only in (found.fewest_signals, found.least_disclosure):
            assert (only.name, only.signals, only.states) == (shown.name, shown.signals, shown.states)
            assert (only.q == shown.q).all()
    else:
        names = {found.fewest_signals.name, found.least_disclosure.name}
        assert all(name.startswith("an optimal mechanism") for name in names)


@settings(max_examples=15)
@given(TIED, st.sampled_from([F(0), F(1), F(3, 2)]))
def test_no_optimal_mechanism_has_fewer_signals(problem: Problem, lam: Fraction) -> None:
    """With fewer signals Bob takes fewer of his decisions, and whatever they are, R_A is larger."""
    found = uniqueness(problem, lam)
    fewer = len(found.fewest_signals.signals) - 1
    for taken in combinations(range(len(problem.bob_decisions)), fewer) if fewer else ():
        limited = Problem(problem.prior, problem.bob_loss[:, list(taken)], problem.eve_loss)
        assert solve(limited, lam).value > found.value


def test_the_coin_toss_is_unique_except_at_a_breakpoint() -> None:
    coin = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], ZERO_ONE, [[0, 1], [10, 0]])
    assert uniqueness(coin, "1/3").unique
    assert not uniqueness(coin, "1/10").unique  # the breakpoint of the paper's path: two vertices are optimal
    idle = Problem(["1/2", "1/2"], [[0, 0], [0, 0]], [[0, 0], [0, 0]])
    found = uniqueness(idle, 1)
    assert not found.unique
    assert len(found.fewest_signals.signals) == 1
    assert found.mutual_information < 1e-6


def test_equal_states_may_share_a_mixture_in_many_ways() -> None:
    """Merged, the optimum is unique and mixed; the two equal states can share the mixture in many ways."""
    coin = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], ZERO_ONE, [[0, 1], [10, 0]])
    split = [x for x in range(2) if (np.array(solve(coin, "1/3").mechanism.channel[x]) > 0).sum() > 1]
    assert len(split) == 1
    x = split[0]
    prior = [*coin.prior[:x], coin.prior[x] / 2, coin.prior[x] / 2, *coin.prior[x + 1 :]]
    rows = [*range(x), x, x, *range(x + 1, 2)]
    doubled = Problem(prior, coin.bob_loss[rows], coin.eve_loss[rows])
    assert uniqueness(coin, "1/3").unique
    assert not uniqueness(doubled, "1/3").unique


def test_floats_are_refused() -> None:
    with pytest.raises(InputError, match="must be exact"):
        uniqueness(Problem([0.5, 0.5], ZERO_ONE, ZERO_ONE), 1)


def test_the_least_disclosing_optimum_is_optimal_whatever_the_prior() -> None:
    """With probabilities from 1e-15 on the convex solver's own point is 1e-7 above the optimum."""
    weights = [10**15, 1, 10**12, 10**6]
    problem = Problem(
        [F(w, sum(weights)) for w in weights],
        bobs=[
            Agent([[0, 0, 1], [1, 1, 0], [1, 0, 0], [0, 0, 1]], name="one", weight=3),
            Agent([[0, 1], [1, 0], [0, 1], [1, 0]], name="two", weight=3),
        ],
        eves=[Agent([["5/6", "9/5"], [0, 2], [4, 1], [4, 1]], name="Eve")],
    )
    found = uniqueness(problem, 10)
    assert not found.unique
    value = evaluate(problem, found.least_disclosure).alice(F(10))
    assert abs(value - found.value) < 1e-12
    assert found.mutual_information <= found.fewest_information + 1e-8
