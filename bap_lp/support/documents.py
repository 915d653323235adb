"""Documents: TOML or JSON text as plain tables, checked along a JSON Schema.

`check` walks a document along the tables of its schema: closed tables, required keys, tables where tables must be. It
does not check numbers and labels: the classes that use them give better messages.
"""

from __future__ import annotations

import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

import numpy as np
from flint import fmpz

from bap_lp.support.labels import gone, nearest
from bap_lp.support.limits import limit, raising
from bap_lp.support.rational import InputError, show

_KINDS: dict[str, tuple[Any, str]] = {
    "object": (dict, "a table"),
    "array": (list, "a list"),
    "string": (str, "a string"),
}
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,40}")
_PLAIN_DIGITS = 4000  # Python reads integers of more than 4300 digits only if it is told to
# a string without end is one token: to look for the end again at each of its quotes would take quadratic time
_STRINGS = r'"(?:[^"\\\n]|\\.)*+"?'
_LONG_STRINGS = r'"{3}(?s:(?:[^"\\]|\\.|"{1,2}(?!"))*+)"*' + r"|'{3}(?s:.*?)(?:'{3,5}|\Z)"
_LONG_WORDS = r"|(?<!\w)\w{300,}"  # the parser of TOML takes 120 bytes of memory for every digit of a number
_TOKENS = {
    True: re.compile(_STRINGS + r"|[\[{\]}]"),
    False: re.compile(_LONG_STRINGS + "|" + _STRINGS + r"|'[^'\n]*'|\#[^\n]*|[\[{\]}.=,\n]" + _LONG_WORDS),
}
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def source_name(path: str | os.PathLike[str]) -> str:
    """A path as messages quote it: as given, unless it holds characters that would break the line."""
    name = os.fspath(path)
    return name if name.isprintable() else ascii(name)


def read_document(path: str | os.PathLike[str]) -> Any:
    """The tables of a file: JSON if it is named .json or starts with a brace, TOML otherwise."""
    return document_of(read_bytes(path), path)


def read_bytes(path: str | os.PathLike[str], plain: bool = False) -> bytes:
    """The bytes of a file that is not too large; `plain` refuses what is not a file, such as a pipe that never ends."""
    source, most = source_name(path), limit("bytes")
    try:
        if plain:
            require_plain(path)
        with open(path, "rb") as file:
            return bounded(file, source, most)
    except InputError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(source, None, f"cannot be read: {reason}") from None


def require_plain(path: str | os.PathLike[str]) -> None:
    """Refuse what is there and is not a file; it is not opened, because a pipe may have no other end."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return  # opening it says why
    if not stat.S_ISREG(mode):
        raise InputError(source_name(path), None, "must be a file, and is a directory, a pipe or a device")


def bounded(file: BinaryIO, source: str, most: int) -> bytes:
    """All bytes of an open file, if they are not more than the limit."""
    raw = file.read(most + 1)
    if len(raw) > most:
        raise InputError(source, None, f"must be at most {most / 2**20:.3g} MB {raising('bytes')}")
    return raw


def document_of(raw: bytes, path: str | os.PathLike[str]) -> Any:
    """The tables in the bytes of a file of this name."""
    source = source_name(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = raw[error.start]
        raise InputError(source, None, f"is not UTF-8 text: byte 0x{byte:02x} at position {error.start}") from None
    if not text.strip():
        raise InputError(source, None, "is empty")
    as_json = source.lower().endswith(".json") or (
        not source.lower().endswith(".toml") and text.lstrip().startswith("{")
    )
    return parse_document(text, source, as_json)


def parse_document(text: str, source: str, as_json: bool) -> Any:
    """Parse TOML or JSON; `source` is what errors call the text."""
    kind = "JSON" if as_json else "TOML"
    try:
        _shallow(text, as_json)
        if not as_json:
            return tomllib.loads(text)
        document = json.loads(text, object_pairs_hook=_distinct, parse_int=_integer)
        if _SURROGATE.search(text):
            json.dumps(document, ensure_ascii=False).encode()  # half a surrogate pair can be neither printed nor saved
        return document
    except InputError as error:
        raise InputError(f"{source}: {error.field}" if error.field else source, error.value, error.rule) from None
    except UnicodeEncodeError:
        raise InputError(source, None, "holds half a surrogate pair, which is not text") from None
    except RecursionError:
        raise InputError(source, None, "is nested too deeply") from None
    except ValueError as error:
        records = source.lower().endswith((".csv", ".tsv", ".parquet"))
        hint = "; `bap microdata init` reads tables of records" if records else ""
        raise InputError(source, None, f"is not {kind}: {' '.join(str(error).split())}{hint}") from None


def _shallow(text: str, as_json: bool) -> None:
    """Refuse deep nesting and too many values, and in TOML long numbers, dotted keys and headers, before parsing.

    The parser of TOML walks a dotted key once per part and checks it against all keys so far, so that a long key takes
    time that grows as the cube of its length. Strings and comments are skipped.
    """
    most, depth, dots, digits = limit("depth"), 0, 0, limit("digits")
    if (values := text.count(",") + 1) > limit("cells"):
        raise InputError("", None, f"has {values} values, must have at most {limit('cells')} {raising('cells')}")
    for token in _TOKENS[as_json].finditer(text):
        mark = token[0]
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        elif mark == ".":
            dots += 1
        elif mark in "\n=,":
            dots = 0
        elif len(mark) > digits and mark[0].isalnum():
            raise InputError("number", mark[:80], f"must have at most {digits} digits {raising('digits')}")
        if depth > most or dots > most:
            raise InputError("", None, "is nested too deeply")


def _integer(digits: str) -> Any:
    if len(digits) > limit("digits"):
        raise InputError("number", digits, f"must have at most {limit('digits')} digits {raising('digits')}")
    return int(digits) if len(digits) <= _PLAIN_DIGITS else int(fmpz(digits))


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(pairs) > limit("keys"):
        raise InputError("table", None, f"has more than {limit('keys')} keys {raising('keys')}")
    out: dict[str, Any] = {}
    for key, value in pairs:
        if key in out:
            raise InputError("key", key, "is given twice in one table")
        out[key] = value
    return out


def check(document: Any, schema: Mapping[str, Any]) -> None:
    """Raise InputError where the tables of a document are not those of its schema."""
    _walk(document, schema, "", schema.get("$defs", {}))


def _walk(value: Any, schema: Mapping[str, Any], field: str, defs: Mapping[str, Any]) -> None:
    schema = _resolved(schema, defs)
    options = [_resolved(option, defs) for option in schema.get("oneOf", ())]
    if any(s.get("type") == "object" for s in options):  # a table, or a list of such tables
        schema = next((s for s in options if type(value) is _KINDS[s["type"]][0]), options[0])
    kind = schema.get("type")
    if kind not in _KINDS or (kind == "array" and isinstance(value, np.ndarray)):
        return
    if type(value) is not _KINDS[kind][0]:
        rule = f"must be {_KINDS[kind][1]}" + (", not null" if value is None else "")
        raise InputError(field or "the whole file", value, rule)
    if kind == "string" and len(value) < schema.get("minLength", 0):
        raise InputError(field, value, "must be a non-empty string")
    if kind == "array":
        items = _resolved(schema.get("items", {}), defs)
        if items.get("type") == "object":
            if not value:
                raise InputError(field, None, "must not be empty")
            for k, item in enumerate(value):
                _walk(item, items, f"{field}[{k}]", defs)
    if kind == "object" and "properties" in schema:
        _walk_table(value, schema, field, defs)


def _walk_table(table: dict[str, Any], schema: Mapping[str, Any], field: str, defs: Mapping[str, Any]) -> None:
    prefix = f"{field}." if field else ""
    known = schema["properties"]
    for key in table:
        if key not in known:
            name = key if _BARE_KEY.fullmatch(key) else show(key)
            place = f"[{field}]" if field else "the file"
            other = "" if field else other_kind(table, known)
            near = None if other else nearest(key, list(known))
            other = f"; did you mean {near}?" if near else other
            rule = f"is not a known key: {place} may have {', '.join(known)}{other}"
            raise InputError(prefix + name, None, gone(key) or gone(f"{field.partition('[')[0]}.{key}") or rule)
    for key in schema.get("required", ()):
        if key not in table:
            raise InputError(prefix + key, None, "is missing" + ("" if field else other_kind(table, known)))
    for key, value in table.items():
        _walk(value, known[key], prefix + key, defs)


_TELLING = {
    "publish": "a study of records, which `bap microdata solve` reads",
    "likelihood": "a model, which `bap model` reads",
    "table": "a file about a table of counts, which `bap counts` and `bap solve` read",
    "channel": "a mechanism, which `bap release` and `bap evaluate` read",
    "theta": "a problem, which `bap solve` reads",
    "data": "a problem, which `bap solve` reads",
}


def other_kind(document: Any, known: Collection[str]) -> str:
    """What kind of file this is if it is of another kind than the one with the `known` keys, and who reads it."""
    for key, words in _TELLING.items():
        # the data of a problem are a table, those of a study the name of a file
        if isinstance(document, dict) and key in document and (key != "data" or isinstance(document[key], dict)):
            own = "theta" in known if key == "data" else key in known
            return "" if own else f"; it looks like {words}"
    return ""


def _resolved(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = defs[schema["$ref"].removeprefix("#/$defs/")]
    return schema


@contextmanager
def located(source: str, rename: Callable[[str], str] = str) -> Iterator[None]:
    """Errors raised inside name the file, and its fields as the file spells them."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {rename(error.field)}", error.value, rename(error.rule)) from None
    except RecursionError:
        raise InputError(source, None, "is nested too deeply") from None
    except OverflowError:
        raise InputError(source, None, "has a number that is too large for floats") from None


def dumps(document: Any) -> str:
    """A document as JSON text; what holds no further list or table stays on one line, so a channel reads as a table."""
    return _dumped(document, "") + "\n"


def _dumped(value: Any, indent: str) -> str:
    inner = indent + "  "
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if not any(isinstance(v, (dict, list)) for v in items):
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    if isinstance(value, dict):
        lines = [f"{json.dumps(k, ensure_ascii=False)}: {_dumped(v, inner)}" for k, v in value.items()]
    else:
        lines = [_dumped(v, inner) for v in value]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n{inner}" + f",\n{inner}".join(lines) + f"\n{indent}{end}"
