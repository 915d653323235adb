"""The exact phase: worst priors by a solver, and one program over tuple blocks.

A block says v >= p.c_t for all priors of the set at once. The inner maximum is written by its dual (`credal.DualForm`):
v >= base.c_t + cost.y with rows.y >= forms.c_t, and c_t is linear in q. A block per tuple t of Eve's replies; those
that bind are few and come from the cuts. The multiplier of v's row is the weight of the tuple, and the multipliers of
the rows are its prior, a point of the set by construction.

support(c) of a general polytope takes one linear program for each c. In rationals every multiplier y that proves a
support is kept: these are the proofs that a certificate carries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.exact_simplex import Infeasible
from bap_lp.engines.linear.highs import loaded_program, run
from bap_lp.engines.linear.optimum import optimum
from bap_lp.engines.linear.program import LinearProgram, ProgramBuilder
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual, Program
from bap_lp.program.credal import Credal, Extreme, Polytope, Transport
from bap_lp.program.worst_prior import Oracle, told
from bap_lp.rational import EXACT, Array, InputError, field_of, floats, lifted

_TIGHT = 1e-9  # of a row of a polytope: what is closer to its limit is at it


def _program(A: Array, b: Array) -> LinearProgram:
    """p >= 0 with sum 1 and A p <= b; minimise 0."""
    make, (m, N) = ProgramBuilder(field_of(A)), A.shape
    p = make.columns(N)
    row, x = np.indices((m, N)).reshape(2, -1)
    make.rows(1, [(0 * p, p, field_of(A).one)], field_of(A).one, equality=True)
    make.rows(m, [(row, p[x], A.ravel())], b)
    return make.build()


class ExactOracle:
    """support in rationals; `proofs` are the multipliers of a polytope, by the text of them."""

    def __init__(self, credal: Credal) -> None:
        self.credal, self.proofs = credal, dict[str, Array]()
        self.lp = _program(credal.A, credal.b) if isinstance(credal, Polytope) else None

    def __call__(self, c: Array) -> Extreme:
        if self.lp is None:
            return self.credal.support(c)
        found = optimum(self.lp.on_columns(np.ones(len(c), dtype=bool), -c))
        y = -found.y[1:]
        self.proofs[str(y.tolist())] = y
        return c.dot(found.z), found.z, None


def float_oracle(credal: Credal) -> Oracle:
    if not isinstance(credal, Polytope):
        return credal.support
    highs = loaded_program(_program(credal.A, credal.b))
    N = credal.states

    def support(c: Array) -> Extreme:
        highs.changeColsCost(N, np.arange(N, dtype=np.int32), -c)
        run(highs)
        if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            raise ArithmeticError("HiGHS found no worst prior of the polytope")
        p = np.maximum(np.array(highs.getSolution().col_value), 0.0)
        p = p / p.sum()
        return p.dot(c), p, None

    return support


def near_prior(credal: Any, p: Array, moved: Array | None) -> tuple[Array, Array | None]:
    """The prior of the set, in rationals, that floats mean.

    Of a polytope it is a vertex: the sum of the rows that are tight there has its largest value at this vertex alone.
    """
    if not isinstance(credal, Polytope):
        return credal.near(p, moved)
    A, b = floats(credal.A), floats(credal.b)
    sizes = np.abs(A).max(axis=1, initial=0.0) + (A == 0).all(axis=1)
    tight = A @ p >= b - _TIGHT * sizes
    inward = (A[tight] / sizes[tight, None]).sum(axis=0) - (p <= _TIGHT)
    found = ExactOracle(credal)(lifted(inward))[1]
    assert found is not None
    return found, None


def some_prior(credal: Credal) -> Array:
    """A prior of the set; refuses an empty polytope."""
    try:
        p = ExactOracle(credal)(EXACT.zeros(credal.states))[1]
    except Infeasible:
        raise InputError("priors.polytope", None, "is empty: no distribution meets A p <= b") from None
    assert p is not None
    return p


@dataclass(frozen=True, eq=False)
class Weighed:
    """A prior of the set with its weight, how mass is moved to it, if that is told, and replies of Eve."""

    weight: Any
    prior: Array
    moved: Array | None
    replies: Array


@dataclass(frozen=True, eq=False)
class PricedChannel:
    """A feasible channel, multipliers of the conditions, and priors of the set with their weights and Eve's replies."""

    q: Array
    dual: Dual
    listed: list[Weighed]
    how: str
    value: Any = None  # the optimum over tuple blocks, if it is one
    stopped: bool = False


def by_blocks(base: Program, arrays: Arrays, lam: Any, credal: Credal, replies: Sequence[Array]) -> PricedChannel:
    """The least v over these tuples, in the numbers of the arrays."""
    dual, field = credal.dual_form(), field_of(arrays.B)
    (N, S), one = base.shape, field.one
    places: list[tuple[slice, slice]] = []
    columns: dict[str, Array] = {}

    def more(make: ProgramBuilder, rho: Array) -> None:
        columns["v"] = v = make.columns(1, one, free=True)
        s, free = np.arange(S), np.flatnonzero(dual.free)
        for t in replies:
            losses = told(arrays, lam, t)
            y = np.empty(len(dual.cost), dtype=int)
            y[free] = make.columns(len(free), free=True)
            signed = np.flatnonzero(~dual.free)
            y[signed] = make.columns(len(signed))
            top = make.rows(1, [(0, rho, dual.base[:, None] * losses), (0, y, dual.cost), (0, v, -one)], field.zero)
            row, x, value = dual.forms
            entries = [
                (row[:, None], rho[x[:, None], s], value[:, None] * losses[x]),
                (dual.rows[0], y[dual.rows[1]], -dual.rows[2]),
            ]
            places.append((top, make.rows(dual.count, entries)))

    form = LinearForm.of(base, more)
    found = optimum(form.lp)
    y, listed = found.y, []
    for t, (top, rows) in zip(replies, places, strict=True):
        weight, own = -y[top][0], -y[rows]
        if weight > 0:
            moved = own.reshape(N, N) / weight if isinstance(credal, Transport) else None
            listed.append(Weighed(weight, dual.prior(own, weight), moved, t))
    return PricedChannel(found.z[form.rho], form.dual(y), listed, found.how, found.z[columns["v"][0]])
