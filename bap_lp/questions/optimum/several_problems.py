"""Several problems in one program, scenarios and tiers alike: how they are read, solved and refused.

Among several optima the one with the largest sum of R_E is chosen, then the least weight of the joint table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions, conditions_of_each, demands_of_each
from bap_lp.engines.driver import Infeasible, optimise, unfeasible
from bap_lp.engines.ties import Tie
from bap_lp.engines.ties import weights as fixed_weights
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Program
from bap_lp.program.finish import Pair, priced
from bap_lp.program.several import Audience, scenario_program, tier_program
from bap_lp.proof.certificate import Certificate, ConflictError
from bap_lp.proof.checking import verify
from bap_lp.questions.optimum.conflicts import any_channel, least_conflict
from bap_lp.support.display import Displayed, equals
from bap_lp.support.rational import EXACT, Array, InputError, is_exact, public
from bap_lp.support.risks import Number, Risks

_SMALL_GAP = 1e-10  # of what the releases can change: a gap that is not worth an exact solution


@dataclass(frozen=True, eq=False, repr=False)
class SeveralSolution(Displayed):
    """What was found for several problems at once, with its proof; `risks[k]` are those of problem k."""

    problems: tuple[Problem, ...]
    lams: tuple[Number, ...]
    weights: tuple[Number, ...]
    value: Number
    risks: tuple[Risks, ...]
    bound: Number
    gap: Number
    method: str
    certificate: Certificate

    @property
    def exact(self) -> bool:
        return self.certificate.exact

    def _proved(self, claim: str) -> str:
        if self.exact and self.gap == 0:
            return f"This is proved exactly: {claim}; {equals('value = bound', self.value)}."
        ends = f"value {float(self.value):.12g}, lower bound {float(self.bound):.12g}"
        return f"This is proved up to {float(self.gap):.2g}: {ends}."


@dataclass(frozen=True, eq=False)
class ReadProblems:
    """Problems as they are solved, in floats if the answer is to be, and in rationals; conditions of each, if any."""

    given: tuple[Problem, ...]
    whole: list[Problem]
    asked: tuple[Conditions, ...]
    exact: bool

    @classmethod
    def of(cls, problems: Sequence[Problem], numbers: Sequence[Any], what: str, exact: Any, asked: Any) -> ReadProblems:
        """numbers: those that are given besides the problems, what they are called."""
        conditions = conditions_of_each(asked, len(problems))
        able = all(own.exact for own in problems) and all(own.exact for own in conditions)
        able = able and all(map(is_exact, numbers))
        if exact and not able:
            raise InputError("problems", None, f'and {what} must be exact, such as "1/3", for an exact solution')
        exact = able if exact is None else exact
        given = tuple(problems) if exact else tuple(own.as_float() for own in problems)
        return cls(given, [own.exactly for own in given], conditions, exact)

    def solved(self, program: Program, mass: Array, spread: float, audiences: Sequence[Audience], tiers: bool) -> Pair:
        """The optimum, whose joint table is weighed with these masses; refuses conditions that cannot hold."""
        eves = tuple((o.name, -EXACT.one) for o in program.observers if o.name.startswith("eve "))
        ties = [Tie(None, eves), Tie(mass[:, None] * fixed_weights(program.cost.size, EXACT).reshape(program.shape))]
        even = [np.full(program.shape, 1 / program.shape[1])] if self.asked else []
        try:
            return optimise(program, ties, exact=self.exact, near=_SMALL_GAP * spread, simple=even)
        except Infeasible:
            raise _refusal(self, audiences, tiers) from None


def _refusal(read: ReadProblems, audiences: Sequence[Audience], tiers: bool) -> ConflictError:
    """Why the conditions cannot hold together: which of them, by the deletion filter, and the proof."""
    zeros = [EXACT.zero] * len(audiences)

    def program(some: Sequence[Audience]) -> Program:
        return (tier_program(some, zeros, zeros) if tiers else scenario_program(some, zeros)).silent

    demands = {(k, label): own for k, one in enumerate(read.asked) for label, own in one.demanded().items()}

    def impossible(some: list[tuple[int, str]]) -> bool:
        each = [Conditions.joined(demands[one] for one in some if one[0] == k) for k in range(len(audiences))]
        own = zip(audiences, demands_of_each(each, read.whole), strict=True)
        return not any_channel(program([replace(one, demands=asked) for one, asked in own]))

    labels = tuple(f"problems[{k}].{label}" for k, label in least_conflict([*demands], impossible))
    several = f"cannot be met together: {', '.join(labels)}"
    error = ConflictError(*(("conditions", None, several) if len(labels) > 1 else (labels[0], None, "cannot be met")))
    error.conflict, everything = labels, program(audiences)
    dual = unfeasible(everything)
    if dual is not None:
        one, zero, count = public(EXACT.one), public(EXACT.zero), len(read.given)
        proof = Certificate((zero,) * count, zero, zero, None, priced(everything, dual), read.exact, kind="conflict")
        proof = replace(proof, tier_weights=(one,) * count if tiers else (), conditions_of=read.asked)
        error.proof = proof if verify(read.given, proof) else None
    return error
