"""Mechanisms that are not a convex set, and are searched: deterministic ones, and those with few signals.

deterministic: q(s|x) is 0 or 1. Averaging two equal states would randomise, so states are not merged.
max_signals k: at most k signals are ever sent. The average of two equal states sends no signal that neither of them
sends, so states may be merged.
"""

from __future__ import annotations

from typing import Any

from bap_lp.model.display import counted
from bap_lp.model.problem import Problem
from bap_lp.notions.base import MapTable, Notion
from bap_lp.notions.conditions import Conditions
from bap_lp.program.lowering import SentSignals
from bap_lp.rational import Array, InputError


class Deterministic(Notion):
    name = "deterministic"
    convex = with_reports = several = False
    pure = True
    merges = False

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if not isinstance(given.deterministic, bool):
            raise InputError(cls.name, given.deterministic, "must be true or false")

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> Deterministic | None:
        return cls() if given.deterministic else None

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        return "Nothing is drawn at random: the data decide the message."

    def broken(self, sent: SentSignals) -> str:
        return "" if ((sent.q == 0) | (sent.q == 1)).all() else "the channel is not deterministic"


class MaxSignals(Notion):
    name = "max_signals"
    convex = with_reports = several = False

    few: int

    def __init__(self, most: int) -> None:
        self.few = most

    @classmethod
    def stated(cls, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InputError(cls.name, value, "must be a positive integer")
        return value

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> MaxSignals | None:
        return None if given.max_signals is None else cls(given.max_signals)

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        return f"There are at most {counted(value, 'different message')}."

    def broken(self, sent: SentSignals) -> str:
        if int((sent.q > 0).any(axis=0).sum()) > self.few:
            return f"the channel sends more than {self.few} signals"
        return ""

    def sieve(self, table: MapTable) -> Array:
        return table.signals <= self.few
