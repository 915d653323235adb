"""The compact program by its columns: few decisions to start with, the others priced, every one of them proved.

States touch groups of Eve's replies: E_g(x,.) is not constant there. Relative to least losses (B' = B - min_i B,
E' = E - min_j E, which only shifts the value) the dual of the compact program asks for v and, for every decision i and
group g, u[i,g] in lam times the simplex with
    R(x,i) = B'(x,i) - sum_{g touched by x} u[i,g].E'_g(x) - v(x) >= 0       for all x and i.
The program on some columns (x,i) gives v, and u[i,g] wherever a chosen column of i touches g. Elsewhere u[i,g] is
free: it is placed so that the smallest R over the states of g is as large as this method can make it. Columns with R
< 0 enter, and the program is solved again. At the end R >= 0 everywhere: decisions without columns are proved unused,
with their own u[i,g]. Each state touches few groups, so nothing of the size states x all replies is ever built.

Columns with R = 0 enter as well before the last solution, so that the choice among several optima (module `ties`) is
made over all of them. In exact arithmetic R is settled by a float filter wherever that decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.linear.highs import SolverError, solve_interior, solve_lp
from bap_lp.linear.optimum import optimum, scaled
from bap_lp.linear.program import LinearProgram, from_entries
from bap_lp.model.arrays import UNIT
from bap_lp.programs.ties import weight_at
from bap_lp.rational import EXACT, TOLERANCE, Array, Field, field_of, floats, lifted, objects

_NEAREST = 6  # decisions per state to start with
_ENTER = 3.0  # columns that enter in a round, per state
_CLEAR = 1e-9  # reduced costs above minus this, of the largest cost, count as non-negative in floats
_TIED = 1e-8  # below this they count as zero
_ROUNDS = 500
_LARGE = 2_000  # rows from which an interior point is faster than the simplex method from the last basis
_FEW = 0.05  # new columns per state below which the last basis is a good start
_SWEEPS = 3
_GAMES = 60  # steps of regret matching


@dataclass(frozen=True, eq=False)
class PricedProgram:
    """A component: p (n); B' as floats (n, b) and entry by entry; the groups each state touches, with E' there.

    group: (n, S) numbers of groups, -1 where there is none; loss: (n, S, w) rows of E', zero beyond the replies of the
    group; widths: replies per group; places: the number of (x, 0) among the fixed weights; entries(x, i): exact B'.
    """

    p: Array
    table: Array
    entries: Callable[[Array, Array], Array]
    group: Array
    loss: Array
    widths: Array
    lam: Any
    places: Array

    @property
    def field(self) -> Field:
        return field_of(self.p)


@dataclass(frozen=True, eq=False)
class PricedOptimum:
    """Non-zero entries (x, i, rho), v relative to the least losses, and u (b, groups, w), in lam times simplices."""

    state: Array
    decision: Array
    rho: Array
    v: Array
    u: Array
    rounds: int


class _Master:
    """The program on chosen columns, with the basis of the last solution."""

    def __init__(self, program: PricedProgram) -> None:
        self.program = program
        self.small = floats(program.loss)
        self.n, self.b = program.table.shape
        self.G, self.w = len(program.widths), program.loss.shape[2]
        self.inside = np.arange(self.w) < program.widths[:, None]  # replies of each group
        self.columns = np.zeros(0, dtype=np.int64)  # x * b + i, sorted
        self.pairs = np.zeros(0, dtype=np.int64)  # i * G + g, sorted
        self.basic: tuple[Array, Array, Array] | None = None  # columns, t, slacks (pairs x w)

    def add(self, columns: Array) -> None:
        """More columns, and the pairs (i, g) they touch; new ones are non-basic, new t basic at the first reply."""
        old, old_pairs, basic = self.columns, self.pairs, self.basic
        self.columns = np.union1d(old, columns)
        x, i = np.divmod(self.columns, self.b)
        group = self.program.group[x]
        touched = (i[:, None] * self.G + group)[group >= 0]
        self.pairs = np.unique(touched)
        if basic is None:
            return
        flags = np.zeros(len(self.columns), dtype=bool)
        flags[np.searchsorted(self.columns, old)] = basic[0]
        t = np.ones(len(self.pairs), dtype=bool)
        slack = np.ones((len(self.pairs), self.w), dtype=bool)
        slack[:, 0] = False
        place = np.searchsorted(self.pairs, old_pairs)
        t[place], slack[place] = basic[1], basic[2]
        self.basic = flags, t, slack

    def layout(self) -> tuple[Array, Array, Array, Array]:
        """x and i of the columns; for every (pair, reply) the row, -1 beyond the replies of its group; rows in all."""
        x, i = np.divmod(self.columns, self.b)
        inside = self.inside[self.pairs % self.G]
        rows = np.where(inside, self.n + np.cumsum(inside.ravel()).reshape(inside.shape) - 1, -1)
        return x, i, rows, np.array(self.n + int(inside.sum()))

    def program_on(self, field: Field) -> LinearProgram:
        given = self.program
        x, i, rows, height = self.layout()
        count, exact = len(x), field.exact
        loss = given.loss if exact else self.small
        parts_r, parts_c, parts_v = [x], [np.arange(count)], [field.full(count, 1)]
        for s in range(given.group.shape[1]):
            live = np.flatnonzero(given.group[x, s] >= 0)
            place = np.searchsorted(self.pairs, i[live] * self.G + given.group[x[live], s])
            row = rows[place]
            keep = row >= 0
            parts_r.append(row[keep])
            parts_c.append(np.repeat(live, keep.sum(axis=1)))
            parts_v.append(-loss[x[live], s][keep])
        inside = rows >= 0
        parts_r.append(rows[inside])
        parts_c.append(count + np.repeat(np.arange(len(self.pairs)), inside.sum(axis=1)))
        parts_v.append(field.full(int(inside.sum()), 1))
        cost = given.entries(x, i) if exact else given.table[x, i]
        p = given.p if exact else floats(given.p)
        lam = field.number(given.lam)
        is_state = np.arange(int(height)) < self.n
        return from_entries(
            np.concatenate([cost, field.full(len(self.pairs), -lam)]),
            np.concatenate(parts_r),
            np.concatenate(parts_c),
            np.concatenate(parts_v),
            np.concatenate([p, field.zeros(int(height) - self.n)]),
            is_state,
            np.arange(count + len(self.pairs)) >= count,
        )

    def start(self, lp: LinearProgram) -> Array | None:
        if self.basic is None:
            return None
        columns, t, slack = self.basic
        _, _, rows, _ = self.layout()
        m = lp.shape[1]
        return np.concatenate(
            [np.flatnonzero(columns), len(columns) + np.flatnonzero(t), m + np.sort(rows[(rows >= 0) & slack])]
        )

    def remember(self, basic: Array, lp: LinearProgram) -> None:
        _, _, rows, _ = self.layout()
        flags = np.zeros(sum(lp.shape), dtype=bool)
        flags[basic] = True
        count = len(self.columns)
        slack = flags[lp.shape[1] + np.where(rows >= 0, rows, 0)] & (rows >= 0)
        self.basic = flags[:count], flags[count : lp.shape[1]], slack

    def keys(self, own: Array) -> None:
        """The basis at which every state sends its own decision."""
        flags = np.isin(self.columns, np.arange(self.n) * self.b + own)
        x, i, rows, _ = self.layout()
        heard = np.zeros((len(self.pairs), self.w))
        p = floats(self.program.p)
        for s in range(self.program.group.shape[1]):
            live = np.flatnonzero(flags & (self.program.group[x, s] >= 0))
            place = np.searchsorted(self.pairs, i[live] * self.G + self.program.group[x[live], s])
            np.add.at(heard, place, p[x[live], None] * self.small[x[live], s])
        slack = rows >= 0
        slack[np.arange(len(slack)), np.where(rows >= 0, heard, np.inf).argmin(axis=1)] = False
        self.basic = flags, np.ones(len(self.pairs), dtype=bool), slack

    def replies(self, y: Array) -> Array:
        """u of the pairs (pairs, w) from the duals."""
        _, _, rows, _ = self.layout()
        out = field_of(y).zeros(rows.shape)
        out[rows >= 0] = -y[rows[rows >= 0]]
        return out


def _first_columns(program: PricedProgram, own: Array) -> Array:
    """Every state's best decision, and the nearest of those that are best for a state of one of its groups."""
    n, b = program.table.shape
    out = [np.arange(n) * b + own]
    for s in range(program.group.shape[1]):
        for g in np.unique(program.group[:, s][program.group[:, s] >= 0]):
            members = np.flatnonzero(program.group[:, s] == g)
            options = np.unique(own[members])
            cost = program.table[np.ix_(members, options)]
            few = min(_NEAREST, len(options))
            near = np.argpartition(cost, few - 1, axis=1)[:, :few]
            out.append((members[:, None] * b + options[near]).ravel())
            # a decision reaches at least its nearest states
            few = min(_NEAREST, len(members))
            near = np.argpartition(cost, few - 1, axis=0)[:few]
            out.append((members[near] * b + options).ravel())
    return np.unique(np.concatenate(out))


class _Pricing:
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

    def place(self, master: _Master, y_replies: Array, v: Array, slack: float | None = None) -> Array:
        """Take the replies of pairs in the master, place the others; R of all columns.

        With `slack`, replies in the master that leave a column below minus this are placed again: a dual vertex is
        often one of many solutions.
        """
        i, g = np.divmod(master.pairs, self.G)
        present = np.zeros((self.b, self.G), dtype=bool)
        present[i, g] = True
        self.u[i, g] = _on_simplex(y_replies, self.lam)
        R = self.program.table - self.paid() - v[:, None]
        for k in range(self.G):
            free = np.flatnonzero(~present[:, k])
            if len(free):
                self._place(k, free, R)
        for _ in range(_SWEEPS if slack is not None else 0):
            bad = -slack > R  # type: ignore[operator]
            if not bad.any():
                break
            for k, parts in enumerate(self.members):
                late = np.flatnonzero(np.any([bad[x].any(axis=0) for _, x in parts], axis=0))
                if len(late):
                    self._place(k, late, R)
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

    Two replies: the best. More: first by the best reply of every kind, which suffices if a kind loses the same by all
    other replies; where that leaves something negative, by regret matching in the game with payoff room[k] - lam
    rows[k,j].
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
    bad = np.flatnonzero((room - rows @ u).min(axis=0) < 0)
    if len(bad) and lam > 0:
        u[:, bad] = _matched(room[:, bad], rows, lam, u[:, bad])
    return u.T


def _matched(room: Array, rows: Array, lam: float, start: Array) -> Array:
    payoff = room[:, None, :] - lam * rows[:, :, None]  # kinds, replies, games
    K, w, m = payoff.shape
    size = np.abs(payoff).max() or 1.0
    mine, theirs = start / lam, np.full((K, m), 1.0 / K)
    gain, pain, total = np.zeros((w, m)), np.zeros((K, m)), np.zeros((w, m))
    best, low = start.copy(), (room - rows @ start).min(axis=0)
    for step in range(1, _GAMES + 1):
        values = (payoff * theirs[:, None]).sum(axis=0)
        gain = np.maximum(gain + (values - (values * mine).sum(axis=0)) / size, 0.0)
        sums = gain.sum(axis=0)
        mine = np.where(sums > 0, gain / np.where(sums > 0, sums, 1.0), mine)
        costs = (payoff * mine[None]).sum(axis=1)
        pain = np.maximum(pain - (costs - (costs * theirs).sum(axis=0)) / size, 0.0)
        sums = pain.sum(axis=0)
        theirs = np.where(sums > 0, pain / np.where(sums > 0, sums, 1.0), theirs)
        total += step * mine
        if step % 10 == 0:
            tried = total * (2.0 * lam / (step * (step + 1)))
            least = (room - rows @ tried).min(axis=0)
            better = least > low
            best[:, better], low[better] = tried[:, better], least[better]
    return best


def _on_simplex(u: Array, lam: float) -> Array:
    u = np.maximum(u, 0.0)
    total = u.sum(axis=1, keepdims=True)
    out = u * (lam / np.where(total > 0, total, 1.0))
    out[(total <= 0).ravel(), 0] = lam
    return out


def solve_priced(program: PricedProgram) -> PricedOptimum:
    """The optimum of a component, exact if its numbers are, with replies for every decision and group.

    Floats are rationals too: where the data outrun the solver's tolerances, they are solved exactly and rounded.
    """
    if program.field.exact:
        return _solved(program)
    size = max(float(program.table.max()), float(program.lam) * float(program.loss.max()), 1e-300)
    try:
        found = _solved(program)
        if _value(program, found) - float(program.p @ found.v) <= 0.1 * TOLERANCE * size * float(program.p.sum()):
            return found
    except ArithmeticError:
        pass
    whole = replace(
        program,
        p=lifted(program.p),
        entries=lambda x, i: lifted(program.table[x, i]),
        loss=lifted(program.loss),
        lam=EXACT.number(program.lam),
    )
    exact, pricing = _solved(whole), _Pricing(program)
    pricing.u = floats(exact.u)
    v = (program.table - pricing.paid()).min(axis=1)
    return PricedOptimum(exact.state, exact.decision, floats(exact.rho), v, pricing.u, exact.rounds)


def _solved(program: PricedProgram) -> PricedOptimum:
    master, pricing = _Master(program), _Pricing(program)
    own = program.table.argmin(axis=1)
    master.add(_first_columns(program, own))
    master.keys(own)
    size = max(float(program.table.max()), float(program.lam) * float(pricing.loss.max()), 1e-300)
    rounds = _in_floats(master, pricing, size)
    ties = _tie_costs
    for last in range(rounds, rounds + _ROUNDS):
        lp = master.program_on(program.field)
        start = master.start(lp)
        found = optimum(lp, ties=ties(master, program.field), start=start)
        master.remember(found.basic, lp)
        v, u = found.y[: master.n], master.replies(found.y)
        if program.field.exact:
            late = _exact_late(master, pricing, u, v, pricing.place(master, floats(u), floats(v)))
        else:
            _, late = _priced(master, pricing, u, v, _CLEAR * size)
        if not len(late):
            return _concluded(master, pricing, found.z, v, u, last)
        master.add(late)
    raise ArithmeticError(f"a component of {master.n} states is not priced out after {_ROUNDS} rounds")


def _in_floats(master: _Master, pricing: _Pricing, size: float) -> int:
    """Solve and price in floats until no reduced cost is negative; then let the tied columns enter."""
    many = True
    for rounds in range(1, _ROUNDS):
        lp, _, rows = scaled(master.program_on(field_of(master.program.table)))
        try:
            fresh = many and lp.shape[0] > _LARGE
            vertex = solve_interior(lp) if fresh else solve_lp(lp, start=master.start(lp))
        except SolverError:
            return rounds
        master.remember(vertex.basic, lp)
        y = vertex.y * rows
        R, late = _priced(master, pricing, master.replies(y), y[: master.n], _CLEAR * size)
        many = len(late) > _FEW * master.n
        if not len(late):
            tied = np.flatnonzero((_TIED * size >= R).ravel())
            master.add(tied)
            return rounds
        master.add(late)
    return _ROUNDS


def _priced(master: _Master, pricing: _Pricing, u: Array, v: Array, slack: float) -> tuple[Array, Array]:
    """R, and the columns that enter: with replies placed again where that helps, at last with those of the duals."""
    R = pricing.place(master, u, v, slack)
    late = _late(master, R, slack)
    if len(late) or R.min() >= -slack:
        return R, late
    R = pricing.place(master, u, v)
    return R, _late(master, R, slack)


def _late(master: _Master, R: Array, slack: float) -> Array:
    """Columns outside the master with a negative reduced cost: the most negative of every state and decision."""
    bad = -slack > R
    if not bad.any():
        return np.zeros(0, dtype=np.int64)
    bad.ravel()[master.columns] = False
    x, i = np.nonzero(bad)
    if len(x) > _ENTER * master.n:
        value = R[x, i]
        order = np.argsort(value)
        keep = np.zeros(len(x), dtype=bool)
        for label in (x, i):
            ranked = label[order]
            by = np.argsort(ranked, kind="stable")
            starts = np.searchsorted(ranked[by], ranked[by])
            rank = np.arange(len(by)) - starts
            keep[order[by[rank < 2]]] = True
        x, i = x[keep], i[keep]
    return x * master.b + i


def _tie_costs(master: _Master, field: Field) -> list[Array]:
    x, i, *_ = master.layout()
    count, pairs = len(x), len(master.pairs)
    private, generic = field.zeros(count + pairs), field.zeros(count + pairs)
    private[count:] = -field.one
    weight = weight_at(master.program.places[x] + i)
    generic[:count] = field.list(map(fmpq, map(int, weight.tolist()))) if field.exact else weight
    return [private, generic]


def _lifted_replies(master: _Master, pricing: _Pricing, u: Array) -> Array:
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


def _exact_late(master: _Master, pricing: _Pricing, u: Array, v: Array, R: Array) -> Array:
    """Columns outside the master whose reduced cost is not positive, exactly; floats decide where they can."""
    program = master.program
    whole = _lifted_replies(master, pricing, u)
    pricing.u = floats(whole)
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
                cost = cost - whole[decision, g].dot(program.loss[state, s])
        if cost <= v[state]:
            late.append(state * master.b + decision)
    pricing.exact_u = whole  # type: ignore[attr-defined]
    return np.array(late, dtype=np.int64)


def _concluded(master: _Master, pricing: _Pricing, z: Array, v: Array, u: Array, rounds: int) -> PricedOptimum:
    program = master.program
    x, i, *_ = master.layout()
    rho = z[: len(x)]
    if program.field.exact:
        live = np.flatnonzero([bool(r) for r in rho])
        return PricedOptimum(x[live], i[live], rho[live], v, pricing.exact_u, rounds)  # type: ignore[attr-defined]
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
    return PricedOptimum(state, decision, rho, margins.min(axis=1), pricing.u, rounds)


def _value(program: PricedProgram, found: PricedOptimum) -> float:
    """R_A of a float joint table, relative to the least losses."""
    x, i, rho = found.state, found.decision, found.rho
    total = float((program.table[x, i] * rho).sum())
    pairs, losses = [], []
    for s in range(program.group.shape[1]):
        live = np.flatnonzero(program.group[x, s] >= 0)
        pairs.append(i[live] * len(program.widths) + program.group[x[live], s])
        losses.append(rho[live, None] * program.loss[x[live], s])
    pair, heard = np.concatenate(pairs), np.concatenate(losses)
    names, place = np.unique(pair, return_inverse=True)
    sums = np.zeros((len(names), heard.shape[1]))
    np.add.at(sums, place.ravel(), heard)
    inside = np.arange(heard.shape[1]) < program.widths[names % len(program.widths)][:, None]
    return total - float(program.lam) * float(np.where(inside, sums, np.inf).min(axis=1, initial=np.inf).sum())
