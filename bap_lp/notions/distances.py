"""Distances between states, for the pairs that differential privacy is asked for, and the pairs that others imply.

Distances are few kinds of numbers on many ordered pairs, so a pair holds the position of its kind, and what is computed
of a distance is computed once per kind. A pair (x, z) is implied if some y has d(x,y) + d(y,z) <= d(x,z) with both
parts positive, hence smaller: by induction such pairs need no rows. The sums are compared as integers over one
denominator: by way of the states nearest to x, which imply most pairs of a grid or a chain, and for the pairs that are
left by way of all states, where floats say which sums come close at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.rational import Array, ReadOnly, common_denominator, objects

_NEAREST = 8  # states by way of which pairs are looked at first
_BLOCK = 2**22  # sums at a time
_CLOSE = 1e-12  # far above the rounding of a sum of two floats
_LONG = 2**61  # integers up to here can be added in 64 bits


@dataclass(frozen=True, eq=False)
class PairDistances(ReadOnly):
    """pairs[k] = (x, x') has the distance kinds[kind[k]]; pairs are sorted, and each comes once."""

    pairs: Array
    kind: Array
    kinds: tuple[fmpq, ...]

    @classmethod
    def of(cls, entries: Iterable[tuple[int, int, Any]]) -> PairDistances:
        """From (x, x', distance); x = x' is left out. Equal objects are read once."""
        place: dict[int, int] = {}  # by identity: fractions are slow to hash
        number: dict[fmpq, int] = {}
        alive, found = [], {}
        for x, y, distance in entries:
            if x == y:
                continue
            if id(distance) not in place:
                value = distance if isinstance(distance, fmpq) else fmpq(*distance.as_integer_ratio())
                place[id(distance)] = number.setdefault(value, len(number))
                alive.append(distance)
            found[x, y] = place[id(distance)]
        order = sorted(found)
        pairs = np.array(order, dtype=np.int64).reshape(-1, 2)
        return cls(pairs, np.array([found[pair] for pair in order], dtype=np.int64), tuple(number))

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(map(tuple, self.pairs.tolist()))

    def __contains__(self, pair: tuple[int, int]) -> bool:
        size = len(self.place)
        return bool(0 <= pair[0] < size and 0 <= pair[1] < size and self.place[pair] >= 0)

    def __getitem__(self, pair: tuple[int, int]) -> fmpq:
        return self.kinds[int(self.place[pair])]

    @cached_property
    def place(self) -> Array:
        """The position of the kind of every pair, -1 where nothing is asked; up to the last state that is."""
        size = int(self.pairs.max(initial=-1)) + 1
        out = np.full((size, size), -1)
        out[tuple(self.pairs.T)] = self.kind
        return out

    @cached_property
    def needed(self) -> Array:
        """Which of the pairs the others do not imply."""
        if not len(self):
            return np.zeros(0, dtype=bool)
        scale = common_denominator(objects(self.kinds))
        whole = [int((kind * scale).p) for kind in self.kinds]
        beyond = max(whole) + 1  # a sum with it implies nothing
        kind = np.int64 if beyond < _LONG else object
        d = np.array([*whole, beyond], dtype=kind)[self.place]
        by = np.where(d > 0, d, beyond)  # by way of a state at distance zero nothing is implied
        out = self.place >= 0
        self._by_nearest(d, by, out)
        left = np.argwhere(out)
        rough, roughly = d.astype(float), by.astype(float)
        step = max(_BLOCK // len(d), 1)
        for cut in range(0, len(left), step):
            x, z = left[cut : cut + step].T
            row, y = np.nonzero(roughly[x] + roughly[:, z].T <= rough[x, z][:, None] * (1 + _CLOSE))
            implied = by[x[row], y] + by[y, z[row]] <= d[x[row], z[row]]
            out[x[row[implied]], z[row[implied]]] = False
        needed: Array = out[tuple(self.pairs.T)]
        return needed

    def _by_nearest(self, d: Array, by: Array, out: Array) -> None:
        count = min(_NEAREST, len(d))
        nearest = np.argpartition(by.astype(float), count - 1, axis=1)[:, :count]
        for x, states in enumerate(nearest.tolist()):
            for y in states:
                out[x] &= by[x, y] + by[y] > d[x]
