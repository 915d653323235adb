"""The first screen of a report: what it says is what the library computes, without a fraction, on any screen."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from browser import FRACTION, Open, can_be_read, hundred

from bap_cli.catalogue import catalogue
from bap_cli.inputs import load
from bap_cli.report.conditions import conditions_for_people
from bap_cli.report.sign import counts_errors, signing
from bap_lp import Conditions, Problem, evaluate, lambda_path, solve
from bap_lp.model.problem import Agent
from bap_lp.questions.uniqueness import is_unique
from bap_lp.releases.library import full, null

SMALL = [name for name in catalogue() if name not in ("raw_records", "protected_cell", "location_grid", "salary_bands")]
WIDE = {  # ten places on a line: ten columns would be a wall of zeros
    "data": {"prior": [f"{k}/55" for k in range(1, 11)], "labels": [f"p{k}" for k in range(10)]},
    "bob": {"loss": [[abs(x - i) for i in range(10)] for x in range(10)], "decisions": [f"p{k}" for k in range(10)]},
    "eve": {"loss": [[int(x != j) for j in range(10)] for x in range(10)]},
    "alice": {"lambda": "3/2"},
}
BITS = {  # Bob guesses one bit, Eve another that goes along with it
    "data": {"prior": ["2/5", "1/10", "3/20", "7/20"]},
    "bob": {"loss": [[0, 1], [0, 1], [1, 0], [1, 0]]},
    "eve": {"loss": [[0, 1], [1, 0], [0, 1], [1, 0]]},
    "alice": {"lambda": "6/5"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["coin_toss", "two_bobs", "prosecutor", "wide"])
def test_no_fraction_is_seen_on_any_screen_and_nothing_scrolls_sideways(
    opened: Open, tmp_path: Path, name: str
) -> None:
    (tmp_path / "wide.json").write_text(json.dumps(WIDE))
    name = str(tmp_path / "wide.json") if name == "wide" else name
    for width in (390, 1280):
        for scheme in ("light", "dark"):
            page = opened(name, width, scheme)
            words = page.inner_text("#sign")
            assert not FRACTION.search(words), FRACTION.search(words)
            assert "Which line would you sign?" in words
            assert "NaN" not in words
            assert "undefined" not in words
            can_be_read(page, width, scheme)


@pytest.mark.slow
def test_the_cards_say_what_the_library_computes(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps(BITS))
    loaded = load(str(tmp_path / "p.json"))
    best = solve(loaded.problem, loaded.lam)
    page = opened(tmp_path / "p.json")
    everything, nothing = (evaluate(loaded.problem, release(loaded.problem)) for release in (full, null))
    bob, eve, cost = (page.inner_text(f"#short .figure >> nth={k}") for k in range(3))
    assert f"wrong in {hundred(best.risks.bob)} of 100 decisions" in bob
    assert f"{hundred(everything.bob)} with all the data, {hundred(nothing.bob)} without a release" in bob
    assert f"right in {hundred(1 - best.risks.eve)} of 100 guesses" in eve
    assert f"{hundred(1 - nothing.eve)} before the release, {hundred(1 - everything.eve)} with all the data" in eve
    more, fewer = best.risks.bob - everything.bob, best.risks.eve - everything.eve
    assert 0 < more < fewer
    assert f"makes {hundred(more)} more wrong decisions in 100" in cost
    assert f"makes {hundred(fewer)} fewer right guesses in 100" in cost


@pytest.mark.slow
def test_the_lines_are_the_pieces_of_the_path_and_move_the_page(opened: Open) -> None:
    problem = load("coin_toss").problem
    path = lambda_path(problem)
    page = opened("coin_toss")
    rows = page.locator("#lines tbody tr")
    assert rows.count() == len(path.pieces)
    for k, piece in enumerate(path.pieces):
        cells = rows.nth(k).locator("td").all_inner_texts()
        assert cells[1] == hundred(piece.risks.bob)
        assert float(cells[2]) == pytest.approx(float(piece.risks.eve), rel=1e-2)
    page.locator("#lines tbody tr button").first.focus()
    page.keyboard.press("Enter")
    assert path.pieces[0].start <= Fraction(page.input_value("#lambda")) <= path.pieces[0].end
    assert page.locator("#lines tbody tr").nth(0).get_attribute("class") == "here"
    assert page.inner_text("#verdict").startswith("Proved optimal")


@pytest.mark.slow
def test_under_conditions_the_lines_are_those_of_the_conditioned_frontier(opened: Open, tmp_path: Path) -> None:
    text = catalogue()["coin_toss"].read_text() + "\n[conditions]\nexp_epsilon = 4\n"
    (tmp_path / "p.toml").write_text(text)
    loaded = load(str(tmp_path / "p.toml"))
    page = opened(tmp_path / "p.toml")
    path = lambda_path(loaded.problem, conditions=loaded.conditions)
    shown = [row.locator("td").nth(1).inner_text() for row in page.locator("#lines tbody tr").all()]
    assert shown == [hundred(piece.risks.bob) for piece in path.pieces]
    assert shown != [hundred(piece.risks.bob) for piece in lambda_path(loaded.problem).pieces]


@pytest.mark.parametrize("name", SMALL)
def test_risks_of_all_and_nothing_are_those_of_the_releases(name: str) -> None:
    problem = load(name).problem
    told = signing(problem)
    for release, key in ((full, "full"), (null, "null")):
        agents = evaluate(problem, release(problem)).agents
        assert [str(v) for v in agents.values()] == [part[key] for part in (*told["bobs"], *told["eves"])]


def test_an_error_is_counted_only_where_the_loss_is_right_or_wrong() -> None:
    prior, right = ["1/2", "1/2"], [[0, 1], [1, 0]]
    for loss, counts in (
        (right, True),
        ([[0, 2], [2, 0]], False),
        ([[0, 1], [1, 1]], False),
        ([[0, 0], [0, 0]], False),
    ):
        problem = Problem(prior, right, loss)
        assert counts_errors(problem, problem.eves[0], False) == counts
    own = Problem(prior, right, eves=[Agent(right, harm=[[0, 3], [1, 0]])])
    assert not counts_errors(own, own.eves[0], False)
    assert counts_errors(load("coin_toss").problem, load("coin_toss").problem.bobs[0], True)
    assert not counts_errors(load("medical_test").problem, load("medical_test").problem.bobs[0], True)


@pytest.mark.parametrize("name", ["coin_toss", "medical_test", "ties", "two_eves"])
def test_uniqueness_is_the_same_on_all_of_a_piece(name: str) -> None:
    path = lambda_path(load(name).problem)
    for piece in path.pieces:
        end = piece.start + 2 if piece.end == float("inf") else piece.end
        inside = [piece.start + (end - piece.start) * Fraction(k, 7) for k in (1, 3, 6)]
        assert len({is_unique(path.problem, lam) for lam in inside}) == 1


CONDITIONS: list[dict[str, Any]] = [
    {"min_eve_risk": "1/10"},
    {"max_bob_risk": "1/3"},
    {"exp_epsilon": 2, "delta": "1/10"},
    {"epsilon": 1.0, "neighbours": [("a", "b")]},
    {"posterior_caps": [{"event": ["b"], "at_most": "4/5"}]},
    {"posterior_ratio": [{"event": ["b"], "exp_epsilon": "3/2"}]},
    {"independent_of": [["b", "c"]]},
    {"signal_floor": {"Eve": "1/20"}},
    {"pufferfish": {"pairs": [[["a"], ["b"]]], "exp_epsilon": 3}},
    {"max_leakage": "3/2"},
    {"margin": "0"},
    {"deterministic": True},
    {"max_information": "1/2"},
]


@pytest.mark.parametrize("given", CONDITIONS, ids=lambda given: next(iter(given)))
def test_every_condition_is_a_sentence_without_a_fraction(given: dict[str, Any]) -> None:
    problem = Problem(["1/2", "1/4", "1/4"], [[0, 1], [1, 0], [2, 0]], [[0, 1], [1, 0], [3, 0]], states=["a", "b", "c"])
    [found] = conditions_for_people(problem, Conditions(**given))
    assert found.endswith(".")
    assert not FRACTION.search(found)


def test_no_kind_of_condition_is_left_out_of_the_sentences() -> None:
    assert {*Conditions.names()} - {"metric"} <= {name for given in CONDITIONS for name in given}
