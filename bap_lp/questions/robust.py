"""One mechanism for several scenarios: minimise the largest R_A^k over k = 1..K (`program.several` has the program).

The weights of the worst rows are those of a least favourable mixture of scenarios.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.conditions.given import demands_of_each
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.program.several import scenario_audiences, scenario_program, scenarios_of
from bap_lp.proof.certificate import Certificate, closed
from bap_lp.questions.optimum.several_problems import ReadProblems, SeveralSolution
from bap_lp.questions.optimum.solution import mechanism_on, obedient
from bap_lp.support.display import Displayed, counted, equals, fraction, kind
from bap_lp.support.rational import EXACT, InputError, floats, public, stated, taken
from bap_lp.support.risks import Number, Risks

_MOST_ENTRIES = 200_000


@dataclass(frozen=True, eq=False, repr=False)
class RobustSolution(SeveralSolution):
    """The mechanism with the smallest worst case; `risks[k]` under scenario k, `weights` a least favourable mixture."""

    mechanism: Mechanism

    def _lines(self) -> Iterator[str]:
        worst, signals = equals("worst R_A", self.value, fraction), counted(len(self.mechanism.signals), "signal")
        yield f"{kind(self.exact)}, {counted(len(self.lams), 'scenario')}, {worst}, {signals}"
        yield f"The least favourable mixture of scenarios: {', '.join(map(fraction, self.weights))}."
        yield self._proved("no mechanism has a smaller worst R_A")

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The scenarios."""
        parts = zip(self.lams, self.weights, self.risks, strict=True)
        return [
            {"scenario": k, "lambda": lam, "weight": weight, "R_B": own.bob, "R_E": own.eve, "R_A": own.alice(lam)}
            for k, (lam, weight, own) in list(enumerate(parts))[:most]
        ]


@dataclass(frozen=True, repr=False)
class WorstCase(Displayed):
    """A mechanism under all scenarios: R_A in each, the largest of them and where it occurs."""

    mechanism: Mechanism
    worst: Number
    scenario: int
    values: tuple[Number, ...]
    risks: tuple[Risks, ...]


def robust(
    problems: Sequence[Problem], lams: Any = "calibrated", exact: bool | None = None, conditions: Any = None
) -> RobustSolution:
    """Minimise the largest R_A over several scenarios: problems with the same states and their own priors and losses.

    Every scenario's Bob knows it and decides what is best for him there. For one rule that Bob follows whatever the
    prior is, and for balls and boxes of priors, use `solve(problem, lam, priors=...)`.

    Args:
        problems: the scenarios.
        lams: one lam for all scenarios, or one for each; "calibrated" is calibrated scenario by scenario.
        exact: True insists on rationals, False works in floats, None follows the numbers given.
        conditions: what the mechanism must satisfy in every scenario, or a list with one for each.

    Returns:
        The mechanism with the smallest worst case, the least favourable mixture of scenarios and a certificate.

    Raises:
        InputError: there is no scenario, their states differ, a lam is negative, the program would be too large, exact
            numbers are demanded and not given, or the conditions cannot hold (ConflictError, with its proof).

    >>> from bap_lp import Problem, robust
    >>> bob = [["1/3", "2/3"], [1, 0]]
    >>> coins = [Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (4, 10)]
    >>> best = robust(coins, "1/3")
    >>> print(best.value, best.gap, *best.weights)
    3/16 0 1 0
    >>> print(robust(coins, "1/3", conditions={"exp_epsilon": 3}).value)
    7/36
    """
    given, prices = scenarios_of(problems, lams)
    read = ReadProblems.of(given, prices, "lams", exact, conditions)
    given, whole, asked, exact = read.given, read.whole, read.asked, read.exact
    at = [taken(lam, exact) for lam in prices]
    audiences = scenario_audiences(whole, demands_of_each(asked, whole))
    live = np.any([s.p > 0 for s in whole], axis=0) | bool(asked)
    profiles, names = np.array([one.signals.bob for one in audiences]).T, audiences[0].signals.names
    if int(live.sum()) * len(profiles) > _MOST_ENTRIES:
        size = f"{int(live.sum())} x {len(profiles)}"
        raise InputError("problems", None, f"need {size} probabilities (states x profiles), more than {_MOST_ENTRIES}")
    program = scenario_program([replace(one, arrays=one.arrays.states(live)) for one in audiences], at)
    spread = max(float(s.arrays.spread(lam)) for s, lam in zip(whole, at, strict=True))
    mean = sum((s.p[live] for s in whole[1:]), start=whole[0].p[live]) / len(whole)
    found = read.solved(program, mean, spread, audiences, False)
    q = obedient([s.arrays.states(live) for s in whole], profiles, found.rho)
    rows = EXACT.zeros((len(live), len(profiles)))
    rows[live], rows[~live] = q, whole[0].p[live].dot(q)
    value, bound = program.value(q), program.bound(found.dual)
    worst, least, gap = closed(value, bound, exact)
    mechanism = mechanism_on(rows, names, given[0].states, "smallest worst case", exact)
    mixture = found.dual.weights["scenarios"]
    shared = tuple(stated(lam, exact) for lam in at)
    weights, risks = public(mixture if exact else floats(mixture)).tolist(), [risks_of(s, mechanism) for s in given]
    proof = Certificate(
        shared, worst, gap, rows, found.dual, exact, kind="scenarios", prior=whole[0].p, conditions_of=asked
    )
    how = f"worst-case program, {found.how}"
    return RobustSolution(given, shared, tuple(weights), worst, tuple(risks), least, gap, how, proof, mechanism)


def rank_worst_case(
    problems: Sequence[Problem], mechanisms: Sequence[Mechanism], lams: Any = "calibrated"
) -> tuple[WorstCase, ...]:
    """Mechanisms by their largest R_A over the scenarios, the best first.

    Args:
        problems: the scenarios.
        mechanisms: channels on the states of the scenarios.
        lams: one lam for all scenarios, or one for each; "calibrated" is calibrated scenario by scenario.

    Returns:
        One row per mechanism: its R_A in each scenario, the largest of them and where it occurs.

    Raises:
        InputError: there is no scenario, their states differ, a lam is negative, or a mechanism has other states.

    >>> from bap_lp import Problem, rank_worst_case, releases
    >>> bob = [["1/3", "2/3"], [1, 0]]
    >>> coins = [Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (4, 10)]
    >>> ranked = rank_worst_case(coins, [releases.full(coins[0]), releases.null(coins[0])], lams="1/2")
    >>> [(row.mechanism.name, str(row.worst), row.scenario) for row in ranked]
    [('null', '1/8', 0), ('full', '1/4', 0)]
    """
    scenarios, prices = scenarios_of(problems, lams)
    out = []
    for mechanism in mechanisms:
        found = tuple(risks_of(s, mechanism) for s in scenarios)
        values = tuple(r.alice(public(lam)) for r, lam in zip(found, prices, strict=True))
        worst = max(values)
        out.append(WorstCase(mechanism, worst, values.index(worst), values, found))
    return tuple(sorted(out, key=lambda row: row.worst))
