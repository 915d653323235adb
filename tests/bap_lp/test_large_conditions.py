"""Large programs under privacy: tiny probabilities are seen, floats have a certified gap, exact answers their proof."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations
from typing import Any

import definitions
import numpy as np
import pytest

from bap_lp import Conditions, Problem, evaluate, solve, verify
from bap_lp.releases import truncated_geometric


def chain(n: int) -> tuple[Problem, Conditions]:
    losses = [[abs(x - i) for i in range(n)] for x in range(n)]
    neighbours = [(x, x + 1) for x in range(n - 1)]
    return Problem([F(1, n)] * n, losses, [[0]] * n), Conditions(exp_epsilon=2, neighbours=neighbours)


@pytest.mark.slow
@pytest.mark.parametrize("n", [15, 36])
def test_a_long_chain_is_solved_exactly_and_in_floats(n: int) -> None:
    """Ghosh, Roughgarden and Sundararajan (2012): the truncated geometric mechanism, remapped, is optimal."""
    problem, conditions = chain(n)
    exact = solve(problem, 0, conditions=conditions)
    assert exact.value == evaluate(problem, truncated_geometric(problem, "1/2")).bob
    assert exact.gap == 0
    assert verify(problem, exact.certificate)
    rough = solve(problem, 0, False, conditions=conditions)
    assert abs(rough.gap) < 1e-9
    assert rough.value == pytest.approx(float(exact.value), abs=1e-9)
    assert verify(problem.as_float(), rough.certificate)


@pytest.mark.slow
def test_a_euclidean_metric_in_floats_agrees_with_scipy() -> None:
    k = 4
    places = [(i, j) for i in range(k) for j in range(k)]
    apart = [[math.dist(a, b) for b in places] for a in places]
    problem = Problem([1 / k**2] * k**2, apart, [[0]] * k**2)
    conditions = Conditions(epsilon=0.7, metric=apart)
    found = solve(problem, 0, conditions=conditions)
    assert abs(found.gap) < 1e-9
    assert found.value == pytest.approx(definitions.least_risk(problem, 0, conditions), abs=1e-7)
    assert verify(problem, found.certificate)


@pytest.mark.slow
def test_many_states_alike_in_pairs_have_the_published_risk() -> None:
    """Ghazi et al. (arXiv 2212.06074): randomised response on the best set of outputs."""
    random, N, b, K = np.random.default_rng(3), 340, 6, 2
    losses, weights = random.integers(0, 60, (N, b)), random.integers(1, 50, N)
    p = weights / weights.sum()
    sets = [list(few) for k in range(1, b + 1) for few in combinations(range(b), k)]
    least = min(
        p @ (losses[:, few].sum(axis=1) + (K - 1) * losses[:, few].min(axis=1)) / (K + len(few) - 1) for few in sets
    )
    problem, conditions = Problem(p, losses.tolist(), [[0]] * N), Conditions(exp_epsilon=K)
    found = solve(problem, 0, conditions=conditions)
    assert found.value == pytest.approx(least, abs=1e-9)
    assert abs(found.gap) < 1e-8
    assert verify(problem, found.certificate)


@pytest.mark.parametrize("distance", [59, 60, 61, 200])
def test_huge_ratios_of_a_metric_are_no_obstacle(distance: int) -> None:
    n = 4
    problem = Problem([F(1, n)] * n, [[abs(x - i) for i in range(n)] for x in range(n)], [[0]] * n)
    conditions = Conditions(exp_epsilon=2, metric=[[distance * abs(x - y) for y in range(n)] for x in range(n)])
    found = solve(problem, 0, conditions=conditions)
    K = F(2) ** distance
    assert 0 < found.value < 4 / K
    assert verify(problem, found.certificate)
    rough = solve(problem, 0, False, conditions=conditions)
    assert rough.gap < 1e-9


EVERY_THIRD, NEXT = list(range(0, 60, 3)), list(range(1, 60, 3))


@pytest.mark.parametrize(
    "given",
    [{"independent_of": [EVERY_THIRD]}, {"pufferfish": {"pairs": [[EVERY_THIRD, NEXT]], "exp_epsilon": 1}}],
    ids=["independence", "pufferfish"],
)
def test_float_rows_that_hold_with_equality_need_no_exact_pivots(given: dict[str, Any]) -> None:
    """0-1 losses: a vertex with many ties, at which exact pivots took a hundred times as long as the solver."""
    draw = np.random.default_rng(0)
    problem = Problem([1 / 60] * 60, draw.integers(0, 2, (60, 6)) * 1.0, draw.integers(0, 2, (60, 4)) * 1.0)
    found = solve(problem, 1.0, conditions=Conditions(**given))
    assert "exact" not in found.method
    assert found.gap < 1e-12
    assert verify(problem, found.certificate).gap == found.gap
