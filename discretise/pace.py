"""Tables of scipy.stats that take long: made in parts, so that they can be stopped, and refused if nobody set a limit.

The values of some laws (levy_stable) are integrals and the quantiles of others (ksone) searches, thousands of times
slower than those of a closed form. How slow is measured on the first entries of a table.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from bap_lp import InputError
from bap_lp.clock import check, remaining
from gaussian.arrays import Array

_AT_ONCE = 1000  # numbers that are made without looking at the clock
_PATIENCE = 20.0  # seconds that a table may take if no time limit was set
_STEP = 0.2  # seconds between two looks at the clock


def paced(part: Callable[[int, int], Array], count: int, width: int, law: object, axis: int = 0) -> Array:
    """part(0, count), from parts along an axis of so many entries, each of `width` numbers."""
    check()
    if count * width <= _AT_ONCE:
        return part(0, count)
    out, done, size = [], 0, 1
    begun = time.thread_time()  # of this thread alone: a busy machine is not a slow law
    while done < count:
        end = min(count, done + size)
        out.append(part(done, end))
        done = end
        check()
        passed = time.thread_time() - begun
        left = passed / done * (count - done)
        if left > _PATIENCE and passed > _STEP and remaining() == math.inf:
            name = getattr(getattr(law, "dist", law), "name", None)
            rule = (
                f"takes scipy.stats about {left:.0f} s for one table of {count * width} numbers: set a time limit, or "
                "use discretise.sample"
            )
            raise InputError("likelihood", name, rule)
        size = max(1, min(4 * size, int(_STEP * done / max(passed, 1e-9)), count))
    return np.concatenate(out, axis=axis) if len(out) > 1 else out[0]
