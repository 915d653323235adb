"""Changed files: what of a document can be changed, and a bundle with a file rewritten and a manifest that fits again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from bap_lp.files.bundles import FILES, MANIFEST


def refit(folder: Path) -> None:
    """A manifest that fits the files again."""
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in FILES}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def change(folder: Path, name: str, **values: Any) -> None:
    document = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(document | values))
    refit(folder)


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document read from JSON."""
    out: list[tuple[Any, Any]] = []
    for key, child in node.items() if isinstance(node, dict) else enumerate(node):
        out += [(node, key), *(places(child) if isinstance(child, (dict, list)) else ())]
    return out
