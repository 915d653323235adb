"""The page for contributors: its lists are those of the project, and what it names is there."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from test_layout import PARTS

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = SETTINGS["project"]


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\[<>=]", line)[0].lower() for line in requirements} - {"bap-lp"}


def test_the_table_of_dependencies_is_that_of_the_project() -> None:
    found: dict[str, set[str]] = {}
    for packages, extra in re.findall(r"^\| ([\w, -]+?)(?: \(extra `(\w+)`\))? \| ", GUIDE, re.MULTILINE):
        if packages != "package":
            found[extra] = found.get(extra, set()) | set(packages.split(", "))
    extras = PROJECT["optional-dependencies"]
    assert found == {"": names(PROJECT["dependencies"])} | {key: names(extras[key]) for key in extras if key != "all"}
    told = GUIDE[GUIDE.index("The group `dev` adds") : GUIDE.index("`constraints.txt` pins")].lower()
    group = names(SETTINGS["dependency-groups"]["dev"])
    assert {name for name in group if not re.search(rf"\b{name}\b", told)} == set()


def test_the_parts_are_listed_below_all_that_they_import() -> None:
    chapter = GUIDE[GUIDE.index("## The parts of `bap_lp`") : GUIDE.index("`bap_lp/__init__.py` exports")]
    listed = re.findall(r"`(\w+)/?`: ", chapter)
    assert sorted(listed) == sorted(PARTS)
    for place, part in enumerate(listed):
        assert PARTS[part] <= set(listed[:place]), part


def test_every_file_that_is_named_is_there() -> None:
    named = {name for name in re.findall(r"`([\w./]+)`", GUIDE) if re.search(r"/|\.(?:py|md|toml|txt|json)$", name)}
    assert len(named) > 15
    named -= {"NAME.toml", "docs/_build/html"}  # yours to write, and made by `make docs`
    missing = [name for name in named if not (ROOT / name).exists() and not any(ROOT.glob(f"bap_lp/**/{name}"))]
    assert missing == []


def test_a_source_distribution_without_a_tracked_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = tmp_path / "git"
    git.write_text("#!/bin/sh\nprintf 'a.py\\0b.py\\0.ci/run\\0'\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for packed, code in (("ab", 0), ("a", 1)):
        with tarfile.open(tmp_path / "dist.tar", "w") as archive:
            for name in packed:
                archive.add(git, f"bap_lp-0.2.0/{name}.py")
        command = [sys.executable, str(ROOT / "tests" / "sdist.py"), str(tmp_path / "dist.tar")]
        assert subprocess.run(command, capture_output=True, check=False).returncode == code
