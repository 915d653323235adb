"""`bap path`: the JSON document and the table, for exact, float and degenerate problems."""

from __future__ import annotations

import json
from fractions import Fraction as F
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bap_cli.commands.path import path, path_document
from bap_lp import Agent, Problem
from bap_lp.questions.path.pieces import lambda_path

APP = typer.Typer()
APP.callback()(lambda: None)
APP.command()(path)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(APP, ["path", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_floats_are_numbers() -> None:
    document = json.loads(run("coin_toss", "--json", "--float"))
    assert document["exact"] is False
    assert document["pieces"][1]["from"] == pytest.approx(0.1)
    assert document["pieces"][1]["value"] == pytest.approx([0.325, -0.75])
    assert 0 < document["tolerance"] < 1e-9


def test_a_float_path_of_own_beliefs_is_a_document() -> None:
    eve = Agent([[0, 1], [1, 0]], prior=[0.3, 0.7])
    problem = Problem([0.5, 0.5], bobs=[Agent([[0, 1], [1, 0]])], eves=[eve])
    document = path_document(problem, lambda_path(problem))
    assert json.loads(json.dumps(document))["corner"]["attained"] is document["corner"]["attained"]


def test_the_table_shows_pieces_lambda_and_corner() -> None:
    out = run("coin_toss")
    assert "13/40" in out
    assert "is on piece 2 of 2, with R_A = 3/40" in out
    assert "no mechanism attains both" in out
    assert "below this" in run("coin_toss", "--float")
    assert "a mechanism attains both" in run("district")


def test_a_problem_without_calibrated_lambda_has_a_path(tmp_path: Path) -> None:
    problem = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[1, 2], [1, 2]])
    document = path_document(problem, lambda_path(problem))
    assert document["calibrated"] is None
    assert document["corner"]["attained"] is True
    assert document["corner"]["value"] is None
    file = tmp_path / "blind.json"
    agents = {"bob": {"loss": [[0, 1], [1, 0]]}, "eve": {"loss": [[1, 2], [1, 2]]}}
    file.write_text(json.dumps({"data": {"prior": ["1/2", "1/2"]}, **agents}))
    assert "The calibrated lambda is undefined" in run(str(file))


def test_long_paths_are_cut_in_the_table_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bap_cli.commands.path._ROWS", 1)
    out = run("coin_toss")
    assert "1 more (--json gives all)" in out
    assert "13/40" not in out.partition("On a piece")[0]
    assert [F(piece["from"]) for piece in json.loads(run("coin_toss", "--json"))["pieces"]] == [0, F(1, 10)]
