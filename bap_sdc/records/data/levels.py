"""Columns: how the cells of a column become levels 0, 1, ..., and levels become cells again.

Levels are, in this order of precedence: bands of a numeric column, [a, b) with the last one closed; levels that are
given; numbers, truth values and dates by value; text in order of appearance. Numbers written as text are numbers:
"1", "1.0" and "01" are one level. Missing cells are a level of their own, after all others.

A released cell is written from its level alone. How the cell of a record was spelled (" 30.0", 3e1) could tell whose
record it is, so no spelling of the table is copied: a number has one text, and digits of equal width (007) keep it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.support.rational import Array, InputError, number, public, show
from bap_sdc.records.data.bands import (
    DIGITS,
    HUGE,
    band_names,
    band_names_given,
    banding,
    is_number,
    plain,
    text_of,
    width_of,
)
from bap_sdc.records.data.tables import pandas_module

MOST_LEVELS = 1000
COMMA = re.compile(r"[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+", re.ASCII)  # 3,5 and 1.234,5
_KEYS = ("levels", "bands", "names", "merge", "missing")
_LABEL = "(missing)"
_KINDS = "must be text, a number, a truth value or a date"


@dataclass(frozen=True)
class Reading:
    """What a cell of text means: codes for missing cells, whether blanks around it count, and decimal commas."""

    missing: tuple[str, ...] = ()
    strip: bool = False
    decimal: str = "."

    def read(self, cell: Any) -> Any:
        """The cell that is meant; None if it is missing."""
        if self.strip and isinstance(cell, str):
            cell = cell.strip() or None
        if self.decimal == "," and isinstance(cell, str) and COMMA.fullmatch(cell.strip()):
            cell = cell.strip().replace(".", "").replace(",", ".")
        if cell is None or not self.missing:
            return cell
        return None if str(cell).strip() in self.missing or (is_number(cell) and plain(cell) in self.missing) else cell

    def extended(self, codes: Any, field: str) -> Reading:
        """With further codes for missing cells."""
        if codes is None:
            return self
        if isinstance(codes, (str, Mapping)) or not isinstance(codes, Sequence):
            raise InputError(field, codes, 'must be a list of cells such as ["?", "n/a"]')
        for k, code in enumerate(codes):
            if isinstance(code, bool) or not isinstance(code, (str, int, float)):
                raise InputError(f"{field}[{k}]", code, "must be text or a number")
        texts = [plain(code) if is_number(code) else str(code).strip() for code in codes]
        return replace(self, missing=(*self.missing, *texts))


AS_IT_IS = Reading()


@dataclass(frozen=True)
class Column:
    """A column with its levels.

    values: the text a release writes, None where missing. numeric: whether cells are compared as numbers. bands: the
    ends of the bands, or none. merged: the level that stands for several, by cell. whole: the bands hold integers only.
    reading: what cells mean before they are levels. ordered: whether the order of the levels means something.
    """

    name: str
    values: tuple[str | None, ...]
    numeric: bool
    bands: tuple[Fraction, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict)
    whole: bool = False
    reading: Reading = AS_IT_IS
    ordered: bool = True

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The levels as people read them: the missing level has a name that no other level has."""
        texts = [text for text in self.values if text is not None]
        label = _LABEL
        while label in texts:
            label = f"({label})"
        return (*texts, label) if self.missing is not None else tuple(texts)

    @property
    def missing(self) -> int | None:
        """The level of missing cells, if there is one."""
        return len(self.values) - 1 if self.values[-1] is None else None

    @property
    def named(self) -> bool:
        """Whether its bands have names of their own."""
        return bool(self.bands) and list(self.values[: len(self.bands) - 1]) != band_names(self.bands, self.whole)

    @property
    def recoded(self) -> bool:
        """Whether levels differ from the cells, as bands and merged levels do."""
        return bool(self.bands or self.merged)

    def __len__(self) -> int:
        return len(self.values)

    def codes(self, cells: Any, source: str) -> Array:
        """The level of each cell; a cell that is not a level is refused."""
        inverse, found = distinct(cells, f"{source}: column {show(self.name)}", self.reading)
        table = {key_of(value, self.numeric): k for k, value in enumerate(self.values) if value is not None}
        band = banding(self.bands, f"{source}: column {show(self.name)}", self.whole) if self.bands else None
        at = np.array([self._code(value, table, band) for value in found], dtype=np.int64)
        if (at < 0).any():
            row = int(np.flatnonzero((at < 0)[inverse])[0])
            what = f"{source}: column {show(self.name)}, record {row + 1}"
            value = found[inverse[row]]
            if value is None:
                raise InputError(what, None, "is missing, and the records of the study have no missing cells there")
            known = ", ".join(map(repr, self.labels[:8])) + (", ..." if len(self) > 8 else "")
            raise InputError(what, str(value), f"must be one of the levels {known}")
        return at[inverse]

    def _code(self, value: Any, table: Mapping[Any, int], band: Callable[[Any], int] | None) -> int:
        if value is None:
            return -1 if self.missing is None else self.missing
        if self.merged and (stands := self.merged.get(str(key_of(value, self.numeric)))) is not None:
            return self.values.index(stands)
        if band is not None:
            return band(value)
        return table.get(key_of(value, self.numeric), -1)

    def cells(self, codes: Array, like: Any) -> Any:
        """Cells of these levels as a pandas Series with the type of `like`, the original column, and an index of its
        own; categories are those that occur."""
        pandas = pandas_module()
        dtype = like.dtype
        if self.recoded:
            return pandas.Series(np.array([*self.values], dtype=object)[codes], dtype="str")
        sample = next(iter(like.dropna()), None)
        if isinstance(sample, np.generic) and not isinstance(sample, np.datetime64):
            sample = sample.item()
        values = np.empty(len(self), dtype=object)
        values[:] = [None if text is None else _typed(text, dtype, sample, pandas) for text in self.values]
        if isinstance(dtype, pandas.CategoricalDtype):
            used = [values[k] for k in np.unique(codes).tolist() if self.values[k] is not None]
            if not dtype.ordered:  # the order may be that in which the table has them
                used.sort(key=str)
            dtype = pandas.CategoricalDtype(used, dtype.ordered)
        holes = self.missing is not None and (codes == self.missing).any()
        if holes and dtype.kind in "iub" and isinstance(dtype, np.dtype):
            dtype = pandas.Series([], dtype=dtype).convert_dtypes().dtype  # Int64 or boolean: they can be missing
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf":  # pandas would round large integers to floats
            return pandas.Series(np.array(values[codes].tolist(), dtype=dtype))
        return pandas.Series(pandas.array(list(values[codes]), dtype=dtype))


def _typed(text: str, dtype: Any, sample: Any, pandas: Any) -> Any:
    """A level in the type of its column; `sample` is one of its cells."""
    kind = getattr(dtype, "kind", "O")
    if kind == "O" and isinstance(sample, bool):
        kind = "b"
    if kind == "b":
        return text == "True"
    if (kind in "iu" or (kind == "O" and isinstance(sample, int))) and _is_integer(text):
        return int(Decimal(text))
    if kind in "iuf" or (kind == "O" and isinstance(sample, (int, float))):
        return float(text)
    if kind in "Mm" or isinstance(sample, (pandas.Timestamp, pandas.Timedelta)):
        return (pandas.Timestamp if kind == "M" or isinstance(sample, pandas.Timestamp) else pandas.Timedelta)(text)
    if isinstance(sample, Decimal):
        return Decimal(text)
    return type(sample).fromisoformat(text) if isinstance(sample, (date, time)) else text


def _is_integer(text: str) -> bool:
    return Decimal(text) == Decimal(text).to_integral_value()


def distinct(cells: Any, where: str, reading: Reading = AS_IT_IS) -> tuple[Array, list[Any]]:
    """(index, values): the distinct cells in order of appearance, None where missing, and which one each cell is.

    where: what an error calls the column. Cells that reading makes equal keep a place each.
    """
    pandas = pandas_module()
    try:
        index, values = pandas.factorize(cells)
    except TypeError:  # lists and tables in cells
        raise InputError(where, None, _KINDS) from None
    out: list[Any]
    if getattr(values.dtype, "kind", "O") == "f":  # as printed in the width of the column: 0.1, also in float32
        out = [float(str(v)) for v in values.to_numpy()]
    else:
        out = [v.item() if isinstance(v, np.generic) and not isinstance(v, np.datetime64) else v for v in values]
    if (index < 0).any():
        index = np.where(index < 0, len(out), index)
        out.append(None)
    if any(isinstance(v, int) and abs(v) >= HUGE for v in out):
        raise InputError(where, None, f"must have integers of at most {DIGITS} digits")
    return index, [reading.read(v) for v in out]


def key_of(value: Any, numeric: bool) -> Any:
    """What makes two cells the same level."""
    return Fraction(str(value).strip()) if numeric and is_number(value) else text_of(value)


def positive_numbers(cells: Any, reading: Reading, where: str) -> list[fmpq]:
    """The numbers of a column whose cells must all be positive."""
    index, found = distinct(cells, where, reading)
    for k, value in enumerate(found):
        if value is None or not is_number(value) or key_of(value, True) <= 0:
            row = int(np.flatnonzero(index == k)[0])
            raise InputError(f"{where}, record {row + 1}", None if value is None else str(value), "must be positive")
    values = [fmpq(key.numerator, key.denominator) for key in (key_of(value, True) for value in found)]
    return [values[k] for k in index.tolist()]


def column_of(
    cells: Any, name: str, given: Mapping[str, Any] | None, source: str, reading: Reading = AS_IT_IS,
    most: int = MOST_LEVELS,
) -> Column:  # fmt: skip
    """The levels of a column of a table: `given` may have levels, or bands with names, or merge, and missing codes."""
    pandas = pandas_module()
    where = f"{source}: column {show(name)}"
    options = dict(given or {})
    for key in options:
        if key not in _KEYS:
            raise InputError(f"columns.{name}.{key}", None, f"is not a known key: a column may have {', '.join(_KEYS)}")
    if "levels" in options and "bands" in options:
        raise InputError(f"columns.{name}", None, "must have levels or bands, not both")
    reading = reading.extended(options.get("missing"), f"columns.{name}.missing")
    values = list(dict.fromkeys(distinct(cells, where, reading)[1]))
    holes = None in values
    values = [v for v in values if v is not None]
    if len(values) > most and "bands" not in options and "merge" not in options:
        raise InputError(where, None, f"has {len(values)} levels, at most {most} are allowed: give bands or merge")
    numeric = bool(values) and all(map(is_number, values))
    if "names" in options and "bands" not in options:
        raise InputError(f"columns.{name}.names", None, "needs bands")
    if (bands := options.get("bands")) is not None:
        return _banded(values, name, bands, options.get("names"), numeric, holes, where, reading)
    merged, values = _merged(values, name, options.get("merge"), numeric, where)
    if (levels := options.get("levels")) is not None:
        ordered, numeric = _given(values, name, levels, where)
    elif merged:
        ordered = values
    else:
        ordered = _natural(values, cells, numeric, pandas, where, most)
    if len(ordered) > most:
        raise InputError(where, None, f"has {len(ordered)} levels, at most {most} are allowed: give bands or merge")
    width = width_of(values) if numeric and not merged else 0
    texts = [plain(v, width) if numeric and is_number(v) else text_of(v) for v in ordered]
    plainly = numeric or "levels" in options or cells.dtype.kind in "Mm" or not any(isinstance(v, str) for v in values)
    ordered_by = plainly or bool(getattr(cells.dtype, "ordered", False))
    return _column(name, texts, numeric, holes, where, merged=merged, reading=reading, ordered=ordered_by)


def _column(name: str, texts: list[str], numeric: bool, holes: bool, where: str, **more: Any) -> Column:
    values: list[str | None] = [*texts, None] if holes else [*texts]
    if len(values) < 2:
        raise InputError(where, None, f"has only one level{f', {texts[0]!r}' if texts else ''}: nothing can be learned")
    return Column(name, tuple(values), numeric, **more)


def _natural(values: list[Any], cells: Any, numeric: bool, pandas: Any, where: str, most: int) -> list[Any]:
    """Numbers, truth values and dates by value, categories in their order, text as it appears."""
    if isinstance(cells.dtype, pandas.CategoricalDtype):
        return [v for v in cells.dtype.categories if v in set(values)]
    if numeric or cells.dtype.kind in "Mm" or any(all(isinstance(v, t) for v in values) for t in (bool, date, time)):
        first: dict[Any, Any] = {}
        for value in values:
            first.setdefault(key_of(value, True) if numeric else value, value)
        return [first[key] for key in sorted(first)]
    mixed = next((v for v in values if is_number(v) != is_number(values[0])), None)
    if mixed is not None:
        one, other = (values[0], mixed) if is_number(values[0]) else (mixed, values[0])
        rule = f"mixes numbers such as {show(one)} and text such as {show(str(other))}: give levels, or bands"
        raise InputError(where, None, rule)
    if wrong := next((v for v in values if not isinstance(v, str)), None):
        raise InputError(where, str(wrong), _KINDS)
    return values


def _given(values: list[Any], name: str, levels: Any, where: str) -> tuple[list[Any], bool]:
    rule = "must be a list of distinct levels"
    if isinstance(levels, (str, Mapping)) or not isinstance(levels, Sequence) or not levels:
        raise InputError(f"columns.{name}.levels", levels, rule)
    if wrong := [v for v in levels if isinstance(v, (list, dict, tuple)) or v is None]:
        raise InputError(f"columns.{name}.levels", wrong[0], "must be text or a number")
    numeric = all(map(is_number, levels)) and all(map(is_number, values))
    keys = [key_of(v, numeric) for v in levels]
    if len(set(keys)) < len(keys):
        twice = next(v for v, key in zip(levels, keys, strict=True) if keys.count(key) > 1)
        raise InputError(f"columns.{name}.levels", twice, "is given twice")
    known = set(keys)
    if unknown := [v for v in values if key_of(v, numeric) not in known]:
        raise InputError(where, str(unknown[0]), f"is not one of columns.{name}.levels")
    return list(levels), numeric


def _merged(values: list[Any], name: str, merge: Any, numeric: bool, where: str) -> tuple[dict[str, str], list[Any]]:
    """Levels that stand for several cells, and the levels that are left, each where its first (or least) cell was."""
    if merge is None:
        return {}, values
    if not isinstance(merge, Mapping):
        raise InputError(f"columns.{name}.merge", merge, 'must be a table such as {other = ["a", "b"]}')
    merged: dict[str, str] = {}
    named: dict[str, str] = {}
    if numeric:
        values = sorted(values, key=lambda v: key_of(v, True))
    found = {str(key_of(v, numeric)): v for v in values}
    for level, cells in merge.items():
        if isinstance(cells, str) or not isinstance(cells, Sequence):
            raise InputError(f"columns.{name}.merge.{level}", cells, "must be a list of cells")
        stands = named.setdefault(str(key_of(level, numeric)), str(level))
        for cell in cells:
            key = str(key_of(cell, numeric))
            if key not in found:
                raise InputError(where, str(cell), f"is not in the table, but in columns.{name}.merge.{level}")
            if key in merged:
                raise InputError(f"columns.{name}.merge.{level}", str(cell), "is merged twice")
            merged[key] = stands
    left = dict.fromkeys(merged.get(key, named.get(key, value)) for key, value in found.items())
    return merged, list({str(v): v for v in left}.values())


def _banded(
    values: list[Any], name: str, bands: Any, names: Any, numeric: bool, holes: bool, where: str, reading: Reading
) -> Column:
    field = f"columns.{name}.bands"
    if isinstance(bands, (str, Mapping)) or not isinstance(bands, Sequence) or len(bands) < 3:
        raise InputError(field, bands, "must be a list of at least three increasing numbers")
    ends = []
    for k, end in enumerate(bands):
        value = number(repr(end) if isinstance(end, float) and np.isfinite(end) else end, f"{field}[{k}]")
        ends.append(Fraction(public(value)))
    for k in range(1, len(ends)):
        if ends[k] <= ends[k - 1]:
            raise InputError(f"{field}[{k}]", bands[k], f"must be larger than {bands[k - 1]}")
    if not numeric:
        text = next((v for v in values if not is_number(v)), None)
        raise InputError(where, None if text is None else str(text), "must be a number, because the column has bands")
    # a pair of integer ends holds integers only if all cells are: then [5, 20) is 5-19, and 4.5 is refused later
    whole = all(end.denominator == 1 for end in ends) and all(key_of(v, True).denominator == 1 for v in values)
    band = banding(tuple(ends), where, whole)
    for value in values:
        band(value)
    texts = band_names(tuple(ends), whole)
    if names is not None:
        texts = band_names_given(names, len(texts), f"columns.{name}.names")
    return _column(name, texts, True, holes, where, bands=tuple(ends), whole=whole, reading=reading)
