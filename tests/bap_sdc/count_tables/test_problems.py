"""`counts`: an ordinary problem, the same optimum whether tables are merged or not, and one line for bad input."""

from __future__ import annotations

import pickle
from fractions import Fraction as F
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import Conditions, InputError, compare, evaluate, lambda_path, solve, verify
from bap_lp.model.evaluation import risks
from bap_sdc import counts
from bap_sdc.count_tables.disclosure import Cell, Person
from bap_sdc.count_tables.questions import Estimate, Threshold

BOB: dict[str, Any] = {"cells": "1", "loss": "0-1", "thresholds": ["1/3"]}
EVE: dict[str, Any] = {"cells": "2", "asks": "empty"}

CELLS = st.sampled_from(["1", "2", "3", ["1", "2"], ["2", "3"]])
BOBS = st.one_of(
    st.fixed_dictionaries({"cells": CELLS, "loss": st.just("0-1"), "thresholds": st.just(["1/4", "1/2"])}),
    st.fixed_dictionaries(
        {"cells": CELLS, "loss": st.sampled_from(["absolute", "squared"]), "decisions": st.just([0, "1/3", "2/3"])}
    ),
    st.fixed_dictionaries(
        {"cells": CELLS, "loss": st.just("absolute"), "about": st.just("table"), "decisions": st.just([0, 2, 4])}
    ),
)  # fmt: skip
COSTS = st.tuples(st.integers(1, 3), st.integers(1, 3))
ASKED = st.one_of(
    st.fixed_dictionaries({"cells": CELLS, "asks": st.just("empty"), "costs": COSTS}),
    st.fixed_dictionaries({"cells": CELLS, "asks": st.sampled_from(["below", "small"]), "below": st.just(2)}),
    st.fixed_dictionaries({"cells": CELLS, "asks": st.just("share"), "above": st.sampled_from(["1/3", "1/2"])}),
    st.fixed_dictionaries(
        {"cells": CELLS, "asks": st.sampled_from(["person", "member"]), "knows": st.sampled_from(["others", "nothing"]),
         "costs": COSTS}
    ),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=60)
@given(BOBS, st.lists(ASKED, min_size=1, max_size=2), st.lists(st.integers(1, 3), min_size=4, max_size=4))
def test_merging_leaves_the_optimum_as_it_is(bob: Any, eves: list[Any], alpha: list[int]) -> None:
    merged = counts(4, 4, bob=bob, eve=eves, alpha=alpha)
    every = counts(4, 4, bob=bob, eve=eves, alpha=alpha, merge=False)
    assert len(every.p) == every.tables == merged.tables == 35
    assert len(merged.p) <= len(every.p)
    for lam in (F(1, 3), F(2)):
        best, other = solve(merged, lam), solve(every, lam)
        assert best.value == other.value
        expanded = merged.expand(best.mechanism)
        assert tuple(expanded.states) == tuple(every.states)
        assert risks(every, expanded).alice(lam) == other.value


def test_forty_people_in_four_cells() -> None:
    eves = [{"cells": str(c), "asks": "empty"} for c in (1, 2, 3, 4)]
    problem = counts(40, 4, bob={"cells": "1", "loss": "squared", "decisions": ["1/8", "1/4", "1/2"]}, eve=eves)
    assert problem.tables == 12341
    assert problem.exact
    best = solve(problem)
    assert best.gap == 0
    assert verify(problem, best.certificate)
    assert 0 < len(problem.p) < 12341


def test_the_result_is_an_ordinary_problem() -> None:
    problem = counts(6, 3, bob=BOB, eve=EVE, title="t")
    best = solve(problem, conditions=Conditions(min_eve_risk="1/5", deterministic=True))
    assert best.risks.eve >= F(1, 5)
    assert lambda_path(problem).value(solve(problem).lam) == solve(problem).value
    assert compare(problem).releases[0].excess == 0
    assert not problem.as_float().exact
    again = pickle.loads(pickle.dumps(problem))
    assert again == problem
    assert again.state_of("2|1|3") == problem.state_of([2, 1, 3])
    assert "There are 28 tables of 6 people in 3 cells" in problem.summary()
    assert repr(problem) == "<TableProblem: 't', exact, (N, b, e) = (13, 2, 2)>"
    assert evaluate(problem, best.mechanism).eve == best.risks.eve


def test_a_table_finds_its_state() -> None:
    problem = counts(6, 4, bob=BOB, eve=EVE)
    assert problem.cells == ("1", "2", "3+4")
    state = problem.state_of([2, 0, 1, 3])
    assert state == "2|0|4"
    assert problem.state_of([2, 3, 1, 0]) == problem.state_of([2, 1, 0, 3]) == "2|1|3 (+3)"
    for wrong in ([2, 0, 1], [2, 0, 1, 4], [-1, 3, 2, 2], "2|0|x|4"):
        with pytest.raises(InputError, match="table = "):
            problem.state_of(wrong)


def test_questions_can_be_objects() -> None:
    first = counts(5, 3, bob=Threshold("1", ["1/3"]), eve=Cell("2", asks="empty"))
    assert first == counts(5, 3, bob=BOB, eve=EVE)
    second = counts(5, 3, bob=[Estimate("1", [0, 1], loss="squared")], eve=Person(["1"], costs=(1, 2), name="E"))
    table = {"cells": "1", "asks": "person", "costs": [1, 2], "name": "E"}
    assert second == counts(5, 3, bob={"cells": "1", "loss": "squared", "decisions": [0, 1]}, eve=table)


def test_two_way_tables_are_spoken_of_by_rows_and_columns() -> None:
    shared: dict[str, Any] = {"rows": ["young", "old"], "columns": ["well", "ill"]}
    eve = {"cells": "young ill", "asks": "small", "below": 3}
    problem = counts(5, bob={"cells": "ill", "loss": "0-1", "thresholds": ["1/2"]}, eve=eve, **shared)
    assert problem.cells == ("well", "young ill", "old ill")
    by_cells = counts(
        5,
        ["a", "b", "c", "d"],
        bob={"cells": ["b", "d"], "loss": "0-1", "thresholds": ["1/2"]},
        eve={**eve, "cells": "b"},
    )
    assert solve(problem).value == solve(by_cells).value


@pytest.mark.parametrize("alpha", [["1/2", "1/2", "1/3"], [0.5, 1, 1]])
def test_other_alphas_give_floats_with_an_error(alpha: list[Any]) -> None:
    problem = counts(5, 3, alpha=alpha, bob=BOB, eve=EVE)
    assert not problem.exact
    assert 0 < problem.error[0] < 1e-14
    moments = {"cells": "1", "loss": "squared", "decisions": [0, "1/2"]}
    assert counts(5, 3, alpha=alpha, bob=moments, eve=EVE).exact == (not isinstance(alpha[0], float))
    # a sum of cells with integer alphas is exact again
    both = {"cells": ["1", "2"], "loss": "0-1", "thresholds": ["1/3"]}
    assert counts(5, 3, alpha=["1/2", "1/2", 1], bob=both, eve=EVE).exact
    for loss, more in (("0-1", {"thresholds": ["1/3"]}), ("absolute", {"decisions": [0, "1/2"]})):
        asked = {"cells": "1", "loss": loss, **more}
        assert counts(5, 3, alpha=alpha, bob=asked | {"about": "table"}, eve=EVE).exact == (
            not isinstance(alpha[0], float)
        )
        assert not counts(5, 3, alpha=["1/2", "1/2", 1], bob=asked, eve=EVE).exact


def test_totals_of_a_few_cells_may_be_public() -> None:
    problem = counts(5, 4, bob=BOB, eve=EVE, totals=[{"cells": ["1", "2"], "total": 2}], merge=False)
    tables = [list(map(int, label.split("|"))) for label in problem.states]
    assert all(x[0] + x[1] == 2 for x in tables)
    assert len(tables) == 3 * 4


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": -1}, "n = -1 must not be negative"),
        ({"n": 0}, "n = 0 must be between 1 and 100,000"),
        ({"n": 2.5}, "n = 2.5 must be a whole number"),
        ({"n": True}, "n = True must be a whole number"),
        ({"n": None}, "n is missing"),
        ({"alpha": 0}, "alpha = 0 must be positive"),
        ({"alpha": [1, -1, 1]}, "alpha[1] = -1 must be positive"),
        ({"alpha": [1, 1]}, "alpha has 2 entries, must have 3, one per cell"),
        ({"alpha": "x"}, "alpha = 'x' is not a number"),
        ({"cells": []}, "cells must not be empty"),
        ({"cells": ["a", "a"]}, "cells[1] = 'a' repeats cells[0]"),
        ({"cells": None}, "cells or rows and columns must be given"),
        ({"cells": None, "rows": ["a"]}, "columns is missing"),
        ({"bob": {**BOB, "cells": "9"}}, "bob.cells = '9' is not a cell: the table has '1', '2', '3'"),
        ({"eve": [EVE, {**EVE, "cells": ["1", "x"]}]}, "eve[1].cells[1] = 'x' is not a cell"),
        ({"bob": {**BOB, "cells": ["1", "2", "3"]}}, "must leave out a cell: their share is 1"),
        (
            {"bob": {**BOB, "thresholds": ["1/2", "1/3"]}},
            "bob.thresholds[1] = 1/3 must be above bob.thresholds[0] = 1/2",
        ),
        ({"bob": {**BOB, "thresholds": []}}, "bob.thresholds must not be empty"),
        ({"bob": {**BOB, "decisions": [1]}}, "bob.decisions does not belong to '0-1'"),
        ({"bob": {**BOB, "loss": "huber"}}, "bob.loss = 'huber' must be one of"),
        ({"bob": {**BOB, "of": "2"}}, "bob.of = '2' must contain cells = '1'"),
        ({"bob": {**BOB, "per": "1"}}, "bob.per = '1' must have no cell in common with cells = '1'"),
        ({"bob": {**BOB, "about": "people"}}, 'bob.about = \'people\' must be "population" or "table"'),
        ({"bob": {**BOB, "weight": 0}}, "bob.weight = 0 must be positive"),
        ({"bob": {**BOB, "costs": [1, -1]}}, "bob.costs[1] = -1 must not be negative"),
        ({"bob": {**BOB, "costs": 3}}, "bob.costs = 3 must be two numbers"),
        ({"bob": {"cells": "1", "asks": "person"}}, "bob.knows = 'others' is for Eve only"),
        ({"bob": {"cells": "1", "loss": "absolute", "decisions": [0], "per": "2"}}, "the ratio has no mean"),
        ({"bob": {}}, "bob must have asks"),
        ({"bob": 3}, "bob = 3 must be a question"),
        ({"bob": []}, "bob must not be empty"),
        ({"eve": {"cells": "1", "asks": "below"}}, "eve.below is missing: asks = 'below' needs it"),
        ({"eve": {"cells": "1", "asks": "below", "below": 0}}, "eve.below = 0 must be a whole number, at least 1"),
        ({"eve": {"cells": "1", "asks": "where"}}, "eve.asks = 'where' must be one of"),
        (
            {"eve": {"cells": "1", "asks": "member", "probability": 1}},
            "eve.probability = 1 must be above 0 and below 1",
        ),
        ({"eve": {"cells": "1", "asks": "person", "knows": "me"}}, 'eve.knows = \'me\' must be "others" or "nothing"'),
        ({"eve": [{**EVE, "name": "a"}, {**EVE, "name": "a"}]}, "eve[1].name = 'a' repeats eve[0].name"),
        ({"totals": [{"cells": "1", "total": 9}]}, "totals[0].total = 9 must be at most n = 6"),
        ({"totals": [{"cells": "1", "total": 2}, {"cells": ["1", "2"], "total": 1}]}, "totals leave no table"),
        (
            {"n": 5000, "eve": [EVE, {**EVE, "cells": "3"}]},
            "tables are too many: 12,507,501, at most 2,000,000 are allowed",
        ),
        ({"n": 99999, "cells": 40, "bob": {**BOB, "of": [str(k) for k in range(1, 9)]}, "merge": False}, "about 10^"),
        (
            {"n": None, "cells": None, "rows": 2, "columns": 2, "row_totals": [1, 2], "column_totals": [2, 2]},
            "sum of column_totals = 4 must be the number of people, n = 3",
        ),
        ({"cells": None, "rows": 2, "columns": 2, "row_totals": [1, 2]}, "sum of row_totals = 3 must be"),
        (
            {"cells": None, "rows": 2, "columns": 2, "row_totals": [1]},
            "row_totals = [1] must be a list of 2 whole numbers",
        ),
        ({"row_totals": [6]}, "row_totals needs rows and columns"),
    ],
)
def test_bad_input_is_refused_in_one_line(change: dict[str, Any], message: str) -> None:
    given = {"n": 6, "cells": 3, "bob": BOB, "eve": EVE} | change
    with pytest.raises(InputError) as refused:
        counts(**given)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 250


def test_knowing_the_others_of_too_many_tables_is_refused() -> None:
    eve = [{"cells": "1", "asks": "person"}, {"cells": "2", "asks": "empty"}, {"cells": "3", "asks": "empty"}]
    with pytest.raises(InputError, match=r'eve\[0\].knows = "others" needs a loss for every table'):
        counts(30, 4, bob=BOB, eve=eve)


def test_two_eves_without_names_have_names_of_their_own() -> None:
    person = {"cells": "1", "asks": "person", "knows": "others"}
    bob = {"cells": "1", "loss": "0-1", "thresholds": ["1/2"]}
    problem = counts(3, 2, alpha=[1, 1], bob=bob, eve=[person, person])
    names = [eve.name for eve in problem.eves]
    assert len(set(names)) == len(names)
    assert any(name.startswith("Eve2 (others") for name in names)
