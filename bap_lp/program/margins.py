"""min_s (cost[x,s] + (w.a)[x,s] - sum_o u_o[sees(s)].losses_o[x]) for every state, in rationals; floats say where.

At an optimum the minimum is attained where something is sent, a few signals of many: a float table, with what it may be
off by, leaves these, and only they are computed in rationals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.support.rational import FEW, UNIT, Array, floats

if TYPE_CHECKING:
    from bap_lp.program.bound import Program, Replies, Weights

_BLOCK = 1 << 20  # products at a time
_TINY, _LEAST = 1e-290, 5e-324  # covers underflow of a product; the smallest float


def least_margins(program: Program, replies: Replies, weights: Weights, allowed: Array | None) -> Array:
    open_ = np.ones(program.shape, dtype=bool) if allowed is None else np.array(allowed, dtype=bool)
    if program.cost.size > FEW:
        open_ = _near_least(program, replies, weights, open_)
    x, s = _apart(program, replies, weights, *np.nonzero(open_))
    first = np.flatnonzero(np.diff(x, prepend=-1))
    if len(first) < len(open_):
        raise ValueError("a state has no signal that is allowed")
    step = max(1, _BLOCK // max((o.entries_each for o in program.observers), default=1))
    cuts = (slice(k, k + step) for k in range(0, max(len(x), 1), step))
    return np.minimum.reduceat(np.concatenate([_margins(program, replies, weights, x[c], s[c]) for c in cuts]), first)


def _apart(program: Program, replies: Replies, weights: Weights, x: Array, s: Array) -> tuple[Array, Array]:
    """Without rows, of the signals to which all observers reply alike, the one of least cost in each state."""
    if len(x) <= max(FEW, 2 * len(program.mass)):  # hardly any ties
        return x, s
    if any(one.entries is not None and (weights[one.name] != 0).any() for one in program.rows):
        return x, s
    numbers: dict[tuple[tuple[Any, ...], ...], int] = {}
    heard = zip(*(replies[o.name][o.sees].tolist() for o in program.observers), strict=True)
    kind = [numbers.setdefault(tuple(map(tuple, rows)), len(numbers)) for rows in heard]
    if len(numbers) == len(kind) or not kind:
        return x, s
    least: dict[tuple[int, int], tuple[Any, int]] = {}
    for state, signal, cost in zip(x.tolist(), s.tolist(), program.cost[x, s].tolist(), strict=True):
        best = least.get((state, kind[signal]))
        if best is None or cost < best[0]:
            least[state, kind[signal]] = cost, signal
    return np.array([state for state, _ in least]), np.array([signal for _, signal in least.values()])


def _margins(program: Program, replies: Replies, weights: Weights, x: Array, s: Array) -> Array:
    """The margins at some places, in rationals."""
    out, place = program.cost[x, s], np.full(program.shape, -1)
    place[x, s] = np.arange(len(x))
    for one in program.rows:
        if one.entries is not None and (weights[one.name] != 0).any():
            row, at, value = one.entries[0], place[one.entries[1], one.entries[2]], one.entries[3]
            live = np.flatnonzero((at >= 0) & (weights[one.name] != 0)[row])
            np.add.at(out, at[live], weights[one.name][row[live]] * value[live])
    for o in program.observers:
        u = replies[o.name]
        k, entry, j = o.entries_of(x)
        reply = u[o.sees[s[k]], j]
        live = np.flatnonzero(reply != 0)
        np.subtract.at(out, k[live], reply[live] * entry[live])
    return out


def _near_least(program: Program, replies: Replies, weights: Weights, open_: Array) -> Array:
    """Where the margin may be the least of its state.

    A float sum of k products is off by at most k + 4 ulp of the sum of their sizes, the rounding of the data included;
    the doubled count covers the rounding of that sum, and the last two terms underflow. Where floats are not finite,
    nothing is left out.
    """
    N, S = program.shape
    with np.errstate(over="ignore", invalid="ignore"):
        try:
            small, w = program.rounded, {name: floats(own) for name, own in weights.items()}
            u = {name: floats(own) for name, own in replies.items()}
        except OverflowError:
            return open_
        found, size, count, most = small.cost.ravel().copy(), np.abs(small.cost).ravel(), 1, 1.0
        for one in small.rows:
            if one.entries is not None and (weights[one.name] != 0).any():
                row, x, s, value = one.entries
                at, terms = x * S + s, w[one.name][row] * value
                found += np.bincount(at, terms, N * S)
                size += np.bincount(at, np.abs(terms), N * S)
                count += int(np.bincount(at).max(initial=0))
                most = max(most, np.abs(w[one.name]).max(), np.abs(value).max(initial=0.0))
        for o in small.observers:
            if (replies[o.name] != 0).any():  # also where floats have none of it
                found -= o.paid(u[o.name]).ravel()
                size += o.sizes.paid(np.abs(u[o.name])).ravel()
                count += o.columns
                most = max(most, u[o.name].max(), o.sizes.largest)
        error = 2 * (count + 4) * UNIT * size + _TINY + 2 * count * most * _LEAST
        low, high = ((found + side).reshape(N, S) for side in (-error, error))
        return open_ & ~(low > np.where(open_, high, np.inf).min(axis=1)[:, None])
