"""`bap microdata`: from a table to a released file, end to end, and what is refused leaves nothing behind."""

from __future__ import annotations

import csv
import json
import re
import shutil
import sys
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

from bap_cli.main import main
from bap_lp import solve
from bap_sdc import load_study

NOTHING_TRIED = (
    "bap: warning: AMBER: the promise is neither confirmed nor refuted. No records were held out, so nothing was tried:"
    " hold out a half (audit.holdout).\n"
)
STUDY = """
data = "survey.csv"
title = "A small survey"
[publish.rating]
loss = "absolute"
weight = 1
[publish.faith]
loss = "0-1"
[[eve]]
name = "neighbour"
secret = "affair"
knows = ["age"]
loss = [[0, 1], [3, 0]]
[prior]
smoothing = 0
[columns.age]
bands = [0, 30, 100]
[audit]
holdout = 0
[alice]
lambda = "calibrated"
"""


def survey(n: int = 120, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    affair = generator.random(n) < 0.35
    rating = np.clip(generator.integers(1, 5, n) - affair, 1, 4)
    faith = generator.choice(["none", "some", "NA"], n)
    age = generator.integers(18, 70, n)
    return pd.DataFrame(
        {"id": range(n), "age": age, "rating": rating, "faith": faith, "affair": np.where(affair, "yes", "no")}
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    survey().to_csv("survey.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY)
    return tmp_path


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder of the solved study."""
    place = tmp_path_factory.mktemp("made")
    survey().to_csv(place / "survey.csv", index=False)
    (place / "study.toml").write_text(STUDY)
    assert main(["microdata", "solve", str(place / "study.toml"), "--out", str(place / "D"), "--no-attackers"]) == 0
    return place / "D"


@pytest.fixture
def solved(folder, made):
    """A copy of the folder of the solved study, which a test may change."""
    shutil.copytree(made, folder / "D")
    return folder


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(["microdata", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.slow
def test_a_table_is_solved_released_audited_and_reported(folder, capsys):
    code, out, _ = run(capsys, "solve", "study.toml", "--out", "D")
    assert code == 0
    assert "This is proved exactly" in out
    assert sorted(p.name for p in (folder / "D").iterdir()) == [
        "certificate.json", "manifest.json", "mechanism.json", "prior.json", "result.json", "study.json",
    ]  # fmt: skip
    code, out, err = run(capsys, "release", "D", "survey.csv", "-o", "out.csv")
    assert (code, err) == (0, NOTHING_TRIED)
    assert "Columns left out: id, age, affair" in out
    rows = list(csv.reader((folder / "out.csv").read_text().splitlines()))
    assert rows[0] == ["rating", "faith"]
    assert len(rows) == 121
    assert {row[1] for row in rows[1:]} <= {"none", "some", ""}
    code, out, _ = run(capsys, "audit", "D", "survey.csv", "--json")
    audit = json.loads(out)
    result = json.loads((folder / "D" / "result.json").read_text())
    assert audit["eve"]["value"] == pytest.approx(float(F(result["risks"]["eve"])))
    assert audit["bob"]["value"] == pytest.approx(float(F(result["risks"]["bob"])))
    code, out, _ = run(capsys, "audit", "D", "survey.csv", "--no-attackers")
    assert re.search(r"k-anonymity +\d+ +unchanged", out)  # she knows her columns with or without a release
    code, out, _ = run(capsys, "report", "D", "-o", "report.html", "--no-attackers")
    assert code == 0
    assert "A small survey" in (folder / "report.html").read_text()


def test_json_has_the_numbers_of_the_ordinary_problem(folder, capsys):
    code, out, _ = run(capsys, "solve", "study.toml", "--json")
    result = json.loads(out)
    assert code == 0
    assert result["exact"] is True
    assert (result["gap"], result["audit"], result["smoothing"], result["records"]) == ("0", None, "0", 120)
    loaded = load_study("study.toml")
    reference = solve(loaded.study.problem(), "calibrated")
    assert result["lambda"] == str(reference.lam)
    assert result["bound"] == result["risks"]["alice"] == str(reference.value)
    assert result["risks"]["bob"] == str(reference.risks.bob)
    assert set(result["eves"][0]) >= {"risk", "null", "full"}
    assert sum(F(c["risk"]) * F(c["weight"]) for c in result["columns"]) == F(result["risks"]["bob"])


@pytest.mark.slow
def test_held_out_records_are_audited_and_the_folder_gives_the_same_audit(folder, capsys):
    (folder / "study.toml").write_text(STUDY.replace("holdout = 0", 'holdout = "1/3"'))
    _, out, err = run(capsys, "solve", "study.toml", "--out", "D", "--json")
    result = json.loads(out)
    assert result["audit"]["records"] == 40
    assert result["records"] == 80
    assert result["audit"]["unseen"] == 0
    assert result["model"] == "conditional"
    assert result["verdict"]["words"][0].startswith(f"{result['light'].upper()}: ")
    eve, learners = result["audit"]["eves"][0], {"logistic regression", "gradient boosting"}
    assert set(eve["attackers"]) == {*learners, "nearest neighbours"}
    assert set(eve["knowing"]) == {*learners, "counts of the fitted half"}
    from bap_sdc.records.bundle import load_solution

    again = load_solution("D")
    assert again.verify()
    assert again.document(again.audit(), again.verdict()) == result
    assert "warning" not in err


def test_a_proposed_study_is_written_where_it_finds_its_table_and_never_over_an_edited_one(folder, capsys):
    (folder / "studies").mkdir()
    roles = ("--publish", "rating,faith", "--secret", "affair", "--knows", "age", "--drop", "id")
    code, out, _ = run(capsys, "init", "survey.csv", "-o", "studies/first.toml", *roles)
    assert (code, "bap microdata solve studies/first.toml --out DIR" in out) == (0, True)
    assert run(capsys, "solve", "studies/first.toml", "--json", "--no-attackers")[0] == 0
    (folder / "studies/first.toml").write_text("edited")
    code, out, err = run(capsys, "init", "survey.csv", "-o", "studies/first.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--out = 'studies/first.toml' is there already" in err
    assert (folder / "studies/first.toml").read_text() == "edited"


def test_a_folder_of_somebody_else_is_not_solved_into(folder, capsys):
    (folder / "D").mkdir()
    (folder / "D" / "study.json").write_text("{}")
    (folder / "D" / "manifest.json").write_text("[]")
    code, out, err = run(capsys, "solve", "study.toml", "--out", "D", "--no-attackers")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "--out = 'D' has files, and is no folder of an earlier solve" in err
    assert (folder / "D" / "study.json").read_text() == "{}"
    for path in (folder / "D").iterdir():
        path.unlink()
    assert run(capsys, "solve", "study.toml", "--out", "D", "--no-attackers")[0] == 0  # empty
    assert run(capsys, "solve", "study.toml", "--out", "D", "--no-attackers")[0] == 0  # its own


def test_a_page_or_picture_replaces_only_one_that_was_made_with_bap(solved, capsys):
    for command, name in (
        (["microdata", "report", "D", "--no-attackers"], "page.html"), (["report", "coin_toss"], "page.html"),
        (["plot", "coin_toss"], "map.png"), (["plot", "coin_toss"], "map.svg"), (["plot", "coin_toss"], "map.pdf"),
        (["plot", "study.toml", "--kind", "path"], "map.png"), (["model", "rare_disease", "--plot"], "map.png"),
    ):  # fmt: skip
        ask = [*command, *([] if "--plot" in command else ["-o"]), name]
        place = solved / name
        place.write_text("my own work about bap-lp")
        assert main(ask) == 2
        assert "is there already, and was not made with bap" in capsys.readouterr().err
        assert place.read_text() == "my own work about bap-lp"
        place.unlink()
        assert main(ask) == main(ask) == 0
        assert place.stat().st_size > 1000
        place.unlink()


def test_a_rehearsal_is_repeated_and_warned_of(solved, capsys):
    texts = []
    for name in ("a.csv", "b.csv"):
        code, _, err = run(capsys, "release", "D", "survey.csv", "-o", name, "--seed", "7", "--keep", "age")
        assert code == 0
        assert "do not publish" in err
        texts.append((solved / name).read_text())
    assert texts[0] == texts[1]
    assert texts[0].splitlines()[0] == "age,rating,faith"
    assert {line.split(",")[0] for line in texts[0].splitlines()[1:]} == {"0-29", "30-100"}


def test_parquet_is_read_and_written(folder, capsys):
    frame = survey().replace({"faith": {"NA": None}})
    frame.to_parquet("survey.parquet", index=False)
    (folder / "study.toml").write_text(STUDY.replace("survey.csv", "survey.parquet"))
    code, _, err = run(capsys, "solve", "study.toml", "--out", "D")
    assert code == 0, err
    code, _, err = run(capsys, "release", "D", "survey.parquet", "-o", "out.parquet")
    assert code == 0, err
    out = pd.read_parquet("out.parquet")
    assert out.dtypes.tolist() == pd.read_parquet("survey.parquet")[["rating", "faith"]].dtypes.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("options", [[], ["--float"]])
def test_a_search_that_stopped_is_reported_and_warned_of_and_not_released(folder, capsys, monkeypatch, options):
    from bap_lp.questions.optimum import search

    monkeypatch.setattr(search, "_NODES", 2)
    (folder / "study.toml").write_text(STUDY + "[conditions]\ndeterministic = true\n")
    code, out, err = run(capsys, "solve", "study.toml", "--out", "D", *options)
    assert code == 0
    assert "This is proved up to 0.13: value" in out
    assert "warning: the search stopped before the optimum was proved: `release` will refuse it" in err
    assert "needs --allow-float" not in err
    allow = ["--allow-float"] if options else []
    code, out, err = run(capsys, "release", "D", "survey.csv", "-o", "out.csv", *allow)
    assert (code, out) == (1, "")
    assert "of optimal under the conditions" in err
    assert not (folder / "out.csv").exists()


@pytest.mark.slow
def test_a_public_report_has_no_counts_and_no_fractions_of_the_prior(folder, capsys):
    (folder / "study.toml").write_text(STUDY.replace("holdout = 0", 'holdout = "1/2"'))
    _, _, err = run(capsys, "solve", "study.toml", "--out", "D", "--threshold", "40", "--no-attackers")
    small = "1 combination of the columns that the neighbour knows with fewer than 40 records: age=0-29"
    assert f"warning: {small}" in err
    run(capsys, "report", "D", "-o", "internal.html", "--no-attackers")
    code, out, _ = run(capsys, "report", "D", "-o", "public.html", "--public", "--no-attackers")
    assert code == 0
    assert "without the prior" in out
    internal, public = ((folder / f"{kind}.html").read_text() for kind in ("internal", "public"))
    words = re.sub(r"<style>.*?</style>|base64,[^\"]*|<meta[^>]*>", "", public, flags=re.DOTALL)
    assert "The prior" in internal
    assert "The prior" not in words
    assert re.findall(r"\d+/\d+", words) == []
    assert re.findall(r"\d+/\d+", re.sub(r"base64,[^\"]*", "", internal)) != []
    assert re.findall(r"\d\.\d{4,}", words) == []
    assert "<script" not in public
    smallest = r"smallest group that shares what she knows \(k\)</th><td>([^<]*)</td><td>unchanged</td>"
    code, _, _ = run(capsys, "report", "D", "-o", "more.html", "--public", "--no-attackers", "--threshold", "5")
    shown = [re.search(smallest, text)[1] for text in (internal, public, (folder / "more.html").read_text())]
    assert shown == ["9", "fewer than 10", "9"]
    run(capsys, "report", "D", "-o", "less.html", "--public", "--no-attackers", "--threshold", "61")
    assert (folder / "less.html").read_text().count("and levels with fewer than 61 records") == 4  # of every column


def test_without_pandas_one_line_says_what_to_install(folder, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    code, _, err = run(capsys, "solve", "study.toml")
    assert code == 2
    assert err == "bap: microdata needs pandas: pip install 'bap-lp[microdata]'\n"
    monkeypatch.undo()
    monkeypatch.setattr(pd, "__version__", "2.3.3")
    code, _, err = run(capsys, "solve", str(folder / "study.toml"))
    assert (code, err.count("\n")) == (2, 1)
    assert "microdata needs pandas 3, and 2.3.3 is installed" in err


def edit(old: str, new: str):
    return lambda folder: (folder / "study.toml").write_text(STUDY.replace(old, new, 1))


def data(text: str):
    return lambda folder: (folder / "survey.csv").write_text(text)


HEAD = "age,rating,faith,affair\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: (folder / "survey.csv").unlink(), "survey.csv cannot be read: No such file"),
        (lambda folder: (folder / "study.toml").unlink(), "study.toml cannot be read"),
        (edit('data = "survey.csv"', ""), "study.toml: data is missing"),
        (
            edit("[publish.rating]", "[publish.rat]"),
            "study.toml: publish.rat names column 'rat', which survey.csv does not",
        ),
        (
            edit('secret = "affair"', 'secret = "age"'),
            "study.toml: eve[0].secret = 'age' is among the columns she knows",
        ),
        (edit('secret = "affair"', ""), "study.toml: eve[0].secret is missing"),
        (edit('knows = ["age"]', "knows = [1]"), "study.toml: eve[0].knows[0] = 1 must be the name of a column"),
        (edit("[0, 30, 100]", "[0, 30, 40]"), "survey.csv: column 'age' = "),
        (edit("smoothing = 0", "smoothing = -1"), "study.toml: prior.smoothing = -1 must be"),
        (edit("holdout = 0", "holdout = 1"), "study.toml: audit.holdout = 1 must be at least 0 and below 1"),
        (edit('lambda = "calibrated"', "lambda = -1"), "study.toml: alice.lambda = -1 must not be negative"),
        (edit('lambda = "calibrated"', 'lambda = "big"'), "study.toml: alice.lambda = 'big' is not a number"),
        (edit("[alice]", "[alicia]"), "study.toml: alicia is not a known key"),
        (edit("[audit]", "[audit"), "study.toml is not TOML"),
        (data(HEAD + "1,2,a,no\n2,3,b\n"), "survey.csv: line 3 has 3 cells, must have 4"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_written(folder, capsys, change, words):
    change(folder)
    code, out, err = run(capsys, "solve", "study.toml", "--out", "D")
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
    assert not (folder / "D").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("release", "nowhere", "survey.csv", "-o", "x.csv"), "must be a folder written by"),
        (("release", "D", "other.csv", "-o", "x.csv"), "other.csv cannot be read"),
        (
            ("release", "D", "bad.csv", "-o", "x.csv"),
            "bad.csv: column 'rating', record 1 = '99' must be one of the levels",
        ),
        (("release", "D", "survey.csv", "-o", "survey.csv"), "must not be the table itself"),
        (
            ("release", "D", "survey.csv", "-o", "x.csv", "--keep", "affair"),
            "--keep = 'affair' would tell neighbour more",
        ),
        (("release", "D", "survey.csv", "-o", "no/x.csv"), "must be in a directory that exists"),
        (("audit", "D", "bad.csv"), "bad.csv: column 'rating'"),
        (("audit", "empty", "survey.csv"), "must be a folder written by `bap microdata solve --out`"),
        (("report", "D", "-o", "no/r.html"), "must be in a directory that exists"),
        (("init", "short.csv", "--publish", "rating"), "--secret must be given, for all columns of short.csv have"),
        (("solve", "study.toml", "--lambda", "-1"), "--lambda = -1 must not be negative"),
        (("solve", "study.toml", "--time-limit", "-1"), "--time-limit = -1 must be a number of seconds"),
        (("solve", "study.toml", "--lambda", "1e300"), "times Eve's largest loss must be below 1e300"),
    ],
)
def test_the_other_commands_refuse_in_one_line_too(solved, capsys, arguments, words):
    survey(3).assign(rating=99).to_csv("bad.csv", index=False)
    pd.DataFrame({"rating": [1, 2]}).to_csv("short.csv", index=False)
    (solved / "empty").mkdir()
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert err.count("\n") == 1
    assert words in err
    assert not (solved / "x.csv").exists()


@pytest.mark.parametrize(
    ("keep", "words"), [("zz", "is not a column"), ("affair", "would tell"), ("faith", "is published")]
)
def test_a_column_that_cannot_be_kept_is_refused_before_solving(folder, capsys, keep, words):
    (folder / "study.toml").write_text(STUDY + f'[release]\nkeep = ["{keep}"]\n')
    code, out, err = run(capsys, "solve", "study.toml", "--out", "D")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"study.toml: release.keep = '{keep}' {words}" in err
    assert not (folder / "D").exists()


def test_numbers_of_a_csv_file_are_numbers_in_parquet(solved, capsys):
    code, _, err = run(capsys, "release", "D", "survey.csv", "-o", "out.parquet")
    assert (code, err) == (0, NOTHING_TRIED)
    out = pd.read_parquet(solved / "out.parquet")
    assert out["rating"].dtype == "int64"
    assert set(out["faith"].dropna()) <= {"none", "some"}


def test_an_exact_study_needs_an_exact_proof(folder, capsys):
    code, _, err = run(capsys, "solve", "study.toml", "--float", "--out", "D", "--no-attackers")
    assert code == 0
    assert "`release` needs --allow-float" in err
    code, out, err = run(capsys, "release", "D", "survey.csv", "-o", "out.csv")
    assert (code, out) == (1, "")
    assert "the study is exact and its proof is in floats (--allow-float accepts it)" in err
    assert not (folder / "out.csv").exists()
    assert run(capsys, "release", "D", "survey.csv", "-o", "out.csv", "--allow-float")[0] == 0


def test_what_holds_the_prior_is_for_its_owner_alone(folder, capsys):
    (folder / "D").mkdir(mode=0o755)
    (folder / "report.html").touch(mode=0o644)
    run(capsys, "solve", "study.toml", "--out", "D", "--no-attackers")
    assert (folder / "D").stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in (folder / "D").iterdir()} == {0o600}
    run(capsys, "report", "D", "-o", "report.html", "--no-attackers")
    assert (folder / "report.html").stat().st_mode & 0o777 == 0o600


def test_a_public_report_names_no_level_that_few_records_have_and_lists_text_by_the_alphabet(folder, capsys):
    jobs = ["the mayor"] + ["nurse", "baker", "smith"] * 20
    lines = [f"{job},{k % 2},{'yes' if k % 3 else 'no'}" for k, job in enumerate(jobs)]
    (folder / "t.csv").write_text("\n".join(["job,pay,ill", *lines]) + "\n")
    text = 'data = "t.csv"\n[publish.job]\n[publish.pay]\n[[eve]]\nsecret = "ill"\n[alice]\nlambda = 1\n'
    (folder / "study.toml").write_text(text)
    run(capsys, "solve", "study.toml", "--out", "D", "--no-attackers")
    for options in ((), ("--public",)):
        run(capsys, "report", "D", "-o", "r.html", "--no-attackers", *options)
        page = (folder / "r.html").read_text()
        assert ("the mayor" in page) == (not options)
    assert "baker, nurse, smith; and levels with fewer than 10 records" in page
    run(capsys, "report", "D", "-o", "r.html", "--no-attackers", "--public", "--threshold", "0")
    assert "baker, nurse, smith, the mayor" in (folder / "r.html").read_text()
    run(capsys, "report", "D", "-o", "r.html", "--no-attackers", "--public", "--threshold", "21")
    assert "baker" not in (folder / "r.html").read_text()
