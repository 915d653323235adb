"""Every release has the right rows, and no agent does better with it than with the data or worse than with nothing."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import parts_of, priors, table

from bap_lp import Agent, InputError, Mechanism, Problem, evaluate, solve
from bap_lp.releases import (
    BEST,
    RATIOS,
    RELEASES,
    Comparison,
    bob_decision,
    compare,
    full,
    null,
    partition,
    posterior_sample,
    randomised_response,
    randomised_response_epsilon,
    statistic,
    synthetic,
    truncated_geometric,
)

F = Fraction
quick = settings(max_examples=50)


@st.composite
def models(draw: st.DrawFn) -> Problem:
    """A model with possible zeros everywhere: in the prior, the likelihood, and so among the states."""
    thetas, states, b, e = (draw(st.integers(1, 4)) for _ in range(4))
    return Problem.from_model(
        draw(priors(thetas)),
        [draw(priors(states)) for _ in range(thetas)],
        draw(table(parts_of(0, 2, 12), thetas, b)),
        draw(table(parts_of(0, 2, 12), states, e)),
    )


@st.composite
def releases(draw: st.DrawFn, problem: Problem) -> Mechanism:
    count = len(problem.states)
    labels = draw(st.lists(st.sampled_from("abc"), min_size=count, max_size=count))
    made: list[Any] = [
        lambda: statistic(problem, labels),
        lambda: partition(problem, {v: [x for x in range(count) if labels[x] == v] for v in sorted(set(labels))}),
        lambda: randomised_response(problem, draw(parts_of(0, 1, 12))),
        lambda: randomised_response_epsilon(problem, draw(parts_of(1, 9, 12))),
        lambda: truncated_geometric(problem, draw(parts_of(0, 1, 12))),
        *(lambda release=release: release(problem) for release in RELEASES.values()),  # type: ignore[misc]
    ]
    return draw(st.sampled_from(made))()


@pytest.mark.slow
@given(st.data())
@quick
def test_rows_are_distributions_and_nobody_beats_the_data(data: st.DataObject) -> None:
    problem = data.draw(models())
    mechanism = data.draw(releases(problem))
    assert mechanism.exact
    assert [sum(row) for row in mechanism.channel.tolist()] == [1] * len(problem.states)
    assert mechanism.states == problem.states
    here, best, worst = (evaluate(problem, m) for m in (mechanism, full(problem), null(problem)))
    assert best.bob <= here.bob <= worst.bob
    assert best.eve <= here.eve <= worst.eve


@pytest.mark.slow
@given(models())
@quick
def test_bob_loses_nothing_when_told_his_decision(problem: Problem) -> None:
    told = bob_decision(problem)
    assert evaluate(problem, told).bob == evaluate(problem, full(problem)).bob
    assert set(told.signals) <= set(problem.bob_decisions)


@given(st.data())
@quick
def test_posterior_sample_and_synthetic_data_follow_from_the_joint_table(data: st.DataObject) -> None:
    """pi(theta|x) and sum_theta pi(theta|x) p(x'|theta), computed from pi(theta) and p(x|theta) themselves."""
    prior = data.draw(priors(3))
    likelihood = [data.draw(priors(3)) for _ in prior]
    problem = Problem.from_model(
        prior, likelihood, data.draw(table(parts_of(0, 2, 12), 3, 2)), data.draw(table(parts_of(0, 2, 12), 3, 2))
    )
    sample, copy = posterior_sample(problem), synthetic(problem)
    for x in range(3):
        evidence = sum(prior[t] * likelihood[t][x] for t in range(3))
        if evidence == 0:
            continue
        posterior = [prior[t] * likelihood[t][x] / evidence for t in range(3)]
        assert {s: v for s, v in zip(sample.signals, sample.channel[x], strict=True) if v} == {
            str(t): v for t, v in enumerate(posterior) if v
        }
        predictive = [sum(posterior[t] * likelihood[t][y] for t in range(3)) for y in range(3)]
        assert {s: v for s, v in zip(copy.signals, copy.channel[x], strict=True) if v} == {
            str(y): v for y, v in enumerate(predictive) if v
        }


def line(count: int, **given: Any) -> Problem:
    """Ordered states with a uniform prior; Bob and Eve guess one end each."""
    bob = [[x, count - 1 - x] for x in range(count)]
    eve = [[F(x % 2), F(1, 3)] for x in range(count)]
    return Problem(given.get("prior", [F(1, count)] * count), bob, eve)


@pytest.mark.parametrize("count", [2, 3, 5, 8])
@pytest.mark.parametrize("ratio", [F(1, 7), F(1, 2), F(9, 10)])
def test_the_truncated_geometric_release_has_its_privacy(count: int, ratio: Fraction) -> None:
    """Between neighbours exactly 1/ratio; between the ends, and so overall, ratio^(1 - N)."""
    mechanism = truncated_geometric(line(count), ratio)
    q = mechanism.channel
    neighbours = [max(a / b, b / a) for x in range(count - 1) for a, b in zip(q[x], q[x + 1], strict=True)]
    assert max(neighbours) == min(neighbours) == 1 / ratio
    assert mechanism.max_ratio == ratio ** (1 - count)
    assert mechanism.epsilon == pytest.approx((count - 1) * math.log(1 / ratio), rel=1e-14)


def test_the_truncated_geometric_release_folds_the_tails() -> None:
    """Against the noise summed term by term; the tail beyond 200 has the closed form a^d / (1 + a)."""
    a, count = F(1, 3), 4
    noise = {z: (1 - a) / (1 + a) * a ** abs(z) for z in range(-200, 201)}
    q = truncated_geometric(line(count), a).channel
    for x in range(count):
        row = [F(0)] * count
        for z, mass in noise.items():
            row[min(max(x + z, 0), count - 1)] += mass
        row[0] += a**201 / (1 + a)
        row[-1] += a**201 / (1 + a)
        assert q[x].tolist() == row


def test_truncated_geometric_runs_from_full_to_nothing() -> None:
    problem = line(5)
    assert (truncated_geometric(problem, 0).q == full(problem).q).all()
    assert evaluate(problem, truncated_geometric(problem, 1)).risks == evaluate(problem, null(problem)).risks
    assert truncated_geometric(line(1), "1/2").channel.tolist() == [[1]]


@given(st.integers(2, 6), parts_of(1, 50, 12))
@quick
def test_randomised_response_has_the_epsilon_asked_for(count: int, ratio: Fraction) -> None:
    mechanism = randomised_response_epsilon(line(count), ratio)
    assert mechanism.max_ratio == ratio
    assert mechanism.epsilon == math.log(ratio)


def test_a_statistic_and_its_partition_are_the_same_release() -> None:
    problem = Problem([F(1, 4)] * 4, [[0, 1]] * 4, [[0, 1]] * 4, states=["00", "01", "10", "11"])
    count = statistic(problem, lambda s: s.count("1"), name="number of ones")
    assert count.signals == ("0", "1", "2")
    assert count.channel.tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    assert (count.q == statistic(problem, [0, 1, 1, 2]).q).all()
    assert (count.q == partition(problem, [["00"], ["01", 2], [3]]).q).all()
    assert partition(problem, [["00"], ["01", 2], [3]]).signals == ("00", "01 | 10", "11")
    assert partition(problem, {"few": ["00"], "many": [1, 2, 3]}).signals == ("few", "many")


def test_states_of_probability_zero_get_the_null_row() -> None:
    problem = Problem.from_model([F(1, 2)] * 2, [[1, 0, 0], [F(1, 3), 0, F(2, 3)]], [[0, 1], [1, 0]], [[0, 1]] * 3)
    assert problem.null_states == ("1",)
    for release in (bob_decision, posterior_sample, synthetic):
        mechanism = release(problem)
        assert mechanism.channel[1].tolist() == problem.prior.dot(mechanism.channel).tolist()
    left_out = partition(problem, [[0], [2]])
    assert left_out.channel.tolist() == [[1, 0], [F(2, 3), F(1, 3)], [0, 1]]
    assert {row.name for row in compare(problem, 1).releases} == {"optimum", *RELEASES, *BEST}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: randomised_response(p, "3/2"), "w = 3/2 must be at least 0 and at most 1"),
        (lambda p: randomised_response_epsilon(p, 0), "exp_epsilon = 0 must be at least 1"),
        (lambda p: truncated_geometric(p, -1), "ratio = -1 must be at least 0 and at most 1"),
        (posterior_sample, "theta is needed for 'posterior sample': give the problem as a model"),
        (synthetic, "theta is needed for 'synthetic data': give the problem as a model"),
        (lambda p: statistic(p, [1, 2]), "values has 2 entries, must have 3, one per state"),
        (lambda p: statistic(p, [[1], [2], [3]]), "values[0] = [1] must be a label or a number"),
        (lambda p: statistic(p, 3), "values = 3 must be a list"),
        (lambda p: partition(p, 3), "blocks = 3 must be a list"),
        (lambda p: partition(p, [0, 1, 2]), "blocks[0] = 0 must be a list"),
        (lambda p: partition(p, [[0, 1, 2.5]]), "blocks[0] = 2.5 is not a state"),
        (lambda p: partition(p, []), "blocks must not be empty"),
        (lambda p: partition(p, [[0, 1]]), "blocks = '2' is in no block"),
        (lambda p: partition(p, [[0, 1], [1, 2]]), "blocks[1] = '1' is in blocks[0] already"),
        (lambda p: partition(p, [["x"], [0, 1, 2]]), "blocks[0] = 'x' is not a state"),
        (lambda p: partition(p, [[0, 1, 2, 3]]), "blocks[0] = 3 is not a state"),
    ],
)
def test_a_bad_parameter_is_refused_with_its_rule(call: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        call(line(3))
    assert str(error.value) == message


def check(table: Comparison, problem: Problem, slack: float = 0) -> None:
    values = [row.alice for row in table.releases]
    assert values == sorted(values)
    assert min(row.excess for row in table.releases) >= -slack
    assert abs(table["optimum"].excess) <= slack
    for row in table.releases:
        assert row.alice == row.risks.alice(table.lam)
        assert (row.parameter is not None) == (row.name in BEST)


@pytest.mark.slow
@given(models(), parts_of(0, 3, 12))
@quick
def test_compare_sorts_the_releases_by_risk(problem: Problem, lam: Fraction) -> None:
    table = compare(problem, lam)
    check(table, problem)
    assert {row.name for row in table.releases} | {name for name, _ in table.omitted} == {"optimum", *RELEASES, *BEST}
    for ratio in RATIOS:
        assert table["truncated geometric"].alice <= evaluate(problem, truncated_geometric(problem, ratio)).alice(lam)


def test_compare_works_in_floats() -> None:
    likelihood = [["1/2", "1/4", "1/4"], ["1/8", "1/8", "3/4"]]
    exact = Problem.from_model(["1/3", "2/3"], likelihood, [[0, 1], [2, 0]], [[0, 1]] * 3)
    problem = Problem(
        exact.p, exact.B, eves=[Agent([[0, 1], [2, 0], [1, 1]]), Agent([[1, 0], [0, 1], [3, 3]], weight="1/2")],
        theta=exact.theta,
    )  # fmt: skip
    here, there = compare(problem, "1/2"), compare(problem.as_float(), 0.5)
    check(there, problem.as_float(), 1e-12)
    for row in there.releases:
        assert isinstance(row.alice, float)
        assert row.alice == pytest.approx(float(here[row.name].alice), abs=1e-12)
        if row.name in RELEASES:
            assert row.epsilon == pytest.approx(here[row.name].epsilon)


def test_compare_takes_a_solution_and_further_mechanisms() -> None:
    problem = line(4)
    solution = solve(problem, "1/5")
    halves = partition(problem, [[0, 1], [2, 3]], name="halves")
    table = compare(problem, "1/5", solution, mechanisms=[halves])
    assert table.optimum is solution
    assert table["halves"].risks == evaluate(problem, halves).risks
    assert dict(table.omitted).keys() == {"posterior sample", "synthetic data"}
    with pytest.raises(InputError, match=r"solution.lam = 1/5 must be the table's lam, 1/4"):
        compare(problem, "1/4", solution)


def test_compare_leaves_out_what_is_too_large() -> None:
    omitted = dict(compare(line(600).as_float(), 0.1).omitted)
    assert omitted["randomised response"] == "states are 600, more than 500"
    assert "full" not in omitted


@quick
@given(st.data())
def test_bob_invariance_is_what_the_definition_says_and_keeps_his_risk_at_the_floor(data: st.DataObject) -> None:
    problem = data.draw(models())
    mechanism = data.draw(releases(problem))
    found, floor = evaluate(problem, mechanism), evaluate(problem, full(problem))
    loss, rows = problem.bobs[0].loss, mechanism.channel
    sent = ([x for x, mass in enumerate(problem.p) if mass > 0 and row[x] > 0] for row in rows.T)
    best = ([d for d in range(loss.shape[1]) if all(loss[x, d] == loss[x].min() for x in own)] for own in sent)
    assert found.bob_invariant == all(best) == (found.bob == floor.bob)
    assert evaluate(problem.as_float(), mechanism).bob_invariant >= found.bob_invariant
    assert floor.bob_invariant
    assert evaluate(problem, bob_decision(problem)).bob_invariant


TOSSES = ["".join(word) for word in product("01", repeat=3)]


def tosses(**agents: Any) -> Problem:
    """Three tosses of a coin that is fair or shows heads three times out of four; Eve wants the first toss."""
    likelihood = [[math.prod(p if c == "1" else 1 - p for c in word) for word in TOSSES] for p in (F(1, 2), F(3, 4))]
    first = [[c != word[0] for c in "01"] for word in TOSSES]
    eve = [[int(v) for v in row] for row in first]
    return Problem.from_model(["1/2", "1/2"], likelihood, [[0, 3, 1], [3, 0, 1]], eve, states=TOSSES, **agents)


@pytest.mark.parametrize("exact", [True, False])
def test_every_sufficient_statistic_is_bob_invariant_and_a_lossy_release_is_not(exact: bool) -> None:
    problem = tosses() if exact else tosses().as_float()
    for found in (
        statistic(problem, lambda word: word.count("1")),
        statistic(problem, lambda word: (word.count("1"), word[0])),
        bob_decision(problem),
        full(problem),
    ):
        assert evaluate(problem, found).bob_invariant
    for lossy in (null(problem), statistic(problem, lambda word: word[0]), randomised_response(problem, "1/1000")):
        assert not evaluate(problem, lossy).bob_invariant
        assert compare(problem, "1/9", mechanisms=[lossy])[str(lossy.name)].bob_invariant is False


def test_ties_leave_room_for_bob_invariance() -> None:
    """Decision 0 is best in states a and b, decision 1 in b and c, and no decision in all three."""
    problem = Problem(
        ["1/4", "1/2", "1/4", 0], [[0, 1, 9], [1, 1, 2], [1, 0, 9], [9, 9, 0]], [[0]] * 4, states=[*"abcz"]
    )
    for blocks, invariant in (
        ([["a", "b"], ["c", "z"]], True),
        ([["a", "z"], ["b", "c"]], True),
        ([["b"], ["a", "c", "z"]], False),
        ([["a", "b", "c", "z"]], False),
    ):
        found = evaluate(problem, partition(problem, blocks))
        assert found.bob_invariant == invariant
        assert found.summary().splitlines()[-1].startswith("Bob-invariant: " if invariant else "Not Bob-invariant: ")
    split = Mechanism([[1, 0], ["1/3", "2/3"], [0, 1], ["1/2", "1/2"]])
    assert evaluate(problem, split).bob_invariant


def test_every_bob_must_decide_as_well_as_with_the_data() -> None:
    guess = [[0, 1], [0, 1], [1, 0], [1, 0]]
    parity = [[0, 1], [1, 0], [0, 1], [1, 0]]
    problem = Problem(["1/4"] * 4, bobs=[Agent(guess, name="a"), Agent(parity, name="b")], eves=[Agent([[0]] * 4)])
    assert evaluate(problem, bob_decision(problem)).bob_invariant
    assert not evaluate(problem, partition(problem, [[0, 1], [2, 3]])).bob_invariant


@pytest.mark.parametrize("exact", [True, False])
def test_a_bob_with_harm_of_his_own_must_do_what_he_would_do_with_the_data(exact: bool) -> None:
    """He is indifferent in states 0 and 1, where Alice is not: with the data he decides for her."""
    bob = Agent([[0, 0], [0, 0], [1, 0]], harm=[[0, 1], [1, 0], [1, 0]])
    problem = Problem(["1/4", "1/4", "1/2"], bobs=[bob], eve_loss=[[0], [0], [0]])
    problem = problem if exact else problem.as_float()
    assert evaluate(problem, full(problem)).bob_invariant
    assert evaluate(problem, partition(problem, [[0], [1, 2]])).bob_invariant
    assert not evaluate(problem, partition(problem, [[0, 1], [2]])).bob_invariant
    assert not evaluate(problem, partition(problem, [[1], [0, 2]])).bob_invariant


def test_a_problem_with_one_state_has_releases() -> None:
    table = compare(Problem([1], [[1, 2]], [[3, 1]]), 1)
    assert {row.alice for row in table.releases} == {0}
    assert dict(table.omitted)["randomised response"] == "states are one: randomised response needs two"
    assert np.array_equal(randomised_response(Problem([1], [[1]], [[1]]), "1/3").channel, [[1]])
