"""The joint law of xbar and Eve's cells: masses, quantiles, and the cell of the maximum."""

from __future__ import annotations

import math
from math import inf

import numpy as np
import pytest
from gaussian_cases import draw_data

from gaussian import BothEves, GaussianModel, MaxEve, MeanEve, max_exceedance
from gaussian.laws.statistics import cell_ranges
from gaussian.optimum.cells import cell_law
from gaussian.paper import PAPER_MODEL as PAPER


def test_the_cells_have_the_masses_of_the_model() -> None:
    model = GaussianModel(3, 1.5, 0.2)
    _, x = draw_data(model, np.random.default_rng(4), 100_000)
    above, over = x.mean(-1) > 0.3, x.max(-1) > 1.2
    for eve, cell in ((MeanEve(0.3), above), (MaxEve(1.2), over), (BothEves(0.3, 1.2), 2 * above + over)):
        law = cell_law(model, eve)
        masses = law.split(np.zeros(law.count)).sum((0, 1))
        seen = np.bincount(cell.astype(int), minlength=law.count) / len(x)
        assert masses.sum() == pytest.approx(1, abs=1e-14)
        assert np.abs(seen - masses).max() <= 5 * 0.5 / math.sqrt(len(x))
        assert law.between(np.array([-inf, -1.0, 0.4, inf])).sum((0, 2)) == pytest.approx(masses, abs=1e-15)


def test_the_quantiles_invert_the_masses() -> None:
    for eve in (MeanEve(0.3), MaxEve(1.2), BothEves(0.3, 1.2)):
        law = cell_law(PAPER, eve)
        masses = law.split(np.zeros(law.count)).sum((0, 1))
        for s, (low, high) in enumerate(cell_ranges(5, eve)):
            assert law.quantile(1, s, 0.0) == high
            assert law.quantile(0, s, 0.0) == low
            assert law.quantile(1, s, masses[s]) == low
            for share in (1e-9, 0.2, 0.7):
                up, down = law.quantile(1, s, share * masses[s]), law.quantile(0, s, share * masses[s])
                assert law.above(np.array([up]))[:, s].sum() == pytest.approx(share * masses[s], rel=1e-12)
                assert law.below(np.array([down]))[:, s].sum() == pytest.approx(share * masses[s], rel=1e-12)


def test_the_cell_of_the_maximum_has_the_exceedance_probability() -> None:
    law = cell_law(PAPER, MaxEve(2.0))
    edges = np.linspace(-3.0, 3.0, 2001)
    middle = (edges[1:] + edges[:-1]) / 2
    inside = law.between(edges).sum(0)
    assert inside[1] / inside.sum(0) == pytest.approx(max_exceedance(5, 2.0, middle), abs=1e-5)
