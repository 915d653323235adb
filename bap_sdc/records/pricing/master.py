"""The compact program on some of its columns: rows and columns laid out by states and touched groups, with its basis.

Columns rho[x,i] are numbered x b + i; pairs (i, g) that a chosen column touches have a column t[i,g] and a row per
reply:
    sum_i rho[x,i] = p(x),      t[i,g] <= sum_x E'_g(x,j) rho[x,i].
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.engines.linear.linear_program import LinearProgram, from_entries
from bap_lp.support.rational import Array, Field, field_of, floats

_NEAREST = 6  # decisions per state to start with


@dataclass(frozen=True, eq=False)
class PricedProgram:
    """A component: p (n); B' as floats (n, b) and entry by entry; the groups each state touches, with E' there.

    group: (n, S) numbers of groups, -1 where there is none; loss: (n, S, w) rows of E', zero beyond the replies of the
    group; widths: replies per group; places: the number of (x, 0) among the fixed weights; entries(x, i): exact B'.
    """

    p: Array
    table: Array
    entries: Callable[[Array, Array], Array]
    group: Array
    loss: Array
    widths: Array
    lam: Any
    places: Array

    @property
    def field(self) -> Field:
        return field_of(self.p)


class PricedMaster:
    """The program on chosen columns, with the basis of the last solution."""

    def __init__(self, program: PricedProgram) -> None:
        self.program = program
        self.small = floats(program.loss)
        self.n, self.b = program.table.shape
        self.G, self.w = len(program.widths), program.loss.shape[2]
        self.inside = np.arange(self.w) < program.widths[:, None]  # replies of each group
        self.columns = np.zeros(0, dtype=np.int64)  # x * b + i, sorted
        self.pairs = np.zeros(0, dtype=np.int64)  # i * G + g, sorted
        self.basic: tuple[Array, Array, Array] | None = None  # columns, t, slacks (pairs x w)

    def add(self, columns: Array) -> None:
        """More columns, and the pairs (i, g) they touch; new ones are non-basic, new t basic at the first reply."""
        old, old_pairs, basic = self.columns, self.pairs, self.basic
        self.columns = np.union1d(old, columns)
        x, i = self.entries
        group = self.program.group[x]
        touched = (i[:, None] * self.G + group)[group >= 0]
        self.pairs = np.unique(touched)
        if basic is None:
            return
        flags = np.zeros(len(self.columns), dtype=bool)
        flags[np.searchsorted(self.columns, old)] = basic[0]
        t = np.ones(len(self.pairs), dtype=bool)
        slack = np.ones((len(self.pairs), self.w), dtype=bool)
        slack[:, 0] = False
        place = np.searchsorted(self.pairs, old_pairs)
        t[place], slack[place] = basic[1], basic[2]
        self.basic = flags, t, slack

    @property
    def entries(self) -> tuple[Array, Array]:
        """x and i of the columns."""
        x, i = np.divmod(self.columns, self.b)
        return x, i

    @property
    def rows(self) -> Array:
        """The row of every (pair, reply), -1 beyond the replies of its group."""
        inside = self.inside[self.pairs % self.G]
        return np.where(inside, self.n + np.cumsum(inside.ravel()).reshape(inside.shape) - 1, -1)

    def touched(self, x: Array, i: Array) -> Iterator[tuple[int, Array, Array]]:
        """For every slot s of groups, which columns (x, i) touch one there, and the place of the pair."""
        for s in range(self.program.group.shape[1]):
            group = self.program.group[x, s]
            live = np.flatnonzero(group >= 0)
            yield s, live, np.searchsorted(self.pairs, i[live] * self.G + group[live])

    def program_on(self, field: Field) -> LinearProgram:
        given = self.program
        (x, i), rows = self.entries, self.rows
        count, exact, inside = len(x), field.exact, rows >= 0
        height = self.n + int(inside.sum())
        loss = given.loss if exact else self.small
        parts_r, parts_c, parts_v = [x], [np.arange(count)], [field.full(count, 1)]
        for s, live, place in self.touched(x, i):
            keep = inside[place]
            parts_r.append(rows[place][keep])
            parts_c.append(np.repeat(live, keep.sum(axis=1)))
            parts_v.append(-loss[x[live], s][keep])
        parts_r.append(rows[inside])
        parts_c.append(count + np.repeat(np.arange(len(self.pairs)), inside.sum(axis=1)))
        parts_v.append(field.full(int(inside.sum()), 1))
        cost = given.entries(x, i) if exact else given.table[x, i]
        p = given.p if exact else floats(given.p)
        lam = field.number(given.lam)
        return from_entries(
            np.concatenate([cost, field.full(len(self.pairs), -lam)]),
            np.concatenate(parts_r),
            np.concatenate(parts_c),
            np.concatenate(parts_v),
            np.concatenate([p, field.zeros(height - self.n)]),
            np.arange(height) < self.n,
            np.arange(count + len(self.pairs)) >= count,
        )

    def start(self, lp: LinearProgram) -> Array | None:
        if self.basic is None:
            return None
        (columns, t, slack), rows = self.basic, self.rows
        slacks = lp.shape[1] + np.sort(rows[(rows >= 0) & slack])
        return np.concatenate([np.flatnonzero(columns), len(columns) + np.flatnonzero(t), slacks])

    def remember(self, basic: Array, lp: LinearProgram) -> None:
        flags, rows, count = ~lp.outside(basic), self.rows, len(self.columns)
        slack = flags[lp.shape[1] + np.where(rows >= 0, rows, 0)] & (rows >= 0)
        self.basic = flags[:count], flags[count : lp.shape[1]], slack

    def keys(self, own: Array) -> None:
        """The basis at which every state sends its own decision."""
        heard, slack = np.zeros((len(self.pairs), self.w)), self.rows >= 0
        p = floats(self.program.p)
        for s, live, place in self.touched(np.arange(self.n), own):
            np.add.at(heard, place, p[live, None] * self.small[live, s])
        slack[np.arange(len(slack)), np.where(slack, heard, np.inf).argmin(axis=1)] = False
        flags = np.isin(self.columns, np.arange(self.n) * self.b + own)
        self.basic = flags, np.ones(len(self.pairs), dtype=bool), slack

    def replies(self, y: Array) -> Array:
        """u of the pairs (pairs, w) from the duals."""
        rows = self.rows
        out = field_of(y).zeros(rows.shape)
        out[rows >= 0] = -y[rows[rows >= 0]]
        return out


def first_columns(program: PricedProgram, own: Array) -> Array:
    """Every state's best decision, and the nearest of those that are best for a state of one of its groups."""
    n, b = program.table.shape
    out = [np.arange(n) * b + own]
    for s in range(program.group.shape[1]):
        for g in np.unique(program.group[:, s][program.group[:, s] >= 0]):
            members = np.flatnonzero(program.group[:, s] == g)
            options = np.unique(own[members])
            cost = program.table[np.ix_(members, options)]
            x, i = np.nonzero(smallest(cost, _NEAREST))  # a decision reaches at least its nearest states
            out.append(members[x] * b + options[i])
    return np.unique(np.concatenate(out))


def smallest(table: Array, count: int) -> Array:
    """Which entries are among the `count` smallest of their row or of their column."""
    out = np.zeros(table.shape, dtype=bool)
    for axis in (0, 1):
        few = min(count, table.shape[axis])
        np.put_along_axis(out, np.argpartition(table, few - 1, axis=axis).take(np.arange(few), axis=axis), True, axis)
    return out
