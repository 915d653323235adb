"""Rules as tables of places, and the same rule with fewer places.

A game on cells leaves small cells around a switch, some of them mixed, in an arbitrary order. A run of small
or mixed places between one that sends i and one that sends k becomes one place for each signal that it sends, i first
and k last, with the same masses. The functions hardly change over a small run, and neither does the value of the
rule; the caller computes it again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gaussian.arrays import Array


@dataclass(frozen=True, eq=False)
class RuleTable:
    """Places (parts of panels, or atoms), P(signal | place), and the integrals of all functions over them."""

    panel: NDArray[np.intp]
    left: Array
    right: Array
    rows: Array
    masses: Array


class _Places:
    """Places that are collected one by one."""

    def __init__(self, signals: int) -> None:
        self.panel: list[int] = []
        self.ends: list[tuple[float, float]] = []
        self.rows: list[Array] = []
        self.pure = np.eye(signals)

    def add(self, panel: int, left: float, right: float, row: Array) -> None:
        if right > left:
            self.panel.append(panel)
            self.ends.append((left, right))
            self.rows.append(row)


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
    out, k = _Places(table.rows.shape[1]), 0
    while k < len(table.rows):
        if k in stops:
            _gather(table, mass, k, stops[k], light, out)
            k = stops[k]
        else:
            out.add(int(table.panel[k]), float(table.left[k]), float(table.right[k]), table.rows[k])
            k += 1
    left, right = np.array(out.ends).T
    return np.array(out.panel, dtype=np.intp), left, right, np.array(out.rows)


def _gather(table: RuleTable, mass: Array, start: int, stop: int, light: float, out: _Places) -> None:
    before = int(table.rows[start - 1].argmax()) if start else -1
    after = int(table.rows[stop].argmax()) if stop < len(table.rows) else -1
    total = mass[start:stop] @ table.rows[start:stop]
    order = sorted(np.flatnonzero(total > light).tolist(), key=lambda i: (i != before, i == after, i))
    goals = np.cumsum(total[order])
    order = order or [before if before >= 0 else max(after, 0)]
    position, reached = 0, 0.0
    for c in range(start, stop):
        left, right = float(table.left[c]), float(table.right[c])
        cut = left
        while position < len(order) - 1 and reached + mass[c] > goals[position]:
            share = (goals[position] - reached) / mass[c]
            edge = left + (right - left) * min(max(share, 0.0), 1.0)
            out.add(int(table.panel[c]), cut, edge, out.pure[order[position]])
            cut, position = max(cut, edge), position + 1
        out.add(int(table.panel[c]), cut, right, out.pure[order[position]])
        reached += mass[c]
