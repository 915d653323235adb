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

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.clock import check
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual, compact
from bap_lp.rational import EXACT, Array

_MOST = 600  # entries of the dictionary up to which HiGHS with an exact check is slower: about (8, 4, 4)
_LONG = 300  # bits from which every pivot costs as much as the exact check: 6000 digits at (6, 4, 4) in 0.2 s, not 400
_PATIENCE = 50  # pivots before Bland's rule
_COSTS = 3  # R_A, minus R_E, the weights

_Row = list[Any]


@dataclass(frozen=True, eq=False)
class JointOptimum:
    """An optimal joint table rho, Eve's replies u, the bound they prove, and how they were found."""

    rho: Array
    u: Array
    bound: Any
    how: str


def proved(arrays: Arrays, lam: Any, u: Array) -> Any:
    """The bound that Eve's replies prove."""
    return compact(arrays, lam).bound(Dual({"eve": u}, {})) if arrays.exact else arrays.bound(u)


def is_tiny(arrays: Arrays) -> bool:
    (N, b, e), G = arrays.shape, len(arrays.groups)
    few = (N + b * (e - G) + _COSTS) * (N * (b - 1) + b * G + 1) <= _MOST
    return few and arrays.exact and not any(v.height_bits() > _LONG for v in (*arrays.B.flat, *arrays.E.flat))


def tiny_optimum(arrays: Arrays, lam: fmpq, weight: Array) -> JointOptimum:
    """The most private optimum, and among those the one of least weight; weight is an N x b table."""
    N, b, e = arrays.shape
    rows, basic, free = _start(arrays, lam, weight.astype(np.int64).tolist())
    costs = [rows.pop() for _ in range(_COSTS)][::-1]
    _minimise(rows, costs, basic, free)
    rho, u = EXACT.zeros(N * b), EXACT.zeros(b * e)
    for row, name in zip(rows, basic, strict=True):
        if name >= 0:
            rho[name] = row[-1]
    for cost, name in zip(costs[0], free, strict=False):
        if name < 0:
            u[name] = cost
    u = u.reshape(b, e)
    return JointOptimum(rho.reshape(N, b), u, proved(arrays, lam, u), "compact program, exact simplex")


def _minimise(rows: list[_Row], costs: list[_Row], basic: list[int], free: list[int]) -> None:
    """Pivot in place until no cost falls: the first over all columns, each further one over those left at zero."""
    level, count = 0, 0
    while level < len(costs):
        check()
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


def _start(arrays: Arrays, lam: fmpq, weight: list[list[int]]) -> tuple[list[_Row], list[int], list[int]]:
    """The first dictionary, with the costs as its last rows, and the names of its basic and of its free variables.

    rho[x,i] is named x b + i, and s[i,j] by the place of (i, j) from the end of u, a negative number. A basic variable
    is a constant, which stands last, minus its row times the free variables; a row of costs has the reduced costs.
    """
    p, B, E = arrays.p.tolist(), arrays.B.tolist(), arrays.E.tolist()
    (_, b, e), zero, one = arrays.shape, EXACT.zero, EXACT.one
    key = [min(zip(losses, at, range(b), strict=True))[2] for losses, at in zip(B, weight, strict=True)]
    sums = [[zero] * e for _ in range(b)]  # sum_x E(x,j) rho[x,i] at the keys
    for mass, i, losses in zip(p, key, E, strict=True):
        sums[i] = [s + mass * v for s, v in zip(sums[i], losses, strict=True)]
    basic, free = [x * b + i for x, i in enumerate(key)], []
    columns, constants = [], p
    groups = [range(g.start, g.stop) for g in arrays.groups]
    first = [[min(g, key=heard.__getitem__) for g in groups] for heard in sums]
    slack: list[list[tuple[int, int, int]]] = [[] for _ in first]  # per signal: row, reply and first reply
    for i, (heard, replies) in enumerate(zip(sums, first, strict=True)):
        for g, j0 in zip(groups, replies, strict=True):
            for j in g:
                if j != j0:
                    slack[i].append((len(basic), j, j0))
                    basic.append((i - b) * e + j)
                    constants.append(heard[j] - heard[j0])
    nothing = [zero] * len(basic)
    for x, (k, losses) in enumerate(zip(key, E, strict=True)):
        for i, replies in enumerate(first):
            if i != k:
                column = nothing.copy()
                column[x] = one
                for r, j, j0 in slack[i]:
                    column[r] = losses[j0] - losses[j]
                for r, j, j0 in slack[k]:
                    column[r] = losses[j] - losses[j0]
                less = sum([losses[j] - losses[j0] for j, j0 in zip(first[k], replies, strict=True)])
                columns.append([*column, B[x][i] - B[x][k] + lam * less, less, fmpq(weight[x][i] - weight[x][k])])
                free.append(x * b + i)
    for i, replies in enumerate(first):
        for own in replies:
            column = nothing.copy()
            for r, _, j0 in slack[i]:
                if j0 == own:
                    column[r] = -one
            columns.append([*column, lam, one, zero])
            free.append((i - b) * e + own)
    return list(map(list, zip(*columns, [*constants, zero, zero, zero], strict=True))), basic, free
