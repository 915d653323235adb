"""All deterministic mechanisms of a small problem: a map a from states to Bob's decisions each, b^N of them.

R_B = sum_x p(x) B(x,a(x)) and R_E = sum_ig min_j sum_{x: a(x)=i} p(x) E(x,j) are computed for all maps at once, in
floats, state by state. A float result is off by at most k u (sum of the sizes of its terms), so the maps that may be
best are known for certain, and only those are computed exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.conditions.conditions import Limits
from bap_lp.model.problem import Problem
from bap_lp.rational import Array, floats, is_exact

MOST = 100_000  # maps that are tried before branch and bound takes over


def enumerable(problem: Problem, limits: Limits) -> bool:
    """Whether the deterministic mechanisms are few enough to try them all; with a margin they are not counted."""
    states = len(problem.p) if limits.pairs is not None else sum(1 for mass in problem.p if mass > 0)
    return limits.margin is None and states * np.log(problem.shape[1]) <= np.log(MOST)


def best_deterministic(
    p: Array, B: Array, E: Array, groups: Sequence[slice], lam: Any, limits: Limits
) -> tuple[Any, Array] | None:
    """(value, map) of the best deterministic mechanism under the limits; None if none meets them.

    States of probability zero follow the first state unless DP between some pairs ties them to others.
    """
    exact, (N, b) = is_exact(p), B.shape
    free = np.arange(N) if limits.pairs is not None else np.array([x for x, mass in enumerate(p) if mass > 0])
    maps = np.zeros((1, N), dtype=np.int8)
    weights, bob_loss, eve_loss = floats(p), floats(B), floats(E)
    bob, cells = np.zeros(1), np.zeros((1, b, E.shape[1]))
    for x in free.tolist():
        count = len(maps)
        maps, bob, cells = np.repeat(maps, b, axis=0), np.repeat(bob, b), np.repeat(cells, b, axis=0)
        choice = np.tile(np.arange(b), count)
        maps[:, x] = choice
        bob += weights[x] * bob_loss[x, choice]
        cells[np.arange(len(maps)), choice] += weights[x] * eve_loss[x]
    idle = np.setdiff1d(np.arange(N), free)
    maps[:, idle] = maps[:, free[:1]]
    keep = _private(maps, limits)
    if limits.max_signals is not None:
        used = np.zeros((len(maps), b), dtype=bool)
        for x in range(N):
            used[np.arange(len(maps)), maps[:, x]] = True
        keep &= used.sum(axis=1) <= limits.max_signals
    maps, bob, cells = maps[keep], bob[keep], cells[keep]
    if not len(maps):
        return None
    eve = sum(cells[:, :, g].min(axis=2).sum(axis=1) for g in groups)
    unit = 4 * (N + b + 8) * 2.0**-53
    bob_error = unit * float(weights @ bob_loss.max(axis=1))
    eve_error = unit * float(sum(weights @ eve_loss[:, g].max(axis=1) for g in groups))
    value, error = bob - float(lam) * eve, bob_error + float(lam) * eve_error
    maybe, sure = np.ones(len(maps), dtype=bool), np.ones(len(maps), dtype=bool)
    if limits.floor is not None:
        maybe &= eve + eve_error >= float(limits.floor) * (1 - unit)
        sure &= eve - eve_error >= float(limits.floor) * (1 + unit)
    if limits.cap is not None:
        maybe &= bob - bob_error <= float(limits.cap) * (1 + unit)
        sure &= bob + bob_error <= float(limits.cap) * (1 - unit)
    best = value[sure].min(initial=np.inf)
    near = np.flatnonzero(maybe & (value <= best + 2 * error))
    if not exact:
        if not len(near):
            return None
        winner = near[value[near].argmin()]
        return float(value[winner]), maps[winner].astype(np.int64)
    found: tuple[Any, Array] | None = None
    for k in near[np.argsort(value[near])].tolist():
        if found is not None and value[k] - error > float(found[0]) + error:
            break  # what follows is worse for certain
        score = _exactly(p, B, E, groups, lam, limits, maps[k])
        if score is not None and (found is None or score < found[0]):
            found = score, maps[k].astype(np.int64)
    return found


def _private(maps: Array, limits: Limits) -> Array:
    """A deterministic channel is private if and only if neighbours are sent to the same signal."""
    keep = np.ones(len(maps), dtype=bool)
    if limits.ratio is not None:
        keep &= (maps == maps[:, :1]).all(axis=1)
    if limits.pairs is not None:
        for x, other in zip(limits.pairs.x.tolist(), limits.pairs.other.tolist(), strict=True):
            keep &= maps[:, x] == maps[:, other]
    return keep


def _exactly(p: Array, B: Array, E: Array, groups: Sequence[slice], lam: Any, limits: Limits, target: Array) -> Any:
    """R_A of one map, or None if it misses the floor or the cap."""
    bob, eve = fmpq(0), fmpq(0)
    for i in np.unique(target).tolist():
        at = np.flatnonzero(target == i)
        bob += p[at].dot(B[at, i])
        losses = p[at].dot(E[at])
        eve += sum((losses[g].min() for g in groups), start=fmpq(0))
    if (limits.floor is not None and eve < limits.floor) or (limits.cap is not None and bob > limits.cap):
        return None
    return bob - lam * eve
