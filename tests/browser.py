"""What the tests of the pages share: a browser on this machine, and how its pages are read."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
FRACTION = re.compile(r"\d\s*/\s*\d")
Open = Callable[..., Any]
# the contrast of WCAG between an element's text and the first opaque background behind it
CONTRAST = """(selector) => {
  const parts = (c) => c.match(/[\\d.]+/g).map(Number), weights = [0.2126, 0.7152, 0.0722];
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const light = (c) => parts(c).slice(0, 3).reduce((s, v, k) => s + linear(v / 255) * weights[k], 0);
  const ground = (e) => getComputedStyle(e).backgroundColor;
  return [...document.querySelectorAll(selector)].filter((e) => e.innerText && e.offsetParent).map((e) => {
    let behind = e;
    while (behind.parentElement && (parts(ground(behind))[3] ?? 1) < 1) behind = behind.parentElement;
    const a = light(getComputedStyle(e).color), b = light(ground(behind));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  });
}"""
TEXTS = "main p, main h2, main h3, main h4, main td, main th, main li, main summary, main dd, main dt, main button"


def can_be_read(page: Any, width: int, scheme: str) -> None:
    """Nothing scrolls sideways, the page has the colours that are asked for, and no text is faint."""
    assert page.evaluate("document.documentElement.scrollWidth") == width
    ground = page.evaluate("getComputedStyle(document.querySelector('main')).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert min(page.evaluate(CONTRAST, TEXTS)) >= 4.5


def hundred(share: Any) -> str:
    return f"{round(100 * float(share), 1):g}"
