"""Passes over the states: what Eve's replies u make of each of them, in blocks, on both cores.

Alice's rule at u releases, at state x, the i that minimises R[x,i] = B(x,i) - sum_j u[i,j] E(x,j). Weak duality makes
sum_x p(x) min_i R[x,i] a lower bound for every u >= 0 whose rows sum to lam for each Eve. The distance from the minimum
to the second least entry is the margin by which the state is decided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from bap_lp.model.sums.arrays import Arrays
from bap_lp.rational import Array

_BLOCK = 16384  # states whose tables stay in a core's cache


@dataclass(frozen=True)
class Pricing:
    """At one u: the dual function, the rule key[x] and its margin, rows[i,j] = sum of p E over key = i, cost of p B.

    `late` lists the states where the rule beats an earlier one by more than a tolerance.
    """

    bound: float
    key: Array
    margin: Array
    rows: Array
    cost: float
    late: Array


def _cuts(n: int) -> Iterator[slice]:
    return (slice(k, min(k + _BLOCK, n)) for k in range(0, n, _BLOCK))


def over(pool: Executor | None, function: Callable[[slice], Any], n: int) -> list[Any]:
    """The function of every block of n states, in order."""
    return list(map(function, _cuts(n)) if pool is None else pool.map(function, _cuts(n)))


def reduced(B: Array, E: Array, u: Array) -> Array:
    """R transposed, (b, n)."""
    R = np.array(B.T, dtype=float, order="C")
    R -= u @ E.T
    return R


def two_least(R: Array) -> tuple[Array, Array, Array]:
    """Row of the least entry of every column, that entry, and its distance to the next one."""
    least = R[0].copy()
    key = np.zeros(R.shape[1], dtype=np.int32)
    if len(R) == 1:
        return key, least, np.full(least.shape, np.inf)
    second = np.full(least.shape, np.inf)
    for i in range(1, len(R)):
        below = R[i] < least
        np.minimum(second, np.maximum(R[i], least), out=second)
        np.minimum(least, R[i], out=least)
        key[below] = i
    second -= least
    return key, least, second


def sum_by_key(weights: Array, E: Array, key: Array, b: int) -> Array:
    """rows[i, j] = sum of weights * E[:, j] over the states with key i."""
    return np.stack([np.bincount(key, weights=weights * E[:, j], minlength=b) for j in range(E.shape[1])], axis=1)


def centred(rows: Array, groups: Sequence[slice]) -> Array:
    """Each row with mean zero over each Eve's decisions: a constant only shifts t."""
    out = rows.copy()
    for g in groups:
        out[:, g] -= out[:, g].mean(axis=1, keepdims=True)
    return out


def largest_spread(arrays: Arrays, lam: float, pool: Executor | None = None) -> float:
    """The largest max - min of Bob's losses at one state, or of lam times those of one Eve."""

    def spread(losses: Array) -> float:  # column by column, since rows are short
        return float((reduce(np.maximum, losses.T) - reduce(np.minimum, losses.T)).max())

    def work(cut: slice) -> float:
        return max(spread(arrays.B[cut]), *(lam * spread(arrays.E[cut, g]) for g in arrays.groups))

    return max(over(pool, work, len(arrays.p)))


def pass_over(
    arrays: Arrays, u: Array, pool: Executor | None = None, held: Array | None = None, tol: float = 0.0
) -> Pricing:
    """One pass over all states at u; `held` is an earlier rule to compare with."""
    p, B, E = arrays.p, arrays.B, arrays.E
    n, b = B.shape
    keys, margins = np.empty(n, dtype=np.int32), np.empty(n)

    def work(cut: slice) -> tuple[float, Array, float, Array]:
        R = reduced(B[cut], E[cut], u)
        key, least, margin = two_least(R)
        keys[cut], margins[cut] = key, margin
        cost = float(p[cut] @ np.take_along_axis(B[cut], key[:, None], axis=1)[:, 0])
        late = np.empty(0, dtype=np.intp)
        if held is not None:
            late = np.flatnonzero(R[held[cut], np.arange(len(key))] - least > tol) + cut.start
        return float((p[cut] * least).sum()), sum_by_key(p[cut], E[cut], key, b), cost, late

    bound, rows, cost, late = zip(*over(pool, work, n), strict=True)
    return Pricing(math.fsum(bound), keys, margins, np.sum(rows, axis=0), math.fsum(cost), np.concatenate(late))
