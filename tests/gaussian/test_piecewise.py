"""Fits, crossings and integrals of minima of functions whose answers are known."""

import numpy as np
import pytest
from scipy.special import ndtr

from gaussian.numerics.piecewise import fit, min_integral


def test_a_fit_reaches_its_tolerance_and_integrates():
    law = fit(lambda x: np.stack([np.exp(-x), np.cos(5 * x)]), [0.0, 3.0], 1e-14)
    x = np.linspace(0, 3, 301)
    assert np.allclose(law(x), [np.exp(-x), np.cos(5 * x)], rtol=0, atol=1e-12)
    assert law.mass == pytest.approx([1 - np.exp(-3), np.sin(15) / 5], abs=1e-13)
    assert law.error < 1e-12


def test_outside_its_panels_a_law_is_zero():
    law = fit(lambda x: np.ones((1, x.size)), [0.0, 1.0], 1e-15)
    assert law([-1.0, 2.0])[0].tolist() == [0.0, 0.0]
    assert law(0.5)[0] == pytest.approx(1.0, abs=1e-14)


def test_many_crossings_are_all_found():
    law = fit(lambda x: np.stack([np.sin(x), np.cos(x)]), [0.0, 20 * np.pi], 1e-13)
    # On each period min(sin, cos) integrates to -2 sqrt 2.
    assert min_integral(law) == pytest.approx(-20 * np.sqrt(2), abs=1e-11)
    assert np.sum(np.abs(np.sin(law.crossings()) - np.cos(law.crossings())) < 1e-9) >= 20


def test_the_minimum_with_a_double_root_is_integrated():
    law = fit(lambda x: np.stack([x**2, np.zeros_like(x)]), [-1.0, 1.0], 1e-15)
    assert min_integral(law) == pytest.approx(0.0, abs=1e-15)


def test_the_minimum_of_two_normal_densities_has_its_closed_form():
    def densities(x):
        return np.stack([np.exp(-((x - m) ** 2) / 2) / np.sqrt(2 * np.pi) for m in (-1.0, 1.0)])

    law = fit(densities, np.linspace(-10, 10, 9), 1e-15)
    assert min_integral(law) == pytest.approx(2 * ndtr(-1.0), abs=1e-13)


def test_a_function_that_cannot_be_fitted_is_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(ArithmeticError, match="no piecewise polynomial"):
        fit(lambda x: rng.random((1, x.size)), [0.0, 1.0], 1e-9)
