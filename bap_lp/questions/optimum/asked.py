"""A problem under conditions, ready to be solved: lowered to rationals, with what chooses among several optima."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.engines.driver import optimise
from bap_lp.engines.ties import Tie, weights
from bap_lp.model.mechanism import degenerate
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Dual, Program
from bap_lp.program.finish import STOPPED, Pair, best_of, feasible, pair_of, priced
from bap_lp.program.lowering import LoweredProblem
from bap_lp.support.rational import EXACT, Array, InputError, floats, is_exact, objects, taken

_LEXICOGRAPHIC = 50  # bits of a map up to which maps are chosen in lexicographic order; beyond, by fixed weights
_SMALL_GAP = 1e-10  # of the spread of the problem: a gap that is not worth an exact solution


def exactly(problem: Problem, lam: Any, exact: bool | None, conditions: Conditions) -> bool:
    """Whether to work in rationals: as told, or as the numbers are; refuses rationals that are not there."""
    able = problem.exact and is_exact(lam) and conditions.exact
    if exact and not able:
        rule = 'must be exact, such as "1/3", for an exact solution'
        if problem.exact and is_exact(lam):
            rule += " (exp_epsilon, not epsilon, with whole distances)"
        raise InputError("conditions" if problem.exact and is_exact(lam) else "problem and lam", None, rule)
    return able if exact is None else exact


def numbers_of(problem: Problem, lam: Any, exact: bool | None, conditions: Conditions) -> tuple[Problem, Any, bool]:
    """The problem in the numbers of its answer, lam as it is computed with, and whether both are exact."""
    exact = exactly(problem, lam, exact, conditions)
    return problem if exact else problem.as_float(), taken(lam, exact), exact


@dataclass(frozen=True, eq=False)
class AskedProblem:
    """A problem under conditions, ready to be solved: as it was given, and lowered to rationals."""

    problem: Problem  # in floats, if the answer is to be
    conditions: Conditions
    layout: LoweredProblem
    exact: bool

    @classmethod
    def of(cls, problem: Problem, conditions: Conditions, exact: bool) -> AskedProblem:
        problem = problem if exact else problem.as_float()
        whole = problem.exactly
        return cls(problem, conditions, LoweredProblem.of(whole, conditions.demands(whole)), exact)

    def under(self, conditions: Conditions) -> AskedProblem:
        """The same problem under other conditions."""
        whole = self.layout.problem
        return replace(self, conditions=conditions, layout=LoweredProblem.of(whole, conditions.demands(whole)))

    @property
    def deterministic(self) -> bool:
        return self.layout.pure

    def weights(self) -> Array:
        """Of q[x,s], to choose among optima; without demands those of the joint table, as `solve` has them."""
        N, S = len(self.layout.arrays.p), len(self.layout.signals)
        if self.deterministic and N * math.log2(S) <= _LEXICOGRAPHIC:
            return objects(EXACT.number(S) ** (N - 1 - x) * s for x in range(N) for s in range(S)).reshape(N, S)
        fixed = weights(N * S, EXACT).reshape(N, S)
        return fixed if self.layout.demands else self.layout.arrays.p[:, None] * fixed

    def near(self, lam: Any, bob_weight: int = 1) -> float:
        """A gap that is small enough in floats."""
        bob, eve = self.layout.arrays.rounded.spreads
        return _SMALL_GAP * max(bob_weight * bob + float(lam) * eve, 0.0)

    def simple(self) -> list[Array]:
        """Channels that may leave room for all conditions, on merged states."""
        N, S = len(self.layout.arrays.p), len(self.layout.signals)
        return [] if self.layout.signals.eve is not None else [np.full((N, S), 1 / S)]

    def ties(self, bob_weight: int = 1) -> list[Tie]:
        """Of several optima the most private (or most useful), then the one with the least weight."""
        layout = self.layout
        if not bob_weight:
            first = Tie(layout.arrays.p[:, None] * layout.arrays.B[:, layout.signals.bob])
        elif layout.signals.eve is None:
            first = Tie(None, (("eve", -EXACT.one),))
        else:
            p, E = layout.arrays.p[:, None], layout.arrays.E
            first = Tie(-sum(p * E[:, layout.signals.eve[:, k]] for k in range(layout.signals.eve.shape[1])))
        return [first, Tie(self.weights())]

    def relaxed(self, lam: Any, bob_weight: int = 1) -> Pair:
        """The least bob_weight R_B - lam R_E with randomness and all signals; raises Infeasible."""
        program = self.layout.program(lam, bob_weight)
        ties, near = self.ties(bob_weight), self.near(lam, bob_weight)
        return optimise(program, ties, exact=self.exact, near=near, simple=self.simple())

    def on_floats(self, q: Array) -> Array:
        """A channel on merged states that floats hold and that meets the conditions, near this one; or this one."""
        program, near = self.layout.program(EXACT.zero, 0), floats(q)
        found = feasible(program, near, self.simple())
        return q if found is None else found

    def stopped(self, lam: Any, bob_weight: int = 1) -> Pair | None:
        """Null or full release with the bound that no prices prove, where the time is over; None if neither will do."""
        layout = self.layout
        if layout.signals.eve is not None:
            return None
        program, p, B = layout.program(lam, bob_weight), layout.arrays.p, layout.arrays.B
        own, null = [int(row.argmin()) for row in B], int(p.dot(B).argmin())
        maps = [degenerate(sent, len(layout.signals)) for sent in (own, [null] * len(B))]
        fitting = [q for q in maps if program.broken(q) is None]
        if not fitting:
            return None
        nothing = program.completed(Dual({}, {}))
        return best_of([pair_of(program, q, nothing, how=STOPPED) for q in fitting])

    def whole_dual(self, program: Program, dual: Dual) -> Dual:
        """Multipliers of merged states for the program on all states."""
        return priced(program, program.completed(self.layout.expanded(dual)))
