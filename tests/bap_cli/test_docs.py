"""The reference pages show what the command really reads and prints."""

import json
import re
import runpy
import shlex
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import typer

from bap_cli.app import COMMANDS, app
from bap_cli.app import command as command_named
from bap_cli.main import main
from bap_lp import ConflictError, InputError, load_problem, solve
from bap_lp.files.problems import SCHEMA, problem_from_dict
from bap_lp.model.evaluation import risks
from bap_lp.releases import null

DOCS = Path(__file__).parents[2] / "docs"
FILES, CLI = ((DOCS / name).read_text() for name in ("files.md", "cli.md"))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.slow
def test_the_file_shown_is_the_coin_toss() -> None:
    shown, several, knowing, reporting, own, conditions = map(tomllib.loads, blocks(FILES, "toml"))
    judged = problem_from_dict({"data": {"prior": ["7/10", "3/10"]}, "bob": {"loss": [[0], [0]]}, **own}).problem
    assert judged.misaligned
    assert shown == tomllib.loads((DOCS.parent / "examples" / "coin_toss.toml").read_text())
    example = tomllib.loads((DOCS.parent / "examples" / "two_eves.toml").read_text())
    for part in (several, knowing, reporting):
        problem_from_dict({**example, **part})
    loaded = problem_from_dict({**shown, **conditions})
    assert loaded.conditions.max_information[0].at_most == Fraction(1, 2)
    rest = {name: value for name, value in conditions["conditions"].items() if name != "max_information"}
    loaded = problem_from_dict({**shown, "conditions": rest})  # what conflicts is proved without logarithms
    with pytest.raises(ConflictError, match="cannot be met"):
        solve(loaded.problem, loaded.lam, conditions=loaded.conditions)
    known = set(SCHEMA["$defs"]["conditions"]["properties"])
    assert known == {*conditions["conditions"], "epsilon", "metric"}


def test_the_commands_of_the_tutorial_end_with_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    Path("household.toml").write_text(blocks(text, "toml")[0])
    household = load_problem("household.toml").problem
    without, visits = risks(household, null(household)), solve(household).mechanism.channel[0][1]
    assert f"Above 1/2 its risk is 1/8; without a publication it would be {without.bob}." in " ".join(text.split())
    assert f"her risk {without.eve} is the same as if nothing had been published" in text
    assert (visits, "One healthy household in four is visited for nothing." in text) == (Fraction(1, 4), True)
    commands = re.findall(r"^    bap (.*?)(?: +#.*)?$", text, re.MULTILINE)
    assert [command.split()[0] for command in commands] == ["solve", "verify", "report", "release"]
    for command in commands:
        capsys.readouterr()
        assert main(shlex.split(command)) == 0
    assert capsys.readouterr().out.strip() in ("no visit", "visit")
    names = ("problem.json", "mechanism.json", "certificate.json", "manifest.json", "ledger.jsonl")
    assert sorted(path.name for path in Path("release").iterdir()) == sorted(names)
    assert 'type="range"' in Path("report.html").read_text(encoding="utf-8")  # the slider


def test_the_json_shown_is_the_json_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["solve", "coin_toss", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(blocks(CLI, "json")[0])


def commands_of(command: Any, *words: str) -> dict[str, Any]:
    """Every command, by its name."""
    if not hasattr(command, "list_commands"):
        return {" ".join(words): command}
    context = typer.Context(command)
    below = ((name, command.get_command(context, name)) for name in command.list_commands(context))
    return {name: found for word, one in below for name, found in commands_of(one, *words, word).items()}


def test_the_site_describes_every_option_of_every_command() -> None:
    """The extension of the site writes what --help says; the page has one place for it, and no list of its own."""
    written = runpy.run_path(str(DOCS / "_ext" / "commands.py"))
    assert CLI.count(written["MARK"]) == 1
    told: dict[str, set[str]] = {}
    for section in written["reference"]().split("### ")[1:]:
        title, *lines = section.splitlines()
        words = [word for word in re.findall(r"`bap ([^`]+)`", title)[0].split() if word.isalpha() and word.islower()]
        described = [re.match(r"- (`.*?`): \S", line) for line in lines if line.startswith("- ")]
        assert all(described), title
        told[" ".join(words)] = {o for one in described if one for o in re.findall(r"--?[a-z][\w-]*", one[1])}
    shared = told.pop("gaussian")
    found = {name: told.pop(name) | (shared if "gaussian" in name else set()) for name in [*told]}
    own = {
        name: {o for p in one.params for o in (*p.opts, *p.secondary_opts) if o[:1] == "-"} - {"--help"}
        for name, one in commands_of(typer.main.get_command(app)).items()
    }
    assert found == own


DOCUMENTED = [
    ["solve", "coin_toss", "--deterministic"],
    ["evaluate", "coin_toss", "best.json"],
    ["compare", "asks.json"],
    ["path", "asks.json"],
    ["tiers", "file_public", "file_research"],
    ["counts", "small_counts"],
    ["model", "rare_disease"],
]


def keys_of(value: Any, free: set[str]) -> set[str]:
    """The keys of a document, without those below a key whose keys are the user's own words."""
    if isinstance(value, list):
        return {key for part in value for key in keys_of(part, free)}
    if not isinstance(value, dict):
        return set()
    return {*value, *(key for name, part in value.items() if name not in free for key in keys_of(part, free))}


@pytest.mark.slow
@pytest.mark.parametrize("command", DOCUMENTED, ids=" ".join)
def test_every_key_of_a_json_document_is_described(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("best.json").write_text(json.dumps({"channel": [["1", "0"], ["3/10", "7/10"]]}))
    coin = tomllib.loads((DOCS.parent / "examples" / "coin_toss.toml").read_text())
    Path("asks.json").write_text(json.dumps(coin | {"conditions": {"exp_epsilon": 3}}))
    assert main([*command, "--json"]) == 0
    found = keys_of(
        json.loads(capsys.readouterr().out), {"conditions", "posterior", "theta", "agents", "prices", "costs"}
    )
    described = CLI.split("\n## JSON\n")[1]
    assert [key for key in sorted(found) if f"`{key}`" not in described and f'"{key}"' not in described] == []


def test_the_numbers_of_a_path_document_are_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("coin_toss", "ties", "medical_test"):
        assert main(["path", name, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)
        lam, corner = Fraction(found["calibrated"]), found["corner"]
        best, most = Fraction(corner["risks"]["bob"]), Fraction(corner["risks"]["eve"])
        assert Fraction(corner["value"]) == best - lam * most
        least = min(Fraction(a) + lam * Fraction(b) for a, b in (piece["value"] for piece in found["pieces"]))
        assert Fraction(corner["excess"]) == least - Fraction(corner["value"])
        assert [p["to"] for p in found["pieces"]] == [*(p["from"] for p in found["pieces"][1:]), None]
        for piece in found["pieces"]:
            risks = piece["risks"]
            assert [Fraction(v) for v in piece["value"]] == [Fraction(risks["bob"]), -Fraction(risks["eve"])]
        assert (found["tolerance"], found["exact"]) == (0, True)


def test_every_command_and_every_key_is_described(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    commands = re.findall(r"^  (\w+) ", capsys.readouterr().out.split("Commands:")[1], re.MULTILINE)
    table = CLI.split("\n\n")[1]
    assert [c for c in commands if not re.search(rf"`(bap )?{c}`", table)] == []
    for table in ("theta", "data", "alice"):
        for key in SCHEMA["$defs"][table]["properties"]:
            assert f"`{table}.{key}`" in FILES
    own = {"name", "weight", "decisions", "loss", "harm", "prior"}
    assert set(SCHEMA["$defs"]["agent"]["properties"]) == own
    for key in set(SCHEMA["$defs"]["eve"]["properties"]) - set(SCHEMA["$defs"]["agent"]["properties"]):
        assert f"`{key}`" in FILES


def test_the_errors_shown_are_the_errors_given() -> None:
    text = (DOCS.parent / "examples" / "coin_toss.toml").read_text()
    eves = '[[eve]]\nname = "a"\nloss = [[0, 1], [1, 0]]\n[[eve]]\nname = "a"'
    changes = [
        ("[1, 0]]   ", "[-1, 0]]"),
        ('prior = ["1/2"', 'prior = ["1/3"'),
        ("[eve]", eves),
        ('lambda = "', 'lamda = "'),
    ]
    shown = re.findall(r"^    bap: (.*)$", FILES, re.MULTILINE)
    assert len(shown) == len(changes)
    for (old, new), line in zip(changes, shown, strict=True):
        with pytest.raises(InputError) as refused:
            problem_from_dict(tomllib.loads(text.replace(old, new, 1)), "coin.toml")
        assert str(refused.value) == line


@pytest.mark.parametrize("name", [*COMMANDS])
def test_every_option_has_a_whole_sentence_and_no_summary_is_cut(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for key, one in commands_of(command_named(name), name).items():
        helps = {option.name: option.help for option in one.params if option.name != "help"}
        assert [(key, k) for k, words in helps.items() if not words or not words.endswith((".", ".toml"))] == []
    assert main([name, "--help"]) == 0
    assert "..." not in capsys.readouterr().out.replace("[ARGS]...", "").replace("FILE...", "").replace(", ...,", "")
