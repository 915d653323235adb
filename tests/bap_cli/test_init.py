"""`bap microdata init` on tables as they are: what it says it saw; it decides no role; given roles run."""

from __future__ import annotations

import random
import re
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from statsmodels.datasets import fair, randhie

from bap_lp import InputError
from bap_lp.support import limits
from bap_sdc import load_study, read_table
from bap_sdc.records.data import proposals
from bap_sdc.records.data.findings import look_at
from bap_sdc.records.data.proposals import proposal

Run = Callable[..., tuple[int, str, str]]


def census(n: int = 80) -> None:
    """Row numbers, blanks, codes for missing cells, weights, two spellings, comments, dates, decimal commas."""
    draw = random.Random(1)
    rows = []
    for k in range(n):
        work, income = draw.choice([" Private", " ?", "Gov"]), draw.choice(["<=50K", "<=50K.", ">50K"])
        rows.append(f"{k},{draw.randint(17, 80)},{work},{draw.random():.3f},{income},text {k},1.1.{2000 + k % 20}")
        rows[-1] += f',"{150 + k % 30},{k % 10}",n/a,{k // 2},{1900 + k}-01-01'
    head = "row,age,work,hh_weight,income,comment,born,height,empty,person_id,visited"
    Path("census.csv").write_text("\n".join([head, *rows]) + "\n")


MEDICAL = ("patient", "age", "sex", "postcode", "income", "diagnosis")


def medical(n: int = 200) -> None:
    draw = random.Random(2)
    columns = {
        "patient": [1000 + k for k in range(n)],
        "age": draw.choices(range(18, 91), k=n),
        "sex": draw.choices("mf", k=n),
        "postcode": draw.choices(range(10_000, 10_400), k=n),
        "income": [round(draw.lognormvariate(10, 0.6), -2) for _ in range(n)],
        "diagnosis": draw.choices(["diabetes", "asthma", "none"], k=n),
    }
    pd.DataFrame(columns).to_csv("medical.csv", index=False)


@pytest.mark.parametrize(
    "options", [(), ("--secret", "sex"), ("--secret", "sex", "--knows", "age", "--drop", "patient")]
)
def test_a_medical_table_cannot_be_released_before_all_its_columns_are_decided(
    run: Run, options: tuple[str, ...]
) -> None:
    medical()
    assert run("microdata", "init", "medical.csv", "-o", "study.toml", *options)[0] == 0
    study = tomllib.loads(Path("study.toml").read_text())
    left = [name for name in MEDICAL if name not in options]
    assert (study["undecided"], "publish" in study) == (left, False)
    listed = ", ".join(map(repr, left))
    for command in (("solve", "--out", "D"), ("path",), ("compare",)):
        code, out, err = run("microdata", command[0], "study.toml", *command[1:])
        assert (code, out) == (2, "")
        assert err == (
            f"bap: study.toml: undecided columns {listed} must be named in publish, secret, knows, weight or drop\n"
        )
    assert run("explain", "study.toml")[0] == 2
    assert not Path("D").exists()


def test_a_file_is_read_once_every_column_that_was_undecided_has_a_role(run: Run) -> None:
    """Only what a person does by hand: the names leave `undecided`, and the lines of the template are filled in."""
    medical()
    assert run("microdata", "init", "medical.csv", "-o", "study.toml")[0] == 0
    text = Path("study.toml").read_text()
    start, end = text.index("undecided = ["), text.index("drop = []")
    text = text[:start] + 'drop = ["patient", "postcode", "income"]' + text[end + len("drop = []") :]
    for line in ("[publish.NAME]", 'loss = "0-1"  #', "[[eve]]", 'name = "neighbour"', "secret =", "knows = []"):
        text = text.replace(f"# {line}", line)
    filled = text.replace("publish.NAME", "publish.age").replace('"NAME"', '"diagnosis"')
    Path("study.toml").write_text(filled)
    code, _, err = run("microdata", "solve", "study.toml", "--json", "--no-attackers")
    assert (code, "undecided column 'sex' must" in err) == (2, True)
    Path("study.toml").write_text(filled.replace("knows = []", 'knows = ["sex"]'))
    assert run("microdata", "solve", "study.toml", "--json", "--no-attackers")[0] != 2
    study = load_study("study.toml").study
    assert study.names == ("age", "sex", "diagnosis")
    assert (study.prior.model, int(study.left_out.sum())) == ("conditional", 100)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('undecided = ["sex"]', "undecided[0] = 'sex' has a role already: it is known"),
        ('undecided = ["ill"]', "undecided[0] = 'ill' has a role already: it is secret"),
        ('undecided = ["w", "pay"]', "undecided[1] = 'pay' has a role already: it is published"),
        ('undecided = ["w"]\nweight = "w"', "undecided[0] = 'w' has a role already: it is the weight"),
        ('undecided = ["w"]\ndrop = ["w"]', "undecided[0] = 'w' has a role already: it is dropped"),
        ('drop = ["sex"]', "drop[0] = 'sex' has a role already: it is known"),
        ('undecided = ["nope"]', "undecided[0] = 'nope' is not a column of t.csv"),
        ('drop = ["w", "nope"]', "drop[1] = 'nope' is not a column of t.csv"),
        ("undecided = [1]", "undecided[0] = 1 must be the name of a column"),
        ('undecided = "w"', "undecided = 'w' must be a list"),
        ("drop = []", "undecided column 'w' must be named in publish, secret, knows, weight or drop"),
        ("undecided = []", "undecided column 'w' must be named in publish, secret, knows, weight or drop"),
        ('drop = ["w"]', ""),
        ('weight = "w"\nundecided = []', ""),
        ("", ""),
    ],
)
def test_a_column_has_one_role_or_is_undecided(change: str, words: str, run: Run) -> None:
    Path("t.csv").write_text(
        "sex,ill,pay,w\n" + "".join(f"{k % 2},{k % 3 > 0},{k % 4},{1 + k % 2}\n" for k in range(24))
    )
    roles = '[publish.pay]\n[[eve]]\nsecret = "ill"\nknows = ["sex"]\n'
    Path("study.toml").write_text(f'data = "t.csv"\n{change}\n{roles}')
    code, _, err = run("microdata", "solve", "study.toml", "--json")
    assert (code == 2, err.count("\n")) == (bool(words), int(bool(words)))
    assert words in err
    Path("study.toml").write_text(f'data = "t.csv"\n{change}\n')
    code, _, err = run("microdata", "solve", "study.toml", "--json")
    assert (code, err.count("\n")) == (2, 1)  # without an [[eve]] and a published column


def test_many_undecided_columns_are_named_in_one_line(run: Run) -> None:
    Path("t.csv").write_text(",".join(f"c{k}" for k in range(300)) + "\n" + "1," * 299 + "1\n")
    assert run("microdata", "init", "t.csv", "-o", "study.toml")[0] == 0
    code, _, err = run("microdata", "solve", "study.toml")
    assert (code, err.count("\n"), len(err) < 300) == (2, 1, True)
    assert "undecided columns 'c0', 'c1', " in err
    assert "'c11' and 288 more must be named in" in err


STRANGE = ('a"b', "c\nd", "undecided", "drop", "é, ü 日本", "[x]", "it's", "# no", "back\\slash", "line\u2028end",
           "dot.ted", "=1+1", "\x7f\x85", "publish")  # fmt: skip


def test_any_name_of_a_column_comes_back_from_the_file(tmp_path: Path) -> None:
    names = [*STRANGE]
    draw = random.Random(5)
    frame = pd.DataFrame({name: draw.choices(["x", "y", f"{name}!"], k=60) for name in names})
    assert tomllib.loads(proposal(frame, "t.parquet"))["undecided"] == names
    for k, hers in enumerate(names):
        published, known, *rest = names[k + 1 :] + names[:k]
        text = proposal(frame, "t.parquet", secret=hers, knows=[known], publish=[published], drop=rest)
        study = tomllib.loads(text)
        assert (study["drop"], [*study["publish"]], "undecided" in study) == (rest, [published], False)
        assert (study["eve"][0]["secret"], study["eve"][0]["knows"]) == (hers, [known])
    frame.to_parquet(tmp_path / "t.parquet")
    (tmp_path / "study.toml").write_text(text)
    assert set(load_study(tmp_path / "study.toml").study.names) == {hers, known, published}


def test_what_is_seen_is_said_and_decides_nothing(run: Run) -> None:
    census()
    code, out, err = run("microdata", "init", "census.csv", "-o", "study.toml")
    assert (code, err) == (0, "")
    for words in (
        'Seen: "row": every record has a number of its own: an identifier, or an amount',
        "Seen: \"work\": read as missing: '?'",
        'Seen: "work": some cells have blanks around them',
        'Seen: "hh_weight": by its name perhaps a survey weight: weight = "hh_weight" makes it one',
        "Seen: \"income\": one level in 2 spellings? '<=50K', '<=50K.'",
        'Seen: "income": by its name about income: people keep it secret',
        'Seen: "comment": every record has a cell of its own',
        'Seen: "born": dates written as text',
        'Seen: "height": numbers with decimal commas',
        'Seen: "empty": all its cells are equal',
        'Seen: "born": 20 levels of text',
        'Seen: "born": by its name about a date of birth: others may know it',
        'Seen: "person_id": by its name an identifier',
        "Wrote study.toml: decide 11 columns",
    ):
        assert words in out
    text = Path("study.toml").read_text()
    study = tomllib.loads(text)
    assert (study["missing"], study["strip"], study["decimal"]) == (["?", "n/a"], True, ",")
    assert study["columns"]["income"] == {"merge": {"<=50K": ["<=50K."]}}
    assert study["undecided"] == [*read_table("census.csv").columns]
    thought = dict(zip(study["undecided"], re.findall(r"# Think of: (\w+)", text), strict=True))
    assert {name for name, role in thought.items() if role == "drop"} == {
        "row",
        "comment",
        "empty",
        "person_id",
        "visited",
    }
    assert (thought["hh_weight"], thought["income"], thought["age"]) == ("weight", "secret", "known")
    ends = study["columns"]["age"]["bands"]
    assert (ends[0], ends[-1]) == (10, 80)  # the smallest and the largest age are those of single records


def test_with_all_roles_the_file_is_complete_and_reads_the_table_as_it_is(run: Run) -> None:
    census()
    options = ["--secret", "income", "--knows", "work", "--publish", "age,height", "--weight", "hh_weight"]
    options += ["--drop", "row,comment,born,empty,person_id,visited"]
    assert run("microdata", "init", "census.csv", "-o", "study.toml", *options)[0] == 0
    study = tomllib.loads(Path("study.toml").read_text())
    assert ([*study["publish"]], study["weight"]) == (["age", "height"], "hh_weight")
    assert (study["eve"][0]["secret"], study["eve"][0]["knows"]) == ("income", ["work"])
    assert not {"undecided", "prior"} & {*study}
    loaded = load_study("study.toml").study
    assert set(loaded["income"].labels) == {"<=50K", ">50K"}
    assert loaded["work"].labels[-1] == "(missing)"
    assert run("microdata", "solve", "study.toml", "--json", "--no-attackers")[0] != 2


def test_columns_that_cannot_have_the_role_they_are_given_are_refused(run: Run) -> None:
    census()
    Path("deep").mkdir()
    everything = "age,work,hh_weight,income,comment,born,height,empty,person_id,visited"
    for options, words in (
        (("--publish", "comment"), "--publish = 'comment' cannot be used as it is: every record has a cell of its own"),
        (("--knows", "visited"), "--knows = 'visited' cannot be used as it is: every record has a cell of its own"),
        (("--knows", "empty"), "--knows = 'empty' cannot be used as it is: all its cells are equal"),
        (("--secret", "nope"), "--secret = 'nope' is not a column of census.csv"),
        (("--drop", "nope"), "--drop = 'nope' is not a column of census.csv"),
        (("--weight", "nope"), "--weight = 'nope' is not a column of census.csv"),
        (("--knows", "work,,age"), "--knows = 'work,,age' must be names of columns"),
        (("--secret", "work", "--knows", "work"), "--secret = 'work' is among the columns she knows already"),
        (("--secret", "work", "--drop", "age,work"), "--drop = 'work' has another role too"),
        (("--drop", f"row,{everything}"), "--secret must be given, for all columns of census.csv have another role"),
        (("--publish", "row", "--drop", everything), "--secret must be given, for all columns of census.csv have"),
        (("--secret", "income", "--drop", f"row,{everything}".replace("income,", "")), "--publish must be given, for"),
        (("--secret", "nope", "-o", "deep/study.toml"), "'nope' is not a column of census.csv"),
    ):
        code, out, err = run("microdata", "init", "census.csv", *options)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err
    assert not any(Path("deep").iterdir())


def notes_of(**columns: list[object]) -> dict[str, str]:
    return {c.name: " | ".join(c.notes) for c in look_at(pd.DataFrame(columns), "t").columns}


def texts(*levels: object, n: int = 60, seed: int = 6) -> list[object]:
    return random.Random(seed).choices(levels, k=n)


def test_a_column_that_determines_another_is_said_and_accidents_are_not() -> None:
    year = texts(1980, 1981, 1982, 1985, n=400)
    table = {
        "year": year,
        "d81": [int(y == 1981) for y in year],
        "seldom": [int(k == 7) for k in range(400)],
        "other": texts(*"abcd", n=400, seed=7),
        "many": [*range(395), 1, 2, 3, 4, 5],
        "code": [f"y{y}" for y in year],
    }
    told = {name: re.findall(r'"(\w+)"', words) for name, words in notes_of(**table).items() if "determines" in words}
    assert told == {"year": ["d81", "code"], "code": ["year", "d81"]}


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
        assert [c.name for c in look_at(some, "t").columns if c.single] == []
    waves = pd.DataFrame(
        {"person": [*range(1, 201), *range(1, 180), *range(1, 90)], "pay": [draw.randint(1, 9) for _ in range(468)]}
    )
    balanced = pd.DataFrame({"nr": sorted([*range(0, 300, 7)] * 3), "pay": [draw.randint(1, 9) for _ in range(129)]})
    for panel, name in ((waves, "person"), (balanced, "nr")):
        assert [c.name for c in look_at(panel.astype(str), "t").columns if c.single] == [name]


@pytest.mark.parametrize(("published", "informed"), [("c0,c1,c2", True), ("c0,c1,c2,c3", False)])
def test_an_eve_who_knows_draws_is_left_out_where_she_would_take_long(run: Run, published: str, informed: bool) -> None:
    draw = random.Random(4)
    sizes = {"secret": 2, "x": 2, "y": 2} | {f"c{k}": 3 for k in range(4)}
    rows = [",".join(f"{name}{draw.randrange(size)}" for name, size in sizes.items()) for _ in range(400)]
    Path("t.csv").write_text("\n".join([",".join(sizes), *rows]) + "\n")
    rest = ["--drop", "c3"] if informed else []
    options = ["--secret", "secret", "--knows", "x,y", "--publish", published, *rest]
    code, out, _ = run("microdata", "init", "t.csv", *options)
    assert (code, "informed" in tomllib.loads(out)["eve"][0]) == (0, informed)
    assert "informed = 20" in run("microdata", "init", "t.csv", "--secret", "secret")[1]


@pytest.mark.parametrize(("records", "learn"), [(49, True), (50, False), (50, True)])
def test_records_are_held_out_only_where_secrets_can_be_modelled(
    run: Run, monkeypatch: pytest.MonkeyPatch, records: int, learn: bool
) -> None:
    if not learn:
        monkeypatch.setattr(proposals, "find_spec", lambda name: None)
    Path("t.csv").write_text("sex,ill,pay\n" + "".join(f"{k % 2},{k % 7 > 4},{k % 3}\n" for k in range(records)))
    options = ("--secret", "ill", "--knows", "sex", "--publish", "pay")
    assert run("microdata", "init", "t.csv", "-o", "study.toml", *options)[0] == 0
    text = Path("study.toml").read_text()
    modelled = records >= 50 and learn
    assert ("holdout = 0" in text, "[prior]" in text) == (not modelled, False)
    if not modelled:
        why = "scikit-learn is not installed" if not learn else "fewer than 50 records"
        assert f"the secrets cannot be modelled: {why}" in text
    assert load_study("study.toml").study.prior.model == ("conditional" if modelled else "counts")
    assert run("microdata", "solve", "study.toml", "--json", "--no-attackers")[0] != 2


TABLES = {
    "fair": (fair, "--publish rate_marriage,religious --secret children --knows age,educ "
                   "--drop yrs_married,occupation,occupation_husb,affairs"),
    "randhie": (randhie, "--publish mdvis,lpi --secret hlthg --knows physlm,idp --drop "),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_studies_of_published_tables_run_as_they_are_written(run: Run, name: str) -> None:
    data, given = TABLES[name]
    frame = data.load_pandas().data[:100]
    options = given.split(" ")
    options[-1] = options[-1] or ",".join(c for c in frame.columns if c not in given.replace(" ", ",").split(","))
    frame.to_csv("t.csv", index=False)
    assert run("microdata", "init", "t.csv", "-o", "study.toml", *options)[0] == 0
    assert run("microdata", "solve", "study.toml", "--out", "D", "--no-attackers")[0] != 2
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
def test_no_table_makes_init_or_a_study_with_all_roles_fail_without_a_line(run: Run, name: str) -> None:
    with open("t.csv", "w", newline="") as file:
        file.write("\n".join(HOSTILE[name]) + "\n")
    code, _, err = run("microdata", "init", "t.csv", "-o", "study.toml")
    assert (code, err) == (0, "")
    code, _, err = run("microdata", "solve", "study.toml", "--json", "--no-attackers")
    assert (code, err.count("\n"), "undecided columns" in err) == (2, 1, True)
    frame = read_table("t.csv")
    seen = [c.name for c in look_at(frame, "t.csv").columns if c.possible]
    if len(seen) < 2:
        return
    published, hers, *known = seen
    rest = [c for c in frame.columns if c not in seen]
    Path("study.toml").write_text(proposal(frame, "t.csv", publish=[published], secret=hers, knows=known, drop=rest))
    code, _, err = run("microdata", "solve", "study.toml", "--json", "--no-attackers")
    assert code != 2, err[:500]


def test_thousands_of_columns_are_looked_at() -> None:
    frame = pd.DataFrame(np.arange(9_000).reshape(3, 3_000) % 2, columns=[f"c{k}" for k in range(3_000)])
    assert len(look_at(frame, "t").columns) == 3_000


def test_a_small_parquet_file_that_unpacks_to_gigabytes_is_refused_by_its_size(tmp_path: Path) -> None:
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(3000, np.int32)), pa.array(["x" * 1_000_000]))
    parquet.write_table(pa.table({"a": text}), tmp_path / "text.parquet", compression="zstd")
    with parquet.ParquetWriter(tmp_path / "rows.parquet", pa.schema([("a", pa.bool_())]), compression="zstd") as out:
        for _ in range(4):
            out.write_table(pa.table({"a": pa.array(np.zeros(10_000_000, bool))}))
    rules = {
        "text": r"unpacks to 2.86e\+03 MB, must be at most 256 MB",
        "rows": "40000000 rows .* at most 20000000 cells",
    }
    for name, rule in rules.items():
        path = tmp_path / f"{name}.parquet"
        assert path.stat().st_size < 200_000
        with pytest.raises(InputError, match=rule):
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
