"""min_eve_risk: R_E >= floor. The row is -sum t <= -floor; its price mu adds mu to lam and mu floor to the bound."""

from __future__ import annotations

from typing import Any

from bap_lp.conditions.base import Lagrangian, MapTable, Prices, RiskLimit, RowSink, SentSignals
from bap_lp.rational import Array


class EveFloor(RiskLimit):
    name = "min_eve_risk"
    numbers = {"min_eve_risk": 0}

    def check(self, sent: SentSignals, unit: Any) -> str:
        if sent.eve_risk < self.limit - unit * sent.arrays.E.max():
            return f"R_E = {sent.eve_risk} is below min_eve_risk = {self.limit}"
        return ""

    def rows(self, program: RowSink) -> slice:
        return program.rows(1, [(0, program.t, -program.arrays.field.one)], -self.limit)

    def bound_term(self, prices: Prices, lagrangian: Lagrangian) -> str:
        lagrangian.risk = lagrangian.risk + prices.total
        lagrangian.pay(prices.total * self.limit)
        return ""

    def sieve(self, table: MapTable) -> Array:
        return table.eve + table.eve_error >= float(self.limit) * (1 - table.unit)
