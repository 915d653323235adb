"""Differential privacy: q(s|x) <= K^d(x,x') q(s|x') for every signal s, with K = exp(eps) = exp_epsilon.

d = 1 between all pairs of states, or between the pairs in `neighbours` (both ways round), or d is a `metric`, with None
or inf where nothing is asked. All pairs with d = 1 say that low[s] <= q[x,s] <= K low[s] for some low: 2N rows per
signal instead of N(N - 1). With alpha the multipliers of the first and beta those of the second, sum_x alpha = K sum_x
beta, and any transport w from beta to alpha / K has the same effect on the bound. Pairs of a metric that others imply
(module `distances`) need no rows.

DP between all pairs survives averaging equal states, and holds for the null row; DP between some pairs does not, so all
states are variables, those of probability zero too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from flint import fmpq

from bap_lp.conditions.base import Condition, LinearRows, MapTable, Part, RowSink, coupling
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
_NEAR = fmpq(3, 2)  # times the least distance: pairs up to there are in the program from the start


class Privacy(Condition):
    name = "privacy"
    by_ratio = True
    numbers: ClassVar[dict[str, int]] = {"exp_epsilon": 1, "epsilon": 0}
    width = 3

    def __init__(self, base: Any, distances: PairDistances | None, field: Field) -> None:
        """base: K in working numbers; distances: d(x,x') for the pairs (x, x') asked for, None for all pairs."""
        self.base, self.distances, self.field = base, distances, field
        self.merges = self.null_row = distances is None

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        return "exp_epsilon", "epsilon", "neighbours", "metric", "delta"

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        most = self.field.number(10**6) * self.base
        return [Part("exp_epsilon", self.base, 1, most, lambda K: Privacy(K, self.distances, self.field))]

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if given.exp_epsilon is not None and given.epsilon is not None:
            raise InputError("epsilon", given.epsilon, "must not be given together with exp_epsilon")
        if given.private and _log(given) > LARGEST_LOG:
            raise InputError("epsilon", _log(given), f"must be at most {LARGEST_LOG:.0f}")
        for name, read in (("neighbours", _pairs), ("metric", _table)):
            if getattr(given, name) is not None:
                if not given.private:
                    raise InputError(name, None, "needs epsilon or exp_epsilon")
                object.__setattr__(given, name, read(getattr(given, name)))
        if given.neighbours is not None and given.metric is not None:
            raise InputError("metric", None, "must not be given together with neighbours")

    @classmethod
    def is_exact(cls, given: Conditions) -> bool:
        """epsilon is not exact (unless 0), as its exponential is irrational; distances must be whole."""
        if not RatioBound(given.exp_epsilon, given.epsilon).exact:
            return False
        distances = [d for row in given.metric or () for d in row if d is not None]
        return all(isinstance(d, Fraction) and d.denominator == 1 for d in distances)

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> Privacy | None:
        if not given.private or given.delta not in (None, 0):
            return None
        out = cls.between(given, problem, field)
        if out.distances is not None:
            out.writable(out.distances.needed)
        return out

    def writable(self, asked: Array) -> None:
        """Refuse a K^d of these pairs that is too large to be written down."""
        assert self.distances is not None
        wrong = np.flatnonzero(asked & np.array([v is None for v in self._powers], dtype=bool)[self.distances.kind])
        if len(wrong):
            x, y = self.distances.pairs[wrong[0]].tolist()
            rule = "makes exp(eps d) too large; use inf to ask nothing"
            raise InputError(f"metric[{x}][{y}]", public(self.distances[x, y]), rule)

    @classmethod
    def between(cls, given: Conditions, problem: Problem, field: Field) -> Self:
        """The ratio and the pairs of states that are asked for."""
        distances = None
        if given.neighbours is not None:
            pairs = [
                [position(problem, x, f"neighbours[{k}]") for x in pair] for k, pair in enumerate(given.neighbours)
            ]
            one = fmpq(1)
            distances = PairDistances.of((x, y, one) for pair in pairs for x, y in (pair, pair[::-1]))
        elif given.metric is not None:
            size = len(problem.p)
            if len(given.metric) != size or any(len(row) != size for row in given.metric):
                raise InputError(
                    "metric", None, f"has {len(given.metric)} rows, must be {size} x {size}, one per state"
                )
            entries = ((x, y, d) for x, row in enumerate(given.metric) for y, d in enumerate(row) if d is not None)
            distances = PairDistances.of(entries)
        return cls(RatioBound(given.exp_epsilon, given.epsilon).ratio(field), distances, field)

    @cached_property
    def log(self) -> float:
        return _log_of(self.base)

    @property
    def needed(self) -> list[tuple[int, int]]:
        """The pairs that others do not imply, compared exactly."""
        known = self.distances
        return [] if known is None else list(map(tuple, known.pairs[known.needed].tolist()))

    def ratio(self, x: int, y: int) -> Any:
        """K^d(x,y); None where it is too large to be written down."""
        return self.base if self.distances is None else self._powers[int(self.distances.place[x, y])]

    @cached_property
    def _powers(self) -> list[Any]:
        """K^d of every kind of distance."""
        assert self.distances is not None
        return [self._power(distance) for distance in self.distances.kinds]

    def _power(self, distance: fmpq) -> Any:
        if self.base == 1:
            return self.base
        known = float(distance) * self.log <= LARGEST_LOG
        if self.field.exact and distance.q == 1:
            known = known and distance * self.base.height_bits() <= limit("bits")
            return self.base ** int(distance.p) if known else None
        return self.field.number(float(self.base) ** float(distance)) if known else None

    def _blocks(self, S: int) -> Iterator[tuple[Array, Array]]:
        """All pairs that are asked for, some at a time, with their K^d."""
        assert self.distances is not None
        step = max(_BLOCK // S, 1)
        for cut in range(0, len(self.distances), step):
            pairs = self.distances.pairs[cut : cut + step]
            yield pairs, self._ratios(pairs)[:, None]

    def check(self, sent: SentSignals, unit: Any) -> str:
        if self.distances is None:
            for s, column in enumerate(sent.q.T):
                most, room = column.max(), self.base * column.min()
                if most > room + unit * (most + room):
                    return f"signal {s} breaks differential privacy: {most} against {column.min()}"
            return ""
        far = np.array([v is None for v in self._powers], dtype=bool)
        for pairs, ratios in self._blocks(sent.q.shape[1]):
            more, less = sent.q[pairs[:, 0]], sent.q[pairs[:, 1]]
            room = less * ratios
            broken = np.array(more > room + unit * (more + room), dtype=bool)
            # a K^d that cannot be written belongs to d(x,z) >= d(x,y) + d(y,z), both positive: these pairs imply it
            broken[far[self.distances.place[tuple(pairs.T)]]] = False
            if broken.any():
                k, s = np.argwhere(broken)[0].tolist()
                return f"signal {s} breaks differential privacy between states {pairs[k, 0]} and {pairs[k, 1]}"
        return ""

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        known = self.distances
        pairs = np.zeros((0, 2), dtype=np.int64) if known is None else known.pairs[known.needed]
        s = np.tile(np.arange(len(signals)), len(pairs))
        return np.column_stack([s, np.repeat(pairs, len(signals), axis=0)])

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        (s, x, y), row = places.T, np.arange(len(places))
        ratios = self._ratios(places[:, 1:])
        values = np.concatenate([self.field.full(len(places), 1), -ratios])
        entries = (np.tile(row, 2), np.concatenate([x, y]), np.tile(s, 2), values)
        return LinearRows(self.field.zeros(len(places)), q=entries)

    def _ratios(self, pairs: Array) -> Array:
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

    def rows(self, program: RowSink) -> Any:
        if self.distances is not None:
            return super().rows(program)
        (N, S), one = program.q.shape, self.field.one
        row, low = np.arange(N * S).reshape(N, S), program.columns(S)
        lower = program.rows(N * S, [(row, program.q, -one), (row, low, one)])
        return lower, program.rows(N * S, [(row, program.q, one), (row, low, -self.base)])

    def lazy(self, place: Any) -> Array:
        """Of a metric, the pairs that are not among the nearest."""
        apart = [d for d in (() if self.distances is None else self.distances.kinds) if d > 0]
        if self.distances is None or len(apart) < 2:
            return super().lazy(place)
        places, rows = place
        near = _NEAR * min(apart)
        far = np.array([d > near for d in self.distances.kinds])
        return np.arange(rows.start, rows.stop)[far[self.distances.place[tuple(places[:, 1:].T)]]]

    def prices(self, program: RowSink, place: Any, duals: Array) -> Prices:
        if self.distances is not None:
            return super().prices(program, place, duals)
        S = len(program.signals)
        places: list[tuple[int, int, int]] = []
        weights: list[Any] = []
        alpha, beta = (duals[part].reshape(-1, S) for part in place)
        live = np.flatnonzero(program.index >= 0)
        group, share = program.index[live], program.share[live]  # members of a class share by probability
        for s in range(S):
            supply, demand = beta[group, s] * share, alpha[group, s] * share / self.base
            sources, sinks = (
                [(x, w) for x, w in zip(live.tolist(), side, strict=True) if w > 0] for side in (supply, demand)
            )
            for (x, y), step in coupling(sources, sinks):
                if x != y:
                    places.append((s, x, y))
                    weights.append(step)
        return Prices.of(places, weights, self.width, self.field)

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


def _log(given: Conditions) -> float:
    return float(given.epsilon) if given.epsilon is not None else _log_of(given.exp_epsilon)


def _log_of(value: Any) -> float:
    """The logarithm of a positive number of any size, accurate near one."""
    ratio = value if isinstance(value, fmpq) else fmpq(*Fraction(value).as_integer_ratio())
    if fmpq(1, 2) < ratio < 2:
        return math.log1p(float(ratio - 1))
    return math.log(int(ratio.p)) - math.log(int(ratio.q))


def _pairs(values: Any) -> tuple[tuple[Any, Any], ...]:
    out = []
    for k, given in enumerate(listed(values, "neighbours", "must be a list of pairs of states")):
        pair = listed(given, f"neighbours[{k}]", "must be a pair of states")
        if len(pair) != 2:
            raise InputError(f"neighbours[{k}]", given, "must be a pair of states")
        out.append((pair[0], pair[1]))
    return tuple(out)


def _table(rows: Any) -> tuple[tuple[Any, ...], ...]:
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
