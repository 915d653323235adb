"""Is the optimal mechanism unique, and if not, which of the optimal ones sends least?

The optimal channels over Bob's decisions are a face of the compact program. With optimal replies u it is
    { rho feasible : rho[x,i] = 0 where B(x,i) - u_i.E(x,.) is not the minimum over i,
                     t[i,g] = sum_x E(x,j) rho[x,i] where u[i,j] > 0 }.
Columns and slacks that are positive at a vertex are independent. So a vertex is the only point of the face if and only
if no other column or slack can be positive there: the maximum of their sum, one more exact program, is zero. This needs
lam > 0, where t follows from rho; for lam = 0 the optimum is unique if and only if Bob's best decision is unique at
every state. Merged states are separated again: if a class of several states has a mixed row, its members can exchange
probability, so the channel is not unique. States of probability zero do not count, since any row is optimal there.

fewest_signals: pooling the signals on which Bob does the same keeps an optimum and sends no more of them, so a least
number is found among sets K of his decisions. K must meet {i : rho[x,i] may be positive} for every x; the sets that do
are tried by size with an exact program each.
least_disclosure: the smallest I(X; signal) = sum_xi p(x) q(i|x) log(q(i|x) / P(i)) on the face: convex, by cvxpy, in
floats. If that mechanism is not optimal within the tolerance of certificates, the nearest point of the face is taken,
in exact arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any

import numpy as np

from bap_lp.engines.driver import nearest_table
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.linear_optimum import Infeasible, Optimum, optimum
from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.engines.ties import joint_ties
from bap_lp.model.beliefs import shared
from bap_lp.model.calibration import lam_of
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.program.bound import Rows, compact
from bap_lp.questions.convex.cvxpy_bridge import information as mutual_information
from bap_lp.questions.optimum.solution import channel_of, published
from bap_lp.questions.optimum.solving import free_optimum
from bap_lp.support.display import Displayed
from bap_lp.support.rational import EXACT, FLOAT, ROUNDING, Array, InputError, is_exact, public
from bap_lp.support.risks import Number

_MOST_SETS = 20_000  # sets of signals tried for `fewest_signals`
_ACCURACY = 1e-8  # of the float solver, in nats
_ON_FACE = 1e-6  # relative to the largest loss: how far from optimal a float mechanism still says where to look


@dataclass(frozen=True, repr=False)
class Uniqueness(Displayed):
    """Whether one channel over Bob's decisions is optimal, and two optimal mechanisms.

    If `unique`, both are the mechanism that `solve` shows. If not, that one is an optimal mechanism among several;
    `fewest_signals` has the fewest signals of all (`fewest_proved`: whether all smaller sets were excluded), and
    `least_disclosure` the least mutual information, up to the accuracy of a float solver. Information is in nats.
    """

    unique: bool
    value: Number
    fewest_signals: Mechanism
    least_disclosure: Mechanism
    mutual_information: float
    fewest_information: float
    fewest_proved: bool


def uniqueness(problem: Problem, lam: Any = "calibrated") -> Uniqueness:
    """Whether only one mechanism is optimal; if not, an optimal one with few signals and one that discloses least.

    Args:
        problem: an exact problem; a float problem has no exact ties.
        lam: a non-negative exact number, or "calibrated".

    Returns:
        The answer with the mechanisms; see `Uniqueness`.

    Raises:
        InputError: problem or lam is not exact, lam is negative or undefined, or an agent has beliefs of his own.

    >>> from bap_lp import Problem, uniqueness
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> uniqueness(coin, "1/3").unique
    True
    >>> found = uniqueness(coin, "1/10")  # a breakpoint of the path: two vertices are optimal
    >>> found.unique, found.fewest_signals.name
    (False, 'an optimal mechanism with the fewest signals')
    """
    arrays, index, best, face = _found(problem, lam)

    def shown(rho: Array, name: str) -> Mechanism:
        numbers = arrays if is_exact(rho) else arrays.rounded
        found, _ = published(problem, numbers, index, channel_of(numbers, rho), problem.bob_decisions)
        return Mechanism.of(found.q, found.signals, found.states, name)

    if _alone(best.rho, index, face):
        only = shown(best.rho, "optimum")
        said = mutual_information(problem, only)
        return Uniqueness(True, public(best.bound), only, only, said, said, True)
    rho, proved = face.fewest_signals()
    fewest = shown(rho, "an optimal mechanism" + (" with the fewest signals" if proved else ""))
    tables = face.least_disclosure()
    name = "an optimal mechanism" + (" with the least disclosure" if tables else "")
    by_table = [shown(table, name) for table in (*tables, rho, best.rho)]
    said_by = [mutual_information(problem, found) for found in by_table]
    # the float solver may fail, or miss the least by more than its accuracy: then the better of the exact ones
    least = 0 if tables and said_by[0] <= min(said_by) + _ACCURACY else said_by.index(min(said_by))
    return Uniqueness(False, public(best.bound), fewest, by_table[least], said_by[least], said_by[-2], proved)


def is_unique(problem: Problem, lam: Any = "calibrated") -> bool:
    """Whether no other channel over Bob's decisions has the same R_A: `uniqueness` without its mechanisms."""
    _, index, best, face = _found(problem, lam)
    return _alone(best.rho, index, face)


def _found(problem: Problem, lam: Any) -> tuple[Arrays, Array, Any, _OptimalFace]:
    """Merged states with the class of each state, an optimum of them, and its face."""
    shared(problem, "uniqueness")
    price = lam_of(problem, lam)
    if not (problem.exact and is_exact(price)):
        raise InputError("problem", repr(problem), "and lam must be exact to ask for uniqueness (see rationalised())")
    arrays, index = problem.arrays.merged()
    best = free_optimum(arrays, price)
    return arrays, index, best, _OptimalFace(arrays, price, best.rho, best.dual.replies["eve"])


def _alone(rho: Array, index: Array, face: _OptimalFace) -> bool:
    """Whether the vertex is the whole face, and no class of several states has a mixed row."""
    mixed, members = (rho > 0).sum(axis=1) > 1, np.bincount(index[index >= 0])
    return face.is_point() and not bool((mixed & (members > 1)).any())


@dataclass(frozen=True, eq=False)
class _OptimalFace:
    """The optimal face on merged states, and the vertex rho of it that `solve` shows."""

    arrays: Arrays
    lam: Any
    rho: Array
    u: Array

    @cached_property
    def open(self) -> Array:
        """The columns (x, i) that may be positive."""
        x, i = self.arrays.near_minimum(self.u)
        margins = self.arrays.B[x, i] - (self.u[i] * self.arrays.E[x]).sum(axis=1)
        least = np.minimum.reduceat(margins, np.searchsorted(x, np.arange(len(self.rho))))
        out = np.zeros(self.rho.shape, dtype=bool)
        out[x, i] = margins == least[x]
        return out

    @cached_property
    def tight(self) -> Array:
        """The rows (i, j) of Eve that are equalities."""
        return self.u > 0

    @cached_property
    def form(self) -> LinearForm:
        return LinearForm.of(compact(self.arrays, self.lam))

    @property
    def lp(self) -> LinearProgram:
        return self.form.lp

    def minimum(self, may: Array, cost: Array) -> Optimum:
        """min cost.z over the points of the face whose rho is zero outside `may`; z has the columns kept."""
        keep = np.append(may.ravel(), np.ones(self.lp.shape[1] - may.size, dtype=bool))
        equality = np.append(np.ones(len(may), dtype=bool), self.tight.ravel())
        program = self.lp.on_columns(keep, cost, equality)
        return optimum(program, ties=[tie.cost(self.form)[keep] for tie in joint_ties(self.rho.shape)])

    def is_point(self) -> bool:
        """Whether the face has only one point."""
        decided = bool((self.open.sum(axis=1) == 1).all())
        if decided or self.lam == 0:
            return decided
        losses = signal_losses(self.rho, self.arrays.E)
        at_zero = (losses == self.arrays.least_replies(losses)[:, self.arrays.group_of]) & ~self.tight
        # minus the sum of columns and slacks that are zero at the vertex; a slack of Eve's rows is -A z, and it may be
        # given any positive weight
        cost = EXACT.zeros(self.lp.shape[1])
        cost[: self.rho.size][(self.open & (self.rho == 0)).ravel()] -= 1
        entries = np.append(np.zeros(len(self.rho), dtype=bool), at_zero.ravel())[self.lp.index]
        weight = 1 / (self.arrays.E.max() or EXACT.one)
        np.add.at(cost, self.lp.column_of[entries], weight * self.lp.value[entries])
        kept = np.append(self.open.ravel(), np.ones(len(cost) - self.open.size, dtype=bool))
        return bool(cost[kept].dot(self.minimum(self.open, cost).z) == 0)

    def fewest_signals(self) -> tuple[Array, bool]:
        """A point of the face with the fewest signals, and whether fewer were excluded."""
        used, b = int((self.rho > 0).any(axis=0).sum()), self.rho.shape[1]
        sets = (signals for size in range(1, used) for signals in combinations(range(b), size))
        supports = (self.open & np.isin(np.arange(b), signals) for signals in sets)
        for tried, may in enumerate(may for may in supports if may.any(axis=1).all()):  # every state has a signal
            if tried == _MOST_SETS:
                return self.rho, False
            try:
                found = self.minimum(may, EXACT.zeros(self.lp.shape[1]))
            except Infeasible:
                continue
            rho = EXACT.zeros(self.rho.shape)
            rho[may] = found.z[: np.count_nonzero(may)]
            return rho, True
        return self.rho, True

    def least_disclosure(self) -> list[Array]:
        """The point of the face with the smallest mutual information, in floats; nothing if it is not found."""
        import cvxpy as cp

        p, E = self.arrays.rounded.p, self.arrays.rounded.E
        q = cp.Variable(self.rho.shape, nonneg=True)
        P = cp.Variable((1, self.rho.shape[1]))
        constraints = [cp.sum(q, axis=1) == 1, p[None, :] @ q == P]
        constraints += [] if self.open.all() else [q[np.nonzero(~self.open)] == 0]
        for i, g in product(range(self.rho.shape[1]), self.arrays.groups):
            tight = np.flatnonzero(self.tight[i, g]) + g.start
            for j in range(g.start, g.stop) if len(tight) else ():
                # the first tight row is t; the others, scaled to size one, are compared with it
                row = p * (E[:, j] - E[:, tight[0]])
                if row.any():
                    difference = (row / np.abs(row).max()) @ q[:, i]
                    constraints.append(difference == 0 if j in tight else difference >= 0)
        information = cp.sum(p @ cp.rel_entr(q, np.ones((len(p), 1)) @ P))
        try:
            cp.Problem(cp.Minimize(information), constraints).solve(solver=cp.CLARABEL)
        except cp.SolverError:
            return []
        if q.value is None:
            return []
        found = np.where(self.open & (q.value > 1e-9), q.value, 0.0)
        if not found.any(axis=1).all():
            return []
        rho = found * (p / found.sum(axis=1))[:, None]
        numbers, price = self.arrays.rounded, float(self.lam)
        off = numbers.value(rho, price) - float(self.arrays.value(self.rho, self.lam))
        if off <= FLOAT.tolerance * numbers.spread(price) + ROUNDING * numbers.range(price):
            return [rho]
        return [self._nearest(rho)] if off <= _ON_FACE * numbers.size(price) else []

    def _nearest(self, near: Array) -> Array:
        """The optimal table nearest to a float one, exactly: those with R_A <= V are the face."""
        program = compact(self.arrays, EXACT.zero)
        x, i = np.indices(near.shape).reshape(2, -1)
        s, g = np.indices((near.shape[1], len(self.arrays.groups))).reshape(2, -1)
        entries, terms = (0 * x, x, i, self.arrays.B.ravel()), (("eve", 0 * s, s, g, EXACT.full(len(s), self.lam)),)
        least = EXACT.full(1, self.arrays.value(self.rho, self.lam))
        rows = (Rows("optimal", least, entries, terms),)
        return nearest_table(replace(program, rows=rows), near / self.arrays.rounded.p[:, None])
