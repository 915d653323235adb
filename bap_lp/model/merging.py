"""States that nobody can tell apart: which ones have the same loss rows, and sums over such classes.

Every row is hashed to one word. Equal rows have equal words, so only rows with the same word need comparing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.rational import Array, field_of, floats

_FEW = 32  # states up to which a dictionary is faster than hashing by arrays
_BLOCK = 16384  # rows hashed or compared at a time
_PROBE = 4096


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


def merge_index(p: Array, rows: Array) -> tuple[Array, int]:
    """Class of each state (by first appearance) under equality of rows, -1 where p = 0; and the number of classes."""
    if len(p) <= _FEW:
        firsts: list[Any] = []
        near: dict[tuple[float, ...], list[int]] = {}  # classes by their rounded row: rationals are slow to hash
        found = []
        for mass, row, rounded in zip(p.tolist(), rows.tolist(), (floats(rows) + 0.0).tolist(), strict=True):
            if mass <= 0:
                found.append(-1)
                continue
            alike = near.setdefault(tuple(rounded), [])
            same = next((k for k in alike if firsts[k] == row), None)
            if same is None:
                same = len(firsts)
                firsts.append(row)
                alike.append(same)
            found.append(same)
        return np.array(found), len(firsts)
    live = np.flatnonzero(p > 0)
    index = np.full(len(p), -1)
    words = _row_words(floats(rows)[live])
    _, first, group = np.unique(words, return_index=True, return_inverse=True)
    group = first[group]  # the first state with this word
    doubtful = np.flatnonzero(group != np.arange(len(live)))
    same = (rows[live[doubtful]] == rows[live[group[doubtful]]]).all(axis=1)
    seen: dict[tuple[Any, ...], int] = {}
    for x in doubtful[~same].tolist():  # one word, different rows: rationals closer than floats can tell
        group[x] = seen.setdefault(tuple(rows[live[x]].tolist()), x)
    heads, order = np.unique(group, return_inverse=True)
    index[live] = order
    return index, len(heads)


def classes(B: Array, E: Array, *, rare: bool = False) -> tuple[Array, Array] | None:
    """For many float states: their order by class, and the places where classes begin; None if duplicates are rare.

    A state with many copies meets one of them in a sample of 4096, so a sample without repetition ends the search,
    unless `rare` asks for a full one. Different rows that share a word may divide a class: that costs time only.
    """
    n = len(B)
    probe = np.random.default_rng(2).choice(n, min(n, _PROBE), replace=False)
    sample = np.sort(_row_words(B[probe], E[probe]))
    if not rare and np.count_nonzero(sample[1:] == sample[:-1]) < 0.01 * len(probe):
        return None
    words = _row_words(B, E)
    order = np.argsort(words, kind="stable")
    words = words[order]
    same = words[1:] == words[:-1]
    pair = np.flatnonzero(same)
    for k in range(0, len(pair), _BLOCK):
        cut = pair[k : k + _BLOCK]
        left, right = order[cut], order[cut + 1]
        same[cut] = (B[left] == B[right]).all(axis=1) & (E[left] == E[right]).all(axis=1)
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
