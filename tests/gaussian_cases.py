"""Random settings of the Gaussian game, and data simulated from a model."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from gaussian import BothEves, Eve, GaussianModel, MaxEve, MeanEve, Table, table
from gaussian.paper import PAPER_MODEL, PAPER_TABLES

Array = NDArray[np.float64]

thresholds = st.floats(-2.5, 2.5)


@st.composite
def settings_of_the_game(draw: st.DrawFn) -> tuple[GaussianModel, Eve]:
    n = draw(st.integers(1, 12))
    prior_sd = math.exp(draw(st.floats(-2.0, 2.5)))
    model = GaussianModel(n, prior_sd, draw(st.sampled_from([0.0, 1.0])) * draw(thresholds) * prior_sd)
    mean = draw(thresholds) * model.xbar_sd
    top = draw(thresholds) * model.xbar_sd + draw(st.floats(0.0, 2.0))
    return model, draw(st.sampled_from([MeanEve(mean), MaxEve(top), BothEves(mean, top)]))


def draw_data(model: GaussianModel, generator: np.random.Generator, size: int) -> tuple[Array, Array]:
    """Parameters, and a data set (a row) for each."""
    theta = model.prior_sd * generator.standard_normal(size)
    return theta, theta[:, None] + generator.standard_normal((size, model.n))


@cache
def paper_table(name: str) -> Table:
    """The risks of the usual releases in the setting of one of the paper's tables: seconds, so computed once."""
    return table(PAPER_MODEL, PAPER_TABLES[name].eve)
