"""Labels on pictures: other people's text made safe to draw, and placed so that no two of them overlap.

`Labels` is an artist that draws before the texts it owns and moves them: each goes to the first free place around its
point, nearest first, so the same picture always gets the same labels, whatever its size. Free means inside the frame
and clear of all markers and of the labels placed before; among free places the one that covers least of the lines wins.
A label with no free place is hidden: what is drawn never overlaps.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import matplotlib
import numpy as np
from matplotlib import font_manager
from matplotlib.artist import Artist
from matplotlib.transforms import Bbox

from bap_lp.plots.palette import GREY, INK
from bap_lp.support.risks import Number

Points = np.ndarray

_DIRECTIONS = 16
_RADII = (7.0, 12.0, 18.0, 26.0, 36.0, 50.0, 68.0, 90.0, 120.0)  # points
_LEADER = 16.0  # a label further away than this gets a line to its point
_CROSSED = 25  # what a line through another point's marker costs, in points of lines that are covered
_SAME = 0.004  # points closer than this, relative to the picture, carry one label
_BLANK = "\N{WHITE SQUARE}"


@lru_cache(maxsize=8)
def _glyphs(families: tuple[str, ...]) -> frozenset[int]:
    known: set[int] = set()
    for family in families:
        path = font_manager.findfont(font_manager.FontProperties(family=[family]))
        known.update(font_manager.get_font(path).get_charmap())
    return frozenset(known)


def axes(ax: Any, width: float, height: float) -> Any:
    """The Axes given, or one of its own figure of this size in inches."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def drawable(text: str, width: int = 26, lines: int = 3) -> str:
    """A label that the font can draw: unknown glyphs as squares, folded to `width`, cut after `lines`."""
    family = matplotlib.rcParams["font.family"]
    known = _glyphs(tuple([family] if isinstance(family, str) else family))
    plain = "".join(c if c.isprintable() and ord(c) in known else _BLANK for c in " ".join(text.split()))
    folded = textwrap.wrap(plain, width) or [_BLANK]
    if len(folded) > lines:
        folded = [*folded[: lines - 1], folded[lines - 1][: width - 1] + "…"]
    return "\n".join(folded)


def short(value: Number, longest: int = 9) -> str:
    """A fraction if it is short, else three digits."""
    text = str(value) if isinstance(value, Fraction) else ""
    return text if text and len(text) <= longest else f"{float(value):.3g}"


Named = tuple[tuple[float, float], str, str]  # point, text, colour


def shared(named: Sequence[Named], scale: Sequence[float]) -> list[Named]:
    """Names of points that lie together, up to a fraction of the scale, as lines of one label."""
    out: list[Named] = []
    for point, name, colour in named:
        for k, (spot, names, first) in enumerate(out):
            if all(abs(a - b) <= _SAME * (s or 1.0) for a, b, s in zip(point, spot, scale, strict=True)):
                out[k] = (spot, f"{names}\n{name}", first)
                break
        else:
            out.append((point, name, colour))
    return out


class Labels(Artist):
    """Texts next to their points.

    `lines` are paths (arrays of data points) that texts should not cover; `room` is half the size of the markers, in
    points, for all or for each; `others` are markers without a text, which no text covers either.
    """

    def __init__(
        self,
        ax: Any,
        points: Sequence[tuple[float, float]],
        texts: Sequence[str],
        colours: Sequence[str] | None = None,
        lines: Sequence[Points] = (),
        size: float = 9.0,
        room: float | Sequence[float] = 5.0,
        others: Sequence[tuple[float, float]] = (),
    ) -> None:
        super().__init__()
        self.points = np.asarray(points, dtype=float).reshape(-1, 2)
        self.others = np.asarray(others, dtype=float).reshape(-1, 2)
        self.home, self.lines = ax, list(lines)
        self.room = [float(room)] * len(self.points) if isinstance(room, (int, float)) else list(room)
        self.texts = [
            ax.annotate(
                text, point, xytext=(0, 0), textcoords="offset points", fontsize=size, color=colour, ha="center",
                va="center", linespacing=1.05, zorder=8, parse_math=False, annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.7, "shrinkA": 1, "shrinkB": 3},
            )
            for text, point, colour in zip(texts, self.points.tolist(), colours or [INK] * len(texts), strict=True)
        ]  # fmt: skip
        self.set_zorder(7.9)
        ax.add_artist(self)

    def get_window_extent(self, renderer: Any = None) -> Any:
        return Bbox.null()

    def get_tightbbox(self, renderer: Any = None) -> Any:
        return None

    def draw(self, renderer: Any) -> None:
        if not self.texts:
            return
        scale = renderer.points_to_pixels(1.0)
        frame = self.home.get_window_extent(renderer)
        centres = self.home.transData.transform(self.points)
        marks = np.vstack([centres, self.home.transData.transform(self.others)])
        radii = scale * np.array([*self.room, *[min(self.room)] * len(self.others)])[:, None]
        taken = np.hstack([marks - radii, marks + radii])
        inked, placed, leaders = self._inked(), np.empty((0, 4)), np.empty((0, 2))
        for k, (text, centre) in enumerate(zip(self.texts, centres, strict=True)):
            text.set_position((0, 0))
            text.arrow_patch.set_visible(False)
            text.set_visible(True)
            size = matplotlib.text.Text.get_window_extent(text, renderer)
            foreign = np.delete(taken[: len(marks)], k, axis=0)
            box = (size.width, size.height)
            place = _free_place(centre, box, taken, inked, frame, scale, placed, leaders, foreign)
            if place is None:
                text.set_visible(False)
                continue
            dx, dy = place - centre
            text.set_position((dx / scale, dy / scale))
            half = np.array([size.width, size.height]) / 2
            line = _leader(centre, place - half, place + half)
            text.arrow_patch.set_visible(bool(np.hypot(*(line[-1] - centre)) > _LEADER * scale))
            if text.arrow_patch.get_visible():
                leaders = np.vstack([leaders, line])
            own = [*(place - half - scale), *(place + half + scale)]
            taken, placed = np.vstack([taken, own]), np.vstack([placed, own])

    def _inked(self) -> Points:
        """Points along the lines, a few pixels apart."""
        out = [np.empty((0, 2))]
        for line in self.lines:
            corners = self.home.transData.transform(np.asarray(line, dtype=float))
            for a, b in pairwise(corners):
                steps = int(np.clip(np.hypot(*(b - a)) / 4, 2, 2000))
                out.append(a + np.linspace(0, 1, steps)[:, None] * (b - a))
        return np.vstack(out)


def _leader(centre: Points, low: Points, high: Points) -> Points:
    """Points on the way from a marker to the nearest point of its label."""
    near = np.clip(centre, low, high)
    return centre + np.linspace(0.1, 1, 12)[:, None] * (near - centre)


def _inside(points: Points, low: Points, high: Points) -> Any:
    return ((low <= points) & (points <= high)).all(axis=-1)


def _free_place(
    centre: Points, size: tuple[float, float], taken: Points, inked: Points, frame: Any, scale: float,
    placed: Points, leaders: Points, foreign: Points,
) -> Points | None:  # fmt: skip
    """The centre of the best free box of this size around a point, or None; `foreign` are the markers of others."""
    half = np.array(size) / 2
    angles = 2 * np.pi * np.arange(_DIRECTIONS) / _DIRECTIONS
    ways = np.column_stack([np.cos(angles), np.sin(angles)])
    best, least = None, np.inf
    for radius in _RADII:
        # the nearest point of the box lies at `radius` from the point, whatever the direction
        for way in ways:
            place = centre + way * radius * scale + np.sign(np.round(way, 6)) * half
            low, high = place - half - scale, place + half + scale
            if (low < (frame.x0, frame.y0)).any() or (high > (frame.x1, frame.y1)).any():
                continue
            if ((low < taken[:, 2:]) & (high > taken[:, :2])).all(axis=1).any() or _inside(leaders, low, high).any():
                continue
            crossed = 0
            if radius > _LEADER:
                line = _leader(centre, low, high)[:, None]
                if _inside(line, placed[:, :2], placed[:, 2:]).any():
                    continue
                crossed = _inside(line, foreign[:, :2], foreign[:, 2:]).any(axis=0).sum()
            cost = _inside(inked, low, high).sum() + _CROSSED * crossed + radius / 4
            if cost < least:
                best, least = place, cost
        if best is not None and least <= radius / 4:
            break  # further out nothing can be cheaper
    return best
