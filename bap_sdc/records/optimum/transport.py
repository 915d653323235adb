"""One Eve with two replies: the compact program is a transportation problem.

Subtract min_j E(x,j) from Eve's row (R_E changes by a constant). What is left of a state is a(x) > 0 at one of the two
replies: left states lose a(x) if Eve guesses 0, right states if she guesses 1. At signal i her risk is the smaller of
the two sums of a(x) rho[x,i], so it is the largest amount of left and right that can be *paired* there. A pair (x, y)
of unit amount that meets at i uses 1/a(x) of the mass of x and 1/a(y) of y and costs Bob
    C(x,i) + C(y,i),     C(x,i) = (B(x,i) - min_k B(x,k)) / a(x),
and what is not paired goes where Bob loses least. With d(x,y) = min_i C(x,i) + C(y,i) the program is
    min  sum_xy (d(x,y) - lam) f(x,y)     s.t.  sum_y f(x,y) <= p(x) a(x),  sum_x f(x,y) <= p(y) a(y),  f >= 0,
whatever the number of Bob's decisions. Its bases are trees: a ground node stands for "not paired". The potentials are
A + k lam with k in {0, -1}, since every pair has -lam once. With potentials alpha, beta <= 0 the proof for the compact
program is: v(x) = min_k B(x,k) + a(x) alpha(x), and u_i0 + u_i1 = lam with
    u_i0 <= min over left x of C(x,i) - alpha(x),     u_i1 <= min over right y of C(y,i) - beta(y),
which is possible for *every* decision i because d - lam - alpha - beta >= 0.

Where several vertices are optimal, more pairs (k is the reduced cost of -R_E) and then fixed weights decide. Numbers
are integers in floats (or objects) if exact; then comparisons are exact, and the tree is solved in rationals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np

from bap_lp.engines.linear.highs import PRIMAL, SolverError, basic_flags, loaded, run, set_basis
from bap_lp.support.rational import Array, floats, is_exact
from bap_sdc.records.pricing.master import smallest

_ALL = 30_000  # pairs up to which all of them go to the simplex method at once
_NEAREST = 8  # partners per state to start with beyond that
_PATIENCE = 50  # pivots without progress before Bland's rule
_MOST = 2_000  # pivots in floats; exact ones go on until the end
_TRACE = 1e-13  # of its supply, a float flow is rounding
_TOLERANCE = 1e-11  # of the largest cost, in floats

TieCosts = Callable[[Array, Array], Array]


@dataclass(frozen=True, eq=False)
class Pairing:
    """Optimal flows on pairs (row, column), what is left of every supply, and potentials A + k lam on both sides."""

    row: Array
    column: Array
    flow: Array
    rest: tuple[Array, Array]
    potential: tuple[Array, Array]
    slope: tuple[Array, Array]
    pivots: int


class _Tree:
    """The spanning tree of a basis over left nodes, right nodes and the ground (the last node)."""

    def __init__(self, shape: tuple[int, int], arcs: list[tuple[int, int]]) -> None:
        n = sum(shape)
        near: list[list[tuple[int, int]]] = [[] for _ in range(n + 1)]
        for k, (a, b) in enumerate(arcs):
            near[a].append((b, k))
            near[b].append((a, k))
        self.parent, self.arc, self.order = [-1] * (n + 1), [-1] * (n + 1), [n]
        seen = [False] * n + [True]
        for node in self.order:
            for other, k in near[node]:
                if not seen[other]:
                    seen[other] = True
                    self.parent[other], self.arc[other] = node, k
                    self.order.append(other)
        self.spanning = len(self.order) == n + 1 == len(arcs) + 1

    def potentials(self, cost: list[Any], zero: Any) -> list[Any]:
        out = [zero] * len(self.parent)
        for node in self.order[1:]:
            # cost = potential of one end + that of the other; the ground has zero
            out[node] = cost[self.arc[node]] - out[self.parent[node]]
        return out[:-1]

    def flows(self, supply: list[Any]) -> list[Any]:
        left, flow = list(supply), [None] * (len(self.parent) - 1)
        for node in reversed(self.order[1:]):
            flow[self.arc[node]] = left[node]
            parent = self.parent[node]
            if parent < len(left):
                left[parent] = left[parent] - left[node]
        return flow

    def cycle(self, ends: list[int]) -> list[tuple[int, int]]:
        """The arcs that change if an arc between the ends (one end: to the ground) enters, with their signs."""
        steps: dict[int, int] = {}
        for node in ends:
            sign = -1
            while node != len(self.parent) - 1:
                k = self.arc[node]
                # both paths run through the arcs above the place where they meet, with opposite signs there
                steps[k] = steps.get(k, 0) + sign
                node, sign = self.parent[node], -sign
        return [(k, sign) for k, sign in steps.items() if sign]


class _Pairs:
    """The data and a basis: arcs (node, node); the ground is the last node."""

    def __init__(self, supply: tuple[Array, Array], cost: Array, lam: Any, ties: TieCosts) -> None:
        self.shape = cost.shape
        self.exact = is_exact(supply[0])
        self.supply = [*supply[0].tolist(), *supply[1].tolist()]
        self.cost, self.lam, self.ties = cost, lam, ties
        self.size = max(float(np.abs(floats(cost)).max(initial=0.0)), float(lam), 1e-300)
        self.slack = 0 if self.exact else _TOLERANCE * self.size
        n, self.pivots, self.stalled = sum(self.shape), 0, 0
        self.arcs = [(node, n) for node in range(n)]

    def ends(self, row: Array, column: Array) -> list[tuple[int, int]]:
        return list(zip(row.tolist(), (column + self.shape[0]).tolist(), strict=True))

    def level(self) -> None:
        """Tree, flows and potentials of the basis."""
        self.tree = _Tree(self.shape, self.arcs)
        self.flow = self.tree.flows(self.supply)
        n, at = sum(self.shape), self.shape[0]
        paired = [b < n for _, b in self.arcs]
        whole = self.cost.dtype == object
        own = [
            self.cost[a, b - at] if on else (0 if whole else 0.0) for (a, b), on in zip(self.arcs, paired, strict=True)
        ]
        self.A = np.array(self.tree.potentials(own, 0 if whole else 0.0), dtype=self.cost.dtype)
        self.k = np.array(self.tree.potentials([-int(on) for on in paired], 0), dtype=np.int64)

    def feasible(self) -> bool:
        low = 0 if self.exact else -1e-12 * max(map(float, self.supply))
        return self.tree.spanning and all(f >= low for f in self.flow)

    def signs(self, gain: Array, slope: Array) -> Array:
        """The sign of gain + slope * lam, then that of slope (the reduced cost of -R_E): -2, -1, 0, 1, 2."""
        out = np.zeros(gain.shape, dtype=np.int8)
        for s in (-1, 0, 1):
            at = slope == s
            if at.any():
                low, high = self._limits(-s * self.lam)
                part = gain[at]
                out[at] = np.where(part > high, 2, np.where(part < low, -2, s)).astype(np.int8)
        return out

    def _limits(self, number: Any) -> tuple[Any, Any]:
        """Bounds that sort integers (or floats) against a number: below, equal, above."""
        if not self.exact:
            return number - self.slack, number + self.slack
        low = int(number.p // number.q)
        exact = number.q == 1
        if self.cost.dtype != object and abs(low) >= 2**53:
            low = min(max(low, -(2**60)), 2**60)
        return (low, low) if exact else (low + 1, low)

    def reduced(self) -> tuple[Array, Array, Array]:
        """Signs of the reduced costs of all pairs (left x right) and slacks; reduced costs of pairs in floats."""
        a, b = np.split(self.A, [self.shape[0]])
        ka, kb = np.split(self.k, [self.shape[0]])
        gain, slope = self.cost - a[:, None] - b, -1 - ka[:, None] - kb
        return self.signs(gain, slope), self.signs(-self.A, -self.k), floats(gain) + slope * float(self.lam)

    def entering(self) -> tuple[int, int] | None:
        """An arc that lowers the costs in their order, None at the optimum."""
        n, at = sum(self.shape), self.shape[0]
        pair, single, value = self.reduced()
        bland = self.stalled > _PATIENCE
        for bad in (-2, -1):
            if (single == bad).any():
                return int(np.flatnonzero(single == bad)[0]), n
            if (pair == bad).any():
                rows, columns = np.nonzero(pair == bad)
                best = 0 if bland else int(value[rows, columns].argmin())
                return int(rows[best]), int(columns[best]) + at
        return self._tied(pair, single)

    def _tied(self, pair: Array, single: Array) -> tuple[int, int] | None:
        """The same by the last cost, among arcs of reduced cost zero."""
        n, at = sum(self.shape), self.shape[0]
        row, column = np.nonzero(pair == 0)
        free = np.flatnonzero(single == 0)
        if len(row) + len(free) == len(self.arcs):  # the basis and nothing else
            return None
        weight = self.ties(row, column)
        zero = weight[0] * 0 if len(weight) else 0
        place = dict(zip(self.ends(row, column), weight.tolist(), strict=True))
        W = self.tree.potentials([place.get(arc, zero) if arc[1] < n else zero for arc in self.arcs], zero)
        own = np.array(W, dtype=object if is_exact(weight) else float)
        slack = 0 if self.exact else 1e-9 * float(np.abs(weight).max(initial=1.0))
        rise = weight - own[row] - own[at + column]
        if len(rise) and rise.min() < -slack:
            best = int(np.flatnonzero(rise < -slack)[0]) if self.stalled > _PATIENCE else int(rise.argmin())
            return int(row[best]), int(column[best]) + at
        loose = [node for node in free.tolist() if own[node] > slack]
        return (loose[0], n) if loose else None

    def pivot(self, arc: tuple[int, int]) -> None:
        n = sum(self.shape)
        steps = self.tree.cycle([end for end in arc if end < n])
        falling = [(self.flow[k], k) for k, sign in steps if sign < 0]
        flow, out = min(falling)
        # among the arcs that reach zero together, the first in a fixed order leaves
        out = min((self.arcs[k], k) for f, k in falling if f <= flow)[1]
        self.stalled = 0 if flow > 0 else self.stalled + 1
        self.arcs[out] = arc
        self.pivots += 1

    def walk(self) -> None:
        """Pivot to the optimum that all costs choose."""
        while True:
            self.level()
            arc = self.entering() if self.exact or self.pivots < _MOST else None
            if arc is None or arc in self.arcs:
                return
            self.pivot(arc)


def solve_pairs(supply: tuple[Array, Array], cost: Array, lam: Any, ties: TieCosts) -> Pairing:
    """The optimal pairing.

    supply: p a of the left and of the right states, exact rationals or floats. cost: d, left x right: integers in
    floats or in objects if exact. lam: in the unit of the cost, a rational if exact. ties: the last cost of pairs
    (row, column), relative to leaving both unpaired.
    """
    pairs = _Pairs(supply, cost, lam, ties)
    _float_basis(pairs)
    pairs.walk()
    n, at = sum(pairs.shape), pairs.shape[0]
    rest: list[Any] = [0 * pairs.supply[0]] * n
    row, column, flow = [], [], []
    for (a, b), f in zip(pairs.arcs, pairs.flow, strict=True):
        f = f if pairs.exact or f > _TRACE * pairs.supply[a] else 0.0
        if b == n:
            rest[a] = f
        elif f > 0:
            row.append(a)
            column.append(b - at)
            flow.append(f)
    kind: Any = object if pairs.exact else float
    whole = np.array(rest, dtype=kind)
    if not pairs.exact:  # a supply that is too small beside others for their difference to hold it stays alone
        met = np.bincount([*row, *(at + b for b in column)], [*flow, *flow], minlength=n) + whole
        whole = np.where(met > 0, whole, np.array(pairs.supply))
    return Pairing(
        np.array(row, dtype=np.int64),
        np.array(column, dtype=np.int64),
        np.array(flow, dtype=kind),
        (whole[:at], whole[at:]),
        (pairs.A[:at], pairs.A[at:]),
        (pairs.k[:at], pairs.k[at:]),
        pairs.pivots,
    )


def _float_basis(pairs: _Pairs) -> None:
    """A nearly optimal basis by the simplex method in floats; on many pairs only some, the rest priced."""
    c = floats(pairs.cost) - float(pairs.lam)
    useful = c <= 1e-9 * pairs.size
    if not useful.any():
        return
    chosen = useful if useful.sum() <= _ALL else useful & smallest(c, _NEAREST)
    while True:
        kept = _run(pairs, c, chosen)
        if kept is None:
            return
        before, pairs.arcs = pairs.arcs, kept
        pairs.level()
        if not pairs.feasible():
            pairs.arcs = before
            return
        if chosen is useful:
            break
        a, b = np.split(floats(pairs.A) + pairs.k * float(pairs.lam), [pairs.shape[0]])
        gain = c - a[:, None] - b
        late = useful & ~chosen & (gain < -1e-9 * pairs.size)
        if not late.any():
            break
        chosen = chosen | (late & smallest(np.where(late, gain, np.inf), _NEAREST))
    _run_ties(pairs)


def _run(pairs: _Pairs, c: Array, chosen: Array, equal: Array | None = None) -> list[tuple[int, int]] | None:
    """The basis of the float program on the chosen pairs, from the current basis; None if there is none."""
    n, at = sum(pairs.shape), pairs.shape[0]
    rows, columns = np.nonzero(chosen)
    count = len(rows)
    supply = np.array([float(v) for v in pairs.supply])
    supply /= supply.mean()
    size = float(np.abs(c[rows, columns]).max(initial=0.0)) or 1.0
    index = np.stack([rows, columns + at], axis=1).ravel()
    lower = np.full(n, -np.inf) if equal is None else np.where(equal, supply, -np.inf)
    highs = loaded(
        (c[rows, columns] / size, np.zeros(count), np.full(count, np.inf)),
        (lower, supply),
        (np.arange(0, 2 * count + 1, 2), index, np.ones(2 * count)),
        simplex_strategy=PRIMAL,
    )
    on, grounded = np.zeros(pairs.shape, dtype=bool), np.zeros(n, dtype=bool)
    for a, b in pairs.arcs:
        if b == n:
            grounded[a] = True
        else:
            on[a, b - at] = True
    set_basis(highs, np.append(on[rows, columns], grounded))
    run(highs)
    flags = basic_flags(highs)
    if not len(flags) or highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    own, ground = np.flatnonzero(flags[:count]), np.flatnonzero(flags[count:]).tolist()
    return [*pairs.ends(rows[own], columns[own]), *((node, n) for node in ground)]


def _run_ties(pairs: _Pairs) -> None:
    """The basis that further costs choose on the optimal face: more pairs first, then the weights."""
    pair, single, _ = pairs.reduced()
    if (pair == -2).any() or (single == -2).any():
        return
    face = np.abs(pair) < 2
    row, column = np.nonzero(face)
    open_ = np.abs(single) < 2
    if len(row) + np.count_nonzero(open_) == len(pairs.arcs):
        return
    weight = floats(pairs.ties(row, column))
    top = float(np.abs(weight).max(initial=0.0)) or 1.0
    at_breakpoint = (np.abs(pair) == 1).any() or (np.abs(single) == 1).any()
    c = np.zeros(pairs.shape)
    c[row, column] = weight / top - (sum(pairs.shape) if at_breakpoint else 0.0)
    try:
        kept = _run(pairs, c, face, ~open_)
    except SolverError:
        return
    before = pairs.arcs
    if kept is not None:
        pairs.arcs = kept
        pairs.level()
        if not pairs.feasible():
            pairs.arcs = before
