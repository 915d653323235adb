"""States that nobody can tell apart: which ones have the same loss rows, and sums over such classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.rational import Array, floats, is_exact, zeros

_FEW = 32  # states up to which a dictionary is faster than hashing by arrays


def merge_index(p: Array, rows: Array) -> tuple[Array, int]:
    """Class of each state (by first appearance) under equality of rows, -1 where p = 0; and the number of classes."""
    if len(p) <= _FEW:
        heads_of: dict[tuple[Any, ...], int] = {}
        found = [
            heads_of.setdefault(tuple(row), len(heads_of)) if mass > 0 else -1
            for mass, row in zip(p.tolist(), rows.tolist(), strict=True)
        ]
        return np.array(found), len(heads_of)
    live = np.flatnonzero(p > 0) if not is_exact(p) else np.array([x for x, mass in enumerate(p) if mass > 0])
    index = np.full(len(p), -1)
    # hash each row to one word: equal rows have equal hashes, so only rows behind a shared hash need comparing
    words = np.ascontiguousarray(floats(rows)[live] + 0.0).view(np.uint64)
    odd = np.random.default_rng(0).integers(0, 2**63, words.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    key = ((words ^ (words >> np.uint64(29))) * odd).sum(axis=1, dtype=np.uint64)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    group = first[group]  # the first state with this hash
    doubtful = np.flatnonzero(group != np.arange(len(live)))
    same = (rows[live[doubtful]] == rows[live[group[doubtful]]]).all(axis=1)
    seen: dict[tuple[Any, ...], int] = {}
    for x in doubtful[~same].tolist():  # one hash, different rows: rationals closer than floats can tell
        group[x] = seen.setdefault(tuple(rows[live[x]].tolist()), x)
    heads, order = np.unique(group, return_inverse=True)
    index[live] = order
    return index, len(heads)


def class_sums(values: Array, index: Array, count: int) -> Array:
    """Sum the rows of `values` over each class."""
    out = zeros((count, *values.shape[1:]), is_exact(values))
    live = index >= 0
    np.add.at(out, index[live], values[live])
    return out
