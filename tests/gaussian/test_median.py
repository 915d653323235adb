"""The median's laws against identities they do not use."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

from gaussian import BothEves, GaussianModel, MaxEve, MeanEve
from gaussian.laws.mean import mean_bob_law, mean_eve_law
from gaussian.laws.median import median_bob_law, median_eve_law
from gaussian.laws.median_max import median_below, median_support
from gaussian.laws.median_mean import capped_sum, deviation_density
from gaussian.numerics.piecewise import fit


@pytest.mark.parametrize("n", [3, 4, 5, 6, 7, 10, 25])
def test_deviation_and_mean_add_up_to_the_median(n):
    # V = M - Xbar is independent of Xbar, so Var M = Var V + 1/n; the two sides come from different formulas.
    density = deviation_density(n)
    spread = fit(lambda v: v**2 * density(v), density.breaks, 1e-15).mass[0]
    reach = median_support(n)
    square = fit(lambda u: (u**2 * median_below(n, u, np.full_like(u, math.inf)))[None], [-reach, 0, reach], 1e-14)
    assert density.mass[0] == pytest.approx(1.0, abs=1e-12)
    assert spread + 1 / n == pytest.approx(square.mass[0], abs=1e-11)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8])
def test_median_below_a_cap_has_the_mass_of_the_maximum(n):
    reach = median_support(n)
    for w in (-0.7, 0.4, 2.0):
        high = min(w, reach)
        middle = (high - reach) / 2
        law = fit(lambda u, w=w: median_below(n, u, np.full_like(u, w))[None], [-reach, middle, high], 1e-14)
        assert law.mass[0] == pytest.approx(ndtr(w) ** n, abs=1e-11)


def test_capped_sums_have_the_mass_of_their_terms():
    g, beta = np.array([0.0, 0.2, 0.5]), np.array([0.7, 2.0, 6.0])
    for k in (1, 2, 3, 4):
        law = capped_sum(k, g, beta)
        # Clenshaw-Curtis weights of the first kind on [0, 1], per unit piece.
        order = law.shape[2]
        angles = (2 * np.arange(order) + 1) * np.pi / (2 * order)
        modes = np.arange(1, order // 2 + 1)
        weight = (1 - 2 * (np.cos(2 * modes * angles[:, None]) / (4 * modes**2 - 1)).sum(1)) / order
        mass = (law * weight[::-1]).sum((1, 2)) * (beta - g)
        assert mass == pytest.approx((ndtr(beta) - ndtr(g)) ** k, abs=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("eve", [MeanEve(-0.2), MaxEve(0.9), BothEves(0.1, 1.2), BothEves(-0.6, 0.3)])
@pytest.mark.parametrize("n", [3, 4, 5, 7])
def test_cells_have_the_masses_of_the_mean_law_and_add_up_to_the_median(n, eve):
    model = GaussianModel(n, 0.8, 0.3)
    bob, law = median_bob_law(model), median_eve_law(model, eve)
    assert law.mass == pytest.approx(mean_eve_law(model, eve).mass, abs=1e-9)
    assert bob.mass == pytest.approx(mean_bob_law(model).mass, abs=1e-11)
    m = np.linspace(-3, 3, 41)
    assert np.allclose(law(m).sum(0), bob(m).sum(0), rtol=0, atol=1e-9)
    assert (law(m) > -1e-10).all()
