"""min_eve_risk: R_E >= floor. The row is -sum t <= -floor; its price mu adds mu to lam and mu floor to the bound."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bap_lp.conditions.base import LinearRows, MapTable, RiskLimit
from bap_lp.conditions.lagrangian import SentSignals
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array


class EveFloor(RiskLimit):
    name = "min_eve_risk"
    numbers: ClassVar[dict[str, int]] = {"min_eve_risk": 0}
    looser = -1
    agent = 1

    def check(self, sent: SentSignals, unit: Any) -> str:
        if sent.eve_risk < self.limit - self.near(sent.arrays, unit):
            return f"R_E = {sent.eve_risk} is below min_eve_risk = {self.limit}"
        return ""

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        field, (s, g) = arrays.field, np.indices((len(signals), len(arrays.groups)))
        row = np.zeros_like(s)
        return LinearRows(field.full(len(places), -self.limit), t=(row, s, g, field.full(s.shape, -1)))

    def sieve(self, table: MapTable) -> Array:
        return table.eve + table.eve_error >= self.outmost(table)
