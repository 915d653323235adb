"""Is the optimal mechanism unique, and if not, which of the optimal ones sends least?

The optimal channels over Bob's decisions are a face of the compact program. With optimal duals (y, u) it is
    { rho feasible : rho[x,i] = 0 where B(x,i) - u_i.E(x,.) > y_x,  t[i,g] = sum_x E(x,j) rho[x,i] where u[i,j] > 0 }.
A vertex is the only point of it if and only if no nonbasic variable of reduced cost zero (column or slack) can be
positive on the face: the maximum of their sum, one more exact program, is zero. For lam > 0 t follows from rho; for
lam = 0 Eve's rows are left out. Merged states are told apart again: a class of several states whose common row is not
degenerate lets its members trade, so the channel is not unique; a degenerate row fixes them all. States of probability
zero are left aside, any row is optimal there.

fewest_signals: pooling the signals on which Bob does the same keeps an optimum and sends no more of them, so a least
number is found among sets K of his decisions. K must meet {i : rho[x,i] may be positive} for every x; the sets that do
are tried by size with an exact program each.
least_disclosure: the smallest I(X; signal) = sum rho log(rho / (p m)), m[i] = sum_x rho[x,i], on the face: convex, by
cvxpy, in floats.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.convex.cvxpy_bridge import information as mutual_information
from bap_lp.linear import program
from bap_lp.linear.exact import optimise, reduced_cost
from bap_lp.linear.optimum import optimum
from bap_lp.linear.program import LinearProgram
from bap_lp.model.arrays import Arrays
from bap_lp.model.calibration import lam_of
from bap_lp.model.display import Displayed, counted, equals, fraction
from bap_lp.model.mechanism import Mechanism, without_unused
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.programs.compact import compact_program
from bap_lp.rational import Array, InputError, floats, is_exact, public, zeros

_MOST_SETS = 20_000  # sets of signals tried for `fewest_signals`


@dataclass(frozen=True, repr=False)
class Uniqueness(Displayed):
    """Whether one channel over Bob's decisions is optimal; if not, the one with fewest signals and the one that says
    least. Mutual information in nats. `fewest_proved`: whether all smaller sets of signals were excluded."""

    unique: bool
    value: Number
    fewest_signals: Mechanism
    least_disclosure: Mechanism
    mutual_information: float
    fewest_information: float
    fewest_proved: bool

    def _headline(self) -> str:
        what = "unique" if self.unique else "not unique"
        fewest = counted(len(self.fewest_signals.signals), "signal")
        return f": {what}, {equals('R_A', self.value, fraction)}, {fewest} at least"


@dataclass(frozen=True)
class _Face:
    """The optimal face on merged states: columns that may be positive, tight rows, the vertex and the value."""

    p: Array
    E: Array
    index: Array
    lp: LinearProgram
    open: Array
    tight: Array
    rho: Array
    basic: Array
    value: Any


def uniqueness(problem: Problem, lam: Any = "calibrated") -> Uniqueness:
    """Exact answer for an exact problem and lam; a float problem has no exact ties and is refused."""
    price = lam_of(problem, lam)
    if not (problem.exact and is_exact(price)):
        raise InputError("problem", repr(problem), "and lam must be exact to ask for uniqueness (see rationalised())")
    face = _face(problem, price)
    unique = _alone(face) and all(
        (face.rho[k] > 0).sum() == 1 for k in range(len(face.p)) if (face.index == k).sum() > 1
    )
    if unique:
        only = _published(problem, face, face.rho, "optimum")
        information = mutual_information(problem, only)
        return Uniqueness(True, public(face.value), only, only, information, information, True)
    rho, proved = _fewest(face)
    fewest = _published(problem, face, rho, "optimum with fewest signals")
    least = _published(problem, face, _least(face), "optimum with least disclosure")
    said, said_by_fewest = (mutual_information(problem, m) for m in (least, fewest))
    return Uniqueness(False, public(face.value), fewest, least, said, said_by_fewest, proved)


def _face(problem: Problem, lam: fmpq) -> _Face:
    data, index = problem.arrays.merged()
    p, B, E, groups = data.p, data.B, data.E, data.groups
    N, b = B.shape
    if lam == 0:  # t would be free to lie below Eve's risk: an Eve who never loses anything has none
        E, groups = zeros((N, 1), True), (slice(0, 1),)
        lam = fmpq(1)
    lp = compact_program(Arrays(p, B, E, groups), lam)
    vertex = optimum(lp)
    costs = [reduced_cost(lp, vertex.y, k) for k in range(N * b)]
    may = np.array([c == 0 for c in costs]).reshape(N, b)
    tight = np.array([v != 0 for v in vertex.y[N:]]).reshape(b, -1)
    value = lp.cost.dot(vertex.z)
    return _Face(p, E, index, lp, may, tight, vertex.z[: N * b].reshape(N, b), vertex.basic, value)


def _restricted(face: _Face, may: Array, cost: Array) -> tuple[LinearProgram, Array]:
    """min cost.z over the points of the face whose rho is zero outside `may`; and the kept columns."""
    lp, (N, b) = face.lp, face.rho.shape
    keep = np.append(may.ravel(), np.ones(lp.shape[1] - N * b, dtype=bool))
    columns = np.flatnonzero(keep)
    renumber = np.cumsum(keep) - 1
    at = keep[lp.column_of]
    equality = np.append(np.ones(N, dtype=bool), face.tight.ravel())
    small = program.from_entries(
        cost[columns], lp.index[at], renumber[lp.column_of[at]], lp.value[at], lp.rhs, equality, lp.free[columns]
    )
    return small, columns


def _alone(face: _Face) -> bool:
    lp = face.lp
    m, n = lp.shape
    (N, b) = face.rho.shape
    nonbasic = np.ones(n + m, dtype=bool)
    nonbasic[face.basic] = False
    free_columns = nonbasic[: N * b] & face.open.ravel()
    free_slacks = nonbasic[n:] & ~np.append(np.ones(N, dtype=bool), face.tight.ravel())
    if not (free_columns.any() or free_slacks.any()):
        return True
    # minus the sum: a slack is rhs - A z, and the rhs of Eve's rows is zero
    cost = zeros(n, True)
    cost[: N * b][free_columns] -= 1
    at = free_slacks[lp.index]
    np.add.at(cost, lp.column_of[at], lp.value[at])
    small, columns = _restricted(face, face.open, cost)
    position = {int(c): k for k, c in enumerate(columns)}
    basic = np.array([position[v] if v < n else v - n + len(columns) for v in face.basic.tolist()])
    vertex = optimise(small, basic)
    return bool(small.cost.dot(vertex.z) == 0)


def _fewest(face: _Face) -> tuple[Array, bool]:
    """A point of the face with the fewest signals, and whether fewer were excluded."""
    N, b = face.rho.shape
    used = int((face.rho > 0).any(axis=0).sum())
    tried = 0
    for size in range(1, used):
        for keep in combinations(range(b), size):
            if not face.open[:, list(keep)].any(axis=1).all():
                continue
            tried += 1
            if tried > _MOST_SETS:
                return face.rho, False
            may = np.zeros((N, b), dtype=bool)
            may[:, list(keep)] = face.open[:, list(keep)]
            small, columns = _restricted(face, may, zeros(face.lp.shape[1], True))
            start = np.arange(len(columns), len(columns) + len(small.rhs))
            try:
                vertex = optimise(small, start)
            except ArithmeticError:
                continue
            z = zeros(face.lp.shape[1], True)
            z[columns] = vertex.z
            return z[: N * b].reshape(N, b), True
    return face.rho, True


def _least(face: _Face) -> Array:
    """The point of the face with the smallest mutual information, in floats."""
    import cvxpy as cp

    p, E, (N, b) = floats(face.p), floats(face.E), face.rho.shape
    rho, t = cp.Variable((N, b), nonneg=True), face.lp.shape[1] - N * b
    lower = cp.Variable(t)
    # Eve's rows of the program: t[i,g] <= sum_x E(x,j) rho[x,i], an equality where tight
    at = face.lp.column_of >= N * b
    group_of_row = np.empty(b * E.shape[1], dtype=np.int64)
    group_of_row[face.lp.index[at] - N] = face.lp.column_of[at] - N * b
    eve = cp.vec(E.T @ rho, order="F")  # entry i*e + j
    tight = face.tight.ravel()
    constraints = [cp.sum(rho, axis=1) == p, eve >= lower[group_of_row]]
    if tight.any():
        constraints.append(eve[np.flatnonzero(tight)] == lower[group_of_row[tight]])
    if not face.open.all():
        constraints.append(rho[np.nonzero(~face.open)] == 0)
    mass = cp.sum(rho, axis=0, keepdims=True)
    information = cp.sum(cp.rel_entr(rho, p[:, None] @ mass))
    cp.Problem(cp.Minimize(information), constraints).solve(solver=cp.CLARABEL)
    if rho.value is None:
        raise ArithmeticError("cvxpy found no mechanism of least mutual information")
    found = np.where(face.open & (rho.value > 1e-9 * p[:, None]), rho.value, 0.0)
    return found * (p / found.sum(axis=1))[:, None]


def _published(problem: Problem, face: _Face, rho: Array, name: str) -> Mechanism:
    exact = is_exact(rho)
    p = face.p if exact else floats(face.p)
    q, signals = without_unused(rho / p[:, None], problem.bob_decisions, p)
    return Mechanism(q, signals=signals, name=name).expanded(face.index, p, problem.states)
