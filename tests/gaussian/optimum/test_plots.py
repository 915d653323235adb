"""The picture of the optimal rule shades what the rule releases."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest
from matplotlib.path import Path as Outline

from discretise import bracket
from gaussian import BothEves, Eve, GaussianModel, MaxEve, MeanEve
from gaussian.optimum.optimum_plots import rule_picture
from gaussian.paper import PAPER_MODEL as MODEL

matplotlib.use("agg")


@pytest.mark.parametrize("eve", [MeanEve(0.5), MaxEve(2.0), BothEves(0.5, 2.0), MaxEve(-1.0), MeanEve(-2.0)], ids=repr)
def test_the_shaded_region_is_where_one_is_released(eve: Eve) -> None:
    found = bracket(MODEL, eve)
    ax = rule_picture(found)
    white, shades = ax.patches[-1], ax.patches[:-1]
    assert white.get_facecolor()[:3] == (1.0, 1.0, 1.0)
    outlines = [Outline(shade.get_xy()) for shade in shades]
    x = np.random.default_rng(0).normal(size=(400, 5)) + np.random.default_rng(1).normal(size=(400, 1))
    points = np.stack([x.mean(axis=1), x.max(axis=1)], axis=1)
    shown = (np.abs(points[:, 0]) < 3.2 * MODEL.xbar_sd) & (points[:, 1] < ax.get_ylim()[1])
    shaded = np.any([outline.contains_points(points) for outline in outlines], axis=0) if outlines else np.zeros(400)
    assert (shaded[shown] == (found.rule(x)[shown] == 1)).mean() > 0.995  # a point on an edge may fall either way
    matplotlib.pyplot.close(ax.figure)


def test_the_rule_for_one_observation_can_be_drawn() -> None:
    ax = rule_picture(bracket(GaussianModel(1, 1.0, 0.3), MaxEve(1.0)))
    assert ax.get_title(loc="left").startswith("release 1")
    matplotlib.pyplot.close(ax.figure)
