"""The pages people read: examples and commands in them do what they show, links lead somewhere, pages stay short."""

from __future__ import annotations

import doctest
import re
import runpy
import shlex
from pathlib import Path
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import pytest

from bap_cli.main import main

ROOT = Path(__file__).parents[1]
SITE = sorted((ROOT / "docs").rglob("*.md"))
PAGES = sorted([*ROOT.glob("*.md"), *SITE])
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(#[^)\s]*)?\)")


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "gallery.md"], ids=lambda page: page.name)
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


CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if CONSOLE.search(page.read_text())], ids=lambda page: page.name
)
def test_a_command_prints_what_the_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is the page's own, named in the sentence before it; lines may be left out, and blanks at their ends."""
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    for name, file in re.findall(r"`([\w.]+\.toml)`:\n\n```toml\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        Path(name).write_text(file)
    for block in CONSOLE.findall(text):
        for command, *shown in (part.splitlines() for part in block.split("$ ")[1:]):
            capsys.readouterr()
            assert main(shlex.split(command)[1:]) == 0
            printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
            places = [printed.index(line) for line in shown if line != "..."]
            assert places, command
            assert places == sorted(places)


@pytest.mark.slow
def test_every_picture_of_the_gallery_is_drawn_by_the_code_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    images = ROOT / "docs" / "images"
    drawn = runpy.run_path(str(images / "draw.py"))["draw"](tmp_path)
    shown = re.findall(r"\(images/(\w+\.png)\)", (ROOT / "docs" / "gallery.md").read_text())
    assert sorted(path.name for path in drawn) == sorted(shown)
    for path in drawn:
        sizes = [plt.imread(one).shape for one in (path, images / path.name)]
        assert max(abs(a - b) for a, b in zip(*sizes, strict=True)) <= 8, path.name


def formulas(page: Path) -> tuple[list[str], list[str]]:
    """The formulas of a page: those on lines of their own, and those inside a line."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    inline = re.findall(r"(?<!\$)\$([^$]+?)\$(?!\$)", re.sub(r"\$\$.+?\$\$", "", text, flags=re.DOTALL))
    return re.findall(r"\$\$(.+?)\$\$", text, re.DOTALL), [" ".join(formula.split()) for formula in inline]


@pytest.mark.parametrize("page", SITE, ids=lambda page: page.name)
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


@pytest.mark.parametrize("page", SITE, ids=lambda page: page.name)
def test_arguments_that_are_digits_are_in_braces(page: Path) -> None:
    """TeX takes one digit as an argument, docutils the whole number: it draws \\frac12 x as 12 over x."""
    bare = re.compile(r"\\(?:[dt]?frac|[dt]?binom|sqrt)\s*\d|[_^]\s*\d\d")
    assert [formula for part in formulas(page) for formula in part if bare.search(formula)] == []


@pytest.mark.parametrize("page", SITE, ids=lambda page: page.name)
def test_bars_open_close_or_stand_between(page: Path) -> None:
    """A bare | does not say whether it is \\lvert, \\rvert or \\mid, and each has its own spaces."""
    assert [formula for part in formulas(page) for formula in part if "|" in formula] == []


@pytest.mark.parametrize("page", [page for page in SITE if page.parent.name != "proofs"], ids=lambda page: page.name)
def test_a_page_can_be_read_in_one_sitting(page: Path) -> None:
    assert len(page.read_text().split()) <= 2500


def test_the_first_page_fits_a_screen() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 700


def test_the_paper_is_short_and_its_references_are_those_it_cites() -> None:
    text, references = ((ROOT / name).read_text(encoding="utf-8") for name in ("paper.md", "paper.bib"))
    assert len(text.split()) <= 1000
    assert {*re.findall(r"\[@(\w+)\]", text)} == {*re.findall(r"^@\w+\{(\w+),$", references, re.MULTILINE)}
