"""What a released file tells besides its cells: order, spellings, categories, formulas."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bap_cli.main import main
from bap_lp import InputError
from bap_sdc import Eve, Study, read_table
from bap_sdc.records.data.bands import plain
from bap_sdc.records.data.levels import column_of
from bap_sdc.records.data.tables import table_bytes, typed_table


@pytest.fixture(scope="module")
def sorted_table() -> pd.DataFrame:
    """Sorted by the secret, and the published column is the secret itself but for one record in six."""
    ill = np.repeat([0, 1], 300)
    flip = np.arange(600) % 6 == 0
    return pd.DataFrame({"ill": ill, "pay": np.where(flip, 1 - ill, ill)}, index=[f"person {k}" for k in range(600)])


def test_the_place_of_a_row_tells_nothing_and_its_order_is_kept_only_if_asked_for(sorted_table: pd.DataFrame) -> None:
    best = Study(sorted_table, {"pay": "0-1"}, [Eve("ill")]).solve(0)  # nothing is changed: only the order can differ
    as_is = best.release(sorted_table, keep_order=True)
    assert (as_is["pay"].to_numpy() == sorted_table["pay"].to_numpy()).all()
    out = best.release(sorted_table)
    assert out.index.tolist() == as_is.index.tolist() == list(range(600))  # no names of persons
    assert sorted(out["pay"]) == sorted(sorted_table["pay"])
    # a row of the first half had "pay" = 0 in 250 of 300 cases; after a shuffle in about 150 (sd 8.7)
    assert (as_is["pay"][:300] == 0).sum() == 250
    assert abs((out["pay"][:300] == 0).sum() - 150) < 75
    assert not out["pay"].equals(best.release(sorted_table)["pay"])
    assert out["pay"].dtype == sorted_table["pay"].dtype


def test_a_released_file_does_not_depend_on_the_order_of_the_table(sorted_table: pd.DataFrame) -> None:
    best = Study(sorted_table, {"pay": "0-1"}, [Eve("ill")]).solve(2)
    mixed = sorted_table.sample(frac=1, random_state=1)
    assert best.release(sorted_table, seed=5).equals(best.release(mixed, seed=5))


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (" 30.0", "30"), ("3e1", "30"), ("-0.50", "-0.5"), ("0.0", "0"), ("-0", "0"), ("1e899", "1E+899"),
        ("123e-30", "1.23E-28"), (".5", "0.5"), ("5.", "5"), ("100", "100"), (0.1, "0.1"), (12, "12"),
    ],
)  # fmt: skip
def test_a_number_has_one_text(cell: object, text: str) -> None:
    assert plain(cell) == text


def test_published_and_kept_columns_hold_levels_and_not_the_spelling_of_the_table(tmp_path: Path) -> None:
    lines = ["code,age,ill,pay", "007, 30.0,no,1", "012,3e1,yes,1.0", "007,30,no,01", "012,41,yes,2", "007,41.0,no,2"]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    frame = read_table(tmp_path / "t.csv")
    best = Study(frame, {"pay": "0-1", "code": "0-1"}, [Eve("ill", knows=["age"])]).solve(0)
    out = best.release(frame, keep=["age"])
    assert sorted(zip(out["code"], out["age"], out["pay"], strict=True)) == [
        ("007", "30", "1"), ("007", "30", "1"), ("007", "41", "2"), ("012", "30", "1"), ("012", "41", "2"),
    ]  # fmt: skip


def test_large_integers_and_codes_with_zeros_are_written_as_they_are() -> None:
    cells = pd.Series(np.array([2**64 - 1, 0, 2**63 + 12345], dtype="uint64"))
    made = column_of(cells, "c", None, "t")
    assert made.cells(made.codes(cells, "t"), cells).tolist() == cells.tolist()
    typed = typed_table(pd.DataFrame({"code": ["007", "012"], "n": ["1", "2"]}, dtype="str"))
    assert typed["code"].tolist() == ["007", "012"]
    assert typed["n"].tolist() == [1, 2]


def test_categories_that_no_released_record_has_are_not_written_nor_their_order_in_the_table() -> None:
    town = pd.Categorical(["n", "s", "n", "s"], categories=["n", "the one man in the north", "s"], ordered=True)
    frame = pd.DataFrame({"town": town, "ill": ["a", "b", "a", "b"]})
    out = Study(frame, {"town": "0-1"}, [Eve("ill")]).solve(0).release(frame)
    assert out["town"].cat.categories.tolist() == ["n", "s"]
    assert out["town"].cat.ordered
    loose = frame.assign(
        town=frame["town"].cat.as_unordered().cat.reorder_categories(["the one man in the north", "s", "n"])
    )
    out = Study(loose, {"town": "0-1"}, [Eve("ill")]).solve(0).release(loose)
    assert out["town"].cat.categories.tolist() == ["n", "s"]


def test_cells_that_start_a_formula_are_quoted_and_read_back(tmp_path: Path) -> None:
    cells = [
        "=cmd|' /C calc'!A0",
        "+1 a",
        "-2+3",
        "-5-3",
        "@SUM(A1)",
        "\tx",
        "-5",
        "-.5e3",
        "plain",
        "it's",
        "'quoted",
        "'=x",
    ]
    frame = pd.DataFrame({"=name": pd.array(cells, dtype="str"), "n": [-1] * len(cells)})
    raw = table_bytes(frame, "a.csv").decode()
    assert raw.splitlines()[0] == "'=name,n"
    starts = [line.lstrip('"')[0] for line in raw.splitlines()[1:]]
    assert starts == ["'"] * 6 + ["-", "-", "p", "i", "'", "'"]
    (tmp_path / "a.csv").write_text(raw)
    again = read_table(tmp_path / "a.csv")
    assert again["=name"].tolist() == cells
    assert set(again["n"]) == {"-1"}
    with pytest.raises(InputError, match="column 'land' = 'NA' would be read as a missing cell in a text file"):
        table_bytes(pd.DataFrame({"land": ["NA", "ZA"]}), "a.csv")


def test_levels_in_a_released_file_are_those_of_the_channel(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An apostrophe in front of "-1 to 0" made a level that the channel does not have."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(2)
    frame = pd.DataFrame({"t": random.integers(-2, 3, 200) / 2, "f": random.choice(["=a", "b"], 200)})
    frame.assign(ill=random.choice(["no", "yes"], 200)).to_csv("t.csv", index=False)
    lines = ['data = "t.csv"', "[publish.t]", "[publish.f]", "[[eve]]", 'secret = "ill"', "[columns.t]"]
    Path("s.toml").write_text("\n".join([*lines, "bands = [-1, 0, 1]", "[alice]", "lambda = 0", ""]))
    for command in (
        "solve s.toml --out D --no-attackers",
        "release D t.csv -o r.csv",
        "publish D --released r.csv -o k",
    ):
        assert main(["microdata", *command.split()]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Cells of f have an apostrophe in front, which is no part of the level" in told
    plain = pd.read_csv("k/released.csv")  # as somebody reads it who has nothing of ours
    levels = json.loads(Path("k/channel.json").read_text())["levels"]
    assert set(plain["t"]) == set(levels["t"]) == {"-1 to 0", "0 to 1"}
    assert set(pd.read_csv("k/pd_t.csv", index_col=0).columns) == set(levels["t"])
    assert set(plain["f"]) == {"'=a", "b"}
    assert (
        "Cells of f that a spreadsheet would take for a formula have an apostrophe" in Path("k/README.md").read_text()
    )
    assert main(["verify", "k"]) == main(["microdata", "estimate", "k"]) == 0
    assert "-1 to 0" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["out.xlsx", "out", "out.parquet.gz", "out.CSV.exe"])
def test_an_unknown_ending_is_refused_before_anything_is_read(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["microdata", "release", str(tmp_path / "no folder"), "no table", "-o", str(tmp_path / name)]) == 2
    assert "must end in one of .csv, .tsv, .txt, .parquet, .pq" in " ".join(capsys.readouterr().err.split())
    assert list(tmp_path.iterdir()) == []


def test_an_order_that_is_kept_is_warned_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "t.csv").write_text("ill,pay\nno,1\nno,2\nyes,2\n")
    (tmp_path / "s.toml").write_text('data = "t.csv"\n[publish.pay]\n[[eve]]\nsecret = "ill"\n[alice]\nlambda = 0\n')
    assert main(["microdata", "solve", str(tmp_path / "s.toml"), "--out", str(tmp_path / "D"), "--no-attackers"]) == 0
    ask = ["microdata", "release", str(tmp_path / "D"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.tsv")]
    capsys.readouterr()
    assert main([*ask, "--keep-order"]) == 0
    assert "warning: the records are in the order of the table" in capsys.readouterr().err
    assert (tmp_path / "o.tsv").read_text() == "pay\n1\n2\n2\n"
