"""The time a computation may take: a deadline that every long loop looks at.

The deadline belongs to the thread (or task) that set it. `check` raises OutOfTime when it has passed. A float solver
answers with the best certified pair it has; an exact one has nothing to show before the end.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar

from bap_lp.rational import InputError

SolveProgress = Callable[[int, float, float], None]  # called with iteration, bound, value
_DEADLINE: ContextVar[float] = ContextVar("deadline", default=math.inf)


class OutOfTime(TimeoutError):
    """The time limit was reached before the optimum."""


def time_limited(seconds: float | None) -> AbstractContextManager[None]:
    """Inside, `check` raises after so many seconds; a limit inside another can only shorten it."""
    return nullcontext() if seconds is None else _limited(seconds)


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not seconds >= 0:
        raise InputError("time_limit", seconds, "must be a number of seconds that is not negative")
    token = _DEADLINE.set(min(_DEADLINE.get(), time.monotonic() + seconds))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


def remaining() -> float:
    """Seconds until the deadline, infinite without one."""
    deadline = _DEADLINE.get()
    return deadline - time.monotonic() if deadline < math.inf else math.inf


def check() -> None:
    """Raise OutOfTime if the deadline has passed."""
    if remaining() <= 0:
        raise OutOfTime("the time limit was reached before the optimum")
