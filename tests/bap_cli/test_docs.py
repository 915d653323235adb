"""The reference pages show what the command really reads and prints."""

import doctest
import json
import re
import shlex
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from bap_cli.main import main
from bap_lp import ConflictError, InputError, save_problem, solve
from bap_lp.files.problems import SCHEMA, problem_from_dict
from bap_lp.model.evaluation import risks
from bap_lp.releases import null
from discretise import load_model

DOCS = Path(__file__).parents[2] / "docs"
FILES, CLI = ((DOCS / name).read_text() for name in ("files.md", "cli.md"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_file_shown_is_the_coin_toss(tmp_path: Path) -> None:
    *texts, model = blocks(FILES, "toml")
    shown, several, knowing, own, conditions = map(tomllib.loads, texts)
    (tmp_path / "model.toml").write_text(model)
    assert load_model(tmp_path / "model.toml").problem is not None
    judged = problem_from_dict({"data": {"prior": ["7/10", "3/10"]}, "bob": {"loss": [[0], [0]]}, **own}).problem
    assert judged.misaligned
    assert shown == tomllib.loads((DOCS.parent / "examples" / "coin_toss.toml").read_text())
    example = tomllib.loads((DOCS.parent / "examples" / "two_eves.toml").read_text())
    for part in (several, knowing):
        problem_from_dict({**example, **part})
    loaded = problem_from_dict({**shown, **conditions})
    with pytest.raises(ConflictError, match="cannot be met"):
        solve(loaded.problem, loaded.lam, conditions=loaded.conditions)
    known = set(SCHEMA["$defs"]["conditions"]["properties"])
    assert known == {*conditions["conditions"], "epsilon", "metric"}


def test_the_commands_of_the_tutorial_end_with_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    here: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(blocks(text, "python")[0]):
        exec(example.source, here)
    household = here["household"]
    without, visits = risks(household, null(household)), solve(household).mechanism.channel[0][1]
    assert f"Above 1/2 its risk is 1/8, and it was {without.bob} without a publication." in " ".join(text.split())
    assert f"her risk {without.eve} is the same as if nothing had been published" in text
    assert (visits, "One healthy household in four is visited for nothing." in text) == (Fraction(1, 4), True)
    monkeypatch.chdir(tmp_path)
    save_problem("household.json", household)
    commands = re.findall(r"^    bap (.*?)(?: +#.*)?$", text, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["solve", "verify", "report", "release"]
    for command in commands:
        capsys.readouterr()
        assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.strip() in ("no visit", "visit")
    names = ("problem.json", "mechanism.json", "certificate.json", "manifest.json")
    assert sorted(path.name for path in Path("release").iterdir()) == sorted(names)
    assert 'type="range"' in Path("report.html").read_text(encoding="utf-8")  # the slider


def test_the_json_shown_is_the_json_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "coin_toss", "--json"]) == 0
    printed, shown = json.loads(capsys.readouterr().out), json.loads(blocks(CLI, "json")[0])
    assert printed == {**shown, "method": printed["method"]}


def test_every_command_and_every_key_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    commands = re.findall(r"^  (\w+) ", capsys.readouterr().out.split("Commands:")[1], re.MULTILINE)
    assert [c for c in commands if f"| `bap {c}" not in CLI] == []
    for table in ("theta", "data", "alice"):
        for key in SCHEMA["$defs"][table]["properties"]:
            assert f"`{table}.{key}`" in FILES
    assert set(SCHEMA["$defs"]["agent"]["properties"]) == {"name", "weight", "decisions", "loss", "harm", "prior"}
    for key in set(SCHEMA["$defs"]["eve"]["properties"]) - set(SCHEMA["$defs"]["agent"]["properties"]):
        assert f"`{key}`" in FILES


def test_the_errors_shown_are_the_errors_given() -> None:
    text = (DOCS.parent / "examples" / "coin_toss.toml").read_text()
    eves = '[[eve]]\nname = "a"\nloss = [[0, 1], [1, 0]]\n[[eve]]\nname = "a"'
    changes = [("[1, 0]]   ", "[-1, 0]]"), ('prior = ["1/2"', 'prior = ["1/3"'), ("[eve]", eves), ("[alice]", "[alce]")]
    shown = re.findall(r"^    bap: (.*)$", FILES, re.MULTILINE)
    assert len(shown) == len(changes)
    for (old, new), line in zip(changes, shown, strict=True):
        with pytest.raises(InputError) as refused:
            problem_from_dict(tomllib.loads(text.replace(old, new, 1)), "coin.toml")
        assert str(refused.value) == line
