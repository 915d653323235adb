"""Record types, their counts, and the prior that is fitted to them.

A record type is a tuple of levels. Of n records n_x are of type x; the prior is
    p(x) = (n_x + alpha m_x) / (n + alpha),        m_x a product of shares of the same records,
exact for rational alpha. With toward = "margins", m is the product of all one-way margins; with "pooled" it is the
share of the published and secret columns times the share of the known ones, so that only the association between
the two is smoothed.
alpha = 0 gives the counts over n. alpha = "held-out" is the candidate with the largest likelihood of records left out,
in FOLDS folds; records that no candidate gives positive probability are not counted.

Which records are held out, and the folds, follow the order of SHA-256 digests of "seed:record number": the same on
every machine, and unrelated to the order of the file. Each secret is held out in the same proportion.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.support.display import percent
from bap_lp.support.rational import Array, InputError, ReadOnly, floats, number, objects, public

FOLDS = 5
CANDIDATES = tuple(Fraction(2) ** k for k in range(-4, 15))
MOST_TYPES = 300_000
_LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class Prior(ReadOnly):
    """Record types (rows of levels), the records counted as each, and their probabilities.

    alpha: the smoothing. likelihoods: mean log-likelihood of a left-out record by candidate, if alpha was chosen.
    model: where the probabilities come from (`models`). margins: groups of columns of a log-linear model. scores: by
    model, if it was chosen. draws, fresh: by the number K of draws of the true shares, the table k(omega | x) in units
    of 1/CHANCES; Eves know the former.
    """

    types: Array
    counts: Array
    p: Array
    alpha: Any = 0
    toward: str = "margins"
    likelihoods: tuple[tuple[Fraction, float], ...] = ()
    model: str = "counts"
    margins: tuple[tuple[int, ...], ...] = ()
    scores: tuple[tuple[str, float | None], ...] = ()
    draws: Mapping[int, Array] = field(default_factory=dict)
    fresh: Mapping[int, Array] = field(default_factory=dict)

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    @property
    def belief(self) -> str:
        """What the prior believes, in words."""
        if self.model != "counts":
            return {
                "independent": "the columns are independent",
                "loglinear": "a log-linear model with the chosen margins",
                "conditional": "the secrets follow a classifier given the other columns",
                "weights": "the shares are those of the weights of the fitted records, exactly",
                "weighted conditional": "the secrets follow a classifier given the other columns, in survey weights",
            }[self.model]
        if self.alpha == 0:
            return "the shares are those of the fitted records, exactly"
        share = float(self.alpha) / (self.records + float(self.alpha))
        kind = "the independence model" if self.toward == "margins" else "independence of the known columns"
        return f"{percent(share, 0)} of it is {kind}, the rest are the shares of the fitted records"


@dataclass(frozen=True, eq=False)
class Sample:
    """The fitted records, as rows of levels, and which columns are secret.

    margins: groups of columns of the log-linear model. joined, alpha, toward: of the counts, see `fit`. file: all
    records, also those that are held out, whose secrets nobody may look at; weights: one for each of them; fitted:
    which of them are `codes`.
    """

    codes: Array
    levels: tuple[int, ...]
    names: tuple[str, ...]
    secrets: tuple[int, ...]
    joined: tuple[tuple[int, ...], ...]
    alpha: Any = 0
    toward: str = "margins"
    margins: tuple[tuple[int, ...], ...] = ()
    seed: int = 0
    file: Array | None = None
    weights: Array | None = None
    fitted: Array | None = None

    @cached_property
    def _types(self) -> tuple[Array, Array, Array]:
        found, kind, counts = np.unique(keys(self.codes, self.levels), return_inverse=True, return_counts=True)
        return rows_of(found, self.levels), counts, kind

    @property
    def rows(self) -> Array:
        """The record types, in the order of their keys."""
        return self._types[0]

    @property
    def counts(self) -> Array:
        """How many records are of each type."""
        return self._types[1]

    @cached_property
    def _own_weights(self) -> Array | None:
        """The weights of `codes` in floats, one on average."""
        if self.weights is None:
            return None
        own = floats(self.weights if self.fitted is None else self.weights[self.fitted]).astype(float)
        return own / own.mean()

    @cached_property
    def amounts(self) -> Array:
        """How much each type counts in a fit: its records, or the sum of their weights."""
        return self._amounts(np.arange(len(self.codes)))

    def _amounts(self, records: Array) -> Array:
        weights = None if self._own_weights is None else self._own_weights[records]
        return np.bincount(self._types[2].ravel()[records], weights, minlength=len(self.rows))

    @property
    def rest(self) -> list[int]:
        """The columns that are not secret."""
        return [k for k in range(len(self.levels)) if k not in self.secrets]

    def key(self, rows: Array, columns: Sequence[int]) -> Array:
        return keys(rows[:, list(columns)], [self.levels[k] for k in columns])

    def folds(self, count: int = FOLDS) -> list[tuple[Array, Array]]:
        """For every fold the amounts of each type that are left out, and those that are not."""
        order = shuffled(len(self.codes), self.seed + 1)  # a split of its own: the one for the audit uses the seed
        parts = [order[k::count] for k in range(min(count, len(order)))]
        return [(self._amounts(part), self._amounts(np.setdiff1d(order, part))) for part in parts]


def keys(codes: Array, levels: Sequence[int]) -> Array:
    """One integer per row of levels, in lexicographic order."""
    if prod(levels) > _LARGEST_KEY:
        raise InputError("columns", None, f"have {prod(levels):.3g} combinations of levels, at most 4.6e18 are allowed")
    out = np.zeros(len(codes), dtype=np.int64)
    for k, size in enumerate(levels):
        out = out * size + codes[:, k]
    return out


def rows_of(key: Array, levels: Sequence[int]) -> Array:
    """The rows of levels with these keys."""
    out = np.empty((len(key), len(levels)), dtype=np.int64)
    rest = key.copy()
    for k in range(len(levels) - 1, -1, -1):
        rest, out[:, k] = np.divmod(rest, levels[k])
    return out


def shuffled(count: int, seed: int) -> Array:
    """The records 0, ..., count - 1 in the order of their digests."""
    digest = [hashlib.sha256(f"{seed}:{k}".encode()).digest()[:8] for k in range(count)]
    return np.argsort(np.array([int.from_bytes(d, "big") for d in digest], dtype=np.uint64), kind="stable")


def held_out(secrets: Array, share: Fraction, seed: int) -> Array:
    """Whether each record is held out: in every secret the same share, rounded down or up, floor(share * count) of all
    records or fewer, and never all records of a secret."""
    order = shuffled(len(secrets), seed)
    _, secret, count = np.unique(secrets[order], return_inverse=True, return_counts=True)
    held = [int(share * int(n)) for n in count]
    spare = int(share * len(secrets)) - sum(held)
    rests = sorted(range(len(count)), key=lambda k: (held[k] - share * int(count[k]), k))
    for k in [k for k in rests if count[k] - held[k] >= 2 and held[k] < share * int(count[k])][:spare]:
        held[k] += 1
    out = np.zeros(len(secrets), dtype=bool)
    for k, most in enumerate(held):
        out[order[np.flatnonzero(secret.ravel() == k)[:most]]] = True
    return out


def fit(
    codes: Array, levels: Sequence[int], alpha: Any, toward: str, joined: Sequence[Sequence[int]], seed: int
) -> Prior:
    """The prior of records given as rows of levels.

    joined: the groups of columns whose joint shares are multiplied in m: one column each for "margins".
    """
    if isinstance(alpha, str) and alpha == "held-out":
        scores = _scores(codes, levels, joined, seed)
        best = max(scores, key=lambda pair: (pair[1], -pair[0]))
        return _fitted(codes, levels, best[0], toward, joined, scores)
    return _fitted(codes, levels, public(number(alpha, "smoothing")), toward, joined, ())


def _fitted(codes: Array, levels: Sequence[int], alpha: Any, toward: str, joined: Any, scores: Any) -> Prior:
    found, counts = np.unique(keys(codes, levels), return_counts=True)
    n = len(codes)
    if alpha == 0:
        p = objects(fmpq(int(c), n) for c in counts)
        return Prior(rows_of(found, levels), counts, p, alpha, toward, scores)
    key, share = _smooth(codes, levels, joined)
    more = np.zeros(len(key), dtype=np.int64)
    more[np.searchsorted(key, found)] = counts  # every record's type has a positive share in all groups
    weight = number(alpha, "smoothing")
    if isinstance(weight, float):
        p = (more + weight * share.astype(float)) / (n + weight)
        p = p / p.sum()
    else:
        scale = n + weight
        p = objects((int(c) + weight * m) / scale for c, m in zip(more, share, strict=True))
    return Prior(rows_of(key, levels), more, p, alpha, toward, scores)


def _groups(codes: Array, levels: Sequence[int], joined: Sequence[Sequence[int]]) -> list[tuple[Array, Array]]:
    """For every group of columns its rows of levels and how often they occur."""
    out = []
    for group in joined:
        sizes = [levels[k] for k in group]
        found, counts = np.unique(keys(codes[:, list(group)], sizes), return_counts=True)
        out.append((rows_of(found, sizes), counts))
    return out


def _smooth(codes: Array, levels: Sequence[int], joined: Sequence[Sequence[int]]) -> tuple[Array, Array]:
    """Keys, in order, and m as rationals, on the product of the groups' rows."""
    groups = _groups(codes, levels, joined)
    size = prod(len(rows) for rows, _ in groups)
    if size > MOST_TYPES:
        rule = f"gives {size} record types positive probability, at most {MOST_TYPES} are allowed: use bands or merge"
        raise InputError("smoothing", None, f"{rule} levels, or smoothing = 0")
    index = np.indices([len(rows) for rows, _ in groups]).reshape(len(groups), -1)
    rows = np.empty((size, len(levels)), dtype=np.int64)
    top = np.ones(size, dtype=object)
    for at, group, (found, counts) in zip(index, joined, groups, strict=True):
        rows[:, list(group)] = found[at]
        top = top * counts.astype(object)[at]
    order = np.argsort(key := keys(rows, levels), kind="stable")
    bottom = len(codes) ** len(groups)
    return key[order], objects(fmpq(int(v), bottom) for v in top[order])


def times_seen(rows: Array, records: Array, columns: Sequence[int], levels: Sequence[int]) -> Array:
    """How many records have the same levels in these columns as each row."""
    sizes = [levels[k] for k in columns]
    found, counts = np.unique(keys(records[:, list(columns)], sizes), return_counts=True)
    key = keys(rows[:, list(columns)], sizes)
    at = np.minimum(np.searchsorted(found, key), len(found) - 1)
    return np.where(found[at] == key, counts[at], 0)


def _scores(
    codes: Array, levels: Sequence[int], joined: Sequence[Sequence[int]], seed: int
) -> tuple[tuple[Fraction, float], ...]:
    """The mean log-likelihood of a left-out record for every candidate."""
    n = len(codes)
    order = shuffled(n, seed + 1)  # a split of its own: the one for the audit uses the seed itself
    total, counted = np.zeros(len(CANDIDATES)), 0
    for k in range(min(FOLDS, n)):
        out = np.zeros(n, dtype=bool)
        out[order[k::FOLDS]] = True
        seen, left = codes[~out], codes[out]
        if not len(seen):
            continue
        n_x, m_x = times_seen(left, seen, range(len(levels)), levels), np.ones(len(left))
        for group in joined:
            m_x *= times_seen(left, seen, group, levels) / len(seen)
        possible = m_x > 0
        counted += int(possible.sum())
        for j, alpha in enumerate(map(float, CANDIDATES)):
            total[j] += np.log((n_x[possible] + alpha * m_x[possible]) / (len(seen) + alpha)).sum()
    return tuple((alpha, float(v / max(counted, 1))) for alpha, v in zip(CANDIDATES, total, strict=True))
