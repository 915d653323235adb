"""Where several mechanisms are optimal, every way to the answer shows the same one."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from bap_lp import Mechanism, Problem, lambda_path, solve, verify

TIED = ("zero_one", "small", "ordinary")


def same(first: Mechanism, second: Mechanism) -> bool:
    return first.signals == second.signals and bool((first.q == second.q).all())


@pytest.mark.parametrize("eve", [[[1, 0], [1, 0]], [[1], [2]], [[0, 1], [1, 0]]])
@pytest.mark.parametrize("bob", [[[0, 0], [0, 0]], [[1, 0, 0], [1, 0, 0]], [[0, 1], [1, 0]]])
def test_floats_show_one_mechanism_too_where_releasing_nothing_is_optimal(bob: Any, eve: Any) -> None:
    problem = Problem([0.75, 0.25], bob, eve)
    path = lambda_path(problem)
    for lam in (0.0, 0.5, 2.0, 1000.0):
        if lam not in path.breakpoints:
            assert same(solve(problem, lam).mechanism, path.piece(lam).mechanism)


def large(kind: str, N: int, b: int, e: int, seed: int) -> Problem:
    draw = np.random.default_rng(seed).integers
    top = 2 if kind == "zero_one" else 4
    tables = [[[F(int(draw(top))) for _ in range(k)] for _ in range(N)] for k in (b, e)]
    return Problem([F(1, N)] * N, *tables)


@pytest.mark.parametrize("kind", ["zero_one", "integers"])
@pytest.mark.parametrize(("states", "seed"), [(20, 0), (90, 0), (90, 1), (400, 2)])
def test_large_problems_with_many_optima_show_the_mechanism_of_the_path(kind: str, states: int, seed: int) -> None:
    """Small programs go to the simplex method, large ones to an interior point: the choice is the same."""
    problem = large(kind, states, 5, 4, seed)
    best = solve(problem, "1/2")
    assert same(best.mechanism, lambda_path(problem).piece("1/2").mechanism)
    assert verify(problem, best.certificate)


def test_among_optimal_mechanisms_the_most_private_is_chosen() -> None:
    # Bob is indifferent between everything, so the least R_B leaves all mechanisms and the largest R_E the null one
    problem = Problem(["1/2", "1/2"], [[1, 1], [1, 1]], [[0, 1], [1, 0]])
    best = solve(problem, 0)
    assert (best.risks.bob, best.risks.eve) == (1, F(1, 2))
