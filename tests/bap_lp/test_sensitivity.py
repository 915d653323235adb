"""Derivatives and intervals against exact re-solves: linear inside, another basis just outside."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from bap_lp import Problem, sensitivity, solve

F = Fraction
SMALL = problems(4, 3, ("small",), eves=1)


def generic(seed: int) -> Problem:
    """Data without coincidences; the optimum is not degenerate if every decision is recommended."""
    rng = np.random.default_rng(seed)
    N, b, e = rng.integers(4, 8), rng.integers(2, 4), rng.integers(2, 4)
    weights = rng.integers(1, 10**6, N).tolist()
    bob, eve = rng.integers(1, 10**6, (N, b)).tolist(), rng.integers(1, 10**6, (N, e)).tolist()
    return Problem(
        [F(w, sum(weights)) for w in weights],
        [[F(v, 10**5) for v in r] for r in bob],
        [[F(v, 10**5) for v in r] for r in eve],
    )


def changed(problem: Problem, table: str, x: int, k: int, value: Fraction) -> Problem:
    bob, eve = problem.bob_loss.copy(), problem.eve_loss.copy()
    (bob if table == "bob" else eve)[x, k] = value
    return Problem(problem.prior, bob, eve)


def moved(problem: Problem, x: int, value: Fraction) -> Problem:
    """p(x) = value, the others in proportion."""
    h = (value - problem.prior[x]) / (1 - problem.prior[x])
    prior = (1 - h) * problem.prior
    prior[x] += h
    return Problem(prior, problem.bob_loss, problem.eve_loss)


def inside(interval: Any, value: Fraction, share: Fraction) -> Fraction:
    high = interval.high if interval.high is not None else value + 5
    return interval.low + (high - interval.low) * share


def pattern(problem: Problem, lam: Fraction) -> tuple[Any, Any]:
    found = sensitivity(problem, lam)
    return (found.bob > 0).tolist(), (found.eve != 0).tolist()


NOT_DEGENERATE = [k for k in range(40) if len(solve(generic(k), F(1, 2)).mechanism.signals) == generic(k).shape[1]][:10]
shares = st.integers(0, 8).map(lambda k: F(k, 8))


@pytest.mark.slow
@settings(max_examples=40)
@given(SMALL, st.sampled_from([F(0), F(1, 2), F(1), F(3)]), st.data())
def test_the_value_is_linear_inside_an_interval_of_bob_or_of_the_prior(
    problem: Problem, lam: Fraction, data: st.DataObject
) -> None:
    found = sensitivity(problem, lam)
    N, b, _ = problem.shape
    optimum = solve(problem, lam)
    assert found.value == optimum.value
    assert -found.lam_derivative * lam == (found.bob * problem.bob_loss).sum() - found.value
    x, i = data.draw(st.integers(0, N - 1)), data.draw(st.integers(0, b - 1))
    entry, interval = problem.bob_loss[x, i], found.bob_interval[x][i]
    assert entry in interval
    value = inside(interval, entry, data.draw(shares))
    expected = found.value + (value - entry) * found.bob[x, i]
    assert solve(changed(problem, "bob", x, i, value), lam).value == expected
    # the value is concave in an entry of B: beyond, the line lies above it
    beyond = value + data.draw(st.integers(0, 3))
    assert solve(changed(problem, "bob", x, i, beyond), lam).value <= found.value + (beyond - entry) * found.bob[x, i]
    mass, interval = problem.prior[x], found.prior_interval[x]
    assert mass in interval
    if mass < 1:
        to = inside(interval, mass, data.draw(shares))
        h = (to - mass) / (1 - mass)
        assert solve(moved(problem, x, to), lam).value == found.value + h * found.towards[x]
    assert sum(problem.prior * found.prior) == found.value  # V is homogeneous in p


@settings(max_examples=25)
@given(SMALL, st.sampled_from([F(1, 2), F(2)]), st.data())
def test_the_derivative_by_an_entry_of_eve_agrees_with_differences(
    problem: Problem, lam: Fraction, data: st.DataObject
) -> None:
    found = sensitivity(problem, lam)
    N, _, e = problem.shape
    x, j = data.draw(st.integers(0, N - 1)), data.draw(st.integers(0, e - 1))
    entry, interval = problem.eve_loss[x, j], found.eve_interval[x][j]
    assert entry in interval
    for side in (-1, 1):
        high = entry + 1 if interval.high is None else interval.high
        room = high - entry if side > 0 else entry - interval.low
        step = side * min(room, F(1)) / 10**6
        if step:
            slope = (solve(changed(problem, "eve", x, j, entry + step), lam).value - found.value) / step
            assert math.isclose(slope, found.eve[x, j], abs_tol=1e-3)


@pytest.mark.parametrize("seed", NOT_DEGENERATE)
def test_intervals_end_where_the_basis_does(seed: int) -> None:
    problem, lam = generic(seed), F(1, 2)
    found = sensitivity(problem, lam)
    N, b, e = problem.shape
    start = pattern(problem, lam)
    assert (found.bob > 0).any(axis=0).all()
    tiny = F(1, 10**7)
    for table, width, intervals in (("bob", b, found.bob_interval), ("eve", e, found.eve_interval)):
        x, k = seed % N, seed % width
        entry, interval = (problem.bob_loss if table == "bob" else problem.eve_loss)[x, k], intervals[x][k]
        for share in (F(1, 10**6), F(1, 3), 1 - F(1, 10**6)):
            assert pattern(changed(problem, table, x, k, inside(interval, entry, share)), lam) == start
        if interval.low > 0:
            assert pattern(changed(problem, table, x, k, interval.low - tiny), lam) != start
        if interval.high is not None:
            assert pattern(changed(problem, table, x, k, interval.high + tiny), lam) != start
            if table == "bob" and problem.bob_loss[x, k] > 0 and found.bob[x, k] > 0:
                line = found.value + (interval.high + tiny - entry) * found.bob[x, k]
                assert solve(changed(problem, table, x, k, interval.high + tiny), lam).value < line
    x = seed % N
    interval = found.prior_interval[x]
    assert pattern(moved(problem, x, inside(interval, problem.prior[x], F(1, 3))), lam) == start
    if interval.high is not None and interval.high < 1:
        assert pattern(moved(problem, x, interval.high + F(1, 10**9)), lam) != start


@settings(max_examples=20)
@given(SMALL, st.sampled_from([F(1, 2), F(1), F(3)]))
def test_the_derivatives_by_bob_are_the_joint_table_that_solve_shows(problem: Problem, lam: Fraction) -> None:
    if problem.merged().shape == problem.shape:
        shown, found = solve(problem, lam).mechanism, sensitivity(problem, lam).bob
        columns = dict(zip(shown.signals, (problem.prior[:, None] * shown.channel).T, strict=True))
        for name, column in zip(problem.bob_decisions, found.T, strict=True):
            assert (column == columns.get(name, 0 * problem.prior)).all()


def test_the_coin_toss_has_exact_derivatives() -> None:
    coin = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], [[0, 1], [1, 0]], [[0, 1], [10, 0]])
    found = sensitivity(coin, "1/3")
    assert found.value == F(3, 40)
    assert found.lam_derivative == F(-3, 4)
    assert found.bob.tolist() == [[F(3, 4), 0], [F(3, 40), F(7, 40)]]
    assert found.prior.tolist() == [F(1, 10), 0]
    assert found.eve_interval[1][0].low == 3


def test_floats_give_nearly_the_exact_answer() -> None:
    exact = generic(3)
    rough, sharp = sensitivity(exact.as_float(), 0.5), sensitivity(exact, F(1, 2))
    assert isinstance(rough.value, float)
    far = [one.high for row in sensitivity(exact, 1e-320).eve_interval for one in row]
    assert all(high is None or isinstance(high, float) for high in far)  # beyond all floats there is no end
    for name in ("bob", "eve", "prior", "towards"):
        assert np.allclose(getattr(rough, name), getattr(sharp, name).astype(float), atol=1e-9)
    assert math.isclose(rough.bob_interval[0][0].low, sharp.bob_interval[0][0].low, abs_tol=1e-6)
