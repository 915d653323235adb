"""Objects of the wrong kind: every public function names the argument in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bap_lp
from bap_lp import Agent, Conditions, InputError, Problem, solve

COIN = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
BEST = solve(COIN)
JUNK = [None, 1, "1/3", [0, 1], {}, np.zeros(2), object()]
OF_A_PROBLEM = [
    *("solve", "lambda_path", "frontier", "corner", "compare", "calibrate", "uniqueness", "sensitivity"),
    *("epsilon_path", "randomised_response_family", "to_cvxpy"),
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
    (lambda junk: bap_lp.evaluate(COIN, junk), "mechanism must be a Mechanism"),
    (lambda junk: bap_lp.chooses(COIN, junk), "mechanism must be a Mechanism"),
    (lambda junk: bap_lp.chooses(COIN, BEST.mechanism, junk or 0), "path must be a Path"),
    (lambda junk: bap_lp.verify(COIN, junk), "certificate must be a Certificate"),
    (lambda junk: bap_lp.verify_mechanism(COIN, BEST.mechanism, junk), "certificate must be a Certificate"),
    (lambda junk: bap_lp.condition_costs(junk), "solution must be a Solution"),
    (lambda junk: bap_lp.composed(junk, 2), "mechanism must be a Mechanism"),
    (lambda junk: bap_lp.save_bundle("folder", junk), "solution must be what solve, robust or tiers returned"),
    (lambda junk: bap_lp.robust([COIN, junk]), r"problems\[1\] must be a Problem"),
    (lambda junk: bap_lp.tiers([junk]), r"problems\[0\] must be a Problem"),
    (lambda junk: bap_lp.minimum_of([junk]), r"eves\[0\] must be an Agent"),
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
