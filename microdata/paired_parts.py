"""Parts with one Eve of two guesses: solved as a transportation problem (see `pairing`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.rational import EXACT, Array, is_exact, objects
from microdata.columns import ColumnLosses, ColumnTables
from microdata.paired import paired_optimum
from microdata.pairing import Pairing
from microdata.records import RecordProgram

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
    the numbers of (x, 0) among the fixed weights.
    """

    tables: ColumnTables
    cut: int
    codes: Array
    kinds: Array
    p: Array
    spread: Array
    places: Array
    lam: Any

    @property
    def effort(self) -> float:
        return float(self.cut) * (len(self.p) - self.cut) * 10

    def solve(self) -> PartAnswer:
        halves = slice(0, self.cut), slice(self.cut, None)
        left, right = halves
        tables, lam = self.tables, self.lam * self.tables.unit
        losses = ColumnLosses(tables, (self.codes[left], self.codes[right]), (self.kinds[left], self.kinds[right]))
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
