"""Commands on a file whose Bob reports probabilities: what they say, and what they refuse in one line."""

import json

import pytest

from bap_cli.main import main

FILE = """
[data]
labels = ["healthy young", "healthy old", "ill young", "ill old"]
prior = ["2/5", "3/10", "1/10", "1/5"]
[bob]
name = "researcher"
loss = "log"
secret = ["young", "old", "young", "old"]
[eve]
name = "insurer"
decisions = ["healthy", "ill"]
loss = [[0, 1], [0, 1], [3, 0], [3, 0]]
[alice]
lambda = "1/2"
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "survey.toml"
    path.write_text(FILE)
    return str(path)


def run(capsys, *words: str) -> tuple[int, str]:
    code = main([*words])
    out = capsys.readouterr()
    return code, out.out + out.err


def test_solve_explain_evaluate_and_verify_speak_of_reports(capsys, file, tmp_path):
    folder = str(tmp_path / "bundle")
    code, words = run(capsys, "solve", file, "--out", folder)
    assert code == 0, words
    assert "The researcher reports probabilities: young 1, old 0." in words
    assert "This is proved up to" in words
    code, words = run(capsys, "verify", folder)
    assert code == 0, words
    assert "R_A = -0.3 is within" in words
    assert "The researcher reports probabilities" in run(capsys, "evaluate", file, f"{folder}/mechanism.json")[1]
    code, words = run(capsys, "explain", file)
    assert code == 0, words
    code, words = run(capsys, "path", file)
    assert code == 0, words
    assert "Every R_A here is proved up to" in words
    code, words = run(capsys, "plot", file, "-o", str(tmp_path / "map.svg"))
    assert code == 0, words
    code, words = run(capsys, "solve", file, "--json")
    assert json.loads(words)["information"]["researcher"]["error"] < 1e-12
    assert json.loads(words)["signals"][0]["bob"] == ["reports probabilities: young 1, old 0"]


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (["tiers"], "researcher reports probabilities"),
        (["solve", "--deterministic"], "--deterministic = True is not possible with a Bob who reports probabilities"),
        (["solve", "--max-bob-risk", "1/10"], "is not possible with a Bob who reports probabilities"),
        (["solve", "--formulation", "paper"], 'must be "compact" if a Bob reports probabilities'),
    ],
    ids=lambda own: " ".join(own) if isinstance(own, list) else "",
)
def test_what_is_not_covered_is_refused_in_one_line(capsys, file, words, rule):
    code, said = run(capsys, words[0], file, *([file] if words == ["tiers"] else words[1:]))
    assert code == 2
    assert rule in said
    assert len(said.strip().splitlines()) == 1
