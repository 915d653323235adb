"""Record types that nobody can tell apart: the same losses in every column, and the same for every Eve.

Exchanging two such types in a release changes no risk, so some optimum treats them alike.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bap_lp.rational import Array, floats, is_exact
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.result import RecordComponent
from bap_sdc.records.optimum.risks import summed


def merged_records(program: RecordProgram) -> tuple[RecordProgram, Array]:
    """The program of the classes, in the order of their first members, and the class of every record type."""
    keys = [_alike(table)[program.codes[:, k]] for k, table in enumerate(program.losses)]
    for eve in program.eves:
        level = _alike(eve.loss)[eve.secret]
        idle = (eve.loss == 0).all(axis=1)[eve.secret]  # then it does not matter what she knows
        keys += [level, np.where(idle, -1, eve.known)]
    _, first, place = np.unique(np.stack(keys, axis=1), axis=0, return_index=True, return_inverse=True)
    place = place.ravel()
    if len(first) == len(program.p):
        return program, np.arange(len(program.p))
    order = np.argsort(first)
    index = np.argsort(order)[place]
    chosen = first[order]
    p = summed(program.p, index, len(chosen))
    eves = tuple(replace(eve, secret=eve.secret[chosen], known=eve.known[chosen]) for eve in program.eves)
    return RecordProgram(p, program.codes[chosen], program.losses, eves), index


def _alike(table: Array) -> Array:
    """The first row that equals each row."""
    rows = [tuple(row) for row in (table.tolist() if is_exact(table) else floats(table).tolist())]
    seen: dict[tuple[object, ...], int] = {}
    return np.array([seen.setdefault(row, k) for k, row in enumerate(rows)])


def expanded(program: RecordProgram, small: RecordProgram, index: Array, part: RecordComponent) -> RecordComponent:
    """A part of the merged program on the record types themselves: every member has the row of its class."""
    if len(small.p) == len(program.p):
        return part
    order = np.argsort(index, kind="stable")
    starts = np.searchsorted(index[order], np.arange(len(small.p) + 1))
    members = [order[starts[c] : starts[c + 1]] for c in part.states]
    sizes = np.array([len(m) for m in members])
    states = np.concatenate(members)
    offset = np.concatenate([[0], np.cumsum(sizes)])
    count = sizes[part.row]
    entry = np.repeat(np.arange(len(part.row)), count)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(count) - count, count)
    row = offset[part.row[entry]] + within
    share = program.p[states[row]] / small.p[part.states[part.row[entry]]]
    replies = part.replies
    return RecordComponent(
        states, row, part.decision[entry], part.rho[entry] * share, np.repeat(part.v, sizes), part.groups, replies
    )
