"""Numbers that floats confuse: losses that hardly differ, losses of very different sizes, numbers at the limits."""

from fractions import Fraction as F

import numpy as np
import pytest

from bap_lp import (
    Conditions,
    InputError,
    Problem,
    array_blocks,
    lambda_path,
    sdc,
    solve,
    solve_chunks,
    verify,
)
from bap_lp.model.sums.arrays import Arrays
from bap_lp.rational import array, floats, lifted, number


def nearly_tied(states: int, levels: int) -> Problem:
    rng = np.random.default_rng(0)
    bob, eve = (
        [[1 + F(int(k), 10**16) for k in row] for row in rng.integers(0, levels, (states, 3))] for _ in range(2)
    )
    return Problem([F(1, states)] * states, bob, eve)


@pytest.mark.parametrize("levels", [10, 10**6])
def test_losses_that_differ_in_the_last_digit_are_told_apart(levels: int) -> None:
    problem = nearly_tied(400, levels)
    found = solve(problem, "1/2")
    assert found.gap == 0
    assert verify(problem, found.certificate)


def test_lowering_the_losses_of_a_row_shifts_every_value_and_every_bound_alike() -> None:
    arrays = nearly_tied(6, 10).arrays
    lam = number("2/3", "lam")
    lowered, constant = arrays.lowered(lam)
    assert arrays.narrow
    assert not lowered.narrow
    rho = arrays.p[:, None] * array(
        [[1, 0, 0], ["1/2", "1/2", 0], [0, 0, 1], ["1/3"] * 3, [0, 1, 0], [1, 0, 0]], "q", 2
    )
    u = array([["2/3", 0, 0], ["1/3", "1/3", 0], [0, 0, "2/3"]], "u", 2)
    assert arrays.value(rho, lam) == lowered.value(rho, lam) + constant
    assert arrays.bound(u) == lowered.bound(u) + constant


def test_a_floor_that_can_be_met_is_met_however_large_the_other_losses_are() -> None:
    problem = Problem([0.4, 0.6], [[1.0, 0.5, 0.4], [0.1, 1.7, 0.5]], [[0.0, 5e8], [0.003, 1e-5]])
    exact = sdc(problem.rationalised(), min_eve_risk="0.0016")
    found = sdc(problem, min_eve_risk=0.0016)
    assert found.risks.eve == pytest.approx(0.0016, rel=1e-12)
    assert found.price == pytest.approx(float(exact.price), rel=1e-12)
    path = lambda_path(problem)
    assert len(path.pieces) == 2
    assert path.verify()


def test_a_weight_that_overflows_with_the_losses_is_refused() -> None:
    problem = Problem([0.5, 0.5], [[9e299, 0.0], [0.0, 1.0]], [[0.0, 9e299], [1.0, 0.0]])
    with pytest.raises(InputError, match="lam = 1e\\+300 times Eve's largest loss must be at most 1e300"):
        solve(problem, 1e300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_bounds_over_blocks_allow_for_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(300))
    B, E = 1e6 + rng.random((300, 3)), 1e6 + rng.random((300, 3))
    found = solve_chunks(array_blocks(p, B, E, size=50), 0.7)
    exact = Arrays(p, B, E, (slice(0, 3),)).lifted()
    # the float replies miss lam by rounding: the difference, moved to the largest reply, is part of what is tested
    u = lifted(found.u)
    for row in u:
        row[int(floats(row).argmax())] += number(F(0.7), "lam") - row.sum()
    assert found.bound <= float(exact.bound(u))


@pytest.mark.parametrize("value", [1e300, 1e301, 1.7e308])
@pytest.mark.parametrize("kind", [list, np.array])
def test_a_loss_above_the_limit_is_refused_however_it_is_given(value: float, kind: type) -> None:
    with pytest.raises(InputError, match=r"bob_loss\[0\]\[1\] = .* must be at most 1e300"):
        Problem([0.5, 0.5], kind([[0.0, value], [1.0, 0.0]]), [[0, 1], [1, 0]])


def test_numbers_beyond_the_range_of_floats_take_no_part_in_a_choice_by_floats() -> None:
    """An exact multiplier above 1e308 ended the exact simplex method with an OverflowError."""
    problem = Problem([1e-300, 1.0], [[2.5, 1e299], [1e299, 1.0]], [[1e-300, 1e-150], [2.5, 9e299]])
    assert solve(problem, 1e-300, conditions=Conditions(exp_epsilon=1e200)).value == pytest.approx(1.1)
    exact = Problem([F(1, 10**300), 1 - F(1, 10**300)], [["5/2", 10**299], [10**299, 1]], [[0, 1], ["5/2", 9]])
    best = solve(exact, 1, conditions=Conditions(exp_epsilon=10**200))
    assert best.gap == 0
    assert verify(exact, best.certificate)


def test_a_proof_beyond_the_range_of_floats_is_a_proof_in_fractions() -> None:
    problem = Problem([1 / 3, 2 / 3], [[1e150, 5e-324], [0.0, 5e-324]], [[5e-324, 2.5], [0.0, 1e-150]])
    best = solve(problem, 1e200, conditions=Conditions(margin=1e-300))
    assert verify(problem, best.certificate)
