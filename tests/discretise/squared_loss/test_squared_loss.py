"""Squared losses in the Gaussian example: ties against the mean, the bracket against the maximum, linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from gaussian_cases import draw_data
from numpy.polynomial import Polynomial

from bap_lp import InputError, Mechanism, evaluate, solve
from bap_lp.questions.convex.quadratic import quadratic
from discretise.squared_loss import squared_brackets as squared_brackets
from discretise.squared_loss.squared_brackets import max_bracket
from discretise.squared_loss.squared_grids import (
    mean_cells,
    residual_cells,
    residual_variance,
    squared_form,
    squared_grid,
)
from gaussian import GaussianModel
from gaussian.paper import PAPER_MODEL as MODEL


def test_the_cells_have_the_moments_of_both_laws() -> None:
    x, d = mean_cells(MODEL, 30), residual_cells(5, 30)
    for cells, variance in ((x, 1.2), (d, residual_variance(5))):
        assert cells.mass.sum() == pytest.approx(1, abs=1e-13)
        assert cells.mass @ cells.mean == pytest.approx(0, abs=1e-13)
        assert cells.mass @ (cells.mean**2 + cells.variance) == pytest.approx(variance, abs=1e-12)
        assert np.all((cells.edges[:-1] <= cells.mean) & (cells.mean <= cells.edges[1:]))
    # Var max X_i of five normals is Var D + 1/5; tables of normal order statistics give 0.44753 and the mean 1.16296
    assert residual_variance(5) + 0.2 == pytest.approx(0.44753, abs=5e-6)
    assert -d.edges[0] == pytest.approx(1.16296, abs=5e-6)
    assert residual_variance(2) == pytest.approx((1 - 2 / np.pi) / 2, abs=1e-12)  # D = |X_1 - X_2| / 2


@pytest.mark.parametrize("prior_sd", [0.5, 1.0, 2.0])
def test_against_the_mean_every_mechanism_has_the_same_risk(prior_sd: float) -> None:
    model = GaussianModel(5, prior_sd)
    grid = squared_grid(model, "mean", mean_count=30, decisions=21)
    v = prior_sd**2
    r, k = v / (1 + 5 * v), v / (v + 0.2)
    assert grid.lam == pytest.approx(k * k, rel=1e-12)
    rng = np.random.default_rng(0)
    for signals in (1, 2, 7):
        channel = rng.dirichlet(np.ones(signals), len(grid.problem.p))
        assert grid.real_risks(Mechanism(channel)).alice(grid.lam) == pytest.approx(r, abs=1e-12)
        assert float(evaluate(grid.problem, Mechanism(channel)).alice(grid.lam)) == pytest.approx(r, abs=1e-12)
    assert quadratic(*squared_form(model, "mean"), grid.lam).value == pytest.approx(r, abs=1e-12)
    # on proportional grids the ties survive exactly: (k xbar - k g)^2 = lam (xbar - g)^2
    assert grid.bob_grid == pytest.approx(k * grid.eve_grid)
    assert solve(grid.problem, grid.lam).value == pytest.approx(r, abs=1e-8)


def test_the_relaxation_against_the_maximum_has_its_closed_form() -> None:
    """lam = k^2 w/(w + d), relaxation r - lam sqrt(d (d + w)), releasing the mean r - lam d."""
    found = quadratic(*squared_form(MODEL, "max"), "calibrated")
    d, w, k, r = residual_variance(5), 1.2, 5 / 6, 1 / 6
    lam = k * k * w / (w + d)
    assert found.lam == pytest.approx(lam, rel=1e-12)
    assert found.value == pytest.approx(r - lam * np.sqrt(d * (d + w)), abs=1e-12)
    assert found.value == pytest.approx(-0.1779385, abs=1e-7)
    x, resid = found.statistic[0]
    assert x * resid < 0  # leaning on the residual: xbar - c D
    bracket = max_bracket(MODEL, cells=20, strips=20)
    assert bracket.relaxation == pytest.approx(found.value, abs=1e-12)
    assert bracket.mean == pytest.approx(r - lam * d, abs=1e-12)
    assert bracket.mean == pytest.approx(0.0241634, abs=1e-7)
    assert bracket.null == pytest.approx(r, abs=1e-12)


@pytest.mark.slow
def test_the_bracket_against_the_maximum_is_narrow_and_above_the_relaxation() -> None:
    found = max_bracket(MODEL)
    assert found.relaxation < found.lower <= found.upper < found.mean - 0.2
    assert found.upper - found.lower < 1e-4
    assert found.lower == pytest.approx(-0.17609, abs=2e-5)
    assert found.upper == pytest.approx(-0.17604, abs=1e-5)
    assert found.lower - found.relaxation > 1e-3  # a normal D would do better: the closed form is out of reach
    # more cells, a larger lower bound
    coarser = [max_bracket(MODEL, cells=c, strips=50).lower for c in (50, 100, 200)]
    assert coarser == sorted(coarser)
    assert coarser[-1] <= found.lower


@pytest.mark.slow
@pytest.mark.parametrize(("n", "prior_sd", "lam"), [(2, 1.0, "calibrated"), (5, 0.3, "calibrated"), (20, 2.0, 0.3)])
def test_the_bracket_is_ordered_at_other_parameters(n: int, prior_sd: float, lam: float | str) -> None:
    found = max_bracket(GaussianModel(n, prior_sd), lam, cells=300)
    assert found.relaxation - 1e-12 <= found.lower <= found.upper <= min(found.mean, found.null) + 1e-12
    assert found.upper - found.lower < 2e-3
    assert quadratic(*squared_form(GaussianModel(n, prior_sd), "max"), found.lam).value == pytest.approx(
        found.relaxation, abs=1e-10
    )


def test_the_strips_attain_the_upper_bound_on_simulated_data() -> None:
    """200,000 data sets never on a grid: S estimated from the strips, R_A within five standard errors of upper."""
    found = max_bracket(MODEL, cells=50, strips=40)
    theta, x = draw_data(MODEL, np.random.default_rng(1), 200_000)
    strip = found.release(x)
    assert strip.min() >= 0
    assert strip.max() < found.strips
    loss = []
    for target in (theta, x.max(axis=1)):
        mean = np.bincount(strip, target, 40) / np.maximum(np.bincount(strip, minlength=40), 1)
        loss.append((target - mean[strip]) ** 2)
    alice = loss[0] - found.lam * loss[1]
    assert alice.mean() == pytest.approx(found.upper, abs=5 * alice.std() / np.sqrt(len(alice)))


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "decisions"), [((24, 12), 21), ((30, 20), 25)])
def test_the_linear_program_agrees_with_the_bracket(cells: tuple[int, int], decisions: int) -> None:
    """lower <= R_A with real decisions <= LP + lam (what the grid costs Eve), and both beat every noisy mean."""
    grid = squared_grid(MODEL, "max", mean_count=cells[0], residual_count=cells[1], decisions=decisions)
    bracket = max_bracket(MODEL, cells=200, strips=50)
    solution = solve(grid.problem, grid.lam)
    real = grid.real_risks(solution.mechanism)
    excess = float(solution.risks.eve) - float(real.eve)
    assert excess >= -1e-12
    assert bracket.lower <= real.alice(grid.lam) <= float(solution.value) + grid.lam * excess + 1e-12
    assert real.alice(grid.lam) < -0.155
    assert abs(float(solution.value) - bracket.upper) < 0.02
    assert solution.gap < 1e-9
    # D is what the release leans on: recommended estimates rise with xbar and fall with D
    shown = np.asarray(solution.mechanism.channel, float) @ np.array([float(s) for s in solution.mechanism.signals])
    slope = np.linalg.lstsq(grid.mean * np.sqrt(grid.problem.p)[:, None], shown * np.sqrt(grid.problem.p), rcond=None)[
        0
    ]
    assert slope[0] > 0 > slope[1]


def test_a_bad_argument_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="eve = 'median'"):
        squared_form(MODEL, "median")
    with pytest.raises(InputError, match="decisions"):
        squared_grid(MODEL, "max", decisions=1)
    with pytest.raises(InputError, match="n = 1"):
        max_bracket(GaussianModel(1, 1.0))
    with pytest.raises(InputError, match="lam = -1"):
        max_bracket(MODEL, -1)
    with pytest.raises(InputError, match="lam"):
        max_bracket(MODEL, "cheap")
    with pytest.raises(InputError, match=r"x has shape \(1, 4\)"):
        max_bracket(MODEL, cells=20, strips=20).release([1.0, 2.0, 3.0, 4.0])
    with pytest.raises(InputError, match="cells, strips, knots"):
        max_bracket(MODEL, cells=3)


@pytest.mark.slow
def test_the_table_of_the_page_on_squared_losses_is_right() -> None:
    grid = squared_grid(MODEL, "max", mean_count=40, residual_count=24, decisions=21)
    assert grid.real_risks(solve(grid.problem, grid.lam).mechanism).alice(grid.lam) == pytest.approx(-0.16559, abs=1e-3)
    form, fine_cells = squared_form(MODEL, "max"), residual_cells(5, 1500)
    S = quadratic(*form, "calibrated").posterior_covariance
    slope = S[0].sum() / (S[0, 0] * 5 / 6)  # m' of the closed form
    lines = squared_brackets._lines(5 / 6, grid.lam, Polynomial([0, slope]), 4.0, 1500)
    parallel = squared_brackets._strip_risks(
        MODEL, lines(fine_cells.mean), fine_cells, 5 / 6, 1.2, residual_variance(5)
    )
    assert slope == pytest.approx(0.849, abs=5e-4)
    assert parallel.alice(grid.lam) == pytest.approx(-0.1723, abs=1e-4)
    fine = max_bracket(MODEL, cells=1200, knots=81, strips=2000)
    assert -0.17606 < fine.lower < -0.17605
    assert -0.176042 < fine.upper < -0.17604
