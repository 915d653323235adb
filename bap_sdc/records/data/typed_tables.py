"""Tables with types: Parquet, and Excel, Stata and SPSS by pandas' own readers.

Compressed, a table of any size is a small file: 700 bytes of Parquet may be 3 GB. What a file would become is worked
out from its metadata, and a text that is repeated from its dictionary, before it is unpacked.
"""

from __future__ import annotations

import io
import os
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

from bap_lp.files.documents import read_bytes
from bap_lp.limits import limit, raising
from bap_lp.rational import InputError

_CELL = 8  # bytes of a cell: a number, or where its text is
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
        _require_room(metadata.num_rows * len(columns) * _CELL, source)
        groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
        _require_room(sum(g.column(j).total_uncompressed_size for g in groups for j in range(g.num_columns)), source)
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
            _require_room(size, source)
        if field.name in texts:
            plain = pyarrow.field(field.name, field.type.value_type, field.nullable, field.metadata)
            table = table.set_column(k, plain, table.column(k).cast(field.type.value_type))
    return table


def _has_length(kind: Any) -> bool:
    from pyarrow import types

    tests = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return any(test(kind) for test in tests)


def _require_room(size: int, source: str) -> None:
    if size > limit("bytes"):
        rule = f"unpacks to {size / 2**20:.3g} MB, must be at most {limit('bytes') / 2**20:.3g} MB {raising('bytes')}"
        raise InputError(source, None, rule)


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
                _require_room(sum(part.file_size for part in parts.infolist()), source)
            return pandas.read_excel(io.BytesIO(raw), sheet_name=0)
        if ending == ".dta":
            try:
                frame = pandas.read_stata(io.BytesIO(raw))
            except ValueError:  # two levels with one label: the numbers behind the labels
                frame = pandas.read_stata(io.BytesIO(raw), convert_categoricals=False)
            return frame.apply(lambda cells: cells.mask(cells == "") if cells.dtype in ("str", object) else cells)
        about = import_module("pyreadstat").read_sav(str(path), metadataonly=True)[1]
        _require_room((about.number_rows or 0) * about.number_columns * _CELL, source)
        return pandas.read_spss(path)
    except InputError:
        raise
    except Exception as error:  # what the readers raise is not documented
        kind = {".xlsx": "an Excel file", ".dta": "a Stata file"}.get(ending, "an SPSS file")
        words = str(error).splitlines() or [type(error).__name__]
        raise InputError(source, None, f"cannot be read as {kind}: {words[0][:200]}") from None
