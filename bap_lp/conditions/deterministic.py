"""deterministic: q(s|x) is 0 or 1. It has no rows: the mechanisms are enumerated, or found by branch and bound.

Averaging two equal states would randomise, so states are not merged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bap_lp.conditions.base import Condition
from bap_lp.conditions.lagrangian import SentSignals
from bap_lp.rational import Field, InputError

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
