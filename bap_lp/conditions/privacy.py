"""Differential privacy: q(s|x) <= K^d(x,x') q(s|x') for every signal s and all pairs that are asked for (`pairs`).

All pairs with d = 1 say that low[s] <= q[x,s] <= K low[s] for some low: 2N rows per signal instead of N(N - 1). With
alpha the multipliers of the first and beta those of the second, sum_x alpha = K sum_x beta, and any transport w from
beta to alpha / K has the same effect on the bound. Pairs of a metric that others imply (module `distances`) need no
rows.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from flint import fmpq

from bap_lp.conditions.base import LinearRows, Part, RowSink, coupling
from bap_lp.conditions.events import LARGEST_LOG, RatioBound
from bap_lp.conditions.lagrangian import Prices, SentSignals
from bap_lp.conditions.pairs import PairCondition, distances_of, log_of, ratio_of, read_metric, read_pairs
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array, Field, InputError

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem

_NEAR = fmpq(3, 2)  # times the least distance: pairs up to there are in the program from the start


class Privacy(PairCondition):
    name = "privacy"
    by_ratio = True
    numbers: ClassVar[dict[str, int]] = {"exp_epsilon": 1, "epsilon": 0}

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        most = self.field.number(10**6) * self.base
        return [Part("exp_epsilon", self.base, 1, most, lambda K: Privacy(K, self.distances, self.field))]

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if given.exp_epsilon is not None and given.epsilon is not None:
            raise InputError("epsilon", given.epsilon, "must not be given together with exp_epsilon")
        if given.private and log_of(given) > LARGEST_LOG:
            raise InputError("epsilon", log_of(given), f"must be at most {LARGEST_LOG:.0f}")
        for name, read in (("neighbours", read_pairs), ("metric", read_metric)):
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
        out = cls(ratio_of(given, field), distances_of(given, problem), field)
        if out.distances is not None:
            out.writable(out.distances.needed)
        return out

    @property
    def needed(self) -> Array:
        """The pairs that others do not imply, compared exactly."""
        known = self.distances
        return np.zeros((0, 2), dtype=np.int64) if known is None else known.pairs[known.needed]

    def check(self, sent: SentSignals, unit: Any) -> str:
        if self.distances is None:
            for s, column in enumerate(sent.q.T):
                most, room = column.max(), self.base * column.min()
                if most > room + unit * (most + room):
                    return f"signal {s} breaks differential privacy: {most} against {column.min()}"
            return ""
        far = np.array([v is None for v in self._powers], dtype=bool)
        for pairs, ratios in self.blocks(sent.q):
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
        s = np.tile(np.arange(len(signals)), len(self.needed))
        return np.column_stack([s, np.repeat(self.needed, len(signals), axis=0)])

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        (s, x, y), row = places.T, np.arange(len(places))
        ratios = self.ratios(places[:, 1:])
        values = np.concatenate([self.field.full(len(places), 1), -ratios])
        entries = (np.tile(row, 2), np.concatenate([x, y]), np.tile(s, 2), values)
        return LinearRows(self.field.zeros(len(places)), q=entries)

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
