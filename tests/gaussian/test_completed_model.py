"""Prior mean, noise, asymmetric losses and any Eves: the standard form, independent integrals, and simulated data."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom, norm

from bap_lp import InputError
from discretise import bracket, closed_form, max_bracket
from gaussian import (
    BothEves,
    Eve,
    Full,
    GaussianEves,
    GaussianModel,
    MaxEve,
    MeanEve,
    MedianEve,
    NoisyFull,
    NoisyMean,
    NoisyMedian,
    Null,
    OneBit,
    RecordEve,
    calibrate,
    corner,
    curve,
    decision_rate,
    eve_simulator,
    optimise,
    risks,
)
from gaussian.laws.statistics import statistic_law
from gaussian.numerics.piecewise import gauss_nodes
from gaussian.optimum.gaussian_brackets import bracket as proved_bracket

PLAIN = GaussianModel(4, 1.2, 0.3, bob_loss=(2.0, 1.0))
SHIFT, SCALE = 10.0, 2.5


def moved(model: GaussianModel) -> GaussianModel:
    return replace(
        model,
        prior_sd=SCALE * model.prior_sd,
        bob_threshold=SHIFT + SCALE * model.bob_threshold,
        prior_mean=SHIFT,
        noise_sd=SCALE,
    )


def moved_eve(eve: Eve) -> Eve:
    match eve:
        case BothEves():
            mean, top = (SHIFT + SCALE * c for c in (eve.mean_threshold, eve.max_threshold))
            return replace(eve, mean_threshold=mean, max_threshold=top)
        case GaussianEves():
            return replace(eve, members=tuple(moved_eve(member) for member in eve.members))
        case _:
            return replace(eve, threshold=SHIFT + SCALE * eve.threshold)


EVES: list[Eve] = [
    MeanEve(0.5, loss=(1.0, 3.0)),
    MaxEve(1.6, loss=(2.0, 1.0)),
    BothEves(0.3, 1.5, (2.0, 1.0), (1.0, 1.5)),
    MedianEve(0.2),
    RecordEve(0.9, record=3),
    GaussianEves((MeanEve(0.1), RecordEve(0.9, loss=(1.0, 2.0))), either=True),
    GaussianEves((MaxEve(1.4, loss=(1.0, 2.0)),), weights=(0.5,)),
]


@pytest.mark.slow
@pytest.mark.parametrize("eve", EVES, ids=str)
def test_moving_and_scaling_the_data_changes_no_risk_and_moves_the_rule(eve: Eve) -> None:
    lam = 0.8
    first, second = bracket(PLAIN, eve, lam), bracket(moved(PLAIN), moved_eve(eve), lam)
    assert second.upper == pytest.approx(first.upper, abs=1e-12)
    assert second.lower == pytest.approx(first.lower, abs=1e-12)
    finite = np.isfinite(first.thresholds)
    assert second.thresholds[finite] == pytest.approx(SHIFT + SCALE * first.thresholds[finite], abs=1e-6)
    assert calibrate(moved(PLAIN), moved_eve(eve)) == pytest.approx(calibrate(PLAIN, eve), rel=1e-11)
    x = np.random.default_rng(1).normal(size=(500, 4))
    assert (second.rule(SHIFT + SCALE * x) == first.rule(x)).all()
    assert second.rule.risks().alice(lam) == pytest.approx(second.upper, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("eve", EVES[:3], ids=str)
def test_the_parametric_releases_follow_the_data(eve: Eve) -> None:
    releases = [Full(), Null(), NoisyMean(0.6), OneBit(0.3)]
    for release in releases if isinstance(eve, BothEves) else [*releases, NoisyMedian(0.4)]:
        other = type(release)(SCALE * release.sigma) if isinstance(release, (NoisyMean, NoisyMedian)) else release
        a, b = risks(PLAIN, eve, release), risks(moved(PLAIN), moved_eve(eve), other)
        assert (b.bob, b.eve) == pytest.approx((a.bob, a.eve), abs=1e-11)
    bits = [curve(m, e, OneBit, [0.1, 0.6]) for m, e in ((PLAIN, eve), (moved(PLAIN), moved_eve(eve)))]
    assert bits[1].alice(1.0) == pytest.approx(bits[0].alice(1.0), abs=1e-12)
    best = [optimise(m, e, OneBit, lam=0.7) for m, e in ((PLAIN, eve), (moved(PLAIN), moved_eve(eve)))]
    assert best[1].alice == pytest.approx(best[0].alice, abs=1e-12)
    assert corner(moved(PLAIN)) == pytest.approx(corner(PLAIN), abs=1e-14)
    assert decision_rate(moved(PLAIN)) == pytest.approx(decision_rate(PLAIN), abs=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("eve", EVES, ids=str)
def test_draws_that_share_no_code_confirm_both_ends(eve: Eve) -> None:
    """lower is the mean of min_i B(x,i) - u_i . E(x,.) over draws, upper is what the rule loses on them."""
    model, lam = moved(PLAIN), 0.9
    found = bracket(model, moved_eve(eve), lam)
    drawn = eve_simulator(model, moved_eve(eve))
    theta, x = drawn.simulator(np.random.default_rng(5), 200_000)
    (losses,) = drawn.eve_losses(x)
    # the decision that bets against a cell answers every question the other way: the columns in reverse order
    values = drawn.posterior_loss(x) - losses[:, ::-1] @ found.u.T
    bound = values.min(axis=1)
    assert abs(bound.mean() - found.lower) <= 5 * bound.std() / math.sqrt(len(x))
    signal = found.release(x, 3)
    miss, alarm = model.bob_loss
    true = theta > model.bob_threshold
    bob = sum(min(miss * np.mean(true & (signal == i)), alarm * np.mean(~true & (signal == i))) for i in (0, 1))
    eve_risk = sum(min((losses[signal == i].sum(0) / len(x)).tolist()) for i in (0, 1))
    assert bob - lam * eve_risk == pytest.approx(found.upper, abs=0.02)
    played = found.simulate(100_000)
    assert abs(played.alice(lam) - found.upper) <= 5 * played.alice_error(lam)


def test_losses_of_one_size_scale_the_risks() -> None:
    plain = bracket(GaussianModel(5), MeanEve(0.5), 1.2)
    double = bracket(GaussianModel(5, bob_loss=(2.0, 2.0)), MeanEve(0.5, loss=(2.0, 2.0)), 1.2)
    assert double.upper == pytest.approx(2 * plain.upper, abs=1e-13)
    # a weight of the only Eve multiplies lam
    weighed = bracket(GaussianModel(5), GaussianEves((MeanEve(0.5),), weights=(2.0,)), 0.6)
    assert weighed.upper == pytest.approx(plain.upper, abs=1e-13)
    listed = bracket(GaussianModel(5), GaussianEves((MeanEve(0.5), MaxEve(2.0)), either=True))
    assert listed.upper == pytest.approx(bracket(GaussianModel(5), BothEves(0.5, 2.0)).upper, abs=1e-14)
    with pytest.raises(InputError, match="no closed form"):
        closed_form(GaussianModel(5, bob_loss=(2.0, 1.0)), MeanEve(0.5), 1.2)


@pytest.mark.parametrize("n", [3, 9, 41, 301])
def test_the_law_of_the_median_is_the_binomial_law_of_the_values_below(n: int) -> None:
    """P(median <= c) is the probability that more than half of n independent values are at most c."""
    edges = np.linspace(-8.6, 8.6, 65) / math.sqrt(n)
    for c in (-0.3, 0.0, 1 / math.sqrt(n)):
        law = statistic_law(n, MedianEve(c))
        x, weight = gauss_nodes(*(np.union1d(edges, [c])[ends] for ends in (slice(None, -1), slice(1, None))), 24)
        density = weight * norm.pdf(x, scale=1 / math.sqrt(n))
        expected = binom.cdf((n - 1) // 2, n, norm.sf(c))
        assert (density * law.answers(x)[0]).sum() == pytest.approx(expected, abs=1e-13)


def test_eves_who_are_not_cells_given_the_mean_are_sent_to_draws() -> None:
    several = [
        GaussianEves((MeanEve(0.5), MaxEve(2.0)), weights=(1.0, 2.0)),
        GaussianEves((RecordEve(-1.0), MaxEve(1.0)), either=True),
    ]
    for eve in several:
        with pytest.raises(ValueError, match=r"bracket\(sample\(\.\.\.\)\) of discretise"):
            proved_bracket(GaussianModel(5), eve)
        drawn = eve_simulator(GaussianModel(5), eve)
        _, x = drawn.simulator(np.random.default_rng(0), 50)
        assert drawn.posterior_loss(x).shape == (50, 2)
        assert [len(words) for words in drawn.eve_decisions] == [e.shape[1] for e in drawn.eve_losses(x)]
    weighted = eve_simulator(GaussianModel(5), several[0])
    (plain,) = eve_simulator(GaussianModel(5), MaxEve(2.0)).eve_losses(x)
    assert (weighted.eve_losses(x)[1] == 2 * plain).all()
    with pytest.raises(ValueError, match="n = 2000 must be at most 1000"):
        bracket(GaussianModel(2000), MedianEve(0.1), 1.0)
    with pytest.raises(ValueError, match="record = 6 must be at most n = 5"):
        statistic_law(5, RecordEve(0.0, record=6))


def test_bad_losses_eves_and_models_are_refused_with_their_rule() -> None:
    for bad in ((1.0,), (1.0, 0.0), (1.0, -2.0), (math.nan, 1.0), 1.0, "12"):
        with pytest.raises(ValueError, match=r"loss = .* must"):
            MeanEve(0.5, loss=bad)
        with pytest.raises(ValueError, match=r"bob_loss = .* must"):
            GaussianModel(bob_loss=bad)
    for make in (
        lambda: GaussianEves(()),
        lambda: GaussianEves((MeanEve(0.5),), weights=(1.0, 2.0)),
        lambda: GaussianEves((MeanEve(0.5),), weights=(0.0,)),
        lambda: GaussianEves((MeanEve(0.5), MaxEve(1.0)), weights=(1.0, 1.0), either=True),
        lambda: GaussianEves((BothEves(0.5, 2.0),)),
        lambda: RecordEve(0.0, record=0),
        lambda: GaussianModel(noise_sd=0.0),
        lambda: GaussianModel(prior_mean=math.inf),
    ):
        with pytest.raises(ValueError, match="must"):
            make()
    with pytest.raises(InputError, match="noise_sd"):
        max_bracket(GaussianModel(5, noise_sd=2.0))
    with pytest.raises(ValueError, match="noisy full release"):
        risks(GaussianModel(5), RecordEve(2.0), NoisyFull(1.0))


def test_a_risk_that_is_not_known_well_enough_calibrates_nothing() -> None:
    # the law of the median of an even number of values has an absolute error, which this rare cell does not exceed
    eve = GaussianEves((MeanEve(0.1), MedianEve(-1.4)), either=True)
    with pytest.raises(ValueError, match="no lam calibrates it"):
        bracket(GaussianModel(20), eve)
    assert bracket(GaussianModel(20), eve, 1.0).width < 1e-10
