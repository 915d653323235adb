"""The report of a study in a real browser: what its first screen says is what the library computes, on any screen."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from browser import FRACTION, Open, can_be_read, hundred

from bap_cli.main import main
from bap_sdc.records.bundle import load_solution

STUDY = """
data = "survey.csv"
title = "A survey with <b>marks</b>"
[publish.rating]
loss = "absolute"
[publish.faith]
[[eve]]
name = "neighbour"
secret = "affair"
knows = ["age"]
[[eve]]
name = "<i>insurer</i>"
secret = "affair"
loss = [[0, 1], [3, 0]]
[columns.age]
bands = [0, 30, 100]
[audit]
holdout = "1/2"
[alice]
lambda = "3/2"
"""
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A solved study, an internal and a public report."""
    place = tmp_path_factory.mktemp("study")
    rng = np.random.default_rng(5)
    affair = rng.random(400) < 0.35
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 70, 400),
            "rating": np.clip(rng.integers(1, 5, 400) - affair, 1, 4),
            "faith": rng.choice(["none", "some", "<script>alert(1)</script>"], 400),
            "affair": np.where(affair, "yes", "no"),
        }
    )
    frame.to_csv(place / "survey.csv", index=False)
    (place / "study.toml").write_text(STUDY)
    assert main(["microdata", "solve", str(place / "study.toml"), "--out", str(place / "D"), "--no-attackers"]) == 0
    for name, options in (("internal", []), ("public", ["--public"])):
        command = ["microdata", "report", str(place / "D"), "-o", str(place / f"{name}.html"), "--no-attackers"]
        assert main([*command, *options]) == 0
    return place


@pytest.fixture
def shown(browse: Open, folder: Path) -> Open:
    """Opens a report."""
    return lambda name, *window: browse(folder / f"{name}.html", *window)


@pytest.mark.parametrize("name", ["internal", "public"])
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_every_screen_and_can_be_read(shown: Any, name: str, width: int, scheme: str) -> None:
    page = shown(name, width, scheme)
    words = page.inner_text("main")
    assert not FRACTION.search(page.inner_text("header") + page.inner_text("#sign"))
    assert not re.search(r"\bnan\b|NaN|None|undefined|R_[ABE]", words)
    can_be_read(page, width, scheme)
    assert page.evaluate("[...document.images].every((one) => one.naturalWidth > 500 && one.alt)")
    # a picture is never drawn so small that its words cannot be read: a phone gets a narrow one, 200 dots for an inch
    drawn = page.evaluate("[...document.images].map((one) => [one.clientWidth, one.naturalWidth])")
    assert all(width >= (540 if natural > 850 else 0.4 * natural) for width, natural in drawn)
    assert all((natural > 850) == (page.viewport_size["width"] > 640) for _, natural in drawn)


def test_the_cards_say_what_the_library_computes(shown: Any, folder: Path) -> None:
    solution = load_solution(folder / "D")
    audit = solution.audit(attackers=())
    page = shown("internal")
    cards = [card.inner_text() for card in page.locator("#short .figure").all()]
    assert len(cards) == 4
    for card, column, changed in zip(cards, ("rating", "faith"), solution.changed, strict=False):
        assert f"{hundred(changed)} of 100 cells changed" in card
        assert f"held-out records: {hundred(audit.utility.changed[column])} of 100" in card
    neighbour, insurer = cards[2:]
    best, null, full = (float(risks[0]) for risks in (solution.eves, solution.nulls, solution.fulls))
    assert f"right in {hundred(1 - best)} of 100 guesses" in neighbour
    assert f"{hundred(1 - null)} before the release, {hundred(1 - full)} with the whole record" in neighbour
    assert f"at most {hundred(1 - audit.eves[0].informed.value)} for one who knows their shares" in neighbour
    assert f"loses {float(solution.eves[1]):.3g} on average" in insurer
    assert "one guess costs at most 3" in insurer
    assert "one guess" not in neighbour
    assert f"loses {float(solution.columns[0]):.3g} on average, at most 1 for one cell" in cards[0]
    assert "at this λ no release of these columns is better" in page.inner_text("#verdict")
    assert "−0.000" not in page.inner_text("main")
    assert "<i>insurer</i>" in insurer
    assert page.inner_text("h1") == "A survey with <b>marks</b>"
    widths = page.evaluate(
        "[...document.querySelectorAll('.strip .done')].map((one) => Number(one.getAttribute('width')))"
    )
    assert widths[2] == pytest.approx(100 * (null - best) / (null - full), abs=0.1)
    assert "at λ = 1.5, one more unit of loss for the adversaries together" in page.inner_text("#meaning")


@pytest.mark.parametrize(("records", "words"), [(49, "at most 50"), (50, "at most 50"), (51, "100"), (249, "200")])
def test_the_public_number_of_records_is_rounded_and_right(records: int, words: str) -> None:
    from bap_cli.records.first_screen import first_screen
    from bap_sdc import Eve, Study

    frame = pd.DataFrame({"ill": [k % 2 for k in range(records)], "pay": [k % 3 for k in range(records)]})
    solution = Study(frame, {"pay": "0-1"}, [Eve("ill")]).solve(0)
    told = first_screen(solution, solution.verdict(()), True, None)
    assert f"The rule was made from {words} records, rounded to hundreds." in told


def test_the_slider_reaches_every_line_and_says_what_the_path_says(shown: Any, folder: Path) -> None:
    path = load_solution(folder / "D").study.path()
    page = shown("internal")
    chosen = path.lines.index(path.line("3/2"))
    assert page.inner_text("#now").startswith(f"Line {chosen + 1} of {len(path.lines)}")
    assert page.locator("#lines tr.here").get_attribute("data-line") == str(chosen)
    seen = set()
    for stop in range(int(page.get_attribute("#slider", "max")) + 1):
        page.evaluate(
            "(k) => { const s = document.getElementById('slider'); s.value = k; s.dispatchEvent(new Event('input')); }",
            stop,
        )
        words = page.inner_text("#now")
        line = path.lines[int(re.match(r"Line (\d+) of", words)[1]) - 1]
        assert f"the analyst loses {float(line.risks.bob):.3g};" in words
        assert f"gain {100 * max(map(float, path.gains(line))):.1f}%" in words
        seen.add(line)
    assert seen == set(path.lines)
    page.click("#back")
    assert page.inner_text("#now").startswith(f"Line {chosen + 1} of")


def test_the_public_report_has_no_script_no_lines_and_nobody_at_risk(folder: Path) -> None:
    public, internal = ((folder / f"{name}.html").read_text() for name in ("public", "internal"))
    for words in ("Records most at risk", "Which line would you sign?", "<script", "script-src"):
        assert words in internal
        assert words not in public
    assert "In plain words" in public
    assert "alone with their published columns, " in internal
    assert "alone with their published columns, " not in public
