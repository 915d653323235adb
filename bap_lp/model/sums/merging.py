"""States that nobody can tell apart: which ones have the same loss rows, and sums over such classes.

Rows are looked up by the bits of their rounded numbers, or hashed to one word where there are many. Equal rows have
equal bits, so only rows with the same bits need comparing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from bap_lp.rational import Array, field_of, floats

_BLOCK = 16384  # rows hashed or compared at a time
_PROBE = 4096
_PAIRS = 6  # states up to which pairs of rows are compared first


def _row_words(*tables: Array) -> Array:
    """A word for every row of the float tables side by side, from the bits of its entries."""
    count, widths = len(tables[0]), [table.shape[1] for table in tables]
    odd = np.random.default_rng(0).integers(0, 2**63, sum(widths), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    out = np.zeros(count, dtype=np.uint64)
    for k in range(0, count, _BLOCK):
        total, column = out[k : k + _BLOCK], 0
        for table in tables:
            for entries in table[k : k + _BLOCK].T:
                bits = np.add(entries, 0.0, dtype=float).view(np.uint64)  # adding zero turns -0.0 into 0.0
                bits ^= bits >> np.uint64(29)
                bits *= odd[column]
                total += bits
                column += 1
    return out


def merge_index(p: Array, tables: Sequence[Array], rounded: Array | None = None) -> tuple[Array, int]:
    """Class of each state (by first appearance) under equality of its rows, -1 where p = 0; and the number of classes.

    rounded: the same rows side by side as floats, if they are at hand.
    """
    if len(p) <= _PAIRS and all(p.tolist()):
        listed = list(zip(*(table.tolist() for table in tables), strict=True))
        if all(row not in listed[:x] for x, row in enumerate(listed)):
            return np.arange(len(p)), len(p)
    live, rows = np.flatnonzero(p > 0), np.hstack(tables)
    small = (floats(rows) if rounded is None else rounded) + 0.0  # -0.0 becomes 0.0
    small = np.ascontiguousarray(small if len(live) == len(p) else small[live])  # a view needs its rows in one piece
    first: dict[bytes, int] = {}  # by rounded rows: rationals are slow to hash
    keys = small.view(f"V{8 * small.shape[1]}").ravel().tolist()
    found = [first.setdefault(key, x) for x, key in enumerate(keys)]
    if len(first) == len(p):
        return np.arange(len(p)), len(p)
    group = np.array(found)
    doubtful = np.flatnonzero(group != np.arange(len(live)))
    same = (rows[live[doubtful]] == rows[live[group[doubtful]]]).all(axis=1)
    seen: dict[tuple[Any, ...], int] = {}
    for x in doubtful[~same].tolist():  # rationals closer than floats can tell
        group[x] = seen.setdefault(tuple(rows[live[x]].tolist()), x)
    number = np.cumsum(group == np.arange(len(live))) - 1  # of the class that begins at a state
    index = np.full(len(p), -1)
    index[live] = number[group]
    return index, int(number[-1]) + 1


def sampled_index(p: Array, tables: Sequence[Array]) -> tuple[Array, int]:
    """The same for many float states; each is a class of its own if duplicates are rare."""
    live = np.flatnonzero(p > 0)
    index, count = np.full(len(p), -1), len(live)
    index[live] = np.arange(count)
    alike = classes(*(tables if count == len(p) else [table[live] for table in tables]))
    if alike is not None:
        order, start = alike
        first, count = np.argsort(np.argsort(order[start])), len(start)
        index[live[order]] = np.repeat(first, np.diff(start, append=len(order)))
    return index, count


def classes(*tables: Array, rare: bool = False) -> tuple[Array, Array] | None:
    """For many float states: their order by class, and the places where classes begin; None if duplicates are rare.

    A state with many copies meets one of them in a sample of 4096, so a sample without repetition ends the search,
    unless `rare` asks for a full one. Different rows that share a word may divide a class: that costs time only.
    """
    n = len(tables[0])
    probe = np.random.default_rng(2).choice(n, min(n, _PROBE), replace=False)
    sample = np.sort(_row_words(*(table[probe] for table in tables)))
    if not rare and np.count_nonzero(sample[1:] == sample[:-1]) < 0.01 * len(probe):
        return None
    words = _row_words(*tables)
    order = np.argsort(words, kind="stable")
    words = words[order]
    same = words[1:] == words[:-1]
    pair = np.flatnonzero(same)
    for k in range(0, len(pair), _BLOCK):
        cut = pair[k : k + _BLOCK]
        left, right = order[cut], order[cut + 1]
        same[cut] = reduce(np.logical_and, [(table[left] == table[right]).all(axis=1) for table in tables])
    return order, np.concatenate([[0], np.flatnonzero(~same) + 1])


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
