"""Passes over the states: what a reply u of Eve makes of each of them, in blocks, on both cores.

Alice's rule at u releases, at state x, the i that minimises R[x,i] = B[x,i] - sum_j u[i,j] E[x,j].  Weak duality makes
sum_x p[x] min_i R[x,i] a lower bound for every u >= 0 whose rows sum to lam over each group; the distance from the
minimum to the runner-up is the margin by which the state is decided.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

Array = np.ndarray
BLOCK = 16384


@dataclass(frozen=True)
class Sweep:
    """At one u: the dual function, the rule key[x] and its margin, rows[i,j] = sum of p E over key = i, cost of p B.

    `late` lists the states where the rule beats an earlier one by more than a tolerance.
    """

    bound: float
    key: Array
    margin: Array
    rows: Array
    cost: float
    late: Array


def cuts(n: int) -> Iterator[slice]:
    return (slice(k, min(k + BLOCK, n)) for k in range(0, n, BLOCK))


def over(pool: Executor | None, function: Callable[[slice], Any], n: int) -> list[Any]:
    return list(map(function, cuts(n)) if pool is None else pool.map(function, cuts(n)))


def reduced(B: Array, E: Array, u: Array) -> Array:
    """R transposed, (b, n)."""
    R = np.array(B.T, dtype=float, order="C")
    R -= u @ E.T
    return R


def two_least(R: Array) -> tuple[Array, Array, Array]:
    """Row of the least entry of every column, that entry, and the lead on the next one."""
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


def spread(losses: Array) -> float:
    """The largest max - min of a row; column by column, since rows are short."""
    return float((reduce(np.maximum, losses.T) - reduce(np.minimum, losses.T)).max())


def sweep(
    p: Array, B: Array, E: Array, u: Array, pool: Executor | None = None, held: Array | None = None, tol: float = 0.0
) -> Sweep:
    """One pass at u; `held` is an earlier rule to compare with."""
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
        return float(p[cut] @ least), sum_by_key(p[cut], E[cut], key, b), cost, late

    bound, rows, cost, late = zip(*over(pool, work, n), strict=True)
    return Sweep(math.fsum(bound), keys, margins, np.sum(rows, axis=0), math.fsum(cost), np.concatenate(late))


def least_replies(rows: Array, groups: Sequence[slice]) -> Array:
    """sum over i and groups of min_j rows[i, j]: Eve's risk, by signal and group."""
    return np.stack([rows[:, part].min(axis=1) for part in groups], axis=1)


def project(u: Array, groups: Sequence[slice], total: float) -> Array:
    """The nearest cheap point with rows >= 0 that sum to total over every group, up to rounding of the last bit."""
    out = np.maximum(u, 0.0)
    for part in groups:
        sums = out[:, part].sum(axis=1, keepdims=True)
        width = part.stop - part.start
        out[:, part] = np.where(sums > 0, out[:, part] * (total / np.where(sums > 0, sums, 1.0)), total / width)
    return out
