"""States with identical rows (B[x,:], E[x,:]) behave as one: merge them, solve, and share the answer out as a vertex.

A merged state of k members with weights rho_1..rho_m on its m basic columns is a transportation problem, members
against columns.  The north-west corner rule fills k + m - 1 cells that form a staircase, hence a tree: k - 1 basic
variables more than the merged state had, for the k - 1 marginal rows that come back.  So bases go to bases.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray
PROBE = 4096


def _hash(B: Array, E: Array) -> Array:
    """A fixed random combination of the columns, entry by entry, so that equal rows have equal sums."""
    weights = np.random.default_rng(1).random(B.shape[1] + E.shape[1]) + 0.5
    total = np.zeros(len(B))
    for k, column in enumerate([*B.T, *E.T]):
        total += column * weights[k]
    return total


def classes(B: Array, E: Array, *, rare: bool = False) -> tuple[Array, Array] | None:
    """The states sorted by class and the places where classes begin; None where duplicates are rare, unless asked for.

    In a sample of 4096 a state with many copies meets one of them, so a sample without repetition ends the search.
    """
    n = len(B)
    probe = np.random.default_rng(2).choice(n, min(n, PROBE), replace=False)
    if not rare and len(np.unique(_hash(B[probe], E[probe]))) > 0.99 * len(probe):
        return None
    mixed = _hash(B, E)
    order = np.argsort(mixed, kind="stable")
    mixed = mixed[order]
    same = mixed[1:] == mixed[:-1]
    pair = np.flatnonzero(same)
    for k in range(0, len(pair), 65536):
        cut = pair[k : k + 65536]
        left, right = order[cut], order[cut + 1]
        same[cut] = (B[left] == B[right]).all(axis=1) & (E[left] == E[right]).all(axis=1)
    return order, np.concatenate([[0], np.flatnonzero(~same) + 1])


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
