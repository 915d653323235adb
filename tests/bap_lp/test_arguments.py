"""What users hand over in place of this package's own objects: tables of numbers, and conditions by their names."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from functools import partial
from typing import Any

import numpy as np
import pytest

import bap_lp
from bap_lp import Conditions, InputError, Mechanism, PriorSet, Problem, solve

COIN = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
BEST = solve(COIN)


@pytest.mark.parametrize("states", ["01", b"01", None, 3])
def test_many_states_are_a_list_and_no_text_of_many_letters(states: Any) -> None:
    with pytest.raises(InputError, match=r"^states .*must be a list of states"):
        BEST.mechanism.release_many(states)


def test_a_masked_entry_is_no_number() -> None:
    masked = np.ma.array([0.5, 0.5], mask=[False, True])
    with pytest.raises(InputError, match=r"^prior must not have masked entries"):
        Problem(masked, [[0], [0]], [[0], [0]])
    assert Problem(np.ma.array([0.5, 0.5]), [[0], [0]], [[0], [0]]).prior.tolist() == [0.5, 0.5]


UNDER: list[Callable[[Any], Any]] = [
    lambda asked: solve(COIN, 1, conditions=asked).value,
    lambda asked: bap_lp.lambda_path(COIN, conditions=asked).breakpoints,
    lambda asked: bap_lp.compare(COIN, 1, conditions=asked).releases,
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
        Conditions(exp_epsilom=3)
    with pytest.raises(InputError, match=r"^xyz is not a condition: there are min_eve_risk, .*independent_of"):
        Conditions(xyz=3)
    with pytest.raises(InputError, match=r"^conditions\.exp_epsilon = 1/2 must be at least 1"):
        solve(COIN, conditions={"exp_epsilon": "1/2"})


def test_a_set_of_priors_may_be_the_table_of_a_file() -> None:
    near = {"total_variation": "1/20"}
    assert solve(COIN, 1, priors=near).value == solve(COIN, 1, priors=PriorSet.total_variation("1/20")).value


def test_evaluate_reads_rows_of_numbers() -> None:
    hide = [[1, 0], ["3/10", "7/10"]]
    for plain in (hide, tuple(map(tuple, hide)), np.array([[1, 0], [F(3, 10), F(7, 10)]], dtype=object)):
        assert bap_lp.evaluate(COIN, plain).risks == bap_lp.evaluate(COIN, Mechanism(hide)).risks
    with pytest.raises(InputError, match=r"^sum of channel\[1\] = 4/5 must be 1"):
        bap_lp.evaluate(COIN, [[1, 0], ["3/10", "1/2"]])


@pytest.mark.parametrize("slack", [float("nan"), -1, "1/3"])
def test_a_slack_that_nothing_is_above_is_refused(slack: Any) -> None:
    with pytest.raises(InputError, match="slack must be a number that is not negative"):
        bap_lp.verify(COIN, BEST.certificate, slack=slack)
