"""The documentation site: it builds without a warning, asks no other host for anything, and fits a phone."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from browser import CHROMIUM, FLAGS

ROOT = Path(__file__).parents[1]
LOADS = re.compile(r"""<(?:script|img|link|iframe|source)\b[^>]*?\b(?:src|href)=["'](?:https?:)?//[^"']*["'][^>]*>""")
CUT = "[...document.querySelectorAll('pre')].some((block) => block.scrollWidth > block.clientWidth + 1)"


def built(folder: Path) -> Path:
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "-d", str(folder / "trees"), "docs"]
    done = subprocess.run([*command, str(folder / "html")], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "html"


def no_page_loads_anything_from_another_host(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 20
    assert [(page.name, found) for page in pages for found in LOADS.findall(page.read_text())] == []
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*['\"]?(?:https?:)?//", sheet.read_text()), sheet


def formulas_are_drawn_by_the_browser_itself(site: Path) -> None:
    theory = "".join((site / name).read_text() for name in ("theory.html", "proofs/theorems.html"))
    assert theory.count("<math") > 200
    assert not re.search(r"<script[^>]*(?:mathjax|katex)", theory, re.IGNORECASE)
    assert not re.search(r"\\(?:sum|min|begin|lambda)\b", theory)  # no TeX is left over
    bars = re.findall(r"<mo([^>]*)>\|</mo>", (site / "proofs/brackets.html").read_text())
    assert len(bars) > 4
    assert {re.sub(r'.*form="(\w+)".*', r"\1", bar) for bar in bars} == {"prefix", "postfix"}
    slashes = re.findall(r"<mo([^>]*)>/</mo>", (site / "literature.html").read_text())
    assert len(slashes) > 8
    assert {'lspace="0" rspace="0"' in slash for slash in slashes} == {True}


def code_is_coloured(site: Path) -> None:
    """Sphinx leaves a block grey if its source is not its text."""
    for name in ("tutorial", "files", "microdata", "conditions", "gallery"):
        blocks = re.findall(
            r'<div class="highlight-(?:python|toml)[^>]*>(.*?)</pre>', (site / f"{name}.html").read_text(), re.DOTALL
        )
        assert blocks, name
        assert [block for block in blocks if not re.search(r'<span class="\w+">', block)] == []


def punctuation_stays_with_its_formula(site: Path) -> None:
    """A browser may break a line between </math> and a comma."""
    pages = [site / f"{name}.html" for name in ("theory", "proofs/brackets", "proofs/counts", "gaussian")]
    loose = [found for page in pages for found in re.findall(r"</math>[.,;:)].{0,20}", page.read_text())]
    assert sum(page.read_text().count('<span class="together">') for page in pages) > 100
    assert [found for found in loose if "</span>" not in found] == []


def every_public_name_has_a_place(site: Path) -> None:
    import bap_lp
    import bap_sdc
    import discretise
    import gaussian

    for package in (bap_lp, bap_sdc, discretise, gaussian):
        page = (site / "api" / f"{package.__name__}.html").read_text()
        places = set(re.findall(r'id="([\w.]+)"', page)) | set(re.findall(r'id="module-([\w.]+)"', page))
        assert "PEP 604" not in page  # what Python says about every union
        results = re.findall(r'<dt class="field-\w+">Returns<span.*?</dt>\s*<dd[^>]*>(.*?)</dd>', page, re.DOTALL)
        assert results
        assert [text for text in results if "<em>" in text or "\ua789" in text] == []  # no sentence is taken for a type
        for target in re.findall(r'alias of <a class="reference internal" href="#([\w.]+)"', page):
            assert f'id="{target}"' in page
        assert page.count("alias of") == len(re.findall(r'alias of <a class="reference internal" href="#', page))
        assert "<ol" not in page  # nor a letter with a full stop for the first item of a list
        assert "\ue000" not in page
        missing = [name for name in package.__all__ if f"{package.__name__}.{name}" not in places]
        assert missing == []


def pages_fit_a_phone_and_ask_for_nothing(site: Path) -> None:
    """Nor is a line of code cut on a wide screen, in the pages that people wrote."""
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    wide: list[tuple[str, int]] = []
    with sync_playwright() as play:
        window = play.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for width, scheme in ((390, "dark"), (1280, "light")):
            context = window.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True)
            page = context.new_page()
            page.on("request", lambda request: asked.append(request.url))
            for name in sorted(str(found.relative_to(site)) for found in site.rglob("*.html")):
                page.goto((site / name).as_uri())
                over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
                if over > 0:
                    wide.append((name, width))
                if width == 1280 and not name.startswith("api/") and page.evaluate(CUT):
                    wide.append((name, width))
            context.close()
        window.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert not wide, wide


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_stands_alone(tmp_path: Path) -> None:
    """One test, since the site is built once for all of them."""
    site = built(tmp_path)
    no_page_loads_anything_from_another_host(site)
    formulas_are_drawn_by_the_browser_itself(site)
    code_is_coloured(site)
    punctuation_stays_with_its_formula(site)
    every_public_name_has_a_place(site)
    if CHROMIUM is None:
        pytest.skip("no chromium or chrome is installed")
    pages_fit_a_phone_and_ask_for_nothing(site)
