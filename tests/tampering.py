"""Changed documents, bundles with a file rewritten and a manifest that fits again, and changed limits."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction as F
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from bap_lp import InputError, load_bundle, verify_standalone
from bap_lp.support.limits import limit, set_limits

MANIFEST = "manifest.json"


def refit(folder: Path) -> None:
    """A manifest that fits the files again."""
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"] = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in manifest["files"]}
    (folder / MANIFEST).write_text(json.dumps(manifest))


def edit(folder: Path, name: str, change: Callable[[Any], Any]) -> None:
    """A document of a folder is changed, and the manifest fits it."""
    document = json.loads((folder / name).read_text())
    change(document)
    (folder / name).write_text(json.dumps(document))
    refit(folder)


def change(folder: Path, name: str, **values: Any) -> None:
    edit(folder, name, lambda document: document.update(values))


def put(*way: Any, to: Any) -> Callable[[Any], None]:
    """A change of a document: another value at the end of this way, or what a function makes of the one there."""
    *before, last = way

    def changed(document: Any) -> None:
        node = reduce(getitem, before, document)
        node[last] = to(node[last]) if callable(to) else to

    return changed


def places(node: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a document read from JSON."""
    out: list[tuple[Any, Any]] = []
    for key, child in node.items() if isinstance(node, dict) else enumerate(node):
        out += [(node, key), *(places(child) if isinstance(child, (dict, list)) else ())]
    return out


def alter(document: Any, data: st.DataObject) -> None:
    """Another number or position somewhere, or something is missing."""
    node, key = data.draw(st.sampled_from(places(document)))
    value = node[key]
    if isinstance(value, (dict, list)) or data.draw(st.integers(0, 9)) == 0:
        del node[key]
    elif isinstance(value, bool):
        node[key] = not value
    elif isinstance(value, int):
        node[key] = data.draw(st.sampled_from([value + 1, value - 1, 99]))
    elif re.fullmatch(r"-?\d+(/\d+)?", value):
        number = F(value)
        node[key] = str(data.draw(st.sampled_from([number + F(1, 7), number - 1, -number, 2 * number, F(0)])))
    else:
        node[key] = f"{value}x"


def both(folder: Path, allow: bool = False) -> tuple[bool, bool]:
    """What the library and the stand-alone checker say of a bundle."""
    try:
        ours = load_bundle(folder).verify(allow).ok
    except InputError:
        ours = False
    try:
        verify_standalone.check(folder, allow)
    except verify_standalone.Refused:
        return ours, False
    return ours, True


@contextmanager
def limited(*settings: str) -> Iterator[None]:
    """With other limits, such as "work=80"."""
    before = [f"{name}={limit(name)}" for name in (setting.split("=")[0] for setting in settings)]
    set_limits(settings)
    try:
        yield
    finally:
        set_limits(before)
