"""max_bob_risk: R_B <= cap. The row is sum p B q <= cap; its price nu multiplies Bob's costs by 1 + nu."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bap_lp.conditions.base import LinearRows, MapTable, RiskLimit
from bap_lp.conditions.lagrangian import SentSignals
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array


class BobCap(RiskLimit):
    name = "max_bob_risk"
    numbers: ClassVar[dict[str, int]] = {"max_bob_risk": 0}
    agent = 0

    def check(self, sent: SentSignals, unit: Any) -> str:
        if sent.told_risk > self.limit + self.near(sent.arrays, unit):
            return f"R_B = {sent.told_risk} is above max_bob_risk = {self.limit}"
        return ""

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        x, s = np.indices((len(arrays.p), len(signals)))
        costs = arrays.p[:, None] * arrays.B[:, signals.bob]
        return LinearRows(arrays.field.full(len(places), self.limit), q=(np.zeros_like(x), x, s, costs))

    def sieve(self, table: MapTable) -> Array:
        return table.bob - table.bob_error <= self.outmost(table)
