"""Simulated draws as states: against the Gaussian optimum -0.2322795, on fresh draws, with stated errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gaussian_cases import draw_data
from numpy.typing import NDArray

from bap_lp import InputError, solve
from discretise.extensions import rule_of
from discretise.losses import zero_one
from discretise.neighbours import Neighbours, default_neighbours
from discretise.samples import SampledProblem, sample
from gaussian import MaxEve, calibrate
from gaussian.paper import PAPER_MODEL as MODEL

Array = NDArray[np.float64]
EVE = MaxEve(2.0)
LAM = calibrate(MODEL, EVE)
OPTIMUM = -0.2322795  # the bit xbar > 0, globally optimal against the maximum


def simulate(rng: np.random.Generator, size: int) -> tuple[Array, Array, Array]:
    theta, x = draw_data(MODEL, rng, size)
    return theta, x, x.mean(axis=1)


def posterior_loss(xbar: Array) -> Array:
    chance = MODEL.bob_posterior(xbar)
    return np.stack([chance, 1 - chance], axis=1)


def largest(x: Array) -> Array:
    return np.asarray(x.max(axis=1))


def sampled(size: int, **keywords: Any) -> SampledProblem:
    return sample(
        simulate, size, zero_one(0.0), zero_one(2.0), bob_decisions=[0, 1], eve_decisions=[0, 1], eve_target=largest,
        **keywords,
    )  # fmt: skip


def test_the_bracket_on_new_draws_contains_the_optimum() -> None:
    problem = sampled(3000, posterior_loss=posterior_loss)
    solution = solve(problem, LAM)
    fresh = problem.out_of_sample(solution, 100_000)
    assert problem.bob_error == 0
    assert fresh.lower - 4 * fresh.lower_error <= OPTIMUM <= fresh.upper + 4 * fresh.upper_error
    assert fresh.lower <= fresh.upper + 1e-12  # weak duality holds on the very draws
    assert fresh.upper == pytest.approx(OPTIMUM, abs=4 * fresh.upper_error)
    assert abs(fresh.optimism) < 4 * fresh.optimism_error
    assert fresh.upper == pytest.approx(float(fresh.risks.alice(LAM)))


def test_estimated_posterior_losses_are_within_their_stated_error() -> None:
    problem = sampled(3000)
    exact = posterior_loss(problem.draws.statistic[:, 0])
    error = np.abs(problem.B - exact)
    assert 0.01 < problem.bob_error < 0.03
    assert error.mean() < 2 * problem.bob_error
    fresh = problem.out_of_sample(solve(problem, LAM), 50_000)
    # R_A of the rule is of a real mechanism whatever B was, and unbiased: at least the optimum, and not far above
    assert OPTIMUM - 4 * fresh.upper_error <= fresh.upper <= OPTIMUM + 0.02 + 4 * fresh.upper_error
    assert fresh.lower == pytest.approx(OPTIMUM, abs=problem.bob_error + 4 * fresh.lower_error)


def test_the_statistic_may_have_several_dimensions() -> None:
    problem = sample(
        lambda rng, size: simulate(rng, size)[:2], 2000, zero_one(0.0), zero_one(2.0), bob_decisions=[0, 1],
        eve_decisions=[0, 1], eve_target=largest,
    )  # fmt: skip
    assert problem.draws.statistic.shape == (2000, 5)
    fresh = problem.out_of_sample(solve(problem, LAM), 5000)
    assert fresh.upper > OPTIMUM - 4 * fresh.upper_error


def test_the_rule_reproduces_the_solution_on_its_own_draws_and_extends_to_new_data() -> None:
    problem = sampled(2000, posterior_loss=posterior_loss)
    solution = solve(problem, LAM)
    draws = problem.draws
    chosen = problem.rule(solution, draws.x, draws.statistic)
    channel = np.asarray(solution.mechanism.channel, dtype=float)
    names = [int(solution.mechanism.signals[s]) for s in channel.argmax(axis=1)]
    split = channel.max(axis=1) < 1
    assert split.sum() <= 4  # a vertex splits at most b*e states
    assert (chosen[~split] == np.array(names)[~split]).mean() > 0.998
    far = np.array([[3.0] * 5, [-3.0] * 5])
    assert problem.rule(solution, far, far.mean(axis=1)).tolist() == [1, 0]


def test_neighbours_are_means_without_the_draw_itself() -> None:
    rng = np.random.default_rng(0)
    s, values = rng.normal(size=(50, 1)), rng.random((50, 2))
    mean, error = Neighbours(s, values, 49).own()
    assert mean == pytest.approx((values.sum(axis=0) - values) / 49)
    assert error.shape == (50, 2)
    wide = np.hstack([s, rng.normal(size=(50, 1))])
    mean, _ = Neighbours(wide, values, 49).own()
    assert mean == pytest.approx((values.sum(axis=0) - values) / 49)
    same = np.zeros((20, 2))  # all draws tie: still k values, never its own where it is found
    mean, _ = Neighbours(same, np.ones((20, 1)), 5).own()
    assert mean == pytest.approx(np.ones((20, 1)))
    near, _ = Neighbours(np.arange(10.0)[:, None], np.arange(10.0)[:, None], 3).at(np.array([[4.1], [-5.0], [50.0]]))
    assert near[:, 0] == pytest.approx([5, 1, 8])
    assert default_neighbours(3, 1) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"size": 2}, "size = 2 must be"),
        ({"neighbours": 500}, "must be less than size"),
        ({"neighbours": 0}, "neighbours = 0"),
        ({"simulator": lambda rng, size: np.zeros(size)}, "must return"),
        ({"simulator": lambda rng, size: (["a"] * size, np.zeros(size))}, "must return arrays of numbers"),
        ({"seed": -1}, "seed = -1"),
        ({"bob_bound": "x"}, "bob_bound = 'x' must be finite and not negative"),
        ({"title": 3}, "title must be text"),
        ({"simulator": lambda rng, size: (np.zeros(3), np.zeros(size))}, r"simulator's theta has shape \(3,\)"),
        ({"simulator": lambda rng, size: (np.zeros((size, 2)), np.zeros(size))}, "one number per draw"),
        ({"eve_target": None}, "eve_target gives shape"),
        ({"posterior_loss": lambda s: np.zeros((len(s), 3))}, "posterior_loss gave shape"),
        ({"bob_decisions": []}, "bob_decisions"),
    ],
)
def test_a_bad_argument_of_sample_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "simulator": simulate, "size": 500, "bob_loss": "0-1", "eve_loss": "0-1", "bob_decisions": [0, 1],
        "eve_decisions": [0, 1], "eve_target": largest,
    }  # fmt: skip
    with pytest.raises(InputError, match=message):
        sample(**{**given, **change})


def test_a_tie_is_broken_in_the_same_way_whatever_rounding_does_to_the_replies() -> None:
    rng = np.random.default_rng(5)
    B, E = rng.integers(0, 6, (400, 3)) / 5, rng.integers(0, 2, (400, 2)).astype(float)
    u = np.array([[0.2, 0.6], [0.4, 0.4], [0.6, 0.2]])
    chosen = rule_of(u, B, E)[1]
    exact = 5 * np.rint(5 * B) - E @ np.rint(25 * u).T  # whole numbers
    assert (chosen == exact.argmin(axis=1)).all()
    for _ in range(20):
        assert (rule_of(u * (1 + 1e-15 * rng.normal(size=u.shape)), B, E)[1] == chosen).all()
