"""solve: the mechanism that minimises R_A = R_B - lam R_E over all mechanisms, with its proof.

Merge states that nobody can tell apart, solve the compact program in floats to a vertex, and, when the numbers are
exact, carry its basis to the rationals. The value reported is the risk recomputed from the published channel; the bound
is the dual function at Eve's replies u; their difference is the gap, zero in an exact solution.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.engines.driver import optimise
from bap_lp.engines.ties import joint_ties
from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import joint as joint_of
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.merging import class_sums
from bap_lp.program.bound import compact
from bap_lp.program.finish import Pair, on_simplex
from bap_lp.program.prior_set import PriorSet
from bap_lp.proof.certificate import Certificate, closed, ends_of, nearest, reported, settled
from bap_lp.questions.optimum.solution import Solution, channel_of, own_risks, published
from bap_lp.support.clock import SolveProgress, time_limited
from bap_lp.support.labels import joints
from bap_lp.support.rational import EXACT, TOLERANCE, Array, InputError, is_exact, public
from bap_lp.support.risks import Risks

if TYPE_CHECKING:
    from bap_lp.engines.state_blocks import BlockSolution

_SMALL_GAP = 1e-9  # of the spread of the problem: a gap that is not worth finer numbers
_LOG = logging.getLogger(__name__)


@overload
def solve(
    problem: Problem,
    lam: Any = ...,
    exact: bool | None = ...,
    formulation: str = ...,
    progress: SolveProgress | None = ...,
    conditions: Any = ...,
    client: Any = ...,
    time_limit: float | None = ...,
    priors: Any = ...,
) -> Solution: ...


@overload
def solve(
    problem: Iterable[Any],
    lam: Any,
    *,
    progress: SolveProgress | None = ...,
    client: Any = ...,
    time_limit: float | None = ...,
) -> BlockSolution: ...


def solve(
    problem: Problem | Iterable[Any],
    lam: Any = "calibrated",
    exact: bool | None = None,
    formulation: str = "compact",
    progress: SolveProgress | None = None,
    conditions: Any = None,
    client: Any = None,
    time_limit: float | None = None,
    priors: Any = None,
) -> Solution | BlockSolution:
    """Minimise R_A over all mechanisms, or over those that satisfy the conditions.

    Agents with a prior or harm of their own act on it, with ties broken for Alice. Then the obedience program is
    solved, with a signal for every tuple of decisions, whatever the formulation.

    Args:
        problem: the problem. Or, for more states than memory holds, a list of blocks (p, B, E) of arrays, with a row
            per state and a table E for every Eve, or of functions that return one; then lam must be a number, and
            progress, client and time_limit are the only options.
        lam: the weight of Eve's risk: a non-negative number, or "calibrated" (full and null release tie).
        exact: True insists on rationals, False works in floats, None follows the numbers given.
        formulation: "compact", or "paper" for the paper's own program.
        progress: called with (iteration, bound, value) while large problems are solved. An exception that it raises
            ends the computation and reaches the caller: that is how a service cancels.
        conditions: what the mechanism must satisfy: `Conditions`, or a table of their names.
        client: a Dask client, for a problem in blocks. Blocks of arrays are sent to its workers once, and again if a
            worker is lost; functions are called on the workers; futures of either are used as they are.
        time_limit: seconds after which the computation ends, looked at between its steps. A float solution is then the
            best certified pair so far: its gap says how far it may be from the optimum, and `method` says that it was
            stopped.
        priors: a set of priors whose worst case counts instead of the problem's own prior. Bob follows the signal, one
            published rule for all priors, and Eve knows the prior. (In `robust` the Bobs know it too, and decide
            differently in every scenario.) "calibrated" and conditions are about the problem's own prior.

    Returns:
        The optimal mechanism with its risks and its certificate. Of blocks: `value`, `bound`, `gap`, `u`, `states` and
        `rule`, whose `channel(B, E)` is that of any states; an interrupt, too, leaves the best answer so far.

    Raises:
        InputError: a number is not what it must be, the conditions cannot hold, or the program would not fit in memory.
        TimeoutError: the time is over before an exact optimum is found, or before any mechanism meets the conditions.

    >>> from bap_lp import Problem, solve
    >>> found = solve(Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]]))
    >>> print(found.value, found.gap, found.lam)
    3/40 0 1/3
    >>> found = solve([([0.75], [[1 / 3, 2 / 3]], [[0, 1]]), ([0.25], [[1, 0]], [[10, 0]])], lam=1 / 3)
    >>> print(round(found.value, 9), found.states, found.rule.channel([[1, 0]], [[10, 0]]).round(9))
    0.075 2 [[0.3 0.7]]
    """
    start = time.perf_counter()
    if not isinstance(problem, Problem):
        if exact or formulation != "compact" or conditions is not None or priors is not None:
            raise InputError("problem", None, "in blocks takes lam, progress, client and time_limit alone")
        from bap_lp.engines.state_blocks import solve_blocks  # with the workers of a cluster

        return solve_blocks(problem, lam, progress, client, time_limit)
    with time_limited(time_limit):
        price, given = lam_of(problem, lam), Conditions.of(conditions or {})
        if not isinstance(formulation, str) or formulation not in ("compact", "paper"):
            raise InputError("formulation", formulation, 'must be "compact" or "paper"')
        others = {
            "under conditions": not given.empty,
            "over a set of priors": priors is not None,
            "where probabilities are reported": problem.reporting,
        }
        if formulation == "paper" and any(others.values()):
            where = next(words for words, so in others.items() if so)
            raise InputError("formulation", formulation, f'must be "compact" {where}')
        if priors is not None:
            from bap_lp.questions.prior_sets import solve_over_priors

            found = solve_over_priors(problem, price, exact, given, PriorSet.of(priors), progress)
        elif problem.reporting or "max_information" in given.given():
            from bap_lp.questions.optimum.reported import solve_reported

            found = solve_reported(problem, price, exact, given)
        elif problem.misaligned or not given.empty:
            from bap_lp.questions.optimum.conditioned import solve_conditioned  # most problems have no conditions

            found = solve_conditioned(problem, price, exact, given, progress)
        else:
            found = _solve_free(problem, price, exact, formulation, progress)
    if _LOG.isEnabledFor(logging.INFO):
        _LOG.info(
            "%s: R_A %.9g, gap %.2g, %s, %.3f s",
            problem, float(found.value), float(found.gap), found.method, time.perf_counter() - start,
        )  # fmt: skip
    return found


def _solve_free(
    problem: Problem,
    price: Any,
    exact: bool | None,
    formulation: str,
    progress: SolveProgress | None,
) -> Solution:
    """The optimum over all mechanisms, of agents who share Alice's prior and count."""
    able = problem.exact and is_exact(price)
    exact = able if exact is None else exact
    if exact and not able:
        rule = 'is a float; an exact solution needs exact numbers such as "1/3" (see rationalised())'
        raise InputError("lam", public(price), rule) if problem.exact else InputError("problem", repr(problem), rule)
    if not exact:
        problem, price = problem.as_float(), float(price)
    arrays, index = problem.arrays.merged()
    best = free_optimum(arrays, price, progress)
    if formulation == "paper":
        return _paper(problem, price, arrays, index, best)
    return free_solution(problem, price, arrays, index, best)


def free_optimum(arrays: Arrays, price: Any, progress: SolveProgress | None = None) -> Pair:
    """The optimum of merged states over all mechanisms, exact if the numbers are; of several the most private one."""
    program, near = compact(arrays, price), 0.1 * TOLERANCE * float(arrays.spread(price))
    return optimise(program, joint_ties(arrays.B.shape), exact=arrays.exact, near=near, progress=progress)


def free_solution(problem: Problem, price: Any, arrays: Arrays, index: Array, best: Pair) -> Solution:
    """The solution of an optimal joint table on merged states."""
    q = channel_of(arrays, best.rho)
    mechanism, channel = published(problem, arrays, index, q, problem.bob_decisions)
    found, gap = _concluded(problem, price, mechanism, channel, best)
    if is_exact(channel) or not gap > _SMALL_GAP * problem.arrays.spread(price):
        return found
    # probabilities below 2^-52 matter here: the floats themselves, over their sums
    q = on_simplex(best.rho / arrays.p[:, None])
    mechanism, channel = published(problem, arrays, index, q, problem.bob_decisions)
    finer, less = _concluded(problem, price, mechanism, channel, best)
    return finer if less < gap else found


def _concluded(
    problem: Problem, price: Any, mechanism: Mechanism, channel: Array, best: Pair
) -> tuple[Solution, float]:
    """The solution with its certificate: value and bound in rationals, from the channel and the replies.

    And the gap between them, which may be less than floats near the value can state.
    """
    exact, at = problem.exact, public(price)
    dual = best.dual if exact else settled(problem, price, best.dual.replies["eve"])
    if exact:
        bob, eve = problem.arrays.risks(joint_of(problem, mechanism)[0])
        value, bound = bob - price * eve, best.bound
    else:
        bob, eve, value, bound = ends_of(problem, at, channel, dual)
    stated, least, gap = closed(value, bound, exact)
    risks = Risks.summed(bob, eve, 1) if exact else Risks.summed(float(bob), float(eve), 1)
    risks = risks if exact else own_risks(problem, mechanism, risks)
    certificate = Certificate((at,), stated, gap, channel, dual, exact, prior=problem.p)
    return Solution(
        problem, at, stated, mechanism, risks, least, gap, f"compact program, {best.how}", certificate
    ), nearest(value - bound)


def _paper(problem: Problem, price: Any, arrays: Arrays, index: Array, best: Pair) -> Solution:
    """The optimum of the paper's own program; pooled by Bob's decision it is one of the compact program."""
    from bap_lp.questions.optimum.conditioned import solve_paper

    joint, method = solve_paper(problem, arrays, price, best.rho)
    replies = joints([problem.eves[n].decisions or () for n, _ in problem.eve_views])
    names = tuple(joints([problem.bob_decisions, replies], " / "))
    mechanism, finer = published(problem, arrays, index, channel_of(arrays, joint), names)
    pooled = class_sums(finer.T, np.repeat(np.arange(arrays.B.shape[1]), len(replies)), arrays.B.shape[1]).T
    found, _ = _concluded(problem, price, mechanism, pooled, best)
    found = replace(found, method=method)
    exactly = problem.exactly.arrays
    rho = exactly.p[:, None] * EXACT.array(finer)
    told = exactly.told_risk(rho, np.repeat(np.arange(arrays.B.shape[1]), len(replies)))
    value = told - EXACT.number(price) * exactly.eve_risk(rho)
    if problem.exact:
        if value != EXACT.number(found.value):
            raise ArithmeticError(f"the exact optimum does not verify: value {value}, not {found.value}")
        return found
    # by rounding the signals may tell Eve more than the pooled ones of the proof
    value, _, gap = reported(value, EXACT.number(found.bound), False)
    return replace(found, value=value, gap=gap, certificate=replace(found.certificate, gap=gap))
