"""Tables on disk: what is read looks the same when it is written, and broken files are refused in one line."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bap_lp import InputError
from bap_lp.support import limits
from bap_sdc import Eve, Study, load_study, read_table
from bap_sdc.records.data.tables import table_bytes


@pytest.mark.parametrize(
    "text",
    ["a,b\n007,x\n1.50,\n", 'a,b\n"x,y","say ""hi"""\nü,\n', "a;b\n1;2\n", "a\tb\n1\t2\n", "\ufeffa,b\n1,2\n"],
)
def test_a_csv_file_is_written_as_it_was(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8")
    frame = read_table(path)
    assert table_bytes(frame, path, frame.attrs["separator"]).decode() == text.lstrip("\ufeff")


def test_the_most_frequent_mark_of_the_header_separates_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("pay, net;age;sex\n1,5;2;f\n")
    assert read_table(path).iloc[0].to_dict() == {"pay, net": "1,5", "age": "2", "sex": "f"}


def test_empty_cells_and_the_spellings_of_r_and_pandas_are_missing(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\nNA,None\n,NaN\n\n1,2\n")
    frame = read_table(path)
    assert frame["a"].isna().tolist() == [True, True, False]
    assert frame["b"].isna().tolist() == [False, True, False]


def test_a_single_column_may_have_missing_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n1\n\n2\n")
    assert read_table(path)["a"].isna().tolist() == [False, True, False]


def test_parquet_keeps_types(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [True, False]})
    path = tmp_path / "t.parquet"
    path.write_bytes(table_bytes(frame, path))
    assert read_table(path).dtypes.tolist() == frame.dtypes.tolist()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("t.csv", None, "cannot be read: No such file"),
        ("t.csv", b"", "is empty"),
        ("t.csv", b"a,b\n", "has no records"),
        ("t.csv", b"a,b\n1,\xff\n", "is not UTF-8 text: byte 0xff in line 2"),
        ("t.csv", b"a,a\n1,2\n", "column = 'a' is given 2 times"),
        ("t.csv", b"a,\n1,2\n", "column 2 has no name"),
        ("t.csv", b"a,b\n1,2,3\n", "line 2 has 3 cells, must have 2"),
        ("t.csv", b"a,b\n1,2\n1\n", "line 3 has 1 cells, must have 2"),
        ("t.csv", b'a,b\n"1,2\n', "is not CSV"),
        ("t.parquet", b"no parquet", "is not Parquet"),
    ],
)
def test_broken_files_are_refused_in_one_line(tmp_path, name, content, words):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as error:
        read_table(path)
    assert words in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_the_table_of_a_study_is_a_file(tmp_path):
    """A pipe without another end was waited for."""
    os.mkfifo(tmp_path / "t.csv")
    (tmp_path / "study.toml").write_text('data = "t.csv"\n[publish.pay]\n[eve]\nsecret = "ill"\n')
    with pytest.raises(InputError, match=r"t\.csv must be a file, and is a directory, a pipe or a device"):
        load_study(tmp_path / "study.toml")


def test_the_index_of_a_parquet_file_is_a_column(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).set_index("b").to_parquet(tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet")
    assert list(frame.columns) == ["a", "b"]
    assert frame["b"].tolist() == ["x", "y"]


@pytest.mark.parametrize(("name", "rule"), [("t.csv", "must be at most"), ("t.parquet", "unpacks to 0.458 MB")])
def test_tables_are_bounded_as_other_files_are(tmp_path, monkeypatch, name, rule):
    path = tmp_path / name
    path.write_bytes(table_bytes(pd.DataFrame({"a": ["x"] * 30_000, "b": ["y"] * 30_000}), path))
    monkeypatch.setattr(limits, "_LIMITS", dict(limits.DEFAULTS) | {"bytes": 50_000})
    with pytest.raises(InputError, match=rf"{rule}.*\(--limit bytes=N raises this\)"):
        read_table(path)


def test_row_names_without_a_heading_are_a_column_of_their_own(tmp_path):
    (tmp_path / "r.csv").write_text('"","age"\n"1",31\n"2",40\n')
    assert read_table(tmp_path / "r.csv").columns.tolist() == ["rownames", "age"]


class Foreign:
    """A table of another library, which says how it becomes one of pandas."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame, self.columns = frame, list(frame.columns)

    def __len__(self) -> int:
        return len(self.frame)

    def to_pandas(self) -> pd.DataFrame:
        return self.frame.copy()


def test_a_table_of_another_library_is_read_wherever_one_of_pandas_is() -> None:
    frame = pd.DataFrame({"ill": ["a", "b", "a", "b"] * 5, "pay": [1, 2, 2, 1] * 5})
    try:
        import polars

        foreign: Any = polars.DataFrame({name: frame[name].tolist() for name in frame})
    except ImportError:
        foreign = Foreign(frame)
    best = Study(foreign, {"pay": "0-1"}, [Eve("ill")]).solve(0)
    assert best.value == Study(frame, {"pay": "0-1"}, [Eve("ill")]).solve(0).value
    assert best.law(foreign).equals(best.law(frame))
    assert best.release(foreign, seed=1).equals(best.release(frame, seed=1))
    assert str(best.audit(foreign, attackers=())) == str(best.audit(frame, attackers=()))
    assert best.posterior(foreign).table("pay").equals(best.posterior(frame).table("pay"))


@pytest.mark.parametrize("wrong", [{"ill": ["a", "b"]}, [["a", 1]], None, "t.csv", np.zeros((2, 2))])
def test_what_is_no_table_is_refused_by_its_kind(wrong: object) -> None:
    good = pd.DataFrame({"ill": ["a", "b"] * 9, "pay": [1, 2, 2] * 6})
    best = Study(good, {"pay": "0-1"}, [Eve("ill")]).solve(0)
    rule = f"is a {type(wrong).__name__}, must be a DataFrame of pandas"
    for ask in (
        lambda: Study(wrong, {"pay": "0-1"}, [Eve("ill")]), lambda: best.law(wrong), lambda: best.release(wrong),
        lambda: best.posterior(wrong),
    ):  # fmt: skip
        with pytest.raises(InputError, match=rule):
            ask()
