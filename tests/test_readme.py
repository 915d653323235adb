"""The first page: its real table gives the numbers that it shows, and each reader finds a page with one click."""

from __future__ import annotations

import json
import re
import textwrap
from fractions import Fraction
from pathlib import Path

import pytest

from bap_cli.main import main
from microdata import load_study

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
    assert 20 * rows["optimum"].risks.bob < rows["suppress all"].risks.bob  # "less than a twentieth"
    assert rows["optimum"].risks.eve == rows["suppress all"].risks.eve  # "as uncertain as she was without a release"


def test_three_readers_have_a_link_on_the_first_screen() -> None:
    first = README[: README.index("\n## ")]
    for reader, page in (("statistician", "microdata"), ("lawyer", "conditions"), ("engineer", "service")):
        assert re.search(rf"{reader}s?[^.]*?\(docs/{page}\.md\)", first, re.DOTALL), reader


@pytest.mark.parametrize(
    ("page", "onward"), [("microdata", "theory.md"), ("conditions", "verify.md"), ("service", "api/")]
)
def test_each_readers_page_leads_on_as_the_guide_says(page: str, onward: str) -> None:
    assert re.search(rf"\]\({onward}", (ROOT / "docs" / f"{page}.md").read_text())


def test_the_citation_is_that_of_the_citation_file() -> None:
    cited = (ROOT / "CITATION.cff").read_text()
    number = re.search(r"arXiv:[\d.]+\d", README)
    assert number is not None
    assert number[0] in cited
    for name in re.findall(r'family-names: "?(\w+)', cited):
        assert f"{name}, " in README
