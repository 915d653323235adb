"""Hypothesis draws new examples on every run at a desk, and the same ones in continuous integration."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell's background jobs ignore interrupts, and so would every command that a test interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """A figure that one test leaves open must not be counted by the next one."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner may state the width of its own terminal; the output of a test goes to none."""
    monkeypatch.delenv("COLUMNS", raising=False)
