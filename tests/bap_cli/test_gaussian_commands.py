"""`bap gaussian table`, `curve`, `plot` and `optimum`: what they print, what they write, what they refuse."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from bap_cli.gaussian.commands import app
from bap_cli.main import main


def shown(page: str) -> list[str]:
    """The commands `bap gaussian ...` in the blocks of a page, without the comments behind them."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text(encoding="utf-8")
    return [line.split("#")[0].strip() for line in re.findall(r"^    bap gaussian (.*)$", text, re.MULTILINE)]


@pytest.mark.slow
def test_the_commands_of_the_page_are_understood(capsys):
    lines = shown("gaussian.md")
    assert [line.split()[0] for line in lines] == ["table", "table", "curve", "optimum", "optimum"]
    for line in lines:
        name, *options = line.split()
        command = get_command(app).commands[name]
        assert command.make_context(name, options).params["eve"]
    # the two of the section on other Eves are quick enough to be run
    for line in lines[3:]:
        assert main(["gaussian", *line.split(), "--lambda", "0.8", "--json"]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["lower"] <= document["upper"] <= document["lower"] + 1e-11
    assert len(document["cells"]) == 4


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


MODEL = ["--prior-mean", "10", "--noise-sd", "2", "--prior-sd", "2", "--bob-threshold", "10.5", "--n", "4", "--json"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "statistic"),
    [
        (["--eve", "max=13/2,1", "--bob-loss", "2,1"], "max"),
        (["--eve", "record=11", "--eve", "mean=10.2", "--either"], "x_1"),
        (["--eve", "median", "--eve-threshold", "11", "--eve-loss", "1,2"], "median"),
        (["--eve", "record@2=11"], "x_2"),
    ],
)
def test_the_optimum_of_a_completed_model_is_bracketed(
    options: list[str], statistic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gaussian", "optimum", *options, *MODEL, "--lambda", "0.8"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["lower"] <= document["upper"] <= document["lower"] + 1e-11
    assert {region.get("statistic") for region in document["regions"]} <= {None, statistic}
    assert any(statistic in name for name in document["cells"])
    assert 5 < document["regions"][0]["xbar_above"] < 15


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--eve", "mean", "--lambda", "much"], "--lambda = 'much' is not a number"),
        (["--eve", "mean", "--lambda=-1"], "--lambda = -1.0 must not be negative"),
        (["--eve", "mean", "--prior-sd", "0"], "must be"),
        (["--eve", "mean", "--n", "0"], "must be"),
        (["--eve", "mean", "--max-threshold", "1"], "must not be given with --eve mean"),
        (["--eve", "foo"], "--eve = 'foo' must be one of"),
        (["--eve", "median"], "must have a threshold"),
        (["--eve", "max@2"], "must not have @"),
        (["--eve", "record@x=1"], "must name the record by a number"),
        (["--eve", "record@9=1"], "record = 9 must be at most n = 5"),
        (
            ["--eve", "min=1"],
            "--eve = 'min=1' must be one of mean, max, median, record, both, as in max or record@3=1.5",
        ),
        (["--eve", "range=3"], "--eve = 'range=3' must be one of mean, max, median, record, both"),
        (["--eve", "quantile@0.9=1"], "--eve = 'quantile@0.9=1' must be one of mean, max, median, record, both"),
        (["--eve", "max=two"], "'two' must be a number"),
        (["--eve", "max", "--bob-loss", "1"], "--bob-loss = '1' must be two positive numbers"),
        (["--eve", "max", "--eve-loss", "1,-1"], "--eve-loss = '1,-1' must be two positive numbers"),
        (["--eve", "max=1", "--max-threshold", "2"], "must equal --max-threshold = 2.0"),
        (["--eve", "max", "--eve", "mean", "--eve-threshold", "1"], "must be given with each of several Eves"),
        (["--eve", "both", "--eve", "mean"], "must be the only Eve"),
        (["--eve", "mean", "--noise-sd", "0"], "noise_sd = 0.0 must be > 0"),
    ],
)
def test_a_bad_eve_or_loss_is_refused_in_one_line(
    options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gaussian", "optimum", *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert words in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table", "--eve", "both", "--eve-threshold", "1"], "must be --mean-threshold or --max-threshold"),
        (["curve", "--eve", "mean", "--family", "noisy"], "must be one of"),
        (["curve", "--eve", "mean", "--points", "1"], "must be at least 2"),
        (["curve", "--eve", "mean", "--sigma-max", "nan"], "must be positive and finite"),
        (["plot", "--eve", "mean", "-o", "picture.doc"], "must end in"),
    ],
)
def test_a_bad_option_of_the_other_commands_is_refused_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["gaussian", *arguments]) == 2
    captured = capsys.readouterr()
    assert (captured.out, len(captured.err.splitlines())) == ("", 1)
    assert words in captured.err


def test_a_contradiction_is_not_shown(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from gaussian.optimum import gaussian_brackets as brackets

    honest = brackets.dual_value

    def boastful(*arguments: object) -> object:
        found = honest(*arguments)
        return type(found)(found.value + 1e-6, found.error)

    monkeypatch.setattr(brackets, "dual_value", boastful)
    assert main(["gaussian", "optimum", "--eve", "mean"]) == 70
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "contradict each other" in captured.err


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


def test_a_lambda_of_the_command_line_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--mean-threshold", "1", "--max-threshold", "0.5", "--lambda", "3/2", "--json"]
    assert main(["gaussian", "optimum", "--eve", "both", *arguments]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["lambda"] == 1.5
    assert document["eve"] == 0


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


def test_parameters_that_floats_cannot_resolve_are_the_users_to_change(capsys):
    assert main(["gaussian", "optimum", "--eve", "mean", "--prior-sd", "1e90"]) == 2
    assert "too extreme to compute with floats" in capsys.readouterr().err
