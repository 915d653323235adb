"""A first study file for a table: what was seen in its columns, and proposals to start from, which run as they are.

Proposed are, in this order, unless they are given: a secret, the text or truth-value column with the fewest levels, or
else the last column with few; two known columns, those with the fewest levels of the rest; up to four published
columns. Columns with many numbers are banded at their quartiles; identifiers, weights and columns with many texts are
left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np

from bap_lp.rational import InputError
from bap_sdc.records.agents import Eve
from bap_sdc.records.data.findings import FEW, Findings, Found, look_at
from bap_sdc.records.optimum.risks import record_lam
from bap_sdc.records.study import Study

_PUBLISHED, _KNOWN = 4, 2
_DECISIONS, _FEWER = 2000, 128  # of a secret with two levels, whose parts are solved by pairs, and of others
_DRAWS, _MODELLED = 20, 50  # draws; records of a model
_QUICK = 400_000  # types times squared decisions up to which lambda is found in a minute, with draws
SEEN = "# Seen: "


def proposal(
    frame: Any, data: str, *, secret: str | None = None, knows: Sequence[str] | None = None,
    publish: Sequence[str] | None = None,
) -> str:  # fmt: skip
    """A commented study file for a table.

    Args:
        frame: the records.
        data: the path of the table as the file should name it.
        secret: the column that Eve wants; chosen if left out, as are the others.
        knows: the columns that she has.
        publish: the columns to publish.

    Returns:
        TOML text.

    Raises:
        InputError: the table has too few columns that a study could use, or one that is asked for cannot be used.

    >>> import pandas
    >>> frame = pandas.DataFrame({"ill": ["no", "yes", "no"], "pay": [1, 2, 3], "sex": ["f", "m", "f"]})
    >>> print(proposal(frame, "a.csv").splitlines()[2])
    data = "a.csv"
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    source = str(frame.attrs.get("source", data))
    seen = look_at(frame, source)
    hers, known, published, price, study = _chosen(frame, seen, source, secret, knows, publish)
    used = list(dict.fromkeys((*published, hers, *known)))
    lines = [
        f"# A study of {len(frame)} records. Everything below is a proposal: decide yourself what is published,",
        "# what is secret and what an adversary knows already. Columns that are not mentioned are dropped first.",
        f"data = {_quoted(data)}",
        *_reading(seen),
        "",
        *(line for column in seen.columns for line in _comments(column)),
        "",
    ]
    for column in published:
        ordered = column.kind == "numbers"
        lines += [
            f"[publish.{_key(column.name)}]",
            f'loss = "{"absolute" if ordered else "0-1"}"  # "0-1", "absolute", "squared", or a table',
            "weight = 1",
            "",
        ]
    lines += [
        "[[eve]]",
        'name = "neighbour"',
        f"secret = {_quoted(hers.name)}",
        f"knows = [{', '.join(_quoted(c.name) for c in known)}]  # columns she has already",
        *([f"loss = {_square(hers.levels)}  # row: truth, column: guess"] if hers.levels <= FEW + 1 else []),
        "weight = 1",
        *_prior(study),
    ]
    for column in [c for c in seen.columns if c in used and _options(c)]:
        lines.append(f"[columns.{_key(column.name)}]")
        lines += [f"bands = [{', '.join(column.bands)}]"] if column.bands else []
        merges = [f"{_quoted(level)} = [{', '.join(map(_quoted, cells))}]" for level, cells in column.merges]
        lines += [f"merge = {{{', '.join(merges)}}}"] if merges else []
        lines.append("")
    lines += [
        "[audit]",
        f"holdout = {_quoted('1/2') if len(frame) > 1 else 0}  # share of records kept for the audit; 0 for none",
        "",
        "[alice]",
        'eve_gain = "2%"  # chooses lambda: no Eve is more than 2% better off than without a release',
        f'# lambda = {price}  # or this instead: a number, "as is" or "calibrated"',
        "",
        "# [release]",
        "# keep = []  # known columns to publish as they are: every Eve must know them",
        "",
        "# [conditions]  # as in problem files, on record types",
        '# min_eve_risk = "1/10"',
    ]
    return "\n".join(lines) + "\n"


def _prior(study: Study) -> list[str]:
    """Eve knows draws of the true shares, unless this takes long, and the secret is modelled: this prior keeps its
    promise (`benchmarks/priors.py`)."""
    codes, secret = study.codes[~study.left_out], study.spies[0].secret
    rest = [k for k in range(len(study.names)) if k != secret]
    levels = len(np.unique(codes[:, secret]))
    fits = bool(rest) and levels > 1 and len(codes) >= _MODELLED and find_spec("sklearn") is not None
    types = len(np.unique(codes[:, rest], axis=0)) * levels if fits else len(study.prior.types)
    slow = types * study.decisions**2 > _QUICK
    words = "she also knows which of 20 draws of the true shares is true"
    return [
        f"{'# ' if slow else ''}informed = {_DRAWS}  # {words}{'; slow in a table of this size' if slow else ''}",
        "",
        "[prior]",
        f'model = "{"conditional" if fits else "counts"}"  # or "independent", "loglinear", "counts", "held-out"',
        "",
    ]


def _chosen(
    frame: Any, seen: Findings, source: str, secret: str | None, knows: Sequence[str] | None,
    publish: Sequence[str] | None,
) -> tuple[Found, list[Found], list[Found], str, Study]:  # fmt: skip
    """Secret, known and published columns and lambda such that the study can be solved, with fewer known columns if
    need be; and the study."""
    asked = {"--knows": knows or (), "--publish": publish or ()}
    given = {option: [_named(seen, name, option, source) for name in names] for option, names in asked.items()}
    usable = [c for c in seen.columns if c.usable]
    taken = [*given["--knows"], *given["--publish"]]
    free = [c for c in usable if c not in taken]
    if secret is None and not free:
        raise InputError(source, None, f"needs a column with 2 to {FEW} levels, or bands, that is free to be secret")
    hers = _secret(free) if secret is None else _named(seen, secret, "--secret", source)
    rest = [c for c in usable if c is not hers]
    if not (rest or publish):
        rule = f"needs at least two columns with 2 to {FEW} levels, or with numbers that can be banded"
        raise InputError(source, None, rule)
    ranked = sorted((c for c in rest if c not in given["--publish"]), key=lambda c: c.levels)
    most = min(_KNOWN, len(ranked) - (publish is None)) if knows is None else 0
    for count in range(max(most, 0), -1, -1):
        known = ranked[:count] if knows is None else given["--knows"]
        published = given["--publish"] if publish else _published([c for c in rest if c not in known] or rest, hers)
        study = _study(frame, seen, hers, known, published, source)
        if _calibrates(study):
            return hers, known, published, '"calibrated"', study
    return hers, known, published, "1", study


def _published(columns: Sequence[Found], hers: Found) -> list[Found]:
    out: list[Found] = []
    size, most = 1, _DECISIONS if hers.levels == 2 else _FEWER
    for column in columns:
        if len(out) < _PUBLISHED and (not out or size * column.levels <= most):
            out.append(column)
            size *= column.levels
    return out


def _calibrates(study: Study) -> bool:
    """Whether the calibrated lambda of this study is defined."""
    try:
        record_lam(study.program, "calibrated")
    except InputError:
        return False
    return True


def _study(
    frame: Any, seen: Findings, hers: Found, known: Sequence[Found], published: Sequence[Found], source: str
) -> Study:
    """The study with these columns; one that cannot be made is refused."""
    used = list(dict.fromkeys((*published, hers, *known)))
    return Study(
        frame[[c.name for c in seen.columns if c in used]],
        {c.name: "0-1" for c in published},
        [Eve(hers.name, [c.name for c in known])],
        columns={c.name: _options(c) for c in used if _options(c)},
        holdout="1/2" if len(frame) > 1 else 0,
        missing=seen.reading.missing,
        strip=seen.reading.strip,
        decimal=seen.reading.decimal,
        source=source,
    )


def _named(seen: Findings, name: str, option: str, source: str) -> Found:
    """The column of this name, if a study can use it."""
    if name not in [c.name for c in seen.columns]:
        raise InputError(option, name, f"is not a column of {source}")
    column = seen[name]
    if not column.possible:
        why = column.notes[-1] if column.notes else f"it has {column.levels} levels"
        raise InputError(option, name, f"cannot be used as it is: {why}")
    return column


def _options(column: Found) -> dict[str, Any]:
    """What a study says about the column."""
    if column.bands:
        return {"bands": list(column.bands)}
    return {"merge": {level: list(cells) for level, cells in column.merges}} if column.merges else {}


def _secret(usable: Sequence[Found]) -> Found:
    texts = [c for c in usable if c.kind == "text"]
    two = [c for c in usable if c.levels == 2]
    pool = [c for c in two if c in texts] or two or texts or list(usable)
    return min(reversed(pool), key=lambda c: c.levels)


def _reading(seen: Findings) -> list[str]:
    """The keys of the file that say how cells are read."""
    reading, lines = seen.reading, []
    if reading.missing:
        lines.append(
            f"missing = [{', '.join(map(_quoted, reading.missing))}]  # these cells are taken for missing ones"
        )
    if reading.strip:
        lines.append("strip = true  # blanks around cells are left out")
    if reading.decimal == ",":
        lines.append('decimal = ","')
    lines += [f"# weight = {_quoted(c.name)}  # counts records by their survey weight" for c in seen.columns
              if c.kind == "weights"]  # fmt: skip
    return lines


def _square(size: int) -> str:
    return json.dumps([[int(i != j) for j in range(size)] for i in range(size)])


def _comments(column: Found) -> list[str]:
    shown = ", ".join(_quoted(v[:60]) for v in column.values[:8]) + (", ..." if column.count > 8 else "")
    words = f"# {_quoted(column.name)}: {column.kind}, {column.count} different"
    if column.missing:
        words += f", {column.missing} missing (a level of its own, the last)"
    if column.kind in ("numbers", "text", "mixed"):
        words += f": {shown}"
    if column.kind in ("numbers", "text") and not column.usable and not column.named:
        words += "; too many or too few levels to propose"
    return [words, *(f"{SEEN}{_quoted(column.name)}: {note}" for note in column.notes)]


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's too, except for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _quoted(name)
