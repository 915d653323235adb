"""What holds each page up: `tests/claims/` names a test or a proof for the claims of every section of every page."""

from __future__ import annotations

import ast
import re
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTS = sorted((ROOT / "tests" / "claims").glob("*.toml"))
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").glob("*.md"))]


def one_line(text: str) -> str:
    return " ".join(text.split())


@cache
def sections(page: str) -> dict[str, str]:
    """The sections of a page by their headings; a '#' in a block of code is no heading."""
    parts, fenced, title = {"": ""}, False, ""
    for line in (ROOT / page).read_text(encoding="utf-8").splitlines():
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else re.fullmatch(r"#+ (.*)", line)
        if heading:
            title = heading[1]
            assert title not in parts, f"{page}: two sections are called {title!r}"
        parts[title] = parts.get(title, "") + line + "\n"
    return {title: one_line(text) for title, text in parts.items() if text.strip()}


@cache
def names(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def holds(holder: str) -> bool:
    """Whether the test or the section of a page that a line names is there."""
    path, _, part = holder.partition("::" if "::" in holder else "#")
    if not (ROOT / path).is_file():
        return False
    if path.endswith(".py"):
        return path.startswith("tests/") and part in names(path)
    return part in sections(path)


def test_every_page_has_its_list() -> None:
    assert {file.stem for file in LISTS} == {Path(page).stem.lower() for page in PAGES}


@pytest.mark.parametrize("file", LISTS, ids=lambda file: file.stem)
def test_a_test_or_a_proof_is_named_for_the_claims_of_every_section(file: Path) -> None:
    listed = tomllib.loads(file.read_text(encoding="utf-8"))
    parts = sections(listed["page"])
    text, seen = " ".join(parts.values()), set(listed.get("no_claim", []))
    assert seen <= set(parts)
    for claim in listed["claim"]:
        said = one_line(claim["says"])
        assert said in text, f"{listed['page']} no longer says {said!r}"
        assert claim["held_by"], said
        seen |= {title for title, own in parts.items() if said in own}
        for holder in claim["held_by"]:
            assert holds(holder), f"{listed['page']}: {said!r} is held up by {holder}, which is not there"
    assert set(parts) - seen == set(), f"{listed['page']}: sections without a line in {file.name}"
