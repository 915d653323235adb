"""Costs that are sums over columns, and their least margins without the table.

A signal s is a tuple of one level per column, and cost[x,s] = sum_k tables[k][codes[x,k], s_k]. The bound asks for
    min_s (cost[x,s] - u[s].losses[x])     for every x.
Few replies u[s] and few rows losses[x] are different, so what is paid is looked up. Where all numbers are short
integers over a common denominator, floats hold every sum and are the answer. Elsewhere a float margin of k terms is off
by at most k units of the sum of their sizes (doubled, for the rounding of this bound itself); what lies that near to
the least one is computed in fractions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.program.bound import Program, Replies, Weights
from bap_lp.support.rational import EXACT, UNIT, Array, ReadOnly, common_denominator, floats, objects

_CELLS = 1 << 20  # margins at once
_WHOLE = 2.0**52  # integers that floats hold, with room
_TINY = 1e-290  # covers underflow


@dataclass(frozen=True, eq=False)
class SummedCost(ReadOnly):
    """cost[x,s] = sum_k tables[k][codes[x,k], s_k] for all tuples s of levels, in lexicographic order; not negative."""

    tables: tuple[Array, ...]
    codes: Array

    @cached_property
    def levels(self) -> tuple[int, ...]:
        return tuple(table.shape[1] for table in self.tables)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.codes), prod(self.levels)

    def entries(self, x: Array, s: Array) -> Array:
        out = EXACT.zeros(len(x))
        for k, level in enumerate(np.unravel_index(s, self.levels)):
            out = out + self.tables[k][self.codes[x, k], level]
        return out

    def least(self, losses: Array, u: Array) -> tuple[Array, Array]:
        """min_s (cost[x,s] - u[s].losses[x]) for every x, exactly, and the first s that attains it.

        losses, u: exact and not negative, states x columns and signals x columns.
        """
        rows, kind = _different(losses)
        replies, place = _different(u)
        exact = _Paid(rows, replies)
        unit = _whole(self.tables, rows, replies)
        tables = [floats(table * unit) if unit else floats(table) for table in self.tables]
        scale = common_denominator(replies) if unit and replies.size else fmpq(1)
        paid = floats(rows * (unit / scale)) @ floats(replies * scale).T if unit else floats(rows) @ floats(replies).T
        rounding = 2 * (len(tables) + rows.shape[1] + 4) * UNIT
        least, first = [], []
        states, step = len(self.codes), max(1, _CELLS // self.shape[1])
        for cut in (slice(low, min(low + step, states)) for low in range(0, states, step)):
            cost, price = self._dense(tables, cut), paid[kind[cut]][:, place]
            margin = cost - price
            if unit:
                first.append(margin.argmin(axis=1))
                least += [fmpq(int(v)) / unit for v in margin.min(axis=1).tolist()]
                continue
            error = rounding * (cost + price) + _TINY
            x, s = np.nonzero(margin - error <= (margin + error).min(axis=1, keepdims=True))
            found = self.entries(x + cut.start, s) - exact.at(kind[x + cut.start], place[s])
            best: dict[int, tuple[Any, int]] = {}
            for at, value, signal in zip(x.tolist(), found.tolist(), s.tolist(), strict=True):
                if at not in best or value < best[at][0]:
                    best[at] = value, signal
            least += [best[at][0] for at in range(len(cost))]
            first.append(np.array([best[at][1] for at in range(len(cost))]))
        return objects(least), np.concatenate(first) if first else np.zeros(0, dtype=int)

    def _dense(self, tables: list[Array], cut: slice) -> Array:
        codes = self.codes[cut]
        out = np.zeros((len(codes), 1))
        for k, table in enumerate(tables):
            out = (out[:, :, None] + table[codes[:, k]][:, None, :]).reshape(len(codes), -1)
        return out


@dataclass(frozen=True, eq=False)
class SummedProgram(Program):
    """A program whose cost is not laid out, for its bound: one observer at most, and no rows."""

    cost: Any  # a SummedCost

    def _least(self, replies: Replies, weights: Weights, allowed: Array | None) -> Array:
        empty = tuple(self.field.zeros((n, 0)) for n in self.cost.shape)
        losses, u = next(((o.losses, replies[o.name]) for o in self.observers), empty)
        least: Array = self.cost.least(losses, u)[0]
        return least


class _Paid:
    """u[s].losses[x] for every pair of different rows, computed when it is asked for."""

    def __init__(self, rows: Array, replies: Array) -> None:
        self.rows, self.replies = rows, replies
        self.known: dict[tuple[int, int], Any] = {}

    def at(self, row: Array, reply: Array) -> Array:
        out = []
        for pair in zip(row.tolist(), reply.tolist(), strict=True):
            if pair not in self.known:
                self.known[pair] = EXACT.zero + self.rows[pair[0]].dot(self.replies[pair[1]])
            out.append(self.known[pair])
        return objects(out)


def _different(table: Array) -> tuple[Array, Array]:
    """Rows of different objects, and which of them each row is: equal rows made by look-up hold the same objects."""
    seen: dict[tuple[int, ...], int] = {}
    first: list[int] = []
    place = np.empty(len(table), dtype=np.int64)
    for k, row in enumerate(table.tolist()):
        place[k] = at = seen.setdefault(tuple(map(id, row)), len(seen))
        if at == len(first):
            first.append(k)
    return table[first], place


def _whole(tables: tuple[Array, ...], rows: Array, replies: Array) -> fmpq | None:
    """A number that makes every margin an integer below 2^52, and so every partial sum; None if there is none."""
    unit = common_denominator(np.concatenate([rows.ravel(), *(table.ravel() for table in tables)]))
    scale = common_denominator(replies) if replies.size else fmpq(1)
    if unit * scale >= int(_WHOLE):  # as integers: denominators may be too long for floats
        return None
    size = sum(float(table.max()) for table in tables)
    if replies.size:
        size += float(rows.max()) * float(replies.sum(axis=1).max())
    return unit * scale if float(unit * scale) * size < _WHOLE else None
