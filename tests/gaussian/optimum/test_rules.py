"""Alice's rule on actual data: regions, words, draws, and risks by quadrature, simulation and the bracket."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gaussian_cases import draw_data

from bap_lp import InputError
from discretise import Region, Rule, bracket
from gaussian import BothEves, Eve, GaussianModel, MaxEve, MeanEve
from gaussian.optimum.regions import describe_rule, rule_regions
from gaussian.paper import PAPER_MODEL as PAPER

inf = math.inf
CASES: list[tuple[GaussianModel, Eve, float | str]] = [
    (PAPER, MeanEve(0.5), "calibrated"),
    (PAPER, MaxEve(2.0), "calibrated"),
    (PAPER, BothEves(0.5, 2.0), "calibrated"),
    (GaussianModel(3, 2.0, 0.4), MaxEve(1.0), 0.6),
    (GaussianModel(1, 0.7, -0.2), MeanEve(0.1), 2.0),
    (GaussianModel(8, 0.5, 0.1), BothEves(-0.1, 1.1), 30.0),
]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "eve", "lam"), CASES[2:4])
def test_the_simulated_risks_of_the_rule_agree_with_the_bracket(
    model: GaussianModel, eve: Eve, lam: float | str
) -> None:
    found = bracket(model, eve, lam)
    sample = found.simulate(200_000, seed=3)
    assert abs(sample.bob - found.bob) <= 4.5 * sample.bob_error
    assert abs(sample.eve - found.eve) <= 4.5 * sample.eve_error
    assert abs(sample.alice(found.lam) - found.upper) <= 4.5 * sample.alice_error(found.lam)
    assert sample.frequencies.sum() == pytest.approx(1)


@pytest.mark.parametrize(("model", "eve", "lam"), CASES)
def test_the_risks_of_the_rule_are_those_of_the_bracket(model: GaussianModel, eve: Eve, lam: float | str) -> None:
    found = bracket(model, eve, lam)
    risks = found.rule.risks()
    assert float(risks.bob) == pytest.approx(found.bob, abs=1e-14)
    assert float(risks.eve) == pytest.approx(found.eve, abs=1e-14)


@pytest.mark.parametrize(("model", "eve", "lam"), CASES)
def test_the_regions_partition_the_data_and_match_the_rule(model: GaussianModel, eve: Eve, lam: float | str) -> None:
    found = bracket(model, eve, lam)
    _, x = draw_data(model, np.random.default_rng(1), 4000)
    hits = _hits(found.regions, x)
    assert (hits.sum(0) == 1).all()
    assert (found.rule(x) == hits[1]).all()
    assert (found.mechanism.release(x) == hits[1]).all()


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("eve", [MeanEve(0.3), MaxEve(0.6), BothEves(0.3, 1.1), BothEves(0.8, 0.2)])
def test_the_regions_of_any_thresholds_partition_the_data(n: int, eve: Eve) -> None:
    model = GaussianModel(n, 1.2, 0.1)
    (_, x), generator = draw_data(model, np.random.default_rng(1), 4000), np.random.default_rng(n)
    for _ in range(20):
        thresholds = generator.choice(
            [-inf, -0.5, 0.1, 0.3, 0.6, 0.9, inf], size=2 if not isinstance(eve, BothEves) else 4
        )
        hits = _hits(rule_regions(model, eve, thresholds.tolist()), x)
        assert (hits.sum(0) == 1).all()
        assert (Rule.from_thresholds(model, eve, thresholds)(x) == hits[1]).all()


def _hits(found: tuple[Region, ...], x: np.ndarray) -> np.ndarray:
    """How many regions of each signal hold each data set."""
    mean, top = x.mean(-1), x.max(-1)
    hits = np.zeros((2, len(x)))
    for region in found:
        inside = (mean > region.xbar_above) & (mean <= region.xbar_upto)
        if region.max_above is not None:
            inside &= top > region.max_above
        if region.max_upto is not None:
            inside &= top <= region.max_upto
        hits[region.release] += inside
    return hits


def test_the_rule_accepts_one_data_set_or_an_array_of_them() -> None:
    found = bracket(PAPER, BothEves(0.5, 2.0))
    assert found.rule([-1.0, -1.0, -1.0, -1.0, 2.5]) == 1
    assert found.rule([-1.0, -1.0, -1.0, -1.0, 1.9]) == 0
    assert found.release([0.1, 0.1, 0.1, 0.1, 0.1]) == 1
    assert found.rule(np.zeros((3, 2, 5))).shape == (3, 2)


@pytest.mark.parametrize("x", [[1.0, 2.0], 3.0, [[1.0] * 5 + [2.0]], [math.nan] * 5, ["a"] * 5])
def test_data_of_a_wrong_shape_or_kind_are_refused(x: object) -> None:
    with pytest.raises(InputError, match="x"):
        bracket(PAPER, MeanEve(0.5)).rule(x)  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [0, 1, 2.5, True])
def test_a_bad_size_of_the_simulation_is_refused(size: object) -> None:
    with pytest.raises(InputError, match="size"):
        bracket(PAPER, MeanEve(0.5)).simulate(size)  # type: ignore[arg-type]


def test_a_randomised_rule_draws_with_its_probabilities() -> None:
    rule = Rule(PAPER, MeanEve(0.5), (np.array([-1.0]), np.array([])), (np.array([0.0, 0.3]), np.array([1.0])))
    x = np.full((20_000, 5), 0.2)
    assert (rule(x) == 0.3).all()
    assert rule.release(x, np.random.default_rng(0)).mean() == pytest.approx(0.3, abs=0.015)
    sample = rule.simulate(100_000, seed=5)
    assert abs(sample.bob - float(rule.risks().bob)) <= 4.5 * sample.bob_error
    assert abs(sample.eve - float(rule.risks().eve)) <= 4.5 * sample.eve_error


WORDS: list[tuple[Eve, list[float], str]] = [
    (MeanEve(0.5), [-1.0, 0.0], "release 1 when xbar > -1, else 0"),
    (MeanEve(0.5), [-1.0, 1.0], "release 1 when -1 < xbar <= 0.5 or xbar > 1, else 0"),
    (MeanEve(0.5), [-inf, inf], "release 1 when xbar <= 0.5, else 0"),
    (MeanEve(0.5), [inf, inf], "release the same signal whatever the data"),
    (MeanEve(0.5), [-inf, -inf], "release the same signal whatever the data"),
    (MaxEve(2.0), [0.0, -inf], "release 1 when xbar > 0 or max > 2, else 0"),
    (MaxEve(2.0), [inf, 1.0], "release 1 when max > 2 and xbar > 1, else 0"),
    (MaxEve(2.0), [3.0, 3.0], "release 1 when xbar > 3, else 0"),
    (BothEves(0.5, 2.0), [0.2, 0.2, 0.2, 0.2], "release 1 when xbar > 0.2, else 0"),
    (MaxEve(2.0), [1.0, inf], "release 1 when max <= 2 and xbar > 1, else 0"),
    (MaxEve(2.0), [-inf, inf], "release 1 when max <= 2, else 0"),
    (MaxEve(2.0), [inf, -inf], "release 1 when max > 2, else 0"),
    (MaxEve(2.0), [-inf, 1.0], "release 1 when max <= 2 or xbar > 1, else 0"),
    (MaxEve(2.0), [0.5, 1.0], "release 1 when max <= 2 and xbar > 0.5, or max > 2 and xbar > 1, else 0"),
    (
        BothEves(0.0, 2.0),
        [-1.0, -1.0, 1.0, 0.0],
        "release 1 when max <= 2 and (-1 < xbar <= 0 or xbar > 1), or max > 2 and xbar > -1, else 0",
    ),
]


@pytest.mark.parametrize(("eve", "thresholds", "words"), WORDS)
def test_a_rule_is_described_in_words(eve: Eve, thresholds: list[float], words: str) -> None:
    assert describe_rule(PAPER, eve, thresholds) == words
    for region in rule_regions(PAPER, eve, thresholds):
        assert None in region.document().values() or region.xbar_above < region.xbar_upto
