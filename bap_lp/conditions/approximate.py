"""(epsilon, delta): sum_s max(0, q(s|x) - K^d(x,x') q(s|x')) <= delta for every ordered pair x, x' that is asked for.

It says that P(S in T|x) <= K^d P(S in T|x') + delta for every set T of signals (Dwork and Roth, 2014). With auxiliary
columns a[x,x',s] the rows are
    q[x,s] - K^d q[x',s] - a[x,x',s] <= 0, named (s, x, x'),   and   sum_s a[x,x',s] <= delta, named (-1, x, x').
The left side is convex in the two rows of the channel and max(0, u + v) <= max(0, u) + max(0, v): pooling signals and,
where all pairs are asked for, averaging equal states keep it, and the null row keeps it too. A pair is not implied by
others, as deltas add up: every pair has its rows. delta = 0 is differential privacy; delta >= 1 asks nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bap_lp.conditions.base import LinearRows, Part
from bap_lp.conditions.lagrangian import Prices, SentSignals
from bap_lp.conditions.privacy import Privacy
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array, Field, InputError, number, public

if TYPE_CHECKING:
    from bap_lp.conditions.base import RowSink
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem

_MOST = 500_000  # rows


class ApproximatePrivacy(Privacy):
    name = "approximate_privacy"
    numbers: ClassVar[dict[str, int]] = {"delta": 0}
    by_ratio = False
    states = (1, 2)
    delta: Any

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        def at(delta: Any) -> ApproximatePrivacy:
            out = ApproximatePrivacy(self.base, self.distances, self.field)
            out.delta = delta
            return out

        return [Part("delta", self.delta, 1, self.field.one, at)]

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if given.delta is not None and not given.private:
            raise InputError("delta", given.delta, "needs epsilon or exp_epsilon")

    @classmethod
    def is_exact(cls, given: Conditions) -> bool:
        return not isinstance(given.delta, float)

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> ApproximatePrivacy | None:
        if given.delta in (None, 0) or given.delta >= 1:
            return None
        out = cls.between(given, problem, field)
        out.delta = field.number(number(given.delta, "delta"))
        if out.distances is not None:
            out.writable(np.ones(len(out.distances), dtype=bool))
        return out

    def check(self, sent: SentSignals, unit: Any) -> str:
        near, q = self.delta + unit, sent.q
        if self.distances is None:
            for x, row in enumerate(q):
                over = row[None, :] - self.base * q
                beyond = np.where(over > 0, over, 0 * over).sum(axis=1)
                if (beyond > near).any():
                    return self._words(x, int((beyond > near).argmax()), beyond.max())
            return ""
        for pairs, ratios in self._blocks(q.shape[1]):
            over = q[pairs[:, 0]] - ratios * q[pairs[:, 1]]
            beyond = np.where(over > 0, over, 0 * over).sum(axis=1)
            if (beyond > near).any():
                k = int((beyond > near).argmax())
                return self._words(int(pairs[k, 0]), int(pairs[k, 1]), beyond[k])
        return ""

    def _words(self, x: int, y: int, beyond: Any) -> str:
        return f"states {x} and {y} break (epsilon, delta)-privacy: {beyond} against delta = {self.delta}"

    def _pairs(self, count: int) -> Array:
        if self.distances is None:
            x, y = np.nonzero(~np.eye(count, dtype=bool))
            return np.column_stack([x, y])
        return self.distances.pairs

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        pairs, S = self._pairs(len(arrays.p)), len(signals)
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
        ratios = self._ratios(places[single, 1:])
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

    def rows(self, program: RowSink) -> Any:
        return super(Privacy, self).rows(program)

    def lazy(self, place: Any) -> Array:
        return super(Privacy, self).lazy(place)

    def prices(self, program: RowSink, place: Any, duals: Array) -> Prices:
        return super(Privacy, self).prices(program, place, duals)

    def shadow(self, prices: Prices, sent: SentSignals) -> dict[str, Any]:
        total = prices.places[:, 0] < 0
        own = Prices(prices.places[~total], prices.weights[~total])
        return super().shadow(own, sent) | {"delta": sent.arrays.field.zero + prices.weights[total].sum()}
