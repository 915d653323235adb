"""Results that people can use: one line as repr, small tables in notebooks, frames, sentences, values that compare."""

from __future__ import annotations

import pickle
from dataclasses import fields, is_dataclass
from fractions import Fraction as F
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import problems

import bap_lp
from bap_lp import (
    Conditions,
    Mechanism,
    PriorSet,
    Problem,
    compare,
    corner,
    evaluate,
    lambda_path,
    load_bundle,
    randomised_response_family,
    rank_worst_case,
    robust,
    save_bundle,
    sdc,
    sensitivity,
    solve,
    tiers,
    uniqueness,
    verify,
)
from bap_lp.support.display import Displayed, both, clean, equals, fraction, listed, percent

HOSTILE = "<b>&\x1b[31m\n" + "long " * 50


def coin(**labels: Any) -> Problem:
    return Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]], **labels)


def large(n: int = 300) -> Problem:
    losses = [[(7 * x + 3 * d) % 11 for d in range(3)] for x in range(n)]
    return Problem([F(1, n)] * n, losses, losses[::-1], states=[f"{x}: {HOSTILE}" for x in range(n)], title=HOSTILE)


def bundled() -> Any:
    with TemporaryDirectory() as folder:
        save_bundle(folder, BEST)
        return load_bundle(folder)


BEST = solve(coin(title="Coin"), "1/3")
PRIVATE = solve(coin(), "1/3", conditions=Conditions(exp_epsilon=2))
RESULTS: list[Any] = [
    BEST.problem,
    BEST.mechanism,
    BEST,
    BEST.certificate,
    evaluate(coin(), BEST.mechanism),
    evaluate(coin(), BEST.mechanism).signals[0],
    compare(coin(), "1/3"),
    compare(coin(), "1/3")["full"],
    lambda_path(coin()),
    lambda_path(coin()).pieces[1],
    corner(coin()),
    sdc(coin(), min_eve_risk="1/2"),
    PriorSet.total_variation("1/20"),
    robust([coin()], ["1/3"]),
    tiers([coin()], ["1/3"]),
    uniqueness(coin(), "1/3"),
    sensitivity(coin(), "1/3"),
    randomised_response_family(coin()),
    PRIVATE.costs()[0],
    rank_worst_case([coin()], [BEST.mechanism], ["1/3"])[0],
    bundled(),
    randomised_response_family(coin()).minimise("1/3"),
]


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_result_prints_as_the_first_line_of_its_summary(result: Any) -> None:
    first = result.summary().splitlines()[0]
    assert repr(result) == f"<{type(result).__name__.removeprefix('Lowered')}: {first}>"
    assert len(repr(result)) < 200


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_result_can_be_compared_with_its_copy(result: Any) -> None:
    """Problems and mechanisms by value; the arrays of the others once made the comparison an error."""
    copy = pickle.loads(pickle.dumps(result))
    assert result == result
    assert (result == copy) in (True, False)
    assert result == copy or not isinstance(result, Problem | Mechanism)


OTHERS: list[Any] = [
    verify(coin(), BEST.certificate),
    robust([coin()], ["1/3"]).certificate,
    tiers([coin()], ["1/3"]).certificate,
    solve(coin(), "1/3", priors=PriorSet.total_variation("1/20")).certificate,
    PRIVATE.certificate,
    lambda_path(coin(), conditions=Conditions(exp_epsilon=2)).pieces[0],
]


@pytest.mark.parametrize("result", OTHERS, ids=lambda result: type(result).__name__)
def test_what_is_inside_a_result_prints_as_one_line_with_its_value(result: Any) -> None:
    assert "\n" not in repr(result)
    assert len(repr(result)) < 200
    assert "/" in repr(result)


def test_every_exported_result_is_in_the_list() -> None:
    exported = [getattr(bap_lp, name) for name in bap_lp.__all__]
    kinds = {kind for kind in exported if isinstance(kind, type) and issubclass(kind, Displayed)}
    shown = {type(result) for result in (*RESULTS, *OTHERS)}
    assert kinds <= shown


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_a_notebook_shows_the_line_and_the_rows(result: Any) -> None:
    html, rows = result._repr_html_(), result.rows()
    assert html.startswith("<p>&lt;")
    assert html.count("<tr>") == (len(rows) + 1 if rows else 0)
    assert all(list(row) == list(rows[0]) for row in rows)
    assert result.rows(1) == rows[:1]


@pytest.mark.slow
@pytest.mark.parametrize("as_float", [False, True])
def test_large_problems_and_hostile_labels_stay_short_and_harmless(as_float: bool) -> None:
    problem = large().as_float() if as_float else large()
    best = solve(problem, 0.5 if as_float else "1/2")
    path, comparison = lambda_path(problem), compare(problem, best.lam, best)
    evaluation = evaluate(problem, best.mechanism)
    for result in (problem, best, best.mechanism, best.certificate, path, path.pieces[0], comparison, evaluation):
        assert len(repr(result)) < 260
        assert "\n" not in repr(result)
        html = result._repr_html_()
        assert len(html) < 20_000
        assert "<b>" not in html
        assert "\x1b" not in html
    assert "more is not shown" in problem._repr_html_()


def test_a_summary_has_the_numbers_of_the_solution() -> None:
    words = PRIVATE.summary()
    for value in (PRIVATE.value, PRIVATE.risks.bob, PRIVATE.risks.eve, PRIVATE.price_of_conditions, PRIVATE.lam):
        assert str(value) in words
    for cost in PRIVATE.costs():
        assert f"{cost.name}: cost = {cost.cost}" in words
    found = evaluate(PRIVATE.problem, PRIVATE.mechanism)
    for signal in found.signals:
        assert f"Signal “{signal.signal}”, probability {signal.probability} " in words
        assert all(str(v) in words for v in signal.posterior.values())
    assert f"{float(solve(coin(), 0.3).bound):.12g}" in solve(coin(), 0.3).summary()


@pytest.mark.parametrize("problem", [coin(), coin(states=["a", "b"]).as_float()], ids=["exact", "float"])
def test_a_randomised_state_sends_signals_of_equal_least_cost(problem: Problem) -> None:
    best = solve(problem, problem.as_float().p[0] * 0 + 0.5 if not problem.exact else "1/2")
    assert best.signal_costs is not None
    names = list(problem.bob_decisions)
    for x, row in enumerate(best.mechanism.q):
        sent = [best.signal_costs[x, names.index(s)] for s, v in zip(best.mechanism.signals, row, strict=True) if v > 0]
        assert sent == pytest.approx([min(best.signal_costs[x])] * len(sent), abs=0 if problem.exact else 1e-12)
    assert solve(problem, 1, conditions={"deterministic": True}).signal_costs is None


def test_frames_hold_the_whole_table_with_exact_numbers() -> None:
    frame = BEST.mechanism.to_frame()
    assert frame["data"].tolist() == ["0", "1"]
    assert frame["1"].tolist() == [0, F(7, 10)]
    assert BEST.to_frame().equals(frame)
    assert BEST.problem.to_frame()["Eve: 1"].tolist() == [1, 0]
    assert compare(coin(), "1/3").to_frame().set_index("release").loc["full", "above opt."] == F(7, 40)
    assert lambda_path(coin()).to_frame()["R_E"].tolist() == [0, F(3, 4)]
    assert evaluate(coin(), BEST.mechanism).to_frame()["Eve"].tolist() == ["0, 1", "1"]
    assert randomised_response_family(coin()).to_frame().set_index("w").loc[F(3, 13), "R_E"] == F(3, 4)


def test_a_column_next_to_labels_has_a_name_of_its_own() -> None:
    odd = Mechanism([[1, 0], [0, 1]], signals=["data", "data_"])
    assert [list(row) for row in odd.rows()] == [["data__", "data", "data_"]] * 2


@settings(max_examples=40)
@given(problems())
def test_problems_and_mechanisms_compare_by_value(problem: Problem) -> None:
    again = pickle.loads(pickle.dumps(problem))
    assert again == problem
    assert hash(again) == hash(problem)
    best = solve(problem, 1).mechanism
    assert solve(again, 1).mechanism == best
    assert hash(solve(again, 1).mechanism) == hash(best)
    if problem.exact:
        assert problem != problem.as_float()
        assert best != best.as_float()


def test_numbers_and_labels_count_and_titles_do_not() -> None:
    assert coin(title="one") == coin(title="two")
    assert coin() != coin(states=["tails", "heads"])
    assert coin() != coin(bob_decisions=["fixed", "fair"])
    assert coin() != Problem(["1/4", "3/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    assert coin() != "coin"
    channel = [[1, 0], [0, 1]]
    assert Mechanism(channel, name="a") == Mechanism(channel, name="b")
    assert Mechanism(channel) != Mechanism(channel, signals=["a", "b"])
    assert len({Mechanism(channel), Mechanism(channel)}) == 1


def arrays_of(value: Any, seen: set[int]) -> list[np.ndarray]:
    """All arrays in a result, wherever they are."""
    if id(value) in seen:
        return []
    seen.add(id(value))
    if isinstance(value, np.ndarray):
        return [value]
    parts: list[Any] = []
    if isinstance(value, (tuple, list)):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif is_dataclass(value):
        parts = [getattr(value, field.name) for field in fields(value)]
    elif isinstance(value, Displayed):
        parts = list(vars(value).values())
    return [array for part in parts for array in arrays_of(part, seen)]


CONDITIONED = [
    solve(coin(), "1/3", conditions=Conditions(exp_epsilon=2, min_eve_risk="1/2", margin=0)),
    solve(coin(), "1/3", conditions=Conditions(deterministic=True)),
    lambda_path(coin(), conditions=Conditions(exp_epsilon=2)),
]


@pytest.mark.parametrize("result", [*RESULTS, *OTHERS, *CONDITIONED], ids=lambda result: type(result).__name__)
def test_no_array_of_a_result_can_be_written_to(result: Any) -> None:
    for value in (result, pickle.loads(pickle.dumps(result))):
        assert [array for array in arrays_of(value, set()) if array.flags.writeable] == []


def test_long_fractions_are_rounded_and_said_to_be() -> None:
    long = F(10**30 + 1, 3 * 10**30)
    assert fraction(long) == "≈ 0.333333"
    assert equals("R_A", long) == "R_A ≈ 0.333333"
    assert both(F(13, 40)) == "13/40 (0.325)"
    assert both(F(3)) == "3"


def test_a_share_that_is_neither_nothing_nor_all_is_not_shown_as_such() -> None:
    shown = [percent(share) for share in (0, F(1, 10**30), 0.0006, F(1, 3), 0.9996, 1 - F(1, 10**30), 1, -1e-17)]
    assert shown == ["0.0%", "<0.1%", "0.1%", "33.3%", ">99.9%", ">99.9%", "100.0%", "0.0%"]
    assert (percent(0.004, 0), percent(0.997, 0)) == ("<1%", ">99%")


def test_labels_are_one_printable_piece_of_text() -> None:
    assert clean("a\nb\x1b") == "a\\nb\\x1b"
    assert len(clean("x" * 500)) == 80
    assert listed(["a", "b", "c"], " and ") == "a, b and c"
    assert listed([str(k) for k in range(9)]) == "0, 1, 2, 3, 4, 5 and 3 more"
