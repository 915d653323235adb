"""Brackets against 40-digit arithmetic, and a scan of the parameters for bounds in the wrong order."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from discretise import bracket, closed_form
from gaussian import BothEves, Eve, GaussianModel, MaxEve, MeanEve, mean_plateau_edge
from gaussian.optimum.gaussian_brackets import Bracket

# (n, prior_sd, c_B, Eve, lam): the first two had lower > upper when thresholds went through tau = pi(t)
CASES: list[tuple[int, float, float, Eve, float | str]] = [
    (100, 1.5, 0.45, MeanEve(-0.3758324094593227), 2.0),
    (30, 5.0, 1.5, MeanEve(-1.7511662780368207), "calibrated"),
    (10_000, 100.0, 20.0, MeanEve(-30.0), 3.0),
    (7, 20.0, -5.0, MeanEve(160.0), "calibrated"),
    (50, 3.0, 1.0, MeanEve(1.2), 0.999999),
    (2, 1.0, 0.3, MaxEve(1.1), 0.7),
    (2, 30.0, 4.0, MaxEve(-20.0), "calibrated"),
]


def nodes() -> list[tuple[mpmath.mpf, mpmath.mpf]]:
    """24 Gauss-Legendre nodes and weights on [-1, 1] at the working precision."""
    return mpmath.calculus.quadrature.GaussLegendre(mpmath.mp).calc_nodes(4, mpmath.mp.prec)


def integral(f: Callable[[mpmath.mpf], mpmath.mpf], ends: list[mpmath.mpf]) -> mpmath.mpf:
    rule, total = nodes(), mpmath.mpf(0)
    for low, high in pairwise(ends):
        half, middle = (high - low) / 2, (high + low) / 2
        total += half * mpmath.fsum(w * f(middle + half * x) for x, w in rule)
    return total


class Truth:
    """Masses of theta > c_B and Eve's cells on half-lines of xbar, for one mean or the maximum of two values."""

    def __init__(self, model: GaussianModel, eve: MeanEve | MaxEve) -> None:
        self.eve, n = eve, model.n
        prior, bob = mpmath.mpf(model.prior_sd), mpmath.mpf(model.bob_threshold)
        self.sd = mpmath.sqrt(prior**2 + mpmath.mpf(1) / n)
        self.post = prior / mpmath.sqrt(1 + n * prior**2)
        self.gain, self.bob, self.c = n * self.post**2, bob, mpmath.mpf(eve.threshold)

    def chance(self, cell: int, x: mpmath.mpf) -> mpmath.mpf:
        if isinstance(self.eve, MeanEve):
            return mpmath.mpf(1)  # the support of the cell says the rest
        below = mpmath.erf(self.c - x) if x < self.c else mpmath.mpf(0)
        return below if cell == 0 else 1 - below

    def mass(self, cell: int, low: mpmath.mpf, high: mpmath.mpf) -> mpmath.mpf:
        """The masses of theta <= c_B and of theta > c_B, as real and imaginary part."""
        reach = 14 * self.sd
        low, high = max(low, -reach), min(high, reach)
        if isinstance(self.eve, MeanEve):
            low, high = (low, min(high, self.c)) if cell == 0 else (max(low, self.c), high)
        if low >= high:
            return mpmath.mpc(0)
        turn, scale = self.bob / self.gain, self.post / self.gain
        cuts = [k * self.sd for k in (-11, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 11)]
        cuts += [turn + k * scale for k in (-10, -6, -3, -1.5, 0, 1.5, 3, 6, 10)]
        cuts += [self.c - k for k in (0, 0.7, 1.5, 2.5, 4, 7)] if isinstance(self.eve, MaxEve) else []
        ends = sorted({low, high, *(mpmath.mpf(c) for c in cuts if low < c < high)})

        def f(x: mpmath.mpf) -> mpmath.mpf:
            score = (self.gain * x - self.bob) / self.post
            small = mpmath.ncdf(-abs(score))
            pair = mpmath.mpc(1 - small, small) if score < 0 else mpmath.mpc(small, 1 - small)
            return mpmath.npdf(x / self.sd) / self.sd * self.chance(cell, x) * pair

        return integral(f, ends)

    def split(self, thresholds: list[mpmath.mpf]) -> list:
        out = []
        for ends in ([(-mpmath.inf, t) for t in thresholds], [(t, mpmath.inf) for t in thresholds]):
            masses = [self.mass(s, low, high) for s, (low, high) in enumerate(ends)]
            out.append([[m.real for m in masses], [m.imag for m in masses]])
        return out

    def rule_value(self, found: Bracket) -> mpmath.mpf:
        m = self.split([mpmath.mpf(t) if math.isfinite(t) else t for t in found.thresholds.tolist()])
        bob = sum(min(sum(m[i][0]), sum(m[i][1])) for i in (0, 1))
        eve = sum(min(m[i][0][s] + m[i][1][s] for s in (0, 1)) for i in (0, 1))
        return bob - mpmath.mpf(found.lam) * eve

    def dual_value(self, found: Bracket) -> mpmath.mpf:
        """D(u) with every row of u raised to the sum lam on its largest entry, and the switch solved exactly."""
        u = [[mpmath.mpf(v) for v in row] for row in found.u.tolist()]
        for row in u:
            row[row.index(max(row))] += mpmath.mpf(found.lam) - sum(row)
        switches = []
        for s in (0, 1):
            tau = (1 + u[0][s] - u[1][s]) / 2
            if tau <= 0 or tau >= 1:
                switches.append(-mpmath.inf if tau <= 0 else mpmath.inf)
            else:
                z = -mpmath.sqrt(2) * mpmath.erfinv(1 - 2 * tau)
                switches.append((self.bob + self.post * z) / self.gain)
        m = self.split(switches)
        bob = sum(m[0][1]) + sum(m[1][0])
        return bob - sum(u[i][s] * (m[i][0][s] + m[i][1][s]) for i in (0, 1) for s in (0, 1))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "sd", "bob", "eve", "lam"), CASES)
def test_the_rule_and_the_dual_have_the_claimed_values(
    n: int, sd: float, bob: float, eve: Eve, lam: float | str
) -> None:
    model = GaussianModel(n, sd, bob)
    found = bracket(model, eve, lam)
    assert found.lower <= found.upper
    with mpmath.workdps(24):
        truth = Truth(model, eve)
        value, bound = truth.rule_value(found), truth.dual_value(found)
        assert bound <= value + mpmath.mpf(10) ** -19
        # the rule attains upper, and u proves lower; a closed form may sharpen either by its own error
        assert value <= mpmath.mpf(found.upper) + 2 * found.error
        assert bound >= mpmath.mpf(found.lower) - 2 * found.error
        assert mpmath.mpf(found.lower) <= value
        assert bound <= mpmath.mpf(found.upper)
        assert float(value - bound) <= 1e-12 * (1 + found.lam * found.eve)


def random_setting(generator: np.random.Generator) -> tuple[GaussianModel, Eve, float | str]:
    n, sd = int(generator.choice([1, 2, 5, 30, 126, 1000, 10_000])), float(generator.choice([0.01, 0.5, 1.5, 5, 100]))
    model = GaussianModel(n, sd, float(generator.choice([0.0, 0.3, 1.5, -4.0])) * sd)
    mean = float(generator.normal() * generator.choice([0.5, 3.0, 8.0])) * model.xbar_sd
    top = math.sqrt(2 * math.log(n)) + float(generator.normal() * generator.choice([0.3, 2.0, 8.0])) * math.hypot(sd, 1)
    eve = (MeanEve(mean), MaxEve(top), BothEves(mean, top))[generator.integers(3)]
    return model, eve, ("calibrated", 1e-6, 0.3, 2.0, 1e6)[generator.integers(5)]


@pytest.mark.slow
def test_bounds_are_in_order_and_narrow_over_a_wide_range_of_parameters() -> None:
    generator = np.random.default_rng(20)
    for _ in range(40):
        model, eve, lam = random_setting(generator)
        try:
            found = bracket(model, eve, lam)
        except ValueError as error:
            assert "no lam calibrates it" in str(error)  # noqa: PT017
            continue
        assert found.lower <= found.upper <= found.lower + 1e-11 * (1 + found.lam * found.eve)
        assert np.isfinite([found.bob, found.eve, found.error, found.price]).all()
        assert not np.isnan(found.thresholds).any()
        # whoever releases nothing does no better
        silent = min(model.bob_prior, 1 - model.bob_prior) - found.lam * found.eve
        assert found.lower <= silent + 1e-9 * (1 + found.lam * found.eve)


def test_a_bracket_whose_bounds_contradict_each_other_is_refused() -> None:
    good = bracket(GaussianModel(), MeanEve(0.5))
    fields = {name: getattr(good, name) for name in good.__dataclass_fields__}
    with pytest.raises(ArithmeticError, match="contradict each other"):
        Bracket(**{**fields, "lower": good.upper + 1e-9})
    with pytest.raises(ArithmeticError, match="contradict each other"):
        Bracket(**{**fields, "lower": math.nan})


def test_the_closed_form_finds_its_threshold_where_tau_rounds_to_one() -> None:
    # P(c < xbar <= t_e) = P(xbar <= c): the edge of the plateau, far beyond the point where pi(t_e) = 1 in floats
    model, eve = GaussianModel(100, 1.5, 0.45), MeanEve(-0.3758324094593227)
    form = closed_form(model, eve, 2.0)
    assert form.theorem == "plateau edge"
    assert float(model.bob_posterior(form.thresholds[0])) > 1 - 1e-15
    with mpmath.workdps(30):
        p = mpmath.ncdf(mpmath.mpf(eve.threshold) / model.xbar_sd)
        edge = mpmath.sqrt(2) * mpmath.erfinv(4 * p - 1) * model.xbar_sd
    assert form.thresholds == pytest.approx(float(edge), rel=1e-12)


@pytest.mark.parametrize("mirrored", [False, True])
@pytest.mark.parametrize("bob", [3.0, 5.0, 7.0, 12.0])
def test_the_closed_form_finds_its_threshold_where_the_event_is_rare(bob: float, mirrored: bool) -> None:
    # P(xbar > t_e) = 2 P(xbar > c), here down to 1e-39: far below the rounding of 1 - 2p
    sign = -1 if mirrored else 1
    model = GaussianModel(5, 1.0, sign * bob)
    c = bob * model.xbar_sd**2 + 0.45 / bob
    form = closed_form(model, MeanEve(sign * c), 3.0)
    assert form.theorem == "plateau edge"
    with mpmath.workdps(60):
        p = mpmath.ncdf(-mpmath.mpf(c) / model.xbar_sd)
        edge = mpmath.findroot(lambda z: mpmath.log(mpmath.ncdf(-z) / (2 * p)), c / model.xbar_sd) * model.xbar_sd
    assert form.thresholds == pytest.approx(sign * float(edge), rel=1e-13)
    if not mirrored:
        tau = mean_plateau_edge(model, float(p))
        assert tau == pytest.approx(float(model.bob_posterior(float(edge))), rel=1e-11)
