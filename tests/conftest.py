"""Hypothesis draws new examples on every run at a desk, and the same ones in continuous integration.

No example has a deadline, and drawing may take long: the machine may be busy. The examples of a test share its
fixtures, such as a folder whose files each of them writes again.
"""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ALLOWED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("desk", deadline=None, suppress_health_check=ALLOWED)
settings.register_profile("ci", deadline=None, suppress_health_check=ALLOWED, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "desk")
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # a shell's background jobs ignore interrupts, and so would every command that a test interrupts
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests are those of this folder itself (site, notebooks, pages): no worker starts with them last."""
    items.sort(key=lambda item: item.path.parent != Path(__file__).parent)


@pytest.fixture(autouse=True)
def figures_are_closed() -> Iterator[None]:
    """A figure that one test leaves open must not be counted by the next one."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


# what a shell or a runner may state about its terminal, and what changes how a command behaves
STATED = ("COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "BAP_TRACEBACK",
          "BAP_LIMITS", "SOURCE_DATE_EPOCH")  # fmt: skip


@pytest.fixture(autouse=True)
def no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A runner may state the width and colours of its own terminal; the output of a test goes to none."""
    for name in STATED:
        monkeypatch.delenv(name, raising=False)
