"""A first study file for a table: what was seen in its columns, and the roles that were given.

The role of a column is given or undecided; nothing that is seen decides it. Once all columns have a role the file is
complete and runs as it is. Proposed are bands at the quartiles of columns with many numbers, one spelling for several,
losses, and how the release is audited.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from bap_lp.support.rational import InputError
from bap_sdc.records.agents import Eve
from bap_sdc.records.data.findings import DROP, FEW, Findings, Found, look_at, quoted
from bap_sdc.records.study import Study

_DRAWS, _MODELLED = 20, 50  # draws; records from which on secrets are modelled
_QUICK = 400_000  # types times squared decisions up to which lambda is found in a minute, with draws
SEEN = "# Seen: "


@dataclass(frozen=True)
class Roles:
    """The columns by the roles that were given, and those that have none; the secret and the weight may be missing."""

    secret: Found | None
    knows: tuple[Found, ...]
    publish: tuple[Found, ...]
    weight: Found | None
    drop: tuple[Found, ...]
    undecided: tuple[Found, ...]


def proposal(
    frame: Any, data: str, *, secret: str | None = None, knows: Sequence[str] = (), publish: Sequence[str] = (),
    weight: str | None = None, drop: Sequence[str] = (),
) -> str:  # fmt: skip
    """A commented study file for a table; a column without a role is undecided, and then no command reads the study.

    Args:
        frame: the records.
        data: the path of the table as the file should name it.
        secret: the column that Eve wants.
        knows: the columns that she has.
        publish: the columns to publish.
        weight: the column of survey weights.
        drop: the columns that are left out.

    Returns:
        TOML text.

    Raises:
        InputError: a column that is given cannot be used, or has two roles, or all have one and none is secret or
            published.

    >>> import pandas
    >>> frame = pandas.DataFrame({"ill": ["no", "yes", "no"], "pay": [1, 2, 3], "sex": ["f", "m", "f"]})
    >>> text = proposal(frame, "a.csv", secret="ill", knows=["sex"])
    >>> import tomllib
    >>> tomllib.loads(text)["undecided"]
    ['pay']
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    source = str(frame.attrs.get("source", data))
    seen = look_at(frame, source)
    roles = _roles(seen, source, secret, knows, publish, weight, drop)
    fitted = len(frame) >= _MODELLED and find_spec("sklearn") is not None
    slow = None if roles.undecided else _slow(_study(frame, seen, roles, source), fitted)
    decided = [c for c in seen.columns if c not in roles.undecided]
    lines = [
        f"# A study of {len(frame)} records.",
        f"data = {quoted(data)}",
        *_reading(seen),
        *([f"weight = {quoted(roles.weight.name)}  # counts records by their survey weight"] if roles.weight else []),
        "",
        *(line for column in decided for line in _comments(column)),
        *([""] if decided else []),
        *_open(roles),
        f"drop = [{_listed(roles.drop)}]  # columns that are left out",
        "",
        *_published(roles),
        *_eve(roles, fitted, slow),
        *_columns(seen, roles),
        "[audit]",
        *_audit(len(frame), fitted),
        "",
        "[alice]",
        'eve_gain = "2%"  # chooses lambda: no Eve is more than 2% better off than without a release',
        '# lambda = "calibrated"  # or this instead: a number, "as is" or "calibrated"',
        "",
        "# [release]",
        "# keep = []  # known columns to publish as they are: every Eve must know them",
        "",
        "# [conditions]  # as in problem files, on record types",
        '# min_eve_risk = "1/10"',
    ]
    return "\n".join(lines) + "\n"


def _roles(
    seen: Findings, source: str, secret: str | None, knows: Sequence[str], publish: Sequence[str],
    weight: str | None, drop: Sequence[str],
) -> Roles:  # fmt: skip
    """The roles as they were given, if every column can have its own."""
    one = {"--secret": [secret] if secret is not None else [], "--knows": knows, "--publish": publish}
    used = {option: [_named(seen, name, option, source, True) for name in names] for option, names in one.items()}
    hers = used["--secret"][0] if secret is not None else None
    if hers in used["--knows"]:
        raise InputError("--secret", secret, "is among the columns she knows already")
    counts = None if weight is None else _named(seen, weight, "--weight", source, False)
    taken = [*used["--secret"], *used["--knows"], *used["--publish"], *([counts] if counts else [])]
    dropped = [_named(seen, name, "--drop", source, False) for name in drop]
    if twice := next((c for c in dropped if c in taken), None):
        raise InputError("--drop", twice.name, "has another role too")
    left = [c for c in seen.columns if c not in (*taken, *dropped)]
    for option in ("--secret", "--publish"):
        if not left and not used[option]:
            raise InputError(option, None, f"must be given, for all columns of {source} have another role")
    return Roles(hers, tuple(used["--knows"]), tuple(used["--publish"]), counts, tuple(dropped), tuple(left))


def _named(seen: Findings, name: str, option: str, source: str, levels: bool) -> Found:
    """The column of this name; if its levels count, a study must be able to use it."""
    if name not in [c.name for c in seen.columns]:
        raise InputError(option, name, f"is not a column of {source}")
    column = seen[name]
    if levels and not column.possible:
        why = column.notes[-1] if column.notes else f"it has {column.levels} levels"
        raise InputError(option, name, f"cannot be used as it is: {why}")
    return column


def _study(frame: Any, seen: Findings, roles: Roles, source: str) -> Study:
    """The study with these roles, its prior the counts of the file, which need no time; what cannot be is refused."""
    assert roles.secret is not None
    used = [c for c in seen.columns if c in (*roles.publish, *roles.knows, roles.secret)]
    return Study(
        frame,
        {c.name: "0-1" for c in roles.publish},
        [Eve(roles.secret.name, [c.name for c in roles.knows])],
        columns={c.name: _options(c) for c in used if _options(c)},
        missing=seen.reading.missing,
        strip=seen.reading.strip,
        decimal=seen.reading.decimal,
        weight=roles.weight.name if roles.weight else None,
        source=source,
    )


def _slow(study: Study, fitted: bool) -> bool:
    """Whether an Eve who knows draws would take long."""
    secret = study.spies[0].secret
    rest = [k for k in range(len(study.names)) if k != secret]
    types = len(np.unique(study.codes[:, rest], axis=0)) * study.levels[secret] if fitted else len(study.prior.types)
    return types * study.decisions**2 > _QUICK


def _open(roles: Roles) -> list[str]:
    """The columns without a role, each with what was seen in it."""
    if not roles.undecided:
        return []
    out = [
        "# Decide the role of every column. To publish it, write [publish.NAME] below; name what an adversary wants",
        "# as the secret of an [[eve]], and what she has already in her knows; weight = NAME above is for survey",
        "# weights; list what you leave out in drop. No command reads this study until `undecided` is empty.",
        "undecided = [",
    ]
    for column in roles.undecided:
        out += [f"    {line}" for line in (*_comments(column), f"# Think of: {column.role}")]
        out += [f"    {quoted(column.name)},", ""]
    return [*out[:-1], "]"]


def _published(roles: Roles) -> list[str]:
    losses = '# "0-1", "absolute", "squared", or a table'
    out: list[str] = []
    for column in roles.publish:
        loss = "absolute" if column.kind == "numbers" else "0-1"
        out += [f"[publish.{_key(column.name)}]", f'loss = "{loss}"  {losses}', "weight = 1", ""]
    return out or ["# [publish.NAME]", f'# loss = "0-1"  {losses}', "# weight = 1", ""]


def _eve(roles: Roles, fitted: bool, slow: bool | None) -> list[str]:
    """Eve knows draws of the true shares, unless this takes long, or counts are weighted: so the promise is kept
    (`benchmarks/priors.py`). slow is None if it cannot be said yet."""
    hers = roles.secret
    words = f"she also knows which of {_DRAWS} draws of the true shares is true"
    words += "; slow in a table of this size" if slow else "; leave it out if it takes long" if slow is None else ""
    without = slow or (roles.weight is not None and not fitted)
    lines = [
        "[[eve]]",
        'name = "neighbour"',
        f"secret = {quoted(hers.name if hers else 'NAME')}",
        f"knows = [{_listed(roles.knows)}]  # columns she has already",
        *([f"loss = {_square(hers.levels)}  # row: truth, column: guess"] if hers and hers.levels <= FEW + 1 else []),
        "weight = 1",
        f"{'# ' if without and hers else ''}informed = {_DRAWS}  # {words}",
    ]
    return [*(lines if hers else [f"# {line}" for line in lines]), ""]


def _columns(seen: Findings, roles: Roles) -> list[str]:
    """Bands and merged spellings, of all columns that may be used."""
    out = []
    out_of = {*roles.drop, *(c for c in roles.undecided if c.role.startswith(DROP) or not c.possible)}
    for column in [c for c in seen.columns if c not in out_of and c is not roles.weight and _options(c)]:
        out.append(f"[columns.{_key(column.name)}]")
        out += [f"bands = [{', '.join(column.bands)}]"] if column.bands else []
        merges = [f"{quoted(level)} = [{', '.join(map(quoted, cells))}]" for level, cells in column.merges]
        out += [f"merge = {{{', '.join(merges)}}}"] if merges else []
        out.append("")
    return out


def _audit(records: int, fitted: bool) -> list[str]:
    """Half of the records, if their secrets can be modelled from the others; else the shares are the counts of all."""
    if fitted:
        return ['holdout = "1/2"  # share of records kept for the audit; the others fit a model of the secrets']
    why = f"fewer than {_MODELLED} records" if records < _MODELLED else "scikit-learn is not installed"
    return [f"holdout = 0  # none is kept for the audit, because the secrets cannot be modelled: {why}"]


def _options(column: Found) -> dict[str, Any]:
    """What a study says about the column."""
    if column.bands:
        return {"bands": list(column.bands)}
    return {"merge": {level: list(cells) for level, cells in column.merges}} if column.merges else {}


def _reading(seen: Findings) -> list[str]:
    """The keys of the file that say how cells are read."""
    reading, lines = seen.reading, []
    if reading.missing:
        lines.append(f"missing = [{', '.join(map(quoted, reading.missing))}]  # these cells are taken for missing ones")
    if reading.strip:
        lines.append("strip = true  # blanks around cells are left out")
    if reading.decimal == ",":
        lines.append('decimal = ","')
    return lines


def _square(size: int) -> str:
    return json.dumps([[int(i != j) for j in range(size)] for i in range(size)])


def _comments(column: Found) -> list[str]:
    shown = ", ".join(quoted(v[:60]) for v in column.values[:8]) + (", ..." if column.count > 8 else "")
    words = f"# {quoted(column.name)}: {column.kind}, {column.count} different"
    if column.missing:
        words += f", {column.missing} missing (a level of its own, the last)"
    if column.kind in ("numbers", "text", "mixed"):
        words += f": {shown}"
    return [words, *(f"{SEEN}{quoted(column.name)}: {note}" for note in column.notes)]


def _listed(columns: Sequence[Found]) -> str:
    return ", ".join(quoted(column.name) for column in columns)


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else quoted(name)
