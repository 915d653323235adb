"""What the page on the Gaussian example says in its text: the last column of its table, constants, tables."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gaussian_cases import paper_table

from gaussian import (
    BothEves,
    Eve,
    GaussianEves,
    GaussianModel,
    MaxEve,
    MeanEve,
    MedianEve,
    NoisyFull,
    NoisyMean,
    NoisyMedian,
    Null,
    RecordEve,
    calibrate,
    eve_cells,
    max_exceedance,
    max_residual_cdf,
    max_residual_sf,
    risks,
    table,
)
from gaussian.laws.noisy_full import FINAL, LEVEL, PRODUCT_COUNTS
from gaussian.paper import PAPER_MODEL as PAPER
from gaussian.paper import PAPER_TABLES
from gaussian.risk_tables import computed_families

PAGE = Path(__file__).parents[2] / "docs" / "gaussian.md"
FAMILIES: dict[str, Any] = {"noisy full": NoisyFull, "noisy mean": NoisyMean, "noisy median": NoisyMedian}


@pytest.mark.slow
def test_the_optima_are_flat_and_the_printed_risks_are_right_at_the_printed_parameters() -> None:
    assert r"at the printed parameters $R_A$ is higher by 0.003 at most" in " ".join(PAGE.read_text("utf-8").split())
    for name, paper in PAPER_TABLES.items():
        lam = calibrate(PAPER, paper.eve)
        least = {row.mechanism: row.alice for row in paper_table(name).releases}
        for mechanism, family in FAMILIES.items():
            printed = paper.rows[mechanism]
            there = risks(PAPER, paper.eve, family(printed.parameter))
            assert there.alice(lam) - least[mechanism] < 0.003
            mine = there.bob, there.eve, there.alice(paper.lam)
            theirs = printed.bob, printed.eve, printed.alice
            assert mine == pytest.approx(theirs, abs=0.0055), (name, mechanism)


def test_the_printed_lambda_of_both_eves_is_that_of_a_rough_quadrature() -> None:
    x, w = np.polynomial.hermite_e.hermegauss(80)
    p = PAPER.bob_posterior(PAPER.xbar_sd * x)
    rough = np.minimum(p, 1 - p) @ w / w.sum()
    lam = (0.5 - rough) / risks(PAPER, BothEves(0.5, 2.0), Null()).eve
    assert round(float(lam), 1) == PAPER_TABLES["both"].lam


@pytest.mark.parametrize("eve", [MeanEve(0.5), MaxEve(2.0), BothEves(0.5, 2.0)])
def test_these_eves_have_all_four_families(eve: Eve) -> None:
    assert len(computed_families(PAPER, eve)) == 4


@pytest.mark.slow
@pytest.mark.parametrize("eve", [MedianEve(0.3), RecordEve(1.0), GaussianEves((MeanEve(0.5), MaxEve(2.0)))])
def test_against_other_eves_two_families_are_left_out(eve: Eve) -> None:
    found = table(GaussianModel(3), eve, lam=1.0)
    assert [row.mechanism for row in found.releases] == ["full", "null", "noisy mean", "one-bit"]


def test_a_parameter_is_null_where_there_is_none_and_inf_at_infinite_noise() -> None:
    rows = table(GaussianModel(2), MeanEve(0.0), lam=1e6).releases
    found = {row.mechanism: row.document()["parameter"] for row in rows}
    assert found["full"] is found["null"] is None
    assert found["noisy mean"] == "inf"


def test_the_page_says_how_the_numbers_are_computed() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert max(PRODUCT_COUNTS) == 5
    assert FINAL.replicates == 8
    assert f"(for $n > 5$ half of Student's {100 * LEVEL:g}% interval from eight scramblings" in text


def test_the_building_blocks_belong_together() -> None:
    x, c = np.linspace(-2.0, 3.0, 41), 1.3
    above = max_exceedance(5, c, x)
    assert above == pytest.approx(max_residual_sf(5)(c - x), abs=1e-15)
    assert 1 - above == pytest.approx(max_residual_cdf(5)(c - x), abs=1e-15)
    cells = eve_cells(5, BothEves(0.5, c), x)
    assert cells.sum(axis=0) == pytest.approx(np.ones(41), abs=1e-15)
    assert cells[[1, 3]].sum(axis=0) == pytest.approx(above, abs=1e-15)
    assert cells[[2, 3]].sum(axis=0) == pytest.approx((x > 0.5).astype(float), abs=1e-15)
    z = (PAPER.posterior_sd**2 * 5 * x) / PAPER.posterior_sd
    assert PAPER.bob_posterior(x) == pytest.approx([0.5 * math.erfc(-v / math.sqrt(2)) for v in z], abs=1e-14)
    assert PAPER.xbar_sd == pytest.approx(math.sqrt(1.2), rel=1e-15)
