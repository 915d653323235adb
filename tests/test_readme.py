"""The first page: its table gives the numbers that it shows, its commands run, and each reader finds a page."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import textwrap
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from bap_cli.main import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def shown() -> dict[str, list[str]]:
    """The rows of the table of the survey, by what is published."""
    table = README[README.index("| what is published") :].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in table]
    return {row[0]: row[1:] for row in rows}


@pytest.mark.slow
def test_the_survey_gives_the_numbers_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    fetch = re.search(r"^    python - <<'END'\n(.*?)^    END$", README, re.DOTALL | re.MULTILINE)
    assert fetch is not None
    exec(textwrap.dedent(fetch[1]), {})  # as the shell would
    records = len(Path("survey.csv").read_text().splitlines()) - 1
    assert f"survey of {records} women" in README
    for line in re.findall(r"^    bap (microdata .*)$", README.replace("\\\n", ""), re.MULTILINE):
        assert main(shlex.split(line)) == 0
    assert "This is proved exactly: no release has a smaller R_A;" in " ".join(capsys.readouterr().out.split())
    assert len(Path("released.csv").read_text().splitlines()) == 1 + records
    assert main(["compare", "release", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["releases"]}
    for title, name in (("nothing", "suppress all"), ("both columns", "as is"), ("the optimum", "optimum")):
        row, numbers = rows[name], next(cells for key, cells in shown().items() if key.startswith(title))
        found = [
            row["risks"]["bob"],
            row["risks"]["eve"],
            row["audit"]["strongest"]["value"],
            row["audit"]["informed"]["value"],
        ]
        assert [f"{float(Fraction(v)):.3f}" if Fraction(v) else "0" for v in found] == numbers
    result = json.loads(Path("release/result.json").read_text())
    assert result["lambda"] == "147/100"  # the notebook on records starts from it
    assert 'solve(\\"147/100\\")' in (ROOT / "notebooks" / "3_records.ipynb").read_text()
    share = float(sum(Fraction(column["changed"]) for column in result["columns"]) / 2)
    assert f"**the optimum**: {share:.0%} of the cells changed" in README
    best, nothing = (
        {key: Fraction(rows[name]["risks"][key]) for key in ("bob", "eve")} for name in ("optimum", "suppress all")
    )
    kept, costs = (f"{float(best[key] / nothing[key]):.0%}" for key in ("eve", "bob"))
    assert f"leaves the neighbour {kept} of her risk without a release, and costs the researcher {costs}" in README
    tutorial = (ROOT / "docs" / "microdata.md").read_text()
    assert [words for words in result["verdict"]["words"][:6] if f"- {words}\n" not in tutorial] == []
    light = f"The verdict is {result['light']}: {result['audit']['records']} records are too few"
    assert light in " ".join(README.split())
    (gain,) = result["verdict"]["light"]["eves"]
    assert 2 * gain["error"] > gain["allowed"] == 0.02


def test_readers_have_a_link_on_the_first_page() -> None:
    for page in ("which", "microdata", "conditions", "models", "programs", "theory", "gaussian", "gallery", "limits"):
        assert f"(docs/{page}.md)" in README


def test_the_site_leads_to_every_page() -> None:
    docs = ROOT / "docs"
    index = (docs / "index.md").read_text(encoding="utf-8")
    listed = set("\n".join(re.findall(r"^```\{toctree\}\n(.*?)^```", index, re.DOTALL | re.MULTILINE)).split())
    pages = {str(path.relative_to(docs).with_suffix("")) for path in [*docs.rglob("*.md"), *docs.glob("api/*.rst")]}
    assert pages - {"index"} <= listed
    linked = set(re.findall(r"\]\(([\w/]+)\.(?:md|rst)", index))
    assert pages - {"index"} - linked <= {"api/bap_sdc", "api/discretise", "api/gaussian"}


def planned(*arguments: str) -> str:
    """What make would run where there is no environment yet."""
    command = ["make", "-n", "--no-print-directory", "VENV=nowhere", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_make_creates_the_environment_and_does_what_the_first_page_says() -> None:
    for line in ("    make run  ", "    make test  ", "`make run PROBLEM=my_problem.toml`", "`make docs`"):
        assert line in README
    for goal, problem in (([], "coin_toss"), (["PROBLEM=my_problem.toml"], "my_problem.toml")):
        steps = planned("run", *goal)
        assert re.search(r"-m venv nowhere$", steps, re.MULTILINE)
        assert "pip install" in steps
        assert steps.rstrip().endswith(f"nowhere/bin/bap solve {problem}")
    assert re.search(r"ruff check \..*bin/mypy.*-m pytest", planned("test"), re.DOTALL)
    assert "-m sphinx" in planned("docs")
    assert "-m benchmarks" in planned("bench")


@pytest.mark.slow
def test_the_example_of_a_model_is_a_file_to_start_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "`bap examples rare_disease` and `bap model FILE`" in README
    assert main(["examples", "rare_disease"]) == 0
    Path("my.toml").write_text(capsys.readouterr().out)
    assert main(["model", "my.toml"]) == 0


def test_the_extra_of_the_survey_installs_what_the_first_page_says() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["microdata"]
    names = ", ".join(re.split(r"[<>=]", line)[0] for line in extras)
    install = rf"^    pip install 'bap-lp\[microdata\]' +# Python [\d.]+ or later; the extra adds {names}$"
    assert re.search(install, README, re.MULTILINE)


def test_the_citation_is_that_of_the_citation_file() -> None:
    cited = (ROOT / "CITATION.cff").read_text()
    number = re.search(r"arXiv:[\d.]+\d", README)
    assert number is not None
    assert number[0] in cited
    for name in re.findall(r'family-names: "?(\w+)', cited):
        assert f"{name}, " in README
