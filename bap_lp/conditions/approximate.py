"""(epsilon, delta): sum_s max(0, q(s|x) - K^d(x,x') q(s|x')) <= delta for every ordered pair x, x' that is asked for.

It says that P(S in T|x) <= K^d P(S in T|x') + delta for every set T of signals (Dwork and Roth, 2014). With auxiliary
columns a[x,x',s] the rows are
    q[x,s] - K^d q[x',s] - a[x,x',s] <= 0, named (s, x, x'),   and   sum_s a[x,x',s] <= delta, named (-1, x, x').
The left side is convex in the two rows of the channel and max(0, u + v) <= max(0, u) + max(0, v): pooling signals and,
where all pairs are asked for, averaging equal states keep it, and the null row keeps it too. A pair is not implied by
others, as deltas add up: every pair has its rows. delta = 0 is differential privacy; delta >= 1 asks nothing.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bap_lp.conditions.base import LinearRows, Part
from bap_lp.conditions.distances import PairDistances
from bap_lp.conditions.lagrangian import Prices, SentSignals
from bap_lp.conditions.pairs import PairCondition, distances_of, ratio_of
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array, Field, InputError, public

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem

_MOST = 500_000  # rows


class ApproximatePrivacy(PairCondition):
    name = "approximate_privacy"
    numbers: ClassVar[dict[str, int]] = {"delta": 0}
    states = (1, 2)

    def __init__(self, base: Any, distances: PairDistances | None, field: Field, delta: Any) -> None:
        super().__init__(base, distances, field)
        self.delta = delta

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        at = partial(ApproximatePrivacy, self.base, self.distances, self.field)
        return [Part("delta", self.delta, 1, self.field.one, at)]

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if given.delta is not None and not given.private:
            raise InputError("delta", given.delta, "needs epsilon or exp_epsilon")

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> ApproximatePrivacy | None:
        if given.delta in (None, 0) or given.delta >= 1:
            return None
        out = cls(ratio_of(given, field), distances_of(given, problem), field, field.number(given.delta))
        if out.distances is not None:
            out.writable(np.ones(len(out.distances), dtype=bool))
        return out

    def check(self, sent: SentSignals, unit: Any) -> str:
        for pairs, ratios in self.blocks(sent.q):
            over = sent.q[pairs[:, 0]] - ratios * sent.q[pairs[:, 1]]
            beyond = np.where(over > 0, over, 0 * over).sum(axis=1)
            wrong = np.flatnonzero(beyond > self.delta + unit)
            if len(wrong):
                (x, y), most = pairs[wrong[0]].tolist(), beyond[wrong[0]]
                return f"states {x} and {y} break (epsilon, delta)-privacy: {most} against delta = {self.delta}"
        return ""

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        pairs, S = self.asked(len(arrays.p)), len(signals)
        if len(pairs) * (S + 1) > _MOST:
            raise InputError("delta", public(self.delta), f"needs {len(pairs) * (S + 1)} rows, more than {_MOST}")
        s = np.tile(np.arange(-1, S), len(pairs))
        return np.column_stack([s, np.repeat(pairs, S + 1, axis=0)])

    def unknown(self, places: Array, arrays: Arrays, signals: Signals) -> str:
        counted = places.copy()
        counted[:, 0] = np.where(places[:, 0] == -1, 0, places[:, 0])
        wrong = super().unknown(counted, arrays, signals)
        return wrong or ("a multiplier compares a state with itself" if (places[:, 1] == places[:, 2]).any() else "")

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        (s, x, y), row, S, field = places.T, np.arange(len(places)), len(signals), arrays.field
        _, pair = np.unique(places[:, 1:], axis=0, return_inverse=True)
        pair = pair.ravel()
        single, total = row[s >= 0], row[s < 0]
        ratios = self.ratios(places[single, 1:])
        entries = (
            np.tile(single, 2),
            np.concatenate([x[single], y[single]]),
            np.tile(s[single], 2),
            np.concatenate([field.full(len(single), 1), -ratios]),
        )
        columns = int(pair.max(initial=-1)) + 1
        a = (
            np.concatenate([single, np.repeat(total, S)]),
            np.concatenate([pair[single] * S + s[single], (pair[total][:, None] * S + np.arange(S)).ravel()]),
            np.concatenate([field.full(len(single), -1), field.full(len(total) * S, 1)]),
        )
        rhs = field.zeros(len(places))
        rhs[total] = self.delta
        return LinearRows(rhs, q=entries, a=a, columns=columns * S)

    def shadow(self, prices: Prices, sent: SentSignals) -> dict[str, Any]:
        total = prices.places[:, 0] < 0
        own = Prices(prices.places[~total], prices.weights[~total])
        return super().shadow(own, sent) | {"delta": sent.arrays.field.zero + prices.weights[total].sum()}
