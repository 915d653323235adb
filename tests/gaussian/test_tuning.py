"""The optimum of each family: closed forms, stationarity, end points, plateau edges, and the corner."""

import math

import numpy as np
import pytest

from gaussian import (
    BothEves,
    GaussianEves,
    GaussianModel,
    MaxEve,
    MeanEve,
    NoisyFull,
    NoisyMean,
    NoisyMedian,
    Null,
    OneBit,
    RecordEve,
    calibrate,
    corner,
    curve,
    decision_effect,
    decision_rate,
    mean_lost_band,
    mean_plateau_edge,
    optimise,
    risks,
)
from gaussian.paper import PAPER_MODEL as PAPER


@pytest.mark.parametrize(("bob", "threshold"), [(0.0, 0.5), (0.0, -0.5), (0.1, 0.5), (0.3, 0.4), (-0.2, 1.9)])
def test_against_the_mean_plateau_and_corner_are_closed_forms(bob, threshold):
    model, eve = GaussianModel(5, 1.0, bob), MeanEve(threshold)
    effect = decision_effect(model, eve)
    low, high = mean_lost_band(model)
    # s depends on p, so the two bands differ; what they say about this p does not.
    assert effect.reaches_corner == (not low < effect.p < high)
    assert effect.lost_band[1] - effect.lost_band[0] == pytest.approx(effect.s)
    edge, null = mean_plateau_edge(model, effect.p), risks(model, eve, Null()).eve
    side = 1 if effect.p > 0.5 else -1
    assert risks(model, eve, OneBit(edge + 1e-4 * side)).eve == pytest.approx(null, abs=1e-13)
    assert risks(model, eve, OneBit(edge - 1e-4 * side)).eve < null - 1e-6
    best = optimise(model, eve, OneBit)
    if effect.reaches_corner:
        assert best.parameter == pytest.approx(0.5, abs=1e-8)
        assert best.alice == pytest.approx(corner(model), abs=1e-12)
    else:
        assert best.alice > corner(model) + 1e-3
        assert best.alice <= risks(model, eve, OneBit(edge)).alice(best.lam) + 1e-12


def test_a_plateau_edge_is_found_and_named():
    for threshold in (0.5, -0.5):
        best = optimise(PAPER, MeanEve(threshold), OneBit)
        p = decision_effect(PAPER, MeanEve(threshold)).p
        assert (best.kind, best.parameter) == ("plateau edge", pytest.approx(mean_plateau_edge(PAPER, p), abs=1e-9))


def test_imposing_one_half_on_the_plateau_edge_returns_the_band():
    model = GaussianModel(4, 0.7, 0.25)
    low, high = mean_lost_band(model)
    assert high - low == pytest.approx(0.5)
    assert mean_plateau_edge(model, low) == pytest.approx(0.5, abs=1e-12)
    assert mean_plateau_edge(model, high) == pytest.approx(0.5, abs=1e-12)
    assert decision_rate(model) == pytest.approx(2 * low)


def test_against_the_maximum_the_decision_itself_reaches_the_corner():
    eve = MaxEve(2.0)
    best = optimise(PAPER, eve, OneBit)
    assert decision_effect(PAPER, eve).reaches_corner
    assert (best.kind, best.parameter) == ("interior", pytest.approx(0.5, abs=1e-9))
    assert best.alice == pytest.approx(corner(PAPER), abs=1e-13)


PLAIN = GaussianModel(3, 1.4, -0.3)
SKEWED = GaussianModel(n=4, prior_sd=1.5, prior_mean=0.5, noise_sd=2.0, bob_loss=(1.0, 2.0))
BITS = [
    *[(PLAIN, eve, None) for eve in (MeanEve(0.3), MaxEve(1.0), MaxEve(0.1), BothEves(0.2, 1.4))],
    *[(SKEWED, GaussianEves((MeanEve(0.5, (2, 1)), MaxEve(2.0)), weights=(1.0, 2.0)), lam) for lam in (None, 0.3, 1.0)],
    *[(SKEWED, GaussianEves(pair), 1.0) for pair in ((MeanEve(0.5), MeanEve(1.0)), (RecordEve(0), MaxEve(1)))],
    (GaussianModel(8, 11.92, -2.38), BothEves(15.36, 16.36), 1e5),
    (GaussianModel(5, 5.0, 0.0), MaxEve(0.0), None),
]


@pytest.mark.parametrize(("model", "eve", "lam"), BITS)
def test_no_bit_of_a_fine_grid_is_better_than_the_optimum(model, eve, lam):
    best = optimise(model, eve, OneBit, lam)
    cuts = model.prior_mean + model.xbar_sd * np.linspace(-4, 4, 401)
    values = [risks(model, eve, OneBit(0.5, float(t))).alice(best.lam) for t in cuts]
    assert best.alice <= min(*values, risks(model, eve, Null()).alice(best.lam)) + 1e-12 * max(1.0, best.lam)
    assert min(values) - best.alice < 2e-3 * max(1.0, best.lam)


@pytest.mark.slow
@pytest.mark.parametrize("family", [NoisyMean, NoisyMedian])
@pytest.mark.parametrize("eve", [MeanEve(0.5), MaxEve(1.2), BothEves(0.4, 1.5)])
def test_no_noise_level_of_a_grid_is_better_than_the_optimum(family, eve):
    best = optimise(PAPER, eve, family)
    values = curve(PAPER, eve, family, np.linspace(0, 4, 21)).alice(best.lam)
    assert best.alice <= values.min() + 1e-11
    if best.kind == "interior":
        step = 0.02 * best.parameter
        for sigma in (best.parameter - step, best.parameter + step):
            assert risks(PAPER, eve, family(sigma)).alice(best.lam) > best.alice


def test_mean_and_full_have_the_same_optimum_against_the_mean():
    full, mean = (optimise(PAPER, MeanEve(0.5), family) for family in (NoisyFull, NoisyMean))
    assert full.alice == pytest.approx(mean.alice, abs=1e-12)
    assert full.parameter == pytest.approx(mean.parameter * math.sqrt(5), rel=1e-4)


def test_an_optimum_at_an_end_point_is_named_so():
    eve = MaxEve(2.0)
    assert optimise(PAPER, eve, NoisyMedian).kind == "end point"
    free = optimise(PAPER, eve, NoisyMean, lam=0.0)
    assert (free.parameter, free.kind) == (0.0, "end point")
    # With Eve undecided a priori every release helps her, and for a large lam nothing is worth it.
    afraid = optimise(PAPER, MeanEve(0.0), NoisyMean, lam=1e6)
    assert (afraid.parameter, afraid.kind) == (math.inf, "end point")
    assert optimise(PAPER, eve, OneBit, lam=0.0).parameter == pytest.approx(0.5, abs=1e-8)


@pytest.mark.slow
def test_the_best_noisy_full_release_against_the_maximum_has_its_known_value():
    best = optimise(PAPER, MaxEve(2.0), NoisyFull)
    assert best.parameter == pytest.approx(1.82, abs=0.01)
    assert best.alice == pytest.approx(-0.028415, abs=1e-5)
    assert best.lam == calibrate(PAPER, MaxEve(2.0))


@pytest.mark.parametrize("model", [GaussianModel(5, 1e9, 0.0), GaussianModel(5, bob_loss=(1e300, 1.0))], ids=str)
def test_a_wide_prior_or_a_large_loss_does_not_keep_the_best_bit_from_being_found(model):
    best = optimise(model, MeanEve(0.5, loss=(1e12, 1.0)), OneBit, lam=1.0)
    assert best.alice <= min(risks(model, MeanEve(0.5), release).bob for release in (Null(), OneBit(0.5)))
