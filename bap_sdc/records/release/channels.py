"""Channels on records: the optimum and what people would have used instead, under one interface.

A channel q(s|x) sends a record of type x to one of `signals` signals; a signal is a tuple of symbols, one per published
column. Everything that is measured needs two sums only,
    joint      J[g,s] = sum_{x in g} w(x) q(s|x)             weights of types, added up by group g and signal
    expect     v(x) = sum_s q(s|x) V[g(x),s]                 the mean of a table over the signals of each type
so no table of types times signals is ever made. Where columns are perturbed independently, q is a product of one
matrix per column, and both sums are contractions column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np

from bap_lp.support.rational import EXACT, Array, ReadOnly, floats
from bap_sdc.records.data.prior import keys, rows_of

Rule = Callable[[Array], Sequence[tuple[Array, Array]]]  # new types -> decisions and probabilities of each


class RecordChannel(Protocol):
    """What a channel can do. `symbols`: how many symbols each published column has."""

    @property
    def name(self) -> str: ...

    @property
    def symbols(self) -> tuple[int, ...]: ...

    @property
    def signals(self) -> int: ...

    def decode(self, signals: Array) -> Array:
        """The symbols of signals, a row each."""
        ...

    def joint(self, types: Array, weights: Array, group: Array, groups: int) -> Array:
        """J, groups x signals, in floats."""
        ...

    def expect(self, types: Array, group: Array, table: Array) -> Array:
        """v, one number per type, in floats."""
        ...


@dataclass(frozen=True, eq=False)
class TableChannel(ReadOnly):
    """A channel given row by row on the types of a fit; `rule` answers for all other types.

    key: (N,) keys of the fitted types in order. start: (N + 1,) where rows begin in decision and probability. used: the
    decisions that are sent, in order: signal s is decision used[s].
    """

    name: str
    levels: tuple[int, ...]
    published: tuple[int, ...]
    key: Array
    start: Array
    decision: Array
    probability: Array
    rule: Rule

    @cached_property
    def used(self) -> Array:
        return np.unique(self.decision)

    @property
    def symbols(self) -> tuple[int, ...]:
        return tuple(self.levels[k] for k in self.published)

    @property
    def signals(self) -> int:
        return len(self.used)

    def decode(self, signals: Array) -> Array:
        return np.column_stack(np.unravel_index(self.used[signals], self.symbols))

    def unseen(self, types: Array) -> Array:
        """Whether each type is not one of the fit."""
        key = keys(types, self.levels)
        return self.key[np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)] != key

    def over(self, types: Array) -> TableChannel:
        """The same channel with rows of its own for these types too, by the rule if they are new."""
        new = keys(types[self.unseen(types)], self.levels)
        if not len(new):
            return self
        new = np.unique(new)
        rows = self.rule(rows_of(new, self.levels))
        key = np.concatenate([self.key, new])
        order = np.argsort(key, kind="stable")
        length = np.concatenate([np.diff(self.start), [len(d) for d, _ in rows]])
        first = np.concatenate(
            [self.start[:-1], len(self.decision) + np.cumsum(length[len(self.key) :]) - length[len(self.key) :]]
        )
        at = _ranges(first[order], length[order])
        decision = np.concatenate([self.decision, *(d for d, _ in rows)])[at]
        probability = np.concatenate([self.probability, *(q for _, q in rows)])[at]
        start = np.concatenate([[0], np.cumsum(length[order])])
        return replace(self, key=key[order], start=start, decision=decision, probability=probability)

    def rows(self, types: Array) -> tuple[Array, Array, Array]:
        """(row, signal, probability): the entries of the channel at types of its own, as rows of `types`."""
        at = np.searchsorted(self.key, keys(types, self.levels))
        length = self.start[at + 1] - self.start[at]
        entry = _ranges(self.start[at], length)
        signal = np.searchsorted(self.used, self.decision[entry])
        return np.repeat(np.arange(len(types)), length), signal, self.probability[entry]

    def joint(self, types: Array, weights: Array, group: Array, groups: int) -> Array:
        row, signal, q = self.rows(types)
        mass = weights[row] * floats(q).astype(float)
        flat = np.bincount(group[row] * self.signals + signal, mass, minlength=groups * self.signals)
        return flat.reshape(groups, self.signals)

    def expect(self, types: Array, group: Array, table: Array) -> Array:
        row, signal, q = self.rows(types)
        return np.bincount(row, floats(q).astype(float) * table[group[row], signal], minlength=len(types))


def _ranges(first: Array, length: Array) -> Array:
    """first[0], first[0] + 1, ... (length[0] of them), first[1], ..."""
    before = np.cumsum(length) - length
    return np.arange(length.sum()) - np.repeat(before, length) + np.repeat(first, length)


@dataclass(frozen=True, eq=False)
class ColumnChannel(ReadOnly):
    """Columns perturbed independently: matrices[k][i, s] is the probability of symbol s where column k has level i."""

    name: str
    published: tuple[int, ...]
    matrices: tuple[Array, ...]

    @property
    def symbols(self) -> tuple[int, ...]:
        return tuple(m.shape[1] for m in self.matrices)

    @property
    def levels(self) -> tuple[int, ...]:
        return tuple(m.shape[0] for m in self.matrices)

    @property
    def signals(self) -> int:
        return prod(self.symbols)

    def decode(self, signals: Array) -> Array:
        return np.column_stack(np.unravel_index(signals, self.symbols))

    def place(self, types: Array) -> Array:
        """The row of every type in the product of the matrices."""
        return keys(types[:, list(self.published)], self.levels)

    def joint(self, types: Array, weights: Array, group: Array, groups: int) -> Array:
        at = group * prod(self.levels) + self.place(types)
        mass = np.bincount(at, weights, minlength=groups * prod(self.levels))
        return contracted(mass.reshape(groups, *self.levels), [floats(m).astype(float) for m in self.matrices])

    def expect(self, types: Array, group: Array, table: Array) -> Array:
        tensor = table.reshape(len(table), *(m.shape[1] for m in self.matrices))
        means = contracted(tensor, [floats(m).astype(float).T for m in self.matrices])
        return means[group, self.place(types)]


@dataclass(frozen=True, eq=False)
class KeyedChannel(ColumnChannel):
    """A release that looks only at some columns: row k of its only matrix is the distribution of the signal where their
    joint value is the k-th of `key`; a value that is not there gets the last row. sizes: levels of all columns."""

    sizes: tuple[int, ...]
    columns: tuple[int, ...]
    key: Array

    @property
    def symbols(self) -> tuple[int, ...]:
        return tuple(self.sizes[k] for k in self.published)

    def place(self, types: Array) -> Array:
        columns = list(self.columns)
        key = keys(types[:, columns], [self.sizes[k] for k in columns])
        at = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[at] == key, at, len(self.matrices[0]) - 1)


def identity(size: int) -> Array:
    """The channel that changes nothing, exactly."""
    out = EXACT.zeros((size, size))
    np.fill_diagonal(out, EXACT.one)
    return out


def contracted(tensor: Array, matrices: Sequence[Any]) -> Array:
    """Axes 1, 2, ... of a tensor multiplied by one matrix each; the result has axis 0 and one axis for all others."""
    for matrix in matrices:
        tensor = np.tensordot(tensor, matrix, axes=(1, 0))  # the new axis goes to the end, so all return to their order
    return tensor.reshape(len(tensor), -1)


def sample(channel: RecordChannel, types: Array, generator: np.random.Generator) -> Array:
    """One signal per row of types, for rehearsals: floats and a seeded generator, never for publication."""
    out = np.empty(len(types), dtype=np.int64)
    draw = generator.random(len(types))
    if isinstance(channel, KeyedChannel):
        rows = channel.place(types)
        table = floats(channel.matrices[0]).astype(float)
        for k in np.unique(rows):
            wheel = np.cumsum(table[k])
            mine = rows == k
            out[mine] = np.minimum(np.searchsorted(wheel, draw[mine] * wheel[-1], side="right"), len(wheel) - 1)
        return out
    if isinstance(channel, ColumnChannel):
        symbols = []
        for k, matrix in zip(channel.published, channel.matrices, strict=True):
            wheel = np.cumsum(floats(matrix).astype(float), axis=1)
            draw = generator.random(len(types))
            hits = (draw[:, None] * wheel[:, -1:][types[:, k]] >= wheel[types[:, k]]).sum(axis=1)
            symbols.append(np.minimum(hits, matrix.shape[1] - 1))
        return np.ravel_multi_index(symbols, channel.symbols)
    assert isinstance(channel, TableChannel)
    distinct, inverse = np.unique(keys(types, channel.levels), return_inverse=True)
    row, signal, q = channel.rows(rows_of(distinct, channel.levels))
    # cumulated within each row and shifted by the number of the row, all rows form one increasing sequence
    wheel = np.cumsum(floats(q).astype(float))
    start = np.searchsorted(row, np.arange(len(distinct)))
    before = np.concatenate([[0.0], wheel])[start]
    wheel = np.minimum(wheel - before[row], 1.0) + row
    last = np.append(start[1:], len(row)) - 1
    at = np.searchsorted(wheel, inverse + draw, side="right")
    return signal[np.clip(at, start[inverse], last[inverse])]
