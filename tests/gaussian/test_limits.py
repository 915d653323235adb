"""Limits, bounds, monotonicity, equivalences and symmetries that hold whatever the parameters."""

import math

import mpmath
import numpy as np
import pytest

from gaussian import (
    BothEves,
    Full,
    GaussianModel,
    MaxEve,
    MeanEve,
    NoisyFull,
    NoisyMean,
    NoisyMedian,
    Null,
    OneBit,
    calibrate,
    curve,
    risks,
)
from gaussian.laws.noisy_full import SEARCH
from gaussian.laws.owen import gaussian_pair_risk

MODELS = [
    GaussianModel(5, 1.0, 0.0),
    GaussianModel(1, 0.7, 0.3),
    GaussianModel(2, 2.0, -0.5),
    GaussianModel(4, 0.5, 0.2),
]
EVES = [MeanEve(0.5), MeanEve(-0.8), MaxEve(1.5), MaxEve(-0.4), BothEves(0.3, 1.6)]
CASES = [(m, e) for k, m in enumerate(MODELS) for e in EVES[k % 2 :: 2]]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "eve"), [*CASES, (GaussianModel(5, 1e6, 0.0), MaxEve(30.0))])
@pytest.mark.parametrize("family", [NoisyMean, NoisyMedian, NoisyFull])
def test_little_noise_gives_the_exact_statistic_and_much_noise_gives_the_null_release(model, eve, family):
    exact, *near, far, hidden = (risks(model, eve, family(s), SEARCH) for s in (0.0, 1e-300, 1e-12, 1e15, 1e300))
    null = risks(model, eve, Null())
    for found, limit in [(near[0], exact), (near[1], exact), (far, null)]:
        assert found.bob == pytest.approx(limit.bob, abs=1e-8 if found is far else 1e-11)
        assert found.eve == pytest.approx(limit.eve, abs=1e-8 if found is far else 1e-11)
    assert (hidden.bob, hidden.eve) == (null.bob, null.eve)
    if family is NoisyFull:
        assert (exact.bob, exact.eve) == (risks(model, eve, Full()).bob, 0.0)


RELEASES = [NoisyMean(0.4), NoisyMedian(0.0), NoisyMedian(0.6), OneBit(0.3), OneBit(0.9), NoisyFull(0.8)]
EXTREME = [
    (GaussianModel(15, 2.0, 3.5), BothEves(2.2, 3.2), [NoisyFull(0.3)]),
    (GaussianModel(5, 20.0, -19.0), BothEves(25.3, 25.9), [NoisyMedian(0.0)]),
    (GaussianModel(4, 2.0, -1.2), BothEves(1.5, 2.15), [NoisyMedian(0.1)]),
    (GaussianModel(3, 0.05, 0.0), MaxEve(9.0), [NoisyMean(0.0)]),
    (GaussianModel(40, 0.3, 0.1), MaxEve(2.0), [NoisyMedian(0.01)]),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "eve", "releases"), [*[(m, e, RELEASES) for m, e in CASES], *EXTREME])
def test_every_release_has_risks_between_those_of_full_and_null(model, eve, releases):
    full, null = risks(model, eve, Full()), risks(model, eve, Null())
    for release in releases:
        found = risks(model, eve, release, SEARCH)
        assert full.bob - 1e-12 <= found.bob <= null.bob + 1e-12
        assert 0 <= found.eve <= null.eve + (0.0 if isinstance(release, NoisyFull) else 1e-11)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "eve"), CASES)
def test_more_noise_never_helps_anybody(model, eve):
    for family in (NoisyMean, NoisyMedian):
        found = curve(model, eve, family, [0.0, 0.05, 0.3, 1.0, 4.0])
        assert (np.diff(found.bob) > -1e-12).all()
        assert (np.diff(found.eve) > -1e-11).all()


@pytest.mark.parametrize(
    ("n", "eve", "release", "other_eve", "other"),
    [
        *[(7, MeanEve(-0.3), NoisyFull(s), MeanEve(-0.3), NoisyMean(s / math.sqrt(7))) for s in (0.0, 0.3, 9.0)],
        *[(n, e, NoisyMedian(0.5), e, NoisyMean(0.5)) for n in (1, 2) for e in (MeanEve(0.2), MaxEve(0.7))],
        *[(1, MaxEve(0.5), r, MeanEve(0.5), r) for r in (Null(), NoisyFull(0.7), NoisyMean(0.7), OneBit(0.4))],
    ],
)
def test_releases_that_tell_the_same_have_the_same_risks(n, eve, release, other_eve, other):
    """A noisy mean is sufficient for the mean; one or two values have the mean as median, one is its own maximum."""
    model = GaussianModel(n, 1.2, 0.1)
    a, b = risks(model, eve, release), risks(model, other_eve, other)
    assert (a.bob, a.eve) == pytest.approx((b.bob, b.eve), abs=1e-11)


@pytest.mark.parametrize("release", [Full(), Null(), NoisyFull(0.5), NoisyMean(0.5), NoisyMedian(0.5), OneBit(0.4)])
def test_nested_events_leave_eve_without_risk(release):
    assert risks(GaussianModel(5, 1.0, 0.0), BothEves(2.0, 2.0), release).eve == 0.0
    assert risks(GaussianModel(1, 1.0, 0.0), BothEves(0.0, 1.0), release).eve == 0.0


def test_the_bit_at_the_ends_of_tau_is_the_null_release_and_reflection_exchanges_the_ends():
    model, eve = GaussianModel(5, 1.0, 0.4), MeanEve(0.3)
    null = risks(model, eve, Null())
    for tau in (0.0, 1.0):
        found = risks(model, eve, OneBit(tau))
        assert (found.bob, found.eve) == pytest.approx((null.bob, null.eve), abs=1e-14)
    # theta -> -theta exchanges tau and 1 - tau when both thresholds change sign.
    mirror, other = GaussianModel(5, 1.0, -0.4), MeanEve(-0.3)
    for tau in (0.01, 0.2, 0.6, 0.99):
        a, b = risks(model, eve, OneBit(tau)), risks(mirror, other, OneBit(1 - tau))
        assert (a.bob, a.eve) == pytest.approx((b.bob, b.eve), abs=1e-13)


def test_calibration_equates_full_and_null():
    for model, eve in [(m, e) for m in MODELS[2:] for e in EVES]:
        lam = calibrate(model, eve)
        assert risks(model, eve, Full()).alice(lam) == pytest.approx(risks(model, eve, Null()).alice(lam), abs=1e-13)


@pytest.mark.slow
@pytest.mark.parametrize("loss", [(1.0, 1.0), (3.0, 1.0), (0.5, 2.0)])
@pytest.mark.parametrize(("c", "sd", "noise"), [(0.5, 1.1, 0.7), (-2.0, 0.4, 3.0), (0.0, 1.0, 0.05), (6.0, 1.0, 1.0)])
def test_owens_formula_agrees_with_high_precision_quadrature(c, sd, noise, loss):
    mpmath.mp.dps = 30
    # E min(a p, b (1 - p)) over the signal y ~ N(0, sd^2 + noise^2), split at the kink where a p = b (1 - p)
    y_sd, slope = mpmath.hypot(sd, noise), mpmath.mpf(sd) ** 2 / (mpmath.mpf(sd) ** 2 + mpmath.mpf(noise) ** 2)
    spread, (miss, alarm) = sd * mpmath.sqrt(1 - slope), loss

    def smaller(y):
        z = (slope * y - c) / spread
        return mpmath.npdf(y, 0, y_sd) * min(miss * mpmath.ncdf(z), alarm * mpmath.ncdf(-z))

    kink = (c - spread * mpmath.sqrt(2) * mpmath.erfinv(1 - mpmath.mpf(2) * alarm / (miss + alarm))) / slope
    edges = sorted({-14 * y_sd, kink, 14 * y_sd, kink - spread, kink + spread, kink - 8 * spread, kink + 8 * spread})
    exact = float(mpmath.quad(smaller, edges))
    assert float(gaussian_pair_risk(c, sd, noise, loss)) == pytest.approx(exact, abs=1e-15, rel=1e-12)


def test_two_observations_agree_with_high_precision_quadrature():
    # n = 2: P(max <= c | xbar) = erf(c - xbar), and the median point of erf is the only kink.
    mpmath.mp.dps = 25
    model, c = GaussianModel(2, 0.9, 0.0), 0.4
    sd = mpmath.sqrt(mpmath.mpf(0.9) ** 2 + mpmath.mpf(1) / 2)

    def smaller(x):
        below = mpmath.erf(c - x) if x < c else mpmath.mpf(0)
        return mpmath.npdf(x, 0, sd) * min(below, 1 - below)

    kink = c - mpmath.erfinv(0.5)
    exact = float(mpmath.quad(smaller, [-12, kink, c]))
    found = risks(model, MaxEve(c), NoisyMean(0.0))
    assert found.eve == pytest.approx(exact, abs=1e-12)
    assert abs(found.eve - exact) <= found.eve_error + 1e-15
