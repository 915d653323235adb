"""The conditions of a file are kept by every command, or refused in one line; none ignores them."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bap_cli.main import main
from bap_lp import load_mechanism, load_problem, plots, releases, solve

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def coin(tmp_path: Path) -> str:
    path = tmp_path / "coin.toml"
    path.write_text((EXAMPLES / "coin_toss.toml").read_text() + "\n[conditions]\nexp_epsilon = 2\n")
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_compare_puts_the_conditioned_optimum_next_to_releases_that_it_checks(
    coin: str, capsys: pytest.CaptureFixture[str]
) -> None:
    document = printed(capsys, "compare", coin, "--json")
    rows = {row["name"]: row for row in document["releases"]}
    assert document["conditions"] == {"exp_epsilon": "2"}
    assert document["optimum"] == "1/6"
    assert {name for name, row in rows.items() if row["meets_conditions"]} == {"optimum", "null"}
    assert "differential privacy" in rows["full"]["breaks"]
    assert rows["null"]["breaks"] == ""
    assert main(["compare", coin]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Conditions: exp_epsilon = 2." in out
    assert "full breaks them: " in out
    assert re.search(r"null 1/2 3/4 1/4 1/12 0 *yes|null .* yes", out)


def test_compare_without_conditions_says_nothing_about_them(capsys: pytest.CaptureFixture[str]) -> None:
    document = printed(capsys, "compare", "coin_toss", "--json")
    assert "conditions" not in document
    assert all("meets_conditions" not in row for row in document["releases"])
    assert main(["compare", "coin_toss"]) == 0
    assert "conditions" not in capsys.readouterr().out


def test_path_is_the_path_under_the_conditions(coin: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded = load_problem(coin)
    document = printed(capsys, "path", coin, "--json")
    assert document["conditions"] == {"exp_epsilon": "2"}
    for piece in document["pieces"]:
        (tmp_path / "m.json").write_text(json.dumps(piece["mechanism"]))
        assert releases.meets(loaded.problem, load_mechanism(tmp_path / "m.json"), loaded.conditions) == ""
        lam = Fraction(piece["from"])
        best = solve(loaded.problem, lam, conditions=loaded.conditions)
        assert Fraction(piece["value"][0]) + lam * Fraction(piece["value"][1]) == best.value
    assert document["corner"]["attained"] is False
    assert main(["path", coin]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Conditions: exp_epsilon = 2" in out
    assert "no mechanism that meets the conditions attains both" in out


def test_the_report_answers_for_every_lambda_under_the_conditions(coin: str, tmp_path: Path) -> None:
    assert main(["report", coin, "-o", str(tmp_path / "r.html")]) == 0
    island = json.loads(re.search(r'id="data">(.*?)</script>', (tmp_path / "r.html").read_text())[1])
    loaded = load_problem(coin)
    best = solve(loaded.problem, loaded.lam, conditions=loaded.conditions)
    assert not island["partial"]
    here = [p for p in island["pieces"] if Fraction(p["start"]) <= best.lam][-1]
    assert (Fraction(here["bob"]), Fraction(here["eve"])) == (best.risks.bob, best.risks.eve)
    meets = {r["name"]: [p["meets"] for p in r["pieces"]] for r in island["releases"]}
    assert (meets["full"], meets["null"]) == ([False], [True])
    assert island["proof"] is None


def test_the_map_never_calls_the_free_frontier_the_best_under_conditions(coin: str) -> None:
    loaded = load_problem(coin)
    ax = plots.risk_utility_map(loaded.problem, loaded.lam, conditions=loaded.conditions)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert not any("nothing is better" in name for name in names)
    assert any(name == "frontier under the conditions" for name in names)
    free = plots.risk_utility_map(loaded.problem, loaded.lam)
    assert any("nothing is better" in text.get_text() for text in free.get_legend().get_texts())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["map", "path", "channel", "signals"])
def test_every_picture_is_drawn_under_the_conditions(
    coin: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    assert main(["plot", coin, "--kind", kind, "-o", str(tmp_path / "p.svg")]) == 0
    assert capsys.readouterr().err == ""
    if kind in ("map", "path"):
        assert "under the conditions" in (tmp_path / "p.svg").read_text()


@pytest.mark.parametrize("command", [["solve"], ["compare"], ["path"], ["plot", "-o", "p.svg"], ["report"]])
def test_conditions_that_nothing_meets_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("coin.toml").write_text((EXAMPLES / "coin_toss.toml").read_text() + '\n[conditions]\nmax_bob_risk = "1/100"\n')
    assert main([command[0], "coin.toml", *command[1:]]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert "coin.toml: conditions" in err
    assert [p.name for p in tmp_path.iterdir()] == ["coin.toml"]


@pytest.mark.parametrize(
    "command",
    [["solve", "--json"], ["compare", "--json"], ["path", "--json"], ["explain"]],
    ids=lambda c: c[0],
)
def test_a_condition_of_the_command_line_is_one_of_the_file(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["examples", "coin_toss"]) == 0
    plain = tmp_path / "coin.toml"
    plain.write_text(capsys.readouterr().out)
    name, *options = command
    assert main([name, str(plain), *options, "--condition", "exp_epsilon=3"]) == 0
    asked = capsys.readouterr().out
    plain.write_text(plain.read_text() + "\n[conditions]\nexp_epsilon = 3\n")
    assert main([name, str(plain), *options]) == 0
    assert capsys.readouterr().out == asked
    assert main([name, str(plain), *options, "--condition", "exp_epsilons=3"]) == 2
    assert "did you mean exp_epsilon?" in capsys.readouterr().err
    assert main([name, str(plain), *options, "--condition", "min_eve_risk=5"]) == 2
    assert "--condition min_eve_risk = 5 is not attainable" in capsys.readouterr().err
