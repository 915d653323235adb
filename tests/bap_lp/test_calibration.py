"""The calibrated lam: where full and null release tie, and refused where rounding could explain what Eve gains."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import any_problem, problems

from bap_lp import InputError, Problem, calibrate, evaluate
from bap_lp.releases import full, null


@pytest.mark.slow
@settings(max_examples=60)
@given(problems(6, 3) | any_problem())
def test_full_and_null_release_tie_at_the_calibrated_lam(problem: Problem) -> None:
    every, nothing = (evaluate(problem, release(problem)) for release in (full, null))
    if every.eve == nothing.eve or (every.bob - nothing.bob) * (every.eve - nothing.eve) < 0:
        with pytest.raises(InputError, match="is undefined"):
            calibrate(problem)
    else:
        lam = calibrate(problem)
        assert lam >= 0
        assert every.alice(lam) == nothing.alice(lam)


@pytest.mark.parametrize("seed", range(5))
def test_a_float_eve_who_gains_nothing_is_refused_however_many_states_there_are(seed: int) -> None:
    """One of her decisions is best at every state; the two sums still differ by rounding."""
    rng = np.random.default_rng(seed)
    best = rng.random((5000, 1))
    problem = Problem(rng.dirichlet(np.ones(5000)), rng.random((5000, 3)), np.hstack([best, best + 0.1, best + 0.2]))
    with pytest.raises(InputError, match="for both full and null release within rounding"):
        calibrate(problem)


@pytest.mark.parametrize("seed", range(5))
def test_a_float_bob_who_gains_nothing_has_lam_zero(seed: int) -> None:
    rng = np.random.default_rng(seed)
    best = rng.random((5000, 1))
    problem = Problem(rng.dirichlet(np.ones(5000)), np.hstack([best, best + 0.1]), rng.random((5000, 3)))
    assert calibrate(problem) == 0


def test_a_small_gain_of_eve_counts_if_it_is_above_rounding() -> None:
    eve = [[1, 1 + Fraction(1, 10**12)], [1 + Fraction(1, 10**12), 1]]
    exact = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eve)
    assert calibrate(exact) == 10**12
    assert calibrate(exact.as_float()) == pytest.approx(1e12, rel=1e-3)
