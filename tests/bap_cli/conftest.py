"""One way to call `bap`, and one browser for the pages: tests that ask for it are skipped where there is none."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, FLAGS, Open

from bap_cli.catalogue import catalogue
from bap_cli.main import main

_examples: dict[str, str] = {}  # the reports of the catalogue that were written already


@pytest.fixture
def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Calls `bap` in an empty folder: the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, stdin: str = "") -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        capsys.readouterr()
        code = main(list(arguments))
        return code, *capsys.readouterr()

    return call


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


@pytest.fixture
def browse(chromium: Any) -> Iterator[Open]:
    """Opens a file; afterwards nothing was complained of, asked of the network, or alerted."""
    seen: list[str] = []
    pages = []

    def show(file: Path, width: int = 1280, scheme: str = "light", height: int = 900) -> Any:
        page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        pages.append(page)
        known = (file.as_uri(), "data:")
        page.on("console", lambda message: seen.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: seen.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (seen.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: request.url.startswith(known) or seen.append(f"request: {request.url}"))
        page.goto(file.as_uri())
        return page

    yield show
    for page in pages:
        page.close()
    assert seen == []


@pytest.fixture
def opened(browse: Open, tmp_path: Path) -> Open:
    """Opens report.html, which is written first if it is not there: the report of a problem file or an example."""

    def show(file: str | Path, *window: Any, **more: Any) -> Any:
        out, name = tmp_path / "report.html", str(file)
        if name in _examples:
            out.write_text(_examples[name], encoding="utf-8")
        elif not out.exists():
            assert main(["report", name, "-o", str(out)]) == 0
        if name in catalogue():
            _examples[name] = out.read_text(encoding="utf-8")
        return browse(out, *window, **more)

    return show
