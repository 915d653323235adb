"""`bap microdata init` on tables as they are: what it says it saw, and that its proposal runs as it is."""

from __future__ import annotations

import math
import random
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from statsmodels.datasets import fair, modechoice, randhie

from bap_lp import InputError, limits
from bap_sdc import load_study, read_table
from bap_sdc.records.data.findings import look_at

Run = Callable[..., tuple[int, str, str]]


def census(n: int = 80) -> None:
    """Row numbers, blanks, codes for missing cells, weights, two spellings, comments, dates, decimal commas."""
    draw = random.Random(1)
    rows = []
    for k in range(n):
        work, income = draw.choice([" Private", " ?", "Gov"]), draw.choice(["<=50K", "<=50K.", ">50K"])
        rows.append(f"{k},{draw.randint(17, 80)},{work},{draw.random():.3f},{income},text {k},1.1.{2000 + k % 20}")
        rows[-1] += f',"{150 + k % 30},{k % 10}",n/a,{k // 2}'
    head = "row,age,work,hh_weight,income,comment,born,height,empty,person_id"
    Path("census.csv").write_text("\n".join([head, *rows]) + "\n")


def test_what_is_seen_is_said_and_the_proposal_reads_it_so(run: Run) -> None:
    census()
    code, out, err = run("microdata", "init", "census.csv", "-o", "study.toml")
    assert (code, err) == (0, "")
    for words in (
        'Seen: "row": every record has a cell of its own: an identifier, never to be published',
        "Seen: \"work\": read as missing: '?'",
        'Seen: "work": some cells have blanks around them',
        'Seen: "hh_weight": by its name a survey weight',
        "Seen: \"income\": one level in 2 spellings? '<=50K', '<=50K.'",
        'Seen: "comment": every record has a cell of its own',
        'Seen: "born": dates written as text',
        'Seen: "height": numbers with decimal commas',
        'Seen: "empty": all its cells are equal',
        'Seen: "born": 20 levels of text',
        'Seen: "person_id": by its name an identifier',
    ):
        assert words in out
    text = Path("study.toml").read_text()
    study = tomllib.loads(text)
    assert (study["missing"], study["strip"], study["decimal"]) == (["?", "n/a"], True, ",")
    assert study["columns"]["income"] == {"merge": {"<=50K": ["<=50K."]}}
    assert not {"row", "comment", "hh_weight", "empty", "person_id"} & {*study["publish"], study["eve"][0]["secret"]}
    assert '# weight = "hh_weight"' in text
    ends = study["columns"]["age"]["bands"]
    assert (ends[0], ends[-1]) == (10, 80)  # the smallest and the largest age are those of single records
    loaded = load_study("study.toml").study
    assert set(loaded["income"].labels) == {"<=50K", ">50K"}
    assert loaded["work"].labels[-1] == "(missing)"
    assert run("microdata", "solve", "study.toml", "--json", "--no-attackers")[0] == 0


def test_columns_that_are_asked_for_are_used_and_those_that_cannot_be_are_refused(run: Run) -> None:
    census()
    Path("deep").mkdir()
    code, out, _ = run(
        "microdata", "init", "census.csv", "--secret", "income", "--knows", "work", "--publish", "age,height"
    )
    study = tomllib.loads(out)
    assert code == 0
    assert [*study["publish"]] == ["age", "height"]
    assert (study["eve"][0]["secret"], study["eve"][0]["knows"]) == ("income", ["work"])
    for options, words in (
        (("--publish", "row"), "--publish = 'row' cannot be used as it is: every record has a cell of its own"),
        (("--secret", "nope"), "--secret = 'nope' is not a column of census.csv"),
        (("--knows", "work,,age"), "--knows = 'work,,age' must be names of columns"),
        (("--secret", "work", "--knows", "work"), "is among the columns she knows already"),
        (("--secret", "nope", "-o", "deep/study.toml"), "'nope' is not a column of census.csv"),
    ):
        code, out, err = run("microdata", "init", "census.csv", *options)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err


def test_numbers_of_people_with_several_records_are_not_proposed_and_can_be_asked_for(run: Run) -> None:
    modechoice.load_pandas().data.to_csv("t.csv", index=False)  # 210 people, four records each
    code, out, _ = run("microdata", "init", "t.csv")
    assert code == 0
    assert 'Seen: "individual": 210 numbers, each on few records: by its rows an identifier, or a time' in out
    study = tomllib.loads(out)
    assert "individual" not in {*study["publish"], study["eve"][0]["secret"], *study["eve"][0]["knows"]}
    assert 'knows = ["individual"]' in run("microdata", "init", "t.csv", "--knows", "individual")[1]


def test_ages_postcodes_incomes_and_scores_are_not_taken_for_numbers_of_people() -> None:
    draw = random.Random(3)
    ages = sorted(draw.choices(range(100), k=3000))
    frame = pd.DataFrame(
        {
            "age": ages,  # in blocks, from 0, without a gap
            "postcode": [draw.randint(10_000, 10_400) for _ in ages],
            "income": [round(draw.lognormvariate(10, 1), -1) for _ in ages],
            "score": [min(max(round(draw.gauss(50, 15)), 0), 100) for _ in ages],
            "visits": [int(draw.expovariate(0.05)) for _ in ages],
        }
    )
    for some in (frame, frame[::75], frame[:40]):
        assert [c.name for c in look_at(some, "t").columns if c.named] == []
    waves = pd.DataFrame(
        {"person": [*range(1, 201), *range(1, 180), *range(1, 90)], "pay": [draw.randint(1, 9) for _ in range(468)]}
    )
    balanced = pd.DataFrame({"nr": sorted([*range(0, 300, 7)] * 3), "pay": [draw.randint(1, 9) for _ in range(129)]})
    for panel, name in ((waves, "person"), (balanced, "nr")):
        assert [c.name for c in look_at(panel.astype(str), "t").columns if c.named] == [name]


@pytest.mark.parametrize(("secret", "most", "informed"), [(2, 2000, False), (5, 128, True)])
def test_a_proposal_is_no_larger_than_what_is_solved_in_a_minute(
    run: Run, secret: int, most: int, informed: bool
) -> None:
    """Parts of a secret with two levels are solved by pairs, whatever Bob's decisions are; others by columns."""
    draw = random.Random(4)
    sizes = {"secret": secret, "x": 2, "y": 2} | {f"c{k}": 6 for k in range(4)}
    sizes["c0"] = 4
    rows = [",".join(f"{name}{draw.randrange(size)}" for name, size in sizes.items()) for _ in range(400)]
    Path("t.csv").write_text("\n".join([",".join(sizes), *rows]) + "\n")
    code, out, _ = run("microdata", "init", "t.csv", "--secret", "secret", "--knows", "x,y")
    study = tomllib.loads(out)
    assert code == 0
    decisions = math.prod(sizes[name] for name in study["publish"])
    assert most / 6 < decisions <= most
    assert ("informed" in study["eve"][0]) == informed


@pytest.mark.parametrize("data", [fair, randhie], ids=["fair", "randhie"])
def test_the_proposals_for_published_tables_run_as_they_are(run: Run, data: object) -> None:
    data.load_pandas().data[:100].to_csv("t.csv", index=False)  # type: ignore[attr-defined]
    assert run("microdata", "init", "t.csv", "-o", "study.toml")[0] == 0
    assert run("microdata", "solve", "study.toml", "--out", "D", "--no-attackers")[0] == 0
    assert run("microdata", "release", "D", "t.csv", "-o", "o.csv")[0] == 0
    assert len(Path("o.csv").read_text().splitlines()) == 101


HOSTILE = {
    "huge numbers": ["a,b,c", *(f"{('1e899', '2', '3')[k % 3]},{k % 2},{k % 4}" for k in range(40))],
    "far numbers": ["a,b,c", *(f"{('-1e308', '1e308', k)[k % 3]},{k % 2},{k % 4}" for k in range(60))],
    "near numbers": ["a,b,c", *(f"{k}e-320,{k % 2},{k % 4}" for k in range(60))],
    "long numbers": ["a,b,c,d", *(f"{'9' * 5000},{('1' * 5000, '2')[k % 2]},{k % 2},{k % 3}" for k in range(9))],
    "many digits": ["a,b,c", *(f"{10**900 + k % 30},{k % 2},{k % 4}" for k in range(60))],
    "one record": ["a,b", "1,2"],
    "few records": ["a,b", "1,2", "2,2", "1,3"],
    "numbers with zeros": ["age,zip,ill", "1,1,0", "2,01,1", "3,1,0"],
    "a secret with zeros": ["age,ill", "1,1", "2,01", "3,2", "4,2", "5,1", "6,2"],
    "other letters": ['we"ird,b = c,é', "x,1,u", "y,2,v", "x,3,"],
    "decimals": ["a,b,c", *(f"{k % 2},{k},{k / 7}" for k in range(50))],
    "only missing": ["a,b,c", *["?,.,n/a"] * 5],
    "formulas": ["=a,+b,@c", *(f"=cmd{k % 3},-{k % 2},@{k % 2}" for k in range(20))],
    "quotes": ['a"b,c\td,e', *(f'"x\ny{k % 2}",{k % 2},\'{k % 3}' for k in range(20))],
    "near spellings": ["a,b", *(f"{('A', 'a', 'a.', '.', '..', '...', 'B')[k % 7]},{k % 2}" for k in range(40))],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_no_table_makes_init_or_its_proposal_fail_without_a_line(run: Run, name: str) -> None:
    with open("t.csv", "w", newline="") as file:
        file.write("\n".join(HOSTILE[name]) + "\n")
    code, _, err = run("microdata", "init", "t.csv", "-o", "study.toml")
    assert (code, err.count("\n")) in ((0, 0), (2, 1)), err
    if code == 0:
        code, _, err = run("microdata", "solve", "study.toml", "--json", "--no-attackers")
        assert code == 0, err[:500]


def test_thousands_of_columns_are_looked_at() -> None:
    frame = pd.DataFrame(np.arange(9_000).reshape(3, 3_000) % 2, columns=[f"c{k}" for k in range(3_000)])
    assert len(look_at(frame, "t").columns) == 3_000


def test_a_small_parquet_file_that_unpacks_to_gigabytes_is_refused_by_its_size(tmp_path: Path) -> None:
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3000, np.int32)), pa.array(["x" * 1_000_000]))
    parquet.write_table(pa.table({"a": text}), tmp_path / "text.parquet", compression="zstd")
    with parquet.ParquetWriter(tmp_path / "rows.parquet", pa.schema([("a", pa.bool_())]), compression="zstd") as out:
        for _ in range(4):
            out.write_table(pa.table({"a": pa.array(np.zeros(10_000_000, bool))}))
    for name, size in (("text", "2.86e+03 MB"), ("rows", "305 MB")):
        path = tmp_path / f"{name}.parquet"
        assert path.stat().st_size < 200_000
        with pytest.raises(InputError, match=f"unpacks to {size.replace('+', '.')}, must be at most 256 MB"):
            read_table(path)


def test_categories_and_texts_of_parquet_keep_their_types(tmp_path: Path) -> None:
    town = pd.Categorical(["n", "s", None], categories=["s", "n", "z"], ordered=True)
    frame = pd.DataFrame({"town": town, "job": ["a", None, "b"], "n": [1, 2, 3]}, index=pd.Index([5, 6, 7], name="id"))
    frame.to_parquet(tmp_path / "t.parquet")
    again = read_table(tmp_path / "t.parquet")
    assert again["town"].dtype == frame["town"].dtype
    assert again["job"].dtype == "str"
    assert again["id"].tolist() == [5, 6, 7]


def test_stata_files_are_read_with_their_labels_as_levels_in_order(tmp_path: Path) -> None:
    grade = pd.Categorical(["low", "high", "low", "mid"], categories=["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"grade": grade, "pay": [1, 2, 2, 1], "ill": ["no", "yes", "", "no"]})
    frame.to_stata(tmp_path / "t.dta", write_index=False)
    text = 'data = "t.dta"\n[publish.grade]\nloss = "absolute"\n[[eve]]\nsecret = "ill"\nknows = ["pay"]\n'
    (tmp_path / "study.toml").write_text(text)
    study = load_study(tmp_path / "study.toml").study
    assert study["grade"].labels == ("low", "mid", "high")
    assert study["ill"].labels == ("no", "yes", "(missing)")  # Stata writes a missing text as an empty one


def test_tables_of_other_kinds_say_what_to_save_them_as(tmp_path: Path) -> None:
    (tmp_path / "t.xls").write_bytes(b"\xd0\xcf")
    with pytest.raises(InputError, match=r"t\.xls is of a kind that is not read: save it as CSV, Parquet, \.xlsx"):
        read_table(tmp_path / "t.xls")


@pytest.mark.parametrize(("name", "package"), [("t.xlsx", "openpyxl"), ("t.sav", "pyreadstat")])
def test_excel_and_spss_say_what_they_need(tmp_path: Path, name: str, package: str, monkeypatch: object) -> None:
    import sys

    (tmp_path / name).write_bytes(b"anything")
    monkeypatch.setitem(sys.modules, package, None)  # type: ignore[attr-defined]
    with pytest.raises(InputError, match=rf"{name} needs {package} to be read: pip install 'bap-lp\[\w+\]', or save"):
        read_table(tmp_path / name)


def test_an_excel_file_is_bounded_by_what_it_unpacks_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys
    from types import ModuleType

    monkeypatch.setitem(sys.modules, "openpyxl", ModuleType("openpyxl"))
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/worksheets/sheet1.xml", b" " * 3_000_000)
    monkeypatch.setattr(limits, "_LIMITS", dict(limits.DEFAULTS) | {"bytes": 100_000})
    with pytest.raises(InputError, match=r"unpacks to 2\.86 MB, must be at most 0\.0954 MB"):
        read_table(tmp_path / "t.xlsx")
    for name in ("bad.dta", "bad.xlsx"):
        (tmp_path / name).write_bytes(b"no such file")
        with pytest.raises(InputError, match=f"{name} cannot be read as a") as error:
            read_table(tmp_path / name)
        assert "\n" not in str(error.value)


def test_excel_and_spss_files_are_read(tmp_path: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame({"pay": [1.0, 2.0, 2.0], "ill": ["no", "yes", "no"]})
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    pyreadstat.write_sav(frame, str(tmp_path / "t.sav"))
    for name in ("t.xlsx", "t.sav"):
        found = read_table(tmp_path / name)
        assert found["pay"].astype(float).tolist() == [1, 2, 2]
        assert found["ill"].astype(str).tolist() == ["no", "yes", "no"]
