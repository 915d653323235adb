"""solve under conditions: lay out the program, find its optimum, and publish the channel with its proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bap_lp.clock import OutOfTime
from bap_lp.conditions.conditions import Conditions
from bap_lp.conditions.lagrangian import SentSignals
from bap_lp.conditions.obedience import Obedience
from bap_lp.linear.optimum import Infeasible
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism, without_unused
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Risks
from bap_lp.programs.attainable import refusal, within_range
from bap_lp.programs.branch_and_bound import NothingFound, combinatorial
from bap_lp.programs.compact import SolveProgress
from bap_lp.programs.components import solve_compact
from bap_lp.programs.constrained import ChannelLayout, ChannelOptimum, ChannelProgram
from bap_lp.programs.searched_conflicts import searched_refusal
from bap_lp.programs.solution import Solution
from bap_lp.proof.branches import Branch
from bap_lp.proof.certificate import Certificate
from bap_lp.proof.conditional import Proof
from bap_lp.rational import Array, InputError, is_exact, public


def exactly(problem: Problem, lam: Any, exact: bool | None, conditions: Conditions) -> bool:
    """Whether to work in rationals: as told, or as the numbers are; refuses rationals that are not there."""
    able = problem.exact and is_exact(lam) and conditions.exact
    if exact and not able:
        rule = 'must be exact, such as "1/3", for an exact solution'
        if problem.exact and is_exact(lam):
            rule += " (exp_epsilon, not epsilon, with whole distances)"
        raise InputError("conditions" if problem.exact and is_exact(lam) else "problem and lam", None, rule)
    return able if exact is None else exact


def solve_conditioned(
    problem: Problem, lam: Any, exact: bool | None, conditions: Conditions, progress: SolveProgress | None = None
) -> Solution:
    """Minimise R_A over the mechanisms that satisfy the conditions."""
    if not exactly(problem, lam, exact, conditions):
        problem, lam = problem.as_float(), float(lam)
    layout = ChannelLayout.of(problem, conditions)
    within_range(layout, conditions)
    found, bound, branches, relaxed = best_channel(layout, lam, conditions, progress=progress)
    best = conclude(layout, lam, conditions, found, bound, branches)
    if not conditions.empty:
        best = replace(best, unconstrained=public(_free(problem, lam)))
    if relaxed is found:
        return best
    return replace(best, randomised=conclude(layout, lam, conditions, relaxed).value)


def _free(problem: Problem, lam: Any) -> Any:
    """A bound on R_A without conditions."""
    if problem.misaligned:
        layout = ChannelLayout.of(problem, Conditions()).lowered
        return layout.restored(ChannelProgram(layout, lam).solve().bound, lam)
    return solve_compact(problem.arrays.merged()[0], lam).bound


def best_channel(
    layout: ChannelLayout,
    lam: Any,
    conditions: Conditions,
    bob_weight: int = 1,
    progress: SolveProgress | None = None,
) -> tuple[ChannelOptimum, Any, Sequence[Branch], ChannelOptimum]:
    """The least bob_weight R_B - lam R_E under the conditions, a bound, its branches, and the optimum with randomness.

    Refuses conditions that cannot hold.
    """
    low = layout.lowered

    def restored(found: ChannelOptimum) -> ChannelOptimum:
        return replace(found, bound=low.restored(found.bound, lam, bob_weight))

    program = ChannelProgram(low, lam, bob_weight)
    try:
        relaxed = program.solve()
    except Infeasible:
        raise refusal(layout, conditions) from None
    except OutOfTime:
        simple = None if layout.arrays.exact else program.simple()
        if simple is None:
            raise
        simple = restored(simple)
        return simple, simple.bound, (), simple
    if not layout.deterministic and layout.most is None:
        relaxed = restored(relaxed)
        return relaxed, relaxed.bound, (), relaxed
    try:
        found, bound, branches = combinatorial(low, lam, relaxed, bob_weight, progress)
    except NothingFound as nothing:
        raise searched_refusal(layout, conditions, lam, bob_weight, nothing.branches) from None
    return restored(found), low.restored(bound, lam, bob_weight), branches, restored(relaxed)


def conclude(
    layout: ChannelLayout,
    lam: Any,
    conditions: Conditions,
    found: ChannelOptimum,
    bound: Any = None,
    branches: Sequence[Branch] = (),
) -> Solution:
    """The solution of the channel found, proved by its multipliers or, if given, by a higher bound."""
    problem, at = layout.problem, public(lam)
    rows = layout.rows(layout.obedient(found.q))
    mechanism = mechanism_of(layout, rows)
    # float agents who are nearly indifferent may seem so: then what they are told counts
    told = problem.misaligned and not problem.exact
    sent = SentSignals(problem.arrays, layout.signals, rows)
    risks = Risks.summed(sent.told_risk, sent.eve_risk, len(rows)) if told else risks_of(problem, mechanism)
    value = risks.alice(at)
    least = public(found.bound if bound is None else max(found.bound, bound))
    if problem.exact and not conditions.combinatorial and value != least:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {least}")
    proof = Proof(conditions, rows, found.dual.prices, tuple(branches))
    certificate = Certificate(at, value, problem.p[:, None] * rows, found.dual.u, proof)
    how = "obedience program" if problem.misaligned else "compact program"
    how += f"{'' if conditions.empty else ' under conditions'}, {found.how}"
    return Solution(problem, at, value, mechanism, risks, least, value - least, how, certificate)


def mechanism_of(layout: ChannelLayout, rows: Array) -> Mechanism:
    """The channel on the problem's states without the signals that are never sent."""
    shown, signals = without_unused(rows, layout.signals.names)
    asked = any(demand.name != Obedience.name for demand in layout.demands)
    name = "optimum under conditions" if asked else "optimum"
    return Mechanism(shown, signals=signals, states=layout.problem.states, name=name)
