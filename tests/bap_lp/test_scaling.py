"""Badly scaled data, numbers that floats confuse or that lie at the limits: every answer is exact, or certified."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F

import numpy as np
import pytest

from bap_lp import (
    Conditions,
    InputError,
    Problem,
    evaluate,
    lambda_path,
    robust,
    sdc,
    sensitivity,
    solve,
    uniqueness,
    verify,
)
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program import bound
from bap_lp.support.rational import floats, lifted, number

LARGE, TINY = F(10**9), F(1, 10**9)
SEEDS = range(4)


def tables(seed: int, states: int) -> tuple[list[F], np.ndarray, np.ndarray]:
    """Prior, Bob's and Eve's losses without coincidences."""
    rng = np.random.default_rng(seed)
    N, b, e = (int(rng.integers(*ends)) for ends in ((states, states + 4), (3, 5), (3, 5)))
    weights = rng.integers(1, 1000, N).tolist()
    bob, eve = (np.array([F(int(v), 10**4) for v in rng.integers(1, 10**6, N * k)]).reshape(N, k) for k in (b, e))
    return [F(w, sum(weights)) for w in weights], bob, eve


def uniform(seed: int, bob: F, eve: F) -> Problem:
    prior, B, E = tables(seed, 13)  # more than an exact dictionary takes: the float solver is asked
    return Problem(prior, bob * B, eve * E)


def mixed(seed: int, bob: bool, eve: bool) -> Problem:
    """Every entry of the table times 1e9, 1 or 1e-9."""
    prior, B, E = tables(seed, 8)
    rng = np.random.default_rng(seed + 100)
    units = np.array([LARGE, F(1), TINY])
    B = B * units[rng.integers(0, 3, B.shape)] if bob else B
    E = E * units[rng.integers(0, 3, E.shape)] if eve else E
    return Problem(prior, B, E)


def geometric(seed: int) -> Problem:
    """States of probability 2^-1, 2^-2, ..., down to 2^-40 or so."""
    _, B, E = tables(seed, 8)
    N = len(B)
    weights = [F(1, 2 ** (1 + 40 * x // N)) for x in range(N)]
    return Problem([w / sum(weights) for w in weights], B, E)


UNIFORM = {
    "plain": lambda seed: uniform(seed, F(1), F(1)),
    "Bob large, Eve small": lambda seed: uniform(seed, LARGE, TINY),
    "Bob small, Eve large": lambda seed: uniform(seed, TINY, LARGE),
    "both large": lambda seed: uniform(seed, LARGE, LARGE),
    "both small": lambda seed: uniform(seed, TINY, TINY),
}
CASES = UNIFORM | {
    "Bob mixed": lambda seed: mixed(seed, True, False),
    "Eve mixed": lambda seed: mixed(seed, False, True),
    "both mixed": lambda seed: mixed(seed, True, True),
    "prior 2^-k": geometric,
}


def compact(problem: Problem) -> None:
    found = solve(problem)
    assert found.exact
    assert found.gap == 0
    assert verify(problem, found.certificate)


def paper(problem: Problem) -> None:
    found = solve(problem, formulation="paper")
    assert found.exact
    assert verify(problem, found.certificate)
    assert found.value == solve(problem).value


def floor(problem: Problem) -> None:
    best = solve(problem)
    top = evaluate(problem, solve(problem, 2 * best.lam).mechanism).eve
    found = solve(problem, conditions=Conditions(min_eve_risk=(best.risks.eve + top) / 2))
    assert found.exact
    assert verify(problem, found.certificate)


def private(problem: Problem) -> None:
    found = solve(problem, conditions=Conditions(exp_epsilon=3))
    assert found.exact
    assert verify(problem, found.certificate)


def worst_case(problem: Problem) -> None:
    other = Problem(problem.prior[::-1], problem.bob_loss, problem.eve_loss[:, ::-1] * F(3, 2))
    found = robust([problem, other])
    assert found.exact
    assert verify([problem, other], found.certificate)


def unique(problem: Problem) -> None:
    found, best = uniqueness(problem), solve(problem)
    assert found.value == best.value
    assert evaluate(problem, found.fewest_signals).alice(best.lam) == best.value
    if found.unique:
        assert (found.fewest_signals.q == best.mechanism.q).all()


def slopes(problem: Problem) -> None:
    found, best = sensitivity(problem), solve(problem)
    assert found.value == best.value
    assert (found.bob * problem.bob_loss).sum() + best.lam * found.lam_derivative == found.value


def path(problem: Problem) -> None:
    pieces = lambda_path(problem).pieces
    for piece in pieces[:: max(1, len(pieces) // 4)]:
        assert solve(problem, piece.start).value == piece.risks.bob - piece.start * piece.risks.eve


QUESTIONS: dict[str, Callable[[Problem], None]] = {
    "compact": compact,
    "paper": paper,
    "floor": floor,
    "private": private,
    "robust": worst_case,
    "uniqueness": unique,
    "sensitivity": slopes,
    "path": path,
}


@pytest.mark.slow
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("case", CASES)
def test_every_question_is_answered_exactly_in_any_units(case: str, question: str) -> None:
    for seed in SEEDS:
        QUESTIONS[question](CASES[case](seed))


@pytest.mark.parametrize(("bob", "eve"), [(LARGE, TINY), (TINY, LARGE), (LARGE, LARGE), (TINY, TINY)])
def test_the_optimum_with_least_disclosure_does_not_depend_on_the_units(bob: F, eve: F) -> None:
    """At lam = 1/10 two vertices of the coin toss are optimal."""
    B, E = np.array([[F(1, 3), F(2, 3)], [1, 0]]), np.array([[0, F(1)], [10, 0]])
    plain = uniqueness(Problem(["3/4", "1/4"], B, E), "1/10")
    problem, lam = Problem(["3/4", "1/4"], bob * B, eve * E), bob / eve / 10
    found = uniqueness(problem, lam)
    assert not found.unique
    assert found.value == bob * plain.value
    assert found.mutual_information == pytest.approx(plain.mutual_information, abs=1e-6)
    assert found.least_disclosure.name == "an optimal mechanism with the least disclosure"
    assert float(evaluate(problem, found.least_disclosure).alice(float(lam)) / bob) == pytest.approx(
        plain.value, abs=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_floats_of_any_size_have_certified_gaps(case: str) -> None:
    for seed in SEEDS:
        problem = CASES[case](seed).as_float()
        found = solve(problem)
        assert verify(problem, found.certificate)
        scenarios = [problem, Problem(problem.prior[::-1], problem.bob_loss, problem.eve_loss)]
        assert verify(scenarios, robust(scenarios).certificate)


def entries_of_all_sizes(seed: int, shape: tuple[int, int, int], denominators: int | None) -> Problem:
    """Every loss times its own power of ten from 1e-6 to 1e6; denominators: the largest, or None for powers of two."""
    rng = np.random.default_rng(seed)

    def losses(*size: int) -> list[list[F]]:
        table = rng.random(size) * 10.0 ** rng.integers(-6, 7, size)
        read = [[F(v) for v in row] for row in table.tolist()]
        return [[v.limit_denominator(denominators) for v in row] for row in read] if denominators else read

    N, b, e = shape
    weights = rng.integers(1, 1000, N).tolist()
    return Problem([F(w, sum(weights)) for w in weights], losses(N, b), losses(N, e))


@pytest.mark.slow
@pytest.mark.parametrize("denominators", [None, 10**9])
@pytest.mark.parametrize("seed", range(3))
def test_every_entry_may_have_its_own_size(seed: int, denominators: int | None) -> None:
    """With many denominators the common one has thousands of digits: no float, and no short integer."""
    problem = entries_of_all_sizes(seed, (150, 5, 5), denominators)
    found = solve(problem)
    assert found.gap == 0
    assert verify(problem, found.certificate)


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
    with pytest.raises(InputError, match=r"lam = 1.0+5e\+300 times Eve's largest loss must be at most 1e300"):
        solve(problem, 1e300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_bounds_over_blocks_allow_for_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(300))
    B, E = 1e6 + rng.random((300, 3)), 1e6 + rng.random((300, 3))
    found = solve([(p[k : k + 50], B[k : k + 50], E[k : k + 50]) for k in range(0, 300, 50)], 0.7)
    exact = Arrays(p, B, E, (slice(0, 3),)).lifted()
    # the float replies miss lam by rounding: the difference, moved to the largest reply, is part of what is tested
    u = lifted(found.u)
    for row in u:
        row[int(floats(row).argmax())] += number(F(0.7), "lam") - row.sum()
    assert found.bound <= float(bound.compact(exact, number(F(0.7), "lam")).bound(bound.Dual({"eve": u}, {})))


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
