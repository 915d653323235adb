"""Sets of priors from the command line: solved, printed, explained, checked and released from; and who refuses them."""

from __future__ import annotations

import json
import tomllib
from fractions import Fraction as F
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bap_cli.app import app
from bap_lp import InputError, PriorSet, load_problem, solve
from bap_lp.files.problems import problem_from_dict

SURVEY = """
title = "Survey"

[data]
labels = ["young, well", "young, ill", "old, well", "old, ill"]
prior = ["9/20", "1/20", "7/20", "3/20"]

[bob]
decisions = ["young", "old"]
loss = [[0, 1], [0, 1], [1, 0], [1, 0]]

[eve]
decisions = ["well", "ill"]
loss = [[0, 1], [3, 0], [0, 1], [3, 0]]

[alice]
lambda = 1
"""
SETS = {
    "total_variation": 'total_variation = "1/20"',
    "box": 'lower = ["2/5", 0, "3/10", "1/10"]\nupper = ["1/2", "1/10", "2/5", "1/5"]',
    "vertices": 'vertices = [["9/20", "1/20", "7/20", "3/20"], ["1/4", "1/4", "1/4", "1/4"]]',
    "polytope": 'polytope = { A = [[0, 1, 0, 1], [0, -1, 0, -1]], b = ["1/5", "-1/5"] }',
    "wasserstein": 'wasserstein = {radius = "1/20", metric = [[0, 1, 1, 2], [1, 0, 2, 1], [1, 2, 0, 1], [2, 1, 1, 0]]}',
}


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    path = tmp_path / "survey.toml"
    path.write_text(SURVEY)
    return path


@pytest.mark.parametrize("kind", SETS)
def test_a_file_with_a_set_is_solved_checked_and_released_from(kind: str, survey: Path) -> None:
    survey.write_text(f"{SURVEY}\n[priors]\n{SETS[kind]}\n")
    folder = str(survey.parent / "release")
    found = json.loads(run("solve", str(survey), "--json", "--out", folder))
    loaded = load_problem(survey)
    assert loaded.priors is not None
    best = solve(loaded.problem, 1, priors=loaded.priors)
    assert F(found["value"]) == best.value == F(found["risks"]["alice"])
    assert (found["attained"], found["gap"]) == (True, "0")
    assert found["priors"] == loaded.priors.document()
    assert [F(v) for v in found["worst_prior"].values()] == best.worst_prior.tolist()
    assert f"the worst R_A = {best.value} is optimal" in " ".join(run("verify", folder).split())
    assert run("release", folder, "young, well").strip() in ("young", "old")
    assert "is the one that is proved" in run("verify", str(survey), folder)


def test_an_option_asks_for_a_ball_and_the_words_say_what_it_means(survey: Path) -> None:
    shown = " ".join(run("solve", str(survey), "--total-variation", "1/20").split())
    assert "even if the shares are wrong by 5 percentage points in total" in shown
    assert "value = bound = -5/12" in shown
    survey.write_text(f"{SURVEY}\n[priors]\n{SETS['total_variation']}\n")
    assert "even if the shares are wrong by 5 percentage points" in " ".join(run("explain", str(survey)).split())
    half = " ".join(run("solve", str(survey), "--total-variation", "1/100", "--exp-epsilon", "4").split())
    assert "wrong by 1 percentage point in total" in half
    assert "The conditions cost" in half


def test_a_certificate_is_about_its_own_set(survey: Path) -> None:
    folder = survey.parent / "release"
    run("solve", str(survey), "--total-variation", "1/20", "--out", str(folder))
    done = CliRunner().invoke(app, ["verify", str(survey), str(folder / "certificate.json")])
    assert done.exit_code == 1
    assert "it is about a set of priors" in done.stderr
    survey.write_text(f"{SURVEY}\n[priors]\ntotal_variation = '1/10'\n")
    done = CliRunner().invoke(app, ["verify", str(survey), str(folder / "certificate.json")])
    assert "it is about another set of priors" in done.stderr
    survey.write_text(f"{SURVEY}\n[priors]\ntotal_variation = '1/20'\n")
    assert "verified" in run("verify", str(survey), str(folder / "certificate.json"))


@pytest.mark.parametrize(
    "command", [["compare"], ["path"], ["report", "-o", "r.html"], ["plot", "-o", "p.png"], ["tiers"]]
)
def test_other_commands_refuse_a_set_in_one_line(command: list[str], survey: Path) -> None:
    survey.write_text(f"{SURVEY}\n[priors]\n{SETS['total_variation']}\n")
    with pytest.raises(InputError, match=r"survey.toml: priors is a set of priors, which bap solve, explain"):
        CliRunner().invoke(app, [command[0], str(survey), *command[1:]], catch_exceptions=False)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("total_variation = '6/5'", "survey.toml: priors.total_variation = 6/5 must be at most 1"),
        ("lower = [1, 1, 0, 0]", "sum of priors.lower = 2 must be at most 1, or the box holds no distribution"),
        ("radius = 1", "survey.toml: priors.radius is not a known key"),
        ("polytope = { A = [[1, 1, 1, 1]], b = [0] }", "survey.toml: priors.polytope is empty: no distribution meets"),
    ],
)
def test_a_bad_table_is_refused_with_its_file(table: str, message: str, survey: Path) -> None:
    survey.write_text(f"{SURVEY}\n[priors]\n{table}\n")
    with pytest.raises(InputError) as refused:
        CliRunner().invoke(app, ["solve", str(survey)], catch_exceptions=False)
    assert message in str(refused.value)


def test_a_radius_of_the_command_line_is_judged_by_its_option(survey: Path) -> None:
    with pytest.raises(InputError, match="--total-variation = 2 must be at most 1"):
        CliRunner().invoke(app, ["solve", str(survey), "--total-variation", "2"], catch_exceptions=False)


def test_the_page_says_what_the_library_finds() -> None:
    """Numbers in the text of docs/priors.md, outside its examples."""
    text = " ".join((Path(__file__).parents[2] / "docs" / "priors.md").read_text().split())
    problem = problem_from_dict(tomllib.loads(SURVEY)).problem
    best = solve(problem, 1)
    assert best.mechanism.channel[3, 0] == F(2, 9)
    assert "two in nine of the old patients who are ill" in text
    ill, old = [0, 1, 0, 1], [0, 0, 1, 1]
    rows = [ill, [-v for v in ill], old, [-v for v in old]]
    free = solve(problem, 1, priors=PriorSet.polytope(rows, [F(1, 5), -F(1, 5), F(1, 2), -F(1, 2)]))
    null = min(sum(p * e[j] for p, e in zip(problem.prior, problem.eve_loss, strict=True)) for j in range(2))
    assert free.risks.eve == null == F(3, 5)
    assert "The insurer's risk is 3/5" in text
    assert free.risks.bob == F(1, 10)
    assert "one patient in ten" in text
