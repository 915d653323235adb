"""States that nobody can tell apart: which ones have the same loss rows, and sums over such classes.

Every row is hashed to a word of the bits of its rounded numbers. Equal rows have equal words, so states are sorted by
their words, and neighbours are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bap_lp.support.rational import Array, field_of, floats

_BLOCK = 16384  # rows hashed or compared at a time
_PROBE = 4096
_PAIRS = 6  # states up to which pairs of rows are compared first


def _words(rows: Array) -> Array:
    """A word for every row of a float table."""
    odd = np.random.default_rng(0).integers(0, 2**63, (rows.shape[1], 1), dtype=np.uint64) * 2 + 1
    out = np.empty(len(rows), dtype=np.uint64)
    for k in range(0, len(rows), _BLOCK):
        bits = np.add(rows[k : k + _BLOCK].T, 0.0, order="C").view(np.uint64)  # adding zero turns -0.0 into 0.0
        bits ^= bits >> np.uint64(29)
        bits *= odd
        out[k : k + _BLOCK] = bits.sum(axis=0)
    return out


def repeated(tables: Sequence[Array]) -> bool:
    """Whether many of very many float states have copies: then one in a sample mostly meets one of its own there."""
    probe = np.random.default_rng(2).choice(len(tables[0]), _PROBE, replace=False)
    return len(np.unique(_words(np.hstack([table[probe] for table in tables])))) <= 0.99 * _PROBE


def merge_index(p: Array, tables: Sequence[Array], rounded: Array | None = None) -> tuple[Array, int]:
    """Class of each state (by first appearance) under equality of its rows, -1 where p = 0; and the number of classes.

    rounded: the same rows side by side as floats, if they are at hand.
    """
    if len(p) <= _PAIRS and all(p.tolist()):
        listed = list(zip(*(table.tolist() for table in tables), strict=True))
        if all(row not in listed[:x] for x, row in enumerate(listed)):
            return np.arange(len(p)), len(p)
    live, rows = np.flatnonzero(p > 0), np.hstack(tables)
    words = _words((floats(rows) if rounded is None else rounded)[live])
    order = np.argsort(words, kind="stable")
    start = np.flatnonzero(np.diff(words[order], prepend=~words[order[:1]]))
    group = np.empty(len(live), dtype=np.intp)  # the first state with the same word
    group[order] = np.repeat(order[start], np.diff(start, append=len(order)))
    doubtful = np.flatnonzero(group != np.arange(len(live)))
    seen: dict[tuple[Any, ...], int] = {}
    for k in range(0, len(doubtful), _BLOCK):
        some = doubtful[k : k + _BLOCK]
        same = (rows[live[some]] == rows[live[group[some]]]).all(axis=1)
        for x in some[~same].tolist():  # rationals closer than floats can tell
            group[x] = seen.setdefault(tuple(rows[live[x]].tolist()), x)
    number = np.cumsum(group == np.arange(len(live))) - 1  # of the class that begins at a state
    index = np.full(len(p), -1)
    index[live] = number[group]
    return index, int(number[-1]) + 1


def first_members(index: Array) -> Array:
    """The first state of every class."""
    live = np.flatnonzero(index >= 0)
    return live[np.unique(index[live], return_index=True)[1]]


def class_sums(values: Array, index: Array, count: int) -> Array:
    """Sum the rows of `values` over each class."""
    out = field_of(values).zeros((count, *values.shape[1:]))
    live = index >= 0
    np.add.at(out, index[live], values[live])
    return out
