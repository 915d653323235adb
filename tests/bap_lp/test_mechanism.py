"""Channels: reading, drawing, expanding; evaluation against brute force and simulation."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import TEMPERS, channels, priors, problems, table

from bap_lp import InputError, Mechanism, Problem, evaluate

COIN = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], [[0, 1], [1, 0]], [[0, 1], [10, 0]])
OPTIMUM = Mechanism([[1, 0], ["3/10", "7/10"]], signals=["pooled", "clear"], states=["tails", "heads"])


@pytest.mark.parametrize(
    ("channel", "message"),
    [
        ([[1, 0], ["1/2", "1/3"]], "sum of channel[1] = 5/6 must be 1"),
        ([[2, -1]], "channel[0][1] = -1 must not be negative"),
        ([], "channel must not be empty"),
        ([[1], [0.5, 0.5]], "channel[1] has 2 entries"),
    ],
)
def test_a_bad_channel_is_refused_with_its_rule(channel: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        Mechanism(channel)
    assert message in str(error.value)


def test_release_is_reproducible_only_with_a_generator() -> None:
    draws = [[OPTIMUM.release("heads", random.Random(7)) for _ in range(3)] for _ in range(2)]
    assert draws[0] == draws[1]
    assert {OPTIMUM.release("tails") for _ in range(20)} == {"pooled"}


def test_release_uses_integers_below_the_common_denominator() -> None:
    asked: list[int] = []

    class Recorder:
        def randrange(self, stop: int, /) -> int:
            asked.append(stop)
            return len(asked) - 1

    mechanism = Mechanism([["1/6", "1/3", "1/2"]])
    drawn = [mechanism.release(0, Recorder()) for _ in range(6)]
    assert asked == [6] * 6
    assert drawn == ["0", "1", "1", "2", "2", "2"]


def test_release_has_the_right_frequencies() -> None:
    generator = random.Random(1)
    count = Counter(OPTIMUM.release(1, generator) for _ in range(20000))
    assert abs(count["clear"] / 20000 - 0.7) < 4 * math.sqrt(0.21 / 20000)


def test_epsilon_is_the_log_of_the_largest_ratio() -> None:
    assert OPTIMUM.epsilon == math.inf
    assert Mechanism([["10/13", "3/13"], ["3/13", "10/13"]]).max_ratio == F(10, 3)
    assert Mechanism([[1], [1]]).epsilon == 0
    assert Mechanism([["1/2", "1/2", 0], ["1/4", "3/4", 0]]).epsilon == math.log(2)
    assert Mechanism([[0.5, 0.5], [0.25, 0.75]]).epsilon == math.log(2)
    rare = F(1, 10**400)
    assert Mechanism([[rare, 1 - rare], [1 - rare, rare]]).epsilon == pytest.approx(400 * math.log(10))


@pytest.mark.slow
@settings(max_examples=80)
@given(problems(states=5), st.data())
def test_signals_of_an_evaluation_have_distributions_and_ties(problem: Problem, data: st.DataObject) -> None:
    found = evaluate(problem, data.draw(channels(problem)))
    assert sum(s.probability for s in found.signals) == 1
    for signal in found.signals:
        assert sum(signal.posterior.values()) == 1
        assert signal.eve_indifferent == (len(signal.eve) > len(problem.eves))


@pytest.mark.slow
@settings(max_examples=80)
@given(problems(states=5, eves=1), st.data())
def test_a_misaligned_eve_never_does_better(problem: Problem, data: st.DataObject) -> None:
    mechanism = data.draw(channels(problem))
    her_prior = data.draw(st.one_of(st.none(), priors(len(problem.states))))
    her_loss = data.draw(st.one_of(st.none(), table(TEMPERS["small"], *problem.eves[0].loss.shape)))
    strange = evaluate(problem, mechanism, eve_prior=her_prior, eve_acts_on=her_loss)
    assert strange.eve >= evaluate(problem, mechanism).eve
    assert strange.bob == evaluate(problem, mechanism).bob


def test_a_misaligned_eve_loses_more_in_the_coin_toss() -> None:
    # sure of tails, she declares it at the pooled signal: wrong with P(heads, pooled) = 3/40, at cost 10
    found = evaluate(COIN, OPTIMUM, eve_prior=["9/10", "1/10"], eve_acts_on=[[0, 1], [1, 0]])
    assert found.eve == F(3, 4)
    assert [s.eve for s in found.signals] == [["0"], ["1"]]


def test_float_and_exact_evaluation_agree() -> None:
    exact, rounded = evaluate(COIN, OPTIMUM), evaluate(COIN, OPTIMUM.as_float())
    assert rounded.bob == pytest.approx(float(exact.bob), abs=2 * rounded.bob_error)
    assert [s.eve for s in rounded.signals] == [s.eve for s in exact.signals]
    assert rounded.signals[0].eve_indifferent


def test_expansion_gives_members_their_class_row_and_the_impossible_the_null_row() -> None:
    p = Problem(["3/4", "1/4"], [[0], [0]], [[0], [0]]).p
    wide = OPTIMUM.expanded(np.array([1, 0, -1, 1]), p, ["a", "b", "c", "d"])
    assert wide.channel.tolist() == [[F(3, 10), F(7, 10)], [1, 0], [F(33, 40), F(7, 40)], [F(3, 10), F(7, 10)]]
