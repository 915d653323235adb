"""What Bob and Eve ask about a table, each as a loss that depends on the table through a few counts.

x_S is the number of people in the cells S and theta_S their share in the population; given x, theta_S is
Beta(a_S + x_S, a_T + x_T) with T the other cells, and theta_S / (theta_S + theta_T) has this law for any disjoint S, T.

    Estimate     theta_S, theta_S / theta_of, theta_S / theta_per or the same of the table: absolute or squared loss
    Threshold    the same, and the decision says between which thresholds it lies

The questions of disclosure control are in `bap_sdc.count_tables.disclosure`.

Costs are (over, under): what a decision costs that is too high ("yes" where the answer is "no"), and too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from flint import arb, fmpq

from bap_lp import InputError
from bap_lp.support.display import fraction
from bap_lp.support.labels import weight_of
from bap_lp.support.rational import Array, number, objects, public, show
from bap_sdc.count_tables.beta import (
    Point,
    Ratio,
    Share,
    Target,
    Value,
    absolute_loss,
    interval_losses,
    squared_loss,
)
from bap_sdc.count_tables.layout import Layout, Set
from bap_sdc.count_tables.spaces import Space


@dataclass(frozen=True, eq=False)
class Face:
    """An agent's loss on the tables of a space: row `codes[x]` of `rows`, which are exact or balls (arb)."""

    decisions: tuple[str, ...]
    codes: Array
    rows: Array
    note: str = ""  # what the agent knows, if agents of one question differ in that


@dataclass(frozen=True)
class Asked:
    """The fields that all questions share. `cells` are names; see `Layout.read`."""

    cells: Any
    name: str = field(default="", kw_only=True)
    weight: Any = field(default=1, kw_only=True)
    costs: Any = field(default=(1, 1), kw_only=True)

    def prices(self, place: str) -> tuple[fmpq, fmpq]:
        """(over, under), read."""
        if not isinstance(self.costs, (list, tuple)) or len(self.costs) != 2:
            raise InputError(f"{place}.costs", self.costs, "must be two numbers, for too high and for too low")
        found = [exact_number(c, f"{place}.costs[{k}]") for k, c in enumerate(self.costs)]
        for k, c in enumerate(found):
            if c < 0:
                raise InputError(f"{place}.costs[{k}]", c, "must not be negative")
        if not any(found):
            raise InputError(f"{place}.costs", self.costs, "must not both be zero")
        return found[0], found[1]

    def sets(self, layout: Layout, place: str) -> list[Set]:
        """The sets of cells that the question looks at, after every check that needs no table."""
        self.prices(place)
        weight_of(self.weight, f"{place}.weight")
        return [layout.read(self.cells, f"{place}.cells")]

    def floats(self) -> bool:
        """Whether a number of the question was given as a float."""
        return any(isinstance(v, float) for v in (self.weight, *self.costs))

    def faces(self, space: Space, layout: Layout, place: str) -> list[Face]:
        """The losses on the tables of a space."""
        raise NotImplementedError


@dataclass(frozen=True)
class Quantity(Asked):
    """A number to be estimated or tested: a share, a share of some cells (`of`), or a ratio (`per`).

    about = "population" speaks of theta; about = "table" of the n people: x_S itself, or x_S / x_of, or x_S / x_per.
    """

    of: Any = field(default=None, kw_only=True)
    per: Any = field(default=None, kw_only=True)
    about: str = field(default="population", kw_only=True)

    def sets(self, layout: Layout, place: str) -> list[Set]:
        inside, other = self._pair(layout, place)
        return [*super().sets(layout, place), inside, other]

    def _pair(self, layout: Layout, place: str) -> tuple[Set, Set]:
        """S, and the cells that it is compared with."""
        if self.about not in ("population", "table"):
            raise InputError(f"{place}.about", self.about, 'must be "population" or "table"')
        inside = layout.read(self.cells, f"{place}.cells")
        if self.of is not None and self.per is not None:
            raise InputError(f"{place}.per", None, "must not be given together with of")
        if self.per is not None:
            other = layout.read(self.per, f"{place}.per")
            if inside & other:
                raise InputError(
                    f"{place}.per", self.per, f"must have no cell in common with cells = {show(self.cells)}"
                )
            return inside, other
        whole = layout.everything if self.of is None else layout.read(self.of, f"{place}.of")
        if not inside <= whole:
            raise InputError(f"{place}.of", self.of, f"must contain cells = {show(self.cells)}")
        if inside == whole and (self.of is not None or self.about == "population"):
            raise InputError(f"{place}.cells", self.cells, "must leave out a cell: their share is 1")
        return inside, whole - inside

    def _targets(self, space: Space, layout: Layout, place: str) -> tuple[Array, list[Target]]:
        """The law of the quantity given each table: codes, and the law of each code."""
        inside, other = self._pair(layout, place)
        here, there = space.count(inside), space.count(other)
        if self.about == "table" and self.of is None and self.per is None:
            there = np.zeros_like(there)
        n, who = space.population.n, space.population
        pairs, codes = np.unique(here.astype(np.int64) * (n + 1) + there, return_inverse=True)
        counts = [(fmpq(int(v) // (n + 1)), fmpq(int(v) % (n + 1))) for v in pairs]
        if self.about == "table":
            if self.of is None and self.per is None:
                return codes, [Point(s, fmpq(1)) for s, _ in counts]
            return codes, [Point(s, t if self.per is not None else s + t) for s, t in counts]
        kind = Share if self.per is None else Ratio
        return codes, [kind(who.weight(inside) + s, who.weight(other) + t) for s, t in counts]


@dataclass(frozen=True)
class Estimate(Quantity):
    """Choose one of the numbers `decisions`, with absolute or squared loss; costs apply to the absolute one."""

    decisions: Any = ()
    loss: str = field(default="absolute", kw_only=True)

    def sets(self, layout: Layout, place: str) -> list[Set]:
        self._grid(place)
        if self.loss not in ("absolute", "squared"):
            raise InputError(f"{place}.loss", self.loss, 'must be "absolute", "squared" or "0-1"')
        if self.loss == "squared" and self.prices(place) != (1, 1):
            raise InputError(
                f"{place}.costs", self.costs, "are for absolute and 0-1 losses; weight scales a squared one"
            )
        return super().sets(layout, place)

    def floats(self) -> bool:
        return super().floats() or any(isinstance(d, float) for d in self.decisions)

    def _grid(self, place: str) -> list[fmpq]:
        return increasing(self.decisions, f"{place}.decisions")

    def faces(self, space: Space, layout: Layout, place: str) -> list[Face]:
        grid, (over, under) = self._grid(place), self.prices(place)
        codes, targets = self._targets(space, layout, place)
        needed = 1 if self.loss == "absolute" else 2
        for target in targets:
            if target.moments < needed:
                raise InputError(f"{place}.per", self.per, _NO_MOMENT[needed])
        if self.loss == "squared":
            rows = [[squared_loss(t, d) for d in grid] for t in targets]
        else:
            rows = [[absolute_loss(t, d, over, under) for d in grid] for t in targets]
        return [Face(tuple(map(label, grid)), codes, loss_rows(rows))]


_NO_MOMENT = {
    1: "may be empty, and then the ratio has no mean: its alphas must sum to more than 1 (with thresholds any will do)",
    2: "may be empty, and then the ratio has no variance: its alphas must sum to more than 2",
}


@dataclass(frozen=True)
class Threshold(Quantity):
    """Say between which thresholds the number lies: decision i says that exactly i of them are below it."""

    thresholds: Any = ()

    def sets(self, layout: Layout, place: str) -> list[Set]:
        increasing(self.thresholds, f"{place}.thresholds")
        return super().sets(layout, place)

    def floats(self) -> bool:
        return super().floats() or any(isinstance(d, float) for d in self.thresholds)

    def faces(self, space: Space, layout: Layout, place: str) -> list[Face]:
        cuts, (over, under) = increasing(self.thresholds, f"{place}.thresholds"), self.prices(place)
        codes, targets = self._targets(space, layout, place)
        rows = [interval_losses(t, tuple(cuts), over, under) for t in targets]
        shown = list(map(label, cuts))
        between = [f"({a}, {b}]" for a, b in pairwise(shown)]
        return [Face((f"at most {shown[0]}", *between, f"above {shown[-1]}"), codes, loss_rows(rows))]


def increasing(values: Any, field: str) -> list[fmpq]:
    """Read a list of increasing numbers."""
    if not isinstance(values, (list, tuple, np.ndarray, range)):
        raise InputError(field, values, "must be a list of numbers")
    found = [exact_number(v, f"{field}[{k}]") for k, v in enumerate(values)]
    if not found:
        raise InputError(field, None, "must not be empty")
    for k, (a, b) in enumerate(pairwise(found)):
        if a >= b:
            raise InputError(f"{field}[{k + 1}]", b, f"must be above {field}[{k}] = {a}")
    return found


def exact_number(value: Any, field: str) -> fmpq:
    """A number as a rational: a float is the decimal that it prints as."""
    read = number(value, field)
    return number(repr(read), field) if isinstance(read, float) else read


def label(value: fmpq) -> str:
    """A decision as a label."""
    shown = fraction(public(value))
    return str(value) if shown.startswith("≈") else shown


def loss_rows(rows: Sequence[Sequence[Value]]) -> Array:
    """A table of rationals and balls."""
    return objects(v for row in rows for v in row).reshape(len(rows), -1)


def rounded(rows: Array) -> tuple[Array, float]:
    """A table of rationals and balls as floats, and a bound on the error of an entry."""
    out, worst = np.empty(rows.shape), 0.0
    for at, value in np.ndenumerate(rows):
        if isinstance(value, arb):
            out[at] = max(float(value.mid()), 0.0)
            worst = max(worst, float(value.rad().upper()))
        else:
            out[at] = float(value)
    return out, worst + float(np.abs(out).max()) * 2.0**-52


def rational_rows(rows: Array) -> bool:
    return all(isinstance(v, fmpq) for v in rows.ravel().tolist())
