"""The first page: its real table gives the numbers that it shows, and each reader finds a page with one click."""

from __future__ import annotations

import json
import re
import subprocess
import textwrap
import tomllib
from fractions import Fraction
from pathlib import Path

import pytest

from bap_cli.main import main
from bap_sdc import load_study

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
    frame = Path("survey.csv").read_text().splitlines()[1:]
    assert f"survey of {len(frame)} women" in README
    study = re.search(r"^```toml\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert study is not None
    Path("study.toml").write_text(study[1])
    assert main(["microdata", "solve", "study.toml", "--no-attackers", "--out", "release"]) == 0
    assert "This is proved exactly: no release has a smaller R_A." in " ".join(capsys.readouterr().out.split())
    assert main(["microdata", "release", "release", "survey.csv", "-o", "released.csv"]) == 0
    assert len(Path("released.csv").read_text().splitlines()) == 1 + len(frame)
    solution = load_study("study.toml").study.solve("calibrated")
    rows = {row.name: row for row in solution.compare(attackers=()).rows}
    for title, name in (("nothing", "suppress all"), ("both columns", "as is"), ("the optimum", "optimum")):
        row, numbers = rows[name], next(cells for key, cells in shown().items() if key.startswith(title))
        found = [row.risks.bob, row.risks.eve, row.audit.eve.value, row.audit.informed.value]
        assert [f"{float(v):.3f}" if v else "0" for v in found] == numbers
    changed = [column["changed"] for column in json.loads(Path("release/result.json").read_text())["columns"]]
    share = float(sum(map(Fraction, changed)) / len(changed))
    assert f"**the optimum**: {share:.0%} of the cells changed" in README
    informed = rows["optimum"].audit.informed.value
    assert informed < rows["suppress all"].audit.informed.value  # "who knows the shares better ... learns something"
    assert 20 * rows["optimum"].risks.bob < rows["suppress all"].risks.bob  # "less than a twentieth"
    assert rows["optimum"].risks.eve == rows["suppress all"].risks.eve  # "as uncertain as she was without a release"


def test_three_readers_have_a_link_on_the_first_screen() -> None:
    first = README[: README.index("\n## ")]
    for reader, page in (("statistician", "microdata"), ("lawyer", "conditions"), ("engineer", "service")):
        assert re.search(rf"{reader}s?[^.]*?\(docs/{page}\.md\)", first, re.DOTALL), reader


def test_the_site_starts_with_the_three_readers_and_leads_to_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for reader, page in (("a statistician", "microdata"), ("a lawyer", "conditions"), ("an engineer", "service")):
        assert re.search(rf"^\| {reader}[^|]*\|[^|]*\| \[[^]]*\]\({page}\.md\)", index, re.MULTILINE), reader
    listed = set("\n".join(re.findall(r"^```\{toctree\}\n(.*?)^```", index, re.DOTALL | re.MULTILINE)).split())
    assert {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"} <= listed
    assert {f"api/{path.stem}" for path in (ROOT / "docs" / "api").glob("*.rst")} <= listed


@pytest.mark.parametrize(
    ("page", "onward"), [("microdata", "theory.md"), ("conditions", "verify.md"), ("service", "api/")]
)
def test_each_readers_page_leads_on_as_the_guide_says(page: str, onward: str) -> None:
    assert re.search(rf"\]\({onward}", (ROOT / "docs" / f"{page}.md").read_text())


def planned(*arguments: str) -> str:
    """What make would run where there is no environment yet."""
    command = ["make", "-n", "--no-print-directory", "VENV=nowhere", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_make_creates_the_environment_and_does_what_the_first_page_says() -> None:
    for goal, problem in (([], "coin_toss"), (["PROBLEM=my_problem.toml"], "my_problem.toml")):
        steps = planned("run", *goal)
        assert re.search(r"-m venv nowhere$", steps, re.MULTILINE)
        assert "pip install" in steps
        assert steps.rstrip().endswith(f"nowhere/bin/bap solve {problem}")
    assert re.search(r"ruff check \..*bin/mypy.*-m pytest", planned("test"), re.DOTALL)
    assert "-m sphinx" in planned("docs")
    assert "-m benchmarks" in planned("bench")


@pytest.mark.slow
def test_the_commands_of_the_first_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every row of the table "to | run": the file is the example that the row names, or the coin toss."""
    monkeypatch.chdir(tmp_path)
    text = README[README.index("| to | run |") :].split("\n\n")[0]
    rows = [re.findall(r"`([^`]+)`", line) for line in text.splitlines()[2:]]
    places = dict(zip(("FILE1", "FILE2", "FILE3"), ("file_public", "file_research", "file_secure"), strict=True))
    ran = set()
    for pieces in rows:
        named = next((piece.split()[2] for piece in pieces if piece.startswith("bap examples")), "coin_toss")
        capsys.readouterr()
        assert main(["examples", named]) == 0
        Path("my.toml").write_text(capsys.readouterr().out)
        command, *options = (piece for piece in pieces if not piece.startswith("bap examples"))
        words = [{**places, "FILE": "my.toml"}.get(word, word) for word in command.split()[1:]]
        for chosen in (words, *([*words[:2], *option.split()] for option in options)):
            assert main(chosen) == 0, chosen
            ran.add(chosen[0])
    assert ran == {"solve", "explain", "model", "path", "report", "plot", "compare", "tiers", "counts"}
    capsys.readouterr()
    assert "`bap gaussian optimum --eve both` prints the bracket and the rule" in README
    assert main(["gaussian", "optimum", "--eve", "both"]) == 0
    printed = capsys.readouterr().out
    for words in ("The rule: release 1 when", "R_A of this rule", "no mechanism below"):
        assert words in printed
    assert Path("report.html").is_file()
    assert Path("map.png").is_file()


def test_the_first_page_names_every_folder() -> None:
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    for folder in {name.split(".")[0] for name in packages} | {"examples", "notebooks", "docs", "benchmarks"}:
        assert (ROOT / folder).is_dir()
        assert f"| `{folder}/` |" in README
    notebooks = re.search(r"^\| `notebooks/` \| (.*) \|$", README, re.MULTILINE)
    assert notebooks is not None
    assert len(notebooks[1].split(", ")) == len(list((ROOT / "notebooks").glob("*.ipynb")))


def test_the_extra_of_the_survey_installs_what_the_first_page_says() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["microdata"]
    names = ", ".join(re.split(r"[<>=]", line)[0] for line in extras)
    assert re.search(rf"^    pip install 'bap-lp\[microdata\]' statsmodels +# once: {names}$", README, re.MULTILINE)


def test_the_example_of_the_first_page_has_eight_lines() -> None:
    (example,) = re.findall(r"^```python\n(.*?)\n*```$", README, re.DOTALL | re.MULTILINE)
    assert "## Eight lines" in README
    assert len(example.splitlines()) == 8


def test_the_citation_is_that_of_the_citation_file() -> None:
    cited = (ROOT / "CITATION.cff").read_text()
    number = re.search(r"arXiv:[\d.]+\d", README)
    assert number is not None
    assert number[0] in cited
    for name in re.findall(r'family-names: "?(\w+)', cited):
        assert f"{name}, " in README
