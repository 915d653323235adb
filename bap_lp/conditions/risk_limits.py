"""Limits on the risks, one row and one price each.

max_bob_risk   R_B <= cap: the row is sum p B q <= cap; its price nu multiplies Bob's costs by 1 + nu
min_eve_risk   R_E >= floor: the row is -sum t <= -floor; its price mu adds mu to lam and mu floor to the bound
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from bap_lp.conditions.base import Condition, LinearRows, MapTable, Part, Reader
from bap_lp.conditions.lagrangian import Prices, SentSignals
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import EXACT, ROUNDING, Array, Field, field_of, text

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem


class RiskLimit(Condition):
    """A limit on one of the risks: one row and one price."""

    looser: ClassVar[int] = 1
    agent: ClassVar[int]  # whose risk: 0 for Bob, 1 for Eve

    def __init__(self, limit: Any, size: Any = None) -> None:
        self.limit = limit
        self.size = limit if size is None else size  # of the limit as it was written, which was rounded

    def near(self, arrays: Arrays, unit: Any) -> Any:
        """How far a float risk may miss the limit: a share of its spread, and the rounding of the limit itself."""
        field = arrays.field
        return unit * arrays.spreads[self.agent] + field.number(ROUNDING) * self.size if unit else unit

    def outmost(self, table: MapTable) -> float:
        """The limit moved as far as a mechanism may miss it by, and by more than its rounding."""
        rounding = 2 * ROUNDING * float(self.size) if table.tolerance else 0.0
        far = 2 * table.tolerance * table.spreads[self.agent] + rounding
        return float(self.limit) + self.looser * (far + table.unit * abs(float(self.limit)))

    def lowered(self, bob: Any, eve: Any) -> RiskLimit:
        field, off = field_of(self.limit), (bob, eve)[self.agent]
        return type(self)(field.number(EXACT.number(self.limit) - off), self.size)

    def relaxed(self, arrays: Arrays, unit: Any) -> RiskLimit:
        return type(self)(self.limit + self.looser * self.near(arrays, unit) / 2, self.size)

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> RiskLimit | None:
        limit = getattr(given, cls.name)
        return None if limit is None else cls(field.number(limit))

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        return np.zeros((1, 0), dtype=np.int64)

    def shadow(self, prices: Prices, sent: SentSignals) -> dict[str, Any]:
        return {self.name: sent.arrays.field.zero + prices.total}

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        most = arrays.B.max() + 0 * self.limit
        return [Part(self.name, self.limit, self.looser, most if self.looser > 0 else 0 * self.limit, type(self))]

    @classmethod
    def document(cls, prices: Prices) -> dict[str, Any]:
        return {"prices": {cls.name: text(prices.total)}}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return {"prices": {"type": "object", "properties": {cls.name: {}}}}

    @classmethod
    def read(cls, document: dict[str, Any], read: Reader, field: Field) -> Prices:
        value = read(document.get("prices", {}).get(cls.name, 0), f"prices.{cls.name}")
        return Prices.of([[]], [field.number(value)], 0, field)


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
