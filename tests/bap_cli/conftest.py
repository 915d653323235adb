"""One browser for the tests of the pages. Those that ask for it are skipped where there is no Chromium or Chrome."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A running browser, driven by playwright."""
    if CHROMIUM is None:
        pytest.skip("no chromium or chrome on PATH: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        running = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield running
        running.close()
