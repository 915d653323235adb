"""solve under conditions: lower the problem, find the optimum of its program, publish the channel with its proof."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bap_lp.clock import OutOfTime, SolveProgress
from bap_lp.engines.compact.components import solve_compact
from bap_lp.engines.solve import Infeasible
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Risks
from bap_lp.notions.beliefs import Obedience
from bap_lp.notions.conditions import Conditions
from bap_lp.program.finish import Pair
from bap_lp.proof.cases import Case
from bap_lp.proof.certificate import Certificate, reported
from bap_lp.proof.statement import Statement
from bap_lp.questions.optimum.asked import AskedProblem, numbers_of
from bap_lp.questions.optimum.conflicts import refusal, searched_refusal, within_range
from bap_lp.questions.optimum.search import NothingFound, searched
from bap_lp.questions.optimum.solution import Solution, mechanism_on
from bap_lp.rational import Array, tree_sum
from bap_lp.rational import stated as as_stated


def solve_conditioned(
    problem: Problem, lam: Any, exact: bool | None, conditions: Conditions, progress: SolveProgress | None = None
) -> Solution:
    """Minimise R_A over the mechanisms that satisfy the conditions."""
    problem, price, exact = numbers_of(problem, lam, exact, conditions)
    asked = AskedProblem.of(problem, conditions, exact)
    within_range(asked)
    found, cases, relaxed = best_channel(asked, price, progress=progress)
    best = conclude(asked, price, found, cases)
    if not conditions.empty:
        best = replace(best, without=partial(_free, asked.problem, price))
    return best if relaxed is found else replace(best, randomised=as_stated(relaxed.value, exact))


def _free(problem: Problem, lam: Any) -> Any:
    """R_A without conditions; in floats up to rounding."""
    if problem.misaligned:
        return as_stated(AskedProblem.of(problem, Conditions(), problem.exact).relaxed(lam).value, problem.exact)
    price = lam if problem.exact else float(lam)
    return as_stated(solve_compact(problem.arrays.merged()[0], price).bound, problem.exact)


def best_channel(
    asked: AskedProblem, lam: Any, bob_weight: int = 1, progress: SolveProgress | None = None
) -> tuple[Pair, Sequence[Case], Pair]:
    """The least bob_weight R_B - lam R_E under the conditions, cases that prove it, and the optimum with randomness.

    Refuses conditions that cannot hold.
    """
    try:
        relaxed = asked.relaxed(lam, bob_weight)
    except Infeasible:
        raise refusal(asked) from None
    except OutOfTime:
        stopped = None if asked.exact else asked.stopped(lam, bob_weight)
        if stopped is None:
            raise
        return stopped, (), stopped
    if not asked.deterministic and asked.most is None:
        return relaxed, (), relaxed
    try:
        found, cases = searched(asked, lam, relaxed, bob_weight, progress)
    except NothingFound as nothing:
        raise searched_refusal(asked, lam, bob_weight, nothing.cases) from None
    return found, cases, relaxed


def conclude(asked: AskedProblem, lam: Any, found: Pair, cases: Sequence[Case] = ()) -> Solution:
    """The solution of a pair on merged states, with its certificate on all states."""
    layout, exact = asked.layout, asked.exact
    rows, dual, value, least = found.rho, found.dual, found.value, found.bound
    if layout.merges or asked.conditions.combinatorial or least is None:
        rows = layout.rows(found.rho)
        program = layout.whole_program(lam)
        dual = asked.whole_dual(program, found.dual)
        value = program.value(rows)
        least = Statement(program, layout, asked.conditions, lam).bound(dual, cases, value)[0]
    else:
        program = layout.program(lam)
    if exact and not asked.conditions.combinatorial and value != least:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {least}")
    stated, bound, gap = reported(value, least, exact)
    at = as_stated(lam, exact)
    told_eves = layout.signals.eve is not None
    eve = layout.sent_whole(rows).eve_risk if told_eves else tree_sum(program.seen(rows)["eve"].ravel())
    told = value + lam * eve  # R_B of a Bob who decides what he is told
    risks = Risks.summed(told, eve, 1) if exact else Risks.summed(float(told), float(eve), 1)
    prior = asked.problem.p if exact else layout.whole.p
    certificate = Certificate((at,), stated, gap, rows, dual, exact, asked.conditions, tuple(cases), prior=prior)
    how = "obedience program" if asked.problem.misaligned else "compact program"
    how += f"{'' if asked.conditions.empty else ' under conditions'}, {found.how}"
    return Solution(asked.problem, at, stated, mechanism_of(asked, rows), risks, bound, gap, how, certificate)


def mechanism_of(asked: AskedProblem, rows: Array) -> Mechanism:
    """The mechanism that a channel on the problem's states is."""
    named = any(demand.name != Obedience.name for demand in asked.layout.demands)
    name = "optimum under conditions" if named else "optimum"
    return mechanism_on(rows, asked.layout.signals.names, asked.problem.states, name, asked.exact)
