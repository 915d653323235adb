"""solve: the mechanism that minimises R_A = R_B - lam R_E over all mechanisms, with its proof.

Merge states that nobody can tell apart, solve the compact program in floats to a vertex, and, when the numbers are
exact, carry its basis to the rationals. The value reported is the risk recomputed from the published channel; the bound
is the dual function at Eve's replies u; their difference is the gap, zero in an exact solution.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.conditions.conditions import Conditions
from bap_lp.linear import program
from bap_lp.linear.exact import LongWalk, optimise
from bap_lp.linear.highs import solve_lp
from bap_lp.model.calibration import lam_of
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.evaluation import signal_losses
from bap_lp.model.labels import labels
from bap_lp.model.mechanism import Mechanism, without_unused
from bap_lp.model.merging import class_sums
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number, Risks
from bap_lp.programs.compact import Data, Progress, merge, normalised, solve_exact, solve_float
from bap_lp.proof.certificate import Certificate
from bap_lp.rational import Array, InputError, floats, is_exact, public, zeros

_PAPER_STEPS = 20


@dataclass(frozen=True)
class Solution:
    """An optimal mechanism at lam. `gap` is value - bound: 0 if exact, certified and tiny if not."""

    problem: Problem
    lam: Number
    value: Number
    mechanism: Mechanism
    risks: Risks
    bound: Number
    gap: Number
    method: str
    certificate: Certificate
    unconstrained: Number | None = None
    randomised: Number | None = None

    @property
    def exact(self) -> bool:
        return self.certificate.exact

    @property
    def price_of_conditions(self) -> Number | None:
        """What the conditions cost: value minus the optimum without them; None if there are none."""
        return None if self.unconstrained is None else self.value - self.unconstrained

    @property
    def price_of_determinism(self) -> Number | None:
        """What determinism (or the limit on signals) costs: value minus the optimum under the other conditions."""
        return None if self.randomised is None else self.value - self.randomised


def solve(
    problem: Problem,
    lam: Any = "calibrated",
    exact: bool | None = None,
    formulation: str = "compact",
    progress: Progress | None = None,
    conditions: Conditions | None = None,
) -> Solution:
    """Minimise R_A over all mechanisms, or over those that satisfy the conditions.

    lam: a non-negative number, or "calibrated" (full and null release tie). exact: True insists on rationals, False
    works in floats, None follows the numbers given. formulation: "compact", or "paper" for the paper's own program.
    """
    price = lam_of(problem, lam)
    if conditions is not None and not conditions.empty:
        from bap_lp.programs.conditioned import solve_conditioned

        if formulation != "compact":
            raise InputError("formulation", formulation, 'must be "compact" under conditions')
        return solve_conditioned(problem, price, exact, conditions)
    if exact is None:
        exact = problem.exact and is_exact(price)
    if exact and not (problem.exact and is_exact(price)):
        rule = 'is a float; an exact solution needs exact numbers such as "1/3" (see rationalised())'
        raise InputError("lam", public(price), rule) if problem.exact else InputError("problem", repr(problem), rule)
    if formulation not in ("compact", "paper"):
        raise InputError("formulation", formulation, 'must be "compact" or "paper"')
    if not exact:
        problem_used, price = problem.as_float(), float(price)
    else:
        problem_used = problem
    data = merge(problem_used)
    rho, u, bound, method = solve_exact(data, price, progress) if exact else solve_float(data, price, progress)
    joint, names = rho, problem.bob_decisions
    if formulation == "paper":
        joint, pairs, method = _solve_paper(problem_used, data, price, rho)
        e = len(pairs) // len(names)
        names = tuple(f"{names[k // e]} / {pairs[k]}" for k in range(len(pairs)))
        rho = class_sums(joint.T, np.repeat(np.arange(rho.shape[1]), e), rho.shape[1]).T
    return _conclude(problem_used, data, price, rho, u, bound, joint, names, method)


def _solve_paper(problem: Problem, data: Data, lam: Any, rho: Array) -> tuple[Array, tuple[str, ...], str]:
    """The joint table of the paper's program: states x (Bob's decision, all Eves' decisions).

    Every obedience row has right-hand side zero, so on badly scaled data the walk from a wrong basis can be very long.
    Then the compact optimum rho is lifted: signal i with Eve's best reply to it is obeyed by both, hence feasible, and
    its value is the bound that the certificate proves for all mechanisms, hence optimal here too.
    """
    E = data.E[:, data.groups[0]]
    names: list[tuple[str, ...]] = [(d,) for d in problem.eves[0].decisions or ()]
    for g, eve in zip(data.groups[1:], problem.eves[1:], strict=True):
        E = (E[:, :, None] + data.E[:, None, g]).reshape(len(E), -1)
        names = [(*n, d) for n in names for d in eve.decisions or ()]
    lp = program.paper(data.p, data.B, E, lam)
    scaled = program.paper(floats(data.p) * len(data.p), floats(data.B), floats(E), float(lam))
    vertex = solve_lp(scaled)
    pairs = tuple(", ".join(n) for n in names) * data.B.shape[1]
    if not data.exact:
        joint = vertex.z.reshape(len(data.p), -1) / len(data.p)
        return normalised(joint, data), pairs, "paper's program, HiGHS simplex"
    try:
        optimum = optimise(lp, vertex.basic, limit=_PAPER_STEPS)
    except LongWalk:
        replies = signal_losses(rho, E).argmin(axis=1)
        joint = zeros((len(rho), rho.shape[1] * E.shape[1]), True)
        joint[:, np.arange(rho.shape[1]) * E.shape[1] + replies] = rho
        return joint, pairs, "paper's program, its optimum lifted from the compact program's"
    return optimum.z.reshape(len(data.p), -1), pairs, "paper's program, HiGHS simplex, exact basis"


def published(problem: Problem, data: Data, joint: Array, names: tuple[str, ...]) -> Mechanism:
    """The channel of a joint table on merged states, on the states of the problem and without unused signals."""
    q, signals = without_unused(joint / data.p[:, None], names, data.p)
    if len(q) == len(problem.p):  # nothing was merged
        return Mechanism.of(q, signals, problem.states, "optimum")
    return Mechanism.of(q, signals, labels(None, "classes", len(q)), "optimum").expanded(
        data.index, data.p, problem.states
    )


def on_states(problem: Problem, data: Data, rho: Array) -> Array:
    """A joint table on merged states as one on the problem's own states."""
    if len(data.p) == len(problem.p):
        return rho
    full = zeros(problem.B.shape, data.exact)
    live = np.flatnonzero(data.index >= 0)
    group = data.index[live]
    full[live] = rho[group] * (problem.p[live] / data.p[group])[:, None]
    return full


def _conclude(
    problem: Problem,
    data: Data,
    lam: Any,
    rho: Array,
    u: Array,
    bound: Any,
    joint: Array,
    names: tuple[str, ...],
    method: str,
) -> Solution:
    mechanism = published(problem, data, joint, names)
    risks = risks_of(problem, mechanism)
    value = risks.alice(public(lam))
    gap = value - public(bound)
    if data.exact and gap != 0:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {public(bound)}")
    certificate = Certificate(public(lam), value, on_states(problem, data, rho), u)
    return Solution(problem, public(lam), value, mechanism, risks, public(bound), gap, method, certificate)


def disobedience(problem: Problem, rho: Array) -> Array:
    """How much Bob would gain at each signal i by not deciding i: zero at an optimum."""
    losses = signal_losses(rho, problem.B)
    return losses.diagonal() - losses.min(axis=1)
