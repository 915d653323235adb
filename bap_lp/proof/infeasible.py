"""The proof that no mechanism meets the conditions: multipliers with which the bound on zero is above zero.

With beta = lam = 0 the Lagrangian bound of `conditions.lagrangian` lies below 0 = 0 R_B - 0 R_E of every channel that
meets the conditions. If it is positive, there is no such channel. Deterministic mechanisms and those with few signals
are not a convex set: there the proof may go case by case, with multipliers for parts that together contain them all, or
all maps are tried if they are few. Checked with arithmetic alone, like a certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bap_lp.conditions.conditions import Conditions
from bap_lp.conditions.lagrangian import Multipliers, Prices
from bap_lp.model.display import Displayed
from bap_lp.model.problem import Problem
from bap_lp.proof.branches import Branch
from bap_lp.proof.certificate import Verdict
from bap_lp.proof.conditional import ConditionedProblem
from bap_lp.rational import EXACT, Array, InputError, ReadOnly


@dataclass(frozen=True, eq=False, repr=False)
class Infeasibility(ReadOnly, Displayed):
    """Conditions that no mechanism meets, with the multipliers that prove it, perhaps case by case."""

    conditions: Conditions
    u: Array
    prices: Mapping[str, Prices]
    branches: tuple[Branch, ...] = ()

    def _headline(self) -> str:
        return f": {', '.join(self.conditions.given())}"

    def verify(self, problem: Problem) -> Verdict:
        """Whether the multipliers prove that no mechanism of the problem meets the conditions.

        Where floats cannot tell, they are taken as the rationals they are.
        """
        try:
            asked = ConditionedProblem.of(problem, self.conditions)
        except ValueError as error:
            return Verdict(False, f"its conditions do not fit the problem: {error}")
        verdict = self._judged(asked)
        if verdict or asked.arrays.exact:
            return verdict
        unit = EXACT.number(asked.unit)
        return self._judged(ConditionedProblem.lifted(problem, self.conditions, unit))

    def _judged(self, asked: ConditionedProblem) -> Verdict:
        dual = Multipliers(self.u, self.prices).in_field(asked.arrays.field)
        wrong, how = asked.impossible(dual, self.branches)
        return Verdict(not wrong, wrong or how)


class ConflictError(InputError):
    """Conditions that no mechanism meets.

    `attainable` has, for the conditions with a number, the number nearest to the one demanded that the others allow.
    `proof` has the multipliers that prove the conflict; it is None in the rare cases where the multipliers found in
    floats do not prove it.

    Args:
        field: the condition that is named first.
        value: the number demanded.
        rule: why it cannot be met.

    Attributes:
        conflict: the labels of conditions that cannot hold together, while they can if any of them is left out.
            Where deterministic or max_signals is given, a condition is also listed if the search without it was given
            up, at its limit of nodes or of time.

    >>> from bap_lp import Conditions, ConflictError, Problem, solve
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> try:
    ...     solve(coin, conditions=Conditions(min_eve_risk="3/4", max_bob_risk="3/10"))
    ... except ConflictError as error:
    ...     print(error.conflict, bool(error.proof.verify(coin)))
    ('min_eve_risk', 'max_bob_risk') True
    """

    conflict: tuple[str, ...] = ()
    proof: Infeasibility | None = None

    @property
    def attainable(self) -> dict[str, Any]:
        return dict(self.__dict__.get("nearest", {}))
