"""Convex constraints of one's own, with their bounds: against searches, other programs, and conditions of `solve`."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import cvxpy as cp
import numpy as np
import pytest

from bap_lp import Agent, Conditions, InputError, Problem, evaluate, solve, to_cvxpy
from bap_lp.questions.convex.cvxpy_bridge import BridgeSolution, information
from bap_lp.releases import full, null

LAM = Fraction(1, 3)
ACCURACY = 3e-7  # of the interior-point solver; every gap below is measured, not assumed


def coin_toss() -> Problem:
    return Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]], bob_decisions=["fixed", "fair"])


def random_problem(seed: int, N: int = 8, b: int = 3, e: int = 3) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(rng.dirichlet(np.ones(N)), rng.random((N, b)), rng.random((N, e)))


def check(found: BridgeSolution, accuracy: float = ACCURACY) -> None:
    assert found.violation < 1e-8
    assert -1e-12 < found.gap < accuracy


@pytest.mark.parametrize("nats", [0.1, 0.02])
def test_a_limit_on_information_is_that_of_the_condition(nats: float) -> None:
    bridge, bits = to_cvxpy(coin_toss(), LAM), nats / math.log(2)
    found = bridge.solve([bridge.mutual_information <= nats])
    check(found, 1e-5)
    proved = solve(coin_toss(), LAM, conditions=Conditions(max_information=bits))
    assert found.value == pytest.approx(float(proved.value), abs=ACCURACY)


@pytest.mark.parametrize("cap", [0, "0"])
def test_a_cap_of_zero_gives_the_null_release(cap: Any) -> None:
    found = to_cvxpy(coin_toss(), "calibrated").solve(max_kl=cap)
    check(found)
    assert information(coin_toss(), found.mechanism) < 1e-15
    nothing = evaluate(coin_toss(), null(coin_toss()))
    assert found.value == pytest.approx(float(nothing.alice(LAM)), abs=1e-12)


@pytest.mark.parametrize("bob", [0, 1])
@pytest.mark.parametrize("cap", [None, 0, 0.1])
def test_agents_who_lose_nothing_are_allowed(bob: int, cap: Any) -> None:
    found = to_cvxpy(Problem(["1/2", "1/2"], [[0, bob], [bob, 0]], [[0, 0], [0, 0]]), 1).solve(max_kl=cap)
    check(found)
    assert found.value <= bob / 2 + ACCURACY


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_caps_are_met_and_cost_more_the_tighter_they_are(seed: int) -> None:
    problem = random_problem(seed)
    bridge = to_cvxpy(problem, "calibrated")
    plain = bridge.solve()
    check(plain)
    assert plain.value == pytest.approx(solve(problem).value, abs=ACCURACY)
    previous = plain.value
    for cap in (0.5, 0.1, 0.02):
        each = bridge.solve(max_kl=cap)
        check(each)
        assert previous - ACCURACY <= each.value
        previous = each.value
        for signal in evaluate(problem, each.mechanism).signals:
            posterior = np.array(list(signal.posterior.values()), dtype=float)
            live = posterior > 0
            assert (posterior[live] * np.log(posterior[live] / problem.p[live])).sum() <= cap + 1e-12


def test_expressions_agree_with_the_mechanism() -> None:
    problem = random_problem(7)
    bridge = to_cvxpy(problem)
    cp.Problem(cp.Minimize(bridge.alice("1/2")), [*bridge.constraints, bridge.mutual_information <= 0.2]).solve(
        solver=cp.CLARABEL
    )
    mechanism = bridge.mechanism()
    found = evaluate(problem, mechanism)
    assert bridge.bob_risk.value == pytest.approx(found.bob, abs=1e-6)
    assert bridge.eve_risk.value == pytest.approx(found.eve, abs=1e-6)
    assert bridge.alice(0.5).value == pytest.approx(found.alice(0.5), abs=1e-6)
    assert bridge.mutual_information.value == pytest.approx(information(problem, mechanism), abs=1e-6)
    parts = [bridge.kl_to_prior(i).value for i in range(3)]
    assert sum(parts) == pytest.approx(bridge.mutual_information.value, abs=1e-9)


def test_the_violation_is_the_largest_miss_of_any_constraint() -> None:
    bridge = to_cvxpy(coin_toss(), LAM)
    own = [bridge.channel[0, 0] <= 0.6, bridge.channel[1, 0] >= 0.1]
    found = bridge.solve([*own, bridge.mutual_information <= 0.1])
    q = found.mechanism.q
    assert found.violation >= max(float(q[0, 0]) - 0.6, 0.1 - float(q[1, 0]), 0.0)
    assert found.violation < 1e-6
    rho = np.array([[0.75], [0.25]]) * q
    assert bridge.rho.value == pytest.approx(rho, abs=1e-12)
    assert bridge.signal_probability.value == pytest.approx(rho.sum(axis=0), abs=1e-6)


def test_a_full_release_tells_the_entropy_and_a_null_release_nothing() -> None:
    entropy = -(0.75 * math.log(0.75) + 0.25 * math.log(0.25))
    assert information(coin_toss(), full(coin_toss())) == pytest.approx(entropy, abs=1e-15)
    assert information(coin_toss(), null(coin_toss())) == 0


def test_a_floor_on_the_risk_of_eve_has_a_bound() -> None:
    bridge = to_cvxpy(coin_toss(), 0)
    floor = bridge.solve([bridge.eve_risk >= 3 / 8])
    check(floor)
    assert floor.value == pytest.approx(23 / 80, abs=ACCURACY)
    with pytest.raises(InputError, match="infeasible"):
        bridge.solve([bridge.eve_risk >= 4 / 5])


def test_several_eves_and_a_state_that_never_occurs_are_allowed() -> None:
    rng = np.random.default_rng(3)
    p = np.append(rng.dirichlet(np.ones(5)), 0.0)
    eves = [Agent(rng.random((6, 2)), name="one"), Agent(rng.random((6, 3)), name="two", weight=0.5)]
    problem = Problem(p, bobs=[Agent(rng.random((6, 3)))], eves=eves)
    bridge = to_cvxpy(problem, 0.4)
    assert bridge.solve().value == pytest.approx(solve(problem, 0.4).value, abs=ACCURACY)
    check(bridge.solve(max_kl=0.15))


def test_a_cap_on_the_divergence_from_the_prior_is_met() -> None:
    bridge = to_cvxpy(coin_toss(), LAM)
    caps = [bridge.kl_from_prior(i) <= 0.1 * bridge.signal_probability[i] for i in range(2)]
    found = bridge.solve([*caps, *bridge.obedience])
    assert found.violation < 1e-7
    for s in evaluate(coin_toss(), found.mechanism).signals:
        pairs = zip(coin_toss().prior, s.posterior.values(), strict=True)
        assert sum(float(p) * math.log(float(p / q)) for p, q in pairs) <= 0.1 + 1e-6
    assert 0.075 < found.value < 0.25


def test_two_hundred_states_are_solved_to_a_small_gap() -> None:
    found = to_cvxpy(random_problem(0, 200, 5, 5), "calibrated").solve(max_kl=0.1)
    check(found)


def test_lam_may_be_a_parameter() -> None:
    price = cp.Parameter(nonneg=True)
    bridge = to_cvxpy(coin_toss())
    program = cp.Problem(cp.Minimize(bridge.alice(price)), bridge.constraints)
    limited = cp.Problem(cp.Minimize(bridge.alice(price)), [*bridge.constraints, bridge.mutual_information <= 0.1])
    assert all(one.is_dcp(dpp=True) for one in (program, limited))  # compiled once for every lambda
    for lam in (0.05, 0.2, 0.4):
        price.value = lam
        assert program.solve(solver=cp.CLARABEL) == pytest.approx(solve(coin_toss(), lam).value, abs=ACCURACY)


def test_wrong_arguments_are_refused() -> None:
    bridge = to_cvxpy(coin_toss())
    with pytest.raises(InputError, match="lam must be given"):
        bridge.solve()
    with pytest.raises(InputError, match="channel has no value"):
        bridge.mechanism()
    with pytest.raises(InputError, match=r"max_kl = .* must be at most 1e300"):
        bridge.solve(lam=1, max_kl=10**400)
    assert bridge.solve(lam=1, max_kl=1e299).value == bridge.solve(lam=1).value  # no posterior is as far
    with pytest.raises(InputError, match="max_kl = -1"):
        bridge.solve(lam=1, max_kl=-1)
    with pytest.raises(InputError, match="non-negative"):
        bridge.alice(cp.Parameter())
    with pytest.raises(cp.DCPError):  # a cap on a concave function is not convex
        bridge.solve([bridge.eve_risk <= 0.1], lam=1)


OWN = {
    "a limit on a signal": lambda b: [b.signal_probability[0] <= 0.2, *b.obedience],
    "two states alike": lambda b: [b.channel[0] == b.channel[1]],
    "every signal possible": lambda b: [b.channel >= 0.04, *b.obedience],
    "a floor on the risk": lambda b: [b.eve_risk >= 0.9 * float(b.eve_risk_of_null)],
    "a floor through t": lambda b: [b.cp.sum(b.t) >= 0.9 * float(b.eve_risk_of_null)],
    "states close to each other": lambda b: [b.cp.sum_squares(b.channel[0] - b.channel[1]) <= 0.05, *b.obedience],
    "a divergence": lambda b: [b.kl_to_prior(i) <= 0.05 * b.signal_probability[i] for i in range(3)],
    "an expectation": lambda b: [b.bob_risk <= 0.9 * float(b.bob_risk_of_null)],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_constraints_of_the_caller_have_a_close_bound(kind: str, seed: int) -> None:
    problem = random_problem(seed, 5)
    bridge = to_cvxpy(problem, 1.0)
    blind = evaluate(problem, null(problem))
    bridge.eve_risk_of_null, bridge.bob_risk_of_null = blind.eve, blind.bob  # type: ignore[attr-defined]
    found, free = bridge.solve(OWN[kind](bridge)), solve(problem, 1.0)
    assert found.bound >= free.bound
    assert found.violation < 1e-6
    curved = kind in ("states close to each other", "a divergence")  # a tangent at a rare signal is a rough one
    assert -1e-7 <= found.gap < max(1e-6, 0.2 * (found.value - free.bound) if curved else 0.0)


@pytest.mark.slow
def test_a_bound_is_never_below_the_unconstrained_one() -> None:
    for seed in range(6):
        problem = random_problem(seed, 4, 2, 2)
        bridge, free = to_cvxpy(problem, 2.0), solve(problem, 2.0)
        own = bridge.cp.Variable(nonneg=True)
        for constraints in (
            [bridge.channel[0, 0] <= 0.3],
            [bridge.channel[0, 0] + own == 0.5],
            [bridge.cp.norm(bridge.channel[0] - bridge.channel[1], 1) <= 0.5],
            [bridge.channel[0, 0] >= 0.9, bridge.channel[1, 0] <= 0.1],
        ):
            found = bridge.solve(constraints)
            assert found.bound >= free.bound
            assert found.value >= found.bound - 1e-7
        assert bridge.solve(max_kl=0.05).bound >= free.bound


def test_linear_constraints_agree_with_an_independent_program() -> None:
    """Bob told i, random rows A q <= a that the null release meets, in scipy: bound and optimum agree."""
    from scipy.optimize import linprog

    rng = np.random.default_rng(7)
    for seed in range(8):
        problem = random_problem(seed, 4, 2, 3)
        (N, b, e), p = problem.shape, problem.p
        rows, even = rng.normal(size=(2, N, b)), np.full((N, b), 1 / b)
        limits = (rows * even).sum(axis=(1, 2)) + 0.02
        bridge = to_cvxpy(problem, 1.0)
        own = [bridge.cp.sum(bridge.cp.multiply(row, bridge.channel)) <= a for row, a in zip(rows, limits, strict=True)]
        found = bridge.solve(own)
        cost = np.append((p[:, None] * problem.B).ravel(), -np.ones(b))
        A = [np.append(row.ravel(), np.zeros(b)) for row in rows]
        for i, j in product(range(b), range(e)):
            row = np.zeros((N, b))
            row[:, i] = -p * problem.E[:, j]
            A.append(np.append(row.ravel(), np.eye(b)[i]))
        sums = np.hstack([np.kron(np.eye(N), np.ones(b)), np.zeros((N, b))])
        bounds = [(0, None)] * (N * b) + [(None, None)] * b
        best = linprog(cost, A, np.append(limits, np.zeros(b * e)), sums, np.ones(N), bounds, method="highs")
        told = best.fun
        assert found.bound <= told + 1e-7
        obeyed = found.value > told - 1e-6
        assert found.bound >= (told - 1e-6 if obeyed else solve(problem, 1.0).bound)


def test_agents_with_beliefs_of_their_own_are_refused() -> None:
    own = Problem([0.5, 0.5], bobs=[Agent([[0, 1], [1, 0]])], eves=[Agent([[0, 1], [1, 0]], prior=[0.2, 0.8])])
    with pytest.raises(InputError, match="to_cvxpy needs agents who share"):
        to_cvxpy(own, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("bob", "eve"), [(1e-6, 1.0), (1e7, 1.0), (1.0, 1e-6), (1.0, 1e7)])
def test_the_gap_is_small_on_the_scale_of_the_losses(bob: float, eve: float) -> None:
    plain = random_problem(6, N=33, b=5)
    problem = Problem(plain.p, bob * plain.B, eve * plain.E)
    for cap in (None, 0.3):
        found = to_cvxpy(problem, "calibrated").solve(max_kl=cap)
        assert -1e-12 * bob < found.gap < 1e-6 * bob
