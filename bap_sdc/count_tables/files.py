"""Files about tables of counts: TOML or JSON -> the problem, its lam, its conditions and the releases to compare with.

A file about tables has [table] where other problem files have [data]. Every error names file, field, value and rule.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from bap_lp.files.problems import ProblemFile, conditions_for, lam_from
from bap_lp.support.documents import check, located, read_document, source_name
from bap_lp.support.rational import InputError
from bap_sdc.count_tables.problems import counts
from bap_sdc.count_tables.protections import RELEASE_KEYS, USUAL, Protection, read_protections
from bap_sdc.count_tables.reading import QUESTION_KEYS

TABLE_KEYS = (
    "n", "cells", "rows", "columns", "alpha", "row_totals", "column_totals", "totals", "merge",
)  # fmt: skip
_AGENT = {"type": "object", "properties": {key: {} for key in QUESTION_KEYS}, "required": ["cells"]}
_AGENTS = {"oneOf": [_AGENT, {"type": "array", "items": _AGENT}]}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "table": {"type": "object", "properties": {key: {} for key in TABLE_KEYS}},
        "bob": _AGENTS,
        "eve": _AGENTS,
        "alice": {"type": "object", "properties": {"lambda": {}}},
        "conditions": {"type": "object"},
        "releases": {"type": "object", "properties": {key: {} for key in RELEASE_KEYS}},
    },
    "required": ["table", "bob", "eve"],
}


@dataclass(frozen=True)
class CountsFile(ProblemFile):
    """A problem about tables, with the releases that its file compares the optimum with."""

    protections: tuple[Protection, ...] = USUAL


def load_counts(path: str | os.PathLike[str]) -> CountsFile:
    """Read a file about a table of counts, TOML or JSON.

    Args:
        path: the file.

    Returns:
        The problem, its lam, its conditions and the releases.

    Raises:
        InputError: the file cannot be read or breaks a rule.
    """
    return counts_from_dict(read_document(path), source_name(path))


def counts_from_dict(document: Any, source: str = "counts") -> CountsFile:
    """The same from the tables of a file; `source` is what errors call it."""
    with located(source):
        check(document, _SCHEMA)
        lam = lam_from(document.get("alice", {}).get("lambda", "calibrated"))
        protections = read_protections(document.get("releases"))
        merge = document["table"].get("merge", True)
        if not isinstance(merge, bool):
            raise InputError("table.merge", merge, "must be true or false")
    with located(source, _place):
        problem = counts(bob=document["bob"], eve=document["eve"], title=document.get("title", ""), **document["table"])
    with located(source):
        return CountsFile(problem, lam, source, conditions_for(document.get("conditions"), problem), protections)


def _place(field: str) -> str:
    """The fields of `counts` that a file has in [table]."""
    head = field.removeprefix("sum of ")
    inside = head.split("[")[0].split(".")[0] in (*TABLE_KEYS, "names of rows, columns and cells")
    return field[: len(field) - len(head)] + ("table." + head if inside else head)
