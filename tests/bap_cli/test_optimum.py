"""`bap gaussian optimum`: the document's contract, the words, and refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from bap_cli.main import main


def test_the_json_document_has_its_keys(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gaussian", "optimum", "--eve", "mean", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert {"lambda", "lower", "upper", "bob", "eve", "best_parametric", "regions"} <= set(document)
    assert document["lower"] <= document["upper"] <= document["lower"] + 1e-8
    assert document["upper"] == pytest.approx(-0.1854200, abs=5e-8)
    assert document["best_parametric"]["mechanism"] == "one-bit"
    assert document["best_parametric"]["alice"] == pytest.approx(document["upper"], abs=1e-12)
    assert [region["release"] for region in document["regions"]] == [1, 0]
    assert document["regions"][0]["xbar_above"] == pytest.approx(-0.416415, abs=1e-6)
    assert document["regions"][0]["xbar_upto"] is None
    assert document["bob"] - document["lambda"] * document["eve"] == pytest.approx(document["upper"], abs=1e-12)


def test_the_page_on_brackets_lists_the_keys_of_the_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gaussian", "optimum", "--eve", "max", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    text = (Path(__file__).parents[2] / "docs/gaussian.md").read_text(encoding="utf-8")
    text = text[text.index("The JSON document has") : text.index("## Other models")]
    best, region = document["best_parametric"], document["regions"][0]
    assert set(re.findall(r"`(\w+)`", text)) == set(document) | set(region)
    assert f"`best_parametric` ({', '.join(best)})" in " ".join(text.split())
    assert len(document["u"]) == 2
    assert {len(row) for row in document["u"]} == {len(document["cells"])}


def test_the_optimum_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gaussian", "optimum", "--eve", "max", "--eve-threshold", "2", "--n", "5"]) == 0
    text = capsys.readouterr().out
    assert "The rule: release 1 when xbar > 0, else 0\n" in text
    assert "-0.2322795" in text
    assert "one-bit" in text


def test_a_lambda_of_the_command_line_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--mean-threshold", "1", "--max-threshold", "0.5", "--lambda", "3/2", "--json"]
    assert main(["gaussian", "optimum", "--eve", "both", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["lambda"] == 1.5
    assert document["eve"] == 0


@pytest.mark.parametrize(
    "arguments",
    [["--lambda", "much"], ["--lambda=-1"], ["--prior-sd", "0"], ["--n", "0"], ["--max-threshold", "1"]],
)
def test_a_bad_option_is_refused_with_its_rule(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gaussian", "optimum", "--eve", "mean", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("bap: ")
    assert len(captured.err.splitlines()) == 1


def test_the_rule_is_played_on_simulated_samples(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gaussian", "optimum", "--eve", "max", "--simulate", "200000", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    played = document["simulation"]
    assert played["size"] == 200000
    assert abs(played["alice"] - document["upper"]) < 5 * played["error"]
    assert main(["gaussian", "optimum", "--eve", "max", "--simulate", "1000"]) == 0
    assert "on 1000 simulated samples: R_A = " in capsys.readouterr().out
    assert main(["gaussian", "optimum", "--eve", "max", "--simulate", "0"]) == 2
    assert capsys.readouterr().err == "bap: --simulate = 0 must be between 1 and 100000000\n"
