"""Limits on one number: one row each, whose weight is its shadow price.

min_eve_risk: R_E >= floor is -sum t <= -floor, with Eve's risks t at the signals (or what she is told).
max_bob_risk: R_B <= cap is sum p(x) B(x,i_s) q[x,s] <= cap.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bap_lp.conditions.base import Condition, limit
from bap_lp.conditions.events import figure, together, told
from bap_lp.conditions.given import Conditions
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Dual
from bap_lp.program.lowering import Lowering, SentSignals
from bap_lp.support.rational import EXACT


class NumberLimit(Condition):
    """A limit on one number: one row and one weight, which is its shadow price."""

    looser: ClassVar[int] = 1
    merges = null_row = True

    def __init__(self, most: Any) -> None:
        self.limit = most

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> NumberLimit | None:
        value = getattr(given, cls.name)
        return None if value is None else cls(limit(value, cls.looser, problem))

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        return {self.name: dual.weights[self.name][0]}


class EveFloor(NumberLimit):
    name = "min_eve_risk"
    numbers: ClassVar[dict[str, int]] = {"min_eve_risk": 0}
    looser = -1

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        return f"On average {together(problem.eves)} at least {figure(value)}."

    def broken(self, sent: SentSignals) -> str:
        if sent.eve_risk < self.limit:
            return f"R_E = {told(sent.eve_risk)} is below min_eve_risk = {told(self.limit)}"
        return ""

    def lower(self, program: Lowering) -> None:
        rhs = EXACT.full(1, -self.limit)
        if program.told is not None:
            x, s = np.indices(program.told.shape).reshape(2, -1)
            program.demand(self.name, rhs, (0 * x, x, s, -program.told.ravel()))
            return
        s, g = np.indices((len(program.signals), len(program.arrays.groups))).reshape(2, -1)
        program.demand(self.name, rhs, terms=[("eve", 0 * s, s, g, EXACT.full(len(s), 1))])


class BobCap(NumberLimit):
    name = "max_bob_risk"
    numbers: ClassVar[dict[str, int]] = {"max_bob_risk": 0}

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        return f"On average {together(problem.bobs)} at most {figure(value)}."

    def broken(self, sent: SentSignals) -> str:
        if sent.told_risk > self.limit:
            return f"R_B = {told(sent.told_risk)} is above max_bob_risk = {told(self.limit)}"
        return ""

    def lower(self, program: Lowering) -> None:
        x, s = np.indices(program.costs.shape).reshape(2, -1)
        program.demand(self.name, EXACT.full(1, self.limit), (0 * x, x, s, program.costs.ravel()))
