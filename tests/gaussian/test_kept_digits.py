"""What is found is kept: thresholds where tau rounds, stated errors of sampled risks, secure draws, marked optima."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from random import Random
from typing import Any

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")

from matplotlib import pyplot as plt
from scipy.special import ndtr

from bap_cli.main import main
from bap_lp import InputError, solve
from discretise import bracket, grid, grid_rule
from gaussian import BothEves, GaussianModel, MaxEve, MeanEve, NoisyFull, Null, OneBit, decision_effect, optimise, risks
from gaussian.laws.noisy_full import FINAL, SEARCH, Effort, _both_risk, _max_risk, noisy_full_risk, sobol_residuals
from gaussian.numerics.uniforms import uniforms
from gaussian.optimum.grids import equal_parts
from gaussian.paper import PAPER_MODEL as PAPER
from gaussian.plots import _dots, best_of_family, risk_against_noise
from gaussian.releases import NoisyMean, NoisyMedian

STEEP = GaussianModel(5, 5.0, 0.0)


def test_the_best_bit_is_kept_where_its_tau_rounds_to_one() -> None:
    best = optimise(STEEP, MaxEve(0.0), OneBit)
    assert best.parameter == 1.0
    assert best.threshold == pytest.approx(4.55238, abs=1e-5)
    assert best.alice == pytest.approx(-0.1538466, abs=1e-6)
    assert risks(STEEP, MaxEve(0.0), OneBit(1.0, best.threshold)).alice(best.lam) == best.alice


def test_the_best_parametric_release_of_a_bracket_keeps_its_threshold() -> None:
    found = bracket(GaussianModel(100, 1.5, 0.45), MeanEve(-0.3758324094593227), 2)
    best = found.best_parametric
    assert best.mechanism == "one-bit"
    assert best.rounded
    assert best.document()["threshold"] == best.threshold == pytest.approx(1.2791821, abs=1e-6)
    assert best.alice == pytest.approx(found.upper, abs=1e-12)
    assert found.document()["best_parametric"]["threshold"] == best.threshold


@pytest.mark.slow
def test_the_table_tells_the_bit_by_its_threshold(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--eve", "max", "--n", "5", "--prior-sd", "5", "--bob-threshold", "0", "--eve-threshold", "0"]
    assert main(["gaussian", "table", *options]) == 0
    text = capsys.readouterr().out
    assert "t = 4.5524" in text
    assert "-0.153847" in text
    assert "the bit tells whether the sample mean is above t" in text


@pytest.mark.slow
def test_the_stated_error_of_sampled_risks_covers_the_product_rule() -> None:
    # one in a thousand intervals may miss; two standard errors of few scramblings missed one in seven
    small, eve, model = Effort(product=False, log2_points=5, replicates=8), MaxEve(1.5), GaussianModel(3, 1.0, 0.0)
    for sigma in (0.2, 0.5, 0.9, 1.4, 2.0, 3.0):
        exact, slack = noisy_full_risk(model, eve, sigma, FINAL)
        value, error = noisy_full_risk(model, eve, sigma, small)
        assert abs(value - exact) <= error + slack


def test_the_error_of_four_scramblings_is_a_student_interval() -> None:
    model = GaussianModel(6, 1.0, 0.0)
    few, many = (Effort(product=False, log2_points=4, replicates=r) for r in (4, 16))
    value, error = noisy_full_risk(model, MaxEve(2.0), 1.0, few)
    reference, _ = noisy_full_risk(model, MaxEve(2.0), 1.0, many)
    assert abs(value - reference) <= error
    assert risks(model, MaxEve(2.0), NoisyFull(1.0), few).eve_error == error
    assert math.isnan(noisy_full_risk(model, MaxEve(2.0), 1.0, Effort(product=False, log2_points=4, replicates=1))[1])


def test_releases_draw_from_the_secure_source_unless_a_seed_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = grid_rule(solve(grid(GaussianModel(2), MeanEve(0.5), edges=[-0.4, 0.4]), 3.0, exact=False))
    random = [float(p) for row in rule.probabilities for p in row if 0 < p < 1]
    assert random  # the rule randomises, so that its draws matter
    x = np.random.default_rng(0).normal(size=(4000, 2))
    found = bracket(GaussianModel(2), MeanEve(0.5))
    seeded = rule.release(x, 7)
    assert (seeded == rule.release(x, np.random.default_rng(7))).all()
    asked: list[int] = []

    def source(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    def refuse(*_: Any) -> None:
        raise AssertionError("a release must not use a generator that can be predicted")

    monkeypatch.setattr(secrets, "token_bytes", source)
    monkeypatch.setattr(np.random, "default_rng", refuse)
    # the source says 0 every time: 1 is released wherever its probability is positive
    assert (rule.release(x) == (rule(x) > 0)).all()
    assert found.release(x).shape == (4000,)
    assert asked == [32_000, 32_000]


def test_secure_uniforms_are_uniform_and_bad_generators_are_refused() -> None:
    draws = uniforms((100_000,))
    assert draws.min() >= 0
    assert draws.max() < 1
    assert abs(draws.mean() - 0.5) < 0.01
    assert not (draws == uniforms((100_000,))).all()
    for bad in ("7", -1, True, 1.5):
        with pytest.raises(InputError, match="generator"):
            uniforms((2,), bad)


@pytest.mark.parametrize("make", [lambda: 5, lambda: Random(5), lambda: np.random.default_rng(5)])
def test_uniforms_of_a_seed_or_a_generator_are_reproducible(make: Callable[[], Any]) -> None:
    assert uniforms((2, 3), make()).shape == (2, 3)
    assert (uniforms((2, 3), make()) == uniforms((2, 3), make())).all()


@pytest.mark.slow
def test_the_noise_plot_marks_what_the_table_has() -> None:
    eve = MeanEve(0.5)
    ax = risk_against_noise(PAPER, eve)
    marks = sorted(tuple(map(float, line.get_xydata()[0])) for line in ax.lines if line.get_marker() == "o")
    lam = float(bracket(PAPER, eve).lam)
    best = [optimise(PAPER, eve, family, lam=lam) for family in (NoisyFull, NoisyMean, NoisyMedian)]
    assert np.array(marks) == pytest.approx(np.array(sorted((b.parameter, b.alice) for b in best)), abs=1e-9)
    assert max(marks)[0] == pytest.approx(3.0405, abs=1e-4)
    assert best_of_family(PAPER, eve, NoisyFull, lam) is best_of_family(PAPER, eve, NoisyFull, lam)
    plt.close("all")


def test_dots_at_one_place_are_rings_of_different_sizes() -> None:
    figure, ax = plt.subplots()
    ax.plot([0, 1], [0, 1])
    _dots(ax, [(0.5, 0.5, "red"), (0.5, 0.5, "blue"), (0.5, 0.5, "green"), (0.9, 0.1, "black")])
    sizes = [line.get_markersize() for line in ax.lines if line.get_marker() == "o"]
    assert sizes[0] > sizes[1] > sizes[2] == sizes[3]
    orders = [line.get_zorder() for line in ax.lines if line.get_marker() == "o"]
    assert orders == sorted(orders)
    plt.close(figure)


@pytest.mark.parametrize("bob", [-40.0, 40.0])
def test_a_decision_that_is_never_taken_tells_eve_nothing(bob: float) -> None:
    effect = decision_effect(GaussianModel(5, 1.0, bob), MaxEve(2.0))
    assert np.isfinite([*effect.kappa, *effect.lost_band]).all()


def test_an_interval_far_on_the_right_is_cut_as_its_mirror_image() -> None:
    low, high = np.array([7.9, -0.4, 9.0]), np.array([8.2, 0.7, math.inf])
    right, left = equal_parts(low, high, 4), equal_parts(-high, -low, 4)
    assert right == pytest.approx(-left[:, ::-1], rel=1e-12)
    assert (np.diff(right) > 0).all()
    inside = np.concatenate([low[:1], right[0], high[:1]])
    assert np.diff(ndtr(-inside)) == pytest.approx((ndtr(-8.2) - ndtr(-7.9)) / 4, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 100])
@pytest.mark.parametrize("eve", [MaxEve(2.0), BothEves(0.5, 2.0)])
def test_with_noise_that_hides_everything_eve_is_left_with_the_risk_of_the_null_release(n, eve):
    # the rules along u, y and d must be fine enough for laws that grow steeper with n
    model, residuals = GaussianModel(n, 1.0, 0.0), sobol_residuals(n, 3, 1)[0]
    hidden = residuals / 1e6
    given = (
        _max_risk(model, eve, 1e6, hidden) if isinstance(eve, MaxEve) else _both_risk(model, eve, 1e6, hidden, FINAL)
    )
    assert np.abs(given[0] - risks(model, eve, Null()).eve).max() < 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("n", [2, 30])
@pytest.mark.parametrize("sigma", [0.3, 3.0])
def test_finer_rules_do_not_move_the_risk_of_a_noisy_full_release(n, sigma, monkeypatch):
    model, eve, hidden = GaussianModel(n, 1.0, 0.0), BothEves(0.5, 2.0), sobol_residuals(n, 5, 1)[0]
    hidden = hidden / math.hypot(1.0, sigma)
    coarse = _both_risk(model, eve, sigma, hidden, FINAL)[0].mean()
    monkeypatch.setattr("gaussian.laws.noisy_full._Y_NODES", 1000)
    fine = _both_risk(model, eve, sigma, hidden, Effort(cdf_nodes=100, path_points=45))[0].mean()
    assert abs(coarse - fine) < 1e-7


def test_the_points_of_a_noisy_full_release_become_fewer_as_observations_become_more():
    assert [FINAL.sobol_points(n) for n in (6, 20, 50, 100, 10_000)] == [10, 10, 8, 7, 5]
    assert SEARCH.sobol_points(20) == SEARCH.log2_points
