"""The compact program by its columns: few decisions to start with, the others priced, every one of them proved.

States touch groups of Eve's replies: E_g(x,.) is not constant there. Relative to least losses (B' = B - min_i B,
E' = E - min_j E, which only shifts the value) the dual of the compact program asks for v and, for every decision i and
group g, u[i,g] in lam times the simplex with
    R(x,i) = B'(x,i) - sum_{g touched by x} u[i,g].E'_g(x) - v(x) >= 0       for all x and i.
The program on some columns (x,i) gives v, and u[i,g] wherever a chosen column of i touches g. Elsewhere u[i,g] is
free: it is placed so that the smallest R over the states of g is as large as this method can make it. Columns with R
< 0 enter, and the program is solved again. At the end R >= 0 everywhere: decisions without columns are proved unused,
with their own u[i,g]. Each state touches few groups, so nothing of the size states x all replies is ever built.

A free u[i,g] is placed as follows. Given v and the replies of the other groups, room(x) = R(x,i) + u[i,g].E'_g(x) does
not depend on it. States with equal rows E'_g(x,.) form a kind k, of which the least room counts: u[i,g] maximises
min_k room_k - u.E'_k, a small game. With two replies it is an intersection of intervals.

Columns with R = 0 enter as well before the last solution, so that the choice among several optima (module `ties`) is
made over all of them. In exact arithmetic R is settled by a float filter wherever that decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.engines.linear.highs import SolverError, Start, solve_interior, solve_lp
from bap_lp.engines.linear.linear_optimum import optimum, scaled
from bap_lp.engines.ties import weight_at
from bap_lp.support.rational import EXACT, TOLERANCE, UNIT, Array, field_of, floats, lifted, objects
from bap_sdc.records.pricing.master import PricedMaster, PricedProgram, first_columns, smallest

_ENTER = 3.0  # columns that enter in a round, per state
_CLEAR = 1e-9  # reduced costs above minus this, of the largest cost, count as non-negative in floats
_TIED = 1e-8  # below this they count as zero
_ROUNDS = 500
_LARGE = 2_000  # rows from which an interior point is faster than the simplex method from the last basis
_FEW = 0.05  # new columns per state below which the last basis is a good start


@dataclass(frozen=True, eq=False)
class PricedOptimum:
    """Non-zero entries (x, i, rho), v relative to the least losses, and u (b, groups, w), in lam times simplices."""

    state: Array
    decision: Array
    rho: Array
    v: Array
    u: Array


def solve_priced(program: PricedProgram) -> PricedOptimum:
    """The optimum of a component, exact if its numbers are, with replies for every decision and group.

    Floats are rationals too: where the data outrun the solver's tolerances, they are solved exactly and rounded.
    """
    size = max(float(program.table.max()), float(program.lam) * float(floats(program.loss).max()), 1e-300)
    try:
        found, value = _solved(program, size)
        near = 0.1 * TOLERANCE * size * float(program.p.sum())
        if program.field.exact or value - float(program.p @ found.v) <= near:
            return found
    except ArithmeticError:
        if program.field.exact:
            raise
    p, loss, lam = lifted(program.p), lifted(program.loss), EXACT.number(program.lam)
    whole = replace(program, p=p, entries=lambda x, i: lifted(program.table[x, i]), loss=loss, lam=lam)
    (exact, _), pricing = _solved(whole, size), ReplyPricing(program)
    pricing.u = floats(exact.u)
    v = (program.table - pricing.paid()).min(axis=1)
    return PricedOptimum(exact.state, exact.decision, floats(exact.rho), v, pricing.u)


def _solved(program: PricedProgram, size: float) -> tuple[PricedOptimum, Any]:
    """The optimum and the value of the last program."""
    master, pricing = PricedMaster(program), ReplyPricing(program)
    own = program.table.argmin(axis=1)
    master.add(first_columns(program, own))
    master.keys(own)
    _in_floats(master, pricing, size)
    for _ in range(_ROUNDS):
        lp = master.program_on(program.field)
        found = optimum(lp, ties=_ties(master), start=Start(master.start(lp)))
        master.remember(found.basic, lp)
        v, u = found.y[: master.n], master.replies(found.y)
        R = pricing.place(master, floats(u), floats(v))
        if program.field.exact:
            replies = _lifted_replies(master, pricing, u)
            late = _exact_late(master, pricing, replies, v)
        else:
            replies, late = pricing.u, _late(master, R, _CLEAR * size)
        if not len(late):
            return _concluded(master, pricing, found.z, v, replies), lp.cost.dot(found.z)
        master.add(late)
    raise ArithmeticError(f"a component of {master.n} states is not priced out after {_ROUNDS} rounds")


def _in_floats(master: PricedMaster, pricing: ReplyPricing, size: float) -> None:
    """Solve and price in floats until no reduced cost is negative; then let the tied columns enter."""
    many = True
    for _ in range(_ROUNDS):
        lp, _, rows = scaled(master.program_on(field_of(master.program.table)))
        try:
            fresh = many and lp.shape[0] > _LARGE
            vertex = solve_interior(lp) if fresh else solve_lp(lp, start=Start(master.start(lp)))
        except SolverError:
            return
        master.remember(vertex.basic, lp)
        y = vertex.y * rows
        R = pricing.place(master, master.replies(y), y[: master.n])
        late = _late(master, R, _CLEAR * size)
        many = len(late) > _FEW * master.n
        if not len(late):
            master.add(np.flatnonzero((_TIED * size >= R).ravel()))
            return
        master.add(late)


def _late(master: PricedMaster, R: Array, slack: float) -> Array:
    """Columns outside the master with a negative reduced cost: the most negative of every state and decision."""
    bad = -slack > R
    if not bad.any():
        return np.zeros(0, dtype=np.int64)
    bad.ravel()[master.columns] = False
    if np.count_nonzero(bad) > _ENTER * master.n:
        bad &= smallest(np.where(bad, R, np.inf), 2)
    return np.flatnonzero(bad)


def _ties(master: PricedMaster) -> list[Array]:
    x, i = master.entries
    field, places = master.program.field, master.program.places[x] + i
    private = field.zeros(len(x) + len(master.pairs))
    private[len(x) :] = -field.one
    return [private, np.append(weight_at(places, field), field.zeros(len(master.pairs)))]


def _lifted_replies(master: PricedMaster, pricing: ReplyPricing, u: Array) -> Array:
    """u of all pairs as rationals: those of the master as they are, the others rounded to the simplex."""
    lam, (b, G, w) = master.program.lam, pricing.u.shape
    bits = 1 << 30
    share = np.rint(pricing.u * (bits / max(float(lam), 1e-300))).astype(np.int64) if lam else np.zeros((b, G, w), int)
    # the largest entry takes what rounding left
    at = np.indices((b, G))
    share[(*at, pricing.u.argmax(axis=2))] += bits - share.sum(axis=2)
    values = {int(k): fmpq(int(k), bits) * lam for k in np.unique(share)}
    out = objects(values[k] for k in share.ravel().tolist()).reshape(b, G, w)
    i, g = np.divmod(master.pairs, master.G)
    out[i, g] = u
    return out


def _exact_late(master: PricedMaster, pricing: ReplyPricing, u: Array, v: Array) -> Array:
    """Columns outside the master whose reduced cost is not positive, exactly; floats decide where they can."""
    program = master.program
    pricing.u = floats(u)
    paid = pricing.paid()
    small = floats(v)[:, None]
    R = program.table - paid - small
    terms = master.w * program.group.shape[1] + 8
    error = 4 * terms * UNIT * (program.table + paid + np.abs(small)) + 1e-290
    near = error >= R
    near.ravel()[master.columns] = False
    x, i = np.nonzero(near)
    late = []
    for state, decision, cost in zip(x.tolist(), i.tolist(), program.entries(x, i).tolist(), strict=True):
        for s, g in enumerate(program.group[state].tolist()):
            if g >= 0:
                cost = cost - u[decision, g].dot(program.loss[state, s])
        if cost <= v[state]:
            late.append(state * master.b + decision)
    return np.array(late, dtype=np.int64)


def _concluded(master: PricedMaster, pricing: ReplyPricing, z: Array, v: Array, u: Array) -> PricedOptimum:
    program = master.program
    x, i = master.entries
    rho = z[: len(x)]
    if program.field.exact:
        live = np.flatnonzero([bool(r) for r in rho])
        return PricedOptimum(x[live], i[live], rho[live], v, u)
    margins = program.table - pricing.paid()
    rho = np.where(rho > 1e-13 * program.p[x], rho, 0.0)
    total = np.bincount(x, weights=rho, minlength=master.n)
    lost = np.flatnonzero(total < 1e-9 * program.p)  # a row the solver lost follows the rule of u
    rho = np.where(np.isin(x, lost), 0.0, rho)
    rho = rho * (program.p / np.where(total > 0, total, 1.0))[x]
    live = np.flatnonzero(rho)
    state, decision = np.append(x[live], lost), np.append(i[live], margins[lost].argmin(axis=1))
    rho = np.append(rho[live], program.p[lost])
    # v is what the replies prove, whatever the solver did
    return PricedOptimum(state, decision, rho, margins.min(axis=1), u)


class ReplyPricing:
    """Replies of all pairs (i, g) in floats, and the reduced costs they give."""

    def __init__(self, program: PricedProgram) -> None:
        self.program = program
        self.n, self.b = program.table.shape
        self.G, self.w = len(program.widths), program.loss.shape[2]
        self.loss, self.lam = floats(program.loss), float(program.lam)
        self.members: list[list[tuple[int, Array]]] = [[] for _ in range(self.G)]
        for s in range(program.group.shape[1]):
            column = program.group[:, s]
            order = np.argsort(column, kind="stable")
            cuts = np.searchsorted(column[order], np.arange(self.G + 1))
            for g in range(self.G):
                if cuts[g] < cuts[g + 1]:
                    self.members[g].append((s, order[cuts[g] : cuts[g + 1]]))
        self.u = np.zeros((self.b, self.G, self.w))
        for g, width in enumerate(program.widths.tolist()):
            self.u[:, g, :width] = self.lam / width

    def paid(self) -> Array:
        """sum_g u[i,g].E'_g(x), states x decisions."""
        out = np.zeros((self.n, self.b))
        for g, parts in enumerate(self.members):
            for s, x in parts:
                out[x] += self.loss[x, s] @ self.u[:, g].T
        return out

    def place(self, master: PricedMaster, y_replies: Array, v: Array) -> Array:
        """Take the replies of pairs in the master, place the others; R of all columns."""
        i, g = np.divmod(master.pairs, self.G)
        present = np.zeros((self.b, self.G), dtype=bool)
        present[i, g] = True
        self.u[i, g] = _on_simplex(y_replies, self.lam)
        R = self.program.table - self.paid() - v[:, None]
        for k in range(self.G):
            free = np.flatnonzero(~present[:, k])
            if len(free):
                self._place(k, free, R)
        return R

    def _place(self, g: int, free: Array, R: Array) -> None:
        """Move u[free, g] to where the least R over the states of g is large; R is updated."""
        width = int(self.program.widths[g])
        rows, costs, places = [], [], []
        for s, x in self.members[g]:
            rows.append(self.loss[x, s, :width])
            costs.append(R[np.ix_(x, free)] + self.loss[x, s] @ self.u[free, g].T)
            places.append(x)
        loss, room = np.concatenate(rows), np.concatenate(costs)
        kinds, kind = np.unique(loss, axis=0, return_inverse=True)
        order = np.argsort(kind.ravel(), kind="stable")
        least = np.minimum.reduceat(room[order], np.searchsorted(kind.ravel()[order], np.arange(len(kinds))), axis=0)
        u = best_replies(least, kinds, self.lam)
        change = np.zeros((len(free), self.w))
        change[:, :width] = u
        change -= self.u[free, g]
        self.u[free, g] += change
        for s, x in self.members[g]:
            R[np.ix_(x, free)] -= self.loss[x, s] @ change.T


def best_replies(room: Array, rows: Array, lam: float) -> Array:
    """u in lam times the simplex, (m, w), with a large min over kinds k of room[k] - u.rows[k]; room is (kinds, m).

    Two replies: the best. More: as much of every reply as the kinds need to which it is the best reply; that is best if
    a kind loses the same by all other replies. Where it leaves something negative, columns enter the master.
    """
    (K, w), m = rows.shape, room.shape[1]
    top = rows.max(axis=1)
    need = np.zeros((w, m))
    for k in range(K):
        if top[k] > 0:
            j = int(rows[k].argmin())
            need[j] = np.maximum(need[j], lam - room[k] / top[k])
    total = need.sum(axis=0)
    u = np.where(total > lam, need * (lam / np.where(total > 0, total, 1.0)), need + (lam - total) / w)
    if w == 2:
        low, high = need[1], lam - need[0]  # u_1 >= low, and u_0 >= need[0]
        second = np.clip((low + high) / 2, 0.0, lam)
        return np.stack([lam - second, second], axis=1)
    return u.T


def _on_simplex(u: Array, lam: float) -> Array:
    u = np.maximum(u, 0.0)
    total = u.sum(axis=1, keepdims=True)
    out = u * (lam / np.where(total > 0, total, 1.0))
    out[(total <= 0).ravel(), 0] = lam
    return out
