"""Alice's rule for many records at once: argmin_i B(x,i) - sum_n u_n[i, z_n].E_n(secret), the first decision if tied.

The scores of all decisions are computed in floats, one Eve and one pair (z, secret) at a time, because replies depend
on x through them only. What lies within rounding of the least score is compared again exactly. A float score is a sum
of c + n numbers, each rounded once, so it is off by less than (c + n + 2) u times the sum of their sizes, far less than
the margin.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.rational import Array, floats
from bap_sdc.records.optimum.result import RecordOptimum

_NEAR = 1e-11  # of the largest size of a score
_CELLS = 4_000_000  # scores at once


def alices_rule(best: RecordOptimum, codes: Array, secrets: Array, known: Array) -> Array:
    """The decision of each record.

    Args:
        best: the optimum.
        codes: (m, c) true levels of the published columns.
        secrets: (m, Eves) the secret of each Eve.
        known: (m, Eves) the value of the columns that each Eve knows; values never fitted are allowed.

    Returns:
        (m,) decisions.

    >>> import numpy as np
    >>> from bap_sdc import RecordProgram, TableEve, optimise
    >>> eve = TableEve("neighbour", np.array([0, 1, 0]), np.array([0, 0, 1]), [[0, 1], [1, 0]])
    >>> records = np.array([[0], [1], [1]])
    >>> table = RecordProgram(["1/2", "1/4", "1/4"], records, ([[0, 1], [1, 0]],), (eve,))
    >>> found = optimise(table, lam=2)
    >>> alices_rule(found, np.array([[0], [1]]), np.array([[1], [1]]), np.array([[5], [1]])).tolist()
    [0, 1]
    """
    program = best.program
    count = best.decisions
    tables = [floats(t).astype(float) for t in program.losses]
    told = [np.asarray(level) for level in program.published(np.arange(count))]
    prices: dict[tuple[int, int, int], tuple[Array, Array]] = {}

    def price(n: int, z: int, secret: int) -> tuple[Array, Array]:
        """u.E at every decision, exact and in floats."""
        if (n, z, secret) not in prices:
            eve = program.eves[n]
            exact = best._replies(np.arange(count), n, z).dot(eve.loss[secret] * eve.weight) * best._chances[n]
            prices[n, z, secret] = (exact, floats(exact).astype(float))
        return prices[n, z, secret]

    out = np.empty(len(codes), dtype=np.int64)
    groups, group = np.unique(np.column_stack([known, secrets]), axis=0, return_inverse=True)
    eves = range(secrets.shape[1])
    step = max(1, _CELLS // count)
    for g, cell in enumerate(groups.tolist()):
        mine = [price(n, cell[n], cell[len(eves) + n]) for n in eves] if best.lam else []
        members = np.flatnonzero(group.ravel() == g)
        for low in range(0, len(members), step):
            some = members[low : low + step]
            score = np.zeros((len(some), count))
            for k, table in enumerate(tables):
                score += table[codes[some, k]][:, told[k]]
            size = max(float(np.abs(score).max(initial=0.0)), 1e-300)
            for _, rough in mine:
                score -= rough
                size += float(np.abs(rough).max(initial=0.0))
            near = score <= score.min(axis=1)[:, None] + (_NEAR if best.exact else 1e-12) * size
            out[some] = near.argmax(axis=1)
            if best.exact:
                for row in np.flatnonzero(near.sum(axis=1) > 1).tolist():
                    out[some[row]] = _first(program, codes[some[row]], np.flatnonzero(near[row]), told, mine)
    return out


def _first(program: Any, record: Array, decisions: Array, told: list[Array], mine: Any) -> int:
    """The first of the best of these decisions, exactly."""
    score: Any = 0
    for k, table in enumerate(program.losses):
        score = score + table[int(record[k])][told[k][decisions]]
    for exact, _ in mine:
        score = score - exact[decisions]
    return int(decisions[int(np.flatnonzero(score == score.min())[0])])
