"""The Gaussian quadratic optimum: against other mechanisms, a semidefinite program, and linear programs on cells."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import InputError, quadratic
from bap_lp.questions.convex.linear_releases import (
    Quadratic,
    Squared,
    linear_information,
    linear_risks,
    posterior_covariance,
)
from bap_lp.questions.convex.quadratic import QuadraticSolution


def random_quadratic(seed: int, n: int) -> Quadratic:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    bob = Squared(rng.normal(size=(2, n)), weight=rng.random(2), residual=0.3)
    return Quadratic(root @ root.T, bob, Squared(rng.normal(size=(2, n))))


def normal_mean(n: int, prior_sd: float, eve: Any = None) -> Quadratic:
    """theta ~ N(0, prior_sd^2), X_i | theta ~ N(theta, 1) for all i; Bob estimates theta, Eve the mean of X by default.

    With v = prior_sd^2: Cov X = 1 + v 11', E[theta|x] = v/(1 + n v) sum x, Var(theta|x) = v/(1 + n v).
    """
    v = prior_sd**2
    shrink = v / (1 + n * v)
    bob = Squared(np.full((1, n), shrink), residual=shrink)
    return Quadratic(np.eye(n) + v, bob, Squared(np.full((1, n), 1 / n) if eve is None else eve))


def null_eve(problem: Quadratic) -> float:
    n = len(problem.covariance)
    return float(problem.eve.residual + (problem.eve.matrix(n, "eve") * problem.covariance).sum())


def check(found: QuadraticSolution) -> None:
    sigma, S = found.problem.covariance, found.posterior_covariance
    size = np.abs(sigma).max()
    assert found.verify(), found.verify().reason
    assert np.linalg.eigvalsh(S)[0] > -1e-12 * size
    assert np.linalg.eigvalsh(sigma - S)[0] > -1e-12 * size
    assert abs(found.gap) < 1e-9 * max(1.0, abs(found.value))


def semidefinite(problem: Quadratic, lam: float, floor: float | None, cap: float | None) -> float:
    """The same optimum by a program over S = R T R', with no eigenvalues by hand."""
    n = len(problem.covariance)
    R = np.linalg.cholesky(problem.covariance)
    T = cp.Variable((n, n), symmetric=True)
    risk = []
    for agent in (problem.bob, problem.eve):
        H = R.T @ agent.matrix(n, "agent") @ R
        risk.append(agent.residual + np.trace(H) - cp.trace(H @ T))
    constraints = [T >> 0, np.eye(n) - T >> 0]
    constraints += [] if floor is None else [risk[1] >= floor]
    constraints += [] if cap is None else [-cp.log_det(np.eye(n) - T) <= 2 * cap]
    return float(cp.Problem(cp.Minimize(risk[0] - lam * risk[1]), constraints).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("n", [1, 2, 4])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("floored", "cap"), [(False, None), (True, None), (False, 0.3), (True, 0.6)])
def test_the_optimum_agrees_with_a_semidefinite_program(n: int, seed: int, floored: bool, cap: float | None) -> None:
    problem = random_quadratic(seed, n)
    lam = 0.5 * quadratic(*problem, "calibrated").lam
    free = quadratic(*problem, lam, max_information=cap)
    floor = 0.5 * (float(free.risks.eve) + null_eve(problem)) if floored else None
    found = quadratic(*problem, lam, min_eve_risk=floor, max_information=cap)
    check(found)
    assert found.value == pytest.approx(semidefinite(problem, lam, floor, cap), abs=3e-6 * max(1, abs(found.value)))
    assert found.value >= free.bound - 1e-14 * abs(free.bound)
    if floor is not None:
        assert found.risks.eve == pytest.approx(floor, rel=1e-9)
    if cap is not None:
        assert linear_information(problem.covariance, found.statistic, found.noise) <= cap + 1e-12


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 4), st.sampled_from([0.0, 0.3, 1.0, 4.0]))
def test_no_linear_release_does_better(seed: int, n: int, rows: int, lam: float) -> None:
    problem = random_quadratic(seed, n)
    found = quadratic(*problem, lam)
    check(found)
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(rows, rows)) * rng.choice([0.0, 0.1, 2.0])
    other = linear_risks(*problem, rng.normal(size=(rows, n)), root @ root.T)
    assert other.alice(lam) >= found.bound - 1e-9 * max(1.0, abs(found.value))


def test_no_quantised_or_nonlinear_release_does_better() -> None:
    """Signs, folds and random cells of simulated data: E Var(X|signal) estimated from 200,000 draws."""
    problem = random_quadratic(5, 2)
    found = quadratic(*problem, "calibrated")
    rng = np.random.default_rng(0)
    x = rng.multivariate_normal(np.zeros(2), problem.covariance, 200_000)
    radius = np.linalg.norm(x, axis=1)
    best = x @ found.statistic[0]
    signals = [np.sign(best), np.round(best), np.round(np.abs(best), 1), np.round(radius), np.round(best + radius)]
    for signal in signals:
        _, group = np.unique(signal, return_inverse=True)
        count = np.bincount(group)
        means = np.stack([np.bincount(group, x[:, k]) / count for k in range(2)], axis=1)[group]
        S = means.T @ means / len(x)
        M = problem.bob.matrix(2, "bob") - found.lam * problem.eve.matrix(2, "eve")
        null = problem.bob.residual + float((M * problem.covariance).sum())
        assert null - float((M * S).sum()) > found.value - 0.02 * abs(found.value)


@pytest.mark.parametrize("n", [1, 3, 6])
def test_against_the_mean_every_mechanism_ties_when_calibrated(n: int) -> None:
    problem = normal_mean(n, 1.5)
    found = quadratic(*problem, "calibrated")
    check(found)
    assert found.ties == n
    assert len(found.statistic) == 0
    rng = np.random.default_rng(n)
    for _ in range(20):
        risks = linear_risks(*problem, rng.normal(size=(2, n)), np.diag(rng.random(2)))
        assert risks.alice(found.lam) == pytest.approx(found.value, abs=1e-12)


def test_against_the_mean_full_wins_below_the_calibrated_lam_and_null_above() -> None:
    v, n = 2.25, 4
    problem = normal_mean(n, 1.5)
    lam = quadratic(*problem, "calibrated").lam
    assert lam == pytest.approx((v - v / (1 + n * v)) / (v + 1 / n), rel=1e-14)
    below, above = (quadratic(*problem, factor * lam) for factor in (0.9, 1.1))
    assert below.risks.bob == pytest.approx(v / (1 + n * v), abs=1e-14)
    assert below.risks.eve == pytest.approx(0, abs=1e-14)
    assert np.allclose(below.statistic / below.statistic[0, 0], np.ones((1, n)))  # the mean says all that matters
    assert np.all(below.noise == 0)
    assert (above.risks.bob, above.risks.eve) == (pytest.approx(v), pytest.approx(v + 1 / n))


def test_against_the_first_entry_the_others_are_released() -> None:
    problem = normal_mean(3, 1.5, [1, 0, 0])
    dear = quadratic(*problem, 10)
    check(dear)
    first, *others = dear.statistic[0]
    assert others[0] == pytest.approx(others[1])
    assert first * others[0] < 0  # subtracting x_1 from the others hides it
    ceiling = quadratic(*problem, 0, min_eve_risk=null_eve(problem))
    check(ceiling)
    assert (ceiling.statistic @ problem.covariance)[:, 0] == pytest.approx(0, abs=1e-12)  # independent of x_1
    assert ceiling.risks.eve == pytest.approx(3.25)
    assert ceiling.risks.bob > dear.risks.bob


def test_a_floor_between_two_projections_needs_noise() -> None:
    """Sigma = 1, Bob wants both entries and Eve the first: the only way to R_E = 1/2 at no waste is x_1 plus noise."""
    problem = Quadratic(np.eye(2), Squared(np.eye(2)), Squared([1, 0]))
    found = quadratic(*problem, 0, min_eve_risk="1/2")
    check(found)
    assert found.posterior_covariance == pytest.approx(np.diag([0.5, 1.0]), abs=1e-12)
    assert np.sort(np.diag(found.noise)) == pytest.approx([0, 1], abs=1e-12)
    assert found.certificate.price == pytest.approx(1, abs=1e-10)
    assert found.value == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("digits", [1, 4, 8, 12, 14, 15, 17])
def test_floors_near_the_risk_of_the_null_release_are_met(digits: int) -> None:
    """The price grows like 1/sqrt(distance): values rise to the ceiling's, which is solved on the kernel of Eve's H."""
    problem = random_quadratic(4, 4)
    ceiling = quadratic(*problem, 0.3, min_eve_risk=null_eve(problem))
    near = quadratic(*problem, 0.3, min_eve_risk=null_eve(problem) * (1 - 10.0**-digits))
    assert near.verify(), near.verify().reason
    assert near.value <= ceiling.value + 1e-9 * abs(ceiling.value)
    assert ceiling.value - near.value < 100 * 10 ** (-digits / 2)


def test_a_leakage_cap_fills_the_larger_eigenvalue_first() -> None:
    problem = Quadratic(np.diag([4.0, 1.0]), Squared(np.eye(2)), Squared([[0, 0]]))
    small, large = (quadratic(*problem, 0, max_information=c) for c in (0.5, 1.5))
    # rate distortion of two Gaussians: level 4 e^-1 > 1 spends everything on the first, then both have error e^-1.5 * 2
    assert small.value == pytest.approx(4 * np.exp(-1) + 1, rel=1e-12)
    assert large.value == pytest.approx(2 * 2 * np.exp(-1.5), rel=1e-12)
    for found in (small, large, quadratic(*problem, 0, max_information=25), quadratic(*problem, 0, max_information=0)):
        check(found)


def test_a_singular_covariance_is_solved_on_its_support() -> None:
    sigma = np.ones((2, 2)) + np.diag([1.0, 0])
    sigma = np.vstack([np.hstack([sigma, sigma[:, :1]]), np.append(sigma[0], sigma[0, 0])])  # x_3 = x_1
    found = quadratic(sigma, [1, 0, 0], [0, 1, 0], 0.5)
    check(found)
    assert found.value == pytest.approx(quadratic(sigma[:2, :2], [1, 0], [0, 1], 0.5).value, abs=1e-12)


def test_the_posterior_covariance_of_full_and_null_release_is_all_and_nothing() -> None:
    sigma = random_quadratic(1, 3).covariance
    assert posterior_covariance(sigma, np.eye(3), np.zeros((3, 3))) == pytest.approx(sigma)
    assert posterior_covariance(sigma, np.zeros((0, 3)), np.zeros((0, 0))) == pytest.approx(np.zeros((3, 3)))


def test_a_wrong_claim_does_not_verify() -> None:
    found = quadratic(*random_quadratic(2, 3), 0.5)
    assert found.verify()
    assert not replace(found, value=found.value - 0.01).verify()
    assert not replace(found, noise=found.noise + np.eye(len(found.noise))).verify()
    assert not replace(found, certificate=replace(found.certificate, Q=2 * found.certificate.Q)).verify()
    assert not replace(found, certificate=replace(found.certificate, price=1.0)).verify()
    assert not replace(found, min_eve_risk=2 * float(found.risks.eve)).verify()
    assert not replace(found, max_information=1.0).verify()
    # an understated Q is raised until it holds, so it proves less, never more
    weak = replace(found, certificate=replace(found.certificate, Q=0 * found.certificate.Q))
    assert not weak.verify()


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (([[1, 2], [0, 1]], [1, 0], [0, 1], 1), {}, "covariance must be symmetric"),
        (([[1, 2], [2, 1]], [1, 0], [0, 1], 1), {}, "positive semidefinite"),
        ((np.eye(2), [1, 0, 0], [0, 1], 1), {}, r"bob.target has shape \(1, 3\)"),
        ((np.eye(2), [1, 0], Squared([0, 1], weight=[-1]), 1), {}, "eve.weight must be 1 weights"),
        ((np.eye(2), [1, 0], [0, 1], -1), {}, "lam = -1"),
        ((np.eye(2), [1, 0], [0, 1], 10**400), {}, "lam = 10.* must be at most 1e300"),
        ((np.eye(2), [1, 0], [0, 1], 1), {"min_eve_risk": 10**400}, "must be at most 1e300"),
        ((np.eye(2), [1, 0], [0, 1], 1), {"max_information": 10**400}, "must be at most 1e300"),
        ((np.eye(2), [1, 0], [0, 0], "calibrated"), {}, "is undefined"),
        ((np.eye(2), [1, 0], [0, 1], 1), {"min_eve_risk": 1.1}, r"between 0 \(full release\) and 1 \(null"),
        ((np.eye(2), [1, 0], [0, 1], 1), {"max_information": -1}, "must not be negative"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, keywords: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        quadratic(*arguments, **keywords)


@pytest.mark.parametrize("junk", ["abc", [[1, 2], [3]], {}, [[1j, 0], [0, 1]], object(), [], None])
@pytest.mark.parametrize("place", ["covariance", "bob", "eve"])
def test_what_is_no_table_of_numbers_is_refused_by_name(place: str, junk: object) -> None:
    given: dict[str, object] = {"covariance": [[2, 1], [1, 2]], "bob": [1, 1], "eve": [1, -1]}
    with pytest.raises(InputError, match=place):
        quadratic(**given | {place: junk}, lam=1)


def test_weights_that_are_no_numbers_are_refused_by_name() -> None:
    for junk in ("abc", [float("nan")], [[1, 2], [3]]):
        with pytest.raises(InputError, match=r"eve\.weight"):
            quadratic([[2, 1], [1, 2]], [1, 1], Squared([1, -1], junk), 1)
