"""Objects of the wrong kind: every public function names the argument in one line."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
import pytest

import bap_lp
from bap_lp import Agent, Conditions, InputError, Mechanism, Problem, solve

COIN = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
BEST = solve(COIN)
JUNK = [None, 1, "1/3", [0, 1], {}, np.zeros(2), object()]
OF_A_PROBLEM = [
    *("lambda_path", "frontier", "corner", "compare", "calibrate", "uniqueness", "sensitivity"),
    *("randomised_response_family", "to_cvxpy"),
]


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: type(junk).__name__)
@pytest.mark.parametrize("name", OF_A_PROBLEM)
def test_what_is_no_problem_is_refused(name: str, junk: Any) -> None:
    with pytest.raises(InputError, match=r"^problem must be a Problem, is .*$"):
        getattr(bap_lp, name)(junk)


CALLS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda junk: solve(COIN, 1, conditions=junk or 0), "conditions must be a Conditions"),
    (lambda junk: solve(COIN, 1, exact=junk or 1), "exact must be True or False"),
    (lambda junk: solve(COIN, 1, formulation=np.array(["compact", "paper"])), "formulation .*must be"),
    (lambda junk: bap_lp.evaluate(COIN, junk), r"mechanism( must be a Mechanism|\[0\] = 0 must be a list)"),
    (lambda junk: bap_lp.chooses(COIN, junk), r"mechanism( must be a Mechanism|\[0\] = 0 must be a list)"),
    (lambda junk: bap_lp.chooses(COIN, BEST.mechanism, junk or 0), "path must be a Path"),
    (lambda junk: bap_lp.verify(COIN, junk), "certificate must be a Certificate"),
    (lambda junk: bap_lp.verify([junk], BEST.certificate), r"problem\[0\] must be a Problem"),
    (lambda junk: bap_lp.verify_mechanism([junk], BEST.mechanism, BEST.certificate), r"problem\[0\] must be a Problem"),
    (lambda junk: bap_lp.verify(COIN, BEST.certificate, slack=[junk]), "slack must be a number that is not negative"),
    (lambda junk: bap_lp.verify_mechanism(COIN, BEST.mechanism, junk), "certificate must be a Certificate"),
    (lambda junk: bap_lp.condition_costs(junk), "solution must be a Solution"),
    (lambda junk: bap_lp.composed(junk, 2), r"mechanism( must be a Mechanism|\[0\] = 0 must be a list)"),
    (lambda junk: bap_lp.save_bundle("folder", junk), "solution must be what solve, robust or tiers returned"),
    (lambda junk: bap_lp.robust([COIN, junk]), r"problems\[1\] must be a Problem"),
    (lambda junk: bap_lp.tiers([junk]), r"problems\[0\] must be a Problem"),
    (lambda junk: bap_lp.minimum_of([junk]), r"eves\[0\] must be an Agent"),
    (lambda junk: bap_lp.informed(junk, [[1]]), "eve must be an Agent"),
    (lambda junk: Problem([1], bobs=[junk], eves=[Agent([[0]])]), r"bobs\[0\] must be an Agent"),
    (lambda junk: bap_lp.sweep([COIN], junk), "function .*must be a function"),
]


@pytest.mark.parametrize(
    "junk", [junk for junk in JUNK if not isinstance(junk, np.ndarray)], ids=lambda junk: type(junk).__name__
)
@pytest.mark.parametrize(("call", "message"), CALLS, ids=[message for _, message in CALLS])
def test_other_objects_of_the_wrong_kind_are_refused(call: Any, message: str, junk: Any) -> None:
    with pytest.raises(InputError, match=f"^{message}"):
        call(junk)


@pytest.mark.parametrize("states", ["01", b"01", None, 3])
def test_many_states_are_a_list_and_no_text_of_many_letters(states: Any) -> None:
    with pytest.raises(InputError, match=r"^states .*must be a list of states"):
        BEST.mechanism.release_many(states)


def test_a_masked_entry_is_no_number() -> None:
    masked = np.ma.array([0.5, 0.5], mask=[False, True])
    with pytest.raises(InputError, match=r"^prior must not have masked entries"):
        Problem(masked, [[0], [0]], [[0], [0]])
    assert Problem(np.ma.array([0.5, 0.5]), [[0], [0]], [[0], [0]]).prior.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("one", [COIN, "COIN", 3, None])
def test_a_list_of_problems_is_a_list(one: Any) -> None:
    for call in (bap_lp.robust, bap_lp.tiers):
        with pytest.raises(InputError, match=r"^problems must be a list, each of them a Problem"):
            call(one)


@pytest.mark.parametrize("name", ["load_problem", "load_mechanism", "load_certificate", "load_bundle"])
def test_the_name_of_a_file_is_a_string_or_a_path(name: str) -> None:
    with pytest.raises(InputError, match=r"^(path|folder|directory) must be a string or a path, is of type int"):
        getattr(bap_lp, name)(3)


def test_objects_of_the_right_kind_pass_and_a_generator_is_a_list() -> None:
    assert solve(problem=COIN, lam=1, exact=np.True_, conditions=Conditions()).value == solve(COIN, 1).value
    assert bap_lp.robust((one for one in (COIN, COIN)), 1).value == solve(COIN, 1).value


UNDER: list[Callable[[Any], Any]] = [
    lambda asked: solve(COIN, 1, conditions=asked).value,
    lambda asked: bap_lp.lambda_path(COIN, conditions=asked).breakpoints,
    lambda asked: bap_lp.compare(COIN, 1, conditions=asked).rows,
    lambda asked: bap_lp.sweep([COIN], partial(solve, conditions=asked))[0].value,
    lambda asked: bap_lp.releases.meets(COIN, BEST.mechanism, asked),
    lambda asked: bap_lp.plots.risk_utility_map(COIN, 1, conditions=asked).get_legend_handles_labels()[1],
]


@pytest.mark.parametrize("call", UNDER)
def test_conditions_may_be_a_table_of_their_names(call: Callable[[Any], Any]) -> None:
    assert call({"max_bob_risk": "1/3"}) == call(Conditions(max_bob_risk="1/3"))


@pytest.mark.parametrize("call", UNDER)
def test_an_unknown_condition_is_refused_with_the_nearest_name(call: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=r"^conditions\.min_eve is not a condition: did you mean min_eve_risk\?"):
        call({"min_eve": 1})


def test_an_unknown_keyword_of_conditions_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InputError, match=r"^exp_epsilom is not a condition: did you mean exp_epsilon\?$"):
        Conditions(exp_epsilom=3)  # type: ignore[call-arg]
    with pytest.raises(InputError, match=r"^xyz is not a condition: there are min_eve_risk, .*independent_of$"):
        Conditions(xyz=3)  # type: ignore[call-arg]
    with pytest.raises(InputError, match=r"^conditions\.3 is not a condition"):
        solve(COIN, conditions={3: 1})  # type: ignore[dict-item, arg-type]
    with pytest.raises(InputError, match=r"^conditions\.exp_epsilon = 1/2 must be at least 1"):
        solve(COIN, conditions={"exp_epsilon": "1/2"})  # type: ignore[arg-type]


HIDE = [[1, 0], ["3/10", "7/10"]]
OF_A_CHANNEL: list[Callable[[Any], Any]] = [
    lambda q: bap_lp.evaluate(COIN, q).risks,
    lambda q: bap_lp.chooses(COIN, q).start,
    lambda q: bap_lp.excess(COIN, q, "1/3"),
    lambda q: bap_lp.composed(q, 2),
    lambda q: bap_lp.compare(COIN, "1/3", mechanisms=[q]).rows,
    lambda q: bap_lp.rank_worst_case([COIN, COIN], [q])[0].worst,
    lambda q: bap_lp.verify_mechanism(COIN, q, BEST.certificate).ok,
    lambda q: bap_lp.releases.meets(COIN, q, Conditions(deterministic=True)),
    lambda q: bap_lp.Family(COIN, q, q).alice(1)(0),
    lambda q: bap_lp.plots.signal_cards(COIN, q).get_xlim(),
    lambda q: bap_lp.plots.channel_heatmap(q).get_xlim(),
]


@pytest.mark.parametrize("call", OF_A_CHANNEL)
def test_a_channel_may_be_a_plain_table(call: Callable[[Any], Any]) -> None:
    mechanism = Mechanism(HIDE, states=COIN.states)
    for plain in (HIDE, tuple(map(tuple, HIDE)), np.array([[1, 0], [F(3, 10), F(7, 10)]], dtype=object)):
        assert call(plain) == call(mechanism)


@pytest.mark.parametrize("call", OF_A_CHANNEL)
def test_a_table_that_is_no_channel_is_refused_under_the_name_of_the_argument(call: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=r"^sum of (mechanism|mechanisms\[0\]|at_start)\[1\] = 4/5 must be 1"):
        call([[1, 0], ["3/10", "1/2"]])


def test_a_table_has_the_states_of_the_problem() -> None:
    named = Problem(["3/4", "1/4"], [[0], [1]], [[0], [1]], states=["tails", "heads"])
    assert [row.mechanism.states for row in bap_lp.rank_worst_case([named], [HIDE], 1)] == [("tails", "heads")]  # type: ignore[list-item]
    with pytest.raises(InputError, match=r"^mechanism has 1 rows, must have 2, one per state"):
        bap_lp.evaluate(named, [[1]])  # type: ignore[arg-type]


@pytest.mark.parametrize("slack", [float("nan"), -1, "1/3"])
def test_a_slack_that_nothing_is_above_is_refused(slack: Any) -> None:
    with pytest.raises(InputError, match="slack must be a number that is not negative"):
        bap_lp.verify(COIN, BEST.certificate, slack=slack)
    assert not bap_lp.verify_mechanism([], BEST.mechanism, BEST.certificate)
