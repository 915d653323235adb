"""max_leakage c: sum_s max_x q(s|x) <= c, the exponential of maximal leakage (Issa, Wagner and Kamath, 2020).

With auxiliary columns m[s] the rows are q[x,s] - m[s] <= 0, named (s, x), and sum_s m[s] <= c, named (-1, -1). The
maximum of a sum is at most the sum of the maxima: pooling signals, averaging equal states and giving a state of
probability zero the null row can only lower the left side. c lies between 1, where nothing is released, and the number
of signals, where everything may be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bap_lp.conditions.base import Condition, LinearRows, MapTable, Part
from bap_lp.conditions.lagrangian import Prices, SentSignals
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array, Field

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem


class MaximalLeakage(Condition):
    name = "max_leakage"
    numbers: ClassVar[dict[str, int]] = {"max_leakage": 1}
    width = 2
    states = (1,)

    def __init__(self, most: Any) -> None:
        self.most = most

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> MaximalLeakage | None:
        return None if given.max_leakage is None else cls(field.number(given.max_leakage))

    def check(self, sent: SentSignals, unit: Any) -> str:
        leaked = sent.q.max(axis=0).sum()
        if leaked > self.most + unit * self.most:
            return f"the signals leak {leaked}, more than max_leakage = {self.most}"
        return ""

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        rows = np.indices((len(signals), len(arrays.p))).reshape(2, -1).T
        return np.concatenate([rows, [[-1, -1]]])

    def unknown(self, places: Array, arrays: Arrays, signals: Signals) -> str:
        total = (places == -1).all(axis=1)
        inside = (places >= 0).all(axis=1) & (places < [len(signals), len(arrays.p)]).all(axis=1)
        return "" if (total | inside).all() else f"a price of {self.name} is about none of its rows"

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        row, S, field = np.arange(len(places)), len(signals), arrays.field
        single, total = row[places[:, 0] >= 0], row[places[:, 0] < 0]
        s, x = places[single].T
        k = np.concatenate([single, np.repeat(total, S)])
        column = np.concatenate([s, np.tile(np.arange(S), len(total))])
        value = np.concatenate([field.full(len(single), -1), field.full(len(total) * S, 1)])
        rhs = field.zeros(len(places))
        rhs[total] = self.most
        return LinearRows(rhs, q=(single, x, s, field.full(len(single), 1)), a=(k, column, value), columns=S)

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        return [Part(self.name, self.most, 1, arrays.field.number(len(signals)) + self.most, MaximalLeakage)]

    def shadow(self, prices: Prices, sent: SentSignals) -> dict[str, Any]:
        return {self.name: sent.arrays.field.zero + prices.weights[prices.places[:, 0] < 0].sum()}

    def sieve(self, table: MapTable) -> Array:
        """A deterministic channel leaks as much as it has signals."""
        return table.signals <= float(self.most) * (1 + table.unit)
