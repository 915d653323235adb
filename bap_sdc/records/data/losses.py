"""Losses on one column: a name or a table, row: truth, column: what is published or guessed.

Over L levels that are not missing, "0-1" is 1 for every error, "absolute" |i - j| / (L - 1) and "squared" its
square: ranks divided by the largest difference. To publish a level for a missing cell, or the other way round,
costs 1. The ranks of text mean something only if `levels` gives them.

An Eve with the loss "log" or "brier" reports probabilities of the levels (`bap_lp.model.reports`). Her table has a
column for each report of a fixed list, which is dense where the loss is curved: so she has finitely many guesses, and
does no better than with all reports. Losses are rounded up to multiples of 2^-40. Hence no release has an R_A below the
bound that is proved with the table, and the true R_A of a release follows from her true risk.
"""

from __future__ import annotations

import math
from itertools import combinations, pairwise
from math import comb
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from bap_lp.model.reports import SCORES, report_losses
from bap_lp.support.rational import Array, InputError, array, objects
from bap_sdc.records.data.levels import Column

NAMES = ("0-1", "absolute", "squared")
_STEPS = 64  # between reports of two levels: a log risk is then at most 3e-4 above that with all reports
_MOST = 300  # reports of more levels
_LEAST = fmpq(1, 4096)  # what every report of the log loss is mixed with, so that no loss is infinite
_UNIT = fmpz(1) << 40


def loss_table(loss: Any, column: Column, field: str, eve: bool = False) -> Array:
    """The table of a loss on the levels of a column: exact unless a table holds floats; an Eve may report."""
    size = len(column)
    if isinstance(loss, str):
        names = (*NAMES, *SCORES) if eve else NAMES
        if loss not in names:
            raise InputError(field, loss, f"must be one of {', '.join(names)}, or a table")
        if loss in SCORES:
            found = (v * _UNIT for v in report_losses(loss, report_list(loss, size)).ravel().tolist())
            return objects(fmpq(-(-v.p // v.q), _UNIT) for v in found).reshape(size, -1)
        levels = size - (column.missing is not None)
        if loss != "0-1" and levels > 2 and not column.ordered:
            shown = ", ".join(column.labels[:4])
            rule = f"needs an order, and text has none ({shown}): give columns.{column.name}.levels in their order"
            raise InputError(field, loss, rule)
        return _named(loss, size, column.missing)
    table = array(loss, field, 2)
    if len(table) != size:
        rule = (
            f"has {len(table)} rows, must have {size}, one per level of {column.name}: {', '.join(column.labels[:8])}"
        )
        raise InputError(field, None, rule)
    return table


def report_list(kind: str, size: int) -> Array:
    """Distributions over so many levels, a row each: even steps for Brier, steps of sin^2 for log, where r = u^2."""
    steps = _STEPS if size == 2 else max(n for n in range(1, _STEPS + 1) if n == 1 or comb(n + size - 1, n) <= _MOST)
    rows = []
    for cuts in combinations(range(steps + size - 1), size - 1):
        parts = [b - a - 1 for a, b in pairwise((-1, *cuts, steps + size - 1))]
        if kind == "log":
            parts = [round(2**20 * math.sin(math.pi * part / (2 * steps)) ** 2) for part in parts]
        row = objects(fmpq(part, sum(parts)) for part in parts)
        rows.append((1 - size * _LEAST) * row + _LEAST if kind == "log" else row)
    return np.array(rows)


def _named(loss: str, size: int, missing: int | None) -> Array:
    ranked = size if missing is None else size - 1
    rank = np.arange(size)
    away = np.abs(rank[:, None] - rank[None, :])
    top = max(ranked - 1, 1)
    if loss == "0-1":
        away, top = np.minimum(away, 1), 1
    power = 2 if loss == "squared" else 1
    table = objects(fmpq(int(d) ** power, top**power) for d in away.ravel()).reshape(size, size)
    if missing is not None:
        table[missing, :] = table[:, missing] = fmpq(1)
        table[missing, missing] = fmpq(0)
    return table
