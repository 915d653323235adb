"""Results that people can use: one line as repr, small tables in notebooks, frames, sentences, values that compare."""

from __future__ import annotations

import builtins
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
    Agent,
    Conditions,
    Family,
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
from bap_lp.model.display import Displayed, Tabular, both, clean, equals, fraction, listed, percent

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
BIT = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=[Agent("log")])
RESULTS = {
    "<Problem 'Coin': exact, (N, b, e) = (2, 2, 2)>": BEST.problem,
    "<Mechanism 'optimum': exact, 2 states, 2 signals>": BEST.mechanism,
    "<Solution: exact, R_A = 3/40 at lambda = 1/3, R_B = 13/40, R_E = 3/4, 2 signals>": BEST,
    "<Certificate: exact, R_A = 3/40 at lambda = 1/3>": BEST.certificate,
    "<Evaluation: R_B = 13/40, R_E = 3/4, 2 signals>": evaluate(coin(), BEST.mechanism),
    "<Signal '0': probability = 33/40; Bob: 0; Eve: 0 or 1>": evaluate(coin(), BEST.mechanism).signals[0],
    "<Comparison: lambda = 1/3, 6 releases, optimum R_A = 3/40>": compare(coin(), "1/3"),
    "<Row 'full': R_A = 1/4, 7/40 above the optimum>": compare(coin(), "1/3")["full"],
    "<Path: exact, 2 pieces, breakpoints 1/10>": lambda_path(coin()),
    "<Piece: lambda from 1/10 to infinity, R_B = 13/40, R_E = 3/4>": lambda_path(coin()).pieces[1],
    "<Corner: R_B = 1/4, R_E = 3/4, not attained>": corner(coin()),
    "<DisclosureControl: R_B = 3/10, R_E = 1/2, price = 1/10>": sdc(coin(), min_eve_risk="1/2"),
    "<PriorSet: even if the shares are wrong by 5 percentage points in total>": PriorSet.total_variation("1/20"),
    "<RobustSolution: exact, 1 scenario, worst R_A = 3/40, 2 signals>": robust([coin()], ["1/3"]),
    "<TierSolution: exact, 1 tier, value = 3/40, price of nesting = 0>": tiers([coin()], ["1/3"]),
    "<Uniqueness: unique, R_A = 3/40, 2 signals at least>": uniqueness(coin(), "1/3"),
    "<Sensitivity: R_A = 3/40, dR_A/dlambda = -3/4, (N, b, e) = (2, 2, 2)>": sensitivity(coin(), "1/3"),
    "<Family 'randomised response': exact, w from 0 to 1/2>": randomised_response_family(coin()),
    "<ConditionCost: privacy, cost = 11/120>": PRIVATE.costs()[0],
    "<WorstCase 'optimum': R_A = 3/40 in scenario 0>": rank_worst_case([coin()], [BEST.mechanism], ["1/3"])[0],
    "<Bundle of <Problem 'Coin': exact, (N, b, e) = (2, 2, 2)>, <Certificate: exact, R_A = 3/40 at lambda = 1/3>>": (
        bundled()
    ),
    "<Minimum: R_A = 3/26 at w = 3/13, lambda = 1/3>": randomised_response_family(coin()).minimise("1/3"),
}


@pytest.mark.parametrize("line", RESULTS)
def test_a_result_prints_as_one_line(line: str) -> None:
    assert repr(RESULTS[line]) == line


@pytest.mark.parametrize("result", RESULTS.values(), ids=lambda result: type(result).__name__)
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
    shown = {type(result) for result in (*RESULTS.values(), *OTHERS)}
    assert kinds <= shown


@pytest.mark.parametrize("result", RESULTS.values(), ids=lambda result: type(result).__name__)
def test_a_notebook_shows_the_line_and_the_table(result: Any) -> None:
    html = result._repr_html_()
    assert html.startswith("<p>&lt;")
    assert ("<table>" in html) == isinstance(result, Tabular)


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
    assert "280 more rows not shown" in problem._repr_html_()


def test_summaries_are_plain_sentences() -> None:
    labels = {"states": ["tails", "heads"], "bob_decisions": ["fixed", "fair"], "eve_decisions": ["tails", "heads"]}
    best = solve(coin(**labels, title="Coin"), "1/3")
    assert best.problem.summary() == (
        "Coin.\nThe data are in one of 2 states; the most probable is tails, with probability 3/4 (0.75).\n"
        "Bob decides between fixed and fair.\nEve decides between tails and heads.\nAll numbers are exact."
    )
    assert best.summary() == (
        "At lambda = 1/3 (0.333333) the least risk of Alice is R_A = 3/40 (0.075).\n"
        "A mechanism with 2 signals attains it: R_B = 13/40 (0.325), R_E = 3/4 (0.75).\n"
        "This is proved exactly: no mechanism has a smaller R_A."
    )
    assert best.mechanism.summary() == (
        "The mechanism sends one of 2 signals; 1 of 2 states always send the same one.\n"
        "It is not differentially private: some signal excludes some state."
    )
    assert evaluate(best.problem, best.mechanism).summary().splitlines()[1] == (
        "Signal “fixed” is sent with probability 33/40 (0.825). Bob decides fixed. "
        "Eve is exactly indifferent between tails and heads."
    )
    assert lambda_path(best.problem).summary() == (
        "From lambda = 0 to infinity there are 2 optimal mechanisms, with changes at 1/10.\n"
        "At first R_B = 1/4, R_E = 0; in the end R_B = 13/40, R_E = 3/4."
    )
    assert compare(best.problem, best.lam, best).summary() == (
        "At lambda = 1/3 (0.333333) the optimum has R_A = 3/40 (0.075).\n"
        "The best other release, randomised response, is 21/520 (0.0403846) above it; "
        "the worst, Bob's decision, is 7/40 (0.175) above it."
    )
    conditioned = solve(best.problem, "1/3", conditions=Conditions(exp_epsilon=2))
    assert "no mechanism that meets the conditions has a smaller R_A." in conditioned.summary()
    assert "The conditions cost 11/120" in conditioned.summary()
    assert "proved up to" in solve(best.problem, 0.3).summary()


@pytest.mark.slow
def test_frames_hold_the_whole_table_with_exact_numbers() -> None:
    frame = BEST.mechanism.to_frame()
    assert frame.index.tolist() == ["0", "1"]
    assert frame.loc["1", "1"] == F(7, 10)
    assert BEST.to_frame().equals(frame)
    assert BEST.problem.to_frame().loc["0", "Eve: 1"] == 1
    frame = compare(coin(), "1/3").to_frame()
    assert frame.loc["full", "above the optimum"] == F(7, 40)
    assert frame["Bob-invariant"].to_dict()["full"] == "yes" != frame["Bob-invariant"].to_dict()["null"]
    assert lambda_path(coin()).to_frame()["R_E"].tolist() == [0, F(3, 4)]
    assert evaluate(coin(), BEST.mechanism).to_frame().loc["0", "Eve"] == "0, 1"
    assert randomised_response_family(coin()).to_frame().loc[F(3, 13), "R_E"] == F(3, 4)


def test_without_pandas_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def blocked(name: str, *rest: Any, **more: Any) -> Any:
        if name == "pandas":
            raise ImportError
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", blocked)
    with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install 'bap-lp\[pandas\]'"):
        BEST.mechanism.to_frame()


@pytest.mark.slow
def test_what_has_no_name_shows_none() -> None:
    assert repr(coin()) == "<Problem: exact, (N, b, e) = (2, 2, 2)>"
    plain = Mechanism([[1, 0], [0, 1]])
    assert repr(plain) == "<Mechanism: exact, 2 states, 2 signals>"
    assert repr(Family(coin(), plain, plain)) == "<Family: exact, w from 0 to 1>"


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


@pytest.mark.parametrize("result", [*RESULTS.values(), *OTHERS, *CONDITIONED], ids=lambda result: type(result).__name__)
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
