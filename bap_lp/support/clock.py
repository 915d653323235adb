"""The time a computation may take: a deadline that every long loop looks at.

The deadline belongs to the thread (or task) that set it. `check` raises OutOfTime when it has passed. A float solver
answers with the best certified pair it has; an exact one has nothing to show before the end.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar, copy_context
from typing import Any

from bap_lp.support.rational import InputError

SolveProgress = Callable[[int, float, float], None]  # called with iteration, bound, value
_CENTURY = 3.2e9  # seconds: longer limits are none
_TICK = 0.1  # seconds between looks at signals on systems where they do not end a wait
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
    token = _DEADLINE.set(min(_DEADLINE.get(), time.monotonic() + min(seconds, _CENTURY)))
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


def watched(work: Callable[[], Any], stop: Callable[[], None] | None = None) -> Any:
    """The answer of a solver that runs no Python for long, where signals are seen all the same.

    A signal handler of Python only runs in the main thread, between its own instructions. So there the work goes on in
    a thread of its own, while the main thread waits. If the wait ends by an exception, such as a KeyboardInterrupt,
    `stop` tells the work to end, and is called until it has. Work that nothing can end, such as the training of a
    classifier, has no `stop`: it is left behind, also at the deadline, and is for a process that ends then.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    busy, ended, unwanted = threading.Lock(), threading.Event(), threading.Event()
    found: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        with busy:
            try:
                if not unwanted.is_set():
                    found.append(work())
            except BaseException as error:
                failed.append(error)
        ended.set()

    try:
        threading.Thread(target=copy_context().run, args=(run,), daemon=True).start()
        while not ended.wait(_TICK):
            if stop is None:
                check()
    except BaseException:
        unwanted.set()
        while stop is not None and busy.locked():
            with suppress(KeyboardInterrupt):  # it has been heard
                stop()
                ended.wait(_TICK)
        raise
    if failed:
        raise failed[0]
    return found[0]
