"""Statements of the page on squared losses: what grids cost, linear replies, sizes."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from bap_lp import evaluate, solve
from bap_lp.questions.convex.quadratic import quadratic
from discretise.squared_loss import squared_brackets as brackets
from discretise.squared_loss.squared_brackets import max_bracket
from discretise.squared_loss.squared_grids import residual_variance, squared_form, squared_grid
from gaussian.paper import PAPER_MODEL as MODEL

PAGE = Path(__file__).parents[3] / "docs" / "proofs" / "squared_loss.md"


@pytest.mark.slow
@pytest.mark.parametrize("decisions", [15, 27])
def test_a_grid_of_decisions_costs_at_most_a_quarter_of_its_squared_step(decisions: int) -> None:
    grid = squared_grid(MODEL, "max", mean_count=16, residual_count=10, decisions=decisions, reach=12.0)
    mechanism = solve(grid.problem, grid.lam).mechanism
    told, real = evaluate(grid.problem, mechanism), grid.real_risks(mechanism)
    q = np.asarray(mechanism.q, dtype=float)
    mass = grid.problem.p @ q
    for agent, points, rough, exact in (
        (grid.closed_form.bob, grid.bob_grid, told.bob, real.bob),
        (grid.closed_form.eve, grid.eve_grid, told.eve, real.eve),
    ):
        means = (grid.problem.p * (grid.mean @ np.ravel(agent.target))) @ q / mass
        assert points[0] <= means.min() <= means.max() <= points[-1]  # the grids span the posterior means
        step = points[1] - points[0]
        assert -1e-13 <= float(rough) - float(exact) <= step**2 / 4 + 1e-13


def test_the_best_linear_reply_gives_the_relaxation_and_the_reply_that_was_found_more() -> None:
    """min_a (k x - a)^2 - lam (M - g a)^2 = k^2 x^2 - lam M^2 - (k x - lam g M)^2 / (1 - lam g^2), averaged."""
    w, d, k, r = 1.2, residual_variance(5), 5 / 6, 1 / 6
    lam = k * k * w / (w + d)

    def bound(g: float) -> float:
        spread = (k - lam * g) ** 2 * w + (lam * g) ** 2 * d
        return r + k * k * w - lam * (w + d) - spread / (1 - lam * g * g)

    best = minimize_scalar(lambda g: -bound(g), bounds=(0.1, 1.2), method="bounded", options={"xatol": 1e-10})
    relaxation = quadratic(*squared_form(MODEL, "max"), "calibrated").value
    assert -best.fun == pytest.approx(relaxation, abs=1e-12)
    # C at corners: the same linear reply on knots never proves more, and nearly as much
    knots = np.linspace(-4.0, 4.0, 41)
    found = r + k * k * w - lam * (w + d) + brackets._concave_mean(MODEL, k, lam, knots, best.x * knots, 400)
    assert relaxation - 1e-3 < found < relaxation
    assert max_bracket(MODEL, cells=300, strips=20).lower > relaxation + 1e-3


def test_the_page_says_how_many_strips_and_cells_there_are() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    strips = inspect.signature(max_bracket).parameters["strips"].default
    assert f"cut the data space into {strips} strips" in text
    assert f"with $D$ rounded to one of {brackets._RESIDUAL_CELLS} cells" in text
    assert brackets._ROUNDING == 1e-11
    assert r"$10^{-11}$ of the largest $\lvert C \rvert$ is subtracted for rounding" in text


def test_the_strips_rise_with_the_mean_and_fall_with_the_largest_residual() -> None:
    found = max_bracket(MODEL, cells=50, strips=40)
    x = np.array([[-1.0, -0.5, 0.0, 0.5, 1.0]])
    shifts = np.linspace(-2.0, 2.0, 9)
    assert (np.diff(np.concatenate([found.release(x + s) for s in shifts])) >= 0).all()
    # the same mean, a larger maximum: the others are lowered by as much as it gains
    tops = np.concatenate([found.release(x + s * np.array([-0.25, -0.25, -0.25, -0.25, 1.0])) for s in (0, 1, 2, 3)])
    assert (np.diff(tops) < 0).all()
