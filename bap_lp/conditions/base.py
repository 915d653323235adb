"""What every condition is: a family of linear rows, a check by definition, and its place in a certificate.

Rows are linear in the channel q[x,s], in Eve's risks t[s,g] and in auxiliary columns 0 <= a <= 1; `lagrangian` says
what their multipliers prove.

A new condition derives from `Condition` and says how it is made from what the user wrote (`of`), what it demands of a
channel (`check`), which rows it has (`places`, each row named by `width` positions) and what they are (`linear`). The
rest follows: the rows in the program, the multipliers in the certificate (`Prices`) and its JSON, the term of the
bound. A condition whose program has other rows than its proof replaces `rows` and `prices`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from bap_lp.conditions.lagrangian import Lagrangian, Prices, SentSignals
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.rational import Array, Field, InputError, text

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem

Reader = Callable[[Any, str], Any]  # a number of a file and the name of its place -> the number


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Rows with right-hand sides, entry by entry; the arrays of an entry broadcast together.

    q: (row, x, s, value) of q[x,s]; t: (row, s, g, value) of t[s,g]; a: (row, column, value) of `columns` auxiliaries.
    """

    rhs: Array
    q: tuple[Any, ...] = ()
    t: tuple[Any, ...] = ()
    a: tuple[Any, ...] = ()
    columns: int = 0


def broken_row(gains: Array, sent: Array, sizes: Array, unit: Any) -> int | None:
    """The first row with gains.sent > 0, or in floats more than `unit` times its size; None if there is none.

    gains: states x rows. sent: q[x,s] of the signal of every row, of the same shape.
    """
    wrong = (gains * sent).sum(axis=0) > (unit * sizes if unit else 0)
    return int(np.argmax(wrong)) if wrong.any() else None


class RowSink(Protocol):
    """The channel program, as conditions see it while they add their rows."""

    arrays: Arrays
    signals: Signals
    q: Array  # column numbers of q[x,s]
    t: Array  # column numbers of t[s,g]
    index: Array  # the program's state of every state of the problem, -1 if it has none
    share: Array  # p(x) over the probability of its state in the program

    def columns(self, shape: int | tuple[int, ...]) -> Array: ...

    def rows(self, count: int, entries: Sequence[tuple[Any, Any, Any]], rhs: Any = 0) -> slice: ...


@dataclass(frozen=True, eq=False)
class MapTable:
    """Deterministic mechanisms, a row each (the signal of every state), with float risks and the bounds on their error.

    unit: relative error of any sum; tolerance: what a float mechanism may miss a limit by, relative to the spreads.
    """

    maps: Array
    bob: Array
    eve: Array
    bob_error: float
    eve_error: float
    unit: float
    tolerance: float = 0.0
    spreads: tuple[float, float] = (0.0, 0.0)

    @property
    def signals(self) -> Array:
        """How many signals each of them sends."""
        ordered = np.sort(self.maps, axis=1)
        return 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1)


@dataclass(frozen=True, eq=False)
class Part:
    """One of the demands of a notion.

    label: as in the user's table; value: its number, None if it has none; looser: 1 if larger numbers ask less, or
    -1; limit: a number that asks as little as possible; at: the condition with this demand alone, at another number.
    """

    label: str
    value: Any
    looser: int
    limit: Any
    at: Callable[[Any], Condition]


class Condition:
    """One demand in the working numbers of a problem; `of` makes it from what the user wrote."""

    name: ClassVar[str]  # in the table, of its prices, and in a certificate
    numbers: ClassVar[dict[str, int]] = {}  # fields of Conditions that are numbers, and the least value of each
    width: ClassVar[int] = 0  # how many positions name a row
    states: ClassVar[tuple[int, ...]] = ()  # which of them, one or two, are states; -1 there: the row is about none
    priced: ClassVar[bool] = True  # whether it has rows and prices; if not, the feasible channels are not convex
    tuples: ClassVar[bool] = False  # whether it needs tuples of decisions as signals
    by_ratio: ClassVar[bool] = False  # whether it compares probabilities by their ratio, so that tiny ones matter
    merges: bool = True  # whether states with equal losses may be merged
    null_row: bool = True  # whether a state of probability zero may be given the null row sum_x p(x) q(.|x)

    @classmethod
    def validate(cls, given: Conditions) -> None:
        """Check the fields of this condition beyond their numbers."""

    @classmethod
    def is_exact(cls, given: Conditions) -> bool:
        return not any(isinstance(getattr(given, name), float) for name in cls.numbers)

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> Condition | None:
        """The condition for a problem, None if it is not demanded."""
        raise NotImplementedError

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        """The fields of Conditions that state it."""
        return (cls.name,)

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        """Its single demands."""
        return [Part(self.name, None, 1, None, lambda _: self)]

    def joined(self, other: Condition) -> Condition:
        """This demand and another of the same notion."""
        raise NotImplementedError

    def features(self) -> Array | None:
        """Numbers of every state of the problem (a row each) that merged states must share; None if there are none."""
        return None

    def lowered(self, bob: Any, eve: Any) -> Condition:
        """The condition on losses from which the least of every state is subtracted: R_B falls by bob, R_E by eve."""
        return self

    def relaxed(self, arrays: Arrays, unit: Any) -> Condition:
        """In floats, loosened by less than a channel may miss it by, so that rounding does not make it impossible."""
        return self

    def on(self, index: Array, count: int) -> Condition:
        """The condition on the program's states: state x of the problem is index[x], or left out if that is -1."""
        return self

    def check(self, sent: SentSignals, unit: Any) -> str:
        """Which demand a channel breaks, by definition, or ""; `unit` is the relative tolerance, 0 for exact ones."""
        raise NotImplementedError

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        """The names of all rows, `width` positions each."""
        raise NotImplementedError

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        """The rows of these names."""
        raise NotImplementedError

    def unknown(self, places: Array, arrays: Arrays, signals: Signals) -> str:
        """Why one of the places names no row; "" if all do."""
        known = set(map(tuple, self.places(arrays, signals).tolist()))
        named = known.issuperset(map(tuple, places.tolist()))
        return "" if named else f"a price of {self.name} is about none of its rows"

    def rows(self, program: RowSink) -> Any:
        """Add the rows to the program; what is returned tells `prices` where they are."""
        places = self.places(program.arrays, program.signals)
        rows = self.linear(places, program.arrays, program.signals)
        entries = []
        if rows.q:
            k, x, s, value = rows.q
            entries.append((k, program.q[x, s], value))
        if rows.t:
            k, s, g, value = rows.t
            entries.append((k, program.t[s, g], value))
        if rows.a:
            k, column, value = rows.a
            entries.append((k, program.columns(rows.columns)[column], value))
        return places, program.rows(len(places), entries, rows.rhs)

    def lazy(self, place: Any) -> Array:
        """Rows of the program that an optimum without them seldom violates; none by default."""
        return np.zeros(0, dtype=np.int64)

    def prices(self, program: RowSink, place: Any, duals: Array) -> Prices:
        """The multipliers on the problem's own states, from the duals (>= 0) of all rows of the program.

        Members of a merged state share its multipliers by probability, as they share its costs. A multiplier of two
        merged states goes to pairs of their members such that every member has its share.
        """
        places, weights = place[0], duals[place[1]]
        used = weights > 0
        places, weights = places[used], weights[used]
        if not self.states:
            return Prices(places, weights)
        members = _members(program)
        spread, shares = [], []
        for row, w in zip(places.tolist(), weights, strict=True):
            own = [members[row[k]] for k in self.states if row[k] >= 0]
            for group, share in _coupled(own, program.arrays.field.one):
                out = list(row)
                for k, x in zip(self.states, group, strict=False):
                    out[k] = x
                spread.append(out)
                shares.append(w * share)
        return Prices.of(spread, shares, self.width, program.arrays.field)

    def bound_term(self, prices: Prices, lagrangian: Lagrangian) -> str:
        """Add w.(C q + D t) + sum min(0, F'w) - w.r to the Lagrangian; what is wrong with the prices, if anything."""
        wrong = self.unknown(prices.places, lagrangian.arrays, lagrangian.signals)
        if wrong or not len(prices.places):
            return wrong
        w, rows = prices.weights, self.linear(prices.places, lagrangian.arrays, lagrangian.signals)
        if rows.q:
            k, x, s, value = rows.q
            lagrangian.charge(x, s, w[k] * value)
        if rows.t:
            k, s, g, value = rows.t
            np.subtract.at(lagrangian.risk, (s, g), w[k] * value)
        if rows.a:
            k, column, value = rows.a
            totals = lagrangian.arrays.field.zeros(rows.columns)
            np.add.at(totals, column, w[k] * value)
            lagrangian.pay(np.minimum(totals, 0 * totals).sum())
        lagrangian.pay(-w.dot(rows.rhs))
        return ""

    def shadow(self, prices: Prices, sent: SentSignals) -> dict[str, Any]:
        """How fast R_A falls as a number of the condition is relaxed, by the number's name; none by default."""
        return {}

    def sieve(self, table: MapTable) -> Array:
        """Which deterministic mechanisms may satisfy the condition: false only where it fails for certain."""
        return np.ones(len(table.maps), dtype=bool)

    @classmethod
    def document(cls, prices: Prices) -> dict[str, Any]:
        """The prices as the keys of a certificate: [*place, weight] for every row with a weight."""
        rows = zip(prices.places.tolist(), prices.weights.tolist(), strict=True)
        return {cls.name: [[*place, text(w)] for place, w in rows if w != 0]}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return {cls.name: {"type": "array"}}

    @classmethod
    def read(cls, document: dict[str, Any], read: Reader, field: Field) -> Prices:
        """The prices from a certificate's document; none if the key is not there."""
        places, weights = [], []
        for k, row in enumerate(document.get(cls.name, [])):
            if not isinstance(row, list) or len(row) != cls.width + 1 or not all(map(_is_position, row[:-1])):
                rule = f"must be {cls.width} positions and a number"
                raise InputError(f"{cls.name}[{k}]", row, rule)
            places.append(row[:-1])
            weights.append(field.number(read(row[-1], f"{cls.name}[{k}][{cls.width}]")))
        return Prices.of(places, weights, cls.width, field)


Shares = list[tuple[int, Any]]  # states of the problem in one state of the program, with their shares of it


def _members(program: RowSink) -> dict[int, Shares]:
    out: dict[int, Shares] = {}
    for x, (k, share) in enumerate(zip(program.index.tolist(), program.share, strict=True)):
        if k >= 0:
            out.setdefault(k, []).append((x, share))
    return out


def _coupled(groups: list[Shares], one: Any) -> list[tuple[tuple[int, ...], Any]]:
    """(members, share): the members of one group, or pairs of two such that each member has its share."""
    if len(groups) == 2:
        return list(coupling(*groups))
    return [((x,), share) for x, share in groups[0]] if groups else [((), one)]


def coupling(left: Shares, right: Shares) -> Iterator[tuple[tuple[int, int], Any]]:
    """Pairs of members of two groups, and shares of the pairs, such that each member has its share."""
    ends = [[list(member) for member in reversed(group)] for group in (left, right)]
    while all(ends):
        step = min(end[-1][1] for end in ends)
        yield (ends[0][-1][0], ends[1][-1][0]), step
        for end in ends:
            end[-1][1] -= step
            if end[-1][1] <= 0:
                end.pop()


def _is_position(value: Any) -> bool:
    return type(value) is int and -1 <= value < 2**31
