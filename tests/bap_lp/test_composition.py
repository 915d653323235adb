"""Several draws for the same data: the counts of the signals have the risks of the draws, and look-up is strict."""

from fractions import Fraction as F
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import channels, problems

from bap_lp import InputError, Mechanism, Problem, composed, evaluate
from bap_lp.releases import full

COIN = Problem(
    ["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]], states=["heads", "tails"], bob_decisions=["a", "b"]
)


def ordered(mechanism: Mechanism, draws: int) -> Mechanism:
    """All sequences of signals, order and all."""
    rows = [
        [np.prod([row[s] for s in sequence]) for sequence in product(range(len(row)), repeat=draws)]
        for row in mechanism.channel
    ]
    return Mechanism(rows, states=mechanism.states)


@settings(max_examples=30)
@given(problems(), st.integers(1, 3), st.data())
def test_counts_of_signals_have_the_risks_of_all_sequences(problem: Problem, draws: int, data: st.DataObject) -> None:
    weights = data.draw(
        st.lists(st.lists(st.integers(1, 5), min_size=2, max_size=2), min_size=len(problem.p), max_size=len(problem.p))
    )
    mechanism = Mechanism([[F(v, sum(row)) for v in row] for row in weights], states=problem.states)
    several = composed(mechanism, draws)
    assert (several.q.sum(axis=1) == 1).all()
    assert evaluate(problem, several).risks == evaluate(problem, ordered(mechanism, draws)).risks


@settings(max_examples=30)
@given(problems(), st.integers(1, 3), st.data())
def test_the_ratio_of_several_draws_is_the_power_of_the_ratio(
    problem: Problem, draws: int, data: st.DataObject
) -> None:
    """If the worst signal is drawn every time, the ratio is attained; so epsilon is multiplied by the draws."""
    mechanism = data.draw(channels(problem))
    assert composed(mechanism, draws).max_ratio == mechanism.max_ratio**draws


def test_a_posterior_cap_may_hold_for_one_draw_and_fail_for_two() -> None:
    """At prior 1/4 and a ratio of 3 the posterior is 1/2 after one draw, and 3/4 after two."""
    told = Mechanism([["3/4", "1/4"], ["1/4", "3/4"]], states=COIN.states)
    largest = [
        max(signal.posterior["tails"] for signal in evaluate(COIN, composed(told, draws)).signals) for draws in (1, 2)
    ]
    assert largest == [F(1, 2), F(3, 4)]


@pytest.mark.parametrize("draws", [0, -1, True, 1.5, "2"])
def test_a_wrong_number_of_draws_is_refused(draws: object) -> None:
    with pytest.raises(InputError, match=r"draws = .* must be a positive integer"):
        composed(full(COIN), draws)  # type: ignore[arg-type]


def test_too_many_outcomes_are_refused_before_they_are_made() -> None:
    wide = Mechanism([["1/100"] * 100] * 3)
    with pytest.raises(InputError, match="outcomes for 3 states"):
        composed(wide, 10)


MECHANISM = Mechanism([[1, 0], ["3/10", "7/10"]], signals=["hide", "tell"], states=["heads", "tails"])


@pytest.mark.parametrize(
    ("state", "rule"),
    [
        (1.9, "state = 1.9 must be a label or a position"),
        (1.0, "must be a label or a position"),
        (None, "must be a label or a position, not null"),
        (True, "must be a label or a position"),
        (2, "must be between 0 and 1"),
        (-1, "must be between 0 and 1"),
        ("tail", "state = 'tail' is not a state; the nearest is 'tails'"),
        ("Heads", "the nearest is 'heads'"),
        (" heads", "the nearest is 'heads'"),
        ("", "is not one of 'heads', 'tails'"),
        ("1", "is not one of 'heads', 'tails'"),
        (["heads"], "must be a label or a position"),
    ],
)
def test_a_state_is_looked_up_strictly(state: object, rule: str) -> None:
    with pytest.raises(InputError, match=rule):
        MECHANISM.release(state)  # type: ignore[arg-type]


def test_positions_and_labels_of_many_states_are_found() -> None:
    many = Mechanism(np.eye(2)[np.arange(20_000) % 2])
    assert many.release_many(["19999", 19_999, np.int64(3), "0"]) == ["1", "1", "1", "0"]
    with pytest.raises(InputError, match=r"states\[1\] = '20000' is not"):
        many.release_many(["0", "20000"])


def test_many_draws_are_those_of_one_after_the_other() -> None:
    states = ["tails", "heads", 1, "tails"] * 5
    one, many = Random(7), Random(7)
    assert MECHANISM.release_many(states, many) == [MECHANISM.release(x, one) for x in states]
