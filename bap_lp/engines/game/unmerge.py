"""Merged states, separated again: how the solution of a class becomes a vertex on its members.

A merged state of k members with weights rho_1..rho_m on its m basic columns is a transportation problem, members
against columns. The north-west corner rule fills k + m - 1 cells that form a staircase, hence a tree: k - 1 basic
variables more than the merged state had, for the k - 1 marginal rows that come back. So a basis becomes a basis.
"""

from __future__ import annotations

import numpy as np

from bap_lp.rational import Array


def share(p: Array, weights: Array, columns: Array) -> tuple[Array, Array, Array]:
    """North-west corner, members with priors p against columns with weights: (member, column, amount) by basic cell."""
    rows, filled = np.cumsum(p), np.cumsum(weights)
    marks = np.concatenate([rows[:-1], filled[:-1]])
    order = np.argsort(marks, kind="stable")
    down = order < len(p) - 1
    member = np.concatenate([[0], np.cumsum(down)])
    column = np.concatenate([[0], np.cumsum(~down)])
    edges = np.concatenate([[0.0], np.minimum(marks[order], rows[-1]), [rows[-1]]])
    return member, columns[column], np.diff(edges)


def unmerge(p: Array, order: Array, start: Array, rho: Array, basic: Array) -> tuple[Array, Array]:
    """rho and basic columns of all states from those of the merged ones."""
    n, b = len(p), rho.shape[1]
    out, on = np.zeros((n, b)), np.zeros((n, b), dtype=bool)
    label = np.repeat(np.arange(len(start)), np.diff(np.append(start, n)))
    key = rho.argmax(axis=1)[label]
    out[order, key] = p[order]
    on[order, key] = True
    for c in np.flatnonzero((basic.sum(axis=1) > 1) | ((rho > 0).sum(axis=1) > 1)):
        states = order[start[c] : start[c + 1] if c + 1 < len(start) else n]
        columns = np.flatnonzero(basic[c] | (rho[c] > 0))
        member, column, amount = share(p[states], rho[c, columns], columns)
        out[states], on[states] = 0.0, False
        out[states[member], column] = amount
        on[states[member], column] = True
        out[states] *= (p[states] / out[states].sum(axis=1))[:, None]
    single = basic.sum(axis=1) == 0
    on[order[single[label]]] = False
    return out, on
