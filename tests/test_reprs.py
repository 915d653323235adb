"""Results of the Gaussian packages print as one short line, without their arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from bap_lp import solve
from discretise import CellRule, bracket, closed_form, max_bracket, model, sample, squared_grid, zero_one
from gaussian import BothEves, MaxEve, MeanEve, OneBit, curve, table
from gaussian.laws.mean import mean_eve_law
from gaussian.paper import PAPER_MODEL as PAPER


def gridded() -> Any:
    coin = {0: stats.bernoulli(0.3), 1: stats.bernoulli(0.7)}
    keywords = {"bob_decisions": [0, 1], "eve_decisions": [0, 1]}
    return model(([0, 1], [0.5, 0.5]), lambda theta: coin[theta], zero_one(), zero_one(), **keywords)


def drawn() -> Any:
    def simulator(rng: Any, size: int) -> Any:
        theta = rng.normal(size=size)
        return theta, theta + rng.normal(size=size)

    return sample(simulator, 50, zero_one(0), zero_one(1), bob_decisions=[0, 1], eve_decisions=[0, 1])


RESULTS = {
    "bracket": lambda: bracket(PAPER, BothEves(0.5, 2.0)),
    "rule": lambda: bracket(PAPER, BothEves(0.5, 2.0)).rule,
    "simulation": lambda: bracket(PAPER, MaxEve(2.0)).simulate(1000),
    "closed form": lambda: closed_form(PAPER, MaxEve(2.0), 1.5),
    "table": lambda: table(PAPER, MeanEve(0.5)),
    "curve": lambda: curve(PAPER, MeanEve(0.5), OneBit, np.linspace(0, 1, 500)),
    "empty curve": lambda: curve(PAPER, MeanEve(0.5), OneBit, []),
    "law": lambda: mean_eve_law(PAPER, MaxEve(2.0)),
    "squared bracket": lambda: max_bracket(PAPER, cells=20, strips=20),
    "squared grid": lambda: squared_grid(PAPER, "mean", mean_count=10, decisions=5),
    "cell rule": lambda: CellRule(gridded(), solve(gridded(), 0.5)),
    "points": lambda: gridded().points,
    "model bracket": lambda: bracket(gridded(), 0.5),
    "scalar rule": lambda: bracket(gridded(), 0.5).rule,
    "played rule": lambda: bracket(gridded(), 0.5).simulate(100),
    "sample bracket": lambda: bracket(drawn(), 0.5),
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_prints_as_one_short_line(name: str) -> None:
    text = repr(RESULTS[name]())
    assert "\n" not in text
    assert "array(" not in text
    assert len(text) < 160
