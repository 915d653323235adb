"""Sets of priors as polytopes S in the simplex: what the largest p.c over S is, who lies in S, and the dual of p.c.

support(c) = max over p in S of p.c, with a maximiser:
    Hull        the best of the listed priors
    Box         lower, and the mass that is left to the states with the largest c
    Ball        mass `radius` moved from the states with the least c to the one with the largest
    Transport   the concave envelope of the points (d(x,y), c(y)) says what a move away from x gains per unit of cost;
                the budget is spent on the steepest pieces first
    Polytope    any y >= 0 proves p.c <= b.y + max_x (c - A'y)(x); with a list of such y the least of these is taken
By linear programming duality support(c) = base.c + min { cost.y : rows.y >= forms.c, y >= 0 or free } as well, which
makes "v >= p.c for all p in S" finitely many linear rows where c itself is unknown. The multipliers of these rows are a
prior in S, times the weight of v.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from bap_lp.support.rational import EXACT, Array, ReadOnly, field_of, floats, lifted

Extreme = tuple[Any, Array | None, Array | None]  # support(c), a maximiser, and how mass was moved, if that is told


@dataclass(frozen=True, eq=False)
class DualForm(ReadOnly):
    """base (states); cost (one per y), of which the first `free` are free; rows (row, y, value) and their count; forms
    (row, state, value)."""

    base: Array
    cost: Array
    free: int
    count: int
    rows: tuple[Array, Array, Array]
    forms: tuple[Array, Array, Array]

    def prior(self, multipliers: Array, weight: Any) -> Array:
        """The prior that multipliers of the rows of v >= p.c are, given the multiplier of v."""
        row, x, value = self.forms
        out = weight * self.base
        np.add.at(out, x, value * multipliers[row])
        return out / weight


class Credal(ReadOnly):
    """A set of priors; its first field has a column per state."""

    @property
    def states(self) -> int:
        return int(getattr(self, next(iter(self.__dataclass_fields__))).shape[-1])  # type: ignore[attr-defined]

    @cached_property
    def rounded(self) -> Any:
        own = {k: v for k, v in vars(self).items() if k in self.__dataclass_fields__}  # type: ignore[attr-defined]
        turned = {k: floats(v) if isinstance(v, np.ndarray) else v if v is None else float(v) for k, v in own.items()}
        return replace(self, **turned)  # type: ignore[type-var]

    def support(self, c: Array) -> Extreme:
        raise NotImplementedError

    def outside(self, p: Array, moved: Array | None) -> str:
        """Why a prior, with how mass was moved to it, is not in the set, or ""."""
        raise NotImplementedError

    def dual_form(self) -> DualForm:
        raise NotImplementedError

    def near(self, p: Array, moved: Array | None) -> tuple[Array, Array | None]:
        """The prior of the set, in rationals, that floats mean."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Hull(Credal):
    """The mixtures of some priors, rows of a table."""

    vertices: Array

    def support(self, c: Array) -> Extreme:
        values = self.vertices.dot(c)
        best = int(np.argmax(values))
        return values[best], self.vertices[best], None

    def outside(self, p: Array, moved: Array | None) -> str:
        return "" if (self.vertices == p).all(axis=1).any() else "is not one of the vertices"


@dataclass(frozen=True, eq=False)
class Box(Credal):
    """lower <= p <= upper."""

    lower: Array
    upper: Array

    def support(self, c: Array) -> Extreme:
        order = np.argsort(-c)
        room = (self.upper - self.lower)[order]
        before = np.cumsum(room) - room
        p = self.lower.copy()
        p[order] = p[order] + np.maximum(np.minimum(room, 1 - self.lower.sum() - before), 0 * room)
        return p.dot(c), p, None

    def near(self, p: Array, moved: Array | None) -> tuple[Array, Array | None]:
        """Cut to the box; what is then too much or too little is spread in proportion to the room that is left."""
        cut = np.minimum(np.maximum(lifted(p), self.lower), self.upper)
        rest = 1 - cut.sum()
        room = self.upper - cut if rest > 0 else cut - self.lower
        return cut if rest == 0 else cut + room * (rest / room.sum()), None

    def outside(self, p: Array, moved: Array | None) -> str:
        return "" if (self.lower <= p).all() and (p <= self.upper).all() else "is outside of the box"

    def dual_form(self) -> DualForm:
        """y = (mu, h): mu + h(x) >= c(x)."""
        x, one = np.arange(self.states), field_of(self.lower).full(self.states, 1)
        rows = np.tile(x, 2), np.append(0 * x, 1 + x), np.append(one, one)
        cost = np.append(1 - self.lower.sum(), self.upper - self.lower)
        return DualForm(self.lower, cost, 1, len(x), rows, (x, x, one))


@dataclass(frozen=True, eq=False)
class Ball(Credal):
    """Total variation at most `radius` from a prior."""

    prior: Array
    radius: Any

    def support(self, c: Array) -> Extreme:
        order = np.argsort(c)
        mass = self.prior[order]
        before = np.cumsum(mass) - mass
        taken = np.maximum(np.minimum(mass, self.radius - before), 0 * mass)
        p = self.prior.copy()
        p[order] = mass - taken
        p[order[-1]] = p[order[-1]] + taken.sum()
        return p.dot(c), p, None

    def near(self, p: Array, moved: Array | None) -> tuple[Array, Array | None]:
        """Scaled to sum one, and drawn towards the centre if that is needed."""
        out = lifted(p)
        out = out / out.sum()
        far = abs(out - self.prior).sum() / 2
        return (out if far <= self.radius else self.prior + (out - self.prior) * (self.radius / far)), None

    def outside(self, p: Array, moved: Array | None) -> str:
        far = abs(p - self.prior).sum() > 2 * self.radius
        return "is farther from the prior than the radius" if far else ""

    def dual_form(self) -> DualForm:
        """y = (mu, s, h): mu >= c(x), and s + h(x) >= mu - c(x)."""
        x, one = np.arange(self.states), field_of(self.prior).full(self.states, 1)
        row, y = np.concatenate([x, *[len(x) + x] * 3]), np.concatenate([0 * x, 0 * x, 0 * x + 1, 2 + x])
        cost = np.append([0 * self.radius, self.radius], self.prior)
        forms = np.arange(2 * len(x)), np.tile(x, 2), np.append(one, -one)
        return DualForm(self.prior, cost, 1, 2 * len(x), (row, y, np.concatenate([one, -one, one, one])), forms)


@dataclass(frozen=True, eq=False)
class Transport(Credal):
    """Mass of a prior moved at a cost of at most `radius`."""

    prior: Array
    radius: Any
    metric: Array

    def support(self, c: Array) -> Extreme:
        pieces, at = [], np.arange(self.states)
        for x in np.flatnonzero(self.prior != 0).tolist():
            hull = _envelope(self.metric[x], c)
            at[x] = hull[0]
            for y, z in pairwise(hull):
                length = self.metric[x, z] - self.metric[x, y]
                pieces.append(((c[z] - c[y]) / length, x, y, z, length))
        moved = 0 * self.metric
        moved[np.arange(self.states), at] = self.prior
        left = self.radius
        for _, x, y, z, length in sorted(pieces, key=lambda piece: -piece[0]):  # along one envelope slopes fall
            if left <= 0:
                break
            amount = min(self.prior[x], left / length)
            moved[x, y], moved[x, z] = moved[x, y] - amount, moved[x, z] + amount
            left = left - amount * length
        p = moved.sum(axis=0)
        return p.dot(c), p, moved

    def near(self, p: Array, moved: Array | None) -> tuple[Array, Array | None]:
        """Rows scaled to the prior; if the moves cost too much, a part of all of them stays."""
        assert moved is not None
        out, stay = lifted(moved), EXACT.zeros(moved.shape)
        stay[np.diag_indices(len(out))] = self.prior
        live = (self.prior != 0) & (out.sum(axis=1) != 0)
        out[live] = out[live] * (self.prior[live] / out[live].sum(axis=1))[:, None]
        out[~live] = stay[~live]
        cost = (out * self.metric).sum()
        out = out if cost <= self.radius else stay + (out - stay) * (self.radius / cost)
        return out.sum(axis=0), out

    def outside(self, p: Array, moved: Array | None) -> str:
        if moved is None or moved.shape != self.metric.shape or (moved < 0).any():
            return "does not say how mass is moved"
        if (moved.sum(axis=1) != self.prior).any() or (moved.sum(axis=0) != p).any():
            return "is not the prior after the moves"
        return "costs more than the radius" if (moved * self.metric).sum() > self.radius else ""

    def dual_form(self) -> DualForm:
        """y = (t, kappa): t(x) + kappa d(x,y) >= c(y)."""
        N = self.states
        x, y = np.indices((N, N)).reshape(2, -1)
        row, one = np.arange(N * N), field_of(self.prior).full(N * N, 1)
        rows = np.tile(row, 2), np.append(x, 0 * row + N), np.append(one, self.metric.ravel())
        return DualForm(0 * self.prior, np.append(self.prior, self.radius), N, N * N, rows, (row, y, one))


def _envelope(far: Array, gain: Array) -> list[int]:
    """The states on the increasing part of the concave envelope of the points (far, gain), the nearest first."""
    out: list[int] = []
    for y in sorted(range(len(far)), key=lambda y: (far[y], -gain[y])):
        if out and gain[y] <= gain[out[-1]]:
            continue
        while len(out) > 1:
            a, b = out[-2], out[-1]
            if (gain[b] - gain[a]) * (far[y] - far[b]) > (gain[y] - gain[b]) * (far[b] - far[a]):
                break
            out.pop()
        out.append(y)
    return out


@dataclass(frozen=True, eq=False)
class Polytope(Credal):
    """A p <= b; `proofs` are vectors y >= 0, one per row."""

    A: Array
    b: Array
    proofs: Array | None = None

    def support(self, c: Array) -> Extreme:
        if self.proofs is None or not len(self.proofs):
            return c.max(), None, None
        y = self.proofs
        rest = c - y.dot(self.A)
        return min((y.dot(self.b) + rest.max(axis=1)).min(), c.max()), None, None

    def outside(self, p: Array, moved: Array | None) -> str:
        return "breaks a row of the polytope" if (self.A.dot(p) > self.b).any() else ""

    def dual_form(self) -> DualForm:
        """y = (mu, y): mu + (A'y)(x) >= c(x)."""
        m, N = self.A.shape
        x, one = np.arange(N), field_of(self.A).full(N, 1)
        k, state = np.indices((m, N)).reshape(2, -1)
        rows = np.append(x, state), np.append(0 * x, 1 + k), np.append(one, self.A.ravel())
        return DualForm(0 * one, np.append(one[0], self.b), 1, N, rows, (x, x, one))
