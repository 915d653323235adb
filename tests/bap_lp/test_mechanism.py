"""Channels: reading, drawing, expanding; evaluation by definition for any numbers; whom a signal makes certain."""

from __future__ import annotations

import math
import random
from collections import Counter
from fractions import Fraction as F

import definitions
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import TEMPERS, channels, knowing_problems, lams, priors, problems, table

from bap_cli.main import main
from bap_lp import Agent, InputError, Mechanism, Problem, evaluate, solve
from bap_lp.model.agents import shares_of
from bap_lp.model.evaluated import certainties
from bap_lp.support.rational import EXACT, public

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


def check(problem: Problem, mechanism: Mechanism) -> None:
    found = evaluate(problem, mechanism)
    assert (found.bob, found.eve) == definitions.risks(problem, mechanism.channel)


@pytest.mark.slow
@settings(max_examples=30)
@given(problems(states=30, decisions=4), lams, st.data())
def test_risks_are_those_of_the_definition_whatever_the_numbers(problem: Problem, lam: F, data: st.DataObject) -> None:
    best = solve(problem, lam)
    for mechanism in (data.draw(channels(problem)), best.mechanism):
        check(problem, mechanism)
    assert (best.risks.bob, best.risks.eve) == definitions.risks(problem, best.mechanism.channel)


@pytest.mark.parametrize("related", [True, False])
def test_risks_of_long_probabilities_are_those_of_the_definition(related: bool) -> None:
    draw, N = np.random.default_rng(3), 80
    losses = [[[F(int(v), 1 + k) for k, v in enumerate(row)] for row in draw.integers(0, 9, (N, 3))] for _ in range(2)]
    shares = [F(1 + x % 5, 3**200 + (0 if related else 2 * x)) if x % 3 else F(x % 2) for x in range(N)]
    check(Problem([F(1, N)] * N, *losses), Mechanism([[v, 1 - v] for v in shares]))


def test_risks_of_losses_that_floats_cannot_tell_apart_are_exact() -> None:
    near = [[1 + F(k, 10**20), 1 + F(3 - k % 3, 10**20), 1 + F(1, 10**20)] for k in range(80)]
    problem = Problem([F(1, 80)] * 80, near, near)
    check(problem, Mechanism([[F(k % 4, 7), 1 - F(k % 4, 7)] for k in range(80)]))
    check(problem, solve(problem, "1/2").mechanism)


@pytest.mark.parametrize("bits", [10, 29, 31, 60])
def test_sums_that_floats_cannot_hold_are_not_rounded(bits: int) -> None:
    top, p = 2**23 - 1, F(1, 2**bits + 1)
    eves = [Agent([[top, top], [top - k, top]], name=str(k)) for k in range(7)]
    problem = Problem([p, 1 - p], [[0, top], [1, 0]], eves=eves)
    for channel in ([[1], [1]], [[1, 0], [0, 1]], [["1/3", "2/3"], [1, 0]]):
        check(problem, Mechanism(channel))
    assert solve(problem, "1/3").gap == 0


@pytest.mark.parametrize("last", [F(1), 1 + F(1, 10**30), 1 + F(1, 2**27), F(2**60)])
def test_losses_that_round_to_integers_are_not_taken_for_integers(last: F) -> None:
    losses = [[0, 1], [1, 0]] * 40
    problem = Problem([F(1, 80)] * 80, losses, [*losses[:79], [last, 0]])
    best = solve(problem, 1)
    check(problem, best.mechanism)
    assert best.gap == 0
    if last != 1:
        assert evaluate(problem, Mechanism([[1]] * 80)).eve == min(F(40), F(39) + last) / 80


@given(data=st.data(), problem=knowing_problems())
def test_a_signal_tells_as_much_as_the_data_where_the_risk_is_that_of_knowing_them(
    data: st.DataObject, problem: Problem
) -> None:
    mechanism = data.draw(channels(problem))
    joint = problem.p[:, None] * EXACT.array(mechanism.q)
    for eve, found in zip(problem.eves, certainties(problem, mechanism), strict=True):
        loss, often = EXACT.array(eve.loss), 0
        gains = problem.p.dot(loss).min() > problem.p.dot(loss.min(axis=1))
        for share in shares_of(eve.knows, eve.knowledge, len(problem.p), EXACT).T if gains else ():
            for weight in (joint * share[:, None]).T:
                if weight.sum() > 0 and weight.dot(loss).min() == weight.dot(loss.min(axis=1)):
                    often += weight.sum()
        assert found.probability == public(EXACT.number(often))
        assert bool(found.signals) == (often > 0)


@pytest.mark.parametrize("command", [["solve", "coin_toss"], ["explain"]])
def test_the_average_does_not_hide_it(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "With probability 7/40 (0.175) the signal tells Eve as much as the data would: “fair”." in said
