"""Tables with types: Parquet, and Excel, Stata and SPSS by pandas' own readers.

Compressed, a table of any size is a small file: 700 bytes of Parquet may be 3 GB. What a file would become is worked
out from its metadata, and a text that is repeated from its dictionary, before it is unpacked.
"""

from __future__ import annotations

import io
import os
import zipfile
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from xml.parsers import expat

from bap_lp.support.documents import read_bytes
from bap_lp.support.limits import limit
from bap_lp.support.rational import InputError
from bap_lp.support.sizes import require_archive, require_cells, require_room

_CELL = 8  # bytes of a cell: a number, or where its text is
_OBJECTS = {"DATE": 40, "TIME": 48, "DECIMAL": 112}  # of cells that pandas holds as objects of Python
_BINARY, _NESTED = 48, 256  # of the others: bytes, and lists or tables
_FORMATS = 2**16  # of cells, which is what Excel itself allows; openpyxl takes a kilobyte for each
_NEEDS = {".xlsx": ("openpyxl", "excel"), ".sav": ("pyreadstat", "spss"), ".zsav": ("pyreadstat", "spss")}
READERS = (".xlsx", ".dta", ".sav", ".zsav")


def read_parquet(path: str | os.PathLike[str], source: str) -> Any:
    """A Parquet file; an index that is a column of the file is a column."""
    try:
        from pyarrow import ArrowException, parquet
        from pyarrow.types import is_dictionary
    except ImportError:
        raise InputError(source, None, "needs pyarrow to be read: pip install 'bap-lp[microdata]'") from None
    try:
        raw = io.BytesIO(read_bytes(path))
        metadata = parquet.read_metadata(raw)
        columns = [metadata.schema.column(j) for j in range(metadata.num_columns)]
        require_cells(metadata.num_rows, len(columns), source)
        chunks = [
            (metadata.row_group(g).column(j), _bytes_each(column))
            for g in range(metadata.num_row_groups)
            for j, column in enumerate(columns)
        ]
        require_room(sum(chunk.num_values * each for chunk, each in chunks), source)
        require_room(sum(chunk.total_uncompressed_size for chunk, _ in chunks), source)
        kinds = {field.name: field.type for field in parquet.read_schema(raw)}
        texts = [
            c.path for c in columns
            if c.physical_type == "BYTE_ARRAY" and c.path in kinds and not is_dictionary(kinds[c.path])
        ]  # fmt: skip
        table = parquet.ParquetFile(raw, read_dictionary=texts).read()
        frame = _decoded(table, texts, source).to_pandas()
    except (ArrowException, OSError) as error:
        raise InputError(source, None, f"is not Parquet: {str(error).splitlines()[0]}") from None
    named = [name for name in frame.index.names if name in table.column_names]
    return frame.reset_index()[table.column_names] if named == list(frame.index.names) else frame


def _decoded(table: Any, texts: list[str], source: str) -> Any:
    """The table with these texts written out, if there is room for them and for its categories."""
    import pyarrow
    import pyarrow.compute as compute

    size = 0
    for k, field in enumerate(table.schema):
        if not pyarrow.types.is_dictionary(field.type) or not _has_length(field.type.value_type):
            continue
        for chunk in table.column(k).chunks:
            lengths = compute.binary_length(chunk.dictionary).cast("int64")
            size += compute.sum(compute.take(lengths, chunk.indices)).as_py() or 0
            require_room(size, source)
        if field.name in texts:
            plain = pyarrow.field(field.name, field.type.value_type, field.nullable, field.metadata)
            table = table.set_column(k, plain, table.column(k).cast(field.type.value_type))
    return table


def _has_length(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(test(kind) for test in tests)


def _bytes_each(column: Any) -> int:
    """Bytes of a cell of this column of a Parquet file in pandas, besides those of its text."""
    if column.path != column.name:
        return _NESTED
    kind = column.logical_type.type
    if kind in _OBJECTS:
        return _OBJECTS[kind]
    return _BINARY if column.physical_type.endswith("BYTE_ARRAY") and kind == "NONE" else _CELL


def _require_sheets(parts: zipfile.ZipFile, source: str) -> None:
    """Refuse a workbook with a sheet whose last row and last column leave too many cells between them."""
    row = column = rows = columns = formats = 0

    def found(name: str, attributes: dict[str, str]) -> None:
        nonlocal row, column, rows, columns, formats
        match name.rpartition(" ")[2]:
            case "row":
                row, column = int(attributes.get("r", row + 1)), 0
                rows = max(rows, row)
            case "c":
                column = _column_number(attributes["r"]) if "r" in attributes else column + 1
                columns = max(columns, column)
            case "xf":
                formats += 1
                if formats > _FORMATS:
                    raise InputError(source, None, f"has more than {_FORMATS} formats of cells: save it as CSV")
            case _:
                return
        require_cells(rows, columns, source)

    for part in parts.namelist():
        row = rows = columns = 0
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler = found
        with parts.open(part) as file, suppress(expat.ExpatError):  # a picture, which is not read
            parser.ParseFile(file)


def _column_number(place: str) -> int:
    """28 of AB7."""
    number = 0
    for letter in place.rstrip("0123456789").upper():
        number = 26 * number + ord(letter) - 64
    return number


def read_with_pandas(path: str | os.PathLike[str], source: str) -> Any:
    """An Excel file (its first sheet), a Stata or an SPSS file."""
    import pandas

    ending = Path(path).suffix.lower()
    raw = read_bytes(path)
    if ending in _NEEDS:
        package, extra = _NEEDS[ending]
        try:
            import_module(package)
        except ImportError:
            rule = f"needs {package} to be read: pip install 'bap-lp[{extra}]', or save it as CSV"
            raise InputError(source, None, rule) from None
    try:
        if ending == ".xlsx":
            with zipfile.ZipFile(io.BytesIO(raw)) as parts:
                require_archive(parts, len(raw), source)
                _require_sheets(parts, source)
            return pandas.read_excel(io.BytesIO(raw), sheet_name=0)
        if ending == ".dta":
            try:
                frame = pandas.read_stata(io.BytesIO(raw))
            except ValueError:  # two levels with one label: the numbers behind the labels
                frame = pandas.read_stata(io.BytesIO(raw), convert_categoricals=False)
            return frame.apply(lambda cells: cells.mask(cells == "") if cells.dtype in ("str", object) else cells)
        about = import_module("pyreadstat").read_sav(str(path), metadataonly=True)[1]
        each = sum(max(width, _CELL) for width in about.variable_storage_width.values()) or _CELL
        require_room((about.number_rows or 0) * each, source)
        frame = pandas.read_spss(path, row_limit=limit("bytes") // each + 1)  # the file may not say how many it has
        require_room(len(frame) * each, source)
        return frame
    except InputError:
        raise
    except Exception as error:  # what the readers raise is not documented
        kind = {".xlsx": "an Excel file", ".dta": "a Stata file"}.get(ending, "an SPSS file")
        words = str(error).splitlines() or [type(error).__name__]
        raise InputError(source, None, f"cannot be read as {kind}: {words[0][:200]}") from None
