"""The figures of the paper: what is drawn are the risks, with the optimum over all mechanisms where it is given."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")

from matplotlib import pyplot as plt
from matplotlib.text import Text

from bap_lp.plots.placed_labels import Labels
from bap_lp.support.risks import Risks
from gaussian import MaxEve, MeanEve, NoisyMean, OneBit, calibrate, corner, optimise, risks
from gaussian.paper import PAPER_MODEL as MODEL
from gaussian.paper import PAPER_TABLES
from gaussian.plots import _family_curve, paper_figures, risk_against_noise, risk_against_threshold, risk_utility_map

EVE = MeanEve(0.5)
# discretise.bracket finds these; the tests of the Gaussian model do not depend on it
OPTIMA = {
    "mean": Risks(0.180719748926069, 0.324038434069573),
    "max": Risks(0.133860236400615, 0.241548430462501),
    "both": Risks(0.136305902915516, 0.029715517847917),
}


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def lines(ax: Any) -> dict[str, Any]:
    return {line.get_label(): line.get_xydata() for line in ax.lines}


def labels_keep_apart(figure: Any) -> None:
    figure.canvas.draw()
    for ax in figure.axes:
        artists = [artist for artist in ax.get_children() if isinstance(artist, Labels)]
        drawn = [Text.get_window_extent(t) for labels in artists for t in labels.texts if t.get_visible()]
        assert len(drawn) == sum(len(labels.texts) for labels in artists)
        assert not any(a.overlaps(b) for a, b in combinations(drawn, 2))


@pytest.mark.slow
@pytest.mark.parametrize("risk", ["bob", "eve", "alice"])
def test_curves_against_noise_pass_through_the_risks(risk: str) -> None:
    figure, ax = plt.subplots()
    lam = calibrate(MODEL, EVE)
    assert risk_against_noise(MODEL, EVE, risk, optimum=OPTIMA["mean"], ax=ax) is ax
    drawn = lines(ax)
    assert {"noisy full", "noisy mean", "noisy median", "best mechanism of all"} <= set(drawn)
    sigma = 1.3
    found = risks(MODEL, EVE, NoisyMean(sigma))
    value = found.alice(lam) if risk == "alice" else getattr(found, risk)
    assert np.interp(sigma, *drawn["noisy mean"].T) == pytest.approx(value, abs=2e-3)
    level = OPTIMA["mean"].alice(lam) if risk == "alice" else getattr(OPTIMA["mean"], risk)
    assert drawn["best mechanism of all"][0, 1] == pytest.approx(float(level))
    assert plt.get_fignums() == [figure.number]


def test_full_and_null_share_a_line_at_the_calibrated_lambda_only() -> None:
    assert "full and null" in lines(risk_against_threshold(MODEL, EVE))
    assert {"full", "null"} <= set(lines(risk_against_threshold(MODEL, EVE, lam=2.0)))
    assert {"full", "null"} <= set(lines(risk_against_threshold(MODEL, EVE, "eve")))
    assert "corner, a bound" not in lines(risk_against_threshold(MODEL, EVE, lam=2.0))
    assert lines(risk_against_threshold(MODEL, EVE))["corner, a bound"][0, 1] == corner(MODEL)
    with pytest.raises(ValueError, match="risk = 'carol' must be one of bob, eve, alice"):
        risk_against_noise(MODEL, EVE, "carol")


def test_the_best_bit_is_marked() -> None:
    ax = risk_against_threshold(MODEL, MaxEve(2.0))
    best = optimise(MODEL, MaxEve(2.0), OneBit)
    assert [best.parameter, best.alice] in [line.get_xydata()[0].tolist() for line in ax.lines]
    assert any("τ* = 0.5" in t.get_text() for t in ax.texts)


@pytest.mark.slow
@pytest.mark.parametrize("optimum", [None, OPTIMA["mean"]])
def test_the_map_has_its_level_line_through_the_winner(optimum: Risks | None) -> None:
    lam = calibrate(MODEL, EVE)
    ax = risk_utility_map(MODEL, EVE, optimum=optimum)
    winner = optimum or optimise(MODEL, EVE, OneBit).risks
    name, level = next((k, v) for k, v in lines(ax).items() if "least" in k)
    assert ("least of all" in name) == (optimum is not None)
    assert level[:, 0] - lam * level[:, 1] == pytest.approx(-float(winner.alice(lam)))
    ends = lines(ax)["full and null equal"]
    assert ends[:, 0] - lam * ends[:, 1] == pytest.approx([-0.13386023640] * 2)
    labels_keep_apart(ax.figure)
    risk_utility_map(MODEL, EVE, lam=0.0).figure.canvas.draw()


@pytest.mark.slow
def test_every_figure_of_the_paper_is_drawn_and_its_labels_keep_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gaussian.plots._POINTS", 6)
    _family_curve.cache_clear()
    told: list[str] = []
    figures = paper_figures(OPTIMA, told.append)
    kinds = ("", " sigma", " tau")
    assert set(figures) == {"maps", *(name + kind for name in PAPER_TABLES for kind in kinds)}
    assert len(told) == 3
    assert [len(figures[name].axes) for name in ("mean", "mean sigma", "max tau", "maps")] == [2, 3, 3, 4]
    for name in (*PAPER_TABLES, "maps"):
        labels_keep_apart(figures[name])
    _family_curve.cache_clear()
