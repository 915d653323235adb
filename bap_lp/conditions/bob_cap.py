"""max_bob_risk: R_B <= cap. The row is sum p B q <= cap; its price nu multiplies Bob's costs by 1 + nu."""

from __future__ import annotations

from typing import Any

from bap_lp.conditions.base import Lagrangian, MapTable, Prices, RiskLimit, RowSink, SentSignals
from bap_lp.rational import Array


class BobCap(RiskLimit):
    name = "max_bob_risk"
    numbers = {"max_bob_risk": 0}

    def check(self, sent: SentSignals, unit: Any) -> str:
        if sent.told_risk > self.limit + unit * sent.arrays.B.max():
            return f"R_B = {sent.told_risk} is above max_bob_risk = {self.limit}"
        return ""

    def rows(self, program: RowSink) -> slice:
        arrays = program.arrays
        costs = arrays.p[:, None] * arrays.B[:, program.signals.bob]
        return program.rows(1, [(0, program.q, costs)], self.limit)

    def bound_term(self, prices: Prices, lagrangian: Lagrangian) -> str:
        lagrangian.charge(prices.total * lagrangian.own)
        lagrangian.pay(-prices.total * self.limit)
        return ""

    def sieve(self, table: MapTable) -> Array:
        return table.bob - table.bob_error <= float(self.limit) * (1 + table.unit)
