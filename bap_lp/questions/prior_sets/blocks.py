"""The exact phase: one program over tuple blocks. A block says v >= p.c_t for all priors of the set at once.

The inner maximum is written by its dual (`credal.DualForm`): v >= base.c_t + cost.y with rows.y >= forms.c_t, and c_t
is linear in q. A block per tuple t of Eve's replies; those that bind are few and come from the cuts. The multiplier of
v's row is the weight of the tuple, and the multipliers of the rows are its prior, a point of the set by construction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.optimum import optimum
from bap_lp.engines.linear.program import ProgramBuilder
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual, Program
from bap_lp.program.credal import Credal, Transport
from bap_lp.program.worst_prior import told
from bap_lp.rational import Array, field_of


@dataclass(frozen=True, eq=False)
class Weighed:
    """A prior of the set with its weight, how mass is moved to it, if that is told, and replies of Eve."""

    weight: Any
    prior: Array
    moved: Array | None
    replies: Array


@dataclass(frozen=True, eq=False)
class Closed:
    """An optimum over tuple blocks: channel, value, multipliers of the conditions, and the tuples that weigh."""

    q: Array
    value: Any
    dual: Dual
    listed: list[Weighed]
    how: str


def by_blocks(base: Program, arrays: Arrays, lam: Any, credal: Credal, replies: Sequence[Array]) -> Closed:
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
    return Closed(found.z[form.rho], found.z[columns["v"][0]], form.dual(y), listed, found.how)
