"""Columns: how the cells of a column become levels 0, 1, ..., and levels become cells again.

Levels are, in this order of precedence: bands of a numeric column, [a, b) with the last one closed; levels that are
given; numbers, truth values and dates by value; text in order of appearance. Numbers written as text are numbers:
"1", "1.0" and "01" are one level. Missing cells are a level of their own, after all others.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from bap_lp.rational import Array, InputError, number, public, show
from bap_sdc.records.data.tables import pandas_module

MOST_LEVELS = 1000
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*", re.ASCII)
_KEYS = ("levels", "bands", "merge")
_LABEL = "(missing)"
_KINDS = "must be text, a number, a truth value or a date"


@dataclass(frozen=True)
class Column:
    """A column with its levels.

    labels: the levels as people read them. values: the text a release writes, None where missing. numeric: whether
    cells are compared as numbers. bands: the ends of the bands, or none. merged: the level that stands for several,
    by cell.
    """

    name: str
    labels: tuple[str, ...]
    values: tuple[str | None, ...]
    numeric: bool
    bands: tuple[Fraction, ...] = ()
    merged: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> int | None:
        """The level of missing cells, if there is one."""
        return len(self.values) - 1 if self.values[-1] is None else None

    @property
    def recoded(self) -> bool:
        """Whether levels differ from the cells, as bands and merged levels do."""
        return bool(self.bands or self.merged)

    def __len__(self) -> int:
        return len(self.labels)

    def codes(self, cells: Any, source: str) -> Array:
        """The level of each cell; a cell that is not a level is refused."""
        inverse, found = distinct(cells, f"{source}: column {show(self.name)}")
        table = {key_of(value, self.numeric): k for k, value in enumerate(self.values) if value is not None}
        band = banding(self.bands, f"{source}: column {show(self.name)}") if self.bands else None
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
            return self.labels.index(stands)
        if band is not None:
            return band(value)
        return table.get(key_of(value, self.numeric), -1)

    def cells(self, codes: Array, like: Any) -> Any:
        """Cells of these levels as a pandas Series with the type of `like`, the original column."""
        pandas = pandas_module()
        dtype = like.dtype
        if self.recoded:
            return pandas.Series(np.array([*self.values], dtype=object)[codes], index=like.index, dtype="str")
        cells = [v for v in distinct(like, self.name)[1] if v is not None]
        categories = dtype.categories.tolist() if isinstance(dtype, pandas.CategoricalDtype) else []
        originals = {key_of(v, self.numeric): v for v in (*categories, *cells)}
        sample = next((v for v in (*cells, *categories)), None)
        values = np.empty(len(self), dtype=object)
        for k, text in enumerate(self.values):
            if text is not None:
                key = key_of(text, self.numeric)
                values[k] = originals[key] if key in originals else _typed(text, dtype, sample, pandas)
        if isinstance(dtype, pandas.CategoricalDtype):
            extra = [v for v in values if v is not None and v not in dtype.categories]
            dtype = pandas.CategoricalDtype([*dtype.categories, *extra], dtype.ordered) if extra else dtype
        holes = self.missing is not None and (codes == self.missing).any()
        if holes and dtype.kind in "iub" and isinstance(dtype, np.dtype):
            dtype = pandas.Series([], dtype=dtype).convert_dtypes().dtype  # Int64 or boolean: they can be missing
        return pandas.Series(pandas.array(list(values[codes]), dtype=dtype), index=like.index)


def _typed(text: str, dtype: Any, sample: Any, pandas: Any) -> Any:
    """A level that the released file does not have, in the type of its column; `sample` is one of its cells."""
    kind = getattr(dtype, "kind", "O")
    if kind == "O" and isinstance(sample, bool):
        kind = "b"
    if kind == "b":
        return text == "True"
    if (kind in "iu" or (kind == "O" and isinstance(sample, int))) and _is_integer(text):
        return int(Decimal(text))
    if kind in "iuf" or (kind == "O" and isinstance(sample, (int, float))):
        return float(text)
    if kind in "Mm":
        return (pandas.Timestamp if kind == "M" else pandas.Timedelta)(text)
    if isinstance(sample, Decimal):
        return Decimal(text)
    return type(sample).fromisoformat(text) if isinstance(sample, (date, time)) else text


def _is_integer(text: str) -> bool:
    return Decimal(text) == Decimal(text).to_integral_value()


def distinct(cells: Any, where: str) -> tuple[Array, list[Any]]:
    """(index, values): the distinct cells in order of appearance, None where missing, and which one each cell is.

    where: what an error calls the column.
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
    return index, out


def key_of(value: Any, numeric: bool) -> Any:
    """What makes two cells the same level."""
    return Fraction(str(value).strip()) if numeric and is_number(value) else str(value)


def is_number(value: Any) -> bool:
    if isinstance(value, str):
        return _NUMBER.fullmatch(value) is not None
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        return False
    return bool(-np.inf < value < np.inf)


def column_of(cells: Any, name: str, given: Mapping[str, Any] | None, source: str, most: int = MOST_LEVELS) -> Column:
    """The levels of a column of a table: `given` may have levels, bands or merge."""
    pandas = pandas_module()
    where = f"{source}: column {show(name)}"
    options = dict(given or {})
    for key in options:
        if key not in _KEYS:
            raise InputError(f"columns.{name}.{key}", None, f"is not a known key: a column may have {', '.join(_KEYS)}")
    if "levels" in options and "bands" in options:
        raise InputError(f"columns.{name}", None, "must have levels or bands, not both")
    values = distinct(cells, where)[1]
    holes = None in values
    values = [v for v in values if v is not None]
    if len(values) > most and "bands" not in options and "merge" not in options:
        raise InputError(where, None, f"has {len(values)} levels, at most {most} are allowed: give bands or merge")
    numeric = bool(values) and all(map(is_number, values))
    if (bands := options.get("bands")) is not None:
        return _banded(values, name, bands, numeric, holes, where)
    merged, values = _merged(values, name, options.get("merge"), numeric, where)
    if (levels := options.get("levels")) is not None:
        ordered, numeric = _given(values, name, levels, where)
    elif merged:
        ordered = values
    else:
        ordered = _natural(values, cells, numeric, pandas, where, most)
    if len(ordered) > most:
        raise InputError(where, None, f"has {len(ordered)} levels, at most {most} are allowed: give bands or merge")
    return _column(name, [str(v) for v in ordered], numeric, holes, where, merged=merged)


def _column(name: str, texts: list[str], numeric: bool, holes: bool, where: str, **more: Any) -> Column:
    values: list[str | None] = [*texts, None] if holes else [*texts]
    if len(values) < 2:
        raise InputError(where, None, f"has only one level{f', {texts[0]!r}' if texts else ''}: nothing can be learned")
    label = _LABEL
    while label in texts:
        label = f"({label})"
    return Column(name, (*texts, label) if holes else tuple(texts), tuple(values), numeric, **more)


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
        rule = f"mixes numbers such as {show(one)} and text such as {str(other)!r}: give levels, or bands"
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
    texts = {key_of(v, numeric): v for v in reversed(values)}  # as the file spells them
    return [texts.get(key, level) for key, level in zip(keys, levels, strict=True)], numeric


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


def _banded(values: list[Any], name: str, bands: Any, numeric: bool, holes: bool, where: str) -> Column:
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
    band = banding(tuple(ends), where)
    for value in values:
        band(value)
    names = [f"{a} to {b}" for a, b in zip(map(_plain, ends), map(_plain, ends[1:]), strict=False)]
    return _column(name, names, True, holes, where, bands=tuple(ends))


def _plain(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.15g}"


def banding(ends: tuple[Fraction, ...], where: str) -> Callable[[Any], int]:
    """The band of a cell; cells outside all bands are refused.

    Rounding to floats keeps order, so a float strictly between two rounded ends decides; ties are compared exactly.
    """
    rough = [_rough(end) for end in ends]

    def band(value: Any) -> int:
        if not is_number(value):
            raise InputError(where, str(value), "must be a number, because the column has bands")
        near = _rough(value)
        if rough[0] < near < rough[-1] and near not in rough:
            return bisect_right(rough, near) - 1
        at = Fraction(str(value).strip())
        if not ends[0] <= at <= ends[-1]:
            rule = f"must lie between {_plain(ends[0])} and {_plain(ends[-1])}, as its bands do"
            raise InputError(where, str(value), rule)
        return min(bisect_right(ends, at), len(ends) - 1) - 1

    return band


def _rough(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
