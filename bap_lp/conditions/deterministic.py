"""Deterministic mechanisms, q(s|x) = 0 or 1: they are not a convex set, and are searched.

Averaging two equal states would randomise, so states are not merged.
"""

from __future__ import annotations

from typing import Any

from bap_lp.conditions.base import Condition
from bap_lp.conditions.given import Conditions
from bap_lp.model.problem import Problem
from bap_lp.program.lowering import SentSignals
from bap_lp.support.rational import InputError


class Deterministic(Condition):
    name = "deterministic"
    convex = several = False
    null_row = True

    @classmethod
    def stated(cls, value: Any) -> bool:
        if not isinstance(value, bool):
            raise InputError(cls.name, value, "must be true or false")
        return value

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> Deterministic | None:
        return cls() if given.deterministic else None

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        return "Nothing is drawn at random: the data decide the message."

    def broken(self, sent: SentSignals) -> str:
        return "" if ((sent.q == 0) | (sent.q == 1)).all() else "the channel is not deterministic"
