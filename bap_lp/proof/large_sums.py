"""Both ends of a proof over many states of floats, from the same sums, to about thirty digits.

With w = p q, c = sum w B(x,i), r_ij = sum_x w E(x,j) at signal i and R(x,i) = B(x,i) - u_i.E(x), for rows of q that sum
to one and rows of u that sum to lam over each group,

    R_A = c - lam sum_ig min_{j in g} r_ij,    bound = sum_x p min_k R(x,k) = c - sum u_ij r_ij - sum w s,

where s(x,i) = R(x,i) - min_k R(x,k) is what it costs to send i at x. Signals that are sent are best at u, up to
rounding, so floats with a proved error give the last sum from above. The others are sums of pairs (a, b) of floats that
stand for a + b: products and sums of two floats have an error that is a float itself (Dekker, 1971; Knuth). Carried
along, every operation is right to a relative 2^-98 of its terms, unless numbers come near the ends of the range.
"""

from __future__ import annotations

import numpy as np
from flint import fmpq

from bap_lp.model.sums.arrays import Arrays, blocks
from bap_lp.support.rational import EXACT, UNIT, Array, floats

_SPLIT = 2.0**27 + 1
_RIGHT = EXACT.number(2.0**-98)
_SMALLEST, _LARGEST = 1e-140, 1e140  # products of numbers beyond lose their errors
_TINY = 1e-290  # covers underflow
Twofold = tuple[Array, Array]


def _product(a: Array, b: Array) -> Twofold:
    high = a * b
    p, q = _SPLIT * a, _SPLIT * b
    a1, b1 = p - (p - a), q - (q - b)
    a2, b2 = a - a1, b - b1
    return high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2


def _scaled(x: Twofold, b: Array) -> Twofold:
    high, low = _product(x[0], b)
    low += x[1] * b
    out = high + low
    return out, low - (out - high)


def _add(x: Twofold, y: Twofold) -> Twofold:
    s = x[0] + y[0]
    t = s - x[0]
    low = (x[0] - (s - t)) + (y[0] - t) + x[1] + y[1]
    high = s + low
    return high, low - (high - s)


def _total(x: Twofold) -> Array:
    """The sum over the first axis, in a tree, as rationals."""
    high, low = x
    while len(high) > 1:
        half = len(high) // 2
        rest = high[2 * half :], low[2 * half :]
        high, low = _add((high[:half], low[:half]), (high[half : 2 * half], low[half : 2 * half]))
        if len(rest[0]):
            high, low = np.concatenate([high, rest[0]]), np.concatenate([low, rest[1]])
    return EXACT.array(high.sum(axis=0)) + EXACT.array(low.sum(axis=0))


def value_and_bound(arrays: Arrays, q: Array, lam: fmpq, u: Array) -> tuple[fmpq, fmpq, fmpq, fmpq] | None:
    """(R_B, R_E, R_A, bound) of float arrays, R_A and the bound moved apart by all errors; None if in doubt.

    p is scaled to sum to one. R_B is that of a Bob whom signal i tells to decide i. Rows of q sum to one, u is exact.
    """
    N, b, e = arrays.shape
    if not arrays.p[arrays.p > 0].min() > _SMALLEST or not max(arrays.B.max(), arrays.E.max()) < _LARGEST:
        return None
    mass, cost, heard, above = EXACT.zeros(1), EXACT.zeros(b), EXACT.zeros((b, e)), 0.0
    for cut in blocks(N):
        p, B, E, sent = arrays.p[cut], arrays.B[cut], arrays.E[cut], q[cut]
        mass = mass + _total((p[:, None], np.zeros((len(p), 1))))
        worse = _regret(B, E, floats(u))
        for i in range(b):
            x = np.flatnonzero(sent[:, i])
            w = _product(p[x], sent[x, i])
            above += float(w[0] @ worse[i, x])
            if not np.isfinite(above):
                return None
            sums = _total(_scaled((w[0][:, None], w[1][:, None]), np.column_stack([B[x, i], E[x]])))
            cost[i] += sums[0]
            heard[i] += sums[1:]
    bob, eve = cost.sum(), arrays.least_replies(heard).sum()
    error = 8 * (N + 64) * _RIGHT * (bob + lam * heard.sum()) + EXACT.number(_TINY)
    bound = bob - (u * heard).sum() - EXACT.number(above * (1 + (N + 64) * 4 * UNIT))
    return bob / mass[0], eve / mass[0], (bob - lam * eve + error) / mass[0], (bound - error) / mass[0]


def _regret(B: Array, E: Array, u: Array) -> Array:
    """R(x,i) - min_k R(x,k) from above, (b, n): after e + 4 operations R is off by so many ulp of its terms."""
    with np.errstate(over="ignore", invalid="ignore"):
        price = u @ E.T
        R, error = B.T - price, 2 * (E.shape[1] + 4) * UNIT * (B.T + price) + _TINY
        low = R - error
    best, at = low.argmin(axis=0), np.arange(len(B))
    least = low[best, at]
    low[best, at] = np.inf
    others = np.where(np.arange(len(u))[:, None] == best, low.min(axis=0), least)
    return np.maximum(R + error - others, 0.0)
