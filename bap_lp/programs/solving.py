"""solve: the mechanism that minimises R_A = R_B - lam R_E over all mechanisms, with its proof.

Merge states that nobody can tell apart, solve the compact program in floats to a vertex, and, when the numbers are
exact, carry its basis to the rationals. The value reported is the risk recomputed from the published channel; the bound
is the dual function at Eve's replies u; their difference is the gap, zero in an exact solution.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from bap_lp.conditions.conditions import Conditions
from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.merging import class_sums
from bap_lp.model.problem import Problem
from bap_lp.programs.compact import SolveProgress, normalised, solve_compact
from bap_lp.programs.conditioned import solve_conditioned
from bap_lp.programs.paper import solve_paper
from bap_lp.programs.solution import Solution, on_states, published
from bap_lp.proof.certificate import Certificate
from bap_lp.rational import InputError, is_exact, public


def solve(
    problem: Problem,
    lam: Any = "calibrated",
    exact: bool | None = None,
    formulation: str = "compact",
    progress: SolveProgress | None = None,
    conditions: Conditions | None = None,
    workers: int | None = None,
    client: Any = None,
) -> Solution:
    """Minimise R_A over all mechanisms, or over those that satisfy the conditions.

    lam: a non-negative number, or "calibrated" (full and null release tie). exact: True insists on rationals, False
    works in floats, None follows the numbers given. formulation: "compact", or "paper" for the paper's own program.
    Agents with a prior or harm of their own act on it, ties for Alice: then the obedience program is solved, a signal
    for every tuple of decisions, whatever the formulation.
    workers, client: processes, or a Dask client, for a problem that splits into components; None: this process.
    """
    price = lam_of(problem, lam)
    if formulation not in ("compact", "paper"):
        raise InputError("formulation", formulation, 'must be "compact" or "paper"')
    if problem.misaligned or (conditions is not None and not conditions.empty):
        conditions = conditions or Conditions()
        if formulation != "compact" and not conditions.empty:
            raise InputError("formulation", formulation, 'must be "compact" under conditions')
        return solve_conditioned(problem, price, exact, conditions)
    if exact is None:
        exact = problem.exact and is_exact(price)
    if exact and not (problem.exact and is_exact(price)):
        rule = 'is a float; an exact solution needs exact numbers such as "1/3" (see rationalised())'
        raise InputError("lam", public(price), rule) if problem.exact else InputError("problem", repr(problem), rule)
    if not exact:
        problem, price = problem.as_float(), float(price)
    arrays, index = problem.arrays.merged()
    best = solve_compact(arrays, price, progress, workers, client)
    rho, joint, names, method = best.rho, best.rho, problem.bob_decisions, best.how
    if formulation == "paper":
        joint, method = solve_paper(arrays, price, rho)
        joint = joint if exact else normalised(joint, arrays)
        replies = [", ".join(d) for d in product(*(problem.eves[n].decisions or () for n, _ in problem.eve_views))]
        names = tuple(f"{i} / {j}" for i in names for j in replies)
        rho = class_sums(joint.T, np.repeat(np.arange(rho.shape[1]), len(replies)), rho.shape[1]).T
    mechanism = published(problem, arrays, index, joint, names)
    risks, at, bound = risks_of(problem, mechanism), public(price), public(best.bound)
    value = risks.alice(at)
    if exact and value != bound:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {bound}")
    certificate = Certificate(at, value, on_states(problem, arrays, index, rho), best.u)
    return Solution(problem, at, value, mechanism, risks, bound, value - bound, method, certificate)
