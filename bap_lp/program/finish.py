"""From a float solution to an exact pair: a table that is feasible, and multipliers that prove a bound, in rationals.

A float is a rational number. The channel q = rho / mass is rounded to multiples of 2^-52 such that its rows sum to one:
floats hold such numbers, so what is published is what was proved. If a row is broken by that, the table is mixed with a
strictly feasible one, (1 - t) rho + t rho_0, with t so large that rounding does not break it again. Where probabilities
of very different size are compared, a grid loses the small ones, and the floats are scaled to their sums instead.

Weights are cut at zero. Replies must sum to their prices, which follow from the weights: the largest reply of a group
takes up the rest. Because a row's terms have c >= 0, any weights have replies: any float multipliers prove something.
What is left is the gap between the two, an exact number that is stated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.program.bound import Dual, Observer, Program
from bap_lp.rational import EXACT, Array, is_exact, lifted

STOPPED = "stopped before the optimum"
_GRID = 2.0**52
NOISE = 1e-13  # probabilities of a float solution up to this are rounding, if nothing depends on them
_SHARES = (2.0**-50, 2.0**-44, 2.0**-38, 2.0**-32)  # of the strictly feasible table on the grid
_FINE = [2.0**-k for k in (60, 54, 48, 42, 36)]  # of it between the floats themselves


@dataclass(frozen=True, eq=False)
class Pair:
    """A feasible table with its value, and multipliers with their bound."""

    rho: Array
    dual: Dual
    value: Any
    bound: Any
    how: str = ""

    @property
    def gap(self) -> Any:
        return self.value - self.bound


def on_grid(q: Array) -> Array:
    """A float channel in multiples of 2^-52 whose rows sum to one, exactly; the largest entry takes the rest."""
    whole = np.rint(np.clip(q, 0.0, 1.0) * _GRID)
    most = whole.argmax(axis=1)
    rows = np.arange(len(q))
    whole[rows, most] = 0.0
    whole[rows, most] = _GRID - whole.sum(axis=1)
    return whole / _GRID


def on_simplex(q: Array) -> Array:
    """A channel with rows that sum to one, in rationals, from floats as they are."""
    rows = q if is_exact(q) else lifted(np.maximum(q, 0.0))
    return rows / rows.sum(axis=1)[:, None]


def feasible(program: Program, q: Array, inner: Array | None = None) -> Array | None:
    """A feasible table near a float channel, in rationals; None if this cannot find one. inner: a strict channel."""
    for channel in _channels(q, inner):
        rho = program.mass[:, None] * channel
        if not (channel < 0).any() and program.broken(rho) is None:
            return rho
    return None


def _channels(q: Array, inner: Array | None) -> Iterator[Array]:
    if not np.isfinite(q).all() or not (q.sum(axis=1) > 0).all():
        return
    q = np.maximum(q, 0.0)
    q = q / q.sum(axis=1, keepdims=True)
    clean = np.where(q > NOISE, q, 0.0)
    yield lifted(on_grid(clean))
    if (clean != q).any():
        yield lifted(on_grid(q))
    if inner is None:
        return
    for base in (clean, q) if (clean != q).any() else (q,):
        for share in _SHARES:
            yield lifted(on_grid((1 - share) * base + share * inner))
    exact, strict = on_simplex(q), on_simplex(inner)
    for share in map(EXACT.number, _FINE):
        yield (1 - share) * exact + share * strict


def priced(program: Program, dual: Dual, rho: Array | None = None) -> Dual:
    """Float multipliers as rationals that satisfy their signs and prices. rho: whose best replies serve where none is.

    Exact ones are taken as they are.
    """
    weights = {}
    worst = [rows.name for rows in program.rows if rows.worst]
    for rows in program.rows:
        w = dual.weights[rows.name]
        if not is_exact(w):
            w = w if rows.equal else np.maximum(w, 0.0)
            w = lifted(np.where(np.isfinite(w), w, 0.0))
        weights[rows.name] = w
    if worst:
        _absorb(np.concatenate([weights[name] for name in worst]), EXACT.one, weights, worst)
    goals, replies = program.prices(weights), {}
    for o in program.observers:
        u = dual.replies[o.name]
        u = u if is_exact(u) else lifted(np.where(np.isfinite(u), np.maximum(u, 0.0), 0.0))
        replies[o.name] = _settled(u, goals[o.name], o.starts, None if rho is None else _heard(o, rho))
    return Dual(replies, weights)


def _heard(o: Observer, rho: Array) -> Array:
    """What every column loses at every view, and at a view that is never sent without any signal."""
    losses = o.sums(rho)
    silent = np.ones(o.views, dtype=bool)
    silent[o.sees[(rho != 0).any(axis=0)]] = False
    return np.where(silent[:, None], losses.sum(axis=0), losses)


def _absorb(parts: Array, total: Any, weights: dict[str, Array], names: list[str]) -> None:
    """Weights that sum to a total: scaled to it."""
    found = parts.sum()
    factor = total / found if found else None
    for name in names:
        even = EXACT.full(len(weights[name]), total / len(parts))
        weights[name] = even if factor is None else weights[name] * factor


def _settled(u: Array, goals: Array, starts: Array, losses: Array | None) -> Array:
    """Replies whose groups sum to their goals: the largest takes up the rest, or all are scaled if it cannot."""
    u = u.copy()
    ends = [*starts.tolist()[1:], u.shape[1]]
    sums = np.add.reduceat(u, starts, axis=1)
    for v, g in np.argwhere(sums != goals).tolist():
        cut, goal, total = slice(int(starts[g]), ends[g]), goals[v, g], sums[v, g]
        group = u[v, cut]
        most = int(np.argmax(group)) if total else int(np.argmin(losses[v, cut])) if losses is not None else 0
        if group[most] + goal - total >= 0:
            group[most] += goal - total
        else:
            group = group * (goal / total)
        u[v, cut] = group
    return u


def pair_of(program: Program, rho: Array, dual: Dual, allowed: Array | None = None, how: str = "") -> Pair:
    """An exact pair from a feasible table and any multipliers."""
    settled = priced(program, dual, rho)
    return Pair(rho, settled, program.value(rho), program.bound(settled, allowed), how)


def best_of(pairs: list[Pair]) -> Pair:
    """The best table with the best multipliers."""
    low, high = max(pairs, key=lambda one: one.bound), min(pairs, key=lambda one: one.value)
    return Pair(high.rho, low.dual, high.value, low.bound, high.how)
