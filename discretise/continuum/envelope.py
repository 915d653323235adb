"""The integral of min_i G_i over panels, with a proof that no dip between the points was missed.

G_i is a polynomial on each panel. On an interval of width h (in the local coordinate) where i is least at both ends,
G_k - G_i is at least the smaller of its two end values minus h^2/8 max |(G_k - G_i)''|, and |T_n''| <= n^2 (n^2 - 1)/3
bounds the second derivative by the coefficients. If this is not negative for any k, then i is least on the interval.
Otherwise the interval is halved, until the deficit times the width is negligible; it goes to `slack`, so that
    sum of the integrals of the chosen G_i  -  slack  <=  int min_i G_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discretise.pace import wait
from gaussian.real_arrays import Array

_SMALLEST = 2.0**-40
_ROUND = 4e-15  # of the largest |G_i| on a panel: differences below it are ties
_BUDGET = 1e-16  # of int max |G_i|: what one interval may add to the slack
_START = 8


@dataclass(frozen=True, eq=False)
class Envelope:
    """Parts [left, right] of panels in local coordinates, in order, with the decision that is least on each."""

    panel: NDArray[np.intp]
    left: Array
    right: Array
    choice: NDArray[np.intp]
    slack: float


def lower_envelope(coefs: Array, half: Array) -> Envelope:
    """The parts of each panel on which one of the functions coefs[panel, i] is least."""
    count, _, nodes = coefs.shape
    k = np.arange(nodes)
    second = np.abs(coefs) @ (k**2 * (k**2 - 1) / 3.0)
    size = np.abs(coefs).sum(axis=2).max(axis=1)
    budget = _BUDGET * float(half @ size)
    grid = np.linspace(-1, 1, _START + 1)
    panel = np.repeat(np.arange(count), _START)
    left, right = np.tile(grid[:-1], count), np.tile(grid[1:], count)
    done: list[tuple[Array, ...]] = []
    slack = 0.0
    while len(panel):
        wait()
        ends = [np.einsum("pk,pik->pi", np.cos(np.arccos(t)[:, None] * k), coefs[panel]) for t in (left, right)]
        choice = (ends[0] + ends[1]).argmin(axis=1)
        row = np.arange(len(panel))
        width = right - left
        gap = np.minimum(*(end - end[row, choice][:, None] for end in ends))
        bend = (second[panel] + second[panel, choice][:, None]) * (width**2 / 8)[:, None]
        bend[row, choice] = 0.0
        deficit = np.maximum(-(gap - bend).min(axis=1), 0.0)
        share = deficit * width * half[panel]
        stop = (deficit <= _ROUND * size[panel]) | (share <= budget) | (width <= _SMALLEST)
        slack += float(share[stop].sum())
        done.append((panel[stop], left[stop], right[stop], choice[stop]))
        panel, left, right = panel[~stop], left[~stop], right[~stop]
        middle = (left + right) / 2
        panel = np.tile(panel, 2)
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    parts = [np.concatenate(column) for column in zip(*done, strict=True)]
    order = np.lexsort((parts[1], parts[0]))
    panel, left, right, choice = (part[order] for part in parts)
    new = np.append(True, (panel[1:] != panel[:-1]) | (choice[1:] != choice[:-1])) if len(panel) else np.zeros(0, bool)
    first = np.flatnonzero(new)
    last = np.append(first[1:], len(panel)) - 1
    return Envelope(panel[first].astype(np.intp), left[first], right[last], choice[first].astype(np.intp), slack)
