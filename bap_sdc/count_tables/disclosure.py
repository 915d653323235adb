"""The questions of disclosure control: about a cell, about somebody who is counted, about who is counted at all.

    Cell      x_S = 0 ("empty"), x_S < c ("below"), 0 < x_S < c ("small"), x_S / x_of > c ("share", dominance)
    Person    is somebody I know in S?
    Member    somebody I know belongs to S: is she one of the n people?

The people are exchangeable: given x, any of them is in cell i with probability x_i / n. An Eve who knows nothing else
loses the average of her losses over these cells. An Eve who also knows the table y of the others is a sum of Eves, one
for each y, since she may decide differently for each:

    R_E = sum_s sum_y min_j sum_i P(y + e_i) (x_i/n) q(s|y + e_i) L(i,j),   E_y(x,j) = 1{x = y + e_i} (x_i/n) L(i,j).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from flint import fmpq

from bap_lp import InputError
from bap_lp.support.rational import EXACT, Array, objects, show
from bap_sdc.count_tables.layout import Layout, Set
from bap_sdc.count_tables.questions import Asked, Face, exact_number, label, loss_rows
from bap_sdc.count_tables.spaces import Space

ASKS = ("empty", "below", "small", "share", "person", "member")


@dataclass(frozen=True)
class Cell(Asked):
    """A yes-or-no question about the n people in the cells: "empty", "below", "small" or "share"."""

    asks: str = field(default="empty", kw_only=True)
    below: Any = field(default=None, kw_only=True)
    above: Any = field(default=None, kw_only=True)
    of: Any = field(default=None, kw_only=True)

    def sets(self, layout: Layout, place: str) -> list[Set]:
        self._bound(place)
        inside, *_ = super().sets(layout, place)
        whole = layout.everything if self.of is None else layout.read(self.of, f"{place}.of")
        if not inside <= whole:
            raise InputError(f"{place}.of", self.of, f"must contain cells = {show(self.cells)}")
        return [inside, whole] if self.asks == "share" else [inside]

    def floats(self) -> bool:
        return super().floats() or isinstance(self.above, float)

    def _bound(self, place: str) -> Any:
        needs = {"empty": (), "below": ("below",), "small": ("below",), "share": ("above", "of")}
        if self.asks not in needs:
            raise InputError(f"{place}.asks", self.asks, "must be one of " + ", ".join(map(repr, ASKS)))
        for name in ("below", "above", "of"):
            given = getattr(self, name) is not None
            if given and name not in needs[self.asks]:
                raise InputError(f"{place}.{name}", None, f"does not belong to asks = {self.asks!r}")
            if not given and name in needs[self.asks] and name != "of":
                raise InputError(f"{place}.{name}", None, f"is missing: asks = {self.asks!r} needs it")
        if self.asks in ("below", "small"):
            if not isinstance(self.below, int) or isinstance(self.below, bool) or self.below < 1:
                raise InputError(f"{place}.below", self.below, "must be a whole number, at least 1")
            return self.below
        return exact_number(self.above, f"{place}.above") if self.asks == "share" else None

    def faces(self, space: Space, layout: Layout, place: str) -> list[Face]:
        bound, (over, under) = self._bound(place), self.prices(place)
        here = space.count(layout.read(self.cells, f"{place}.cells"))
        if self.asks == "empty":
            yes, words = here == 0, ("not empty", "empty")
        elif self.asks == "below":
            yes, words = here < bound, (f"at least {bound}", f"below {bound}")
        elif self.asks == "small":
            yes, words = (here > 0) & (here < bound), (f"0 or at least {bound}", f"1 to {bound - 1}")
        else:
            whole = space.count(layout.everything if self.of is None else layout.read(self.of, f"{place}.of"))
            # x_S / x_of > p/q, in integers
            yes = here.astype(object) * int(bound.q) > whole.astype(object) * int(bound.p)
            yes, words = yes.astype(bool), (f"at most {label(bound)}", f"above {label(bound)}")
        rows = [[fmpq(0), over], [under, fmpq(0)]]
        return [Face(words, yes.astype(np.int64), loss_rows(rows))]


@dataclass(frozen=True)
class Person(Asked):
    """Is one of the n people, somebody I know, in these cells? `knows` is "others" or "nothing"."""

    knows: str = field(default="others", kw_only=True)

    words: ClassVar[tuple[str, str]] = ("not there", "there")

    def sets(self, layout: Layout, place: str) -> list[Set]:
        if self.knows not in ("others", "nothing"):
            raise InputError(f"{place}.knows", self.knows, 'must be "others" or "nothing"')
        return super().sets(layout, place)

    def answers(self, space: Space, layout: Layout, place: str) -> tuple[Array, Array]:
        """Given x and that the person whom the others leave over is in S (or not): the loss of both decisions.

        Two tables, a row per table x: if the person is in S, and if she is not. They are averaged with the weights
        x_S / n and 1 - x_S / n if nothing is known about the others.
        """
        over, under = self.prices(place)
        size, zero = len(space), fmpq(0)
        return _columns(size, under, zero), _columns(size, zero, over)

    def faces(self, space: Space, layout: Layout, place: str) -> list[Face]:
        inside = layout.read(self.cells, f"{place}.cells")
        if self.knows == "others":
            return self.by_others(space, layout, place)
        n, here = space.population.n, space.count(inside)
        counts, first, codes = np.unique(here, return_index=True, return_inverse=True)
        there, elsewhere = (part[first] for part in self.answers(space, layout, place))
        share = objects(fmpq(int(m), n) for m in counts)[:, None]
        return [Face(self.words, codes, share * there + (1 - share) * elsewhere)]

    def placed(self, space: Space, layout: Layout, place: str) -> tuple[Array, Array, Array, Array]:
        """(y, x, i, loss): for every x = y + e_i the loss (x_i / n) loss(x, is i in S) of both decisions."""
        y, x, i = others(space)
        inside = np.array([part <= layout.read(self.cells, f"{place}.cells") for part in space.parts])
        there, elsewhere = self.answers(space, layout, place)
        n = space.population.n
        share = objects(fmpq(m, n) for m in range(n + 1))[space.tables[x, i]][:, None]
        return y, x, i, share * np.where(inside[i][:, None], there[x], elsewhere[x])

    def by_others(self, space: Space, layout: Layout, place: str) -> list[Face]:
        """One face for every table y of the others: E_y(x, .) = sum_i 1{x = y + e_i} (x_i / n) loss(x, is i in S)."""
        y, x, i, losses = self.placed(space, layout, place)
        order = np.argsort(y, kind="stable")
        ends = np.flatnonzero(np.diff(y[order], append=-1)) + 1
        out = []
        for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
            mine = order[start:end]
            codes = np.zeros(len(space), dtype=np.int64)
            codes[x[mine]] = np.arange(1, len(mine) + 1)
            rows = np.vstack([EXACT.zeros((1, 2)), losses[mine]])
            rest = space.tables[x[mine[0]]].copy()
            rest[i[mine[0]]] -= 1
            out.append(Face(self.words, codes, rows, "others " + "|".join(map(str, rest.tolist()))))
        # where one decision costs nothing in every table that is possible, this Eve has nothing to lose
        return [face for face in out if not (face.rows == 0).all(axis=0).any()] or out[:1]


@dataclass(frozen=True)
class Member(Person):
    """Somebody I know belongs to these cells; is she one of the n people? With `probability` she is, a priori.

    If she is not, she is a further draw from the same population. `knows` = "others" means that Eve knows the cells of
    all people in the table except one: this one is the acquaintance, or another draw from the population.
    """

    knows: str = field(default="nothing", kw_only=True)
    probability: Any = field(default="1/2", kw_only=True)

    words: ClassVar[tuple[str, str]] = ("not in the table", "in the table")

    def sets(self, layout: Layout, place: str) -> list[Set]:
        self._chance(place)
        return super().sets(layout, place)

    def floats(self) -> bool:
        return super().floats() or isinstance(self.probability, float)

    def _chance(self, place: str) -> fmpq:
        chance = exact_number(self.probability, f"{place}.probability")
        if not 0 < chance < 1:
            raise InputError(f"{place}.probability", self.probability, "must be above 0 and below 1")
        return chance

    def answers(self, space: Space, layout: Layout, place: str) -> tuple[Array, Array]:
        """P(she belongs to S, and is in the table or not | x, is the place in S?) / P(she belongs to S), priced.

        In the table: the place is hers, so it is in S. Not in the table: a further draw belongs to S with probability
        (a_S + x_S) / (A + n), wherever the place is.
        """
        chance, (over, under) = self._chance(place), self.prices(place)
        inside, who = layout.read(self.cells, f"{place}.cells"), space.population
        here = space.count(inside)
        further = objects((who.weight(inside) + fmpq(m)) / (who.mass + who.n) for m in range(who.n + 1))
        drawn = objects(fmpq(m, who.n) for m in range(who.n + 1))
        masses = EXACT.zeros(who.n + 1)
        sums = np.bincount(here, minlength=who.n + 1)
        for m in np.flatnonzero(sums).tolist():
            masses[m] = fmpq(space.weights[here == m].sum(), space.total)
        normal = masses.dot(chance * drawn + (1 - chance) * further)  # P(she belongs to S)
        if normal == 0:
            raise InputError(f"{place}.cells", self.cells, "has probability 0")
        outside = over * (1 - chance) / normal * further[here]
        zero = EXACT.zeros(len(space))
        return (
            np.column_stack([zero + under * chance / normal, outside]),
            np.column_stack([zero, outside]),
        )


def others(space: Space) -> tuple[Array, Array, Array]:
    """All (y, x, i) with x = y + e_i: the table of the others, the table, and the cell of the one who is left over."""
    x, i = np.nonzero(space.tables)
    rest = space.tables[x].astype(np.int64)
    rest[np.arange(len(x)), i] -= 1
    y = np.zeros(len(x), dtype=np.int64)
    for column in rest.T:
        y = np.unique(y * (space.population.n + 1) + column, return_inverse=True)[1]
    return y, x, i


def _columns(size: int, first: fmpq, second: fmpq) -> Array:
    return np.column_stack([EXACT.full(size, first), EXACT.full(size, second)])
