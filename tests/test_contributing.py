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


def test_every_dependency_has_its_reason_beside_it() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    chapter = text[text.index("\ndependencies = [") : text.index("[dependency-groups]")]
    assert [line for line in chapter.splitlines() if re.search(r">=\d", line) and not re.search(r" # \S", line)] == []


def test_the_guide_can_be_read_in_a_few_minutes() -> None:
    assert len(GUIDE.split()) < 900


def test_the_parts_are_listed_below_all_that_they_import() -> None:
    chapter = GUIDE[GUIDE.index("## The map") : GUIDE.index("The other packages use")]
    listed = re.findall(r"^- `(\w+)/?`: ", chapter, re.MULTILINE)
    assert sorted(listed) == sorted(PARTS)
    for place, part in enumerate(listed):
        assert PARTS[part] <= set(listed[:place]), part


def test_every_file_that_is_named_is_there() -> None:
    named = {name for name in re.findall(r"`([\w./]+)`", GUIDE) if re.search(r"/|\.(?:py|md|toml|txt|json)$", name)}
    assert len(named) > 15
    named -= {"examples/NAME.toml"}  # yours to write
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
