"""The size of what is read: one rule for files of all kinds, kept before anything is unpacked.

A short file can ask for a table of any size: blank lines, one cell in the last corner of a sheet, or a value that is
said once and repeated. So a table is refused by what it would become: its bytes once unpacked, its cells (rows times
columns) and its columns. An archive may not hold much more than its own size, however little that is. The bounds are
`bytes`, `cells` and `keys` of `bap_lp.support.limits`.
"""

from __future__ import annotations

import zipfile

from bap_lp.support.limits import limit, raising
from bap_lp.support.rational import InputError

_DENSE = 100  # bytes that one byte of an archive may become: 10 to 16 in sheets of equal cells, 1000 is possible
_SMALL = 2**20  # bytes that any archive may hold


def require_room(size: int, source: str) -> None:
    """Refuse what unpacks to so many bytes, if it is too much."""
    if size > limit("bytes"):
        rule = f"unpacks to {size / 2**20:.3g} MB, must be at most {limit('bytes') / 2**20:.3g} MB {raising('bytes')}"
        raise InputError(source, None, rule)


def require_archive(archive: zipfile.ZipFile, size: int, source: str) -> None:
    """Refuse an archive of so many bytes that unpacks to too many, or to far more than it has."""
    unpacked = sum(part.file_size for part in archive.infolist())
    require_room(unpacked, source)
    if unpacked > max(_SMALL, _DENSE * size):
        rule = f"unpacks to {unpacked / 2**20:.3g} MB, must be at most {_DENSE} times as long as the file"
        raise InputError(source, None, f"{rule}: save it as CSV")


def require_cells(rows: int, columns: int, source: str) -> None:
    """Refuse a table of so many rows and columns, if it is too large; a table without columns has one cell per row."""
    if columns > limit("keys"):
        raise InputError(source, None, f"has {columns} columns, must have at most {limit('keys')} {raising('keys')}")
    if rows * max(columns, 1) > limit("cells"):
        rule = f"has {rows} rows and {columns} columns, must have at most {limit('cells')} cells {raising('cells')}"
        raise InputError(source, None, rule)


def require_lines(text: str, mark: str, source: str) -> None:
    """Refuse a table written as lines, blank ones included, with this mark between cells, if it has too many cells."""
    cells = max(text.count("\n"), text.count("\r")) + text.count(mark)
    if cells > limit("cells"):
        rule = f"has {cells} lines and cells, must have at most {limit('cells')} {raising('cells')}"
        raise InputError(source, None, rule)
