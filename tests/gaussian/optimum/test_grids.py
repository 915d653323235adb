"""Grids: the optimum of the linear program is attained on real data, never below the bracket, and decreases to it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bap_lp import InputError, Problem, solve
from discretise import bracket, grid, grid_rule, refine
from gaussian import BothEves, Eve, GaussianEves, GaussianModel, MaxEve, MeanEve, MedianEve, RecordEve, calibrate
from gaussian.paper import PAPER_MODEL as PAPER

SKEWED = GaussianModel(4, 1.2, 0.3, bob_loss=(2.0, 1.0))
CASES: list[tuple[GaussianModel, Eve, float | None]] = [
    (PAPER, MeanEve(0.5), None),
    (PAPER, MeanEve(0.1), 0.9),
    (PAPER, MaxEve(2.0), None),
    (GaussianModel(5, 1.0, 0.7), MaxEve(1.2), None),
    (PAPER, BothEves(0.5, 2.0), None),
    (PAPER, BothEves(0.2, 1.0), 3.0),
    (GaussianModel(1, 1.0, 0.5), MeanEve(-0.1), 1.0),
    (GaussianModel(9, 0.6, -0.3), BothEves(0.0, 0.9), 10.0),
    (GaussianModel(3, 4.0, 1.0), MeanEve(0.4), 0.7),
    (SKEWED, BothEves(0.3, 1.5, (2.0, 1.0), (1.0, 1.5)), 0.8),
    (SKEWED, MedianEve(0.2), 0.8),
    (SKEWED, GaussianEves((MeanEve(0.1), RecordEve(0.9)), either=True), 0.8),
]


@pytest.mark.parametrize(("model", "eve", "lam"), CASES)
def test_refining_the_grid_lowers_the_optimum_to_the_bracket(model: GaussianModel, eve: Eve, lam: float | None) -> None:
    weight = calibrate(model, eve) if lam is None else lam
    found = bracket(model, eve, weight)
    problem, values = grid(model, eve, cells=40), []
    for _ in range(4):
        solution = solve(problem, weight, exact=False)
        values.append(float(solution.value))
        problem = refine(solution)
    slack = 1e-12 * (1 + weight)
    assert min(values) >= found.lower - slack
    assert max(np.diff(values)) <= slack
    assert values[-1] <= found.upper + 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(("model", "eve", "lam"), CASES[::3])
def test_the_optimum_of_a_grid_is_attained_on_simulated_data(model: GaussianModel, eve: Eve, lam: float | None) -> None:
    weight = calibrate(model, eve) if lam is None else lam
    solution = solve(grid(model, eve, cells=30), weight, exact=False)
    rule = grid_rule(solution)
    assert float(rule.risks().alice(weight)) == pytest.approx(float(solution.value), abs=1e-12 * (1 + weight))
    sample = rule.simulate(100_000, seed=11)
    assert abs(sample.alice(weight) - float(solution.value)) <= 4.5 * sample.alice_error(weight)


@pytest.mark.parametrize("eve", [MeanEve(0.5), MaxEve(2.0), BothEves(0.5, 2.0)])
def test_the_states_keep_the_thresholds_and_the_prior(eve: Eve) -> None:
    problem = grid(PAPER, eve, cells=20)
    assert isinstance(problem, Problem)
    thresholds = [0.5] if isinstance(eve, MeanEve) else [2.0] if isinstance(eve, MaxEve) else [0.5, 2.0]
    for edge in [0.0, *thresholds]:
        assert edge in problem.edges
    assert problem.p.sum() == pytest.approx(1, abs=1e-14)
    assert problem.B.sum(1) == pytest.approx(1, abs=1e-14)
    # averaging keeps the prior: P(theta > c_B) = 1/2
    assert problem.p @ problem.B[:, 0] == pytest.approx(0.5, abs=1e-14)
    assert (problem.E.sum(1) == 1).all()
    own = grid(PAPER, eve, edges=[-1.0, 0.3, math.inf])
    assert set(own.edges.tolist()) == {-math.inf, -1.0, 0.0, 0.3, math.inf, *thresholds}


def test_bad_cells_edges_parts_and_solutions_are_refused() -> None:
    for cells in (0, -3, 2.5, True):
        with pytest.raises(InputError, match="cells"):
            grid(PAPER, MeanEve(0.5), cells=cells)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="edges"):
        grid(PAPER, MeanEve(0.5), edges=[math.nan])
    solution = solve(grid(PAPER, MeanEve(0.5), cells=5), 1.0, exact=False)
    with pytest.raises(InputError, match="parts"):
        refine(solution, parts=1)
    plain = solve(Problem([0.5, 0.5], [[0.0, 1.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]), 1.0)
    with pytest.raises(InputError, match="must be of a problem made by"):
        refine(plain)
