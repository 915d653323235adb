"""The frontier of the Gaussian model: what lies on it is attained, and nothing lies below it by more than the gap."""

import numpy as np
import pytest

from bap_lp import Risks
from gaussian.evaluate import risks
from gaussian.optimum.frontier import attainable_frontier
from gaussian.optimum.gaussian_brackets import bracket
from gaussian.paper import PAPER_MODEL, PAPER_TABLES
from gaussian.plots import risk_utility_map
from gaussian.releases import Full, NoisyMean, Null, OneBit


@pytest.mark.slow
@pytest.mark.parametrize("name", PAPER_TABLES)
def test_other_brackets_lie_within_the_gap(name: str) -> None:
    eve = PAPER_TABLES[name].eve
    found = attainable_frontier(PAPER_MODEL, eve, 8)
    generator = np.random.default_rng(7)
    last = found.brackets[-2].lam * 1.5
    for lam in generator.uniform(0, max(last, 1.0), 6):
        other = bracket(PAPER_MODEL, eve, float(lam))
        attained = min(float(p.alice(lam)) for p in found.points)
        assert other.lower <= attained + 1e-12
        assert attained - other.upper <= found.gap + 1e-12
    assert found.gap < 0.002


def test_more_brackets_close_the_gap_and_points_are_ordered() -> None:
    eve = PAPER_TABLES["mean"].eve
    coarse, fine = (attainable_frontier(PAPER_MODEL, eve, count) for count in (5, 20))
    assert fine.gap < coarse.gap / 8  # the gap falls with the square of the number
    bob, eve_risks = np.array([(float(p.bob), float(p.eve)) for p in fine.points]).T
    assert (np.diff(bob) >= -1e-12).all()
    assert (np.diff(eve_risks) >= -1e-12).all()


@pytest.mark.slow
def test_the_map_shades_what_is_attained_and_draws_the_frontier() -> None:
    import matplotlib

    matplotlib.use("agg")
    eve = PAPER_TABLES["mean"].eve
    found = attainable_frontier(PAPER_MODEL, eve, 8)
    best = bracket(PAPER_MODEL, eve)
    ax = risk_utility_map(PAPER_MODEL, eve, optimum=Risks(best.bob, best.eve), frontier=found.points)
    line = next(one for one in ax.lines if one.get_label() == "frontier of all mechanisms")
    assert line.get_xydata() == pytest.approx(np.array([(-p.bob, -p.eve) for p in found.points], dtype=float))
    region = next(one for one in ax.patches if one.get_label() == "some mechanism does this").get_path()
    for pair in (risks(PAPER_MODEL, eve, release) for release in (Full(), Null(), NoisyMean(1.0), OneBit(0.5))):
        assert region.contains_point((-float(pair.bob), -float(pair.eve)), radius=1e-3) or region.contains_point(
            (-float(pair.bob), -float(pair.eve)), radius=-1e-3
        )
