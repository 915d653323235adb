"""What means different things in one picture looks different to every eye, and on grey paper.

Colour blindness is simulated with the matrices of Machado, Oliveira and Fernandes (2009) at full severity, on linear
RGB; distances are Euclidean in CIE Lab (Delta E 1976), white point D65.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from matplotlib import colors

from bap_lp.plots import palette as pt

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
