"""The independent parts of a program of records, and the groups in which Eve's guess matters.

Subtract min_j from every row of Eve n's loss: R_E changes by a constant. What is left, E'(s,j), is zero for secrets
at which all guesses are equally good; such records do not touch her groups. A group (n, z) in which one guess is best
for every record that touches it has risk zero whatever is released, so it joins no records either: it is *settled*, and
Eve's reply there is that guess. Records that share a group that is not settled belong to one part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from bap_lp.support.rational import Array
from bap_sdc.records.optimum.columns import ColumnTables
from bap_sdc.records.optimum.program import RecordProgram


@dataclass(frozen=True, eq=False)
class EveRows:
    """One Eve: E' by secret (weighted), and group[x], the number of the group that record x touches, or -1.

    first: the number of her first group; guesses: how many she has. settled: (z) -> guess for settled groups, else -1.
    """

    relative: Array
    least: Array
    group: Array
    guesses: int
    settled: Array


@dataclass(frozen=True, eq=False)
class Parts:
    """The Eves' rows, the part of every record (-1: no Eve can use it), and the records of each part."""

    eves: tuple[EveRows, ...]
    part: Array
    members: tuple[Array, ...]

    @property
    def free(self) -> Array:
        """Records that no Eve can use."""
        return np.flatnonzero(self.part < 0)

    def tables(self, program: RecordProgram, eve: int) -> ColumnTables:
        """The tables of an Eve with two guesses."""
        if eve not in self._tables:
            self._tables[eve] = ColumnTables(program, spreads_of(self.eves[eve])[0])
        return self._tables[eve]

    @cached_property
    def _tables(self) -> dict[int, ColumnTables]:
        return {}


def eve_rows(program: RecordProgram) -> tuple[EveRows, ...]:
    """Rows and groups of every Eve; groups are numbered through over all Eves."""
    out, first = [], 0
    for eve in program.eves:
        loss = eve.loss * eve.weight
        least = loss.min(axis=1)
        relative = loss - least[:, None]
        count = int(eve.known.max()) + 1
        here = np.ones(len(program.p), dtype=bool) if eve.chance is None else np.asarray(eve.chance > 0, dtype=bool)
        touches = (relative != 0).any(axis=1)[eve.secret] & here
        # a guess is still free in a group as long as no record there loses by it
        free = np.ones((count, loss.shape[1]), dtype=bool)
        for level, row in enumerate(relative != 0):
            free[np.ix_(np.unique(eve.known[(eve.secret == level) & here]), np.flatnonzero(row))] = False
        settled = np.where(free.any(axis=1), free.argmax(axis=1), -1)
        group = np.where(touches & (settled[eve.known] < 0), first + eve.known, -1)
        out.append(EveRows(relative, least, group, loss.shape[1], settled))
        first += count
    return tuple(out)


def joined(links: Sequence[Array]) -> Array:
    """The part of every record: records with an equal number >= 0 in some link are in one part.

    Parts are numbered in the order of their first records; records without any such number have -1.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    part, records, groups = np.full(len(links[0]), -1), [], []
    first = len(part)
    for link in links:
        live = np.flatnonzero(link >= 0)
        _, place = np.unique(link[live], return_inverse=True)
        records.append(live)
        groups.append(first + place)
        first += len(live)
    x, g = np.concatenate(records), np.concatenate(groups)
    if len(x):
        label = connected_components(coo_array((np.ones(len(x)), (x, g)), shape=(first, first)), directed=False)[1]
        touched = np.unique(x)
        _, start, place = np.unique(label[touched], return_index=True, return_inverse=True)
        part[touched] = np.argsort(np.argsort(start))[place]
    return part


def parts_of(program: RecordProgram) -> Parts:
    """Split a program into its parts, in the order of their first records."""
    eves = eve_rows(program)
    part = joined([rows.group for rows in eves])
    order = np.argsort(part, kind="stable")
    cuts = np.searchsorted(part[order], np.arange(part.max() + 2))
    members = tuple(order[a:b] for a, b in pairwise(cuts))
    return Parts(eves, part, members)


def spreads_of(rows: EveRows) -> tuple[Array, Array]:
    """For an Eve with two guesses: what a wrong one costs by secret, and which guess that is."""
    a = rows.relative.max(axis=1)
    return a, (rows.relative[:, 1] != 0).astype(np.int64)
