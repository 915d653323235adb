"""Summing out the cells of a table one after another: forwards in floats, backwards in exact integers.

Given P(x) L(x,d) for every table x and decision d, and laws q_1, ..., q_k of what each cell shows, step j maps numbers
for all possible (s_1..s_{j-1}, x_j..x_k) to numbers for all possible (s_1..s_j, x_{j+1}..x_k): a sparse matrix.
Let C be the product of the k matrices, so that C[s,x] = q(s|x). Then

    R = sum_s min_d c(s,d),   c = C (P L),      and with a minimiser d(s)   R = sum_x P(x) sum_d L(x,d) Q(x,d),
    Q(x,d) = sum over the s with d(s) = d of q(s|x).

Floats find d(s). Where they cannot tell two decisions apart, c(s,d) is computed exactly for these s. Q is a sum of
integers over a common denominator, below 2^62 in one pass, otherwise modulo several primes. So the long numbers in P
and L are multiplied once per table and decision, and never once per published table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpz

from bap_lp.support.rational import Array, common_denominator, floats, objects

_MOST_TERMS = {True: 12_000_000, False: 20_000_000}  # entries of all matrices if exact, of one if not
_MOST_TIES = 20_000_000  # exact products that may be spent on decisions which floats cannot tell apart
_WORD, _TINY = 2**62, 1e-290


class TooLarge(Exception):
    """There are too many published tables."""


@dataclass(frozen=True, eq=False)
class _Pass:
    """One step as a sparse matrix: row r has entries chances[at] in columns `source`, at indptr[r] to indptr[r + 1]."""

    indptr: Array
    source: Array
    at: Array
    chances: Array
    columns: int

    def matrix(self, chances: Array) -> Any:
        from scipy.sparse import csr_array

        return csr_array((chances[self.at], self.source, self.indptr), shape=(len(self.indptr) - 1, self.columns))


def suffixes(tables: Array) -> tuple[Array, list[tuple[Array, Array]]]:
    """Numbers for the ends (x_j..x_k) of all tables: that of each table, and for every j first count and rest."""
    numbers, steps = np.zeros(len(tables), dtype=np.int64), []
    for column in tables.T[::-1]:
        width = int(numbers.max()) + 1
        keys, found = np.unique(column.astype(np.int64) * width + numbers, return_inverse=True)
        steps.append((keys // width, keys % width))
        numbers = found
    return numbers, steps[::-1]


def passes(known: Array, codes: Array, q: list[Array], exact: bool) -> Iterator[_Pass]:
    """The matrices, first cell first: a column of `codes` for every cell, and `known`, what the agent knows besides."""
    suffix, steps = suffixes(codes)
    dense = all(np.count_nonzero((part != 0).any(axis=1)) * part.shape[1] == np.count_nonzero(part != 0) for part in q)
    if dense and not known.any():  # everything is possible: the number of terms is known in advance
        wide = np.cumprod([float(part.shape[1]) for part in q])
        terms = [wide[j] * len(step[0]) for j, step in enumerate(steps)]
        if (sum(terms) if exact else max(terms)) > _MOST_TERMS[exact]:
            raise TooLarge
    budget = _MOST_TERMS[exact]
    for (value, following), part in zip(steps, q, strict=True):
        m, shown = np.nonzero(part != 0)
        sizes = np.bincount(m, minlength=len(part))
        here = value[suffix]
        size = sizes[here]
        if int(size.sum()) > budget:
            raise TooLarge
        budget -= int(size.sum()) if exact else 0
        row = np.repeat(np.arange(len(here)), size)
        at = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size) + (np.cumsum(sizes) - sizes)[here][row]
        width = int(following.max()) + 1
        key = (known[row] * part.shape[1] + shown[at]) * width + following[suffix][row]
        order = np.argsort(key, kind="stable")
        starts = np.flatnonzero(np.diff(key[order], prepend=-1))
        yield _Pass(np.append(starts, len(key)), row[order], at[order], part[m, shown], len(suffix))
        key = key[order][starts]
        known, suffix = np.unique(key // width, return_inverse=True)[1], key % width


def forwards(steps: Iterator[_Pass] | list[_Pass], values: Array) -> Array:
    """c(s, d) in floats."""
    for step in steps:
        values = step.matrix(floats(step.chances)) @ values
    return values


def exact_risks(steps: list[_Pass], rough: Array, values: Array, agents: list[slice], relative: float) -> list[fmpz]:
    """The risk of every agent (a slice of columns) from P(x) L(x,d), in floats and in integers over some unit.

    The risks are returned times that unit and times the product of the scales of the steps. `relative` bounds the
    relative error of the float results.
    """
    rough = forwards(steps, rough)
    chosen = np.zeros(rough.shape, dtype=np.int64)
    for columns in agents:
        table = rough[:, columns]
        near = table * (1 - 2 * relative) <= table.min(axis=1, keepdims=True) * (1 + 2 * relative) + _TINY
        best = table.argmin(axis=1)
        ties = np.flatnonzero(near.sum(axis=1) > 1)
        if len(ties):
            best[ties] = _exactly(steps, ties, values[:, columns]).argmin(axis=1)
        chosen[np.arange(len(best)), columns.start + best] = 1
    shares = _backwards(steps, chosen)
    return [_total(values[:, columns], shares[:, columns]) for columns in agents]


def _total(values: Array, shares: Array) -> fmpz:
    live = shares != 0
    terms = values[live] * objects(fmpz(int(v)) for v in shares[live].tolist())
    return terms.sum() if len(terms) else fmpz(0)


def _exactly(steps: list[_Pass], rows: Array, values: Array) -> Array:
    """c(s,d) for some published tables, as integers."""
    needed = [rows]
    for step in reversed(steps):
        pieces = step.matrix(np.arange(len(step.chances)) + 1)[needed[-1]]
        needed.append(np.unique(pieces.indices))
    if sum(map(len, needed)) * values.shape[1] > _MOST_TIES:
        raise TooLarge
    values = values[needed[-1]]
    for step, kept, wanted in zip(steps, needed[:0:-1], needed[-2::-1], strict=True):
        pieces = step.matrix(np.arange(len(step.chances)) + 1)[wanted]
        chances = scaled(step.chances)[0][pieces.data - 1]
        terms = values[np.searchsorted(kept, pieces.indices)] * chances[:, None]
        values = np.add.reduceat(terms, pieces.indptr[:-1], axis=0)
    return values


def scaled(q: Array) -> tuple[Array, fmpz]:
    """Rationals as integers over their common denominator."""
    scale = common_denominator(q)
    return objects((v * scale).p for v in q.ravel().tolist()).reshape(q.shape), scale.p


def _backwards(steps: list[_Pass], chosen: Array) -> Array:
    """Q(x,d) times the product of the scales of all steps."""
    numerators = [scaled(step.chances) for step in steps]
    whole = math.prod(int(scale) for _, scale in numerators)
    if whole < _WORD:
        return _product(steps, [part.astype(np.int64) for part, _ in numerators], chosen, None)
    longest = max(int(np.bincount(step.source).max()) for step in steps)
    prime, modulus = math.isqrt(2**62 // longest), 1
    out = np.zeros((steps[0].columns, chosen.shape[1]), dtype=object)
    while modulus <= whole:  # the Chinese remainder theorem, a prime at a time
        prime = next(p for p in range(prime - 1, 1, -1) if fmpz(p).is_prime())
        parts = [np.array([int(v) % prime for v in part.tolist()], dtype=np.int64) for part, _ in numerators]
        found = _product(steps, parts, chosen, prime).astype(object)
        out = out + modulus * ((found - out) * pow(modulus, -1, prime) % prime)
        modulus *= prime
    return out


def _product(steps: list[_Pass], chances: list[Array], chosen: Array, prime: int | None) -> Array:
    out = chosen
    for step, part in zip(reversed(steps), reversed(chances), strict=True):
        out = step.matrix(part).T @ out
        if prime is not None:
            out %= prime
    return out


def pooled(q: Array) -> Array:
    """q(o|m) with outputs of proportional columns taken together.

    Both outputs lead to the same beliefs, so nobody can use the difference. An example is noise that leads below the
    least, or above the largest, possible count.
    """
    rough = floats(q)
    sums = rough.sum(axis=0)
    shapes = np.round(rough / np.where(sums > 0, sums, 1.0), 9) + 0.0
    alike: dict[bytes, list[int]] = {}  # columns by their rounded shape; those that differ by rounding stay apart
    for o in np.flatnonzero((q != 0).any(axis=0)).tolist():
        alike.setdefault(shapes[:, o].tobytes(), []).append(o)
    heads: list[tuple[int, list[int]]] = []
    for group in alike.values():
        found: list[tuple[int, list[int]]] = []
        for o in group:
            same = next((members for head, members in found if _proportional(q[:, head], q[:, o])), None)
            if same is None:
                found.append((o, [o]))
            else:
                same.append(o)
        heads += found
    out = q[:, [head for head, _ in heads]]
    for k, (_, members) in enumerate(heads):
        for o in members[1:]:
            out[:, k] = out[:, k] + q[:, o]
    return out


def _proportional(one: Array, other: Array) -> bool:
    live = np.flatnonzero(one != 0)
    if not np.array_equal(live, np.flatnonzero(other != 0)):
        return False
    return bool((one[live] * other[live[0]] == other[live] * one[live[0]]).all())
