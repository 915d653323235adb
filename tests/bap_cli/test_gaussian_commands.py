"""`bap gaussian table`, `curve` and `plot`: what they print, what they write, what they refuse."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bap_cli.gaussian_commands import app
from bap_cli.main import main


def test_table_prints_one_json_document():
    result = CliRunner().invoke(app, ["table", "--eve", "mean", "--n", "3", "--eve-threshold", "0.4", "--json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert list(document) == ["lambda", "rows", "corner"]
    assert [row["mechanism"] for row in document["rows"]][-1] == "one-bit"
    assert all(list(row) == ["mechanism", "parameter", "bob", "eve", "alice", "error"] for row in document["rows"])


@pytest.mark.slow
def test_table_shows_the_papers_values_and_the_difference():
    text = CliRunner().invoke(app, ["table", "--eve", "mean"]).stdout
    assert "0.027880" in text
    assert "1.44 -0.1126" in text
    assert "lambda = 1.129927 (paper 1.13)" in text


def test_curve_writes_csv_to_a_file_or_to_standard_output(tmp_path):
    arguments = ["curve", "--eve", "max", "--points", "3", "--family", "one-bit", "--family", "noisy-mean"]
    printed_text = CliRunner().invoke(app, arguments).stdout
    file = tmp_path / "curve.csv"
    assert CliRunner().invoke(app, [*arguments, "--out", str(file)]).exit_code == 0
    assert file.read_text() == printed_text
    lines = printed_text.splitlines()
    assert lines[0] == "mechanism,parameter,bob,eve,alice,error,lambda"
    assert len(lines) == 7
    assert float(lines[2].split(",")[4]) == pytest.approx(-0.2322795, abs=1e-7)


@pytest.mark.parametrize(
    "arguments",
    [
        ["table", "--eve", "mean", "--n", "0"],
        ["table", "--eve", "mean", "--max-threshold", "1"],
        ["table", "--eve", "both", "--eve-threshold", "1"],
        ["curve", "--eve", "mean", "--family", "noisy"],
        ["curve", "--eve", "mean", "--points", "1"],
        ["curve", "--eve", "mean", "--sigma-max", "nan"],
    ],
)
def test_a_bad_option_raises_an_error_with_its_rule(arguments):
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, ValueError)
    assert "must" in str(result.exception)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["map", "noise", "threshold", "rule"])
def test_plot_writes_the_picture_and_nothing_else(
    kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "picture.svg"
    assert main(["gaussian", "plot", "--eve", "mean", "--kind", kind, "-o", str(out)]) == 0
    assert capsys.readouterr().out == f"Wrote {out}.\n"
    assert "<svg" in out.read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["picture.svg"]


def test_plot_refuses_a_file_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gaussian", "plot", "--eve", "mean", "-o", str(tmp_path / "picture.doc")]) == 2
    assert "must end in" in capsys.readouterr().err
