"""Which way leads to the optimum of the compact program, and the measurement behind each number.

The whole program goes to HiGHS: a few primal pivots first where they may be enough, else the interior point, or the
dual simplex method where Eve has many rows for each state. Or its structure is used: the game of Alice and Eve.
"""

from __future__ import annotations

from math import prod

import numpy as np

from bap_lp.model.sums.arrays import Arrays
from bap_lp.rational import Array

# Eve's rows per state from which the dual simplex method beats the interior point: 0.4 against 1.0 s on integers to 20
# at (60, 60, 60), 0.3 against 0.3 s at (60, 60, 20). Later if no losses are equal: 2.5 against 1.1 s on floats at
# (60, 60, 60), 0.04 against 0.14 s at (20, 100, 20). Not where ties are certain, 2.2 against 0.9 s
_SQUARE, _SQUARE_DISTINCT = 25, 90
# rows from which the primal method is tried on distances alone, where 400 pivots are enough at (30, 30, 30): elsewhere
# a tenth to a quarter of the time is lost, as on 0-1 losses at (60, 20, 60). With few rows pivots are cheap: 740 of 350
# rows in 0.05 s. It is given up after so many pivots, or a quarter of the rows: it may need ten times as many as the
# dual simplex method, or never end, as it does without perturbed bounds at (60, 20, 60)
_ROWS, _PIVOTS, _CHEAP = 500, 400, 370_000
# entries from which the perturbed program is solved first, and where ties are certain; below, the second run costs more
_PERTURBED, _PERTURBED_TIED = 10_000, 2000
_PERTURBED_LONGER = 1.2  # times as long takes the structured method where ties are certain
# seconds of the structured method from which a few primal pivots are tried before it: on distances they are enough,
# 72 of them in 0.014 s at (200, 100, 4), which is 0.2 s from inside. Not where building the program is itself long
_WORTH, BRIEF, _BRIEF_ENTRIES = 0.2, 100, 300_000


FEW = 8  # values of a table of losses that make ties certain


def few_values(losses: Array) -> bool:
    """Whether losses repeat so much that ties are certain: then nothing is learned without the perturbation."""
    return all(len(set(losses[:rows].ravel().tolist())) <= FEW for rows in (4, 256))


def estimated(arrays: Arrays) -> tuple[float, float]:
    """Seconds that simplex and interior point take on the whole program, and those of the structured method.

    The structured one takes some thirty steps, each with a dense system in b*e unknowns; then Eve's b*e rows are in
    every restricted program. HiGHS works with the N*b*e entries: the primal simplex method grows as their power 1.8,
    the interior point as the entries. Fitted to the grid of `benchmarks.grid`, up to (2000, 20, 5) and (40, 80, 80).
    """
    N, b, e = arrays.shape
    entries, unknowns = N * b * e, b * e
    whole = min(2.0 * (entries / 1e5) ** 1.8, 0.01 + 4e-6 * entries)
    structured = 0.008 + 4e-4 * unknowns + 30 * (unknowns**3 / 3 + N * unknowns**2 / 2) / 1.1e10
    return whole, structured * (_PERTURBED_LONGER if coarse(arrays.rounded) else 1.0)


def choose(arrays: Arrays) -> bool:
    """Whether to solve the whole program, or else by its structure."""
    whole, structured = estimated(arrays)
    return whole <= structured


def brief_try(arrays: Arrays) -> bool:
    """Whether a few pivots on the whole program are worth their time before the structured method."""
    return prod(arrays.shape) <= _BRIEF_ENTRIES and estimated(arrays)[1] >= _WORTH and not coarse(arrays.rounded)


def perturbed_first(arrays: Arrays) -> bool:
    """Whether a perturbed float program is solved first, whose optimum is the vertex that the ties choose."""
    return prod(arrays.shape) >= (_PERTURBED_TIED if coarse(arrays) else _PERTURBED)


def primal_pivots(arrays: Arrays, rows: int) -> int:
    """How many pivots of the primal simplex method are tried first."""
    if rows <= _ROWS or (_on_a_line(arrays.B) and _on_a_line(arrays.E)):
        return max(_PIVOTS, rows // 4, _CHEAP // rows)
    return 0


def interior_first(arrays: Arrays) -> bool:
    """Whether the interior point comes before the dual simplex method."""
    N, b, e = arrays.shape
    distinct = len(np.unique(arrays.E)) > arrays.E.size // 2
    return coarse(arrays) or b * e <= (_SQUARE_DISTINCT if distinct else _SQUARE) * N


def _on_a_line(losses: Array) -> bool:
    """Whether losses are like distances on a line, from which few pivots lead to the optimum.

    Most steps from a decision to the next are then as large as any.
    """
    steps = np.abs(np.diff(losses, axis=1))
    return bool(steps.size and np.median(steps) >= 0.99 * steps.max())


def coarse(arrays: Arrays) -> bool:
    """Whether ties are certain."""
    return few_values(arrays.B) and few_values(arrays.E)
