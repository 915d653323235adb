"""Slopes of the optimum against exact re-solves: R_A is concave in B and lambda, and convex in p."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from bap_lp import Agent, InputError, Problem, sensitivity, solve

F = Fraction
SMALL = problems(4, 3, ("small",), eves=1)


def generic(seed: int) -> Problem:
    """Data without coincidences, whose optimal pair is unique if every decision is recommended."""
    rng = np.random.default_rng(seed)
    N, b, e = rng.integers(4, 8), rng.integers(2, 4), rng.integers(2, 4)
    weights = rng.integers(1, 10**6, N).tolist()
    bob, eve = rng.integers(1, 10**6, (N, b)).tolist(), rng.integers(1, 10**6, (N, e)).tolist()
    return Problem([F(w, sum(weights)) for w in weights], *([[F(v, 10**5) for v in r] for r in t] for t in (bob, eve)))


def changed(problem: Problem, table: str, x: int, k: int, value: Any) -> Problem:
    losses = {"bob": problem.bob_loss.copy(), "eve": problem.eve_loss.copy()}
    losses[table][x, k] = value
    return Problem(problem.prior, losses["bob"], losses["eve"])


@settings(max_examples=30)
@given(SMALL, st.sampled_from([F(0), F(1, 2), F(1), F(3)]), st.data())
def test_no_change_of_bobs_losses_of_lambda_or_of_the_prior_crosses_its_slope(
    problem: Problem, lam: Fraction, data: st.DataObject
) -> None:
    found = sensitivity(problem, lam)
    N, b, _ = problem.shape
    assert found.value == solve(problem, lam).value == sum(problem.prior * found.prior)
    assert -found.lam_derivative * lam == (found.bob * problem.bob_loss).sum() - found.value
    x, i, step = data.draw(st.integers(0, N - 1)), data.draw(st.integers(0, b - 1)), data.draw(st.integers(0, 3))
    more = changed(problem, "bob", x, i, problem.bob_loss[x, i] + step)
    assert solve(more, lam).value <= found.value + step * found.bob[x, i]
    assert solve(problem, lam + step).value <= found.value + step * found.lam_derivative
    h = F(step, 4)
    moved = (1 - h) * problem.prior
    moved[x] += h
    other = solve(Problem(moved, problem.bob_loss, problem.eve_loss), lam).value
    assert other >= sum(moved * found.prior) == found.value + h * found.towards[x]


@pytest.mark.parametrize("seed", range(12))
def test_small_changes_move_the_optimum_by_the_slopes(seed: int) -> None:
    problem, lam, small = generic(seed), F(1, 2), F(1, 10**9)
    found, (N, b, e) = sensitivity(problem, lam), problem.shape
    if not (found.bob > 0).any(axis=0).all():
        return  # Eve's reply to a decision that is never recommended is not unique
    x = seed % N
    for table, k, slopes in (("bob", seed % b, found.bob), ("eve", seed % e, found.eve)):
        entry = (problem.bob_loss if table == "bob" else problem.eve_loss)[x, k]
        change = solve(changed(problem, table, x, k, entry + small), lam).value - found.value
        assert change / small == pytest.approx(float(slopes[x, k]), abs=1e-6)


def test_the_coin_toss_has_exact_slopes() -> None:
    coin = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], [[0, 1], [1, 0]], [[0, 1], [10, 0]])
    found = sensitivity(coin, "1/3")
    assert (found.value, found.lam_derivative) == (F(3, 40), F(-3, 4))
    assert found.bob.tolist() == [[F(3, 4), 0], [F(3, 40), F(7, 40)]]
    assert found.prior.tolist() == [F(1, 10), 0]


def test_floats_give_nearly_the_exact_slopes() -> None:
    rough, sharp = sensitivity(generic(3).as_float(), 0.5), sensitivity(generic(3), F(1, 2))
    assert isinstance(rough.value, float)
    for name in ("bob", "eve", "prior", "towards"):
        assert np.allclose(getattr(rough, name), getattr(sharp, name).astype(float), atol=1e-9)


def test_an_eve_who_reports_has_no_table_to_change() -> None:
    with pytest.raises(InputError, match="reports probabilities"):
        sensitivity(Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=[Agent("log")]), 1)
