"""Conditions without rows, since the mechanisms that meet them are not a convex set: they are searched.

deterministic   q(s|x) is 0 or 1. Averaging two equal states would randomise, so states are not merged.
max_signals k   at most k signals are ever sent. The average of two equal states sends no signal that neither of
                them sends, so states may be merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bap_lp.conditions.base import Condition, MapTable
from bap_lp.conditions.lagrangian import SentSignals
from bap_lp.rational import Array, Field, InputError

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem


class Deterministic(Condition):
    name = "deterministic"
    priced = False
    merges = False

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if not isinstance(given.deterministic, bool):
            raise InputError("deterministic", given.deterministic, "must be true or false")

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> Deterministic | None:
        return cls() if given.deterministic else None

    def check(self, sent: SentSignals, unit: Any) -> str:
        return "" if ((sent.q == 0) | (abs(sent.q - 1) <= unit)).all() else "the channel is not deterministic"


class MaxSignals(Condition):
    name = "max_signals"
    priced = False

    def __init__(self, most: int) -> None:
        self.most = most

    @classmethod
    def validate(cls, given: Conditions) -> None:
        most = given.max_signals
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise InputError("max_signals", most, "must be a positive integer")

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> MaxSignals | None:
        return None if given.max_signals is None else cls(given.max_signals)

    def check(self, sent: SentSignals, unit: Any) -> str:
        if int((sent.q > 0).any(axis=0).sum()) > self.most:
            return f"the channel sends more than {self.most} signals"
        return ""

    def sieve(self, table: MapTable) -> Array:
        return table.signals <= self.most
