"""The report: one HTML file with everything inside, a page that draws itself from a JSON island.

Nothing of a problem file ever becomes markup: labels travel as JSON strings, `<`, `>` and `&` spelled \\u003c and so
on, and the page puts them in place as text. A content security policy with the hashes of the page's own script and
style lets nothing else run and nothing load.
"""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

MADE = "Made with bap-lp"  # the generator of pages and pictures, by which they are known when they are written again
_PAGE = Path(__file__).with_name("page")
_SCRIPTS = ("rational.js", "map.js", "proof.js", "agree.js", "sign.js", "page.js")
_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}


def report_page(document: Any) -> str:
    """The HTML page of a report's document."""
    style = _read("page.css")
    script = '"use strict";\n' + "\n".join(_read(name) for name in _SCRIPTS)
    page = _read("page.html")
    parts = (
        ("POLICY", policy(style, script)), ("MADE", MADE), ("STYLE", style), ("SCRIPT", script),
        ("DATA", island(document)),
    )  # fmt: skip
    for place, content in parts:
        page = page.replace(f"[[{place}]]", content, 1)
    return page


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def island(document: Any) -> str:
    """JSON that may stand inside a script element."""
    out = json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():
        out = out.replace(character, escape)
    return out


def policy(style: str, script: str = "", images: str = "") -> str:
    """A content security policy under which only this style and this script work, and nothing is loaded."""
    runs = f"script-src {_hash(script)}; " if script else ""
    return f"default-src 'none'; {images}{runs}style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _hash(content: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() + "'"
