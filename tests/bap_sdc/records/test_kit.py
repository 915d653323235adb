"""The kit for analysts has all that they need, and nothing that is confidential."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from bap_cli.main import main
from bap_cli.records.first_screen import first_screen
from bap_sdc import Eve, PublishedChannel, Study, estimates, read_table
from bap_sdc.records.bundle import bundle_texts
from bap_sdc.records.data.tables import table_bytes
from bap_sdc.records.release.kit import kit_files
from bap_sdc.records.release.pram import read_pram

STUDY = """
title = "A survey"
data = "secret_place.csv"
[publish.pay]
loss = "absolute"
[publish.job]
[[eve]]
name = "neighbour"
secret = "ill"
knows = ["age"]
loss = [[0, 1], [3, 0]]
[columns.pay]
levels = [1, 2, 3]
[audit]
holdout = "1/2"
[release]
keep = ["age"]
"""


def people(count: int = 400) -> pd.DataFrame:
    """Illness shows in pay; one zebra keeper among all jobs; the first job to appear is the last of the alphabet."""
    random = np.random.default_rng(5)
    ill = random.random(count) < 0.3
    job = random.choice(["clerk", "baker", "painter"], count).astype(object)
    job[0], job[1] = "painter", "zebra keeper"
    pay = np.where(ill, random.choice([1, 1, 2], count), random.choice([1, 2, 3, 3], count))
    age = random.integers(20, 23, count)
    age[1] = 40  # nobody else is released as a zebra keeper
    return pd.DataFrame({"id": np.arange(count), "ill": np.where(ill, "yes", "no"), "pay": pay, "job": job, "age": age})


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    people().to_csv("secret_place.csv", index=False)
    Path("study.toml").write_text(STUDY)
    assert main(["microdata", "solve", "study.toml", "--out", "D", "--no-attackers"]) == 0
    assert main(["microdata", "release", "D", "secret_place.csv", "-o", "out.csv"]) == 0
    capsys.readouterr()
    return tmp_path


def publish(*more: str) -> int:
    return main(["microdata", "publish", "D", "--released", "out.csv", "-o", "kit", *more])


def test_a_kit_is_bound_to_what_was_signed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish() == 0
    assert "Nothing in it is confidential" in capsys.readouterr().out
    manifest = json.loads(Path("kit/manifest.json").read_text())
    assert sorted(p.name for p in Path("kit").iterdir()) == sorted(
        [*("README.md", "channel.json", "codebook.csv", "manifest.json", "pd_job.csv", "pd_pay.csv"),
         *("released.csv", "risks.json")]
    )  # fmt: skip
    for name, digest in manifest["files"].items():
        assert hashlib.sha256(Path("kit", name).read_bytes()).hexdigest() == digest
    assert manifest["source"]["sha256"] == hashlib.sha256(Path("D/manifest.json").read_bytes()).hexdigest()
    assert Path("kit/released.csv").read_bytes() == Path("out.csv").read_bytes()


def test_a_changed_kit_is_found_out(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish() == 0
    assert main(["verify", "kit"]) == 0
    assert hashlib.sha256(Path("D/manifest.json").read_bytes()).hexdigest() in capsys.readouterr().out
    Path("kit/risks.json").write_text(Path("kit/risks.json").read_text().replace('"eve": 0', '"eve": 9'))
    assert main(["verify", "kit"]) == 1
    assert "does not fit risks.json" in capsys.readouterr().err
    manifest = json.loads(Path("kit/manifest.json").read_text())
    Path("kit/manifest.json").write_text(json.dumps(manifest | {"files": {"../D/prior.json": "0"}}))
    assert main(["verify", "kit"]) == 2
    assert "must name files of its folder" in capsys.readouterr().err


def _refitted(name: str, content: bytes) -> None:
    """Exchange a file of the kit, and its SHA-256 in the manifest."""
    Path("kit", name).write_bytes(content)
    manifest = json.loads(Path("kit/manifest.json").read_text())
    manifest["files"][name] = hashlib.sha256(content).hexdigest()
    Path("kit/manifest.json").write_text(json.dumps(manifest))


def test_exchanged_rows_show_in_the_digest_that_the_publisher_announces(
    place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert publish() == 0
    announced = re.search(
        r"To announce: SHA-256 of its manifest\.json ([0-9a-f]{64})", " ".join(capsys.readouterr().out.split())
    )
    assert announced is not None
    assert announced[1] == hashlib.sha256(Path("kit/manifest.json").read_bytes()).hexdigest()
    assert main(["verify", "kit"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"SHA-256 of manifest.json {announced[1]}." in told
    assert "signed" not in told
    header, *rows = Path("kit/released.csv").read_text().splitlines()
    _refitted("released.csv", "\n".join([header, *rows[::-1], ""]).encode())
    assert main(["verify", "kit"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Whoever exchanges files can fit the manifest to them" in told
    assert announced[1] not in told
    _refitted("released.csv", f"{header}\n99,baker,20\n".encode())
    assert main(["verify", "kit"]) == 1
    assert "released.csv does not fit channel.json" in capsys.readouterr().err


@pytest.mark.parametrize(
    "lost", ["README.md", "channel.json", "codebook.csv", "risks.json", "released.csv", "pd_pay.csv"]
)
def test_a_kit_that_was_cut_is_refused(place: Path, lost: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish() == 0
    manifest = json.loads(Path("kit/manifest.json").read_text())
    del manifest["files"][lost]
    Path("kit/manifest.json").write_text(json.dumps(manifest))
    assert main(["verify", "kit"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "manifest.json must name" in error
    manifest["files"] = {"README.md": manifest["files"].get("README.md", "")}
    Path("kit/manifest.json").write_text(json.dumps(manifest))
    assert main(["verify", "kit"]) == 1


def test_what_a_kit_says_of_itself_does_nothing_on_a_terminal(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish() == 0
    manifest = json.loads(Path("kit/manifest.json").read_text())
    evil = "\x1b]0;owned\x07\x1b[2J"
    Path("kit", f"{evil}.txt").touch()
    capsys.readouterr()
    for changed in (
        {"made": evil}, {"source": {"name": evil, "sha256": evil}}, {"how": evil}, {"version": evil}, {"format": evil},
        {"files": {**manifest["files"], evil: "0"}}, {"files": {**manifest["files"], evil + ".txt": "0"}},
        {"files": {**manifest["files"], "released.csv": evil}}, {"method": evil}, {evil: 1},
    ):  # fmt: skip
        Path("kit/manifest.json").write_text(json.dumps(manifest | changed))
        main(["verify", "kit"])
        told = capsys.readouterr()
        assert "\x1b" not in told.out + told.err, changed
        assert "\x07" not in told.out + told.err, changed
        assert told.out + told.err


def test_nothing_confidential_is_in_a_kit(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = people()
    frame[frame["job"] != "zebra keeper"].to_csv("others.csv", index=False)  # a level that the released file hides
    assert main(["microdata", "release", "D", "others.csv", "-o", "out.csv"]) == 0
    assert "zebra" not in Path("out.csv").read_text()
    assert publish() == 2
    assert "the draw in the ledger is of other records" in capsys.readouterr().err
    assert publish("--records", "others.csv") == 0
    texts = {p.name: p.read_text() for p in Path("kit").iterdir()}
    for name, text in texts.items():
        if name == "released.csv":
            continue
        assert not re.search(r"\d+/\d+", text), name  # no exact fraction
        for word in ("zebra", "secret_place", "study.toml", str(place), '"fitted"', "held_out", "replies", "types"):
            assert word not in text, (name, word)
    confidential = json.loads(Path("D/prior.json").read_text())
    assert json.dumps(confidential["fitted"])[1:-1] not in "".join(texts.values())
    numbers = [float(v) for row in json.loads(texts["channel.json"])["channel"]["pay"] for v in row]
    assert all(abs(v * 10**4 - round(v * 10**4)) < 1e-6 for v in numbers)
    assert list(json.loads(texts["channel.json"])["levels"]["job"]) == ["baker", "clerk", "painter"]


def test_an_analyst_needs_the_kit_alone(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert publish() == 0
    channel = PublishedChannel.from_document(json.loads(Path("kit/channel.json").read_text()))
    table = estimates(channel, read_table("kit/released.csv")).table("pay")
    truth = people()["pay"].value_counts(normalize=True)
    covered = [table.loc[str(v), "low"] - 0.05 <= truth[v] <= table.loc[str(v), "high"] + 0.05 for v in (1, 2, 3)]
    assert all(covered)
    capsys.readouterr()
    assert main(["microdata", "estimate", "kit", "kit/released.csv"]) == 0
    told = capsys.readouterr().out
    assert "share" in told
    assert main(["microdata", "estimate", "kit"]) == 0
    assert capsys.readouterr().out == told
    rows = list(csv.reader(Path("kit/pd_pay.csv").read_text().splitlines()))
    assert rows[0] == ["", "1", "2", "3"]
    assert [round(sum(map(float, row[1:])), 9) for row in rows[1:]] == [1, 1, 1]
    assert ["age", "20", "released as it is"] in list(csv.reader(Path("kit/codebook.csv").read_text().splitlines()))


def test_a_file_that_was_not_drawn_is_not_published(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people()[["pay", "job"]].to_csv("out.csv", index=False)  # the raw cells under the right names
    assert publish() == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "was not drawn from D, or was changed" in error
    assert not Path("kit").exists()


def test_a_kit_does_not_go_into_the_confidential_folder(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("D/kit").mkdir()
    Path("link").symlink_to("D")
    for out in ("D/kit", "D/new", "D/new/kit", "link/new", "D", "link"):
        assert main(["microdata", "publish", "D", "--released", "out.csv", "-o", out]) == 2
        assert "must not be in the folder of the study" in capsys.readouterr().err
    assert not Path("D/new").exists()


def test_a_kit_is_given_away_whole(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("kit").mkdir()
    Path("kit/notes.txt").write_text("mine")
    assert publish() == 2
    assert "must hold nothing else, because a kit is given away whole, and has notes.txt" in capsys.readouterr().err
    assert [path.name for path in Path("kit").iterdir()] == ["notes.txt"]
    Path("kit/notes.txt").unlink()
    assert (publish(), publish()) == (0, 0)
    Path("kit/notes.txt").touch()
    assert main(["verify", "kit"]) == 0
    assert "The manifest says nothing about notes.txt." in capsys.readouterr().out


def test_a_page_of_records_does_not_replace_what_it_is_about(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("D/prior.json").read_bytes()
    assert main(["microdata", "report", "D", "-o", "D/prior.json"]) == 2
    assert "--out = 'D/prior.json' must not be a file that is read" in capsys.readouterr().err
    assert Path("D/prior.json").read_bytes() == before


def test_no_file_of_a_kit_has_a_cell_that_a_spreadsheet_runs(tmp_path: Path) -> None:
    frame = people().rename(columns={"pay": "=pay", "age": "+age"})
    frame["job"] = frame["job"].replace({"clerk": "=cmd|' /C calc'!A0", "baker": "@SUM(1)", "painter": "-2+3"})
    study = Study(frame, {"=pay": "0-1", "job": "0-1"}, [Eve("ill", knows=["+age"])])
    solution = study.solve(0)
    released = solution.release(frame, keep=["+age"], seed=1)
    files = kit_files(solution, table_bytes(released, "a.csv"), released, kept=["+age"])
    tables = {name: content.decode() for name, content in files.items() if name.endswith(".csv")}
    assert {"codebook.csv", "pd_job.csv", "pd__pay.csv", "released.csv"} == {*tables}
    for text in tables.values():
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert not [cell for cell in cells if cell[:1] in ("=", "+", "-", "@")]
    assert "'=cmd" in tables["pd_job.csv"]
    (tmp_path / "pd.csv").write_text(tables["pd_job.csv"])
    assert (read_pram(tmp_path / "pd.csv", study["job"]) == np.eye(4, dtype=int)).all()


def test_a_cap_does_not_name_a_level_of_few_records() -> None:
    frame = people().assign(ill=["no"] * 200 + ["yes"] * 199 + ["plague"])
    cap = {"cap": [{"secret": "ill", "level": level, "at_most": "3/4"} for level in ("plague", "yes")]}
    solution = Study(frame, {"pay": "0-1"}, [Eve("ill", ["age"])], conditions=cap).solve("1/3")
    for threshold, named in ((10, False), (0, True)):
        files = kit_files(solution, b"", solution.release(frame, seed=1), threshold=threshold)
        text = "".join(content.decode() for content in files.values())
        assert ("plague" in text) == named
        assert ("ill = (a level of fewer than 10 records) a probability of at most 75" in text) == (not named)
        assert "ill = yes a probability" in text
        page = first_screen(solution, solution.verdict(()), True, None, threshold=threshold)
        assert ("plague" in page) == named


ASKED: dict[str, dict[str, Any]] = {
    "no conditions": {},
    "half held out": {"holdout": "1/2"},
    "dp": {"conditions": {"dp": [{"column": "ill", "exp_epsilon": 2}]}},
}


@pytest.mark.parametrize(
    ("asked", "lam"),
    [("no conditions", 2), ("no conditions", "calibrated"), ("half held out", 2), ("dp", "calibrated")],
)
def test_no_file_of_a_kit_but_the_released_one_singles_out_a_record(asked: str, lam: Any) -> None:
    """Whoever knows all records but one solves the study for every candidate and compares the files."""
    frame = people(1000).drop(columns="id")
    frame["job"], frame["age"] = frame["job"].replace("zebra keeper", "clerk"), frame["age"].replace(40, 20)
    released, kits = frame[["pay", "job"]], {}
    for one in product(*(sorted(frame[name].unique()) for name in frame)):
        other = frame.copy()
        other.loc[7] = list(one)
        study = Study(other, {"pay": "absolute", "job": "0-1"}, [Eve("ill", ["age"], [[0, 1], [3, 0]])], **ASKED[asked])
        solution = study.solve(lam)
        audit = solution.audit(attackers=())
        raw = bundle_texts(solution, solution.document())["manifest.json"]
        files = kit_files(solution, b"", released, audit=audit and audit.document(), signed=raw)
        manifest = json.loads(files.pop("manifest.json"))
        assert manifest["source"]["sha256"] == hashlib.sha256(raw).hexdigest()  # salted: no candidate gives it again
        kits[one] = {**files, "manifest.json": {**manifest, "made": "", "source": ""}}
    own = kits[tuple(frame.loc[7])]
    assert len(kits) == 54
    assert sum(kit == own for kit in kits.values()) > 4
    alone = [one for one, kit in kits.items() if sum(kit == other for other in kits.values()) == 1]
    assert len(alone) <= 4, alone  # with four decimals nearly all of them are


def test_rounded_rows_widen_the_intervals() -> None:
    table = np.array([[0.9, 0.1], [0.1, 0.9]])
    released = pd.DataFrame({"ill": ["no"] * 700 + ["yes"] * 300})
    channels = [
        PublishedChannel({"ill": ("no", "yes")}, {("ill",): table}, steps)
        for steps in ({}, {("ill",): np.array([0.1, 0.1])})
    ]
    assert PublishedChannel.from_document(channels[1].document()).document() == channels[1].document()
    widths = []
    for channel in channels:
        row = estimates(channel, released).table("ill").loc["yes"]
        widths.append((row["high"] - row["low"]) / 2 / 1.96)
    # G = [[9, -1], [-1, 9]] / 8, theta = 3/4 and 1/4: what rounding adds to the variance is 82/64 (10/16) / 1200
    assert widths[1] ** 2 - widths[0] ** 2 == pytest.approx(82 / 64 * 10 / 16 / 1200, rel=0.05)
    wrong = channels[1].document() | {"rounded": {"ill": [0.1]}}
    with pytest.raises(ValueError, match="rounded of ill must be a step from 0 to 1 for every row"):
        PublishedChannel.from_document(wrong)


def test_another_column_in_the_released_file_is_refused() -> None:
    frame = people()
    solution = Study(frame, {"pay": "0-1"}, [Eve("ill")]).solve(0)
    released = solution.release(frame, seed=1)
    with pytest.raises(ValueError, match="'id' is not one that the release publishes"):
        kit_files(solution, b"", released.assign(id=1))
