"""solve: the mechanism that minimises R_A = R_B - lam R_E over all mechanisms, with its proof.

Merge states that nobody can tell apart, solve the compact program in floats to a vertex, and, when the numbers are
exact, carry its basis to the rationals. The value reported is the risk recomputed from the published channel; the bound
is the dual function at Eve's replies u; their difference is the gap, zero in an exact solution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp import program
from bap_lp.calibration import lam_of
from bap_lp.certificate import TOLERANCE, Certificate
from bap_lp.conditions import Conditions
from bap_lp.evaluate import risks as risks_of
from bap_lp.evaluate import signal_losses
from bap_lp.exact import optimise
from bap_lp.game import solve_game
from bap_lp.highs import solve_lp
from bap_lp.mechanism import Mechanism, without_unused
from bap_lp.merging import class_sums, merge_index
from bap_lp.problem import Problem
from bap_lp.rational import Array, InputError, floats, is_exact, objects, public, tree_sum, zeros
from bap_lp.risks import Number, Risks
from bap_lp.structured import Basis, exact_vertex

_DIRECT = 1500  # below this many columns rho, simplex on the whole program beats the structured method
Progress = Callable[[int, float, float], None]


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


@dataclass(frozen=True)
class Data:
    """The program's numbers on merged states, and the way back."""

    p: Array
    B: Array
    E: Array
    groups: tuple[slice, ...]
    index: Array

    @property
    def exact(self) -> bool:
        return is_exact(self.p)

    def rounded(self) -> Data:
        return Data(floats(self.p), floats(self.B), floats(self.E), self.groups, self.index)


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
        from bap_lp.conditioned import solve_conditioned

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
    rho, u, bound, method = _solve_exact(data, price, progress) if exact else _solve_float(data, price, progress)
    joint, names = rho, problem.bob_decisions
    if formulation == "paper":
        joint, pairs, method = _solve_paper(problem_used, data, price)
        e = len(pairs) // len(names)
        names = tuple(f"{names[k // e]} / {pairs[k]}" for k in range(len(pairs)))
        rho = class_sums(joint.T, np.repeat(np.arange(rho.shape[1]), e), rho.shape[1]).T
    return _conclude(problem_used, data, price, rho, u, bound, joint, names, method)


def merge(problem: Problem) -> Data:
    """The numbers of the compact program, states that nobody can tell apart taken together."""
    index, count = merge_index(problem.p, np.hstack([problem.B, problem.E]))
    if count == len(index):
        return Data(problem.p, problem.B, problem.E, problem.eve_groups, index)
    first = np.unique(index[index >= 0], return_index=True)[1]
    first = np.flatnonzero(index >= 0)[first]
    p = class_sums(problem.p, index, count)
    return Data(p, problem.B[first], problem.E[first], problem.eve_groups, index)


def _float_basis(data: Data, lam: float, progress: Progress | None) -> tuple[Array, Array, Array, str]:
    """rho, u and the basis (variable numbers of the compact program), from the float solver of choice."""
    N, b = data.B.shape
    e, G = data.E.shape[1], len(data.groups)
    if N * b <= _DIRECT:
        # dividing the losses by their largest, and lam accordingly, changes no basis
        bob, eve = (float(a.max()) or 1.0 for a in (data.B, data.E))
        scaled = program.compact(data.p * N, data.B / bob, data.E / eve, data.groups, lam * eve / bob)
        vertex = solve_lp(scaled)
        rho, u = vertex.z[: N * b].reshape(N, b) / N, -vertex.y[N:].reshape(b, e) * (bob / eve)
        return rho, u, vertex.basic, "HiGHS simplex"
    game = solve_game(data.p, data.B, data.E, data.groups, lam, progress=progress)
    flags = [game.basic_columns.ravel(), game.basic_t.ravel(), np.zeros(N, dtype=bool), game.basic_slack.ravel()]
    assert len(flags[0]) + len(flags[1]) == N * b + b * G
    return game.rho, game.u, np.flatnonzero(np.concatenate(flags)), "structured interior point and simplex"


def _solve_float(data: Data, lam: float, progress: Progress | None) -> tuple[Array, Array, float, str]:
    rho, u, basic, how = _float_basis(data, lam, progress)
    u = _replies(u, lam, data.groups)
    rho = _obedient(_normalised(rho, data, u), data.B)
    method = f"compact program, {how}"
    size = max(float(data.B.max()), lam * float(data.E.max()))
    bound = _bound(data, u)
    if _value(data, rho, lam) - bound <= 0.1 * TOLERANCE * size:
        return rho, u, bound, method
    # floats are rationals too: where the data outrun the solver's tolerances, finish exactly and round the result
    lifted = Data(_lift(data.p), _lift(data.B), _lift(data.E), data.groups, data.index)
    exact_lam = fmpq(*lam.as_integer_ratio())
    vertex = optimise(program.compact(lifted.p, lifted.B, lifted.E, data.groups, exact_lam), basic)
    N, b = data.B.shape
    u = _replies(floats(-vertex.y[N:].reshape(b, -1)), lam, data.groups)
    rho = _normalised(floats(vertex.z[: N * b].reshape(N, b)), data, u)
    return rho, u, _bound(data, u), f"{method}, finished in exact arithmetic"


def _lift(values: Array) -> Array:
    return objects(fmpq(*v.as_integer_ratio()) for v in values.ravel().tolist()).reshape(values.shape)


def _value(data: Data, rho: Array, lam: float) -> float:
    eve = rho.T @ data.E
    return float((data.B * rho).sum() - lam * sum(eve[:, g].min(axis=1).sum() for g in data.groups))


def _solve_exact(data: Data, lam: fmpq, progress: Progress | None) -> tuple[Array, Array, fmpq, str]:
    (N, b), e, G = data.B.shape, data.E.shape[1], len(data.groups)
    rounded = data.rounded()
    _, _, basic, how = _float_basis(rounded, float(lam), progress)
    arrays = (data.p, data.B, data.E, data.groups, lam)
    found = exact_vertex(*arrays, Basis.of(basic, N, b, e, G), (rounded.p, rounded.B, rounded.E))
    if found is not None:
        return *found, f"compact program, {how}, exact basis"
    lp = program.compact(*arrays)
    vertex = optimise(lp, basic, program.compact(rounded.p, rounded.B, rounded.E, data.groups, float(lam)))
    u = -vertex.y[N:].reshape(b, e)
    repaired = f" after {vertex.pivots} exact pivots" if vertex.pivots else ""
    method = f"compact program, {how}, exact basis{repaired}"
    return vertex.z[: N * b].reshape(N, b), u, tree_sum(lp.cost * vertex.z), method


def _solve_paper(problem: Problem, data: Data, lam: Any) -> tuple[Array, tuple[str, ...], str]:
    """The joint table of the paper's program: states x (Bob's decision, all Eves' decisions)."""
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
        return _normalised(joint, data), pairs, "paper's program, HiGHS simplex"
    optimum = optimise(lp, vertex.basic)
    return optimum.z.reshape(len(data.p), -1), pairs, "paper's program, HiGHS simplex, exact basis"


def _normalised(rho: Array, data: Data, u: Array | None = None) -> Array:
    """Float joint table with exact zeros and rows that sum to p; a row the solver lost follows the rule of u."""
    p = data.p
    rho = np.where(rho > 1e-13 * p[:, None], rho, 0.0)
    total = rho.sum(axis=1)
    lost = total < 1e-9 * p
    if lost.any():
        margins = data.B[lost] if u is None else data.B[lost] - data.E[lost] @ u.T
        rho[lost] = 0.0
        width = rho.shape[1] // data.B.shape[1]  # signals per Bob decision: 1 in the compact program
        rho[np.flatnonzero(lost), margins.argmin(axis=1) * width] = p[lost]
        total = rho.sum(axis=1)
    return rho * (p / total)[:, None]


def _obedient(rho: Array, B: Array) -> Array:
    """Relabel a float signal that Bob would disobey by more than rounding: pooling it with his choice lowers R_A."""
    losses = rho.T @ B
    best = losses.argmin(axis=1)
    own = losses.diagonal()
    target = np.where(own <= losses.min(axis=1) + 1e-12 * losses.max(initial=0.0), np.arange(len(best)), best)
    out = np.zeros_like(rho)
    np.add.at(out.T, target, rho.T)
    return out


def _replies(u: Array, lam: float, groups: tuple[slice, ...]) -> Array:
    """Float duals moved onto lam * simplex, so that the bound holds whatever the solver did."""
    u = np.maximum(u, 0.0)
    for g in groups:
        total = u[:, g].sum(axis=1, keepdims=True)
        width = g.stop - g.start
        u[:, g] = np.where(total > 0, u[:, g] * (lam / np.where(total > 0, total, 1.0)), lam / width)
    return u


def published(problem: Problem, data: Data, joint: Array, names: tuple[str, ...]) -> Mechanism:
    """The channel of a joint table on merged states, on the states of the problem and without unused signals."""
    q, signals = without_unused(joint / data.p[:, None], names, data.p)
    classes = [str(k) for k in range(len(data.p))]
    return Mechanism.of(q, signals, classes, "optimum").expanded(data.index, data.p, problem.states)


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


def _bound(data: Data, u: Array) -> float:
    """The dual function at u, minus a bound on its rounding error."""
    margins = data.B - data.E @ u.T
    size = float(data.p @ (data.B.max(axis=1) + data.E @ u.max(axis=0)))
    rounding = (data.E.shape[1] + 40) * float(np.finfo(float).eps) * size
    return float(data.p @ margins.min(axis=1)) - rounding


def disobedience(problem: Problem, rho: Array) -> Array:
    """How much Bob would gain at each signal i by not deciding i: zero at an optimum."""
    losses = signal_losses(rho, problem.B)
    return losses.diagonal() - losses.min(axis=1)
