"""A file that another command reads is refused with the name of that command, in one line with exit code 2."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from bap_cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = {
    "problem": (EXAMPLES / "coin_toss.toml").read_text(),
    "counts": (EXAMPLES / "small_counts.toml").read_text(),
    "model": (EXAMPLES / "models" / "rare_disease.toml").read_text(),
    "study": 'data = "survey.csv"\n[publish.a]\nloss = "absolute"\n[[eve]]\nsecret = "b"\n',
    "records": "a,b\n1,x\n2,y\n",
}
NAMES = {
    "problem": "`bap solve`",
    "counts": "`bap counts`",
    "model": "`bap model`",
    "study": "`bap microdata solve`",
    "records": "`bap microdata init`",
}
READS = {
    "solve": {"problem", "counts"},
    "path": {"problem", "counts", "study"},
    "counts": {"counts"},
    "model": {"model"},
    "release": set(),
    "microdata solve": {"study"},
}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "kind"), [(c, k) for c, own in READS.items() for k in FILES if k not in own])
def test_the_command_that_reads_the_file_is_named(
    command: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / ("given.csv" if kind == "records" else "given.toml")
    file.write_text(FILES[kind])
    options = ["--out", str(tmp_path / "out")] if command == "microdata solve" else []
    assert main([*command.split(), str(file), *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert NAMES[kind] in err
    assert not (tmp_path / "out").exists()


def test_a_key_that_is_misspelt_says_nothing_about_other_commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "coin.toml"
    file.write_text(FILES["problem"].replace("title =", "titel ="))
    assert main(["solve", str(file)]) == 2
    assert "`bap" not in capsys.readouterr().err


def test_a_folder_in_the_place_of_a_file_is_named_with_the_commands_for_bundles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["solve", str(tmp_path)]) == 2
    assert "`bap verify` and `bap release` read bundles" in capsys.readouterr().err


def test_folders_of_studies_and_of_problems_are_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records, problem = tmp_path / "records", tmp_path / "problem"
    (tmp_path / "survey.csv").write_text("a,b\n" + "1,x\n2,y\n1,y\n2,x\n" * 5)
    (tmp_path / "study.toml").write_text(FILES["study"])
    assert main(["microdata", "solve", str(tmp_path / "study.toml"), "--out", str(records)]) == 0
    assert main(["solve", str(EXAMPLES / "coin_toss.toml"), "--out", str(problem)]) == 0
    capsys.readouterr()
    for folder in (records, problem):
        assert main(["verify", str(folder)]) == 0
        digest = hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()
        assert capsys.readouterr().out.endswith(f"To sign: SHA-256 of manifest.json {digest}.\n")
    for command in (["release", str(records), "x"], ["report", str(records), "-o", str(tmp_path / "page.html")]):
        assert main(command) == 2
        assert "is the folder of a study of records: `bap microdata release`" in capsys.readouterr().err
    assert main(["microdata", "report", str(problem), "-o", str(tmp_path / "page.html")]) == 2
    assert "must be a folder written by `bap microdata solve --out`" in capsys.readouterr().err
