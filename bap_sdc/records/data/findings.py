"""What a table shows at first sight, column by column, and what reading it must know.

Seen are identifiers (every record has a cell of its own, or many cells and the name of one, or the numbers of people
with several records each), codes for missing cells, blanks around cells, decimal commas, dates written as text,
spellings of one level that differ only in case, in blanks or in a full stop, and what `remarks` warns of. Each is said,
with a role to think of; what a study can be told (`missing`, `strip`, `decimal`, `merge`, `bands`) is proposed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.support.rational import Array, InputError
from bap_sdc.records.data import remarks
from bap_sdc.records.data.bands import is_number, plain, rough, text_of, width_of
from bap_sdc.records.data.levels import COMMA, MOST_LEVELS, Reading, distinct, key_of
from bap_sdc.records.data.tables import check_names

DROP = "drop"
FEW = 12  # levels that need no bands
_BANDS = 4
_SURE = 20  # records from which on a column without equal cells is an identifier, and levels of a repeated one
_AGES = 150  # levels that a person's age or a count of small things does not have
CODES = ("?", "??", "n/a", "N/A", "n.a.", "#N/A", "#N/A N/A", ".", "..", "-", "--", "null", "NULL", "nan", "missing")
_DATE = re.compile(r"\s*(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})([ T]\d{1,2}:\d{2}.*)?\s*", re.ASCII)
_CODED = "codes for missing cells? {0}: missing = [{0}] in its [columns] table makes them so"
_SHOWN = 5
_EDGES = " \t.,;:"


@dataclass(frozen=True, eq=False)
class Found:
    """A column of a table: its kind, its cells, bands if it has many numbers, and what was seen.

    kind: "numbers", "text", "mixed", "identifier" or "no levels". values: its first levels. count: how many there are.
    missing: how many cells are missing. merges: spellings by the level that they seem to mean. role: the one to think
    of. single: its name or its rows are those of an identifier that several records may have.
    """

    name: str
    kind: str
    values: tuple[str, ...] = ()
    count: int = 0
    missing: int = 0
    bands: tuple[str, ...] = ()
    merges: tuple[tuple[str, tuple[str, ...]], ...] = ()
    notes: tuple[str, ...] = ()
    role: str = DROP
    single: bool = False

    @property
    def levels(self) -> int:
        """Levels it has in a study with its bands and merges."""
        spared = sum(len(cells) for _, cells in self.merges)
        return (len(self.bands) - 1 if self.bands else self.count - spared) + (self.missing > 0)

    @property
    def possible(self) -> bool:
        """Whether a study can use it."""
        return self.kind in ("numbers", "text") and 2 <= self.levels <= MOST_LEVELS


@dataclass(frozen=True)
class Findings:
    """The columns of a table, and how its cells are to be read."""

    columns: tuple[Found, ...]
    reading: Reading

    def __getitem__(self, name: str) -> Found:
        return next(column for column in self.columns if column.name == name)


def look_at(frame: Any, source: str) -> Findings:
    """What is seen in a table whose columns have names of text."""
    check_names([str(name) for name in frame.columns], source)
    raw: dict[str, tuple[Array, list[Any]] | None] = {}
    for name in frame.columns:
        try:
            raw[name] = distinct(frame[name], name)
        except InputError:  # lists or tables in cells
            raw[name] = None
    texts = {name: [v for v in found[1] if isinstance(v, str)] for name, found in raw.items() if found is not None}
    strip = any(text != text.strip() for cells in texts.values() for text in cells)
    codes = {text.strip() for cells in texts.values() for text in cells} & set(CODES)
    comma = any(_commas(cells) for cells in texts.values())
    reading = Reading(tuple(code for code in CODES if code in codes), strip, "," if comma else ".")
    columns = [_found(name, found, reading) for name, found in raw.items()]
    compared = [c.name for c in columns if not c.single and c.kind in ("numbers", "text", "mixed")]
    tells = remarks.determined({name: found[0] for name in compared if (found := raw[name]) is not None})
    return Findings(tuple(_telling(column, tells.get(column.name, ())) for column in columns), reading)


def _telling(column: Found, others: Sequence[str]) -> Found:
    """With a note on the columns that it determines."""
    if not others:
        return column
    shown = ", ".join(map(quoted, others[:_SHOWN])) + (f" and {len(others) - _SHOWN} more" * (len(others) > _SHOWN))
    return replace(column, notes=(f"determines {shown}: whoever knows it knows that too", *column.notes))


def quoted(text: str) -> str:
    """A TOML basic string: JSON's escapes are TOML's too, except for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _commas(texts: Sequence[str]) -> bool:
    """Whether these cells are numbers with decimal commas: some are, and the others are numbers or missing."""
    cells = [text.strip() for text in texts if text.strip() not in CODES]
    return any(COMMA.fullmatch(text) for text in cells) and all(COMMA.fullmatch(t) or is_number(t) for t in cells)


def _found(name: str, raw: tuple[Array, list[Any]] | None, reading: Reading) -> Found:
    if raw is None:
        return Found(name, "no levels", notes=("its cells are not text, numbers, truth values or dates",))
    index, cells = raw
    read = [reading.read(cell) for cell in cells]
    times = np.bincount(index, minlength=len(cells))
    missing = int(sum(count for count, value in zip(times, read, strict=True) if value is None))
    counted = [is_number(v) for v in read if v is not None]
    numeric = bool(counted) and all(counted)
    first: dict[Any, Any] = {}
    for value in read:
        if value is not None:
            first.setdefault(key_of(value, True) if numeric else value, value)
    values, notes = list(first.values()), _said(cells, reading)
    kind = "numbers" if numeric else "mixed" if any(counted) else "text"
    if kind == "text" and not all(isinstance(v, (str, bool)) or hasattr(v, "isoformat") for v in values):
        kind = "no levels"
        notes.append("its cells are not text, numbers, truth values or dates")
    whole = numeric and all(key.denominator == 1 for key in first)
    records = len(index) - missing
    if kind == "text" and records >= _SURE and len(values) == records:
        kind = "identifier"
        notes.append("every record has a cell of its own: an identifier, never to be published")
    why = remarks.identifier_of(name) if kind in ("numbers", "text") and len(values) > FEW else None
    if why:
        notes.append(f"by its name {why}")
    own = whole and kind == "numbers" and len(values) == records >= _SURE
    rows = whole and kind == "numbers" and _numbers_people(read, index)
    if own:
        notes.append("every record has a number of its own: an identifier, or an amount")
    elif rows and not why:
        notes.append(f"{len(values)} numbers, each on few records: by its rows an identifier, or a time")
    bands: tuple[str, ...] = ()
    merges: dict[str, tuple[str, ...]] = {}
    weight, codes = None, []
    if kind == "numbers":
        values.sort(key=rough)
        there = [k for k, v in enumerate(read) if v is not None]
        numbers: Array = np.array([rough(read[k]) for k in there])
        if weight := remarks.weight_of_records(name, numbers, times[there]):
            notes.append(f"by its {weight} perhaps a survey weight: weight = {quoted(name)} makes it one")
        codes = [str(code) for code in remarks.codes_among(numbers.tolist())]
    elif kind in ("mixed", "text"):
        codes = [quoted(cell) for cell in remarks.codes_in_words([v for v in values if isinstance(v, str)])]
    if codes:
        notes.append(_CODED.format(", ".join(codes)))
    if kind == "numbers" and len(values) > FEW:
        bands = _quantiles(numbers, times[there], whole)
        if not bands:
            notes.append("its numbers cannot be banded at their quartiles")
    if kind == "mixed":
        notes.append("numbers and text: levels = [...] must name them all, or missing = [...] the text")
    if kind == "text" and len(values) <= MOST_LEVELS:
        merges = _spellings([str(v) for v in values])
        notes += [f"one level in {len(cells) + 1} spellings? {', '.join(map(repr, (level, *cells)))[:200]}"
                  for level, cells in merges.items()]  # fmt: skip
    if kind in ("numbers", "text") and len(values) + (missing > 0) < 2:
        notes.append("all its cells are equal: nothing can be learned from it")
    elif kind == "text" and len(values) - sum(map(len, merges.values())) > FEW:
        notes.append(f"{len(values)} levels of text: merge or levels can make them fewer")
    role, words = _topic(name, values, kind, whole)
    notes = [words, *notes] if words else notes  # the last one says why a column cannot be used
    if why or ((own or rows) and not words):
        role = f"{DROP}: it singles out records"
    elif weight == "name" or (weight and not words):
        role = "weight"
    shown = tuple(plain(v) if numeric else text_of(v) for v in values[:FEW])
    column = Found(name, kind, shown, len(values), missing, bands, tuple(merges.items()), tuple(notes), role,
                   bool(why) or rows)  # fmt: skip
    if column.possible or role == "weight":
        return column
    return replace(column, role=f"{DROP}: a study cannot use it as it is")


def _topic(name: str, values: Sequence[Any], kind: str, whole: bool) -> tuple[str, str]:
    """The role to think of, and why: by the name of the column, else by its cells."""
    texts = [v for v in values if isinstance(v, str)]
    if found := remarks.topic_of(name, texts if kind != "numbers" else ()):
        return found
    dates = all(hasattr(v, "isoformat") or (isinstance(v, str) and _DATE.fullmatch(v)) for v in values)
    years = [rough(v) for v in values] if whole else remarks.years_of(values) if dates else []
    if len(years) == len(values) and remarks.spans_births(years):
        return remarks.KNOWN, "by its cells perhaps dates of birth: others may know them"
    if width_of(values) in (4, 5) and len(values) > FEW:
        return remarks.KNOWN, "by its cells perhaps postcodes: others may know them"
    return "publish; or known, if somebody may have it without this file", ""


def _numbers_people(read: Sequence[Any], index: Array) -> bool:
    """Whether whole numbers look like those of people with several records each, or of times in a panel.

    There are many, none is on as many records as there are numbers, and either all are on the same number of records,
    or they count from 0 or 1 without a gap: further than an age does, or in blocks of a few records. Amounts have gaps
    and unequal numbers of records, and postcodes do not start at 1.
    """
    numbers = np.array([math.nan if v is None else rough(v) for v in read])[index]
    numbers = numbers[~np.isnan(numbers)]
    found, times = np.unique(numbers, return_counts=True)
    if len(found) < _SURE or len(found) <= times.max():
        return False
    blocks = times.max() <= FEW and np.count_nonzero(numbers[1:] != numbers[:-1]) + 1 == len(found)
    counting = found[0] in (0, 1) and found[-1] == found[0] + len(found) - 1
    return bool(times.min() == times.max() > 1 or (counting and (blocks or len(found) > _AGES)))


def _said(cells: Sequence[Any], reading: Reading) -> list[str]:
    """Remarks on how the cells of a column are written."""
    texts = [cell for cell in cells if isinstance(cell, str)]
    out = []
    if codes := sorted({text.strip() for text in texts} & set(reading.missing)):
        out.append(f"read as missing: {', '.join(map(repr, codes))}")
    if any(text != text.strip() for text in texts):
        out.append("some cells have blanks around them")
    if _commas(texts):
        out.append("numbers with decimal commas")
    dates = [text for text in texts if text.strip() not in CODES]
    if dates and all(_DATE.fullmatch(text) for text in dates):
        out.append("dates written as text: a column with the year, say, has fewer levels")
    return out


def _spellings(values: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Levels that differ only in case, blanks, or a sign at their ends: the first of each, and its other spellings."""
    groups: dict[str, list[str]] = {}
    for value in values:
        groups.setdefault(" ".join(value.casefold().strip(_EDGES).split()) or value, []).append(value)
    return {min(group, key=len): tuple(v for v in group if v != min(group, key=len))
            for group in groups.values() if len(group) > 1}  # fmt: skip


def _quantiles(numbers: Array, times: Array, whole: bool) -> tuple[str, ...]:
    """Ends of bands near the quartiles, rounded where that keeps them apart, around all numbers.

    The outer ends are rounded ten times as much: the largest number of a table is that of one record.
    """
    order = np.argsort(numbers, kind="stable")
    numbers, share = numbers[order], np.cumsum(times[order]) / times.sum()
    low, high = float(numbers[0]), float(numbers[-1])
    if not math.isfinite((high - low) * 2) or (high - low) / 20 < 1e-300:
        return ()
    step = 10.0 ** math.floor(math.log10((high - low) / 20))
    step = max(step, 1.0) if whole else step
    quarters = numbers[np.searchsorted(share, np.arange(1, _BANDS) / _BANDS)]
    inner = sorted({round(float(q) / step) * step for q in quarters})
    inner = [v for v in inner if low < v < high]
    outer = 10 * step
    ends = [math.floor(low / outer) * outer, *inner, math.ceil(high / outer) * outer]
    texts = [f"{v:.12g}" for v in ends]
    fits = len(set(texts)) == len(texts) >= 3 and float(texts[0]) <= low and float(texts[-1]) >= high
    return tuple(texts) if fits else ()
