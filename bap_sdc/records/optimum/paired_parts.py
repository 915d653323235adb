"""Parts with one Eve of two guesses, solved as a transportation problem (`transport`): from losses to a joint table.

`ColumnLosses` has the cost d of all pairs, the decisions at which a pair attains it, and the decisions at which a state
that is not paired loses nothing. Among these the fixed weights of the compact program choose: the weight of a unit
pair at i is w(x,i)/a(x) + w(y,i)/a(y).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.engines.ties import weight_at
from bap_lp.support.rational import EXACT, Array, is_exact, objects
from bap_sdc.records.optimum.columns import ColumnLosses, ColumnTables, KeptLosses
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.transport import Pairing, solve_pairs


@dataclass(frozen=True, eq=False)
class PairedOptimum:
    """The pairing, and for every non-zero entry of the joint table: side, state, decision and amount times a(x)."""

    pairing: Pairing
    side: Array
    state: Array
    decision: Array
    amount: Array


class _Choice:
    """Which decision a pair or a single state takes, and the weight of that."""

    def __init__(self, losses: ColumnLosses, places: tuple[Array, Array]) -> None:
        self.losses, self.places = losses, places  # the place of (x, 0) in the table of weights
        self.single = [self._singles(side) for side in (0, 1)]

    def _weight(self, side: int, state: Array, decision: Array) -> Array:
        rate = self.losses.rates[side][state]
        weight = weight_at(self.places[side][state] + decision)
        if is_exact(rate):
            weight = np.array([int(w) for w in weight.tolist()], dtype=object)
        return weight * rate

    def _singles(self, side: int) -> tuple[Array, Array]:
        state, decision = self.losses.alone(side)
        weight = self._weight(side, state, decision)
        first = _least(state, weight)
        return decision[first], weight[first]

    def pairs(self, row: Array, column: Array) -> tuple[Array, Array]:
        """Decision and weight of pairs, relative to leaving both states alone."""
        k, decision = self.losses.tied(row, column)
        weight = self._weight(0, row[k], decision) + self._weight(1, column[k], decision)
        first = _least(k, weight)
        return decision[first], weight[first] - self.single[0][1][row] - self.single[1][1][column]


def _least(group: Array, weight: Array) -> Array:
    """The place of the least weight of each group; groups are sorted and none is missing."""
    order = np.lexsort((weight, group)) if weight.dtype != object else _object_order(group, weight)
    group = group[order]
    return order[np.flatnonzero(np.append(True, group[1:] != group[:-1]))] if len(group) else order


def _object_order(group: Array, weight: Array) -> Array:
    keys = list(zip(group.tolist(), weight.tolist(), strict=True))
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def paired_optimum(
    losses: ColumnLosses, supply: tuple[Array, Array], lam: Any, places: tuple[Array, Array]
) -> PairedOptimum:
    """The optimal joint table of a component.

    supply: p a of the left and right states; lam: in the unit of the losses; places: x * b of their states, which
    number the fixed weights.
    """
    choice = _Choice(losses, places)
    weigh: Callable[[Array, Array], Array] = lambda row, column: choice.pairs(row, column)[1]  # noqa: E731
    found = solve_pairs(supply, losses.cost, lam, weigh)
    met = choice.pairs(found.row, found.column)[0]
    side, state, decision, amount = [], [], [], []
    for k, states in enumerate((found.row, found.column)):
        left = np.flatnonzero(found.rest[k] > 0)
        side.append(np.full(len(states) + len(left), k))
        state.append(np.concatenate([states, left]))
        decision.append(np.concatenate([met, choice.single[k][0][left]]))
        amount.append(np.concatenate([found.flow, found.rest[k][left]]))
    return PairedOptimum(found, *_collected(*(np.concatenate(part) for part in (side, state, decision, amount))))


def _collected(side: Array, state: Array, decision: Array, amount: Array) -> tuple[Array, Array, Array, Array]:
    """Several pairs of a state may meet at one decision: their amounts are added."""
    order = np.lexsort((decision, state, side))
    side, state, decision, amount = (a[order] for a in (side, state, decision, amount))
    new = (np.diff(side, prepend=-1) != 0) | (np.diff(state, prepend=-1) != 0) | (np.diff(decision, prepend=-1) != 0)
    starts = np.flatnonzero(new)
    if len(starts) < len(amount):
        amount = np.add.reduceat(amount, starts)
    return side[starts], state[starts], decision[starts], amount


_BLOCK = 1 << 20  # entries of a table of costs


@dataclass(frozen=True, eq=False)
class PairedReplies:
    """u[i] = (u_i0, u_i1) for one Eve with two guesses, from the potentials A + k lam of the records.

    u_ij is at most U_j(i), the least C(x,i) - alpha(x) over the records that lose by guess j; u_i0 + u_i1 = lam.
    Where that leaves a choice, the middle is taken.
    """

    tables: ColumnTables
    places: tuple[list[Array], list[Array]]
    potential: tuple[Array, Array]
    slope: tuple[Array, Array]
    lam: Any

    def of(self, program: RecordProgram, decision: Array) -> Array:
        levels = program.published(decision)
        # a ceiling is the smaller of two tabled numbers, and few rows of the four differ: one reply for each
        tabled = [least for side in (0, 1) for least in self._least(side, levels)]
        rows = list(zip(*[[None] * len(decision) if t is None else t.tolist() for t in tabled], strict=True))
        place = {row: k for k, row in enumerate(dict.fromkeys(rows))}
        out = [self._reply(row) for row in place]
        found = np.empty((len(out), 2), dtype=object if self.tables.exact else float)
        found[:] = out
        return found[[place[row] for row in rows]]

    def _reply(self, row: tuple[Any, ...]) -> list[Any]:
        """u_i0 and u_i1, from the least numbers of both sides."""
        lam, unit, exact = self.lam * self.tables.unit, self.tables.unit, self.tables.exact
        left, right = self._ceiling(row[:2], lam), self._ceiling(row[2:], lam)
        low = lam * 0 if right is None or right >= lam else lam - right
        high = lam if left is None or left >= lam else left
        first = (low + high) / 2 if exact else min(max((low + high) / 2, 0.0), lam)
        return [first / unit, (lam - first) / unit]

    def _ceiling(self, least: tuple[Any, ...], lam: Any) -> Any:
        """U of one side at a decision; None without records."""
        found = [self._number(v) + shift for v, shift in zip(least, (lam * 0, lam), strict=True) if v is not None]
        return min(found) if found else None

    def _least(self, side: int, levels: tuple[Array, ...]) -> list[Array | None]:
        """The least C - A over the records with slope 0, and over those with slope -1, at every decision."""
        place, A, k = self.places[side], self.potential[side], self.slope[side]
        kinds = []
        for slope in (0, -1):
            at = np.flatnonzero(k == slope)
            best: Array | None = None
            step = max(1, _BLOCK // len(levels[0]))
            for cut in range(0, len(at), step):
                some = at[cut : cut + step]
                cost = sum(t[p[some]][:, lv] for t, p, lv in zip(self.tables.tables, place, levels, strict=True))
                least = (cost - A[some][:, None]).min(axis=0)
                best = least if best is None else np.minimum(best, least)
            kinds.append(best)
        return kinds

    def _number(self, value: Any) -> Any:
        return EXACT.number(int(value)) if self.tables.exact else float(value)


@dataclass(frozen=True, eq=False)
class PartAnswer:
    """The joint table of a part (row within the part, decision, rho), v minus its base, and Eve's replies."""

    row: Array
    decision: Array
    rho: Array
    v: Array
    replies: Any


@dataclass(frozen=True, eq=False)
class PairedTask:
    """What a worker needs to solve one part: the records of both sides one after the other.

    cut: how many lose by guess 0. codes, kinds: published levels and secret of each. p, spread: p(x) and a(x). places:
    the numbers of (x, 0) among the fixed weights. kept: the decisions that may be sent, all of them if None; v and the
    replies are then of no use.
    """

    tables: ColumnTables
    cut: int
    codes: Array
    kinds: Array
    p: Array
    spread: Array
    places: Array
    lam: Any
    kept: Array | None = None

    @property
    def effort(self) -> float:
        return float(self.cut) * (len(self.p) - self.cut) * 10

    def solve(self) -> PartAnswer:
        halves = slice(0, self.cut), slice(self.cut, None)
        left, right = halves
        tables, lam = self.tables, self.lam * self.tables.unit
        sides = (self.codes[left], self.codes[right]), (self.kinds[left], self.kinds[right])
        losses = ColumnLosses(tables, *sides) if self.kept is None else KeptLosses(tables, *sides, self.kept)
        supply = self.p * self.spread
        found = paired_optimum(losses, (supply[left], supply[right]), lam, (self.places[left], self.places[right]))
        pairing = found.pairing if is_exact(self.p) else _proved(found.pairing, losses.cost, lam)
        alpha = np.concatenate([self._alpha(A, k) for A, k in zip(pairing.potential, pairing.slope, strict=True)])
        row = found.state + found.side * self.cut
        replies = PairedReplies(tables, losses.places, pairing.potential, pairing.slope, self.lam)
        return PartAnswer(row, found.decision, found.amount / self.spread[row], alpha * self.spread, replies)

    def _alpha(self, A: Array, k: Array) -> Array:
        lam, unit = self.lam * self.tables.unit, self.tables.unit
        if not is_exact(self.p):
            return (A + k * lam) / unit
        return objects((fmpq(int(a)) + s * lam) / unit for a, s in zip(A.tolist(), k.tolist(), strict=True))


def _proved(found: Pairing, cost: Array, lam: float) -> Pairing:
    """Float potentials moved to where no pair has a negative reduced cost: all alpha <= 0, the left ones lowered."""
    left, right = (np.minimum(A + k * lam, 0.0) for A, k in zip(found.potential, found.slope, strict=True))
    if cost.size:
        left = left + min(float((cost - left[:, None] - right).min()) - lam, 0.0)
    flat = tuple(np.zeros(len(side), dtype=np.int64) for side in (left, right))
    return replace(found, potential=(left, right), slope=(flat[0], flat[1]))
