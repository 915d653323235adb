"""Losses under Beta laws, against numerical integration with mpmath and the incomplete beta function of scipy."""

from __future__ import annotations

from fractions import Fraction as F

import mpmath
import numpy as np
import pytest
from flint import arb, fmpq
from scipy import special

from bap_sdc.count_tables.beta import (
    Point,
    Ratio,
    Share,
    absolute_loss,
    incomplete_beta,
    interval_losses,
    squared_loss,
)

PARAMETERS = [
    (fmpq(1), fmpq(1)),
    (fmpq(3), fmpq(8)),
    (fmpq(12), fmpq(4)),
    (fmpq(5, 2), fmpq(7, 3)),
    (fmpq(1, 2), fmpq(4)),
]
GRID = [fmpq(0), fmpq(1, 7), fmpq(2, 5), fmpq(9, 10), fmpq(1), fmpq(5, 4)]


def as_float(value: object) -> float:
    return float(value.mid()) if isinstance(value, arb) else float(value)  # type: ignore[arg-type]


def mean(function: object, target: Share | Ratio) -> float:
    """E function(target), by quadrature cut at every decision of the grid."""
    a, b = mpmath.mpf(int(target.a.p)) / int(target.a.q), mpmath.mpf(int(target.b.p)) / int(target.b.q)
    cuts = sorted({0.0, 1.0, *(float(d) for d in GRID if 0 < d < 1), *(float(d / (1 + d)) for d in GRID)})
    density = lambda t: t ** (a - 1) * (1 - t) ** (b - 1) / mpmath.beta(a, b)  # noqa: E731
    value = (lambda t: t / (1 - t)) if isinstance(target, Ratio) else (lambda t: t)
    return float(mpmath.quad(lambda t: function(value(t)) * density(t), cuts))  # type: ignore[operator]


@pytest.mark.parametrize(("a", "b"), PARAMETERS)
def test_the_incomplete_beta_function_is_that_of_scipy(a: fmpq, b: fmpq) -> None:
    for z in GRID:
        found = incomplete_beta(z, a, b)
        whole = a.q == 1 and b.q == 1
        assert isinstance(found, fmpq if whole or not 0 < z < 1 else arb)
        assert as_float(found) == pytest.approx(special.betainc(float(a), float(b), min(float(z), 1.0)), rel=1e-12)


def test_the_incomplete_beta_function_is_a_sum_of_binomial_probabilities() -> None:
    z = F(3, 10)
    for a, b in ((1, 4), (3, 3), (6, 1)):
        n = a + b - 1
        expected = sum(F(int(special.comb(n, j, exact=True))) * z**j * (1 - z) ** (n - j) for j in range(a, n + 1))
        found = incomplete_beta(fmpq(3, 10), fmpq(a), fmpq(b))
        assert F(int(found.p), int(found.q)) == expected


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), PARAMETERS)
@pytest.mark.parametrize("kind", [Share, Ratio])
def test_losses_are_the_integrals(a: fmpq, b: fmpq, kind: type) -> None:
    target = kind(a, b + 3 if kind is Ratio else b)
    for d in (fmpq(1, 7), fmpq(9, 10), fmpq(5, 4)):
        x = mpmath.mpf(int(d.p)) / int(d.q)
        over = mean(lambda t, x=x: max(x - t, 0), target)
        under = mean(lambda t, x=x: max(t - x, 0), target)
        found = absolute_loss(target, d, fmpq(3), fmpq(2))
        assert as_float(found) == pytest.approx(3 * over + 2 * under, rel=1e-9)
        assert as_float(squared_loss(target, d)) == pytest.approx(mean(lambda t, x=x: (t - x) ** 2, target), rel=1e-9)
        assert as_float(target.below(d)) == pytest.approx(mean(lambda t, x=x: t <= x, target), rel=1e-6)


@pytest.mark.parametrize("target", [Share(fmpq(3), fmpq(5)), Ratio(fmpq(3), fmpq(5)), Point(fmpq(1), fmpq(3))])
def test_interval_losses_add_up(target: Share | Ratio | Point) -> None:
    cuts = (fmpq(1, 5), fmpq(1, 3), fmpq(3, 4))
    losses = interval_losses(target, cuts, fmpq(1), fmpq(1))
    inside = [1 - loss for loss in losses]
    assert sum(inside) == 1  # exactly one interval holds the target
    assert inside[0] == target.below(cuts[0])
    assert interval_losses(target, cuts, fmpq(4), fmpq(1))[0] == losses[0]  # the lowest claim is never too high


def test_a_point_has_no_spread() -> None:
    point = Point(fmpq(2), fmpq(5))
    assert absolute_loss(point, fmpq(1), fmpq(3), fmpq(7)) == 3 * fmpq(3, 5)
    assert absolute_loss(point, fmpq(0), fmpq(3), fmpq(7)) == 7 * fmpq(2, 5)
    assert squared_loss(point, fmpq(1, 5)) == fmpq(1, 25)
    assert Point(fmpq(0), fmpq(0)).mean == 0
    assert [Point(fmpq(1), fmpq(0)).below(d) for d in GRID] == [0] * len(GRID)


def test_large_parameters_keep_their_digits() -> None:
    found = incomplete_beta(fmpq(1, 3), fmpq(2001, 2), fmpq(4001, 2))
    assert float(found.rad()) < 1e-30
    assert as_float(found) == pytest.approx(special.betainc(1000.5, 2000.5, 1 / 3), rel=1e-10)
    assert np.isfinite(as_float(incomplete_beta(fmpq(1, 3), fmpq(100_000), fmpq(200_000))))
