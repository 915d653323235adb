"""What each condition costs: R_A with it minus R_A without it, the others kept; and the shadow prices of its numbers.

A shadow price is the rate at which R_A falls as the number of a demand is relaxed, read off the multipliers: the bound
they prove holds at other numbers too, and its slope is the price. Where R_A has a kink in the number, the slopes on the
two sides differ, and the price lies between them if the optimal mechanism or the multipliers are unique. Under
determinism or max_signals R_A jumps, and there are no shadow prices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from bap_lp.arguments import checked
from bap_lp.model.display import Displayed, equals, fraction
from bap_lp.model.risks import Number
from bap_lp.notions.beliefs import Obedience
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.table import TABLE
from bap_lp.program.forecasts import ToldProblem
from bap_lp.proof.statement import release_statement
from bap_lp.questions.optimum.solution import Solution
from bap_lp.questions.optimum.solving import solve
from bap_lp.rational import EXACT, stated


@dataclass(frozen=True, repr=False)
class ConditionCost(Displayed):
    """A condition by its name, what it costs in R_A, and the shadow prices of its numbers by their labels."""

    name: str
    cost: Number
    shadow_prices: Mapping[str, Number]

    def _headline(self) -> str:
        return f": {self.name}, {equals('cost', self.cost, fraction)}"


def shadow_prices(solution: Solution) -> dict[str, dict[str, Number]]:
    """The shadow prices of every condition's numbers, by condition and label; none if the conditions are not convex."""
    certificate = solution.certificate
    problem = solution.problem.exactly
    if problem.forecasting:
        problem = ToldProblem.of(problem, certificate.splits).finite
    if certificate.reports:
        problem = problem.reported(certificate.reports)
    layout = release_statement(problem, EXACT.zero, certificate.conditions).layout
    if layout is None or certificate.conditions.combinatorial or certificate.channel is None:
        return {}
    sent = layout.sent_whole(certificate.channel)
    found = {d.name: d.shadow(certificate.dual, sent) for d in layout.demands}
    return {name: {label: stated(v, solution.exact) for label, v in own.items()} for name, own in found.items()}


@checked
def condition_costs(solution: Solution) -> tuple[ConditionCost, ...]:
    """What each condition of a solution costs, with its shadow prices.

    Args:
        solution: an optimum under conditions.

    Returns:
        One entry per condition, in the order of the table; none if there are no conditions. A condition among several
        may cost nothing alone, because the others imply it.

    >>> from bap_lp import Conditions, Problem, condition_costs, solve
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]],
    ...                states=["heads", "tails"])
    >>> cap = Conditions(posterior_caps=[{"event": ["heads"], "at_most": "9/10"}])
    >>> [found] = condition_costs(solve(coin, 0, conditions=cap))
    >>> print(found.name, found.cost, dict(found.shadow_prices))
    posterior_caps 1/12 {'posterior_caps[0].at_most': Fraction(25, 27)}
    """
    given = solution.certificate.conditions
    if given.empty and not solution.problem.misaligned:
        return ()
    prices = shadow_prices(solution) if solution.priors is None else {}
    stated = [kind for kind in TABLE.values() if kind.name in _stated(solution, given)]
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


def _stated(solution: Solution, given: Conditions) -> set[str]:
    """The notions that are demanded; obedience is one only if it must hold with a margin."""
    found = {demand.name for demand in given.demands(solution.problem.exactly)}
    return found if given.margin is not None else found - {Obedience.name}
