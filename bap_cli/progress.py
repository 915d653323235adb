"""A sign of life during a computation, on stderr and only if that is a terminal; and its interruption.

The library may answer an interrupt with the best pair it has. A command then ends all the same: what was interrupted is
neither shown nor written.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from bap_lp.support.clock import time_limited


@contextmanager
def limited(seconds: float | None) -> Iterator[None]:
    """`--time-limit`: inside, the library gives up after so many seconds."""
    if seconds is not None and not seconds >= 0:
        raise ValueError(f"--time-limit = {seconds:g} must be a number of seconds that is not negative")
    with time_limited(seconds):
        yield


class Progress:
    """A context manager that is called with news: words, (pieces, lam), or (iteration, bound, value)."""

    def __init__(self, what: str = "solving") -> None:
        self.what = what
        self._status: Any = None
        self._before: Any = None
        self._interrupted = False

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = True
        raise KeyboardInterrupt

    def __enter__(self) -> Progress:
        usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if usual and threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupt)
        if sys.stderr.isatty():
            from rich.console import Console

            self._status = Console(stderr=True, markup=False, highlight=False).status(self.what)
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
        if self._status is not None:
            self._status.stop()
        if self._interrupted and kind is None:
            raise KeyboardInterrupt

    def __call__(self, *news: Any) -> None:
        if self._status is not None:
            self._status.update(self.words(*news))

    def words(self, *news: Any) -> str:
        """The news as one line."""
        match news:
            case (str(words),):
                return words
            case (int(iteration), bound, value):
                gap = f"gap {value - bound:.1e}, step {iteration}"
                return f"{self.what}: {bound:.9g} <= R_A <= {value:.9g}, {gap}"
            case (int(pieces), lam):
                return f"{self.what}: {pieces} found, lambda up to {lam:.3g}"
        raise TypeError(f"news = {news!r} must be words, (pieces, lam) or (iteration, bound, value)")
