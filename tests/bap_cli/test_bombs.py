"""Short files that unpack to very much: one line, before they are unpacked, in a process that may not have 4 GB."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

_MEMORY = 4 * 2**30
_XML = "http://schemas.openxmlformats.org"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_XML}/package/2006/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_XML}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_XML}/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_XML}/package/2006/relationships"><Relationship Id="rId1" '
    f'Type="{_XML}/officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_XML}/spreadsheetml/2006/main" '
    f'xmlns:r="{_XML}/officeDocument/2006/relationships"><sheets><sheet name="a" sheetId="1" r:id="rId1"/></sheets>'
    "</workbook>",
}


def workbook(rows: str, styles: str = "") -> Callable[[Path], None]:
    """A workbook with these rows and formats."""

    def write(path: Path) -> None:
        main = f'xmlns="{_XML}/spreadsheetml/2006/main"'
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            for name, text in _PARTS.items():
                archive.writestr(name, text)
            archive.writestr("xl/styles.xml", f"<styleSheet {main}><cellXfs>{styles}</cellXfs></styleSheet>")
            archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet {main}><sheetData>{rows}</sheetData></worksheet>")

    return write


def repeated(value: Any, kind: pa.DataType, times: int) -> Callable[[Path], None]:
    """A Parquet file with one value, many times."""
    return lambda path: parquet.write_table(pa.table({"a": pa.repeat(pa.scalar(value, kind), times)}), path)


def text(written: str) -> Callable[[Path], None]:
    return lambda path: path.write_text(written) and None


def margin(states: int, decisions: int) -> Callable[[Path], None]:
    losses = [[(7 * x + 3 * d) % 10 for d in range(decisions)] for x in range(states)]
    document = {
        "data": {"prior": [f"1/{states}"] * states},
        "bob": {"loss": losses},
        "eve": {"loss": [[x % 2, 1 - x % 2] for x in range(states)]},
        "conditions": {"margin": "1/100"},
    }
    return text(json.dumps(document))


INIT, SOLVE = ["microdata", "init"], ["solve"]
COIN = "[data]\nprior=[1,1]\n[bob]\nloss=[[0,1],[1,0]]\n[eve]\nloss=[[0,1],[1,0]]\n[alice]\nlambda="
DIGITS, CELLS = "must have at most 20000 digits", "must have at most 20000000"
FULL = "<row>" + "<c><v>1</v></c>" * 500 + "</row>"
BOMBS = {
    "a sheet with a cell in its last column, in every row": (
        "t.xlsx", workbook('<row><c r="XFD1"><v>1</v></c></row>' * 20_000), INIT, "has 16384 columns, must have"
    ),
    "a sheet with a cell in its last row": (
        "t.xlsx", workbook('<row r="1048576"><c r="AB1048576"><v>1</v></c></row>'), INIT, CELLS
    ),
    "a sheet with a row of a number that no sheet has": (
        "t.xlsx", workbook('<row r="900000000"></row><row><c r="A1"/></row>'), INIT, CELLS
    ),
    "a sheet of equal cells": ("t.xlsx", workbook(FULL * 10_000), INIT, "at most 100 times as long as the file"),
    "a workbook of formats": ("t.xlsx", workbook("", "<xf/>" * 70_000), INIT, "has more than 65536 formats"),
    "a Parquet file of one number": ("t.parquet", repeated(1, pa.int8(), 30_000_000), INIT, CELLS),
    "a Parquet file of one decimal": (
        "t.parquet", repeated(Decimal("1.5"), pa.decimal128(5, 2), 4_000_000), INIT, "unpacks to 427 MB"
    ),
    "a Parquet file of one day": ("t.parquet", repeated(date(2020, 1, 1), pa.date32(), 8_000_000), INIT, "unpacks to"),
    "a Parquet file of one list": ("t.parquet", repeated([1], pa.list_(pa.int8()), 2_000_000), INIT, "unpacks to"),
    "a million columns": ("t.csv", text(",".join(map(str, range(10**6)))), INIT, "has 1000000 columns, must have"),
    "blank lines": ("t.csv", text("a,b\n1,2\n" + "\n" * 10**8), INIT, CELLS),
    "blank lines under one column": ("t.csv", text("a\n1\n" + "\r" * 10**8), INIT, CELLS),
    "blank lines of states": ("t.csv", text("\n" * 10**8), ["release", "B", "--from"], CELLS),
    "a long integer": ("p.toml", text(COIN + "9" * 20_000_000), SOLVE, DIGITS),
    "a long integer in hexadecimal digits": ("p.toml", text(COIN + "0x" + "f" * 20_000_000), SOLVE, DIGITS),
    "a long float": ("p.toml", text(COIN + "1." + "3" * 20_000_000), SOLVE, DIGITS),
    "a long exponent": ("p.toml", text(COIN + "1e" + "9" * 20_000_000), SOLVE, DIGITS),
    "empty lists": ("p.json", text("[" + "[]," * 30_000_000 + "[]]"), SOLVE, CELLS),
    "a margin between many decisions": ("p.json", margin(2, 5000), SOLVE, "must need at most"),
    "a margin in many states": ("p.json", margin(20, 500), SOLVE, "must need at most"),
}  # fmt: skip


def _little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    file, write, command, rule = BOMBS[name]
    write(tmp_path / file)
    if "B" in command:
        from bap_cli.main import main

        assert main(["solve", "coin_toss", "--out", str(tmp_path / "B")]) == 0
    before = sorted(tmp_path.iterdir())
    done = subprocess.run(
        [sys.executable, "-m", "bap_cli.main", *command, file],
        cwd=tmp_path, capture_output=True, text=True, check=False, preexec_fn=_little_memory,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"bap: {file}")
    assert rule in line
    assert sorted(tmp_path.iterdir()) == before


def test_what_is_as_large_as_a_table_of_records_is_read(tmp_path: Path) -> None:
    """Equal cells in every row compress well, and the day and the amount of every record are objects."""
    from bap_sdc import read_table

    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"day": [date(2020, 1, 1)] * 5000, "pay": ["equal"] * 5000, "n": [1] * 5000})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    frame.assign(due=Decimal("1.5")).to_parquet(tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for name, columns in (("t.xlsx", 3), ("t.parquet", 4), ("t.csv", 3)):
        assert read_table(tmp_path / name).shape == (5000, columns)
