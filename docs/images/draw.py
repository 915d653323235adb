"""Draws the pictures of the gallery again, each with the code that stands below it: python docs/images/draw.py."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")

FOLDER = Path(__file__).parent
ENTRY = re.compile(r"^!\[[^]]*\]\(images/(\w+\.png)\)\n\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def draw(folder: Path = FOLDER) -> list[Path]:
    """Write every picture to a folder, and say which; the examples run in the folder of the project."""
    page, names, paths = FOLDER.parent / "gallery.md", dict[str, Any](), []
    for picture, code in ENTRY.findall(page.read_text(encoding="utf-8")):
        for example in doctest.DocTestParser().get_examples(code):
            exec(example.source, names)
        paths.append(folder / picture)
        names["picture"].savefig(paths[-1], dpi=130, metadata={"Software": None})
    return paths


if __name__ == "__main__":
    print(*draw(), sep="\n")
