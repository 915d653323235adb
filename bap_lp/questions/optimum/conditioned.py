"""solve under conditions: lower the problem, find the optimum of its program, publish the channel with its proof.

What each condition costs is R_A with it minus R_A without it, the others kept. A shadow price is the rate at which R_A
falls as the number of a demand is relaxed, read off the multipliers: the bound they prove holds at other numbers too,
and its slope is the price. Where R_A has a kink in the number, the slopes on the two sides differ, and the price lies
between them if the optimal mechanism or the multipliers are unique. Under determinism R_A jumps, and
there are no shadow prices.

The paper's program has a signal for every tuple of recommended decisions, (i, j) with one Eve:

    min  sum (B(x,i) - lam E(x,j)) rho[i,j,x]
    s.t. sum_ij rho[i,j,x] = p(x);  sum_x (B(x,i) - B(x,i')) rho[i,j,x] <= 0;  sum_x (E(x,j) - E(x,j')) rho[i,j,x] <= 0.

It is the reference formulation, and a lowering of its own: signals are tuples of decisions, and the obedience rows are
those of a margin of zero. Every one of them has right-hand side zero, so on badly scaled data the exact walk from a
wrong basis can be very long. Then the compact optimum rho is lifted: signal i with Eve's best reply to it is obeyed by
both, hence feasible, and its value is the bound that the certificate proves for all mechanisms, hence optimal here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.conditions.obedience import Margin, Obedience
from bap_lp.conditions.table import TABLE
from bap_lp.engines.driver import Infeasible
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.linear_optimum import LongWalk, optimum
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.program.bound import Program
from bap_lp.program.finish import Pair
from bap_lp.program.lowering import lowered, signals_of
from bap_lp.proof.cases import Case
from bap_lp.proof.certificate import Certificate, closed, reported
from bap_lp.proof.statement import Statement, release_statement
from bap_lp.questions.optimum.asked import AskedProblem, numbers_of
from bap_lp.questions.optimum.conflicts import refusal, searched_refusal, within_range
from bap_lp.questions.optimum.search import NothingFound, searched
from bap_lp.questions.optimum.solution import Solution, mechanism_on, obedient, own_risks
from bap_lp.questions.optimum.solving import free_optimum, solve
from bap_lp.support.clock import OutOfTime, SolveProgress
from bap_lp.support.display import Displayed, both, equals
from bap_lp.support.rational import EXACT, Array, stated, tree_sum
from bap_lp.support.rational import stated as as_stated
from bap_lp.support.risks import Number, Risks


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
    return best if relaxed is found else replace(best, randomised=reported(relaxed.value, relaxed.value, exact)[0])


def _free(problem: Problem, lam: Any) -> Any:
    """R_A without conditions; in floats up to rounding."""
    if problem.misaligned:
        return as_stated(AskedProblem.of(problem, Conditions(), problem.exact).relaxed(lam).value, problem.exact)
    price = lam if problem.exact else float(lam)
    return as_stated(free_optimum(problem.arrays.merged()[0], price).bound, problem.exact)


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
    if not asked.deterministic:
        return relaxed, (), relaxed
    try:
        found, cases = searched(asked, lam, relaxed, bob_weight, progress)
    except NothingFound as nothing:
        raise searched_refusal(asked, lam, bob_weight, nothing.cases) from None
    return found, cases, relaxed


def conclude(asked: AskedProblem, lam: Any, found: Pair, cases: Sequence[Case] = ()) -> Solution:
    """The solution of a pair on merged states, with its certificate on all states."""
    layout, exact = asked.layout, asked.exact
    rows, dual, value, least, program = found.rho, found.dual, found.value, found.bound, layout.program(lam)
    if not exact and layout.signals.eve is None:  # up to rounding the optimum is so already
        rows = obedient([layout.arrays], layout.signals.bob[:, None], rows)
        value = value if rows is found.rho else program.value(rows)
    whole = asked.conditions.deterministic or least is None
    if layout.merges or whole:  # merged states have the value and the bound of their members
        rows, program = layout.rows(rows), layout.whole_program(lam)
        dual = asked.whole_dual(program, found.dual)
    if whole:
        value = program.value(rows)
        least = Statement(program, layout, asked.conditions, lam).bound(dual, cases, value)[0]
    stated, bound, gap = (reported if asked.conditions.deterministic else closed)(value, least, exact)
    at = as_stated(lam, exact)
    told_eves = layout.signals.eve is not None
    eve = layout.sent_whole(rows).eve_risk if told_eves else tree_sum(program.seen(rows)["eve"].ravel())
    told = value + lam * eve  # R_B of a Bob who decides what he is told
    risks = Risks.summed(told, eve, 1) if exact else Risks.summed(float(told), float(eve), 1)
    prior = asked.problem.p if exact else layout.whole.p
    certificate = Certificate((at,), stated, gap, rows, dual, exact, asked.conditions, tuple(cases), prior=prior)
    mechanism = mechanism_of(asked, rows)
    if asked.problem.misaligned:  # at lam = 0 an Eve may be told a decision that is as good to her, and not to Alice
        risks = own_risks(asked.problem, mechanism, risks)
    how = "obedience program" if asked.problem.misaligned else "compact program"
    how += f"{'' if asked.conditions.empty else ' under conditions'}, {found.how}"
    return Solution(asked.problem, at, stated, mechanism, risks, bound, gap, how, certificate)


def mechanism_of(asked: AskedProblem, rows: Array) -> Mechanism:
    """The mechanism that a channel on the problem's states is."""
    named = any(demand.name != Obedience.name for demand in asked.layout.demands)
    name = "optimum under conditions" if named else "optimum"
    return mechanism_on(rows, asked.layout.signals.names, asked.problem.states, name, asked.exact)


@dataclass(frozen=True, repr=False)
class ConditionCost(Displayed):
    """A condition by its name, what it costs in R_A, and the shadow prices of its numbers by their labels."""

    name: str
    cost: Number
    shadow_prices: Mapping[str, Number]

    def _lines(self) -> Iterator[str]:
        prices = [f"{both(price)} per unit of {label}" for label, price in self.shadow_prices.items() if price]
        own = f", shadow price {', '.join(prices)}" if prices else ""
        yield f"{self.name}: {equals('cost', self.cost)}{own}"


def shadow_prices(solution: Solution) -> dict[str, dict[str, Number]]:
    """The shadow prices of every condition's numbers, by condition and label; none if the conditions are not convex."""
    certificate = solution.certificate
    problem = solution.problem.exactly
    if certificate.reports:
        problem = problem.reported(certificate.reports)
    layout = release_statement(problem, EXACT.zero, certificate.conditions).layout
    if layout is None or certificate.conditions.deterministic or certificate.channel is None:
        return {}
    sent = layout.sent_whole(certificate.channel)
    found = {d.name: d.shadow(certificate.dual, sent) for d in layout.demands}
    return {name: {label: stated(v, solution.exact) for label, v in own.items()} for name, own in found.items()}


def condition_costs(solution: Solution) -> tuple[ConditionCost, ...]:
    """What `Solution.costs` returns."""
    given = solution.certificate.conditions
    if given.empty and not solution.problem.misaligned:
        return ()
    prices = shadow_prices(solution) if solution.priors is None else {}
    demanded = {demand.name for demand in given.demands(solution.problem.exactly)}
    demanded -= {Obedience.name} if given.margin is None else set()  # it is demanded only if it must hold with a margin
    stated = [kind for kind in TABLE.values() if kind.name in demanded]
    out = []
    for kind in stated:
        kept = {name: value for name, value in given.given().items() if name not in kind.fields()}
        rest = Conditions(**kept)
        if len(stated) == 1 and solution.unconstrained is not None:
            without = solution.unconstrained
        else:
            problem, lam, priors = solution.problem, solution.lam, solution.priors
            without = solve(problem, lam, solution.exact, conditions=rest, priors=priors).value
        name = "margin" if kind is Obedience else kind.name
        out.append(ConditionCost(name, solution.value - without, prices.get(kind.name, {})))
    return tuple(out)


_STEPS = 20  # exact repairs before the compact optimum is lifted


def paper_program(problem: Problem, lam: Any, arrays: Arrays | None = None) -> Program:
    """The program in the channel's own variables, on the states of an exact problem or on merged ones."""
    demands: list[Any] = [Margin.obeyed(EXACT.zero, problem)]
    return lowered(problem.arrays if arrays is None else arrays, signals_of(problem, True), demands, lam)


def solve_paper(problem: Problem, arrays: Arrays, lam: Any, rho: Array) -> tuple[Array, str]:
    """The joint table on merged states, states x tuples, and how it was found; rho is the compact optimum."""
    exact = problem.exactly
    program = paper_program(exact, EXACT.number(lam), arrays.lifted())
    form = LinearForm.of(program if problem.exact else program.rounded)
    try:
        found = optimum(form.lp, limit=_STEPS)
        return arrays.p[:, None] * found.z[form.rho], f"paper's program, {found.how}"
    except LongWalk:
        joint = arrays.field.zeros((len(rho), rho.shape[1], program.shape[1] // rho.shape[1]))
        losses = signal_losses(rho, arrays.E)
        best = np.zeros(len(losses), dtype=int)
        for g in arrays.groups:
            best = best * (g.stop - g.start) + losses[:, g].argmin(axis=1)
        joint[:, np.arange(rho.shape[1]), best] = rho
        return joint.reshape(len(rho), -1), "paper's program, its optimum lifted from the compact program's"
