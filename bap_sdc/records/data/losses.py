"""Losses on one column: a name or a table, row: truth, column: what is published or guessed.

Over L levels that are not missing, "0-1" is 1 for every error, "absolute" |i - j| / (L - 1) and "squared" its
square: ranks divided by the largest difference. To publish a level for a missing cell, or the other way round,
costs 1. The ranks of text mean something only if `levels` gives them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.rational import Array, InputError, array, objects
from bap_sdc.records.data.levels import Column

NAMES = ("0-1", "absolute", "squared")


def loss_table(loss: Any, column: Column, field: str) -> Array:
    """The table of a loss on the levels of a column: exact unless a table holds floats."""
    size = len(column)
    if isinstance(loss, str):
        if loss not in NAMES:
            raise InputError(field, loss, f"must be one of {', '.join(NAMES)}, or a table")
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
