"""Brackets: the paper's parameters to full accuracy, any parameters to 1e-6, and the two bounds in the right order."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from gaussian_cases import settings_of_the_game
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import InputError
from discretise import bracket, closed_form
from gaussian import BothEves, Eve, GaussianModel, MaxEve, MeanEve, OneBit, calibrate, corner, curve, optimise
from gaussian.optimum.cells import cell_law
from gaussian.optimum.dual import dual_value, split_risks
from gaussian.optimum.reduction import allocate
from gaussian.paper import PAPER_MODEL as PAPER

EXAMPLE: list[tuple[Eve, float, float, str]] = [
    (MeanEve(0.5), -0.1854200, 1e-14, "release 1 when xbar > -0.416415, else 0"),
    (MaxEve(2.0), -0.2322795, 1e-14, "release 1 when xbar > 0, else 0"),
    (BothEves(0.5, 2.0), -0.2298339, 1e-12, "release 1 when xbar > 0 or max > 2, else 0"),
]


@pytest.mark.parametrize(("eve", "optimum", "width", "words"), EXAMPLE)
def test_the_bracket_contains_the_value_of_the_paper(eve: Eve, optimum: float, width: float, words: str) -> None:
    found = bracket(PAPER, eve)
    assert found.lower <= found.upper
    assert found.width <= width
    assert found.upper == pytest.approx(optimum, abs=5e-8)
    assert found.describe() == words
    assert found.bob - found.lam * found.eve == pytest.approx(found.upper, abs=width)
    assert found.lam == calibrate(PAPER, eve)


def test_the_best_parametric_release_against_both_eves_is_far_from_the_optimum() -> None:
    found = bracket(PAPER, BothEves(0.5, 2.0))
    bit = optimise(PAPER, found.adversary, OneBit)
    assert bit.alice == pytest.approx(-0.1806636, abs=5e-8)
    assert found.upper < bit.alice - 0.049


def test_the_bracket_reaches_the_corner_and_the_dual_solution_of_the_plateau_edge() -> None:
    assert bracket(PAPER, MaxEve(2.0)).upper == pytest.approx(corner(PAPER), abs=1e-14)
    edge = bracket(PAPER, MeanEve(0.5))
    mu = 1 - 2 * optimise(PAPER, MeanEve(0.5), OneBit).parameter
    assert edge.u == pytest.approx(np.array([[0.0, edge.lam], [mu, edge.lam - mu]]), abs=1e-12)
    assert edge.price == pytest.approx(mu, abs=1e-12)


@pytest.mark.slow
@settings(max_examples=40, derandomize=True)
@given(settings_of_the_game(), st.sampled_from([0.0, 0.03, 0.4, 1.0, 5.0, 300.0, 1e5]))
def test_at_any_parameters_the_bracket_is_narrow_and_no_bit_goes_below_it(
    setting: tuple[GaussianModel, Eve], lam: float
) -> None:
    model, eve = setting
    found = bracket(model, eve, lam)
    assert found.lower <= found.upper <= found.lower + 1e-8 + 1e-13 * lam
    # no release of the model can be better, in particular no one-bit release
    bits = curve(model, eve, OneBit, np.linspace(0.0, 1.0, 41))
    assert found.lower <= (bits.alice(lam) + bits.bob_error + lam * bits.eve_error).min()
    if lam <= 1:
        bit = optimise(model, eve, OneBit, lam=lam)
        assert found.lower <= bit.alice + bit.risks.alice_error(lam)


@pytest.mark.slow
@settings(max_examples=40, derandomize=True)
@given(settings_of_the_game(), st.integers(0, 2**32 - 1), st.floats(0.0, 3.0))
def test_any_dual_point_is_below_any_rule(setting: tuple[GaussianModel, Eve], seed: int, lam: float) -> None:
    law = cell_law(*setting)
    generator = np.random.default_rng(seed)
    u = lam * generator.dirichlet(np.ones(law.count), size=2)
    rule = setting[0].xbar_sd * generator.standard_normal(law.count)
    bound, primal = dual_value(law, u, lam), split_risks(law, rule, lam)
    found = bracket(*setting, lam)
    assert bound.value - bound.error <= found.upper
    assert primal.bob - lam * primal.eve + primal.error >= found.lower


@pytest.mark.slow
@settings(max_examples=40, derandomize=True)
@given(settings_of_the_game(), st.sampled_from([0.05, 0.3, 0.8, 1.0, 2.0, 20.0]))
def test_closed_forms_agree_with_the_reduction(setting: tuple[GaussianModel, Eve], lam: float) -> None:
    model, eve = setting
    try:
        theorem = closed_form(model, eve, lam)
    except InputError:
        assert bracket(model, eve, lam).theorem is None
        return
    law = cell_law(model, eve)
    close = 1e-13 * (1 + lam)
    bound, primal = dual_value(law, theorem.u, lam), split_risks(law, theorem.thresholds, lam)
    assert theorem.u.sum(1) == pytest.approx(lam)
    assert bound.value == pytest.approx(theorem.value, abs=close)
    assert primal.bob - lam * primal.eve == pytest.approx(theorem.value, abs=close)
    assert dual_value(law, allocate(law, lam).u, lam).value == pytest.approx(theorem.value, abs=close)


CLOSED: list[tuple[GaussianModel, Eve, float, str]] = [
    (PAPER, MeanEve(0.5), 1.13, "plateau edge"),
    (PAPER, MeanEve(-0.5), 1.13, "plateau edge"),
    (PAPER, MeanEve(0.5), 0.5, "price"),
    (PAPER, MeanEve(-0.5), 0.5, "price"),
    (PAPER, MeanEve(1.5), 1.0, "corner"),
    (PAPER, MaxEve(2.0), 1.5, "corner"),
    (PAPER, BothEves(0.5, 2.0), 12.0, "rare cell"),
    (GaussianModel(5, 1.0, 0.5), BothEves(0.2, 0.8), 12.0, "rare cell"),
    (GaussianModel(1, 1.0, 0.0), MaxEve(0.7), 1.0, "plateau edge"),
]


@pytest.mark.parametrize(("model", "eve", "lam", "name"), CLOSED)
def test_each_theorem_applies_somewhere(model: GaussianModel, eve: Eve, lam: float, name: str) -> None:
    assert bracket(model, eve, lam).theorem == name
    assert closed_form(model, eve, lam).theorem == name


@pytest.mark.parametrize("eve", [MeanEve(0.5), MaxEve(1.0), BothEves(0.5, 2.0)])
def test_at_lambda_zero_bob_decides_and_at_a_huge_lambda_eve_errs_as_without_a_release(eve: Eve) -> None:
    law = cell_law(PAPER, eve)
    free = bracket(PAPER, eve, 0)
    assert free.upper == pytest.approx(0.133860236400615, abs=1e-14)
    assert free.describe() == "release 1 when xbar > 0, else 0"
    assert not free.u.any()
    dear = bracket(PAPER, eve, 1e6)
    prior = float(law.split(np.zeros(law.count)).sum((0, 1)).min())
    # privacy at any price: Eve errs as often as without a release
    assert dear.eve == pytest.approx(prior, abs=1e-14)
    assert dear.width <= 1e-6
    assert dear.thresholds == pytest.approx(bracket(PAPER, eve, 2 * dear.price + 1).thresholds, abs=1e-9)


@pytest.mark.parametrize("lam", [5e-324, 1e-300, 1e-20])
def test_at_a_lambda_that_moves_no_threshold_bob_decides(lam: float) -> None:
    """(1 - lam)/2 rounds to 1/2, so that the bit is cut at Bob's own threshold, 0."""
    found = bracket(PAPER, MeanEve(0.5), lam)
    assert found.upper == pytest.approx(0.133860236400615, abs=1e-14)
    assert 0 <= found.width <= 1e-13


@pytest.mark.parametrize("eve", [BothEves(1.0, 0.5), BothEves(0.7, 0.7)])
def test_against_nested_events_bob_decides_as_on_the_full_data(eve: BothEves) -> None:
    found = bracket(PAPER, eve, 3.0)
    assert found.eve == 0.0
    assert found.upper == pytest.approx(0.133860236400615, abs=1e-13)
    with pytest.raises(ValueError, match="must be able to err"):
        bracket(PAPER, eve)


def test_a_narrow_posterior_still_gives_the_thresholds() -> None:
    """The optimal thresholds lie where pi is 0 or 1 to the last digit: u alone no longer tells them."""
    found = bracket(GaussianModel(12, 17.0, 0.0), MeanEve(0.0), 1000.0)
    assert found.width <= 1e-10
    assert found.thresholds == pytest.approx([-11.466, 11.466], rel=1e-3)
    assert found.eve == pytest.approx(0.5, abs=1e-14)


@pytest.mark.parametrize(("bob", "eve"), [(-0.2, MeanEve(0.0)), (0.2, MeanEve(0.0)), (0.0, MeanEve(0.0))])
def test_an_undecided_eve_stays_undecided_at_a_huge_lambda(bob: float, eve: MeanEve) -> None:
    """Two cells of the same mass: where Bob's test is lopsided enough, only silence keeps Eve undecided."""
    found = bracket(GaussianModel(2, 0.14, bob), eve, 1000.0)
    assert found.width <= 1e-10
    assert found.eve == pytest.approx(0.5, abs=1e-14)
    silent = found.describe() == "release the same signal whatever the data"
    assert silent == (bob != 0.0)


def test_a_cell_with_nearly_no_mass_on_one_side_keeps_the_bracket_narrow() -> None:
    """Bob's threshold splits off 1e-25 of a cell: the marginal cost is all but a jump, and the reply a share of it."""
    model = GaussianModel(4, 0.3, 0.0)
    for edge in (1e-3, 1e-6, 1e-9):
        for lam in (0.01, 0.3, 2.0, 50.0):
            found = bracket(model, MaxEve(edge), lam)
            assert found.lower <= found.upper <= found.lower + 1e-11


def test_lambda_may_be_a_number_a_fraction_or_a_string() -> None:
    eve = MeanEve(0.5)
    assert (
        bracket(PAPER, eve, "1/2").upper == bracket(PAPER, eve, Fraction(1, 2)).upper == bracket(PAPER, eve, 0.5).upper
    )
    for bad in (-1.0, math.nan, "much", None):
        with pytest.raises(ValueError, match="lam"):
            bracket(PAPER, eve, bad)


def test_a_bad_dual_point_is_refused_and_an_incomplete_one_proves_less() -> None:
    law = cell_law(PAPER, MeanEve(0.5))
    with pytest.raises(InputError, match="u has shape"):
        dual_value(law, np.ones(2), 1.0)
    with pytest.raises(InputError, match="must not be negative"):
        dual_value(law, [[2.0, -1.0], [1.0, 0.0]], 1.0)
    # rows that do not sum to lam prove less, never more
    upper = bracket(PAPER, MeanEve(0.5), 1.0).upper
    for rows in ([[0.1, 0.1]] * 2, [[0.0, 0.0], [0.5, 0.5]], [[2.0, 0.5], [0.3, 0.7]], [[0.0, 0.9], [0.6, 0.4]]):
        bound = dual_value(law, rows, 1.0)
        assert bound.value - bound.error <= upper
    assert dual_value(law, [[0.5, 0.5]] * 2, 1.0).error < 1e-14
