"""The pages people read: examples in them run, links lead somewhere, and the two commands are on the first screen."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    failed, _ = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    targets = [target for target, _ in LINK.findall(page.read_text()) if "://" not in target]
    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_python_block_is_an_example_that_runs(page: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    assert [block for block in blocks if not block.startswith(">>> ")] == []


def test_readme_shows_an_example_and_the_two_commands() -> None:
    text = (ROOT / "README.md").read_text()
    first_screen = text[: text.index("\n## ")]
    assert "make run" in first_screen
    assert "make test" in first_screen
    assert ">>> " in text


def test_the_checker_imports_no_solver() -> None:
    # everything that verification pulls in, followed through the project's own modules
    seen, queue = set(), {"bap_lp.proof.certificate"}
    imports = re.compile(r"^(?:from|import) ([\w.]+)", re.MULTILINE)
    outside = set()
    while queue:
        name = queue.pop()
        seen.add(name)
        path = ROOT / (name.replace(".", "/") + ".py")
        for found in imports.findall(path.read_text()):
            if found.startswith("bap_lp."):
                queue |= {found} - seen
            else:
                outside.add(found.split(".")[0])
    assert outside & {"highspy", "scipy", "cvxpy"} == set()
    assert "bap_lp.engines.linear.highs" not in seen
    assert "bap_lp.engines.linear.exact" not in seen


def formulas(page: Path) -> tuple[list[str], list[str]]:
    """The formulas of a page: those on lines of their own, and those inside a line."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    inline = re.findall(r"(?<!\$)\$([^$]+?)\$(?!\$)", re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL))
    return re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL), [" ".join(formula.split()) for formula in inline]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_every_formula_can_be_set_without_a_network(page: Path) -> None:
    """docutils knows much of TeX, and not \\dots; the site does not build with a formula that it does not know."""
    from docutils.utils.math.latex2mathml import tex2mathml

    blocks, inline = formulas(page)
    for formula in blocks:
        drawn = ElementTree.fromstring(tex2mathml(formula, as_block=True))
        # a bracket that is open at a & swallows the cell: cells lie in rows, and rows in tables
        inside = {(part.tag.split("}")[1], below.tag.split("}")[1]) for part in drawn.iter() for below in part}
        assert {above for above, below in inside if below == "mtd"} <= {"mtr"}, formula
        assert {above for above, below in inside if below == "mtr"} <= {"mtable"}, formula
    for formula in inline:
        tex2mathml(formula)


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_arguments_that_are_digits_are_in_braces(page: Path) -> None:
    """TeX takes one digit as an argument, docutils the whole number: it draws \\frac12 x as 12 over x."""
    bare = re.compile(r"\\(?:[dt]?frac|[dt]?binom|sqrt)\s*\d|[_^]\s*\d\d")
    assert [formula for part in formulas(page) for formula in part if bare.search(formula)] == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda page: page.name)
def test_bars_open_close_or_stand_between(page: Path) -> None:
    """A bare | does not say whether it is \\lvert, \\rvert or \\mid, and each has its own spaces."""
    assert [formula for part in formulas(page) for formula in part if "|" in formula] == []
