"""All deterministic mechanisms of a small problem: a map a from states to Bob's decisions each, b^N of them.

R_B = sum_x p(x) B(x,a(x)) and R_E = sum_ig min_j sum_{x: a(x)=i} p(x) E(x,j) are computed for all maps at once, in
floats, state by state. A float result is off by at most k u (sum of the sizes of its terms), so the maps that may be
best are known for certain, and only those are computed exactly. If all terms are integers over one denominator, and
their sums stay below 2^52, floats make no error at all. Of several best maps the one with the largest R_E is chosen (of
several most private ones the one with the least R_B), then the first in lexicographic order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.limits import limit
from bap_lp.model.mechanism import degenerate
from bap_lp.model.sums.arrays import Arrays
from bap_lp.notions.base import MapTable, Notion
from bap_lp.program.lowering import SentSignals, Signals
from bap_lp.rational import UNIT, Array, common_denominator, floats


def enumerable(arrays: Arrays, demands: Sequence[Notion]) -> bool:
    """Whether the deterministic mechanisms are few enough to try them all; tuples of decisions are not counted.

    Where they are too many, branch and bound takes over.
    """
    tuples = any(demand.tuples for demand in demands)
    return not tuples and arrays.shape[1] ** min(len(_free(arrays, demands)), 64) <= limit("maps")


def _free(arrays: Arrays, demands: Sequence[Notion]) -> Array:
    """States that a map decides on; the others, of probability zero, follow the first of them."""
    every = not all(demand.null_row for demand in demands)
    return np.array([x for x, mass in enumerate(arrays.p) if every or mass > 0])


def best_deterministic(
    arrays: Arrays, signals: Signals, demands: Sequence[Notion], lam: Any, bob_weight: int = 1
) -> tuple[Any, Array] | None:
    """(value, map) of the deterministic mechanism with the least bob_weight R_B - lam R_E under the conditions.

    bob_weight is 0 or 1. None if no map meets the conditions.
    """
    N, b, _ = arrays.shape
    tables, error, scale, prices = _tables(arrays, lam, bob_weight)
    maps, bob = np.zeros((1, N), dtype=np.int16), np.zeros(1)
    cells = np.zeros((1, b, arrays.shape[2]))
    free = _free(arrays, demands)
    for x in free.tolist():
        count = len(maps)
        maps, bob, cells = np.repeat(maps, b, axis=0), np.repeat(bob, b), np.repeat(cells, b, axis=0)
        choice = np.tile(np.arange(b), count)
        maps[:, x] = choice
        bob += tables[0][x, choice]
        cells[np.arange(len(maps)), choice] += tables[1][x]
    maps[:, np.setdiff1d(np.arange(N), free)] = maps[:, free[:1]]
    eve = sum(cells[:, :, g].min(axis=2).sum(axis=1) for g in arrays.groups)
    rounding = 4 * (N + b + 8) * UNIT
    bob_error, eve_error = (rounding * float(table.max(axis=1).sum()) / scale for table in tables)
    errors = bob_error, len(arrays.groups) * eve_error, rounding
    found = MapTable(maps, bob / scale, eve / scale, *errors)
    value = prices[0] * bob - prices[1] * eve
    slack = error * (prices[0] * found.bob_error + prices[1] * found.eve_error) * scale
    maybe = np.flatnonzero(np.logical_and.reduce([demand.sieve(found) for demand in demands]))
    best: tuple[Any, ...] | None = None
    second = -eve if bob_weight else bob
    for k in maybe[np.lexsort((maybe, second[maybe], value[maybe]))].tolist():
        if best is not None and (slack == 0 or value[k] > value[best[2]] + 2 * slack):
            break  # what follows is worse for certain
        sent = SentSignals(arrays, signals, degenerate(maps[k].tolist(), b))
        if any(demand.broken(sent) for demand in demands):
            continue
        score = (*sent.score(lam, bob_weight), k)
        if best is None or score < best:
            best = score
    return None if best is None else (best[0], maps[best[2]].astype(np.int64))


def _tables(arrays: Arrays, lam: Any, bob_weight: int) -> tuple[list[Array], int, float, tuple[float, float]]:
    """p B and p E times `scale` in floats, whether sums of them are rounded (0 or 1), scale, and the weights of R_A."""
    tables = [arrays.p[:, None] * table for table in (arrays.B, arrays.E)]
    scale = common_denominator(np.hstack(tables))
    tops = [table.max(axis=1).sum() * scale for table in tables]
    if max(tops[0] * lam.q, tops[1] * lam.p, *tops) * len(arrays.groups) < fmpq(2**52):
        return [floats(table * scale) for table in tables], 0, float(scale), (float(bob_weight * lam.q), float(lam.p))
    return [floats(table) for table in tables], 1, 1.0, (float(bob_weight), float(lam))
