"""`bap report` in a real browser: the page says what the library says, at every lambda, and nothing else happens."""

import json
import re
from collections.abc import Callable
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from browser import Open
from hypothesis import given, settings
from strategies import knowing_problems
from tampering import put

from bap_cli.main import main
from bap_cli.report.page_tables import proof_tables
from bap_lp import Problem, solve
from bap_lp.files.problems import load_problem
from bap_lp.questions.path.pieces import lambda_path
from bap_lp.releases import compare

EXAMPLES = Path(__file__).parents[2] / "examples"


LONG = "long " * 40
HOSTILE = {
    "title": "</script><script>alert('title')</script> \u202e $x$ [[DATA]]",
    "data": {
        "labels": [
            "<script>alert('x')</script>",
            '"quo\'tes" & <b>',
            "👩\u200d👧 🎉",
            "من اليمين",
            LONG,
            "x\u2028y\u0000z",
        ],
        "prior": ["1/6"] * 6,
    },
    "bob": {
        "name": "<img src=x onerror=alert('bob')>",
        "decisions": ["<b>yes</b>", "לא", LONG],
        "loss": [[0, 1, 2], [0, 2, 1], [2, 0, 1], [1, 0, 2], [1, 2, 0], [2, 1, 0]],
    },
    "eve": {"decisions": ["<!-- <script>", "]]>"], "loss": [[0, 3], [2, 0], [0, 1], [1, 0], [0, 1], [4, 0]]},
    "alice": {"lambda": "2/5"},
}


def shown(page: Any, number: str) -> Fraction:
    return Fraction(page.inner_text(f"#{number}").replace("−", "-"))


def check(page: Any, problem: Problem, lam: Fraction) -> None:
    """Risks, bound and baseline gaps on the page are those of the library at lam, exactly."""
    best = solve(problem, lam)
    assert shown(page, "alice") == best.value
    if lam not in lambda_path(problem).breakpoints:
        assert (shown(page, "bob"), shown(page, "eve")) == (best.risks.bob, best.risks.eve)
    comparison = compare(problem, lam, best)
    gaps = {}
    for row in page.locator("#releases tbody tr").all()[1:]:
        cells = [cell.inner_text() for cell in row.locator("td").all()]
        gaps[cells[0].partition(" (")[0]] = Fraction(cells[4].replace("−", "-"))
    assert gaps == {row.name: row.excess for row in comparison.releases if row.name != "optimum"}
    assert page.locator("#checks li.bad").count() == 0
    assert page.locator("#checks li").count() == 4
    assert f"--lambda {lam} " in page.inner_text("#commands")


@pytest.mark.slow
def test_the_slider_follows_the_solver_by_mouse_and_by_keyboard(opened: Open) -> None:
    problem = load_problem(EXAMPLES / "medical_test.toml").problem
    page = opened("medical_test")
    check(page, problem, Fraction(1, 2))
    page.locator("#slider").scroll_into_view_if_needed()
    seen = set()
    for share in (0.02, 0.3, 0.62, 0.97):
        box = page.locator("#slider").bounding_box()
        page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        lam = Fraction(page.input_value("#lambda"))
        seen.add(lam)
        check(page, problem, lam)
    assert len(seen) == 4
    page.focus("#slider")
    page.keyboard.press("Home")
    assert Fraction(page.input_value("#lambda")) == 0
    for key, times in (("ArrowRight", 3), ("PageUp", 4), ("ArrowLeft", 2)):
        for _ in range(times):
            page.keyboard.press(key)
        lam = Fraction(page.input_value("#lambda"))
        assert lam not in seen
        seen.add(lam)
        check(page, problem, lam)
    assert "lambda" in page.get_attribute("#slider", "aria-valuetext")


@pytest.mark.slow
def test_breakpoints_typed_numbers_and_buttons_move_lambda(opened: Open) -> None:
    problem = load_problem(EXAMPLES / "medical_test.toml").problem
    first, second = lambda_path(problem).breakpoints
    page = opened("medical_test")
    page.click("#next")
    assert Fraction(page.input_value("#lambda")) == second
    assert "equally good" in page.inner_text("#gist")
    check(page, problem, second)
    page.click("#previous")
    assert Fraction(page.input_value("#lambda")) == first
    assert page.is_disabled("#previous")
    page.fill("#lambda", "0,75")
    page.keyboard.press("Enter")
    check(page, problem, Fraction(3, 4))
    page.fill("#lambda", "-1")
    page.keyboard.press("Enter")
    assert "must be a number" in page.inner_text("#lambda-error")
    assert shown(page, "alice") == solve(problem, "3/4").value
    page.click("#to-calibrated")
    check(page, problem, Fraction(135, 136))
    page.click("#pieces button >> nth=0")
    assert Fraction(page.input_value("#lambda")) < first
    star = page.get_attribute("#star", "points")
    page.click("#to-start")
    assert page.get_attribute("#star", "points") != star


@pytest.mark.slow
def test_hostile_labels_are_text(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(HOSTILE))
    page = opened(tmp_path / "p.json")
    assert page.inner_text("h1") == "</script><script>alert('title')</script> \\u202e $x$ [[DATA]]"
    for label in (*HOSTILE["data"]["labels"][:4], HOSTILE["bob"]["name"], *HOSTILE["bob"]["decisions"][:2]):
        assert label in page.inner_text("main")
    assert "x\\u2028y\\x00z" in page.inner_text("main")
    assert page.locator("script").count() == 2
    assert page.locator("main img, main b b, main script").count() == 0
    page.focus("#slider")
    for key in ("Home", "End", "PageDown"):
        page.keyboard.press(key)
    check(page, load_problem(tmp_path / "p.json").problem, Fraction(page.input_value("#lambda")))


@pytest.mark.slow
def test_a_float_problem_is_shown_with_its_tolerance(opened: Open, tmp_path: Path) -> None:
    document = json.loads(json.dumps(HOSTILE))
    document["data"]["prior"] = [0.1, 0.2, 0.3, 0.1, 0.2, 0.1]
    (tmp_path / "p.json").write_text(json.dumps(document))
    problem = load_problem(tmp_path / "p.json").problem
    page = opened(tmp_path / "p.json")
    page.focus("#slider")
    for _ in range(5):
        page.keyboard.press("PageUp")
        lam = float(page.input_value("#lambda"))
        assert float(page.inner_text("#alice").replace("−", "-")) == pytest.approx(
            float(solve(problem, lam).value), abs=2e-6
        )
    assert page.is_hidden("#check")
    assert "tolerance" in page.inner_text("#proof")


@pytest.mark.slow
def test_conditions_of_the_file_are_met_and_told(opened: Open, tmp_path: Path) -> None:
    text = (EXAMPLES / "medical_test.toml").read_text() + "\n[conditions]\nexp_epsilon = 4\n"
    (tmp_path / "p.toml").write_text(text)
    loaded = load_problem(tmp_path / "p.toml")
    page = opened(tmp_path / "p.toml")
    for lam in (loaded.lam, Fraction(1, 3), Fraction(2)):
        page.fill("#lambda", str(lam))
        page.keyboard.press("Enter")
        best = solve(loaded.problem, lam, conditions=loaded.conditions)
        assert [shown(page, name) for name in ("bob", "eve", "alice")] == [best.risks.bob, best.risks.eve, best.value]
    assert "exp_epsilon = 4" in page.inner_text("#words")
    assert "that meet the conditions" in page.inner_text("#verdict")
    assert "log 4 = 1.38629" in page.inner_text("#privacy")
    assert "frontier under the conditions" in page.inner_text("#legend")
    rows = [row.locator("td").all_inner_texts() for row in page.locator("#releases tbody tr").all()]
    assert {row[0].partition(" (")[0]: row[1] for row in rows}["full"] == "no"
    assert not page.is_visible("#check")


@pytest.mark.slow
def test_the_page_computes_with_exact_fractions(chromium: Any) -> None:
    page = chromium.new_page()
    page.add_script_tag(path=str(Path(__file__).parents[2] / "bap_cli" / "report" / "page" / "rational.js"))
    for value in (
        Fraction(1, 3),
        Fraction(-7, 4),
        Fraction(10**400 + 1, 3 * 10**400),
        Fraction(3, 10**320),
        Fraction(0),
    ):
        assert page.evaluate(f"Q.float(Q.read('{value}'))") == float(value)
    assert page.evaluate("Q.text(Q.sub(Q.read('1/3'), Q.mul(Q.read('2/7'), Q.read('-5/4'))))") == "29/42"
    assert page.evaluate("['1/0', '', 'x', '-1', '1e5', '1/-2'].map(Q.typed)") == [None] * 6
    assert page.evaluate("Q.text(Q.typed(' 12 / 8 '))") == "3/2"
    page.close()


def test_the_page_is_deterministic_atomic_and_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "r.html"
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")  # the page carries the day it was made
    assert main(["report", "coin_toss", "-o", str(out)]) == 0
    first = out.read_bytes()
    assert main(["report", "coin_toss", "-o", str(out)]) == 0
    assert out.read_bytes() == first
    assert [p.name for p in tmp_path.iterdir()] == ["r.html"]
    assert not re.search(rb'(src|href)="?(https?:)?//|@import|url\(', first)
    capsys.readouterr()
    (tmp_path / "bad.toml").write_text("title = 3")
    nowhere, bad = str(tmp_path / "no" / "r.html"), str(tmp_path / "bad.toml")
    for wrong in (
        ["coin_toss", "--lambda", "-1"],
        ["coin_toss", "-o", str(tmp_path)],
        ["coin_toss", "-o", nowhere],
        [bad],
    ):
        assert main(["report", "-o", str(tmp_path / "x.html"), *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.toml", "r.html"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "suffix", "magic"),
    [
        ("map", "png", b"\x89PNG"),
        ("path", "svg", b"<?xml"),
        ("channel", "pdf", b"%PDF"),
        ("signals", "PNG", b"\x89PNG"),
    ],
)
def test_plot_writes_pictures(tmp_path: Path, kind: str, suffix: str, magic: bytes) -> None:
    out = tmp_path / f"p.{suffix}"
    assert main(["plot", "coin_toss", "--kind", kind, "-o", str(out)]) == 0
    assert out.read_bytes().startswith(magic)
    assert [p.name for p in tmp_path.iterdir()] == [out.name]
    assert main(["plot", "coin_toss", "-o", str(tmp_path / "p.gif")]) == 2


def tampered(page: Any, out: Path, change: Callable[[Any], None]) -> None:
    """The page again, with its data changed and its script as it was."""
    text = out.read_text()
    island = json.loads(re.search(r'id="data">(.*?)</script>', text)[1])
    change(island)
    start, end = text.index('id="data">') + len('id="data">'), text.index("</script>", text.index('id="data">'))
    out.write_text(text[:start] + json.dumps(island).replace("<", "\\u003c") + text[end:])
    page.goto(out.as_uri())


def _reply(island: Any) -> None:
    island["proof"]["pieces"][1]["u"] = [["1/3", "0"], ["0", "1/3"]]
    island["proof"]["pieces"][1]["onward"] = [["1", "0"], ["0", "1"]]


SILENT = [[0, 0, "3/4"], [1, 0, "1/4"]]
BROKEN = {
    "rho": (put("proof", "pieces", 1, "rho", to=SILENT), "a signal that is shown is never sent"),
    "u": (_reply, "The check failed"),
    "sign": (put("proof", "pieces", 1, "rho", 0, 2, to="-3/-4"), "is damaged"),
    "spelling": (put("proof", "prior", 0, to="300/-400"), "300/-400 is not a number"),
    "prior": (put("proof", "prior", to=["1/4", "1/4"]), "does not sum to one"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_the_banner_follows_the_check(opened: Open, tmp_path: Path, name: str) -> None:
    """It said "Proved optimal" whatever the check found, and "199/-400" was read as a number."""
    change, words = BROKEN[name]
    page = opened("coin_toss")
    assert page.inner_text("#verdict").startswith(
        "Proved optimal among all mechanisms, in exact fractions: this browser"
    )
    assert page.get_attribute("#verdict", "class") == "verdict"
    tampered(page, tmp_path / "report.html", change)
    assert words in page.inner_text("#verdict")
    assert "Proved" not in page.inner_text("#verdict")
    assert page.get_attribute("#verdict", "class") == "verdict bad"


@pytest.mark.slow
def test_what_the_page_shows_is_what_it_checks(opened: Open, tmp_path: Path) -> None:
    """Numbers beside the proof are not believed: table, cards, risks and losses come from the checked tables."""
    page = opened("coin_toss")
    parts = ("#mechanism", "#cards", "#bob", "#eve", "#alice", "#loss-tables", "#bob-kept", "#privacy")
    before = [page.text_content(part) for part in parts]

    def lie(island: Any) -> None:
        for piece in island["pieces"]:
            piece["bob"], piece["eve"] = "0", "10"
            for row in piece["detail"]["rows"]:
                row["cells"] = [["0", 0], ["1", 1]]
            for card in piece["detail"]["cards"]:
                card["probability"] = "1"
                card["data"]["listed"] = [[label, "1", 1, x] for label, _, _, x in card["data"]["listed"]]
                card["bob"] = card["eve"] = []
        for agent in (*island["problem"]["bobs"], *island["problem"]["eves"]):
            agent["loss"] = [["0"] * len(row) for row in agent["loss"]]
        island["problem"]["prior"] = ["1", "0"]
        island["full"] = island["null"] = {"bob": "0", "eve": "0"}

    tampered(page, tmp_path / "report.html", lie)
    assert [page.text_content(part) for part in parts] == before
    assert page.inner_text("#verdict").startswith("Proved optimal")


COIN: dict[str, Any] = {
    "data": {"prior": ["3/4", "1/4"]},
    "bob": {"loss": [["1/3", "2/3"], [1, 0]]},
    "eve": {"loss": [[0, 1], [10, 0]]},
}
WITHOUT_PROOF = {
    "conditions": (json.dumps(COIN | {"conditions": {"exp_epsilon": 4}}), ""),
    "floats": (json.dumps(COIN | {"data": {"prior": [0.75, 0.25]}}), ""),
    "beliefs": (json.dumps(COIN | {"eve": {"loss": [[0, 1], [10, 0]], "prior": ["1/2", "1/2"]}}), ""),
    "size": (json.dumps(COIN), "bap_cli.report.page_tables._SIZE"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WITHOUT_PROOF)
def test_a_page_without_a_proof_does_not_claim_one(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    text, bound = WITHOUT_PROOF[name]
    if bound:
        monkeypatch.setattr(bound, 100)
    (tmp_path / "p.json").write_text(text)
    page = opened(tmp_path / "p.json")
    assert page.inner_text("#verdict").startswith("Claimed to be optimal among all mechanisms")
    assert "carries no proof" in page.inner_text("#verdict")
    assert "proves nothing by itself" in page.inner_text("main")


@pytest.mark.slow
def test_the_page_of_a_bundle_names_its_files(opened: Open, tmp_path: Path) -> None:
    assert main(["solve", "coin_toss", "--out", str(tmp_path / "d")]) == 0
    page = opened(tmp_path / "d")
    raw = (tmp_path / "d" / "manifest.json").read_bytes()
    manifest, origin = json.loads(raw), page.inner_text("#origin")
    assert all(digest in page.inner_text("#bundle") for digest in manifest["files"].values())
    assert all(part in origin for part in (sha256(raw).hexdigest(), manifest["source"]["sha256"], manifest["made"]))
    assert page.inner_text("#commands").startswith("bap verify ")
    assert page.inner_text("#mechanism tbody tr >> nth=1").split() == ["heads", "3/10", "7/10"]
    assert page.inner_text("#verdict").startswith("Proved optimal")


@pytest.mark.slow
@settings(max_examples=40)
@given(problem=knowing_problems())
def test_the_proof_of_a_page_has_the_losses_of_eves_who_know_something(problem: Problem) -> None:
    """From weights, losses and k(z|x) the page gets E(x, (z, j)) = weight k(z|x) L(x,j), exactly that of the path."""
    path = lambda_path(problem)
    tables = proof_tables(problem, path)
    assert tables is not None
    arrays = path.pieces[0].arrays
    for c, row in enumerate(arrays.E.tolist()):
        found = []
        for eve in tables["eves"]:
            shares = eve.get("shares", [["1"]] * len(arrays.p))[c]
            assert sum(map(Fraction, shares)) == 1
            found += [Fraction(eve["weight"]) * Fraction(k) * Fraction(v) for k in shares for v in eve["loss"][c]]
        assert found == [Fraction(str(v)) for v in row]
    assert all(len(piece["u"][0]) == arrays.E.shape[1] for piece in tables["pieces"])


def _swap_states(island: Any) -> None:
    for row in island["pieces"][1]["detail"]["rows"]:
        row["at"] = [1 - row["at"][0]]


def _repeat_row(island: Any) -> None:
    rows = island["pieces"][1]["detail"]["rows"]
    rows[1]["at"] = rows[0]["at"]


def _counts(island: Any) -> None:
    island["problem"] |= {"count": 9, "emptyCount": 3}
    for piece in island["pieces"]:
        piece["bob"], piece["eve"] = "1/7", "1/7"
        piece["detail"] |= {"hiddenSignals": 4, "hiddenRows": 4}
        for part in piece["detail"]["rows"]:
            part["more"], part["states"] = 4, ["nobody"]
        for card in piece["detail"]["cards"]:
            card["data"]["others"] = 4
            card["data"]["listed"] = [["nobody", *rest] for _, *rest in card["data"]["listed"]]
    for share in island["problem"]["likely"]:
        share[0] = "nobody"


BESIDE = {
    "a rounded lambda": (put("stops", -1, to=7.5), "a λ of the slider is rounded"),
    "rows of other states": (_swap_states, ""),
    "counts and labels": (_counts, ""),
    "weight": (put("problem", "bobs", 0, "weight", to="7"), ""),
    "a row twice": (_repeat_row, "a row is shown twice"),
    "a signal twice": (put("pieces", 1, "detail", "columns", to=[0, 0]), "a signal that is shown is never sent"),
    "the most probable": (put("problem", "likely", to=[["tails", "1/2", 1]]), "a more probable state is not shown"),
    "calibration": (put("lambda", "calibrated", to="1/2"), "λ is stated to be calibrated, but it is not"),
    "range": (put("pieces", 0, "end", to="1/11"), "the pieces do not follow each other"),
    "beliefs": (put("problem", "eves", 0, "prior", to=["1/2", "1/2"]), "an agent is not the one of the proof"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BESIDE)
def test_what_stands_beside_the_proof_follows_from_it_or_is_refused(opened: Open, tmp_path: Path, name: str) -> None:
    """Labels could be moved to other rows, and counts, weights and the risks of other lines were believed."""
    change, words = BESIDE[name]
    page = opened("coin_toss")
    parts = ("#words", "#mechanism", "#cards", "#pieces", "#lines", "#released", "#short", "#loss-tables")
    before = [page.text_content(part) for part in parts]
    tampered(page, tmp_path / "report.html", change)
    if words:
        assert words in page.inner_text("#verdict")
        assert page.get_attribute("#verdict", "class") == "verdict bad"
    elif name == "rows of other states":  # the order of the rows is free; every label stays with its own
        rows = [page.inner_text(f"#mechanism tbody tr >> nth={k}").split() for k in (0, 1)]
        assert rows == [["heads", "3/10", "7/10"], ["tails", "1", "0"]]
    else:
        assert [page.text_content(part) for part in parts] == before
        assert page.inner_text("#verdict").startswith("Proved optimal")


@pytest.mark.slow
def test_a_line_for_another_lambda_is_not_shown_without_its_proof(opened: Open, tmp_path: Path) -> None:
    page = opened("coin_toss")
    tampered(page, tmp_path / "report.html", put("proof", "pieces", 0, "rho", to=SILENT))
    assert page.inner_text("#verdict").startswith("Proved optimal")
    for table in ("#lines", "#pieces"):
        first, second = (page.inner_text(f"{table} tbody tr >> nth={k}") for k in (0, 1))
        assert "not proved" in first
        assert "not proved" not in second
