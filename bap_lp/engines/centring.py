"""Constants taken off costs and losses, which would hide small differences from floats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bap_lp.program.bound import Observer, Program, Rows, Sparse
from bap_lp.support.rational import Array

_CONSTANT = 1e3  # times the largest difference: constants up to which floats are centred as they are
_NARROW = 1e6  # times the largest difference: constants that hide it from floats


def centred(program: Program) -> Program:
    """The same tables and multipliers are optimal with the least cost of every state taken off; in floats.

    Large constants would hide small differences from floats: where they are much larger than these, they are taken off
    in rationals. An observer's least loss of a state may be taken off as well if every row counts all its views alike:
    then it changes the row by a constant.
    """
    small = program.rounded
    tables = [small.cost, *(o.losses for o in small.observers if not isinstance(o.losses, Sparse))]
    tables += [_table(one, small) for one in small.rows if _whole(one, small)]
    narrow = any(_constant(table, _CONSTANT) for table in tables if table.size)
    return least_off(program).rounded if narrow else least_off(small)


def narrow(program: Program) -> bool:
    """Whether losses of a free problem differ within a row by so little of their size that floats lose it."""
    return program.free is not None and any(_constant(table, _NARROW) for table in program.free.rounded.tables)


def _constant(table: Array, times: float) -> bool:
    """Whether the entries of a row differ by much less than their size."""
    with np.errstate(over="ignore", invalid="ignore"):
        least = table.min(axis=1)
        return not np.abs(least).max() <= times * (table - least[:, None]).max()


def least_off(program: Program) -> Program:
    field = program.field
    cost = program.cost - program.cost.min(axis=1)[:, None]
    shifts: dict[str, Array] = {}
    seen = []
    for o in program.observers:
        if isinstance(o.losses, Sparse) or not all(_uniform(rows, o) for rows in program.rows):
            seen.append(o)
            continue
        least = np.minimum.reduceat(o.losses, o.starts, axis=1)
        least[:, [group for group, _ in o.scores]] = field.zero  # reports are not listed
        shifts[o.name] = program.mass.dot(least)  # per group
        seen.append(replace(o, losses=o.losses - least[:, o.group_of]))
    rows = []
    for one in program.rows:
        if not any(term[0] in shifts for term in one.terms) and len(one) > 1:
            rows.append(one)
            continue
        rhs, entries = one.rhs, one.entries
        for name, row, view, group, c in one.terms:
            if name in shifts:
                first = view == 0
                rhs = rhs.copy()
                np.add.at(rhs, row[first], c[first] * shifts[name][group[first]])
        if _whole(one, program):
            table = _table(one, program)
            least = table.min(axis=1)
            x, s = np.indices(cost.shape).reshape(2, -1)
            entries = 0 * x, x, s, (table - least[:, None]).ravel()
            rhs = rhs - program.mass.dot(least)
        rows.append(replace(one, rhs=rhs, entries=entries))
    return Program(program.mass, cost, tuple(seen), tuple(rows))


def _whole(rows: Rows, program: Program) -> bool:
    """Whether it is one row with an entry at every place."""
    return len(rows) == 1 and rows.entries is not None and len(rows.entries[0]) == program.cost.size


def _table(rows: Rows, program: Program) -> Array:
    """The entries of such a row, states x signals."""
    assert rows.entries is not None
    out = program.field.zeros(program.shape)
    out[rows.entries[1], rows.entries[2]] = rows.entries[3]
    return out


def _uniform(rows: Rows, o: Observer) -> bool:
    """Whether every row of a kind counts the groups of an observer alike at all views, or not at all."""
    for name, row, view, group, c in rows.terms:
        if name == o.name:
            table = np.zeros((len(rows), o.views, len(o.starts)), dtype=c.dtype)
            table[row, view, group] = c
            if (table != table[:, :1]).any():
                return False
    return True
