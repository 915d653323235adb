"""What means different things in one picture looks different to every eye, and on grey paper.

Colour blindness is simulated with the matrices of Machado, Oliveira and Fernandes (2009) at full severity, on linear
RGB; distances are Euclidean in CIE Lab (Delta E 1976), white point D65.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")

from matplotlib import colors
from matplotlib import pyplot as plt
from matplotlib.collections import Collection
from matplotlib.container import Container
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bap_lp import Risks, lambda_path, plots, solve
from bap_lp.files.problems import load_problem
from bap_lp.plots import palette as pt

ROOT = Path(__file__).parents[1]
EYES = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
GREY = np.array([[0.2126, 0.7152, 0.0722]] * 3)
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colour: Any) -> np.ndarray:
    r"""Linear RGB of a colour on white paper."""
    *rgb, alpha = colors.to_rgba(colour)
    v = alpha * np.array(rgb) + 1 - alpha
    return np.where(v <= 0.04045, v / 12.92, ((v + 0.055) / 1.055) ** 2.4)


def lab(colour: Any, eye: np.ndarray) -> np.ndarray:
    t = XYZ @ np.clip(eye @ linear(colour), 0, 1) / XYZ.sum(axis=1)
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def distance(a: Any, b: Any, eye: np.ndarray) -> float:
    return float(np.linalg.norm(lab(a, eye) - lab(b, eye)))


def least(a: Any, b: Any) -> float:
    """The distance of two colours for the eye that sees it worst."""
    return min(distance(a, b, eye) for eye in EYES.values())


def test_the_simulation_is_the_published_one() -> None:
    for eye in (*EYES.values(), GREY):
        assert eye.sum(axis=1) == pytest.approx(1, abs=2e-6)  # greys stay grey
    assert lab("#ff0000", EYES["normal"]) == pytest.approx([53.24, 80.09, 67.20], abs=0.02)  # CIE Lab of sRGB red
    # the classical confusions: red and green for two of the eyes, blue and green for the third
    assert distance("#cc3311", "#558800", EYES["normal"]) > 60
    assert distance("#cc3311", "#558800", EYES["deuteranopia"]) < 25
    assert distance("#009988", "#0088aa", EYES["tritanopia"]) < distance("#009988", "#0088aa", EYES["normal"]) / 2


@pytest.mark.parametrize(
    "together",
    [
        ("BOB", "EVE", "ALICE", "GREY", "INK"),
        ("ALICE", "FRONTIER", "RELEASE", "PURPLE", "SKY", "GREY", "INK", "REGION"),
        ("GREEN", "ORANGE", "SKY", "PURPLE", "BROWN", "GREY", "NAVY", "REGION"),
        ("BOB", "EVE", "SLATE", "PALE", "CARD"),
    ],
    ids=["agents", "map", "gaussian", "cards"],
)
def test_colours_of_one_picture_are_apart_for_every_eye(together: tuple[str, ...]) -> None:
    for a, b in combinations(together, 2):
        if {a, b} != {"PALE", "CARD"}:  # a track and the ground it lies on
            assert least(getattr(pt, a), getattr(pt, b)) >= pt.APART, (a, b)


@pytest.mark.parametrize("ramp", [pt.GREENS, pt.SLATES], ids=["channel", "posterior"])
def test_a_heat_map_grows_darker_for_every_eye(ramp: tuple[str, ...]) -> None:
    shades = colors.LinearSegmentedColormap.from_list("ramp", ramp)(np.linspace(0, 1, 11))
    for eye in (*EYES.values(), GREY):
        assert (np.diff([lab(shade, eye)[0] for shade in shades]) < -1).all()


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_signals_are_apart_on_grey_paper(count: int) -> None:
    shades = pt.signal_colours(count)
    assert len(shades) == count
    for a, b in combinations(shades, 2):
        assert distance(a, b, GREY) >= pt.APART
        assert least(a, b) >= pt.APART


def schemes() -> dict[str, dict[str, str]]:
    """The colours of the pages, light and dark."""
    sheet = (ROOT / "bap_cli" / "report" / "page" / "page.css").read_text()
    light, dark = re.findall(r":root \{(.*?)\}", sheet, re.DOTALL)[:2]
    found = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6});", block)) for block in (light, dark)]
    return {"light": found[0], "dark": found[0] | found[1]}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_use_the_meanings_of_the_palette_and_are_apart_for_every_eye(scheme: str) -> None:
    page = schemes()[scheme]
    for together in (
        ("bob", "eve", "alice", "slate", "track"),
        ("c-green", "c-frontier", "c-release", "c-grey", "c-region"),
        ("green", "bad", "ink"),
        ("green", "warn"),
        ("bad", "ink"),
    ):
        for a, b in combinations(together, 2):
            floor = 12.0 if {a, b} == {"green", "bad"} else pt.APART  # these also carry a sign, ✓ and ✗
            assert least(page[a], page[b]) >= floor, (a, b)
    if scheme == "light":
        named = {"bob": pt.BOB, "eve": pt.EVE, "alice": pt.ALICE, "c-frontier": pt.FRONTIER, "c-release": pt.RELEASE}
        named |= {"c-green": pt.ALICE, "slate": pt.SLATE, "c-grey": pt.GREY, "c-ink": pt.INK, "c-region": pt.REGION}
        assert {name: page[name] for name in named} == {name: colour.lower() for name, colour in named.items()}


def test_a_verdict_is_told_by_a_sign_as_well() -> None:
    sheet = (ROOT / "bap_cli" / "report" / "page" / "page.css").read_text()
    signs = re.findall(r"\.verdict(?:\.\w+)?::before \{ content: \"(.) \"", sheet)
    assert len(signs) == len(set(signs)) == 3


class Mark(NamedTuple):
    """What a legend shows: a colour, and a shape that survives a grey print."""

    name: str
    colour: Any
    shape: tuple[Any, ...]


def marks(ax: Any) -> Iterator[Mark]:
    for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
        if isinstance(handle, Container):
            handle = handle[0]
        if isinstance(handle, Line2D):
            dashes = tuple(np.round(handle._unscaled_dash_pattern[1] or (), 1))
            line = handle.get_linestyle() if handle.get_linestyle() == "None" else dashes
            hollow = colors.same_color(handle.get_markerfacecolor(), "white")
            thick = "thick" if handle.get_linewidth() > 5 else "line"
            yield Mark(name, handle.get_color(), (thick, line, handle.get_marker(), hollow))
        elif isinstance(handle, Patch):
            yield Mark(name, handle.get_facecolor(), ("area",))
        else:
            assert isinstance(handle, Collection)
            yield Mark(name, handle.get_facecolor()[0], ("area",))


def told_apart(found: list[Mark]) -> None:
    assert len(found) >= 2
    for a, b in combinations(found, 2):
        if not colors.same_color(a.colour, b.colour):
            areas = a.shape != b.shape and "area" in (a.shape[0], b.shape[0])  # a line on the area of its own colour
            assert areas or least(a.colour, b.colour) >= pt.APART, (a, b)
        assert a.shape != b.shape or distance(a.colour, b.colour, GREY) >= pt.APART, (a, b)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def _coin() -> Any:
    return load_problem(ROOT / "examples" / "coin_toss.toml")


def _map() -> Any:
    coin = _coin()
    return plots.risk_utility_map(coin.problem, coin.lam)


def _path() -> Any:
    coin = _coin()
    return plots.value_of_lambda(lambda_path(coin.problem), coin.lam)


def _gaussian(kind: str) -> Any:
    from gaussian import MeanEve
    from gaussian import plots as drawn
    from gaussian.paper import PAPER_MODEL

    eve, best = MeanEve(0.5), Risks(0.2, 0.3)
    if kind == "map":
        return drawn.risk_utility_map(PAPER_MODEL, eve, optimum=best, frontier=[Risks(0.14, 0.2), best])
    return (drawn.risk_against_noise if kind == "noise" else drawn.risk_against_threshold)(
        PAPER_MODEL, eve, optimum=best, lam=0.7
    )


def _rule() -> Any:
    from gaussian import BothEves
    from gaussian.optimum.brackets import bracket
    from gaussian.optimum.plots import rule_picture
    from gaussian.paper import PAPER_MODEL, PAPER_TABLES

    found = bracket(PAPER_MODEL, PAPER_TABLES["both"].eve)
    assert isinstance(found.adversary, BothEves)
    return rule_picture(found)


def _model() -> Any:
    from discretise import bracket
    from discretise.continuum.plots import bracket_picture
    from discretise.model_files import load_model

    loaded = load_model(ROOT / "examples" / "models" / "rare_disease.toml")
    return bracket_picture(bracket(loaded.problem, lam=loaded.lam))


def _records(kind: str) -> Any:
    import pandas as pd

    from bap_sdc import Eve, Study
    from bap_sdc.records.plots import frontier, release_map

    rng = np.random.default_rng(0)
    ill = rng.random(300) < 0.3
    frame = pd.DataFrame({"ill": ill.astype(int), "pay": np.clip(rng.integers(1, 4, 300) - ill, 1, 3)})
    study = Study(frame, publish={"pay": "absolute"}, eves=[Eve("ill", loss=[[0, 1], [2, 0]])], holdout="1/2")
    path = study.path()
    return frontier(path.audited()) if kind == "path" else release_map(study.solve("1/2").compare(()), path=path)


def _promises() -> Any:
    import pandas as pd

    from benchmarks import priors

    return priors.picture(pd.read_csv(priors.NUMBERS)).axes[0]


PICTURES: dict[str, Callable[[], Any]] = {
    "map": _map,
    "path": _path,
    "gaussian map": lambda: _gaussian("map"),
    "gaussian noise": lambda: _gaussian("noise"),
    "gaussian threshold": lambda: _gaussian("threshold"),
    "rule": _rule,
    "model": _model,
    "records": lambda: _records("map"),
    "frontier of records": lambda: _records("path"),
    "promises": _promises,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_what_a_legend_names_is_told_apart_by_every_eye_and_on_grey_paper(name: str) -> None:
    told_apart(list(marks(PICTURES[name]())))


def test_two_lines_of_one_lightness_and_shape_would_be_found() -> None:
    same = [Mark("a", pt.VERMILION, ("line", (), "o", False)), Mark("b", pt.GREEN, ("line", (), "o", False))]
    with pytest.raises(AssertionError):
        told_apart(same)  # apart for every eye, and the same on grey paper
    close = [Mark("a", "#009E73", ("line", (), "o", False)), Mark("b", "#00A080", ("line", (3, 1), "o", False))]
    with pytest.raises(AssertionError):
        told_apart(close)


def test_agents_have_their_colours_in_the_cards() -> None:
    coin = _coin()
    ax = plots.signal_cards(coin.problem, solve(coin.problem, coin.lam).mechanism)
    filled = {colors.to_hex(patch.get_facecolor()) for patch in ax.patches}
    assert {pt.BOB.lower(), pt.EVE.lower(), pt.SLATE.lower()} <= filled
