"""Models that take long: stopped at the time limit, and refused if nobody set one.

The values of some laws of scipy.stats (levy_stable) are integrals and the quantiles of others (ksone) searches,
thousands of times slower than those of a closed form. Tables are made in parts, and how slow they are is measured on
its first entries. Reading and bracketing a model may each take half a minute of computing. The clock is that of the
thread: a busy machine is not a slow law.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from bap_lp import InputError
from bap_lp.support.clock import check, remaining
from gaussian.real_arrays import Array

_AT_ONCE = 1000  # numbers that are made without looking at the clock
_PATIENCE = 20.0  # seconds that a table may take if no time limit was set
_STEP = 0.2  # seconds between two looks at the clock
_FASTER = 16  # times as many numbers in the next part, if they take less than that
_ENOUGH = 2.0  # seconds of a table that tell how long the rest of it takes
_LONGEST = 30.0  # seconds that a model may take likewise
_BEGUN: ContextVar[float] = ContextVar("begun", default=math.inf)


@contextmanager
def patient() -> Iterator[None]:
    """Inside, `wait` counts the time, from the outermost of several; what overflows is refused, not warned of."""
    token = _BEGUN.set(min(_BEGUN.get(), time.thread_time()))
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            yield
    finally:
        _BEGUN.reset(token)


def wait() -> None:
    """Go on, unless the time limit has passed or, without one, more time than a model may take."""
    check()
    if time.thread_time() - _BEGUN.get() > _LONGEST and remaining() == math.inf:
        rule = (
            f"takes more than {_LONGEST:.0f} s of computing: set a time limit to wait longer, or use discretise.sample"
        )
        raise InputError("model", None, rule)


def paced(
    part: Callable[[int, int], Array], count: int, width: int, law: object, axis: int = 0, most: int | None = None
) -> Array:
    """part(0, count), from parts along an axis of so many entries, each of `width` numbers.

    most: of the entries that are made together, of a table that may take as long as a model.
    """
    wait()
    if count * width <= _AT_ONCE:
        return part(0, count)
    # the first part is not timed: it may import, fill caches and search for where a law begins
    out, done, size = [part(0, 1)], 1, max(1, _AT_ONCE // width)
    begun = time.thread_time()
    while done < count:
        wait()
        end = min(count, done + size)
        out.append(part(done, end))
        done = end
        passed = time.thread_time() - begun
        left = passed / (done - 1) * (count - done)
        if left > (_PATIENCE if most is None else _LONGEST) and passed > _ENOUGH and remaining() == math.inf:
            name = getattr(getattr(law, "dist", law), "name", None)
            rule = (
                f"takes scipy.stats about {left:.0f} s for one table of {count * width} numbers: set a time limit, or "
                "use discretise.sample"
            )
            raise InputError("likelihood", name, rule)
        size = max(1, min(_FASTER * size, int(_STEP * done / max(passed, 1e-9)), most or count))
    return np.concatenate(out, axis=axis) if len(out) > 1 else out[0]
