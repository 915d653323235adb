"""Mechanism files: JSON or TOML <-> Mechanism; every error names file, field, value and rule."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bap_lp.files.binary import is_binary, packed, unpacked
from bap_lp.model.mechanism import Mechanism
from bap_lp.support.documents import check, dumps, located, read_document, source_name
from bap_lp.support.labels import Numbers
from bap_lp.support.proof_tables import long_number, texts
from bap_lp.support.rational import InputError, show
from bap_lp.support.writing import write_files

_LIST = {"type": "array"}
MECHANISM: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "states": _LIST, "signals": _LIST, "channel": _LIST},
    "required": ["channel"],
}


def load_mechanism(path: str | os.PathLike[str], states: Sequence[str] | None = None) -> Mechanism:
    """Read a mechanism. Given the states of a problem, its own must be those, in that order, or be left out.

    Args:
        path: the file: JSON, or the binary .npz of `save_mechanism`.
        states: the states of the problem that it is for.

    Returns:
        The mechanism.

    Raises:
        InputError: the file cannot be read, a row is not a distribution, or the states differ.

    >>> import os, tempfile
    >>> from bap_lp import Mechanism, load_mechanism, save_mechanism
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_mechanism(os.path.join(folder, "hide.json"), Mechanism([[1, 0], ["3/10", "7/10"]]))
    ...     print(*load_mechanism(os.path.join(folder, "hide.json")).channel[1])
    3/10 7/10
    """
    document = unpacked(path) if is_binary(path) else read_document(path)
    return mechanism_from_dict(document, source_name(path), states)


def mechanism_from_dict(document: Any, source: str, states: Sequence[str] | None = None) -> Mechanism:
    """A mechanism from its document; `source` is what errors call it."""
    with located(source):
        check(document, MECHANISM)
        channel, own = document["channel"], document.get("states")
        if states is not None:
            if len(channel) != len(states):
                raise InputError("channel", None, f"has {len(channel)} rows, must have {len(states)}, one per state")
            for k, (given, wanted) in enumerate(zip(states if own is None else own, states, strict=False)):
                if given != wanted:
                    raise InputError(f"states[{k}]", given, f"must be {show(wanted)}, the problem's states[{k}]")
        names = states if own is None else own
        if isinstance(channel, list):
            channel = [[long_number(v) for v in row] if isinstance(row, list) else row for row in channel]
        return Mechanism(channel, signals=document.get("signals"), states=names, name=document.get("name", ""))


def mechanism_document(mechanism: Mechanism) -> dict[str, Any]:
    """The JSON document of a mechanism: exact numbers as strings like "13/40", floats as numbers."""
    return {"states": list(mechanism.states), "signals": list(mechanism.signals), "channel": texts(mechanism.q)}


def save_mechanism(path: str | os.PathLike[str], mechanism: Mechanism) -> None:
    """Write a mechanism file: binary if its name ends in .npz, JSON otherwise.

    Args:
        path: where to write it.
        mechanism: the mechanism.

    Raises:
        InputError: the path is not a place for a file.

    >>> import os, tempfile
    >>> from bap_lp import Mechanism, load_mechanism, save_mechanism
    >>> hide = Mechanism([[1, 0], ["3/10", "7/10"]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_mechanism(os.path.join(folder, "hide.json"), hide)
    ...     load_mechanism(os.path.join(folder, "hide.json")) == hide
    True
    """
    if not is_binary(path):
        content: str | bytes = dumps(mechanism_document(mechanism))
    else:
        states = {} if isinstance(mechanism.states, Numbers) else {"states": list(mechanism.states)}
        content = packed({**states, "signals": list(mechanism.signals), "channel": mechanism.q})
    write_files({Path(path): content})
