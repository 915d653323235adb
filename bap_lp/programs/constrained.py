"""The compact program under conditions, in the channel's own variables q(s|x): null states have rows too.

    min  sum p(x) B(x,i_s) q[x,s] - lam sum_sg t[s,g]
    s.t. sum_s q[x,s] = 1,  t[s,g] <= sum_x p(x) E(x,j) q[x,s] for j in group g,
         sum t >= floor,  sum p B q <= cap,
         q[x,s] <= r q[x',s]  for the pairs of a DP condition; for all pairs  low[s] <= q[x,s] <= r low[s]
                              says the same with 2N rows per signal instead of N(N - 1).
With a margin m the signals are tuples of decisions, Eve's risk is linear, sum p(x) E(x,j_sg) q[x,s], and
         sum_x p(x) (B(x,i_s) - B(x,i) + m) q[x,s] <= 0 for i != i_s,  and the same for every Eve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.conditions.conditions import Limits, Pairs, Signals
from bap_lp.linear.program import LinearProgram, from_entries
from bap_lp.rational import Array, field_of, floats, is_exact, zeros


@dataclass(frozen=True)
class Data:
    """The numbers of a program: states (all, or classes), losses, signals and limits."""

    p: Array
    B: Array
    E: Array
    groups: tuple[slice, ...]
    signals: Signals
    limits: Limits
    margins: tuple[Any, Any] | None = None  # Bob's and the Eves', on the scale of B and of E

    @property
    def exact(self) -> bool:
        return is_exact(self.p)

    def only(self, keep: Sequence[int]) -> Data:
        """The program on some of the signals."""
        return Data(self.p, self.B, self.E, self.groups, self.signals.only(keep), self.limits, self.margins)


@dataclass(frozen=True)
class Rows:
    """Where the multipliers are: Eve rows (s,j) or obedience rows, floor, cap, DP."""

    eve: slice
    bob: slice
    floor: int | None
    cap: int | None
    dp: slice


class _Builder:
    def __init__(self, exact: bool) -> None:
        self.entries: list[tuple[Array, Array, Array]] = []
        self.rhs: list[Array] = []
        self.rows = 0
        self.exact = exact

    def add(self, count: int, entries: Sequence[tuple[Any, Any, Any]], rhs: Any = 0) -> slice:
        """`count` rows: entries are (row, column, value) arrays that broadcast together, rows counted from 0."""
        first = self.rows
        for row, column, value in entries:
            row, column = np.broadcast_arrays(row, column)
            self.entries.append(((first + row).ravel(), column.ravel(), np.broadcast_to(value, row.shape).ravel()))
        self.rhs.append(zeros(count, self.exact) + rhs)
        self.rows += count
        return slice(first, self.rows)


def build(data: Data, lam: Any, bob_weight: int = 1) -> tuple[LinearProgram, Rows]:
    """min bob_weight * R_B - lam * R_E under the limits. Columns: q[x,s] at x*S + s, then t[s,g], then low[s]."""
    exact, limits, signals = data.exact, data.limits, data.signals
    (N, _), e, S, G = data.B.shape, data.E.shape[1], len(data.signals), len(data.groups)
    unit = field_of(data.p).one
    x, s = np.arange(N)[:, None], np.arange(S)[None, :]
    column = x * S + s
    bob = data.p[:, None] * data.B
    eve = data.p[:, None] * data.E
    tight = data.margins is not None
    t = N * S + np.arange(S)[:, None] * G + np.arange(G)[None, :]
    low = N * S + (0 if tight else S * G) + np.arange(S)
    size = int(low[0]) + (S if limits.ratio is not None else 0)
    cost = zeros(size, exact)
    cost[: N * S] = (bob[:, signals.bob] * bob_weight).ravel()
    hers = _prescribed(data, eve)
    if tight:
        cost[: N * S] -= lam * hers.ravel()
    else:
        cost[t.ravel()] = -lam if exact else -float(lam)

    make = _Builder(exact)
    make.add(N, [(x, column, unit)], unit)
    none = slice(0, 0)
    obey_bob = none
    if not tight:
        group = np.concatenate([np.full(g.stop - g.start, k) for k, g in enumerate(data.groups)])
        j = np.arange(e)[None, :]
        row = np.arange(S)[:, None] * e + j
        obey_eve = make.add(
            S * e,
            [
                (row, t[:, group], unit),
                ((s * e)[:, :, None] + np.arange(e), column[:, :, None], -eve[:, None, :]),
            ],
        )
    else:
        assert data.margins is not None
        assert signals.eve is not None
        obey_bob = make.add(S * data.B.shape[1], [_obedience(data, bob, signals.bob, column, data.margins[0])])
        obey_eve = make.add(
            S * e,
            [_obedience(data, eve, signals.eve[:, k], column, data.margins[1], g) for k, g in enumerate(data.groups)],
        )
    floor = cap = None
    if limits.floor is not None:
        floor = make.add(1, [(0 * t, t, -unit)] if not tight else [(0 * column, column, -hers)], -limits.floor).start
    if limits.cap is not None:
        cap = make.add(1, [(0 * column, column, bob[:, signals.bob])], limits.cap).start
    dp = none
    if limits.ratio is not None:
        lower = make.add(N * S, [(column, column, -unit), (column, low[None, :] + 0 * x, unit)])
        upper = make.add(N * S, [(column, column, unit), (column, low[None, :] + 0 * x, -limits.ratio)])
        dp = slice(lower.start, upper.stop)
    elif limits.pairs is not None and len(limits.pairs.x):
        pairs = limits.pairs
        row = np.arange(len(pairs.x))[:, None] * S + s
        dp = make.add(
            row.size,
            [(row, pairs.x[:, None] * S + s, unit), (row, pairs.other[:, None] * S + s, -pairs.ratio[:, None])],
        )
    rows, columns, values = (np.concatenate([part[k] for part in make.entries]) for k in range(3))
    lp = from_entries(
        cost,
        rows,
        columns,
        values,
        np.concatenate(make.rhs),
        np.arange(make.rows) < N,
        (np.arange(size) >= N * S) & (np.arange(size) < int(low[0])),
    )
    return lp, Rows(obey_eve, obey_bob, floor, cap, dp)


def _prescribed(data: Data, eve: Array) -> Array:
    """sum_g p(x) E(x,j_sg), with a margin."""
    if data.signals.eve is None:
        return eve[:, :0]
    own = data.signals.eve.T
    return sum((eve[:, j] for j in own[1:]), start=eve[:, own[0]])


def _obedience(
    data: Data, loss: Array, own: Array, column: Array, margin: Any, group: slice | None = None
) -> tuple[Array, Array, Array]:
    """Rows (s, d): sum_x p (loss(own) - loss(d) + margin) q <= 0 for d in the group, empty for d = own."""
    width = loss.shape[1]
    columns = range(width) if group is None else range(group.start, group.stop)
    d = np.array(columns)
    value = loss[:, own][:, :, None] - loss[:, d][:, None, :] + (margin * data.p)[:, None, None]
    value = np.where(own[None, :, None] == d[None, None, :], 0 * value, value)
    row = (np.arange(len(own))[:, None] * width + d)[None, :, :] + 0 * column[:, :, None]
    return row, column[:, :, None] + 0 * row, value


def scaled(data: Data, lam: Any) -> tuple[Data, float, tuple[float, float]]:
    """The same program in floats of ordinary size: N p, losses divided by their largest. It has the same bases."""
    N = len(data.p)
    bob, eve = (float(a.max()) or 1.0 for a in (data.B, data.E))
    limits = data.limits
    pairs = limits.pairs and Pairs(limits.pairs.x, limits.pairs.other, floats(limits.pairs.ratio))
    rounded = Limits(
        None if limits.floor is None else float(limits.floor) * N / eve,
        None if limits.cap is None else float(limits.cap) * N / bob,
        None if limits.ratio is None else float(limits.ratio),
        pairs,
        limits.deterministic,
        limits.max_signals,
        None if limits.margin is None else float(limits.margin),
    )
    margins = data.margins and (float(data.margins[0]) / bob, float(data.margins[1]) / eve)
    out = Data(
        floats(data.p) * N, floats(data.B) / bob, floats(data.E) / eve, data.groups, data.signals, rounded, margins
    )
    return out, float(lam) * eve / bob, (bob, eve)
