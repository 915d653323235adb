"""The least R_A over the worst prior of a set S, as one program; and the worst prior of a mechanism.

Signal i tells Bob to decide i, whatever the prior is: one published rule. Eve knows the prior. Under p
    R_A(p, q) = sum_x p(x) sum_i q(i|x) B(x,i) - lam sum_ig min_{j in g} sum_x p(x) q(i|x) E(x,j),
linear in p for Bob and convex for Eve. So the worst prior of S is a vertex of it, and pooling the signals on which Bob
decides alike raises no R_A(p, .): one signal per decision is enough.

From below. Listed priors p_k of S are scenarios with the same Bob. The bound of their program holds for all of S.

From above. Let t name a reply t_ig for every signal and Eve, and c_t(x) = sum_i q(i|x) (B(x,i) - lam sum_g E(x,t_ig)).
Then max_p R_A(p, q) = max over t and p of p.c_t. Fix replies t, which are best at some prior. Another reply j at (i,g)
adds d_igj(x) = lam q(i|x) (E(x,t_ig) - E(x,j)) to c_t(x), at most support(d_igj) in total. So with open places O
    max_p R_A(p, q) <= support(c_t) + sum_{(i,g) in O} max(0, max_j support(d_igj)),
and a search over the places, those with the largest terms first, is exact when none is open. Replies whose term is not
positive are never tried, and in a small set few are left.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from bap_lp.clock import check
from bap_lp.limits import limit
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.program.bound import Observer, Program
from bap_lp.program.credal import Ball, Box, Credal, Extreme, Transport
from bap_lp.program.lowering import Signals, lowered
from bap_lp.program.several import worst_rows
from bap_lp.rational import EXACT, Array, field_of, float_above, float_below, floats, is_exact

NODES = 50_000  # of the search for the worst prior
_STEPS = 20  # per state, and per pair of states where mass is moved: what a node takes
ROWS = "priors"


def conditions_program(arrays: Arrays, signals: Signals, demands: Sequence[Any]) -> Program:
    """What the mechanism must satisfy, with no cost; mass 1, so that the table is the channel."""
    whole = lowered(arrays, signals, demands, EXACT.zero, 0)
    heard = {term[0] for rows in whole.rows for term in rows.terms}
    return Program(whole.mass, whole.cost, tuple(o for o in whole.observers if o.name in heard), whole.rows)


def listed_program(base: Program, arrays: Arrays, lam: Any, listed: Array) -> Program:
    """The program over listed priors: a worst row and an observer for each."""
    sees, starts = np.arange(base.shape[1]), np.array([g.start for g in arrays.groups])
    eves = tuple(Observer(f"eve {k}", sees, p[:, None] * arrays.E, starts, EXACT.zero) for k, p in enumerate(listed))
    rows = worst_rows(ROWS, [p[:, None] * arrays.B for p in listed], eves, [lam] * len(listed))
    return Program(base.mass, base.cost, (*base.observers, *eves), (*base.rows, rows))


def risks_under(arrays: Arrays, p: Array, q: Array) -> tuple[Any, Any]:
    """R_B of a Bob who follows the signal, and R_E, under a prior."""
    rho = p[:, None] * q
    bob = (rho * arrays.B).sum()
    return bob, arrays.least_replies(signal_losses(rho, arrays.E)).sum()


def value_under(arrays: Arrays, lam: Any, p: Array, q: Array) -> Any:
    bob, eve = risks_under(arrays, p, q)
    return bob - lam * eve


def replies_at(arrays: Arrays, p: Array, q: Array) -> Array:
    """Eve's best column of E at every signal and group: signals x groups."""
    return arrays.reply_columns(signal_losses(p[:, None] * q, arrays.E))


def told(arrays: Arrays, lam: Any, replies: Array) -> Array:
    """B(x,i) - lam sum_g E(x,t_ig): states x signals."""
    out = arrays.B
    for k in range(replies.shape[1]):
        out = out - lam * arrays.E[:, replies[:, k]]
    return out


def most_nodes(credal: Credal) -> int:
    """How many nodes a search in rationals may have, whoever makes it."""
    size = credal.states * (credal.states if isinstance(credal, Transport) else 1)
    return int(min(NODES, limit("work") // (_STEPS * size)))


Oracle = Callable[[Array], Extreme]


class Search:
    """The search for the worst prior of q: `best` is attained at `prior`. If all vertices are listed, each is tried."""

    def __init__(
        self, arrays: Arrays, lam: Any, q: Array, oracle: Oracle, start: Array, credal: Credal | None = None
    ) -> None:
        self.arrays, self.lam, self.q, self.oracle = arrays, lam, q, oracle
        self.listed = None if credal is None else credal.listed
        self.rough: Oracle | None = credal.rounded.support if isinstance(credal, (Ball, Box)) else None
        self.prior = start
        self.moved: Array | None = None
        self.best = value_under(arrays, lam, start, q)
        self.slack = EXACT.zero if is_exact(q) else 1e-14 * max(1.0, abs(float(self.best)))

    def tried(self, c: Array) -> Any:
        """support(c); its prior is looked at."""
        value, p, moved = self.oracle(c)
        if p is not None and value > self.best:
            self._look(p, moved)
        return value

    def _look(self, p: Array, moved: Array | None = None) -> None:
        own = value_under(self.arrays, self.lam, p, self.q)
        if own > self.best:
            self.best, self.prior, self.moved = own, p, moved

    def climb(self, starts: Iterable[Array] = ()) -> None:
        """From a prior to the worst one for the replies that are best at it, and again, until nothing is gained."""
        for p in (self.prior, *starts):
            value = value_under(self.arrays, self.lam, p, self.q)
            while True:
                replies = replies_at(self.arrays, p, self.q)
                _, found, moved = self.oracle((self.q * told(self.arrays, self.lam, replies)).sum(axis=1))
                if found is None or not (own := value_under(self.arrays, self.lam, found, self.q)) > value + self.slack:
                    break
                p, value = found, own
                if own > self.best:
                    self.best, self.prior, self.moved = own, p, moved

    def run(self, floor: Any = None, nodes: int = NODES, timed: bool = True) -> Any:
        """A number that R_A exceeds under no prior: the largest of best and floor, or more if nodes run out.

        timed: whether a time limit ends it.
        """
        if self.listed is not None:
            for p in self.listed:
                self._look(p)
            return self.best if floor is None else max(self.best, floor)
        arrays, lam, q = self.arrays, self.lam, self.q
        replies = replies_at(arrays, self.prior, q)
        c = (q * told(arrays, lam, replies)).sum(axis=1)
        places = []
        zero = field_of(q).zero
        for i, g in np.ndindex(replies.shape):
            if not (q[:, i] != 0).any():
                continue
            at, group, live = int(replies[i, g]), arrays.groups[g], []
            for j in range(group.start, group.stop):
                gain = lam * q[:, i] * (arrays.E[:, at] - arrays.E[:, j])
                if j != at and (gain > 0).any() and (most := self.oracle(gain)[0]) > self.slack:
                    live.append((most, gain))
            if live:
                places.append((max(most for most, _ in live), [gain for _, gain in live]))
        places.sort(key=lambda place: -place[0])
        rest = [zero]
        for most, _ in reversed(places):
            rest.append(rest[-1] + most)
        rest.reverse()
        near = _Filter.of(self.rough, c, places, rest)
        number = count()
        heap: list[Any] = [(-(self.tried(c) + rest[0]), next(number), 0, c if near is None else (), near and near.root)]
        for k in range(nodes + 1):
            known = self.best if floor is None else max(self.best, floor)
            if not heap or -heap[0][0] <= known + self.slack:
                return known
            if k == nodes or heap[0][2] == len(places):
                break  # the oracle proves no more
            if timed:
                check()
            _, _, depth, way, light = heapq.heappop(heap)
            for j, gain in enumerate((zero * c, *places[depth][1])):
                if near is None:
                    own = own_way = way + gain
                else:
                    own_way, own_light = (*way, j), light if j == 0 else light + near.gains[depth][j - 1]
                    bound = near.bound(own_light, depth + 1, known)
                    if bound is not None:
                        if bound > known:
                            heapq.heappush(heap, (-bound, next(number), depth + 1, own_way, own_light))
                        continue
                    own = sum((places[d][1][i - 1] for d, i in enumerate(own_way) if i), c)
                bound = self.tried(own) + rest[depth + 1]
                if bound > known + self.slack:
                    heapq.heappush(heap, (-bound, next(number), depth + 1, own_way, near and own_light))
        return -heap[0][0]


@dataclass(frozen=True, eq=False)
class _Filter:
    """Most nodes of a search in rationals are settled by floats, with room for all their rounding.

    Let u = 2^-53, and M the size of c and of all gains together. A sum of n such vectors is off by at most (n + 2) u M
    in every entry, the prior that floats find by some N u in total, and the product of the two by N u M more: all in
    all less than 32 (N + n + 8) u M.
    """

    support: Oracle
    root: Array
    gains: list[list[Array]]
    rest: Array
    room: float

    @classmethod
    def of(cls, support: Oracle | None, c: Array, places: list[Any], rest: list[Any]) -> _Filter | None:
        if support is None or not is_exact(c):
            return None
        gains = [[floats(gain) for gain in own] for _, own in places]
        root, sums = floats(c), floats(EXACT.list(rest))
        size = abs(root).max() + sum(max(abs(gain).max() for gain in own) for own in gains) + sums[0]
        room = 2.0**-48 * (len(c) + len(places) + 8) * float(size)
        return cls(support, root, gains, sums, room) if np.isfinite(room) else None

    def bound(self, c: Array, depth: int, known: Any) -> Any:
        """A number above support(c) + rest, if floats can tell on which side of `known` that sum is; None if not.

        At the end of a way the sum itself is wanted, unless it is certainly below.
        """
        found = float(self.support(c)[0]) + float(self.rest[depth])
        certain = found + self.room < float_below(known) or (
            depth < len(self.gains) and found - self.room > float_above(known)
        )
        return EXACT.number(found + self.room) if certain else None
