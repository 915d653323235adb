"""The law of D = max(X_i - Xbar) against closed forms, an exact identity, and simulation."""

import mpmath
import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import erf, log_ndtr, ndtri

from gaussian import GaussianModel, MaxEve, Null, max_exceedance, max_residual_cdf, max_residual_sf, risks
from gaussian.laws.noisy_full import product_rule
from gaussian.laws.residual import ResidualLaw, max_residual_quantile, ordered_residuals
from gaussian.laws.shifted import shifted_max_cdf
from gaussian.laws.statistics import statistic_law

LEGENDRE = np.polynomial.legendre.leggauss(400)


def test_one_observation_has_no_residual():
    assert max_residual_cdf(1)([-1e-9, 0.0, 1.0]).tolist() == [0.0, 1.0, 1.0]
    assert max_exceedance(1, 0.5, [0.5, 0.6]).tolist() == [0.0, 1.0]


def test_two_observations_are_half_normal():
    d = np.linspace(0.0, 6.0, 61)
    assert np.allclose(max_residual_cdf(2)(d), erf(d), rtol=0, atol=2e-15)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 10, 25, 50, 126, 130, 160, 200, 500, 3000, 10_000])
def test_smoothing_by_the_mean_gives_the_maximum_of_independent_normals(n):
    # max = Xbar + D with Xbar ~ N(0, 1/n) independent of D, so E F(c - Xbar) = Phi(c)^n
    z, w = LEGENDRE
    for level in (1e-8, 0.03, 0.4, 0.9, 0.9999):
        c = float(ndtri(level ** (1 / n)))
        reach = 9 / np.sqrt(n)
        low, high = -reach, min(c, reach)
        x = (low + high) / 2 + (high - low) / 2 * z
        density = np.sqrt(n / (2 * np.pi)) * np.exp(-n * x**2 / 2)
        found = (high - low) / 2 * np.sum(w * density * max_residual_cdf(n)(c - x))
        assert found == pytest.approx(np.exp(n * log_ndtr(c)), abs=2e-14, rel=1e-12)


@pytest.mark.slow
def test_the_stated_error_of_the_law_of_the_maximum_covers_its_error():
    """2e-15 (4 + |log p|) p with p the smaller tail, against 30 digits, where either tail is 1e-24 or so."""
    law = statistic_law(3, MaxEve(0.0))
    with mpmath.workdps(30):
        root = mpmath.sqrt(mpmath.mpf(3) / 2)
        for d in (1e-12, 0.01, 0.7, 2.5, 8.0):
            cuts = [c for c in (0, 1, 3, 6, 10, 20) if c != d]
            ends = [c for c in cuts if c < d] + [d], [d] + [c for c in cuts if c > d]
            tails = [mpmath.quad(lambda s: 3 * root * mpmath.npdf(s * root) * mpmath.erf(1.5 * s), e) for e in ends]
            stated = float(law.error(np.array([-d]))[0])
            smaller = min(map(float, tails))
            assert stated == pytest.approx(2e-15 * (4 - np.log(smaller)) * smaller, rel=1e-9)
            for found, exact in zip(law.answers(np.array([-d]))[:, 0], tails, strict=True):
                assert abs(mpmath.mpf(float(found)) - exact) <= stated + 1.2e-16 * float(exact)


@pytest.mark.parametrize("n", [2, 3, 8, 100, 10_000])
def test_the_two_tails_add_to_one_and_the_upper_one_is_the_union_bound_far_out(n):
    d = np.linspace(0.0, 6.0, 200)
    assert np.allclose(max_residual_cdf(n)(d) + max_residual_sf(n)(d), 1.0, rtol=0, atol=4e-16)
    assert (np.diff(max_residual_cdf(n)(d)) >= 0).all()
    # two residuals above d need a tail of n P(one > d) as a factor, which is far below rounding at d = 12 and beyond
    far = np.array([12.0, 20.0, 30.0])
    single = np.exp(np.log(n) + log_ndtr(-far * np.sqrt(n / (n - 1))))
    assert max_residual_sf(n)(far) == pytest.approx(single, rel=1e-12)


def test_a_wrong_law_of_the_maximum_is_refused():
    class Wrong(ResidualLaw):
        def cdf(self, d):
            return super().cdf(d) * (1 + 1e-11)

    with pytest.raises(ArithmeticError, match="n = 7 gives a law of max - mean that misses"):
        Wrong(7).checked()
    assert ResidualLaw(7).checked().n == 7


def test_eve_without_a_release_errs_as_often_as_the_independent_maximum_says():
    # P(max > c) = 1 - E Phi(c - theta)^500, by quadrature over theta
    z, w = hermegauss(120)
    below = np.sum(w * np.exp(500 * log_ndtr(2.7 - 0.3 * z))) / w.sum()
    found = risks(GaussianModel(500, 0.3, 0.0), MaxEve(2.7), Null())
    assert found.eve == pytest.approx(min(below, 1 - below), abs=1e-12)
    assert found.eve == pytest.approx(0.2440, abs=5e-5)


def test_the_quantile_inverts_the_cdf():
    p = np.linspace(1e-6, 1 - 1e-9, 501)
    for n in (2, 3, 5, 10):
        assert np.allclose(max_residual_cdf(n)(max_residual_quantile(n, p)), p, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_ordered_residuals_have_the_moments_of_simulated_ones():
    rng = np.random.default_rng(7)
    made = ordered_residuals(rng.random((50_000, 4)))
    z = rng.standard_normal((50_000, 5))
    drawn = -np.sort(-(z - z.mean(axis=1, keepdims=True)), axis=1)
    assert np.abs(made.sum(axis=1)).max() < 1e-13
    assert (np.diff(made, axis=1) <= 1e-9).all()
    assert np.allclose(made.mean(0), drawn.mean(0), rtol=0, atol=5 * np.sqrt(2 / 50_000))
    assert np.allclose(np.cov(made.T), np.cov(drawn.T), rtol=0, atol=0.02)


@pytest.mark.parametrize(("n", "counts"), [(3, (18, 16)), (5, (10, 9, 6, 4))])
def test_the_product_rule_integrates_known_moments(n, counts):
    residuals, weight = product_rule(n, counts, [2.0])
    # sum of squared residuals is chi-square with n - 1 degrees of freedom.
    square = (residuals**2).sum(axis=1)
    assert weight @ square == pytest.approx(n - 1, abs=2e-5)
    assert weight @ np.exp(-square) == pytest.approx(3 ** (-(n - 1) / 2), abs=2e-5)


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_the_shifted_law_without_shifts_is_the_law_of_the_maximum_residual(n):
    d = np.linspace(0.05, 4.0, 40)
    for s in (0.3, 1.0):
        found = shifted_max_cdf(s * d[None], np.zeros((1, n)), s, 14)[0]
        assert np.allclose(found, max_residual_cdf(n)(d), rtol=0, atol=5e-7)


def test_the_shifted_law_agrees_with_simulation():
    rng = np.random.default_rng(3)
    z = rng.standard_normal((400_000, 4))
    residual = z - z.mean(axis=1, keepdims=True)
    shifts = np.array([0.9, 0.4, -0.3, -1.0])
    d = np.array([0.6, 0.9, 1.3, 1.9])
    drawn = ((shifts + 0.6 * residual).max(axis=1)[:, None] <= d).mean(axis=0)
    found = shifted_max_cdf(d[None], shifts[None], 0.6, 14)[0]
    assert np.all(np.abs(found - drawn) < 4 * np.sqrt(0.25 / 400_000))
