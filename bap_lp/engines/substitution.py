"""Privacy between all pairs of states, with half the rows: what every state sends of a signal at least is taken out.

A row -t_top[s] - K t_low[s] <= 0 with t_low[s] = min_x v_x rho[x,s] and t_top[s] = min_x -w_x rho[x,s] leaves open to
choose t_top = -K t_low. With lo = t_low >= 0 and
    rho[x,s] = r[x,s] + lo[s] / v_x,    r >= 0,
the rows of `low` and of the condition hold by themselves: z = T z' for z' = (r, lo, the other t), and A T z' <= rhs is
left without them. At its optimum the duals of the rows of `low` are the reduced costs d of r, over -v, and those of the
condition are the sums of the duals of `top`. A basis maps too: t_top and rho are basic, and r stands for the slack of
its row of `low`. Where lo is not basic, t_low is, since it has any sign: then only so many states keep their row that
the sum of d / v is K times that of `top`, and the other rho are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.program.bound import Observer, Program, Sparse
from bap_lp.support.rational import Array


@dataclass(frozen=True, eq=False)
class Substitution:
    """The smaller program and its place in the whole one.

    T; which rows are kept; the columns besides rho and t of low and top; v, K; the names of low, top and their rows.
    """

    lp: LinearProgram
    form: LinearForm
    T: Any
    kept: Array
    others: Array
    v: Array
    K: Array
    low: str
    top: str
    rows: str

    @classmethod
    def of(cls, program: Program, form: LinearForm) -> Substitution | None:
        """None if the program, in floats, has no such rows."""
        found = _devices(program)
        if found is None:
            return None
        from scipy.sparse import coo_matrix, csc_matrix  # heavy, and few programs have such rows

        low, top, rows, v, K = found
        (m, n), (N, S), lp = form.lp.shape, program.shape, form.lp
        rho, t_low, t_top = form.rho.ravel(), form.t[low][:, 0], form.t[top][:, 0]
        others = np.setdiff1d(np.arange(n), np.concatenate([rho, t_low, t_top]))
        place = N * S + np.arange(S)
        entries = [
            (rho, np.arange(N * S), np.ones(N * S)),
            (rho, np.tile(place, N), np.repeat(1 / v, S)),
            (t_low, place, np.ones(S)),
            (t_top, place, -K),
            (others, N * S + S + np.arange(len(others)), np.ones(len(others))),
        ]
        row, column, value = (np.concatenate(part) for part in zip(*entries, strict=True))
        T = coo_matrix((value, (row, column)), shape=(n, N * S + S + len(others))).tocsc()
        kept = np.ones(m, dtype=bool)
        kept[form.replies[low]] = kept[form.weights[rows]] = False
        A = (csc_matrix((lp.value, lp.index, lp.start), shape=(m, n)) @ T).tocsr()[kept].tocsc()
        A.eliminate_zeros()
        free = np.append(np.zeros(N * S + S, dtype=bool), lp.free[others])
        matrix = A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data
        kinds = lp.row_kind[kept], lp.column_kind[np.concatenate([rho, t_low, others])]
        small = LinearProgram(T.T @ lp.cost, *matrix, lp.rhs[kept], lp.equality[kept], free, *kinds)
        return cls(small, form, T, kept, others, v, K, low, top, rows)

    def whole(self, y: Array, basic: Array) -> tuple[Array, Array]:
        """The duals of all rows, and the variables of the basis in the whole program."""
        form, lp, (m, n), (N, S) = self.form, self.lp, self.form.lp.shape, self.form.rho.shape
        flags = np.isin(np.arange(sum(lp.shape)), basic)
        r, lo, others, slacks = np.split(flags, np.cumsum([N * S, S, len(self.others)]))
        reduced = lp.cost - np.bincount(lp.column_of, lp.value * y[lp.index], len(lp.cost))
        duals, out, slack = np.zeros(m), np.zeros(n + m, dtype=bool), n + np.arange(m)
        duals[self.kept], out[slack[self.kept]], out[self.others] = y, slacks, others
        out[form.t[self.top]] = True
        most = -duals[form.replies[self.top]].reshape(form.shapes[self.top]).sum(axis=1)
        low, basic_r = np.maximum(reduced[: N * S], 0.0).reshape(N, S) / self.v[:, None], r.reshape(N, S)
        rho, tight = basic_r.copy(), ~basic_r
        for s in range(S):
            rest = np.flatnonzero(~basic_r[:, s])
            if lo[s] or not len(rest):
                rho[:, s] = True
                continue
            total = np.cumsum(low[rest, s])
            k = min(int(np.searchsorted(total, self.K[s] * most[s])), len(rest) - 1)
            low[rest[k], s] -= max(total[k] - self.K[s] * most[s], 0.0)
            low[rest[k + 1 :], s], tight[rest[k + 1 :], s], rho[rest[:k], s], lo[s] = 0.0, False, True, True
        duals[form.replies[self.low]], duals[form.weights[self.rows]] = -low.T.ravel(), -most
        out[form.rho], out[form.t[self.low][:, 0]], out[slack[form.replies[self.low]]] = rho, lo, ~tight.T.ravel()
        return duals, np.flatnonzero(out)


def _devices(program: Program) -> tuple[str, str, str, Array, Array] | None:
    """The names of low, of top and of the rows that compare them, v and K; None if no rows are of this form."""
    observers, S = {o.name: o for o in program.observers}, np.arange(program.shape[1])
    for rows in program.rows:
        if rows.worst or rows.equal or rows.entries is not None or len(rows.terms) != 2 or rows.rhs.any():
            continue
        terms = {name: (row, view, c) for name, row, view, _, c in rows.terms}
        top, low = sorted(terms, key=lambda name: _sign(observers[name]))
        used = {name for other in program.rows if other is not rows for name, *_ in other.terms}
        alike = all(np.array_equal(row, S) and np.array_equal(view, S) for row, view, _ in terms.values())
        table = observers[low].losses
        signs = _sign(observers[top]), _sign(observers[low])
        if alike and isinstance(table, Sparse) and signs == (-1, 1) and not used & {low, top}:
            return low, top, rows.name, table.value[np.argsort(table.x)], terms[low][2] / terms[top][2]
    return None


def _sign(o: Observer) -> int:
    """Of the losses of an observer with a column of his own for every state, who costs nothing; 0 if he is none."""
    table = o.losses
    if not isinstance(table, Sparse) or o.price != 0 or len(o.starts) != 1 or not o.sees_all:
        return 0
    if not len(table.x) == table.shape[0] == table.shape[1] or (table.x != table.j).any():
        return 0
    return 1 if (table.value > 0).all() else -1 if (table.value < 0).all() else 0
