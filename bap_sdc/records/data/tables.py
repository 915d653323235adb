"""Tables of records on disk as pandas DataFrames: CSV (UTF-8, a header line, one record per line) and typed tables.

A CSV file is read as text, so that what is written again looks as it did ("007" stays "007"); whether a column holds
numbers is decided by its levels (see `levels`). Empty cells, `NA` and `NaN` are missing. A line with more or
fewer cells than the header is refused. The separator is the most frequent of comma, semicolon and tab in the header.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from bap_lp.support.documents import read_bytes, source_name
from bap_lp.support.rational import InputError, show
from bap_lp.support.sizes import require_cells, require_lines
from bap_sdc.records.data.bands import text_of
from bap_sdc.records.data.typed_tables import READERS, read_parquet, read_with_pandas

MISSING = ("", "NA", "NaN")
_PARQUET = (".parquet", ".pq")
_UNREAD = (".xls", ".xlsb", ".ods", ".sas7bdat", ".xpt", ".rds", ".rdata", ".por", ".feather", ".zip")
_TEXT = (".csv", ".tsv", ".txt")
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")  # what a spreadsheet takes for the start of a formula
_QUOTED = re.compile(f"\\A'(?={_FORMULA.pattern})")
_SIZE = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_NUMBERS = re.compile(f"{_SIZE}( to {_SIZE})?")  # -5, and the band -1 to 0: no spreadsheet runs these


def pandas_module() -> Any:
    """pandas 3, or one line that says how to get it: to older ones a missing text is the text None."""
    try:
        import pandas
    except ImportError:
        raise InputError("microdata", None, "needs pandas: pip install 'bap-lp[microdata]'") from None
    if int(pandas.__version__.partition(".")[0]) < 3:
        rule = f"needs pandas 3, and {pandas.__version__} is installed: pip install 'bap-lp[microdata]'"
        raise InputError("microdata", None, rule)
    return pandas


def as_pandas(frame: Any, field: str = "frame") -> Any:
    """A table of records as a DataFrame of pandas, from any library whose tables say how they become one."""
    pandas = pandas_module()
    if isinstance(frame, pandas.DataFrame):
        return frame
    try:
        found = frame.to_pandas()
    except (AttributeError, ImportError) as error:
        why = f": {error}" if isinstance(error, ImportError) else ""
        raise InputError(field, None, f"is a {type(frame).__name__}, must be a DataFrame of pandas{why}") from None
    if not isinstance(found, pandas.DataFrame):
        raise InputError(field, None, f"is a {type(frame).__name__}, must be a DataFrame of pandas")
    return found


def read_table(path: str | os.PathLike[str]) -> Any:
    """Read a table of records.

    Args:
        path: a CSV file, or another one by the ending of its name: Parquet (.parquet, .pq), Excel (.xlsx), Stata (.dta)
            or SPSS (.sav, .zsav).

    Returns:
        A pandas DataFrame. CSV columns hold text, with missing cells as NA; those of other files keep their types.

    Raises:
        InputError: the file cannot be read, is not UTF-8, is empty, or repeats a column name.

    >>> import tempfile
    >>> from bap_sdc import read_table
    >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
    ...     _ = file.write("age,job\\n31,\\n07,clerk\\n")
    ...     file.flush()
    ...     read_table(file.name).values.tolist()
    [['31', nan], ['07', 'clerk']]
    """
    source = source_name(path)
    pandas_module()
    if Path(path).suffix.lower() in _UNREAD:
        raise InputError(source, None, "is of a kind that is not read: save it as CSV, Parquet, .xlsx, .dta or .sav")
    if is_parquet(path):
        frame = read_parquet(path, source)
    else:
        frame = read_with_pandas(path, source) if Path(path).suffix.lower() in READERS else _csv(path, source)
    require_cells(len(frame), len(frame.columns), source)
    check_names([str(name) for name in frame.columns], source)
    if len(frame) == 0:
        raise InputError(source, None, "has no records")
    return frame


def is_parquet(path: str | os.PathLike[str]) -> bool:
    return Path(path).suffix.lower() in _PARQUET


def check_names(names: list[str], source: str) -> None:
    """Refuse column names that are empty or given twice."""
    for k, name in enumerate(names):
        if not name.strip():
            raise InputError(source, None, f"column {k + 1} has no name")
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{source}: column", name, f"is given {count} times")


def _csv(path: str | os.PathLike[str], source: str) -> Any:
    pandas = pandas_module()
    raw = read_bytes(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        rule = f"is not UTF-8 text: byte 0x{raw[error.start]:02x} in line {line}; save it as CSV UTF-8"
        raise InputError(source, None, rule) from None
    if not text.strip():
        raise InputError(source, None, "is empty")
    header = text.lstrip("\r\n").partition("\n")[0]
    mark = max(",;\t", key=header.count)
    require_lines(text, mark, source)
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    records: list[list[str]] = []
    try:
        names = next(line for line in lines if line)
        require_cells(0, len(names), source)
        for cells in lines:
            if len(cells) != len(names):
                if not cells:  # a blank line; in a table of one column it is a missing cell
                    if len(names) > 1:
                        continue
                    cells = [""]
                else:
                    rule = f"has {len(cells)} cells, must have {len(names)} like the header"
                    raise InputError(f"{source}: line {lines.line_num}", None, rule)
            records.append(cells)
    except csv.Error as error:
        raise InputError(f"{source}: line {lines.line_num}", None, f"is not CSV: {error}") from None
    names = [meant(name) for name in names]
    if len(names) > 1 and not names[0].strip() and "rownames" not in names:
        names[0] = "rownames"  # R and pandas write row names without a heading
    check_names(names, source)
    columns = zip(*records, strict=True) if records else [()] * len(names)
    none = dict.fromkeys(MISSING)
    data = {
        name: pandas.array([none.get(c, c) if c[:1] != "'" else meant(c) for c in cells], dtype="str")
        for name, cells in zip(names, columns, strict=True)
    }
    frame = pandas.DataFrame(data)
    frame.attrs["separator"] = mark
    return frame


def check_ending(path: str | os.PathLike[str], field: str) -> None:
    """Refuse a name whose ending says no format that tables are written in."""
    if Path(path).suffix.lower() not in (*_TEXT, *_PARQUET):
        raise InputError(field, str(path), f"must end in one of {', '.join((*_TEXT, *_PARQUET))}")


def table_bytes(frame: Any, path: str | os.PathLike[str], separator: str = ",") -> bytes:
    """The bytes of a table: Parquet if the name says so, else text with empty cells where values are missing.

    A cell of text that a spreadsheet would take for a formula gets an apostrophe in front, as spreadsheets need;
    `read_table` takes it away again, and reads the levels that were written. Numbers and bands get none.

    Raises:
        InputError: a cell of text would be read as a missing one.
    """
    out = io.BytesIO()
    if is_parquet(path):
        frame.to_parquet(out, index=False)
    else:
        shown = frame.rename(columns=harmless).apply(_text_cells)
        mark = "\t" if Path(path).suffix.lower() == ".tsv" else separator
        quoting = quoting_for(cell for name in shown.columns for cell in (name, *shown[name].unique()))
        shown.to_csv(out, index=False, sep=mark, lineterminator="\n", encoding="utf-8", quoting=quoting)
    return out.getvalue()


def quoting_for(cells: Iterable[Any]) -> Any:
    """How Python's csv must quote cells: by itself it leaves a carriage return bare, which ends a line."""
    return csv.QUOTE_ALL if any("\r" in str(cell) for cell in cells) else csv.QUOTE_MINIMAL


def _text_cells(cells: Any) -> Any:
    found = cells.dropna().unique()
    for cell in found:
        if isinstance(cell, str) and cell in MISSING:
            rule = "would be read as a missing cell in a text file: give a name that ends in .parquet"
            raise InputError(f"column {show(str(cells.name))}", cell, rule)
    dated = {cell: text_of(cell) if isinstance(cell, (date, timedelta)) else harmless(cell) for cell in found}
    odd = {cell: text for cell, text in dated.items() if text is not cell}
    return cells.astype(object).map(lambda cell: odd.get(cell, cell)) if odd else cells


def meant(cell: str) -> str:
    """A cell without the apostrophe that makes it harmless."""
    return _QUOTED.sub("", cell)


def harmless(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    if not isinstance(cell, str) or not _FORMULA.match(cell) or _NUMBERS.fullmatch(cell):
        return cell
    return f"'{cell}"


def quoted_columns(frame: Any) -> list[str]:
    """The columns where `table_bytes` puts an apostrophe in front of cells of text, or of the name."""
    return [str(name) for name in frame.columns if any(harmless(v) is not v for v in (name, *frame[name].unique()))]


def typed_table(frame: Any) -> Any:
    """A table of text with its columns of numbers as numbers, for a typed file; codes such as 007 stay text."""
    pandas = pandas_module()
    out = frame.copy()
    for name in out.columns:
        if any(re.match(r"-?0\d", text) for text in out[name].dropna().unique()):
            continue
        with suppress(ValueError, TypeError):
            out[name] = pandas.to_numeric(out[name])
    return out
