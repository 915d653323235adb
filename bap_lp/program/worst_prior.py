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
import math
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

import numpy as np

from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.program.bound import Observer, Program
from bap_lp.program.credal import Ball, Box, Credal, Extreme, Hull, Transport
from bap_lp.program.lowering import Signals, lowered
from bap_lp.program.several import worst_rows
from bap_lp.support.clock import check
from bap_lp.support.limits import limit
from bap_lp.support.rational import EXACT, Array, common_denominator, float_above, float_below, floats, is_exact

NODES = 50_000  # of the search for the worst prior
_STEPS = 20  # per state, and per pair of states where mass is moved: what a node takes
ROWS = "priors"

Oracle = Callable[[Array], Extreme]


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


class Search:
    """The search for the worst prior of q: `best` is attained at `prior`. All vertices of a hull are tried.

    In rationals, losses are whole numbers times 1/unit, which are quick to sort, and most nodes are settled by floats,
    with room for all their rounding. Let u = 2^-53, and M the size of c and of all gains together. A sum of n
    such vectors is off by at most (n + 2) u M in every entry, the prior that floats find by some N u in total, and the
    product of the two by N u M more: all in all less than 32 (N + n + 8) u M.
    """

    def __init__(
        self, arrays: Arrays, lam: Any, q: Array, oracle: Oracle, start: Array, credal: Credal | None = None
    ) -> None:
        self.arrays, self.lam, self.q, self.oracle, self.exact = arrays, lam, q, oracle, is_exact(q)
        self.whole = self.exact and isinstance(credal, (Ball, Box, Transport))
        self.vertices = credal.vertices if isinstance(credal, Hull) else None
        self.rough = credal.rounded.support if isinstance(credal, (Ball, Box)) and self.exact else None
        self.prior, self.best = start, self.value(start)
        self.moved: Array | None = None
        self.slack = EXACT.zero if self.exact else 1e-14 * max(1.0, abs(float(self.best)))

    def value(self, p: Array) -> Any:
        bob, eve = risks_under(self.arrays, p, self.q)
        return bob - self.lam * eve

    def losses(self, replies: Array) -> Array:
        """c_t of the states."""
        return (self.q * told(self.arrays, self.lam, replies)).sum(axis=1)

    def tried(self, p: Array, moved: Array | None = None) -> Any:
        own = self.value(p)
        if own > self.best:
            self.best, self.prior, self.moved = own, p, moved
        return own

    def climb(self, starts: Iterable[Array] = ()) -> list[tuple[Any, Array]]:
        """From a prior to the worst one for the replies that are best at it, and again, until nothing is gained.

        Where this ends from every start, and R_A there.
        """
        ends = []
        for p in (self.prior, *starts):
            value = self.tried(p)
            while True:
                _, found, moved = self.oracle(self.losses(replies_at(self.arrays, p, self.q)))
                if found is None or not (own := self.tried(found, moved)) > value + self.slack:
                    break
                value, p = own, found
            ends.append((value, p))
        return sorted(ends, key=lambda end: -end[0])

    def _places(self, replies: Array) -> list[tuple[Any, list[Array]]]:
        """max_j support(d_igj) and all d_igj of the places where one is positive, the largest first."""
        arrays, lam, q, places = self.arrays, self.lam, self.q, []
        for i, g in np.ndindex(replies.shape):
            at, group = int(replies[i, g]), arrays.groups[g]
            gains = (lam * q[:, i] * (arrays.E[:, at] - arrays.E[:, j]) for j in range(group.start, group.stop))
            live = [(most, d) for d in gains if (d > 0).any() and (most := self.oracle(d)[0]) > self.slack]
            if live:
                places.append((max(most for most, _ in live), [d for _, d in live]))
        return sorted(places, key=lambda place: -place[0])

    def run(self, floor: Any = None, nodes: int = NODES, timed: bool = True) -> Any:
        """A number that R_A exceeds under no prior: the largest of best and floor, or more if nodes run out.

        timed: whether a time limit ends it.
        """

        def known() -> Any:
            return self.best if floor is None else max(self.best, floor)

        if self.vertices is not None:
            for p in self.vertices:
                self.tried(p)
            return known()
        replies = replies_at(self.arrays, self.prior, self.q)
        c, places, number = self.losses(replies), self._places(replies), count()
        unit = common_denominator(np.concatenate([c, *(d for _, gains in places for d in gains)])) if self.whole else 1
        rest = [sum((most for most, _ in places[k:]), 0 * self.best) for k in range(len(places) + 1)]
        size = sum((abs(d).max() for _, gains in places for d in gains), abs(c).max() + rest[0])
        room = 2.0**-48 * (len(c) + len(places) + 8) * float(size)
        whole = [[(d * unit, floats(d)) for d in gains] for _, gains in places]
        heap: list[Any] = []

        def bound(way: tuple[Array, ...], light: Array, depth: int) -> Any:
            """support + rest, or if floats can tell on which side of `known` that is, a number above it there."""
            if self.rough is not None and math.isfinite(room):
                near, far = float(self.rough(light)[0]) + float(rest[depth]), known()
                if near + room < float_below(far) or (depth < len(places) and near - room > float_above(far)):
                    return EXACT.number(near + room)
            value, p, moved = self.oracle(sum(way[1:], way[0]) if self.exact else light)
            if p is not None and value > self.best * unit:
                self.tried(p, moved)
            return value / unit + rest[depth]

        def push(most: Any, way: tuple[Array, ...], light: Array, depth: int) -> None:
            if most > known() + self.slack or not depth:
                heapq.heappush(heap, (-most, next(number), depth, way, light))

        push(bound((c * unit,), floats(c), 0), (c * unit,), floats(c), 0)
        for k in range(nodes + 1):
            if not heap or -heap[0][0] <= known() + self.slack:
                return known()
            if k == nodes or heap[0][2] == len(places):
                break  # the oracle proves no more
            if timed:
                check()
            least, _, depth, way, light = heapq.heappop(heap)
            same = rest[depth + 1] - rest[depth] - least if self.rough is None else bound(way, light, depth + 1)
            push(same, way, light, depth + 1)
            for gain, own in whole[depth]:
                more = (*way, gain), light + own, depth + 1
                push(bound(*more), *more)
        return -heap[0][0]
