"""The canonical program, and the sentence that proves everything: weak duality, once.

Unknown is rho[x,s] >= 0 with sum_s rho[x,s] = mass(x). An *observer* o sees a part of the signal, view sees(s), and
takes the least of several sums; Eve is one, and so are devices such as max_x q(s|x):
    t_o[v,g] = min_{j in g} sum_x rho[x,v] losses_o[x,j],        rho[x,v] = sum of rho[x,s] over sees(s) = v.
    minimise   cost.rho - sum_o price_o sum t_o   (+ the largest of the rows that are `worst`, less their rhs)
    subject to a_r.rho - sum c_r t <= rhs_r, with c >= 0, for every other row r        (= rhs_r where `equal`).

Let w be weights of the rows, not negative unless `equal`, with sum one over the worst rows, and u_o >= 0 replies with
    sum_{j in g} u_o[v,j] = price_o + sum_r w_r c_r[v,g]     for every view v and group g.
A minimum is below any average, so u_o[v].(sum_x rho[x,v] losses_o[x]) >= (price_o + w.c) t_o, and for all feasible rho
    value(rho) >= sum_xs rho[x,s] (cost[x,s] - sum_o u_o[sees(s)].losses_o[x] + sum_r w_r a_r[x,s]) - w.rhs
               >= sum_x mass(x) min_s (cost[x,s] - sum_o u_o[sees(s)].losses_o[x] + (w.a)[x,s]) - w.rhs = bound(u, w).
With cost and prices zero and no worst row, a positive bound proves that nothing is feasible. Where state x may send
only some signals, the minimum is over these.

Every number is rational: a program of floats is one of the fractions they are, and `rounded` is for engines alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bap_lp.model.reports import Reporter
from bap_lp.model.sums.arrays import Arrays, groups_of
from bap_lp.model.sums.merging import class_sums
from bap_lp.model.sums.signal_sums import product_sum, signal_losses
from bap_lp.program.margins import least_margins
from bap_lp.support.rational import Array, Field, ReadOnly, field_of, floats, shown, tree_sum


class NoProof(ArithmeticError):
    """Multipliers that prove nothing; the message says what is wrong with them."""


@dataclass(frozen=True, eq=False)
class Sparse(ReadOnly):
    """A table, states x columns, by its entries that are not zero, each once."""

    x: Array
    j: Array
    value: Array
    shape: tuple[int, int]

    def sums(self, rho: Array) -> Array:
        """sum_x rho[x,v] table[x,j]: views x columns."""
        out = field_of(self.value).zeros((self.shape[1], rho.shape[1]))
        np.add.at(out, self.j, self.value[:, None] * rho[self.x])
        return out.T

    def paid(self, u: Array) -> Array:
        """sum_j table[x,j] u[v,j]: states x views."""
        out = field_of(self.value).zeros((self.shape[0], len(u)))
        np.add.at(out, self.x, self.value[:, None] * u.T[self.j])
        return out


@dataclass(frozen=True, eq=False)
class Observer(ReadOnly):
    """Who sees view sees[s] of signal s and takes the least loss of each group of columns; `starts` of the groups.

    A group in `scores` has further columns that are not listed, one for every report (`model.reports`): its least is
    that over all reports, rounded down, and replies to the listed ones prove what they always do.
    """

    name: str
    sees: Array
    losses: Array | Sparse
    starts: Array
    price: Any
    scores: tuple[tuple[int, Reporter], ...] = ()

    @property
    def views(self) -> int:
        return int(self.sees.max()) + 1

    @property
    def columns(self) -> int:
        return self.losses.shape[1]

    @cached_property
    def group_of(self) -> Array:
        out = np.zeros(self.columns, dtype=int)
        out[self.starts[1:]] = 1
        return np.cumsum(out)

    @cached_property
    def rounded(self) -> Observer:
        return replace(self, losses=self._each(floats), price=float(self.price))

    def _each(self, change: Callable[[Array], Array]) -> Array | Sparse:
        table = self.losses
        return replace(table, value=change(table.value)) if isinstance(table, Sparse) else change(table)

    @property
    def sees_all(self) -> bool:
        return bool((self.sees == np.arange(len(self.sees))).all())

    def sums(self, rho: Array) -> Array:
        """What every column loses at every view."""
        seen = rho if self.sees_all else class_sums(rho.T, self.sees, self.views).T
        return self.losses.sums(seen) if isinstance(self.losses, Sparse) else signal_losses(seen, self.losses)

    def least(self, rho: Array) -> Array:
        """t: views x groups."""
        if not self.scores:
            return np.minimum.reduceat(self.sums(rho), self.starts, axis=1)
        seen = rho if self.sees_all else class_sums(rho.T, self.sees, self.views).T
        out = field_of(rho).zeros((self.views, len(self.starts)))
        for group, reporter in self.scores:
            out[:, group] = reporter.risk(seen)
        for group in set(range(len(self.starts))) - {group for group, _ in self.scores}:
            assert not isinstance(self.losses, Sparse)
            out[:, group] = signal_losses(seen, self.losses[:, self.group_of == group]).min(axis=1)
        return out

    @cached_property
    def sizes(self) -> Observer:
        """The observer whose losses have the size of these."""
        return replace(self, losses=self._each(abs))

    @property
    def largest(self) -> float:
        return float((self.losses.value if isinstance(self.losses, Sparse) else self.losses).max(initial=0.0))

    @property
    def entries_each(self) -> int:
        """How many losses of a state are written down, on average and rounded up."""
        table = self.losses
        return 1 + len(table.value) // table.shape[0] if isinstance(table, Sparse) else self.columns

    def entries_of(self, x: Array) -> tuple[Array, Array, Array]:
        """The losses of some states that are not zero: the number of the state in x, the loss, and its column."""
        if isinstance(self.losses, Sparse):
            order = np.argsort(self.losses.x, kind="stable")
            first = np.searchsorted(self.losses.x[order], np.arange(self.losses.shape[0] + 1))
            counts = (first[1:] - first[:-1])[x]
            k = np.repeat(np.arange(len(x)), counts)
            at = order[np.arange(len(k)) - np.repeat(np.cumsum(counts) - counts - first[x], counts)]
            return k, self.losses.value[at], self.losses.j[at]
        k, j = np.indices((len(x), self.columns)).reshape(2, -1)
        return k, self.losses[x].ravel(), j

    def paid(self, u: Array) -> Array:
        """u[sees(s)].losses[x]: states x signals."""
        if isinstance(self.losses, Sparse):
            return self.losses.paid(u)[:, self.sees]
        return (self.losses @ u.T)[:, self.sees]


Entries = tuple[Array, Array, Array, Array]  # row, x, s, value
Terms = tuple[str, Array, Array, Array, Array]  # observer; row, view, group, c >= 0


@dataclass(frozen=True, eq=False)
class Rows(ReadOnly):
    """a.rho - c.t <= rhs, a row per number of rhs; entries and terms may come in any order, each place once.

    lazy: which rows an optimum without them seldom breaks, a hint for engines.
    """

    name: str
    rhs: Array
    entries: Entries | None = None
    terms: tuple[Terms, ...] = ()
    equal: bool = False
    worst: bool = False
    lazy: Array | None = None

    def __len__(self) -> int:
        return len(self.rhs)

    @cached_property
    def rounded(self) -> Rows:
        entries = None if self.entries is None else (*self.entries[:3], _repeated_floats(self.entries[3]))
        terms = tuple((*term[:4], _repeated_floats(term[4])) for term in self.terms)
        return replace(self, rhs=floats(self.rhs), entries=entries, terms=terms)


def _repeated_floats(values: Array) -> Array:
    """The nearest floats of numbers that are mostly the same objects, as those of a row per signal are."""
    names = list(map(id, values.tolist()))
    near = {name: float(value) for name, value in dict(zip(names, values.tolist(), strict=True)).items()}
    return np.array([near[name] for name in names], dtype=float)


Weights = Mapping[str, Array]  # of the rows, by their name
Replies = Mapping[str, Array]  # views x columns, by the observer's name


@dataclass(frozen=True, eq=False)
class Dual(ReadOnly):
    """Multipliers: what every observer replies, and what every row weighs. Rows that are not named weigh nothing."""

    replies: Replies
    weights: Weights

    def plus(self, other: Dual, share: Any, onward: Any) -> Dual:
        """share * self + onward * other: the bound is concave and positively homogeneous in costs, prices, u and w."""

        def both(one: Mapping[str, Array], two: Mapping[str, Array]) -> dict[str, Array]:
            zero = {name: 0 * table for name, table in (*two.items(), *one.items())}
            return {k: share * one.get(k, zero[k]) + onward * two.get(k, zero[k]) for k in zero}

        return Dual(both(self.replies, other.replies), both(self.weights, other.weights))

    def each(self, change: Any) -> Dual:
        return Dual(*({name: change(v) for name, v in part.items()} for part in (self.replies, self.weights)))


class _Seen(dict[str, Array]):
    """t by observer, each when it is asked for: most rows have no terms."""

    def __init__(self, observers: Sequence[Observer], rho: Array) -> None:
        self.observers, self.rho = {o.name: o for o in observers}, rho

    def __missing__(self, name: str) -> Array:
        self[name] = self.observers[name].least(self.rho)
        return self[name]


@dataclass(frozen=True, eq=False)
class Program(ReadOnly):
    """mass (states), cost (states x signals), observers and rows; all names are different."""

    mass: Array
    cost: Array
    observers: tuple[Observer, ...] = ()
    rows: tuple[Rows, ...] = ()

    @property
    def field(self) -> Field:
        return field_of(self.mass)

    @property
    def shape(self) -> tuple[int, int]:
        return self.cost.shape

    @cached_property
    def rounded(self) -> Program:
        if not self.field.exact:
            return self
        seen, rows = tuple(o.rounded for o in self.observers), tuple(one.rounded for one in self.rows)
        return Program(floats(self.mass), floats(self.cost), seen, rows)

    @cached_property
    def free(self) -> Arrays | None:
        """mass, cost and losses as p, B and E of a problem without conditions, if there is one observer and no row."""
        o = self.observers[0] if len(self.observers) == 1 and not self.rows else None
        if o is None or isinstance(o.losses, Sparse) or o.scores or not o.sees_all:
            return None
        groups = groups_of(np.diff([*o.starts.tolist(), o.columns]).tolist())
        return Arrays(self.mass, self.cost, o.losses, groups)

    @property
    def silent(self) -> Program:
        """With cost and prices zero and no worst row: its bound is positive only if nothing is feasible."""
        seen = tuple(replace(o, price=self.field.zero) for o in self.observers)
        rows = tuple(one for one in self.rows if not one.worst)
        return replace(self, cost=0 * self.cost, observers=seen, rows=rows)

    # what a table does

    def seen(self, rho: Array) -> Mapping[str, Array]:
        """t of every observer. What was seen last is kept, and its table is not to be changed any more."""
        last: _Seen | None = vars(self).get("_last")
        if last is None or last.rho is not rho:
            rho.flags.writeable = False
            last = vars(self)["_last"] = _Seen(self.observers, rho)
        return last

    def sides(self, rho: Array, seen: Mapping[str, Array] | None = None, sizes: bool = False) -> dict[str, Array]:
        """a.rho - c.t - rhs of all rows, by name; sizes: the sum of the sizes of these terms instead."""
        seen = self.seen(rho) if seen is None else seen
        out = {}
        for one in self.rows:
            side = abs(one.rhs) if sizes else -one.rhs
            if one.entries is not None:
                row, x, s, value = one.entries
                amount = rho[x, s]
                live = np.flatnonzero(amount != 0) if self.field.exact else slice(None)
                term = value[live] * amount[live]
                np.add.at(side, row[live], abs(term) if sizes else term)
            for name, row, view, group, c in one.terms:
                t = seen[name][view, group]
                np.subtract.at(side, row, c * (-abs(t) if sizes else t))
            out[one.name] = side
        return out

    def value(self, rho: Array, seen: Mapping[str, Array] | None = None) -> Any:
        seen = self.seen(rho) if seen is None else seen
        x, s = np.nonzero(rho != 0)
        total = product_sum(self.cost[x, s], rho[x, s])
        for o in self.observers:
            if o.price != 0:
                total = total - o.price * tree_sum(seen[o.name].ravel())
        worst = [one for one in self.rows if one.worst]
        if worst:
            sides = replace(self, rows=tuple(worst)).sides(rho, seen)
            total = total + max(side.max() for side in sides.values() if len(side))
        return total

    def broken(self, rho: Array, sides: Mapping[str, Array] | None = None) -> tuple[str, int] | None:
        """The name and number of a row that the table breaks; None if there is none. sides: its own, if known."""
        sides = self.sides(rho) if sides is None else sides
        for one in self.rows:
            side = sides[one.name]
            wrong = side != 0 if one.equal else side > 0
            if not one.worst and wrong.any():
                return one.name, int(np.argmax(wrong))
        return None

    # what multipliers prove

    def prices(self, weights: Weights) -> dict[str, Array]:
        """What the replies of every observer must sum to, views x groups."""
        out = {o.name: self.field.full((o.views, len(o.starts)), o.price) for o in self.observers}
        for one in self.rows:
            if one.name in weights and (weights[one.name] != 0).any():
                for name, row, view, group, c in one.terms:
                    np.add.at(out[name], (view, group), c * weights[one.name][row])
        return out

    def completed(self, dual: Dual) -> Dual:
        """With a weight for every row and replies of every observer, zero where there are none."""
        zeros = self.field.zeros
        replies = {o.name: dual.replies.get(o.name, zeros((o.views, o.columns))) for o in self.observers}
        return Dual(replies, {one.name: dual.weights.get(one.name, zeros(len(one))) for one in self.rows})

    def bound(self, dual: Dual, allowed: Array | None = None) -> Any:
        """Below the value of every feasible table (that sends only allowed[x,s]); raises NoProof."""
        weights = self._weighed(dual.weights)
        self._replied(dual.replies, weights)
        least = self._least(dual.replies, weights, allowed)
        paid = [w.dot(one.rhs) for one in self.rows if (w := weights[one.name]).any()]
        return tree_sum(self.mass * least) - sum(paid, self.field.zero)

    def _least(self, replies: Replies, weights: Weights, allowed: Array | None) -> Array:
        """min_s (cost[x,s] - sum_o u_o[sees(s)].losses_o[x] + (w.a)[x,s]) for every x, over the signals allowed.

        A program whose cost is not laid out has its own way.
        """
        return least_margins(self, replies, weights, allowed)

    def _weighed(self, weights: Weights) -> dict[str, Array]:
        known = {one.name: one for one in self.rows}
        for name in weights:
            if name not in known:
                raise NoProof(f"there is a weight for {name[:60]!r}, which is not a row")
        out = {}
        worst: list[Array] = []
        for name, one in known.items():
            w = weights.get(name, self.field.zeros(len(one)))
            if w.shape != (len(one),):
                raise NoProof(f"the weights of {name} are {len(w)}, must be {len(one)}, one per row")
            if not one.equal and (w < 0).any():
                raise NoProof(f"the weights of {name} must not be negative")
            worst += [w] if one.worst else []
            out[name] = w
        if worst and (total := tree_sum(np.concatenate(worst))) != 1:
            raise NoProof(f"the weights of the worst cases sum to {shown(total, False)}, must sum to 1")
        return out

    def _replied(self, replies: Replies, weights: Weights) -> None:
        if set(replies) != {o.name for o in self.observers}:
            raise NoProof(f"there must be replies of {', '.join(o.name for o in self.observers) or 'nobody'}")
        goals = self.prices(weights)
        for o in self.observers:
            u = replies[o.name]
            if u.shape != (o.views, o.columns):
                raise NoProof(f"the replies of {o.name} have shape {u.shape}, must have {(o.views, o.columns)}")
            if (u < 0).any():
                raise NoProof(f"the replies of {o.name} must not be negative")
            sums = np.add.reduceat(u, o.starts, axis=1)
            wrong = np.argwhere(sums != goals[o.name])
            if len(wrong):
                v, g = wrong[0].tolist()
                found, goal = shown(sums[v, g], False), shown(goals[o.name][v, g], False)
                raise NoProof(f"the replies of {o.name} at {v} sum to {found}, their price is {goal}")


def compact(arrays: Arrays, lam: Any) -> Program:
    """The free program, one signal per decision of Bob: mass p, cost B, and the Eves side by side as one observer."""
    starts = np.array([g.start for g in arrays.groups])
    eve = Observer("eve", np.arange(arrays.B.shape[1]), arrays.E, starts, arrays.field.number(lam))
    program = Program(arrays.p, arrays.B, (eve,))
    vars(program)["free"] = arrays
    return program
