"""Moves of the analyst's chain along what a released file cannot tell.

The likelihood of the shares theta depends only on the law of what is released, phi_w = sum_x theta_x W(w|x), W(w|x)
being the probability that a record of type x shows w. Data augmentation alone moves theta by steps of order
1/sqrt(n), so with many records it would stay where it starts in the directions that leave phi as it is. They are
treated exactly instead:
    groups        types with equal rows of W. The share of a group is Dirichlet with the summed parameters, and within
                  a group the shares are Dirichlet(a), whatever was released
    directions    d with d W = 0 on groups. Along theta + t d the posterior is the Dirichlet prior, up to a constant:
                  the product of (theta_i + t d_i)^(a_i - 1) on the segment where no share is negative. t is proposed
                  from the beta law that has the exponents of the two ends, and accepted by what is left of the product
A word that some group always shows is a row of the identity, so every other group has a direction that takes from it
and gives to such groups; words that no group always shows are eliminated first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from bap_lp.rational import Array

_MOVES = 64  # sets of moves between two steps of data augmentation: of more of them some are made, at random
_CELLS = 4_000_000  # of a table of groups and words that is eliminated
_SMALL = 1e-12  # of a coefficient that is zero, and of a pivot next to the largest


@dataclass(frozen=True)
class Moves:
    """Directions that have no group in common, a row each: groups, how fast their shares change, their parameters a.

    Shorter rows end in groups of slope 0, which stand for none: the position behind the last share.
    """

    at: Array
    slope: Array
    a: Array

    def make(self, theta: Array, generator: np.random.Generator) -> None:
        """A step along every direction, in place; theta has one more entry than there are groups."""
        y, row = theta[self.at], np.arange(len(self.at))
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = -y / self.slope
            first = np.where(self.slope > 0, ends, -np.inf).argmax(axis=1)
            last = np.where(self.slope < 0, ends, np.inf).argmin(axis=1)
            low, high = ends[row, first], ends[row, last]
            t = low + (high - low) * generator.beta(self.a[row, first], self.a[row, last])
            new = np.maximum(y + t[:, None] * self.slope, 0.0)
            inner = self.slope != 0
            inner[row, first] = inner[row, last] = False
            ratio = np.where(inner, (self.a - 1) * (np.log(new) - np.log(y)), 0.0).sum(axis=1)
            taken = (low < high) & (np.log(generator.random(len(row))) < ratio)  # false if the ratio is no number
        theta[self.at[taken]] = new[taken]


def grouped(row: Array, word: Array, q: Array, types: int) -> tuple[Array, list[tuple[Array, Array]]]:
    """The group of every type, and each group's words and probabilities; entries are (row, word, q)."""
    order = np.lexsort((word, row))
    row, word, q = row[order], word[order], q[order]
    start = np.searchsorted(row, np.arange(types + 1))
    place: dict[tuple[bytes, bytes], int] = {}
    group = np.empty(types, dtype=np.int64)
    tables: list[tuple[Array, Array]] = []
    for x in range(types):
        own = slice(start[x], start[x + 1])
        kind = (word[own].tobytes(), q[own].tobytes())
        if kind not in place:
            place[kind] = len(tables)
            tables.append((word[own], q[own]))
        group[x] = place[kind]
    return group, tables


def directions(tables: Sequence[tuple[Array, Array]], words: int, a: Array) -> list[Moves]:
    """Directions on groups that change no probability of a word: all of them, if the tables are small."""
    pure = np.full(words, -1, dtype=np.int64)
    for g, (own, _) in enumerate(tables):
        if len(own) == 1 and pure[own[0]] < 0:
            pure[own[0]] = g
    mixed = np.setdiff1d(np.arange(len(tables)), pure).tolist()
    loose = np.flatnonzero(pure < 0)
    pivots, others = _eliminated([tables[g] for g in mixed], loose)
    out = []
    for k, over in others.items():
        left = np.zeros(words)
        np.add.at(left, tables[mixed[k]][0], tables[mixed[k]][1])
        slopes = {mixed[k]: 1.0}
        for p, c in zip(pivots, over, strict=True):
            slopes[mixed[p]] = -c
            np.add.at(left, tables[mixed[p]][0], -c * tables[mixed[p]][1])
        slopes |= {int(pure[w]): -left[w] for w in np.flatnonzero(left).tolist() if pure[w] >= 0}
        out.append({g: v for g, v in slopes.items() if abs(v) > _SMALL})
    return _apart(out, a)


def _apart(ways: Sequence[dict[int, float]], a: Array) -> list[Moves]:
    """Directions in sets that have no group in common: each joins the first set in which its groups are free."""
    used = [0] * len(a)  # the sets of every group, as bits
    sets: list[list[dict[int, float]]] = []
    for way in ways:
        busy = 0
        for g in way:
            busy |= used[g]
        k = (~busy & (busy + 1)).bit_length() - 1
        for g in way:
            used[g] |= 1 << k
        sets += [[]] if k == len(sets) else []
        sets[k].append(way)
    out = []
    for some in sets:
        shape = len(some), max(map(len, some))
        at, slope = np.full(shape, len(a)), np.zeros(shape)
        for row, way in enumerate(some):
            at[row, : len(way)], slope[row, : len(way)] = list(way), list(way.values())
        out.append(Moves(at, slope, np.append(a, 1.0)[at]))
    return out


def _eliminated(tables: Sequence[tuple[Array, Array]], loose: Array) -> tuple[list[int], dict[int, Array]]:
    """Tables that span the others on the words that no group always shows, and each other one in terms of them."""
    if not len(loose):
        return [], {k: np.empty(0) for k in range(len(tables))}
    place = {int(w): j for j, w in enumerate(loose)}
    touched = [any(w in place for w in own.tolist()) for own, _ in tables]
    free = [k for k, one in enumerate(touched) if not one]
    bound = [k for k, one in enumerate(touched) if one]
    if len(bound) * len(loose) > _CELLS:
        return [], {k: np.empty(0) for k in free}
    whole = np.zeros((len(loose), len(bound)))
    for k, g in enumerate(bound):
        own, q = tables[g]
        for w, v in zip(own.tolist(), q.tolist(), strict=True):
            if w in place:
                whole[place[w], k] += v
    _, r, order = qr(whole, mode="economic", pivoting=True)
    size = np.abs(np.diag(r))
    rank = int((size > _SMALL * size.max(initial=0.0)).sum())
    over = np.linalg.solve(r[:rank, :rank], r[:rank, rank:])
    pivots = [bound[k] for k in order[:rank]]
    others = {bound[k]: over[:, j] for j, k in enumerate(order[rank:])}
    return pivots, {k: np.zeros(rank) for k in free} | others


def wandered(theta: Array, moves: Sequence[Moves], generator: np.random.Generator) -> Array:
    """Shares after a step along the directions; along those of some sets, chosen at random, if they are many."""
    out = np.append(theta, 1.0)
    few = len(moves) <= _MOVES
    for k in range(len(moves)) if few else generator.choice(len(moves), _MOVES, replace=False).tolist():
        moves[k].make(out, generator)
    return out[:-1]
