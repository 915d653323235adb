"""Conditions on pairs of states: which pairs are asked for, at which distance, and the ratios K^d between them.

K = exp(eps) = exp_epsilon. d = 1 between all pairs of states, or between the pairs in `neighbours` (both ways round),
or d is a `metric`, with None or inf where nothing is asked. An irrational K or K^d is rounded down to a float: a
channel that keeps the smaller ratio keeps the larger one.

What holds between all pairs survives averaging equal states, and holds for the null row; what holds between some pairs
does not, so all states are variables, those of probability zero too.

Distances are few kinds of numbers on many ordered pairs, so a pair holds the position of its kind, and what is computed
of a distance is computed once per kind. A pair (x, z) is implied if some y has d(x,y) + d(y,z) <= d(x,z) with both
parts positive, hence smaller: by induction such pairs need no rows. The sums are compared as integers over one
denominator: by way of the states nearest to x, which imply most pairs of a grid or a chain, and for the pairs that are
left by way of all states, where floats say which sums come close at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.conditions.base import Condition
from bap_lp.conditions.events import LARGEST_LOG, RatioBound, exponential_below, listed, position
from bap_lp.conditions.given import Conditions
from bap_lp.model.problem import Problem
from bap_lp.support.limits import limit
from bap_lp.support.rational import EXACT, Array, InputError, ReadOnly, common_denominator, number, objects, public

_NEAREST = 8  # states by way of which pairs are looked at first
_SUMS = 2**22  # at a time
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
        count = min(_NEAREST, len(d))
        nearest = np.argpartition(by.astype(float), count - 1, axis=1)[:, :count]
        for x, y in ((x, y) for x, states in enumerate(nearest.tolist()) for y in states):
            out[x] &= by[x, y] + by[y] > d[x]
        left = np.argwhere(out)
        rough, roughly = d.astype(float), by.astype(float)
        step = max(_SUMS // len(d), 1)
        for cut in range(0, len(left), step):
            x, z = left[cut : cut + step].T
            row, y = np.nonzero(roughly[x] + roughly[:, z].T <= rough[x, z][:, None] * (1 + _CLOSE))
            implied = by[x[row], y] + by[y, z[row]] <= d[x[row], z[row]]
            out[x[row[implied]], z[row[implied]]] = False
        needed: Array = out[tuple(self.pairs.T)]
        return needed


_BLOCK = 2**20  # entries of a channel compared at a time


class PairCondition(Condition):
    """A demand on the rows of a channel at pairs of states."""

    def __init__(self, base: Any, distances: PairDistances | None) -> None:
        """base: K; distances: d(x,x') for the pairs (x, x') asked for, None for all pairs."""
        self.base, self.distances = base, distances
        self.merges = self.null_row = distances is None

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        return "exp_epsilon", "epsilon", "neighbours", "metric", "delta"

    def writable(self, asked: Array) -> None:
        """Refuse a K^d of these pairs that is too large to be written down."""
        assert self.distances is not None
        wrong = np.flatnonzero(asked & np.array([v is None for v in self.powers], dtype=bool)[self.distances.kind])
        if len(wrong):
            x, y = self.distances.pairs[wrong[0]].tolist()
            rule = "makes exp(eps d) too large; use inf to ask nothing"
            raise InputError(f"metric[{x}][{y}]", public(self.distances[x, y]), rule)

    @cached_property
    def powers(self) -> list[Any]:
        """K^d of every kind of distance; None where it is too large to be written down."""
        assert self.distances is not None
        return [self._power(distance) for distance in self.distances.kinds]

    def _power(self, distance: fmpq) -> Any:
        if self.base == 1:
            return self.base
        known = float(distance) * _log(self.base) <= LARGEST_LOG
        if distance.q == 1:
            known = known and distance * self.base.height_bits() <= limit("bits")
            return self.base ** int(distance.p) if known else None
        return exponential_below(public(distance), public(self.base)) if known else None

    def asked(self, count: int) -> Array:
        """The pairs that are asked for, of so many states."""
        return np.argwhere(~np.eye(count, dtype=bool)) if self.distances is None else self.distances.pairs

    def blocks(self, pairs: Array, width: int) -> Iterator[tuple[Array, Array]]:
        """Pairs, some at a time, with their K^d."""
        step = max(_BLOCK // width, 1)
        for cut in range(0, len(pairs), step):
            yield pairs[cut : cut + step], self.ratios(pairs[cut : cut + step])[:, None]

    def ratios(self, pairs: Array) -> Array:
        """K^d of many pairs; zero where it cannot be written down."""
        if self.distances is None:
            return EXACT.full(len(pairs), self.base)
        powers = EXACT.list(EXACT.zero if power is None else power for power in self.powers)
        return powers[self.distances.place[tuple(pairs.T)]]

    def rates(self, pairs: Array) -> Array:
        """d K^(d-1): how fast K^d rises with K."""
        if self.distances is None:
            return EXACT.full(len(pairs), 1)
        rates = EXACT.list(
            0 * d if v is None else d * v / self.base for d, v in zip(self.distances.kinds, self.powers, strict=True)
        )
        return rates[self.distances.place[tuple(pairs.T)]]


def log_of(ratio: Any, epsilon: Any) -> float:
    """epsilon, or the logarithm of exp_epsilon."""
    return float(epsilon) if epsilon is not None else _log(ratio)


def _log(value: Any) -> float:
    """The logarithm of a positive number of any size, accurate near one."""
    ratio = value if isinstance(value, fmpq) else fmpq(*Fraction(value).as_integer_ratio())
    if fmpq(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    return math.log(int(ratio.p)) - math.log(int(ratio.q))


def ratio_of(given: Conditions) -> Any:
    """K, or None if no privacy is asked for."""
    asked = given.exp_epsilon is not None or given.epsilon is not None
    return RatioBound(given.exp_epsilon, given.epsilon).ratio if asked else None


def distances_of(given: Conditions, problem: Problem) -> PairDistances | None:
    """The pairs of states that are asked for, with their distances; None for all pairs."""
    if given.neighbours is not None:
        one, pairs = fmpq(1), []
        for k, pair in enumerate(given.neighbours):
            x, y = (position(problem, state, f"neighbours[{k}]") for state in pair)
            pairs += [(x, y, one), (y, x, one)]
        return PairDistances.of(pairs)
    if given.metric is None:
        return None
    size = len(problem.p)
    if len(given.metric) != size or any(len(row) != size for row in given.metric):
        raise InputError("metric", None, f"has {len(given.metric)} rows, must be {size} x {size}, one per state")
    return PairDistances.of((x, y, d) for x, row in enumerate(given.metric) for y, d in enumerate(row) if d is not None)


def read_pairs(values: Any) -> tuple[tuple[Any, Any], ...]:
    out = []
    for k, given in enumerate(listed(values, "neighbours", "must be a list of pairs of states")):
        pair = listed(given, f"neighbours[{k}]", "must be a pair of states")
        if len(pair) != 2:
            raise InputError(f"neighbours[{k}]", given, "must be a pair of states")
        out.append((pair[0], pair[1]))
    return tuple(out)


def read_metric(rows: Any) -> tuple[tuple[Any, ...], ...]:
    rows = listed(rows, "metric", "must be a table, a row per state")
    lists = [listed(row, f"metric[{k}]", "must be a list") for k, row in enumerate(rows)]
    known: dict[tuple[type, Any], Any] = {}  # distances are few numbers, each many times
    out = []
    for k, row in enumerate(lists):
        read = []
        for m, value in enumerate(row):
            key = type(value), value if isinstance(value, (int, float, str, Fraction)) else repr(value)
            if key not in known:
                known[key] = _distance(value, f"metric[{k}][{m}]")
            read.append(known[key])
        out.append(tuple(read))
    return tuple(out)


def _distance(value: Any, field: str) -> Any:
    if value is None or value == "inf" or (isinstance(value, float) and value == math.inf):
        return None
    value = number(value, field)
    if value < 0:
        raise InputError(field, value, "must not be negative")
    return public(value)
