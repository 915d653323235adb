"""Rules as tables of places, and the same rule with fewer places.

A game on cells leaves small cells around a switch, some of them mixed, in an arbitrary order. A run of small
or mixed places between one that sends i and one that sends k becomes one place for each signal that it sends, i first
and k last, with the same masses. The functions hardly change over a small run, and neither does the value of the
rule; the caller computes it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussian.real_arrays import Array

_Place = tuple[int, float, float, Array]  # panel, left, right and the row of probabilities


@dataclass(frozen=True, eq=False)
class RuleTable:
    """Places (parts of panels, or atoms), P(signal | place), and the integrals of all functions over them."""

    panel: NDArray[np.intp]
    left: Array
    right: Array
    rows: Array
    masses: Array


def gathered(table: RuleTable, small: float, light: float) -> tuple[NDArray[np.intp], Array, Array, Array]:
    """Panels, left ends, right ends and rows of the rule with runs of places of mass below `small` gathered.

    A signal that such a run sends with a mass below `light` is not sent there any more.
    """
    mass = np.maximum(table.masses[:, 0], 0.0)
    new = np.append(True, (table.rows[1:] != table.rows[:-1]).any(axis=1))
    run = np.cumsum(new) - 1
    loose = (np.bincount(run, mass)[run] < small) | ((table.rows.max(axis=1) < 1) & (mass < small))
    ends = np.flatnonzero(np.diff(np.concatenate([[False], loose, [False]]).astype(int)))
    stops = dict(zip(ends[::2].tolist(), ends[1::2].tolist(), strict=True))
    places: list[_Place] = []
    k = 0
    while k < len(table.rows):
        if k in stops:
            places += _gather(table, mass, k, stops[k], light)
            k = stops[k]
        else:
            places.append((int(table.panel[k]), float(table.left[k]), float(table.right[k]), table.rows[k]))
            k += 1
    panel, left, right, rows = zip(*(place for place in places if place[2] > place[1]), strict=True)
    return np.array(panel, dtype=np.intp), np.array(left), np.array(right), np.array(rows)


def _gather(table: RuleTable, mass: Array, start: int, stop: int, light: float) -> Iterator[_Place]:
    before = int(table.rows[start - 1].argmax()) if start else -1
    after = int(table.rows[stop].argmax()) if stop < len(table.rows) else -1
    total = mass[start:stop] @ table.rows[start:stop]
    order = sorted(np.flatnonzero(total > light).tolist(), key=lambda i: (i != before, i == after, i))
    goals = np.cumsum(total[order])
    order = order or [before if before >= 0 else max(after, 0)]
    position, reached, pure = 0, 0.0, np.eye(table.rows.shape[1])
    for c in range(start, stop):
        left, right = float(table.left[c]), float(table.right[c])
        cut = left
        while position < len(order) - 1 and reached + mass[c] > goals[position]:
            share = (goals[position] - reached) / mass[c]
            edge = left + (right - left) * min(max(share, 0.0), 1.0)
            yield int(table.panel[c]), cut, edge, pure[order[position]]
            cut, position = max(cut, edge), position + 1
        yield int(table.panel[c]), cut, right, pure[order[position]]
        reached += mass[c]
