"""A better basis for a program whose data outrun the float solver: look at what is left with a magnifying glass.

At a basis with exact values x and duals y, substitute z = x + z'/P and let the cost be the exact reduced costs times D:
    min  D (c - A'y).z' - D y.s'   s.t.  A z' + s' = 0,  z' >= -P x,  s' >= -P s  (s' = -P s in equality rows).
It is the same program, seen from x at scale P and from y at scale D, so its optimal bases are the same; but violations
of 1e-12, which the float solver cannot see at scale one, are of order one here. What was already settled becomes huge
and is cut off: costs stay large, bounds out of reach vanish. Only the basis is wanted, and it is checked exactly
afterwards (Gleixner, Steffy and Wolter, 2016, refine solutions in the same way).
"""

from __future__ import annotations

import highspy
import numpy as np

from bap_lp.linear.highs import basic_flags, loaded, set_basis
from bap_lp.linear.program import LinearProgram
from bap_lp.rational import Array, floats

_LARGE = 1e5  # what is cut off


def magnified_basis(
    rounded: LinearProgram, basic: Array, values: Array, reduced: Array, y: Array, zoom: tuple[float, float]
) -> Array | None:
    """The basis that is optimal under the glass; None if the float solver finds none.

    basic and values: the basis and its exact solution; reduced: reduced costs of all columns, in floats but from exact
    arithmetic where they are small; zoom: the scales P and D.
    """
    m, n = rounded.shape
    P, D = zoom
    at = np.zeros(n + m)
    at[basic] = floats(values)
    is_basic = np.zeros(n + m, dtype=bool)
    is_basic[basic] = True
    cost = np.concatenate([reduced, -floats(y)]) * D
    cost[is_basic] = 0.0
    lower = -P * at
    far = P * at > _LARGE
    free = np.concatenate([rounded.free, np.zeros(m, dtype=bool)])
    fixed = np.concatenate([np.zeros(n, dtype=bool), rounded.equality])
    inf = highspy.kHighsInf
    highs = loaded(
        (np.clip(cost, -_LARGE, _LARGE), np.where(free | far, -inf, lower), np.where(fixed, lower, inf)),
        (np.zeros(m), np.zeros(m)),
        (
            np.concatenate([rounded.start, rounded.start[-1] + np.arange(1, m + 1)]),
            np.concatenate([rounded.index, np.arange(m)]),
            np.concatenate([rounded.value, np.ones(m)]),
        ),
    )
    set_basis(highs, np.append(is_basic, np.zeros(m, dtype=bool)))
    highs.run()
    flags = basic_flags(highs)
    if not len(flags):
        return None
    # a basic row is one whose slack is as good as basic
    return np.flatnonzero(flags[: n + m] | np.append(np.zeros(n, dtype=bool), flags[n + m :]))
