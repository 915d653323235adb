"""Study files: TOML -> Study; every error names the file, and its fields as the file spells them.

data        the table, CSV or Parquet, relative to the file          publish.COLUMN   loss, weight
[[eve]]     secret, knows, loss, name, weight, informed              prior            model, margins, smoothing, toward
columns     levels, bands, names, merge, missing by column           audit            holdout, seed
release     keep: known columns to publish as they are               alice            lambda, or eve_gain
[[cap]]     secret, level, at_most, eve                              [[floor]]        eve, at_least
[[dp]]      column, exp_epsilon                                      min_cell         also in conditions
conditions  as in problem files, on record types                     title, missing, strip, decimal, weight
undecided   columns without a role: no study is read from the file until there are none
drop        columns that are left out; in a file with `undecided` or `drop` every column has a role
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bap_lp.support.documents import check, located, read_document, require_plain, source_name
from bap_lp.support.rational import InputError, number, public, show
from bap_sdc.records.agents import Eve
from bap_sdc.records.data.tables import read_table
from bap_sdc.records.optimum.risks import TIES
from bap_sdc.records.path import gain_of
from bap_sdc.records.release.drawing import check_kept
from bap_sdc.records.study import Study

_ANY: dict[str, Any] = {}
_TEXT = {"type": "string", "minLength": 1}
_LIST = {"type": "array"}


def _table(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


_EVE = _table("secret", name=_TEXT, secret=_TEXT, knows=_LIST, loss=_ANY, weight=_ANY, informed=_ANY)
STUDY_SCHEMA = _table(
    "data", "publish", "eve",
    title={"type": "string"},
    data=_TEXT,
    publish=_ANY,
    eve={"oneOf": [_EVE, {"type": "array", "items": _EVE}]},
    prior=_table(model=_TEXT, margins=_LIST, smoothing=_ANY, toward=_TEXT),
    columns=_ANY,
    missing=_LIST,
    strip={"type": "boolean"},
    decimal=_TEXT,
    weight=_TEXT,
    undecided=_LIST,
    drop=_LIST,
    audit=_table(holdout=_ANY, seed=_ANY),
    release=_table(keep=_LIST),
    alice=_table(**{"lambda": _ANY, "eve_gain": _ANY}),
    conditions=_ANY,
    cap=_LIST,
    floor=_LIST,
    dp=_LIST,
    min_cell=_ANY,
)  # fmt: skip
_ROLES = ("drop", "undecided")  # a file with one of them says the role of every column
_LISTED = 12  # columns in a message
_OWN = ("cap", "floor", "dp", "min_cell")  # conditions that may stand outside of [conditions]


@dataclass(frozen=True)
class StudyFile:
    """A study, the lam its file asks for, the columns a release keeps, and what the file and its data are called.

    If eve_gain is a share, it chooses lam: no Eve may be better off by more than it.
    """

    study: Study
    lam: Any
    keep: tuple[str, ...]
    source: str
    data: str
    eve_gain: Any = None


def load_study(path: str | os.PathLike[str]) -> StudyFile:
    """Read a study file and its data.

    Args:
        path: a TOML (or JSON) file.

    Returns:
        The study with its lam and the columns to keep.

    Raises:
        InputError: file, data, a column, a level or a number breaks a rule, or the role of a column is not decided.

    >>> import pathlib, tempfile
    >>> from bap_sdc import load_study
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "a.csv").write_text("ill,pay\\nno,1\\nno,2\\nyes,2\\n")
    ...     file = pathlib.Path(folder, "study.toml")
    ...     lines = ['data = "a.csv"', "[publish.pay]", 'loss = "0-1"', "[[eve]]", 'secret = "ill"']
    ...     _ = file.write_text("\\n".join(lines))
    ...     load_study(file).study
    <Study: 3 records, 3 record types, 2 decisions, 1 Eve>
    """
    source = source_name(path)
    document = read_document(path)
    with located(source):
        asked = isinstance(document, dict) and any(key in document for key in _ROLES)
        check(document, {**STUDY_SCHEMA, "required": ["data"]} if asked else STUDY_SCHEMA)
        for field in ("publish", "columns"):
            _tables(document.get(field, {}), field)
        eves = _eves(document.get("eve", []))
        lam, gain = _price(document.get("alice", {}))
        keep = _names(document.get("release", {}).get("keep", []), "release.keep")
        conditions = document.get("conditions", {})
        if not isinstance(conditions, dict):
            raise InputError("conditions", conditions, "must be a table")
        conditions = dict(conditions)
        for name in (name for name in _OWN if name in document):
            if name in conditions:
                raise InputError(f"conditions.{name}", None, f"is given twice: also as {name}")
            conditions[name] = document[name]
    data = Path(path).parent / document["data"]
    require_plain(data)
    frame = read_table(data)
    shown = source_name(data)
    if asked:
        with located(source):
            _decided(document, eves, [str(name) for name in frame.columns], shown)
            check(document, STUDY_SCHEMA)
    prior, audit = document.get("prior", {}), document.get("audit", {})
    several = isinstance(document["eve"], list)
    with _fields(source, shown, several, [name for name in _OWN if name in document]):
        study = Study(
            frame,
            document["publish"],
            eves,
            smoothing=prior.get("smoothing", 0),
            toward=prior.get("toward", "margins"),
            model=prior.get("model"),
            margins=prior.get("margins", ()),
            columns=document.get("columns"),
            holdout=audit.get("holdout", 0),
            seed=audit.get("seed", 0),
            conditions=conditions,
            missing=document.get("missing", ()),
            strip=document.get("strip", False),
            decimal=document.get("decimal", "."),
            weight=document.get("weight"),
            title=document.get("title", ""),
            source=shown,
        )
        check_kept(study, keep)
    return StudyFile(study, lam, keep, source, shown, gain)


class _fields:
    """Errors of Study with the names of the file; errors about the data name the data."""

    def __init__(self, source: str, data: str, several: bool, own: Collection[str]) -> None:
        self.source, self.data, self.several, self.own = source, data, several, own

    def _own(self, match: re.Match[str]) -> str:
        return match[1] if match[1] in self.own else match[0]

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, at: Any) -> None:
        if not isinstance(error, InputError):
            return
        if error.field.startswith(self.data):
            return
        field = re.sub(r"^eves\[(\d+)\]", lambda m: f"eve[{m[1]}]" if self.several else "eve", error.field)
        field = re.sub(r"^(smoothing|toward|model|margins)\b", r"prior.\1", field)
        field = re.sub(r"^(holdout|seed)\b", r"audit.\1", field)
        field = re.sub(r"^keep\b", "release.keep", field)
        field = re.sub(r"^conditions\.(cap|floor|dp|min_cell)\b", self._own, field)
        raise InputError(f"{self.source}: {field}", error.value, error.rule) from None


def _decided(document: dict[str, Any], eves: Collection[Eve], columns: Collection[str], data: str) -> None:
    """Refuse a file in which a column has no role, or has one and is listed as undecided or dropped."""
    roles = dict.fromkeys([document["weight"]] if "weight" in document else [], "the weight")
    roles |= dict.fromkeys((name for eve in eves for name in eve.knows), "known")
    roles |= dict.fromkeys((eve.secret for eve in eves), "secret")
    roles |= dict.fromkeys(document.get("publish", {}), "published")
    for field in _ROLES:
        names = _names(document.get(field, []), field)
        for k, name in enumerate(names):
            if name not in columns:
                raise InputError(f"{field}[{k}]", name, f"is not a column of {data}")
            if name in roles:
                raise InputError(f"{field}[{k}]", name, f"has a role already: it is {roles[name]}")
        if field == "drop":
            roles |= dict.fromkeys(names, "dropped")
    if left := [name for name in columns if name not in roles]:
        more = f" and {len(left) - _LISTED} more" if len(left) > _LISTED else ""
        field = f"undecided column{'s' * (len(left) > 1)} {', '.join(map(show, left[:_LISTED]))}{more}"
        raise InputError(field, None, "must be named in publish, secret, knows, weight or drop")


def _tables(value: Any, field: str) -> None:
    if not isinstance(value, dict):
        raise InputError(field, value, "must be a table, with a table per column")
    for name, inner in value.items():
        if not isinstance(inner, dict):
            raise InputError(f"{field}.{name}", inner, f"must be a table, such as [{field}.{name}]")


def _names(values: Any, field: str) -> tuple[str, ...]:
    for k, name in enumerate(values):
        if not isinstance(name, str):
            raise InputError(f"{field}[{k}]", name, "must be the name of a column")
    return tuple(values)


def _eves(tables: Any) -> list[Eve]:
    several = isinstance(tables, list)
    out = []
    for n, table in enumerate(tables if several else [tables]):
        field = f"eve[{n}]" if several else "eve"
        knows = _names(table.get("knows", []), f"{field}.knows")
        more = {key: table[key] for key in ("loss", "name", "weight", "informed") if key in table}
        out.append(Eve(table["secret"], knows, **more))
    return out


def _price(alice: dict[str, Any]) -> tuple[Any, Any]:
    """lambda as a number or by its name, and eve_gain as a share; only one of them may be given."""
    value = alice.get("lambda", "calibrated")
    if "eve_gain" in alice:
        if "lambda" in alice:
            raise InputError("alice.eve_gain", alice["eve_gain"], "chooses lambda: leave out one of the two")
        try:
            return value, public(gain_of(alice["eve_gain"]))
        except InputError as error:
            raise InputError("alice.eve_gain", error.value, error.rule) from None
    if isinstance(value, str) and value.strip().lower() in TIES:
        return value.strip().lower(), None
    lam = number(value, "alice.lambda")
    if lam < 0:
        raise InputError("alice.lambda", value, "must not be negative")
    return public(lam), None
