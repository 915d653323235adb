"""Gridded models against closed forms: Gaussian, Beta-Binomial, Gamma-Poisson; cells applied to data off the grid."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy import stats

from bap_lp import InputError, Mechanism, Problem, evaluate, solve
from bap_lp.model.calibration import extremes
from discretise.extensions import CellRule, dual_choice
from discretise.losses import absolute, asymmetric, squared, zero_one
from discretise.models import GriddedProblem, model
from gaussian import Full, MeanEve, Null, OneBit, calibrate, risks
from gaussian.paper import PAPER_MODEL as GAUSSIAN

EVE = MeanEve(0.5)
TAU = 0.3


def xbar_given(theta: Any) -> Any:
    return stats.norm(theta, 1 / np.sqrt(5))


def gaussian_model(cells: int = 40, theta_cells: int = 30, **keywords: Any) -> GriddedProblem:
    edges = [float(GAUSSIAN.bit_threshold(TAU)), float(GAUSSIAN.bit_threshold(0.5))]
    return model(
        stats.norm(0, 1), xbar_given, zero_one(0.0), zero_one(0.5), bob_decisions=[0, 1], eve_decisions=[0, 1],
        data_cells=cells, edges=edges, theta_cells=theta_cells, **keywords,
    )  # fmt: skip


@pytest.mark.parametrize(("theta_cells", "nodes", "least"), [(10, 1, 1e-3), (100, 1, 1e-5), (100, 4, 1e-9)])
def test_the_gaussian_releases_have_their_risks_within_the_stated_error(
    theta_cells: int, nodes: int, least: float
) -> None:
    gridded = gaussian_model(theta_cells=theta_cells, theta_nodes=nodes)
    assert gridded.bob_error > least / 100  # the coarse grids do have an error to state
    (bob_full, eve_full), (bob_null, eve_null) = extremes(gridded)
    above = gridded.edges[:-1] >= GAUSSIAN.bit_threshold(TAU)
    bit = Mechanism(np.stack([~above, above], axis=1).astype(float))
    found = evaluate(gridded, bit)
    exact = [risks(GAUSSIAN, EVE, release) for release in (Full(), Null(), OneBit(TAU))]
    for (bob, eve), truth in zip(
        [(bob_full, eve_full), (bob_null, eve_null), (found.bob, found.eve)], exact, strict=True
    ):
        assert float(bob) == pytest.approx(truth.bob, abs=gridded.bob_error + 1e-12)
        assert float(eve) == pytest.approx(truth.eve, abs=gridded.eve_error + 1e-12)


def test_finer_cells_lower_the_value_towards_the_gaussian_optimum() -> None:
    """Cells are mechanisms: the value falls towards the optimum -0.18542, never below it."""
    lam = calibrate(GAUSSIAN, EVE)
    values = [float(solve(gaussian_model(cells), lam).value) for cells in (5, 20, 80)]
    assert values == sorted(values, reverse=True)
    assert -0.1854201 < values[-1] < -0.1853


@pytest.mark.slow
def test_squared_and_absolute_losses_of_a_gaussian_have_their_closed_forms() -> None:
    """theta|xbar ~ N(k xbar, r): averaged over a cell, B = (i - k xbar)^2 + r, in closed form from two moments."""
    grid = np.linspace(-2, 2, 9)
    gridded = model(
        stats.norm(0, 1), xbar_given, "squared", "absolute", bob_decisions=grid, eve_decisions=grid, data_cells=12
    )
    sd, k, r = GAUSSIAN.xbar_sd, 5 / 6, 1 / 6
    z = gridded.edges / sd
    density = stats.norm.pdf(z)
    mass = np.diff(stats.norm.cdf(z))
    mean = -sd * np.diff(density) / mass
    second = sd**2 * (1 - np.diff(np.where(np.isfinite(z), z, 0.0) * density) / mass)
    B = grid**2 - 2 * k * np.outer(mean, grid) + (k**2 * second + r)[:, None]
    assert gridded.p == pytest.approx(mass, abs=1e-9)
    assert np.abs(mass[:, None] * (gridded.B - B)).max(axis=1).sum() <= gridded.bob_error
    assert gridded.bob_error < 1e-5
    # E|X - j| over a cell: split at j, each side from the same two moments
    for j in (0, 4, 8):
        cut = np.sort(np.append(gridded.edges, grid[j]))
        part = np.diff(stats.norm.cdf(cut / sd))
        first = -sd * np.diff(stats.norm.pdf(cut / sd))
        signed = np.abs(first - grid[j] * part)
        cell = np.searchsorted(gridded.edges[1:-1], cut[1:])
        whole = np.bincount(np.minimum(cell, len(mass) - 1), signed, len(mass))
        assert np.abs(gridded.E[:, j] * mass - whole).sum() <= gridded.eve_error
    assert gridded.eve_error < 1e-5


def test_a_beta_binomial_model_has_its_closed_form() -> None:
    a, b, n = 2.0, 3.0, 10
    x, grid = np.arange(n + 1), np.linspace(0, 1, 11)
    gridded = model(
        stats.beta(a, b), lambda t: stats.binom(n, t), squared, "0-1", bob_decisions=grid, eve_decisions=x,
        theta_cells=150,
    )  # fmt: skip
    posterior = stats.beta(a + x, b + n - x)
    B = (grid - posterior.mean()[:, None]) ** 2 + posterior.var()[:, None]
    assert gridded.shape == (11, 11, 11)
    assert gridded.p == pytest.approx(stats.betabinom(n, a, b).pmf(x), abs=1e-7)
    assert np.abs(gridded.B - B).max() < 1e-6
    assert np.abs(gridded.p[:, None] * (gridded.B - B)).max(axis=1).sum() <= gridded.bob_error
    assert np.array_equal(gridded.E, 1.0 - np.eye(11))


def test_under_asymmetric_loss_the_best_decision_is_a_posterior_quantile() -> None:
    """Under full release Bob's best decision is the under/(over + under) quantile of theta|x, within a grid step."""
    grid = np.linspace(0, 1, 101)
    gridded = model(
        stats.beta(2, 3), lambda t: stats.binom(6, t), asymmetric(3, 1), absolute, bob_decisions=grid,
        eve_decisions=[0, 3, 6],
    )  # fmt: skip
    best = grid[gridded.B.argmin(axis=1)]
    assert best == pytest.approx(stats.beta(2 + np.arange(7), 9 - np.arange(7)).ppf(1 / 4), abs=0.006)


def test_a_gamma_poisson_model_has_its_closed_form_and_can_be_grouped() -> None:
    grid = np.linspace(0, 12, 25)
    gridded = model(stats.gamma(3), stats.poisson, "squared", zero_one(2.5), bob_decisions=grid, eve_decisions=[0, 1])
    x = np.arange(len(gridded.p))
    assert gridded.p == pytest.approx(stats.nbinom(3, 0.5).pmf(x), abs=1e-7)
    mean = (3 + x[:12]) / 2  # theta|x ~ Gamma(3 + x, rate 2)
    assert gridded.B[:12] == pytest.approx((grid - mean[:, None]) ** 2 + (mean / 2)[:, None], abs=1e-3)
    grouped = model(
        stats.gamma(3), stats.poisson, "squared", zero_one(2.5), bob_decisions=grid, eve_decisions=[0, 1], data_cells=4
    )
    assert len(grouped.p) <= 6
    assert 2.5 in grouped.edges
    assert np.isin(grouped.E, [0.0, 1.0]).all()  # no cell straddles Eve's threshold
    assert grouped.p[grouped.cell(0)] == pytest.approx(gridded.p[x <= grouped.edges[1]].sum(), abs=1e-10)
    assert solve(grouped, 0.5).value >= float(solve(gridded, 0.5).value) - 1e-9


def test_a_finite_theta_is_exact_and_agrees_with_the_table() -> None:
    def likelihood(theta: float) -> Any:
        return stats.binom(4, 0.2 if theta < 0.5 else 0.7)  # takes one theta at a time

    gridded = model(([0, 1], ["1/3", "2/3"]), likelihood, "0-1", "0-1", bob_decisions=[0, 1], eve_decisions=range(5))
    direct = Problem.from_model(
        [1 / 3, 2 / 3], [stats.binom(4, q).pmf(range(5)) for q in (0.2, 0.7)], 1.0 - np.eye(2), 1.0 - np.eye(5)
    )
    assert (gridded.bob_error, gridded.eve_error) == (0, 0)
    assert gridded.p == pytest.approx(direct.p, abs=1e-14)
    assert np.abs(gridded.B - direct.B).max() < 1e-14
    assert gridded.theta is not None
    assert solve(gridded, 0.7).value == pytest.approx(float(solve(direct, 0.7).value), abs=1e-12)


def test_a_discrete_prior_and_a_tabulated_likelihood_keep_their_atoms() -> None:
    law = stats.rv_discrete(values=([1, 2, 7], [0.5, 0.25, 0.25]))
    gridded = model(
        stats.binom(3, 0.4), lambda t: law, "absolute", "0-1", bob_decisions=[0, 1, 2, 3], eve_decisions=[1, 2, 7]
    )
    assert gridded.p == pytest.approx([0.5, 0.25, 0.25])
    assert gridded.points.values.tolist() == [0, 1, 2, 3]
    assert np.ptp(gridded.B, axis=0).max() < 1e-15  # the data say nothing about theta
    assert gridded.cell([1, 2, 7, 4]).tolist() == [0, 1, 2, 1]


def test_the_rule_applies_to_data_off_the_grid() -> None:
    gridded = gaussian_model(50)
    solution = solve(gridded, calibrate(GAUSSIAN, EVE))
    rule = CellRule(gridded, solution)
    rng = np.random.default_rng(3)
    x = rng.normal(0, GAUSSIAN.xbar_sd, 200_000)
    rows = rule(x)
    assert np.array_equal(rows, np.asarray(solution.mechanism.channel, dtype=float)[gridded.cell(x)])
    # the middle of a cell, where no state of the grid lies, gets its row
    inner = (gridded.edges[1:-2] + gridded.edges[2:-1]) / 2
    assert gridded.cell(inner).tolist() == list(range(1, len(gridded.p) - 1))
    # simulated risks of the rule are those of the solution
    said = rng.random(len(x)) < rows[:, rule.signals.index("1")]
    posterior = GAUSSIAN.bob_posterior(x)
    bob = np.where(said, 1 - posterior, posterior)
    assert bob.mean() == pytest.approx(solution.risks.bob, abs=5 * bob.std() / np.sqrt(len(x)))
    assert rule.release(3.0, random.Random(1)) == "1"
    assert rule.release(-3.0, random.Random(1)) == "0"


def test_the_pointwise_rule_follows_the_cells_where_its_margin_is_clear() -> None:
    gridded = gaussian_model(50)
    rule = CellRule(gridded, solve(gridded, calibrate(GAUSSIAN, EVE)))
    u = np.asarray(rule.solution.certificate.u, dtype=float)
    states, margin = dual_choice(u, gridded.B, gridded.E)
    clear = margin > 1e-3
    assert np.array_equal(states[clear], np.asarray(rule.solution.mechanism.channel, float).argmax(axis=1)[clear])
    x = np.linspace(-3, 3, 1001)
    choice, _ = rule.pointwise(x)
    assert (choice != states[gridded.cell(x)]).mean() < 0.02  # they differ inside a cell that the threshold cuts
    B, E = gridded.losses(x)
    assert B[:, 1] == pytest.approx(1 - GAUSSIAN.bob_posterior(x), abs=1e-9)
    assert np.array_equal(E[:, 0], (x > 0.5).astype(float))


@pytest.mark.slow
def test_a_loss_may_be_any_function() -> None:
    def capped(target: Any, decision: Any) -> Any:
        return np.minimum((target - decision) ** 2, 1.0)

    gridded = model(
        stats.uniform(-1, 2), lambda t: stats.laplace(t), capped, capped, bob_decisions=[-0.5, 0, 0.5],
        eve_decisions=[-1, 0, 1], data_cells=20,
    )  # fmt: skip
    assert gridded.bob_error < 1e-4
    assert float(gridded.B.max()) <= 1
    assert solve(gridded, 0.5).gap < 1e-9


BASE: dict[str, Any] = {"bob_decisions": [0, 1], "eve_decisions": [0, 1]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        ((3, xbar_given, "0-1", "0-1"), BASE, "prior = 3 must be"),
        ((([0, 1], [0.5, 0.6]), xbar_given, "0-1", "0-1"), BASE, "sum of prior weights"),
        ((([0, 1, 2], [0.5, 0.5]), xbar_given, "0-1", "0-1"), BASE, "3 values and 2 weights"),
        ((stats.norm(), lambda t: t, "0-1", "0-1"), BASE, "must be a frozen"),
        ((stats.norm(), xbar_given, "0-2", "0-1"), BASE, "bob_loss = '0-2'"),
        ((stats.norm(), xbar_given, "0-1", lambda t, d: d - t), BASE, "must be finite and not negative"),
        ((stats.norm(), xbar_given, "0-1", lambda t, d: 1.0), BASE, "gave shape"),
        ((stats.norm(), xbar_given, "0-1", "0-1"), {**BASE, "theta_cells": 0}, "theta_cells = 0"),
        ((stats.norm(), xbar_given, "0-1", "0-1"), {**BASE, "data_cells": 2.5}, "data_cells = 2.5"),
        ((stats.norm(), xbar_given, "0-1", "0-1"), {**BASE, "edges": [np.nan]}, "edges"),
        ((stats.norm(), xbar_given, "0-1", "0-1"), {**BASE, "theta_edges": ["a"]}, "theta_edges = .* must be finite"),
        ((stats.norm(), xbar_given, "0-1", "0-1"), {**BASE, "bob_decisions": ["no"]}, "bob_decisions = .* must be"),
        (((["a", "b"], [0.5, 0.5]), xbar_given, "0-1", "0-1"), BASE, "prior values = .* must be finite numbers"),
        ((([0, 1], [0.5, 0.5]), lambda t: stats.norm(t) if t else stats.poisson(3), "0-1", "0-1"), BASE, "atoms for"),
        ((stats.norm(), xbar_given, "0-1", "0-1"), {**BASE, "eve_decisions": [1, 1]}, "distinct"),
        ((stats.norm(), xbar_given, "0-1", "0-1"), {**BASE, "theta_nodes": None}, "theta_nodes must be an integer"),
        ((stats.norm(), xbar_given, "0-1", "0-1"), {**BASE, "title": 3}, "title must be text, is of type int"),
    ],
)
def test_a_bad_argument_of_model_is_refused_by_name(arguments: Any, keywords: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        model(*arguments, **keywords)


def test_bad_losses_data_and_solutions_are_refused() -> None:
    with pytest.raises(InputError, match="increasing"):
        zero_one(1, 0)
    with pytest.raises(InputError, match=r"thresholds = .* must be finite and increasing"):
        zero_one("a")  # type: ignore[arg-type]
    for over in (-1, "a", None):
        with pytest.raises(InputError, match=r"over = .* must be finite and not negative"):
            asymmetric(over, 1)  # type: ignore[arg-type]
    gridded = gaussian_model(5)
    with pytest.raises(InputError, match="x = nan"):
        gridded.cell(float("nan"))
    with pytest.raises(InputError, match="must solve"):
        CellRule(gridded, solve(gaussian_model(6), 1.0))


def test_a_law_that_scipy_can_only_sum_is_refused_at_once_under_a_continuous_prior():
    with pytest.raises(InputError, match="likelihood = 'zipf' has no closed distribution function"):
        model(
            stats.beta(2, 3),
            lambda share: stats.zipf(3 + share),
            zero_one(0.4),
            zero_one(1),
            bob_decisions=[0, 1],
            eve_decisions=[0, 1],
        )


@pytest.mark.slow
@pytest.mark.parametrize("loss", [absolute, squared])
def test_quantiles_that_scipy_cannot_compute_are_refused_with_another_way(loss: Any) -> None:
    """Far out, quantiles of invgauss are wrong by powers of ten, or end in an error; its risks are finite."""
    grid = [0.5, 1.0, 3.0]
    with pytest.raises(InputError, match=r"has quantiles that scipy\.stats cannot compute: use discretise\.sample"):
        model(stats.gamma(2), stats.invgauss, loss, loss, bob_decisions=grid, eve_decisions=grid)
