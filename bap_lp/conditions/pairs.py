"""Conditions on pairs of states: which pairs are asked for, at which distance, and the ratios K^d between them.

K = exp(eps) = exp_epsilon. d = 1 between all pairs of states, or between the pairs in `neighbours` (both ways round),
or d is a `metric`, with None or inf where nothing is asked.

What holds between all pairs survives averaging equal states, and holds for the null row; what holds between some pairs
does not, so all states are variables, those of probability zero too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq

from bap_lp.conditions.base import Condition, MapTable
from bap_lp.conditions.distances import PairDistances
from bap_lp.conditions.events import LARGEST_LOG, RatioBound, listed, position
from bap_lp.conditions.lagrangian import Prices, SentSignals
from bap_lp.conditions.signals import Signals
from bap_lp.limits import limit
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array, Field, InputError, number, public

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem

_BLOCK = 2**20  # entries of a channel compared at a time


class PairCondition(Condition):
    """A demand on the rows of a channel at pairs of states; a row is named by (s, x, x')."""

    width = 3

    def __init__(self, base: Any, distances: PairDistances | None, field: Field) -> None:
        """base: K in working numbers; distances: d(x,x') for the pairs (x, x') asked for, None for all pairs."""
        self.base, self.distances, self.field = base, distances, field
        self.merges = self.null_row = distances is None

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        return "exp_epsilon", "epsilon", "neighbours", "metric", "delta"

    def writable(self, asked: Array) -> None:
        """Refuse a K^d of these pairs that is too large to be written down."""
        assert self.distances is not None
        wrong = np.flatnonzero(asked & np.array([v is None for v in self._powers], dtype=bool)[self.distances.kind])
        if len(wrong):
            x, y = self.distances.pairs[wrong[0]].tolist()
            rule = "makes exp(eps d) too large; use inf to ask nothing"
            raise InputError(f"metric[{x}][{y}]", public(self.distances[x, y]), rule)

    def ratio(self, x: int, y: int) -> Any:
        """K^d(x,y); None where it is too large to be written down."""
        return self.base if self.distances is None else self._powers[int(self.distances.place[x, y])]

    @cached_property
    def _eps(self) -> float:
        return _log(self.base)

    @cached_property
    def _powers(self) -> list[Any]:
        """K^d of every kind of distance."""
        assert self.distances is not None
        return [self._power(distance) for distance in self.distances.kinds]

    def _power(self, distance: fmpq) -> Any:
        if self.base == 1:
            return self.base
        known = float(distance) * self._eps <= LARGEST_LOG
        if self.field.exact and distance.q == 1:
            known = known and distance * self.base.height_bits() <= limit("bits")
            return self.base ** int(distance.p) if known else None
        return self.field.number(float(self.base) ** float(distance)) if known else None

    def asked(self, count: int) -> Array:
        """The pairs that are asked for, of so many states."""
        return np.argwhere(~np.eye(count, dtype=bool)) if self.distances is None else self.distances.pairs

    def blocks(self, q: Array) -> Iterator[tuple[Array, Array]]:
        """All pairs that are asked for, some at a time, with their K^d."""
        pairs, step = self.asked(len(q)), max(_BLOCK // q.shape[1], 1)
        for cut in range(0, len(pairs), step):
            yield pairs[cut : cut + step], self.ratios(pairs[cut : cut + step])[:, None]

    def ratios(self, pairs: Array) -> Array:
        """K^d of many pairs; zero where it cannot be written down."""
        if self.distances is None:
            return self.field.full(len(pairs), self.base)
        powers = self.field.list(self.field.zero if power is None else power for power in self._powers)
        return powers[self.distances.place[tuple(pairs.T)]]

    def unknown(self, places: Array, arrays: Arrays, signals: Signals) -> str:
        """Any pair that is asked for may have a price, also one that others imply."""
        most = [len(signals), len(arrays.p), len(arrays.p)]
        if len(places) and not ((places >= 0).all() and (places < most).all()):
            return "a multiplier of differential privacy is about no signal or state"
        if self.distances is not None:
            for pair in set(map(tuple, np.unique(places[:, 1:], axis=0).tolist())):
                if pair not in self.distances or self.ratio(*pair) is None:
                    return "a multiplier of differential privacy is about states that are no neighbours"
        return ""

    def shadow(self, prices: Prices, sent: SentSignals) -> dict[str, Any]:
        """R_A falls by sum w d K^(d-1) q(s|x') per unit of K."""
        rate = self.field.zero
        for (s, x, y), w in zip(prices.places.tolist(), prices.weights, strict=True):
            distance = 1 if self.distances is None else self.field.number(self.distances[x, y])
            rate += w * distance * self.ratio(x, y) / self.base * sent.q[y, s]
        return {"exp_epsilon": rate}

    def sieve(self, table: MapTable) -> Array:
        """A deterministic channel is private if and only if neighbours are sent to the same signal."""
        maps = table.maps
        keep: Array = np.ones(len(maps), dtype=bool)
        if self.distances is None:
            keep = (maps == maps[:, :1]).all(axis=1)
        for x, y in self.distances or ():
            keep &= maps[:, x] == maps[:, y]
        return keep


def log_of(given: Conditions) -> float:
    """epsilon, or the logarithm of exp_epsilon."""
    return float(given.epsilon) if given.epsilon is not None else _log(given.exp_epsilon)


def _log(value: Any) -> float:
    """The logarithm of a positive number of any size, accurate near one."""
    ratio = value if isinstance(value, fmpq) else fmpq(*Fraction(value).as_integer_ratio())
    if fmpq(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    return math.log(int(ratio.p)) - math.log(int(ratio.q))


def ratio_of(given: Conditions, field: Field) -> Any:
    """K in working numbers."""
    return RatioBound(given.exp_epsilon, given.epsilon).ratio(field)


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
    """`neighbours` as users write them."""
    out = []
    for k, given in enumerate(listed(values, "neighbours", "must be a list of pairs of states")):
        pair = listed(given, f"neighbours[{k}]", "must be a pair of states")
        if len(pair) != 2:
            raise InputError(f"neighbours[{k}]", given, "must be a pair of states")
        out.append((pair[0], pair[1]))
    return tuple(out)


def read_metric(rows: Any) -> tuple[tuple[Any, ...], ...]:
    """`metric` as users write it."""
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
