"""Eve's replies to decisions without columns, placed where they prove most.

For a decision i and group g, given v and the replies of the other groups, room(x) = R(x,i) + u[i,g].E'_g(x) does not
depend on u[i,g]. States with equal rows E'_g(x,.) form a kind, and only its least room counts. So u[i,g] maximises
    min over kinds k of room_k - u.E'_k        over u in lam times the simplex,
a small game. With two replies it is an intersection of intervals.
"""

from __future__ import annotations

import numpy as np

from bap_lp.rational import Array, floats
from bap_sdc.records.pricing.master import PricedMaster, PricedProgram


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
