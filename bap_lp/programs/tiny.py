"""The compact program of a tiny problem by an exact dictionary, with no float detour.

Give each state x a key decision k(x), and each signal i and Eve g a first reply j0. With the slacks
s[i,j] = sum_x E(x,j) rho[x,i] - t[i,g] >= 0 the program in the other variables rho[x,i], i != k(x), and s[i,j0] reads
    rho[x,k(x)] = p(x) - sum_i rho[x,i],        s[i,j] = sum_x (E(x,j) - E(x,j0)) rho[x,i] + s[i,j0],
    min  sum_xi B(x,i) rho[x,i] - lam sum_ig (sum_x E(x,j0) rho[x,i] - s[i,j0]).
Keys that are best for Bob, of several the one of least weight, and replies that are best for Eve against them make a
feasible start. Pivots follow the most negative reduced cost, then Bland's rule; further costs choose among optima once
the first has none left. At the optimum the reduced costs of the slacks are Eve's replies u.
"""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.model.arrays import Arrays
from bap_lp.rational import EXACT, Array

MOST = 600  # entries of the dictionary up to which HiGHS with an exact check is slower: about (8, 4, 4)
_PATIENCE = 50  # pivots before Bland's rule

_Row = list[Any]


def dictionary_size(arrays: Arrays) -> int:
    (N, b, e), G = arrays.shape, len(arrays.groups)
    return (N + b * (e - G) + 3) * (N * (b - 1) + b * G + 1)


def tiny_optimum(arrays: Arrays, lam: fmpq, weight: Array) -> tuple[Array, Array]:
    """rho and u of the most private optimum, and among those the one of least weight; weight is an N x b table."""
    N, b, e = arrays.shape
    whole = weight.astype(np.int64).tolist()
    start = _Start(arrays, whole)
    costs = [start.objective(start.B, lam), start.objective(None, fmpq(1)), start.objective(whole, fmpq(0))]
    rows, basic, free = start.rows(), start.basic, start.free
    _minimise(rows, costs, basic, free)
    rho, u = EXACT.zeros((N, b)), EXACT.zeros((b, e))
    for row, name in zip(rows, basic, strict=True):
        if name[0]:
            rho[name[1], name[2]] = row[-1]
    for cost, name in zip(costs[0], free, strict=False):
        if not name[0]:
            u[name[1], name[2]] = cost
    return rho, u


def _minimise(rows: list[_Row], costs: list[_Row], basic: list[Any], free: list[Any]) -> None:
    """Pivot in place until no cost falls: the first over all columns, each further one over those left at zero."""
    level, count = 0, 0
    while level < len(costs):
        # the sign of the numerator is found in half the time of a comparison with zero
        falling = [j for j, v in enumerate(costs[level][:-1]) if v.p < 0 and not any(costs[k][j] for k in range(level))]
        if not falling:
            level += 1
            continue
        count += 1
        own = costs[level]
        j = min(falling, key=free.__getitem__) if count > _PATIENCE else min(falling, key=own.__getitem__)
        # a basic variable is row[-1] - sum row[j] free[j]
        limits = [(row[-1] / row[j], basic[k], k) for k, row in enumerate(rows) if row[j].p > 0]
        _, _, r = min(limits)
        pivot = rows[r][j]
        row = [v / pivot for v in rows[r]]
        row[j] = 1 / pivot
        for other in (*rows, *costs):
            if other is not rows[r]:
                factor = other[j]
                if factor:
                    other[:] = [v - factor * w if w else v for v, w in zip(other, row, strict=True)]
                    other[j] = -factor / pivot
        rows[r] = row
        basic[r], free[j] = free[j], basic[r]


class _Start:
    """The first dictionary. Variables are named (1, x, i) for rho and (0, i, j) for slacks."""

    def __init__(self, arrays: Arrays, weight: list[list[int]]) -> None:
        self.p, self.B, self.E = arrays.p.tolist(), arrays.B.tolist(), arrays.E.tolist()
        N, b, _ = arrays.shape
        self.key = [min(zip(*row, range(b), strict=True))[2] for row in zip(self.B, weight, strict=True)]
        sums = [[fmpq(0)] * len(self.E[0]) for _ in range(b)]
        for x, i in enumerate(self.key):
            sums[i] = [s + self.p[x] * v for s, v in zip(sums[i], self.E[x], strict=True)]
        self.groups = [range(g.start, g.stop) for g in arrays.groups]
        self.first = [[min(g, key=sums[i].__getitem__) for g in self.groups] for i in range(b)]
        self.moves = [(x, i) for x in range(N) for i in range(b) if i != self.key[x]]
        self.tight = [(i, j) for i in range(b) for j in self.first[i]]
        self.slack = [
            (i, j, first)
            for i in range(b)
            for g, first in zip(self.groups, self.first[i], strict=True)
            for j in g
            if j != first
        ]
        self.free = [*((1, x, i) for x, i in self.moves), *((0, i, j) for i, j in self.tight)]
        self.basic: list[Any] = [*((1, x, i) for x, i in enumerate(self.key)), *((0, i, j) for i, j, _ in self.slack)]
        self.sums = sums
        heard = [[reduce(add, [row[j] for j in first]) for first in self.first] for row in self.E]
        self.heard = [heard[x][i] - heard[x][self.key[x]] for x, i in self.moves]

    def rows(self) -> list[_Row]:
        """Basic variables as constant minus row times free variables; the constant stands last."""
        zero, one = fmpq(0), fmpq(1)
        out = [[*(one if x == at else zero for x, _ in self.moves), *(zero for _ in self.tight), self.p[at]]
               for at in range(len(self.key))]  # fmt: skip
        for i, j, first in self.slack:
            row = []
            for x, signal in self.moves:
                d = self.E[x][j] - self.E[x][first]
                row.append(-d if signal == i else d if self.key[x] == i else zero)
            row += [-one if pair == (i, first) else zero for pair in self.tight]
            out.append([*row, self.sums[i][j] - self.sums[i][first]])
        return out

    def objective(self, losses: list[_Row] | None, lam: fmpq) -> _Row:
        """Reduced costs of the free variables for the cost `losses` on rho and -lam on t; the last entry is unused."""
        told = [-lam * v for v in self.heard]
        if losses is not None:
            told = [v + losses[x][i] - losses[x][self.key[x]] for v, (x, i) in zip(told, self.moves, strict=True)]
        return [*told, *([lam] * len(self.tight)), fmpq(0)]
