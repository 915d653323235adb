"""From a float solution to an exact pair: a table that is feasible, and multipliers that prove a bound, in rationals.

A float is a rational number. The channel q = rho / mass is rounded to multiples of 2^-52 such that its rows sum to one:
floats hold such numbers, so what is published is what was proved. If a row is broken by that, the table is mixed with a
strictly feasible one, (1 - t) rho + t rho_0, with t so large that rounding does not break it again. Where probabilities
of very different size are compared, a grid loses the small ones, and the floats are scaled to their sums instead. Rows
that must hold with equality have no strictly feasible table: a small system in rationals moves the table onto them.

Weights are cut at zero. Replies must sum to their prices, which follow from the weights: the largest reply of a group
takes up the rest. Because a row's terms have c >= 0, any weights have replies: any float multipliers prove something.
What is left is the gap between the two, an exact number that is stated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq_mat

from bap_lp.program.bound import Dual, Observer, Program
from bap_lp.support.rational import EXACT, Array, floats, is_exact, lifted, objects

STOPPED = "stopped before the optimum"
_GRID = 2.0**52
NOISE = 1e-13  # probabilities of a float solution up to this are rounding, if nothing depends on them
_MOST = 2.0**-32  # of the strictly feasible table that is mixed in
_MANY, _LARGE = 200, 20_000_000  # unknowns of a system in rationals, and entries of the rows behind it


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


def feasible(program: Program, q: Array, inner: Iterable[Array | None] = ()) -> Array | None:
    """A feasible table near a float channel, in rationals; None if this cannot find one.

    inner: strict channels, or None where there is none, each asked for only if nothing was found without it.
    """
    if not np.isfinite(q).all() or not (q.sum(axis=1) > 0).all():
        return None
    q = np.maximum(q, 0.0)
    q = q / q.sum(axis=1, keepdims=True)
    clean, hull = np.where(q > NOISE, q, 0.0), _Hull.of(program)
    for rho, sides in _tables(program, (clean, q) if (clean != q).any() else (q,), inner, hull is not None):
        near = rho if hull is None else hull.nearest(rho)
        if near is not None and not (near < 0).any() and program.broken(near, sides if near is rho else None) is None:
            return near
    return None


_Sides = Mapping[str, Array]


def _tables(
    program: Program, bases: Sequence[Array], inner: Iterable[Array | None], equal: bool
) -> Iterator[tuple[Array, _Sides]]:
    """Exact tables and what their rows come to, from the nearest one on. The last base is the float channel as it is.

    equal: whether rows must hold with equality; where a vertex is degenerate, the moves onto them need room.
    """

    def table(q: Array) -> tuple[Array, _Sides]:
        rho = program.mass[:, None] * q
        return rho, program.sides(rho)

    overs, exact = [], None
    for base in bases:
        rho, over = table(lifted(on_grid(base)))
        overs.append(over)
        yield rho, over
    for near in inner:
        if near is None:
            continue
        strict, room = table(on_simplex(near))
        for base, over in zip(bases, overs, strict=True):
            least = max(_share(program, over, room), 2.0**-48 if equal else 0.0)
            for share in (least * 2.0**k for k in (2, 8, 14)):
                if 0 < share <= _MOST:
                    yield table(lifted(on_grid((1 - share) * base + share * near)))
        exact = table(on_simplex(bases[-1])) if exact is None else exact
        least = _share(program, exact[1], room)
        if 0 < least <= _MOST:
            share = EXACT.number(2.0 ** math.ceil(math.log2(least) + 1e-9))
            rho = (1 - share) * exact[0] + share * strict
            yield rho, program.sides(rho)


def _share(program: Program, over: _Sides, room: _Sides) -> float:
    """The share of a strict channel that makes up for all that is broken, since what rows are broken by is convex.

    over, room: the sides of the two channels. Infinite if the strict one is not strict where it must be.
    """
    least = 0.0
    for rows in program.rows:
        broken = over[rows.name] > 0
        if not rows.worst and not rows.equal and broken.any():
            most, left = floats(over[rows.name][broken]), -floats(room[rows.name][broken])
            least = max(least, math.inf if (left <= 0).any() else float((most / (most + left)).max()))
    return least


@dataclass(frozen=True, eq=False)
class _Hull:
    """The rows that must hold with equality: such rows, and pairs of a row and its negative. a.rho = rhs."""

    row: Array
    x: Array
    s: Array
    value: Array
    rhs: Array
    shape: tuple[int, int]

    @classmethod
    def of(cls, program: Program) -> _Hull | None:
        mark, parts, count = np.random.default_rng(0).random(program.shape), [], 0
        for rows, small in zip(program.rows, program.rounded.rows, strict=True):
            if rows.worst or rows.terms or rows.entries is None or small.entries is None:
                continue
            kept = np.ones(len(rows), dtype=bool)
            if not rows.equal:  # a row and its negative have opposite marks
                row, x, s, value = small.entries
                found = np.zeros(len(rows))
                np.add.at(found, row, value * mark[x, s])
                both = found + 1j * small.rhs
                kept = (found > 0) & np.isin(both, -both)
            if kept.any():
                place, (row, x, s, value) = count + np.cumsum(kept) - 1, rows.entries
                live = kept[row]
                parts.append((place[row[live]], x[live], s[live], value[live], rows.rhs[kept]))
                count += int(kept.sum())
        if not parts or count * program.cost.size > _LARGE:
            return None
        row, x, s, value, rhs = map(np.concatenate, zip(*parts, strict=True))
        return cls(row, x, s, value, rhs, program.shape)

    def nearest(self, rho: Array) -> Array | None:
        """A table on the hull with the same sums over signals; None if it is out of reach.

        State x moves probability from its most likely signal to others it may send. The moves with most room are chosen
        in floats, and solved for in rationals.
        """
        from scipy.linalg import qr

        m, (N, S) = len(self.rhs), self.shape
        off = -self.rhs
        np.add.at(off, self.row, self.value * rho[self.x, self.s])
        if not off.any():
            return rho
        small = floats(rho)
        key = small.argmax(axis=1)
        state, signal = np.nonzero(small)
        open_ = signal != key[state]
        state, signal = state[open_], signal[open_]
        table = np.zeros((m, N, S))
        table[self.row, self.x, self.s] = floats(self.value)
        moves = table[:, state, signal] - table[:, state, key[state]]
        moves = moves * np.minimum(small[state, signal], small[state, key[state]])
        moves /= np.maximum(np.abs(moves).max(axis=1, initial=0.0), 1e-300)[:, None]
        if not moves.size:
            return None
        chosen = _independent(qr, moves, _MANY)
        if chosen is None:
            return None
        rows = _independent(qr, moves[:, chosen].T, len(chosen))
        if rows is None or len(rows) < len(chosen):
            return None
        state, signal = state[chosen], signal[chosen]
        exact = EXACT.zeros((m, N, S))
        exact[self.row, self.x, self.s] = self.value
        system = (exact[:, state, signal] - exact[:, state, key[state]])[rows]
        try:
            found = fmpq_mat(*system.shape, system.ravel().tolist()).solve(fmpq_mat(len(rows), 1, off[rows].tolist()))
        except ZeroDivisionError:
            return None
        out, amounts = rho.copy(), objects(found.entries())
        np.subtract.at(out, (state, signal), amounts)
        np.add.at(out, (state, key[state]), amounts)
        return out


def _independent(qr: Any, table: Array, most: int) -> Array | None:
    """Independent columns, the largest first; None if there are more than `most`."""
    triangle, order = qr(table, mode="r", pivoting=True)
    size = np.abs(np.diag(triangle))
    count = int((size > 1e-10 * size.max(initial=0.0)).sum())
    return order[:count] if 0 < count <= most else None


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
    found, count = sum(weights[name].sum() for name in worst), sum(len(weights[name]) for name in worst)
    for name in worst:  # scaled to the sum one
        weights[name] = weights[name] / found if found else EXACT.full(len(weights[name]), EXACT.one / count)
    goals, replies = program.prices(weights), {}
    sent = None if rho is None else floats(rho)
    for o in program.observers if sent is None else program.rounded.observers:
        u = dual.replies[o.name]
        u = u if is_exact(u) else lifted(np.where(np.isfinite(u), np.maximum(u, 0.0), 0.0))
        replies[o.name] = _settled(u, goals[o.name], o.starts, None if sent is None else _heard(o, sent))
    return Dual(replies, weights)


def _heard(o: Observer, rho: Array) -> Array:
    """What every column loses at every view, and at a view that is never sent without any signal; in floats."""
    losses = o.sums(rho)
    silent = np.ones(o.views, dtype=bool)
    silent[o.sees[(rho != 0).any(axis=0)]] = False
    return np.where(silent[:, None], losses.sum(axis=0), losses)


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
