"""What the two pages on records say in their text, outside their example."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from flint import fmpq

from bap_cli.main import main
from bap_lp.proof.certificate import Verdict
from bap_lp.support.rational import public
from bap_sdc import Eve, Study, load_study, read_table
from bap_sdc.records import bundle
from bap_sdc.records.audit.disclosure import small_cells
from bap_sdc.records.bundle import disagreement, load_solution
from bap_sdc.records.certificates import read_probabilities
from bap_sdc.records.files import STUDY_SCHEMA
from bap_sdc.records.release.alternatives import alternatives

ROOT = Path(__file__).parents[3]
TEXT = "\n".join((ROOT / "docs" / f"{n}.md").read_text(encoding="utf-8") for n in ("microdata", "microdata_reference"))
PAGE = " ".join(TEXT.split())


def section(title: str) -> str:
    return re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:][[*re.findall(r"^## (.*)$", TEXT, re.MULTILINE)].index(title)]


def survey(n: int = 90, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    affair = generator.random(n) < 0.4
    return pd.DataFrame(
        {
            "age": generator.integers(18, 70, n),
            "educ": generator.integers(1, 3, n),
            "children": generator.integers(0, 3, n),
            **dict.fromkeys(("yrs_married", "occupation", "occupation_husb", "affairs"), 1),
            "rate_marriage": np.clip(generator.integers(1, 5, n) - affair, 1, 4),
            "religious": generator.integers(1, 4, n),
            "affair": np.where(affair, "yes", "no"),
        }
    )


def test_the_study_file_shown_is_read_and_has_every_key(tmp_path: Path) -> None:
    shown = re.search(r"^```toml\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert shown is not None
    (tmp_path / "study.toml").write_text(shown[1])
    survey().to_csv(tmp_path / "survey.csv", index=False)
    loaded = load_study(tmp_path / "study.toml")
    assert (loaded.keep, loaded.lam, loaded.study.holdout) == (("age",), "calibrated", F(1, 2))
    assert loaded.study.solve(1).verify()
    document = tomllib.loads(shown[1])
    also = set(re.findall(r"^# (\w+) = ", shown[1], re.MULTILINE)) - {"eve_gain"}
    also |= set(re.findall(r"^\| `\[?\[?(\w+)(?:\]\]| =)", TEXT, re.MULTILINE))  # conditions, in a table of their own
    assert set(document) | (also & set(STUDY_SCHEMA["properties"])) == set(STUDY_SCHEMA["properties"])
    document["alice"] |= dict([re.findall(r'^# (eve_gain) = "(\d%)"', shown[1], re.MULTILINE)[0]])  # instead of lambda
    for table in ("prior", "audit", "release", "alice"):
        assert set(document[table]) == set(STUDY_SCHEMA["properties"][table]["properties"])
    assert set(document["eve"][0]) == set(STUDY_SCHEMA["properties"]["eve"]["oneOf"][0]["properties"])


@pytest.mark.slow
def test_the_commands_go_from_a_table_to_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey(30).to_csv("survey.csv", index=False)
    survey(20, 1).assign(age=40).to_csv("other.csv", index=False)
    lines = re.findall(r"^    bap (microdata .*?)(?: +#.*)?$", TEXT.replace("\\\n", ""), re.MULTILINE)
    assert len(lines) == 7
    for line in lines:
        assert main(line.split()) == 0, line
    assert Path("study.toml").exists()
    assert len(Path("released.csv").read_text().splitlines()) == 31
    assert "<title>" in Path("report.html").read_text()


def test_the_extra_installs_what_the_page_says() -> None:
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["microdata"]
    assert [re.match(r"[\w-]+", name)[0] for name in extra] == ["pandas", "pyarrow", "scikit-learn"]
    assert "`pip install 'bap-lp[microdata]'`: pandas and pyarrow, and scikit-learn for the attackers" in PAGE


def test_the_page_lists_the_keys_of_the_json_document() -> None:
    words = section("JSON").split("`audit` has")
    whole, audited = (set(re.findall(r"`(\w+)`", part)) for part in words)
    result = Study(survey(), {"religious": "0-1"}, [Eve("affair", ["age"])], columns={"age": {"bands": [0, 40, 99]}},
                   holdout="1/3", conditions={"floor": [{"eve": "Eve", "at_least": "1/10"}]}).solve(1)  # fmt: skip
    document = result.document(result.audit(attackers=()))
    inner = {key for part in ("columns", "eves") for key in document[part][0]} | set(document["risks"])
    inner |= set(document["conditions"])
    assert whole == {*document, *inner}
    assert audited - {"value", "error"} == set(document["audit"])
    assert set(document["audit"]["bob"]) == {"value", "error"}


def test_truth_values_and_dates_of_a_csv_file_are_text_and_those_of_a_data_frame_are_not(tmp_path: Path) -> None:
    days, truths = pd.to_datetime(["2024-02-01", "2023-01-01", "2024-02-01"]), [True, False, True]
    frame = pd.DataFrame({"day": days, "truth": truths, "n": ["10", "9", "10"], "ill": ["x", "y", "x"]})
    publish = dict.fromkeys(("day", "truth", "n"), "0-1")
    typed = Study(frame, publish, [Eve("ill")])
    assert [typed[c].labels[0][:10] for c in publish] == ["2023-01-01", "False", "9"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    plain = Study(read_table(tmp_path / "t.csv"), publish, [Eve("ill")])
    assert [plain[c].labels[0][:10] for c in publish] == ["2024-02-01", "True", "9"]


def test_a_secret_may_be_published_and_a_merged_column_holds_its_levels() -> None:
    frame, merged = survey(), {"rate_marriage": {"merge": {"low": [1, 2]}}}
    study = Study(frame, {"affair": "0-1", "rate_marriage": "absolute"}, [Eve("affair", ["educ"])], columns=merged)
    solution = study.solve(1)
    assert solution.verify()
    out = solution.release(frame, keep=["educ"])
    assert list(out.columns) == ["educ", "rate_marriage", "affair"]
    assert "low" in set(out["rate_marriage"])
    assert not {"1", "2", 1, 2} & set(out["rate_marriage"])


def test_the_folder_of_a_study_says_who_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    survey().to_csv("survey.csv", index=False)
    lines = ['data = "survey.csv"', "[publish.religious]", "[[eve]]", 'secret = "affair"', 'knows = ["educ"]']
    Path("study.toml").write_text("\n".join([*lines, "[audit]", 'holdout = "1/3"']))
    assert main(["microdata", "solve", "study.toml", "--out", "D", "--no-attackers"]) == 0
    study = load_study("study.toml").study
    counts, told = (json.loads(Path("D", f"{n}.json").read_text()) for n in ("prior", "mechanism"))
    rows = [row[:-1] for part in ("fitted", "held_out") for row in counts[part] for _ in range(row[-1])]
    assert sorted(rows) == sorted(study.codes.tolist())
    assert (read_probabilities(counts["p"]) == study.prior.p).all()
    at = study.names.index("affair")
    everybody = {(*row[:at], secret, *row[at + 1 :]) for row in study.codes.tolist() for secret in (0, 1)}
    assert {tuple(row) for row in told["types"]} == everybody  # with either secret, whichever the record has
    solution = load_solution("D")
    result = json.loads(Path("D", "result.json").read_text())
    folder = solution.folder

    def claimed(**more: object) -> str:
        files = {**folder.raw, "result.json": json.dumps({**result, **more}).encode()}
        return disagreement(replace(solution, folder=replace(folder, raw=files)))

    assert claimed(audit=None, verdict=None, light=None) == ""  # they are no part of the proof
    assert claimed(audit=None) == "result.json has an audit of other records than those that were held out"
    assert claimed(types=1) == "result.json has another types than the proof"


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", ["release D survey.csv -o out.csv", "audit D survey.csv", "report D -o out.html", "compare D", "path D"]
)
def test_nothing_is_done_with_a_folder_whose_proof_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    survey().to_csv("survey.csv", index=False)
    solution = Study(survey(), {"religious": "0-1"}, [Eve("affair", ["educ"])]).solve(1)
    Path("D").mkdir()
    for name, text in bundle.bundle_texts(solution, solution.document()).items():
        Path("D", name).write_bytes(text)
    assert main(["microdata", *command.split()]) == 0
    capsys.readouterr()
    for made in (Path("out.csv"), Path("out.html")):
        made.unlink(missing_ok=True)
    monkeypatch.setattr("bap_sdc.records.solution.StudySolution.verify", lambda self: Verdict(False, "the proof fails"))
    assert main(["microdata", *command.split()]) == 1
    assert capsys.readouterr() == ("", "bap: D does not prove its optimum: the proof fails\n")
    assert not Path("out.csv").exists()
    assert not Path("out.html").exists()


def test_the_prior_does_not_depend_on_the_secrets_of_held_out_records(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = survey(120)
    columns = {"age": {"bands": [0, 40, 99]}, "affair": {"levels": ["no", "yes"]}}
    publish, eves = {"religious": "0-1"}, [Eve("affair", ["age", "educ"], informed=2)]
    one = Study(frame, publish, eves, holdout="1/3", columns=columns)
    monkeypatch.setattr("bap_sdc.records.study.held_out", lambda *_: one.left_out)  # which secrets stratify

    def changed(which: np.ndarray, column: str, cells: object) -> Study:
        other = frame.copy()
        other.loc[which, column] = cells
        return Study(other, publish, eves, holdout="1/3", columns=columns)

    two = changed(one.left_out, "affair", frame["affair"].map({"yes": "no", "no": "yes"}))
    assert (two.codes != one.codes).any(axis=1).sum() == 40
    assert (two.prior.types == one.prior.types).all()
    assert (two.prior.p == one.prior.p).all()
    assert (two.prior.draws[2] == one.prior.draws[2]).all()
    fitted = changed(~one.left_out, "affair", frame["affair"].map({"yes": "no", "no": "yes"}))
    assert (fitted.prior.p != one.prior.p).any()
    rest = changed(one.left_out, "religious", 1)  # what else they have is known: it is in the file that is released
    assert sum(public(rest.prior.p[rest.prior.types[:, rest.published[0]] == 0])) > F(40, 120)


def test_the_three_smallest_combinations_are_named() -> None:
    frame = pd.DataFrame(
        {"z": [k for k in range(6) for _ in range(6 - k)], "ill": [0, 1] * 10 + [1], "pay": [0, 1, 1] * 7}
    )
    (found,) = small_cells(Study(frame, {"pay": "0-1"}, [Eve("ill", ["z"])]), 10)
    assert str(found).endswith("fewer than 10 records: z=5 (1); z=4 (2); z=3 (3) and 3 more")


def test_the_alternatives_are_what_the_page_says() -> None:
    study = Study(survey(), {"rate_marriage": "absolute", "religious": "0-1"}, [Eve("affair", ["educ"])])
    found = {channel.name: channel for channel in alternatives(study)[0]}
    n, codes = study.records, study.codes
    margin = [np.bincount(codes[:, k], minlength=study.levels[k]) for k in study.published]
    for j, size in enumerate(len(m) for m in margin):
        same = np.eye(size, dtype=int)
        assert (found["as is"].matrices[j] == same).all()
        assert found["suppress all"].matrices[j].shape == (size, 1)
        joined = found["generalise"].matrices[j]
        assert [joined[:, s].sum() for s in range(joined.shape[1])] == ([2, 2] if size == 4 else [3])
        for share in (5, 20):
            # the partner of a swap is another record, so the margin is right up to one of n - 1
            for level in range(size):
                partner = [F(int(c) - int(v == level), n - 1) for v, c in enumerate(margin[j])]
                drawn = [F(100 - share, 100) * int(v == level) + F(share, 100) * p for v, p in enumerate(partner)]
                row = public(found[f"swap {share}%"].matrices[j][level])
                assert max(abs(a - b) for a, b in zip(row, drawn, strict=True)) <= F(share, 100) / (n - 1)
        for ratio in (2, 5, 20):
            table = found[f"randomised response e^eps = {ratio}"].matrices[j]
            assert {table[a, a] / table[a, b] for a in range(size) for b in range(size) if a != b} == {fmpq(ratio)}
    told = [
        found[name].matrices[0][found[name].place(codes)] for name in ("synthetic", "synthetic given known columns")
    ]
    pairs = [tuple(row) for row in codes[:, list(study.published)].tolist()]
    educ = codes[:, study.names.index("educ")]
    for x in (0, 7):
        for s, pair in enumerate(np.ndindex(*(len(m) for m in margin))):
            assert told[0][x, s] == fmpq(pairs.count(pair), n)
            like = [one for one, z in zip(pairs, educ, strict=True) if z == educ[x]]
            assert told[1][x, s] == fmpq(like.count(pair), len(like))


def test_attackers_learn_from_the_released_fitted_half_with_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    from bap_sdc.records.audit import audit

    seen = []

    def trained(name, features, secret, loss):
        seen.append((name, features, secret))
        return lambda asked: np.zeros(len(asked), dtype=int)

    monkeypatch.setattr(audit, "trained", trained)
    study = Study(survey(300), {"rate_marriage": "absolute"}, [Eve("affair", ["educ"])], holdout="1/2")
    solution = study.solve(3)
    assert float(solution.changed[0]) > 0.05
    solution.audit()
    assert [name for name, _, _ in seen] == ["logistic regression", "gradient boosting", "nearest neighbours"]
    fitted = study.codes[~study.left_out]
    _, features, secret = seen[0]
    at = [study.names.index(name) for name in ("educ", "affair", "rate_marriage")]
    records = sorted(zip(features[:, 1], secret, strict=True))
    assert records == sorted(zip(fitted[:, at[0]], fitted[:, at[1]], strict=True))
    released, true = np.sort(features[:, 0]), np.sort(fitted[:, at[2]])
    assert len(released) == len(true)
    assert (released != true).any()  # what she sees is released, not the table


def test_a_cap_that_cannot_be_met_is_refused_in_the_words_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    columns = {"age": [1, 1, 1, 1, 2, 2], "ill": [0, 0, 1, 0, 1, 1], "pay": [1, 2, 3, 1, 3, 3]}
    pd.DataFrame(columns).to_csv("table.csv", index=False)
    lines = ['data = "table.csv"', "[publish.pay]", "[[eve]]", 'secret = "ill"', 'knows = ["age"]']
    Path("study.toml").write_text("\n".join([*lines, "[[cap]]", 'secret = "ill"', "level = 1", 'at_most = "1/2"']))
    assert main(["microdata", "solve", "study.toml"]) == 2
    assert capsys.readouterr().err.strip() in PAGE
