"""All tables of n people with given public totals, and their probabilities.

With theta ~ Dirichlet(alpha) and n people, P(x) = n! / (A)_n prod_i (a_i)_{x_i} / x_i! where (a)_m = a (a+1)...(a+m-1)
and A = sum a_i. This is rational for rational alpha. Cells taken together have the sum of their alphas. If totals are
public, P is conditioned on them, so P(x) = W(x) / sum W with W(x) = prod_i (a_i)_{x_i} / x_i! over the tables that have
these totals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np
from flint import fmpq, fmpz

from bap_lp import InputError
from bap_lp.support.rational import Array, common_denominator, objects
from bap_sdc.count_tables.layout import Set

MOST_TABLES = 2_000_000


@dataclass(frozen=True)
class Population:
    """Who is counted: n people, the prior of their shares, and the totals that are public (cells, number of people)."""

    n: int
    alpha: tuple[fmpq, ...]
    totals: tuple[tuple[Set, int], ...] = ()

    def weight(self, cells: Iterable[int]) -> fmpq:
        """The alpha of several cells taken together."""
        return sum((self.alpha[i] for i in cells), fmpq(0))

    @cached_property
    def mass(self) -> fmpq:
        """A, the sum of all alphas."""
        return self.weight(range(len(self.alpha)))


@dataclass(frozen=True, eq=False)
class Space:
    """The tables x of a population with the cells of each part taken together: a row of `tables` for each.

    `weights` are the numerators of P(x), and `total` is their sum.
    """

    population: Population
    parts: tuple[Set, ...]
    tables: Array
    weights: Array
    total: fmpz

    def __len__(self) -> int:
        return len(self.tables)

    def count(self, cells: Set) -> Array:
        """x_S, the people in the cells S, for every table."""
        inside = [a for a, part in enumerate(self.parts) if part <= cells]
        if sum(len(self.parts[a]) for a in inside) != len(cells):
            raise ValueError("the cells are not a union of parts")
        return self.tables[:, inside].sum(axis=1)

    @cached_property
    def prior(self) -> Array:
        """P(x)."""
        return objects(fmpq(w, self.total) for w in self.weights.tolist())

    def members(self) -> int:
        """How many tables there are when no cells are taken together."""
        if all(len(part) == 1 for part in self.parts):
            return len(self)
        n = self.population.n
        ways = np.array([[comb(m + len(part) - 1, len(part) - 1) for m in range(n + 1)] for part in self.parts], object)
        product = ways[0][self.tables[:, 0]]
        for a in range(1, len(self.parts)):
            product = product * ways[a][self.tables[:, a]]
        return int(product.sum())


def space_of(population: Population, parts: Sequence[Set], most: int = MOST_TABLES) -> Space:
    """Enumerate the tables and compute their weights."""
    totals = [(frozenset(a for a, part in enumerate(parts) if part <= cells), t) for cells, t in population.totals]
    tables = enumerate_tables(population.n, len(parts), totals, most)
    weights = None
    for a, part in enumerate(parts):
        column = urn_weights(population.weight(part), int(tables[:, a].max()))[tables[:, a]]
        weights = column if weights is None else weights * column
    assert weights is not None
    return Space(population, tuple(parts), tables, weights, weights.sum())


def urn_weights(alpha: fmpq, most: int) -> Array:
    """(a)_m / m! for m = 0..most, times their common denominator: integers."""
    out = [fmpq(1)]
    for m in range(most):
        out.append(out[-1] * (alpha + m) / (m + 1))
    values = objects(out)
    scale = common_denominator(values)
    return objects((v * scale).p for v in out)


def enumerate_tables(n: int, cells: int, totals: Sequence[tuple[Set, int]], most: int = MOST_TABLES) -> Array:
    """All vectors of non-negative integers with sum n and the given sums over subsets, in lexicographic order.

    Cells are filled one after another. A value is kept only if every total can still be reached: what a total still
    needs is at most the sum of what its other empty cells can take. For the totals of rows and columns of a two-way
    table this leaves no dead ends, since a table exists whenever the totals that are left have equal sums.
    """
    plain = not totals
    if plain and comb(n + cells - 1, cells - 1) > most:
        raise InputError(
            "tables", None, f"are too many: {_size(comb(n + cells - 1, cells - 1))}, at most {most:,} are allowed"
        )
    rules = [(frozenset(range(cells)), n), *totals]
    inside = np.array([[a in s for a in range(cells)] for s, _ in rules])
    found = np.zeros((1, 0), dtype=np.int32)
    left = np.array([[t for _, t in rules]], dtype=np.int64)
    for a in range(cells):
        mine = np.flatnonzero(inside[:, a])
        top = left[:, mine].min(axis=1)
        closing = [r for r in mine.tolist() if not inside[r, a + 1 :].any()]
        low = left[:, closing].max(axis=1) if closing else np.zeros(len(left), dtype=np.int64)
        size = np.maximum(top - low + 1, 0)
        total = int(size.sum())
        if total > 4 * most + 1000:
            raise InputError("tables", None, f"are too many: more than {total // 4:,}, at most {most:,} are allowed")
        row = np.repeat(np.arange(len(left)), size)
        value = np.arange(total) - np.repeat(np.cumsum(size) - size, size) + low[row]
        left = left[row]
        left[:, mine] -= value[:, None]
        found = np.column_stack([found[row], value.astype(np.int32)])
        if not plain:
            keep = _reachable(left, inside[:, a + 1 :])
            found, left = found[keep], left[keep]
    if len(found) > most:
        raise InputError("tables", None, f"are too many: {len(found):,}, at most {most:,} are allowed")
    if not len(found):
        raise InputError("totals", None, f"leave no table: no table of {n} people has them")
    return found


def _size(count: int) -> str:
    """A count that fits on a line."""
    return f"{count:,}" if count < 10**15 else f"about 10^{len(str(count)) - 1}"


def _reachable(left: Array, inside: Array) -> Array:
    """Where every total that is left is at most what its empty cells can take, and no total is left without cells."""
    keep = np.ones(len(left), dtype=bool)
    if not inside.shape[1]:
        return (left == 0).all(axis=1)
    room = np.stack([left[:, inside[:, a]].min(axis=1) for a in range(inside.shape[1])], axis=1)
    for r in range(left.shape[1]):
        keep &= left[:, r] <= room[:, inside[r]].sum(axis=1)
    return keep
