"""A first study file for a table: the columns found with their levels, and proposals to start from.

Proposed are, in this order: a secret, the text or truth-value column with the fewest levels, or else the last
column with few; two known columns, those with the fewest levels of the rest; up to four published columns. Columns
with many numbers are banded at their quantiles; columns with many texts are left out.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.rational import InputError
from bap_sdc.records.data.levels import column_of, distinct, is_number, key_of
from bap_sdc.records.data.tables import check_names
from bap_sdc.records.optimum.risks import record_lam
from bap_sdc.records.study import Eve, Study

_FEW, _BANDS, _PUBLISHED, _KNOWN, _DECISIONS = 12, 4, 4, 2, 2000


@dataclass(frozen=True)
class Found:
    """A column of the table: its kind, its distinct cells, whether some are missing, and bands if it has many
    numbers."""

    name: str
    kind: str
    values: tuple[str, ...]
    count: int
    missing: int
    bands: tuple[str, ...]

    @property
    def levels(self) -> int:
        """Levels it would have in a study; 0 if it cannot be used as it is."""
        base = len(self.bands) - 1 if self.bands else self.count
        return base + (self.missing > 0) if self.usable else 0

    @property
    def usable(self) -> bool:
        return self.kind in ("numbers", "text") and (bool(self.bands) or 2 <= self.count + (self.missing > 0) <= _FEW)


def proposal(frame: Any, data: str) -> str:
    """A commented study file for a table.

    Args:
        frame: the records.
        data: the path of the table as the file should name it.

    Returns:
        TOML text.

    Raises:
        InputError: the table has fewer than two columns that a study could use.

    >>> import pandas
    >>> frame = pandas.DataFrame({"ill": ["no", "yes", "no"], "pay": [1, 2, 3], "sex": ["f", "m", "f"]})
    >>> print(proposal(frame, "a.csv").splitlines()[2])
    data = "a.csv"
    """
    names = [str(name) for name in frame.columns]
    check_names(names, data)
    frame = frame.set_axis(names, axis=1)
    columns = [_found(frame[name], name) for name in names]
    usable = [c for c in columns if c.usable]
    if len(usable) < 2:
        raise InputError(
            data, None, "needs at least two columns with 2 to 12 levels, or with numbers that can be banded"
        )
    secret = _secret(usable)
    rest = [c for c in usable if c is not secret]
    known, published, price = _chosen(frame, secret, rest, data)
    lines = [
        f"# A study of {len(frame)} records. Everything below is a proposal: decide yourself what is published,",
        "# what is secret and what an adversary knows already. Columns that are not mentioned are dropped first.",
        f"data = {_quoted(data)}",
        "",
        *(_comment(c) for c in columns),
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
    size = secret.levels
    lines += [
        "[[eve]]",
        'name = "neighbour"',
        f"secret = {_quoted(secret.name)}",
        f"knows = [{', '.join(_quoted(c.name) for c in known)}]  # columns she has already",
        f"loss = {_square(size)}  # row: truth, column: guess",
        "weight = 1",
        "",
        "[prior]",
        'smoothing = 0  # or a number such as 10, or "held-out" to choose it by likelihood',
        "",
    ]
    for column in [c for c in columns if c.bands and c in (*published, secret, *known)]:
        lines += [f"[columns.{_key(column.name)}]", f"bands = [{', '.join(column.bands)}]", ""]
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


def _chosen(frame: Any, secret: Found, rest: list[Found], source: str) -> tuple[list[Found], list[Found], str]:
    """Known and published columns and lambda such that the study can be solved, with fewer known columns if need be."""
    ranked = sorted(rest, key=lambda c: c.levels)
    for count in range(min(_KNOWN, len(rest) - 1), -1, -1):
        known = ranked[:count]
        published: list[Found] = []
        size = 1
        for column in [c for c in rest if c not in known]:
            if len(published) < _PUBLISHED and (not published or size * column.levels <= _DECISIONS):
                published.append(column)
                size *= column.levels
        bands = {c.name: {"bands": list(c.bands)} for c in (*published, secret, *known) if c.bands}
        eve = Eve(secret.name, [c.name for c in known])
        share = "1/2" if len(frame) > 1 else 0
        study = Study(frame, {c.name: "0-1" for c in published}, [eve], columns=bands, holdout=share, source=source)
        try:
            record_lam(study.program, "calibrated")
            return known, published, '"calibrated"'
        except InputError:
            continue
    return known, published, "1"


def _found(cells: Any, name: str) -> Found:
    missing = int(cells.isna().sum())
    try:
        values = [v for v in distinct(cells, name)[1] if v is not None]
    except InputError:  # lists or tables in cells
        return Found(name, "no levels", (), 0, missing, ())
    numbers = [is_number(v) for v in values]
    kind = "numbers" if values and all(numbers) else "mixed" if any(numbers) else "text"
    bands: tuple[str, ...] = ()
    if kind == "numbers":
        values = list({key_of(v, True): v for v in reversed(values)}.values())  # 1 and 01 are one level
        values.sort(key=float)
        if len(values) > _FEW:
            bands = _quantiles(np.array([float(v) for v in cells.dropna()]))
    elif kind == "text" and 2 <= len(values) <= _FEW:
        try:
            column_of(cells, name, None, name)
        except InputError:  # such as bytes, or text and dates
            kind = "no levels"
    return Found(name, kind, tuple(map(str, values[:_FEW])), len(values), missing, bands)


def _quantiles(numbers: Any) -> tuple[str, ...]:
    """Ends of bands near the quartiles, rounded where that keeps them apart, around all numbers."""
    low, high = float(numbers.min()), float(numbers.max())
    step = 10.0 ** math.floor(math.log10((high - low) / 20)) if high > low else 1.0
    inner = sorted({round(float(q) / step) * step for q in np.quantile(numbers, np.arange(1, _BANDS) / _BANDS)})
    inner = [v for v in inner if low < v < high]
    ends = [math.floor(low / step) * step, *inner, math.ceil(high / step) * step]
    texts = [f"{v:.12g}" for v in ends]
    fits = len(set(texts)) == len(texts) >= 3 and float(texts[0]) <= low and float(texts[-1]) >= high
    return tuple(texts) if fits else ()


def _secret(usable: list[Found]) -> Found:
    texts = [c for c in usable if c.kind == "text"]
    two = [c for c in usable if c.levels == 2]
    pool = [c for c in two if c in texts] or two or texts or usable
    return min(reversed(pool), key=lambda c: c.levels)


def _square(size: int) -> str:
    return json.dumps([[int(i != j) for j in range(size)] for i in range(size)])


def _comment(column: Found) -> str:
    shown = ", ".join(_quoted(v) for v in column.values[:8]) + (", ..." if column.count > 8 else "")
    words = f"# {_quoted(column.name)}: {column.kind}, {column.count} different"
    if column.missing:
        words += f", {column.missing} missing (a level of its own, the last)"
    if column.kind == "no levels":
        return f"{words}; its cells are not text, numbers, truth values or dates"
    if column.kind == "mixed":
        return f"{words}: {shown}; give levels = [...] in [columns.{_key(column.name)}] to use it"
    if not column.usable:
        return f"{words}: {shown}; too many or too few levels to propose"
    return f"{words}: {shown}"


def _quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's too, except for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _quoted(name)
