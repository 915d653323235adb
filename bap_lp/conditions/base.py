"""What every condition is: a family of linear rows, a check by definition, and its place in a certificate.

The program's variables are q[x,s] = q(s|x), Eve's risks t[s,g] <= sum_x p(x) E(x,j) q[x,s] for j in g, and auxiliary
columns 0 <= a <= 1 of the conditions. A linear condition is rows  C q + D t + F a <= r  with multipliers w >= 0. Let
u >= 0 be the multipliers of the rows of t. For every feasible channel
    beta R_B - lam R_E >= beta sum p B q - lam sum t + w.(C q + D t + F a - r) + u.(t - p E q)
                       >= sum_x min_s (beta p(x) B(x,i_s) - sum_j u[s,j] p(x) E(x,j) + (C'w)[x,s])
                          + sum min(0, F'w) - w.r        if  sum_{j in g} u[s,j] = lam - (D'w)[s,g],
as sum_s q[x,s] = 1. beta is one in a proof of a value; a bound above zero with beta = lam = 0 proves that no channel
meets the conditions.

A new condition derives from `Condition` and says how it is made from what the user wrote (`of`), what it demands of a
channel (`check`), which rows it has (`places`, each row named by `width` positions) and what they are (`linear`). The
rest follows: the rows in the program, the multipliers in the certificate (`Prices`) and its JSON, the term of the
bound. A condition whose program has other rows than its proof replaces `rows` and `prices`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays, signal_losses
from bap_lp.rational import Array, Field, InputError, number, text

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem

Reader = Callable[[Any, str], Any]  # a number of a file and the name of its place -> the number


@dataclass(frozen=True, eq=False)
class Prices:
    """Multipliers of the rows of a condition: the row named by places[k] has weights[k]; a place may come twice."""

    places: Array
    weights: Array

    @classmethod
    def of(cls, places: Sequence[Sequence[int]], weights: Sequence[Any], width: int, field: Field) -> Prices:
        return cls(np.array(places, dtype=np.int64).reshape(len(places), width), field.list(weights))

    @property
    def total(self) -> Any:
        return self.weights.sum() if len(self.weights) else 0

    def in_field(self, field: Field) -> Prices:
        return Prices(self.places, field.array(self.weights))

    def plus(self, other: Prices, share: Any, onward: Any) -> Prices:
        """share * self + onward * other."""
        places = np.concatenate([self.places, other.places])
        return Prices(places, np.concatenate([self.weights * share, other.weights * onward]))


@dataclass(frozen=True, eq=False)
class Multipliers:
    """A point of the dual: Eve's replies u[s,j], and the prices of the conditions by name.

    Where signals are tuples, u are the prices of Eve's obedience.
    """

    u: Array
    prices: Mapping[str, Prices]

    def in_field(self, field: Field) -> Multipliers:
        prices = {name: own.in_field(field) for name, own in self.prices.items()}
        return Multipliers(field.array(self.u), prices)

    def plus(self, other: Multipliers, share: Any, onward: Any) -> Multipliers:
        """share * self + onward * other: the bound is concave and positively homogeneous in (beta, lam, u, w)."""
        prices = {name: own.plus(other.prices[name], share, onward) for name, own in self.prices.items()}
        return Multipliers(self.u * share + other.u * onward, prices)


@dataclass(frozen=True, eq=False)
class SentSignals:
    """A channel and what the agents lose at its signals."""

    arrays: Arrays
    signals: Signals
    q: Array

    @cached_property
    def rho(self) -> Array:
        return self.arrays.p[:, None] * self.q

    @cached_property
    def bob(self) -> Array:
        return signal_losses(self.rho, self.arrays.B)

    @cached_property
    def eve(self) -> Array:
        return signal_losses(self.rho, self.arrays.E)

    @property
    def told_risk(self) -> Any:
        """R_B of a Bob who decides what he is told."""
        return self.bob[np.arange(len(self.signals)), self.signals.bob].sum()

    @property
    def eve_risk(self) -> Any:
        return np.stack([self.eve[:, g].min(axis=1).sum() for g in self.arrays.groups]).sum()

    def score(self, lam: Any, bob_weight: int = 1) -> tuple[Any, Any]:
        """bob_weight R_B - lam R_E, and what chooses among equal ones: -R_E, or R_B where R_B has no weight."""
        bob, eve = self.told_risk, self.eve_risk
        return bob_weight * bob - lam * eve, -eve if bob_weight else bob


class Lagrangian:
    """The bound as it is summed up: cost[x,s] of sending s at x, price risk[s,g] of Eve's risk, and a constant.

    `size` and `scale` sum the sizes of the terms: rounding errors in floats are judged on them.
    """

    def __init__(self, arrays: Arrays, signals: Signals, u: Array, lam: Any, bob_weight: int = 1) -> None:
        self.arrays, self.signals, self.u = arrays, signals, u
        self.own = arrays.p[:, None] * arrays.B[:, signals.bob]
        self.cost = bob_weight * self.own
        self.size = abs(self.cost)
        self.risk = arrays.field.zeros((len(signals), len(arrays.groups))) + lam
        self.constant = self.scale = arrays.field.zero

    def charge(self, x: Any, s: Any, amount: Array) -> None:
        """Add to the costs of sending s at x; positions may come twice."""
        np.add.at(self.cost, (x, s), amount)
        np.add.at(self.size, (x, s), abs(amount))

    def pay(self, amount: Any) -> None:
        """Add to the constant."""
        self.constant, self.scale = self.constant + amount, self.scale + abs(amount)

    def replied(self, unit: Any) -> str:
        """Charge Eve's replies; what is wrong with them, if anything."""
        p, E = self.arrays.p[:, None], self.arrays.E
        if (self.u < 0).any():
            return "u must not be negative"
        if self.signals.eve is not None:
            for k in range(len(self.arrays.groups)):
                self.charge(..., slice(None), -self.risk[:, k] * p * E[:, self.signals.eve[:, k]])
            return ""
        for k, g in enumerate(self.arrays.groups):
            for s, total in enumerate(self.u[:, g].sum(axis=1)):
                if abs(total - self.risk[s, k]) > unit * abs(self.risk[s, k]):
                    return f"u[{s}] sums to {total}, lambda and the prices of Eve's risk to {self.risk[s, k]}"
        self.charge(..., slice(None), -p * E.dot(self.u.T))
        return ""

    def bound(self, allowed: Array | None = None) -> Any:
        """Below the value of every channel (that sends only allowed[x,s]); in floats less more than its rounding."""
        if allowed is None:
            least = self.cost.min(axis=1).sum()
        else:
            least = self.arrays.field.list(row[ok].min() for row, ok in zip(self.cost, allowed, strict=True)).sum()
        if self.arrays.exact:
            return least + self.constant
        size = float(self.size.max(axis=1).sum() + self.scale)
        return float(least + self.constant) - (sum(self.arrays.shape) + 40) * float(np.finfo(float).eps) * size


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

    unit: relative error of any sum.
    """

    maps: Array
    bob: Array
    eve: Array
    bob_error: float
    eve_error: float
    unit: float


class Condition:
    """One demand in the working numbers of a problem; `of` makes it from what the user wrote."""

    name: ClassVar[str]  # in the table, of its prices, and in a certificate
    numbers: ClassVar[dict[str, int]] = {}  # fields of Conditions that are numbers, and the least value of each
    width: ClassVar[int] = 0  # how many positions name a row
    state: ClassVar[int | None] = None  # which of them is a state, if states may be merged
    priced: ClassVar[bool] = True  # whether it has rows and prices; if not, the feasible channels are not convex
    tuples: ClassVar[bool] = False  # whether it needs tuples of decisions as signals
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
        return (
            "" if known.issuperset(map(tuple, places.tolist())) else f"a price of {self.name} is about none of its rows"
        )

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

    def prices(self, program: RowSink, place: Any, duals: Array) -> Prices:
        """The multipliers on the problem's own states, from the duals (>= 0) of all rows of the program.

        Members of a merged state share its multipliers by probability, as they share its costs.
        """
        places, weights = place[0], duals[place[1]]
        used = weights > 0
        places, weights = places[used], weights[used]
        if self.state is None:
            return Prices(places, weights)
        live = np.flatnonzero(program.index >= 0)
        row, member = np.nonzero(places[:, self.state][:, None] == program.index[live][None, :])
        spread = places[row]
        spread[:, self.state] = live[member]
        return Prices(spread, weights[row] * program.share[live[member]])

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
            if not isinstance(row, list) or len(row) != cls.width + 1 or not all(type(v) is int for v in row[:-1]):
                rule = f"must be {cls.width} positions and a number"
                raise InputError(f"{cls.name}[{k}]", row, rule)
            places.append(row[:-1])
            weights.append(field.number(read(row[-1], f"{cls.name}[{k}][{cls.width}]")))
        return Prices.of(places, weights, cls.width, field)


class RiskLimit(Condition):
    """A limit on one of the risks: one row and one price."""

    def __init__(self, limit: Any) -> None:
        self.limit = limit

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> RiskLimit | None:
        limit = getattr(given, cls.name)
        return None if limit is None else cls(field.number(number(limit, cls.name)))

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        return np.zeros((1, 0), dtype=np.int64)

    @classmethod
    def document(cls, prices: Prices) -> dict[str, Any]:
        return {"prices": {cls.name: text(prices.total)}}

    @classmethod
    def schema(cls) -> dict[str, Any]:
        return {"prices": {"type": "object", "properties": {cls.name: {}}}}

    @classmethod
    def read(cls, document: dict[str, Any], read: Reader, field: Field) -> Prices:
        value = read(document.get("prices", {}).get(cls.name, 0), f"prices.{cls.name}")
        return Prices.of([[]], [field.number(value)], 0, field)
