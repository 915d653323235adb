"""Rows of a certificate that must have given sums: checked, and scaled where floats miss them by rounding.

Scaled rows of a joint table are a mechanism, and scaled replies lie on their simplices. Exact rows have no slack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bap_lp.rational import Array, shown, tree_sum


def on_sums(
    table: Array, goal: Any, slack: Any, words: tuple[str, str], groups: Sequence[slice] = (slice(None),)
) -> tuple[str, Array]:
    """What is wrong with the sums of the rows over each group of columns, if anything, and the table scaled to them.

    goal, slack: of all rows or of each. words: what the table is called, and its goal, as in ("rho", "p(x) is").
    """
    out, goals, slacks = table.copy(), *np.broadcast_arrays(goal, slack, table[:, 0])[:2]
    for g in groups:
        for k, (row, wanted, near) in enumerate(zip(table[:, g], goals, slacks, strict=True)):
            total = tree_sum(row)
            if abs(total - wanted) > near:
                found, asked = (shown(v, bool(near)) for v in (total, wanted))
                return f"{words[0]}[{k}] sums to {found}, {words[1]} {asked}", out
            if total != wanted:
                out[k, g] = row * (wanted / total) if total else wanted / len(row)
    return "", out
