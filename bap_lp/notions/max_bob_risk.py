"""max_bob_risk: R_B <= cap. One row, sum p(x) B(x,i_s) q[x,s] <= cap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.notions.base import MapTable
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.min_eve_risk import NumberLimit
from bap_lp.notions.reading import figure, together, told
from bap_lp.program.lowering import Lowering, SentSignals, Signals
from bap_lp.rational import EXACT, Array


class BobCap(NumberLimit):
    name = "max_bob_risk"
    numbers: ClassVar[dict[str, int]] = {"max_bob_risk": 0}
    with_reports = False

    @classmethod
    def sentences(cls, given: Conditions, problem: Problem) -> Iterator[str]:
        if given.max_bob_risk is not None:
            yield f"On average {together(problem.bobs)} at most {figure(given.max_bob_risk)}."

    def broken(self, sent: SentSignals) -> str:
        if sent.told_risk > self.limit:
            return f"R_B = {told(sent.told_risk)} is above max_bob_risk = {told(self.limit)}"
        return ""

    def lower(self, program: Lowering) -> None:
        x, s = np.indices(program.costs.shape).reshape(2, -1)
        program.demand(self.name, EXACT.full(1, self.limit), (0 * x, x, s, program.costs.ravel()))

    def loosest(self, arrays: Arrays, signals: Signals) -> Any:
        return arrays.B.max()

    def sieve(self, table: MapTable) -> Array:
        return table.bob - table.bob_error <= self.outmost(table)
