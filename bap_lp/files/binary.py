"""Large documents as .npz files: tables as arrays, everything else as JSON text. Nothing in them is executed.

A document is that of a JSON file, except that its tables of numbers are arrays. Floats are stored as they are and
rationals as numerators and denominators where these are 64-bit integers, and as text where they are longer. A reader
needs numpy alone: member "document" is the JSON text, and {"array": "3"} in it stands for the member "3", or for "3.p"
over "3.q".
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from bap_lp.files.effort import check_denominators
from bap_lp.support.documents import parse_document, source_name
from bap_lp.support.limits import limit, raising
from bap_lp.support.rational import Array, InputError, is_exact, objects

_KEY = "array"
_MOST_MEMBERS = 1000


def is_binary(path: str | os.PathLike[str]) -> bool:
    return source_name(path).lower().endswith(".npz")


def packed(document: dict[str, Any]) -> bytes:
    members: dict[str, Array] = {}

    def stored(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: stored(item) for key, item in value.items()}
        if isinstance(value, list):
            return [stored(item) for item in value]
        if not isinstance(value, np.ndarray):
            return value
        name = str(len(members))
        members.update(_members(name, value))
        return {_KEY: name}

    text = json.dumps(stored(document), ensure_ascii=False, allow_nan=False)
    out = io.BytesIO()
    whole: dict[str, Any] = {"document": _letters(text), **members}
    np.savez(out, **whole)  # letters and numbers: there is nothing to pickle
    return out.getvalue()


def _members(name: str, values: Array) -> dict[str, Array]:
    if not is_exact(values):
        return {name: np.ascontiguousarray(values, dtype="<f8")}
    flat = values.ravel().tolist()
    if all(v.height_bits() < 63 for v in flat):
        parts = ([int(v.p) for v in flat], [int(v.q) for v in flat])
        return {f"{name}.{k}": np.array(v, dtype="<i8").reshape(values.shape) for k, v in zip("pq", parts, strict=True)}
    text = "\n".join(f"{v.p}/{v.q}" for v in flat)
    return {f"{name}.text": _letters(text), f"{name}.shape": np.array(values.shape, dtype="<i8")}


def _letters(text: str) -> Array:
    return np.frombuffer(text.encode(), dtype=np.uint8)


def unpacked(path: str | os.PathLike[str]) -> Any:
    """The document of an .npz file, with arrays in working numbers for its tables; every error names the file."""
    source = source_name(path)
    try:
        members = _read(path)
    except Exception as error:  # bytes of a stranger make the readers of zip and npy raise errors of many kinds
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise InputError(source, None, f"cannot be read as .npz: {reason}") from None
    if "document" not in members or members["document"].dtype != np.uint8:
        raise InputError(source, None, 'is not an .npz file of this project: it has no "document"')

    def restored(value: Any) -> Any:
        if isinstance(value, list):
            return [restored(item) for item in value]
        if not isinstance(value, dict):
            return value
        return (
            _table(members, value[_KEY], source) if set(value) == {_KEY} else {k: restored(v) for k, v in value.items()}
        )

    try:
        text = members["document"].tobytes().decode()
    except UnicodeDecodeError:
        raise InputError(f"{source}: document", None, "is not UTF-8 text") from None
    return restored(parse_document(text, source, True))


def _read(path: str | os.PathLike[str]) -> dict[str, Array]:
    """The members, each no larger than the file: stored, not compressed, and with a header that fits its bytes."""
    out = {}
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if sum(entry.compress_size for entry in entries) > os.path.getsize(path):  # each has its own bytes
            raise ValueError("its members overlap")
        if len(entries) > _MOST_MEMBERS or len({entry.filename for entry in entries}) < len(entries):
            raise ValueError("its members are too many, or two have one name")
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or not entry.filename.endswith(".npy"):
                raise ValueError(f"{entry.filename!r} is not a stored .npy member")
            with archive.open(entry) as file:
                version = np.lib.format.read_magic(file)
                headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
                if version not in headers:
                    raise ValueError(f"{entry.filename!r} has an unknown version")
                shape, by_columns, dtype = headers[version](file)
                data = file.read()
            if by_columns or dtype.str not in ("<f8", "<i8", "|u1"):
                raise ValueError(f"{entry.filename!r} is of type {dtype.str}")
            if not shape:
                raise ValueError(f"{entry.filename!r} is a single number and no table")
            out[entry.filename.removesuffix(".npy")] = np.frombuffer(data, dtype).reshape(shape)
    return out


def _table(members: dict[str, Array], name: Any, source: str) -> Array:
    where = f"{source}: array {name!r}"
    if isinstance(name, str):
        if name in members and members[name].dtype == float:
            return members[name]
        p, q = members.get(f"{name}.p"), members.get(f"{name}.q")
        if p is not None and q is not None and p.dtype == q.dtype == np.int64 and p.shape == q.shape and (q > 0).all():
            pairs = zip(p.ravel().tolist(), q.ravel().tolist(), strict=True)
            return objects(fmpq(a, b) for a, b in pairs).reshape(p.shape)
        text, shape = members.get(f"{name}.text"), members.get(f"{name}.shape")
        if text is not None and shape is not None and shape.dtype == np.int64 and shape.ndim == 1:
            return _long_table(text.tobytes(), shape.tolist(), where)
    raise InputError(where, None, "is missing or not a table of numbers")


def _long_table(text: bytes, shape: list[int], where: str) -> Array:
    numbers = [line.partition(b"/") for line in text.split(b"\n")]
    for p, _, q in numbers:
        if not (p.removeprefix(b"-").isdigit() and q.isdigit() and q.strip(b"0")):
            raise InputError(where, (p + b"/" + q)[:40].decode(errors="replace"), "is not a fraction")
        if max(len(p), len(q)) > limit("digits"):
            raise InputError(where, None, f"must have at most {limit('digits')} digits {raising('digits')}")
    digits = sum(len(p) + len(q) for p, _, q in numbers) // (2 * len(numbers))
    check_denominators(digits, {q.decode() for _, _, q in numbers}, len(numbers), where)
    values = objects(fmpq(fmpz(p.decode()), fmpz(q.decode())) for p, _, q in numbers)
    if min(shape, default=0) < 0 or int(np.prod(shape, dtype=object)) != len(values):
        raise InputError(where, shape, f"must be the shape of {len(values)} numbers")
    return values.reshape(shape)
