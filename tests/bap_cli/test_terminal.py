"""What commands print fits the terminal: no number is folded, sentences break between words, pipes get no colours."""

import json
import re
from pathlib import Path

import pytest

from bap_cli.inputs import load
from bap_cli.main import main
from bap_lp import lambda_path

CONDITIONED = """
[conditions]
exp_epsilon = 4
min_eve_risk = "1/10"
"""
EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBER = re.compile(r"(≈ )?-?\d+(/\d+|\.\d+)?(e-?\d+)?|inf")
COMMANDS = [
    ("counts", "small_counts"),
    ("counts", "public_margins"),
    ("model", "rare_disease"),
    ("tiers", "file_public", "file_research", "file_secure"),
    ("compare", "medical_test"),
    ("compare", "CONDITIONED"),
    ("solve", "CONDITIONED"),
    ("solve", "protected_cell"),
    ("path", "medical_test"),
    ("explain", "two_eves"),
    ("gaussian", "optimum", "--eve", "max"),
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "conditioned.toml"
    path.write_text((EXAMPLES / "medical_test.toml").read_text() + CONDITIONED)
    return str(path)


def printed(capsys: pytest.CaptureFixture[str], command: tuple[str, ...], file: str) -> list[str]:
    assert main([file if word == "CONDITIONED" else word for word in command]) == 0
    return capsys.readouterr().out.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_no_line_is_wider_than_the_terminal(
    command: tuple[str, ...], file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = printed(capsys, command, file)
    assert [line for line in lines if len(line.rstrip()) > 80 and not line.startswith("Check it:")] == []
    assert not any("\x1b" in line for line in lines)


@pytest.mark.parametrize("width", [80, 120])
def test_a_comparison_under_conditions_keeps_its_numbers_whole(
    width: int, file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = printed(capsys, ("compare", "CONDITIONED"), file)
    start = next(k for k, line in enumerate(lines) if line.startswith("release"))
    rows = [line.rstrip() for line in lines[start + 1 :]]
    table = [line for line in rows if re.search(r" (yes|no)$", line)]
    assert len(table) == 8
    for line in table:
        *_, bob, eve, alice, above, epsilon, _ = re.split(r"  +", line)
        assert all(NUMBER.fullmatch(cell) for cell in (bob, eve, alice, above, epsilon)), line
    assert lines[start].split() == ["release", "parameter", "R_B", "R_E", "R_A", "above", "opt.", "epsilon", "met"]


@pytest.mark.slow
def test_a_narrow_terminal_cuts_no_digit_of_a_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """34343/168000 must not become 34343/16800."""
    path = lambda_path(load("location_grid").problem)
    for width in (40, 60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = printed(capsys, ("path", "location_grid"), "")
        start = next(k for k, line in enumerate(lines) if line.startswith("piece "))
        for line, piece in zip(lines[start + 1 :], path.pieces, strict=False):
            cells = re.split(r"  +", line.strip())[1:5]
            true = (piece.start, piece.end, piece.risks.bob, piece.risks.eve)
            for cell, value in zip(cells, true, strict=True):
                assert cell.removeprefix("≈ ") in (str(value), f"{float(value):.6g}", f"{float(value):.4g}"), line


@pytest.mark.slow
@pytest.mark.parametrize("width", [40, 60])
def test_a_narrow_terminal_cuts_no_digit_of_the_papers_table(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = []
    for columns in (width, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        lines = printed(capsys, ("gaussian", "table", "--eve", "mean"), "")
        tables = lines[next(k for k, line in enumerate(lines) if line.startswith("mechanism  ")) :]
        seen.append(re.findall(r"[-+]?\d+\.\d+|\d+e-\d+", "\n".join(tables)))
    assert seen[0] == seen[1]


UNSEEN = "\u202ex\u2028y\u2066\x1b[31m\x9b\u200f"  # right to left, a line, an isolate, controls


def _shows_all(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize(
    "command", ["solve --json", "solve", "explain", "compare", "compare --json", "path", "path --json"]
)
def test_labels_do_nothing_but_show(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = {"decisions": [f"yes{UNSEEN}", f"no{UNSEEN}"], "loss": [[0, 1], [1, 0]]}
    problem = {
        "title": f"title{UNSEEN}",
        "data": {"labels": [f"a{UNSEEN}", f"b{UNSEEN}"], "prior": ["1/2", "1/2"]},
        "bob": {"name": f"bob{UNSEEN}", **names},
        "eve": {"name": f"eve{UNSEEN}", **names},
        "alice": {"lambda": "1/3"},
    }
    file = tmp_path / "hostile.json"
    file.write_text(json.dumps(problem))
    name, *options = command.split()
    assert main([name, str(file), *options]) == 0
    out = capsys.readouterr().out
    assert _shows_all(out)
    if name == "solve" and options:
        assert json.loads(out)["mechanism"]["states"] == problem["data"]["labels"]


@pytest.mark.slow
def test_columns_and_values_of_a_table_do_nothing_but_show(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + k % 3},v{k % 2}\u202e,{k % 4}\n" for k in range(40)]
    (tmp_path / "t.csv").write_text("age\u202e,ill\u2066,pay\n" + "".join(rows))
    roles = ["--publish", "pay", "--secret", "ill\u2066", "--knows", "age\u202e"]
    assert main(["microdata", "init", "t.csv", "-o", "s.toml", *roles]) == main(["explain", "s.toml"]) == 0
    assert main(["microdata", "solve", "s.toml", "--out", "m", "--no-attackers"]) == 0
    assert main(["microdata", "report", "m", "-o", "page.html", "--no-attackers"]) == 0
    assert _shows_all("".join(capsys.readouterr()))
    assert _shows_all((tmp_path / "page.html").read_text())


@pytest.mark.parametrize("width", ["0", "1"])
def test_a_terminal_of_no_width_is_no_error(
    width: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    assert main(["solve", "coin_toss"]) == 0
    assert "R_A" in capsys.readouterr().out
