"""Sums of products of floats to about thirty digits, for tables too large for fractions.

A number is a pair (a, b) of floats that stands for a + b. Products and sums of two floats have an error that is a float
itself (Dekker, 1971; Knuth): carried along, every operation on pairs is right to a relative 2^-98 of the sizes of its
terms, unless numbers come near the ends of the range of floats. `value_and_bound` adds up both ends of a certificate
and moves them apart by more than all errors together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.model.sums.arrays import Arrays, blocks
from bap_lp.rational import EXACT, Array, floats, lifted

_SPLIT = 2.0**27 + 1
_UNIT = EXACT.number(2.0**-98)
Twofold = tuple[Array, Array]


def _product(a: Array, b: Array) -> Twofold:
    high = a * b
    p, q = _SPLIT * a, _SPLIT * b
    a1, b1 = p - (p - a), q - (q - b)
    a2, b2 = a - a1, b - b1
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def _add(x: Twofold, y: Twofold) -> Twofold:
    s = x[0] + y[0]
    t = s - x[0]
    low = (x[0] - (s - t)) + (y[0] - t) + x[1] + y[1]
    high = s + low
    return high, low - (high - s)


def _times(x: Twofold, y: Twofold) -> Twofold:
    high, low = _product(x[0], y[0])
    low = low + x[0] * y[1] + x[1] * y[0]
    out = high + low
    return out, low - (out - high)


def _total(x: Twofold) -> Twofold:
    """The sum over the first axis, in a tree."""
    while len(x[0]) > 1:
        half = len(x[0]) // 2
        paired = _add((x[0][:half], x[1][:half]), (x[0][half : 2 * half], x[1][half : 2 * half]))
        rest = tuple(part[2 * half :] for part in x)
        x = paired if len(x[0]) % 2 == 0 else tuple(map(np.concatenate, zip(paired, rest, strict=True)))  # type: ignore[assignment]
    return x[0][0], x[1][0]


def _exact(x: Twofold) -> Any:
    """The rationals that pairs stand for."""
    high, low = (np.asarray(part).ravel().tolist() for part in x)
    return [EXACT.number(a) + EXACT.number(b) for a, b in zip(high, low, strict=True)]


def value_and_bound(arrays: Arrays, q: Array, lam: fmpq, u: Array) -> tuple[fmpq, fmpq, fmpq, fmpq] | None:
    """(R_B, R_E, R_A, bound) of float arrays, R_A and the bound moved apart by all errors; None if in doubt.

    p is scaled to sum to one. R_B is that of a Bob whom signal i tells to decide i. Rows of q sum to one, u is exact.
    """
    high = floats(u)
    low = floats(u - lifted(high))
    (N, b, e), mass, told, least, size = arrays.shape, [], [], [], 0.0
    heard: Twofold = np.zeros((b, e)), np.zeros((b, e))
    zero = np.zeros(1)
    with np.errstate(over="ignore", invalid="ignore"):
        for cut in blocks(N):
            p, B, E, sent = arrays.p[cut], arrays.B[cut], arrays.E[cut], q[cut]
            mass.append(_total((p, np.zeros_like(p))))
            rho = _product(p[:, None], sent)
            told.append(_total(_total(tuple(part.T for part in _times(rho, (B, np.zeros_like(B)))))))  # type: ignore[arg-type]
            heard = _add(heard, _heard(rho, E))
            own: Twofold = (B, np.zeros_like(B))
            for j in range(e):
                own = _add(own, _times((E[:, [j]], zero), (-high[:, j], -low[:, j])))
            least.append(_total(_times((p, zero), _least(own, slice(0, b)))))
            size += float(p @ (B.max(axis=1) + (E @ high.T).max(axis=1))) + float(p @ E.max(axis=1)) * float(lam)
    if not np.isfinite(size) or (size == 0 and not (arrays.p > 0).all()):
        return None
    tiny = np.abs(arrays.p[arrays.p > 0]).min(initial=1.0)
    if tiny < 1e-140 or arrays.B.max() > 1e140 or arrays.E.max() > 1e140:
        return None  # products near the ends of the range lose their errors
    whole, bob, bound = (sum((_exact(part)[0] for part in parts), EXACT.zero) for parts in (mass, told, least))
    eve = sum((_exact(_total(_least(heard, g)))[0] for g in arrays.groups), EXACT.zero)
    error = _UNIT * (N + b + e + 64) * 4 * EXACT.number(2 * size) * len(arrays.groups)
    return bob / whole, eve / whole, (bob - lam * eve + error) / whole, (bound - error) / whole


def _heard(rho: Twofold, E: Array) -> Twofold:
    """sum_x rho[x,i] E(x,j): (b, e)."""
    high, low = [], []
    for j in range(E.shape[1]):
        own = _total(_times(rho, (E[:, [j]], np.zeros((len(E), 1)))))
        high.append(own[0])
        low.append(own[1])
    return np.stack(high, axis=1), np.stack(low, axis=1)


def _least(x: Twofold, columns: slice) -> Twofold:
    """The least of some columns, in every row."""
    high, low = x[0][:, columns.start], x[1][:, columns.start]
    for a, b in zip(x[0].T[columns.start + 1 : columns.stop], x[1].T[columns.start + 1 : columns.stop], strict=True):
        first = (high < a) | ((high == a) & (low < b))
        high, low = np.where(first, high, a), np.where(first, low, b)
    return high, low
