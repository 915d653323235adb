"""An Eve who knows which of several priors is true: her risk is the mean of her risks under each of them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import channels, few_states, priors

from bap_lp import Agent, InputError, Problem, evaluate, informed, solve, verify


def mean(draws: list[list[Fraction]]) -> list[Fraction]:
    return [sum(column) / len(draws) for column in zip(*draws, strict=True)]


def bayes_risk(prior: list[Fraction], channel: np.ndarray, loss: np.ndarray, knows: list[str]) -> Fraction:
    """sum over signals and known labels of min_j sum_x p(x) q(s|x) E(x,j), by definition."""
    total = Fraction(0)
    for z in set(knows):
        mine = [x for x, label in enumerate(knows) if label == z]
        for s in range(channel.shape[1]):
            costs = [sum(prior[x] * channel[x, s] * loss[x][j] for x in mine) for j in range(len(loss[0]))]
            total += min(costs)
    return total


@given(st.data())
@settings(max_examples=30)
def test_her_risk_is_the_mean_over_the_priors_she_may_know(data: st.DataObject) -> None:
    problem = data.draw(few_states(eves=1))
    N = len(problem.states)
    draws = [data.draw(priors(N)) for _ in range(data.draw(st.integers(1, 3)))]
    knows = [data.draw(st.sampled_from(["a", "b"])) for _ in range(N)]
    loss = [[data.draw(st.integers(0, 3)) for _ in range(2)] for _ in range(N)]
    eve = informed(Agent(loss, knows=knows), draws)
    better = Problem(mean(draws), problem.bob_loss, eves=[eve])
    mechanism = data.draw(channels(better))
    expected = sum(bayes_risk(prior, mechanism.channel, loss, knows) for prior in draws) / len(draws)
    assert evaluate(better, mechanism).risks.eve == expected
    plain = Problem(mean(draws), problem.bob_loss, eves=[Agent(loss, knows=knows)])
    assert expected <= evaluate(plain, mechanism).risks.eve  # knowing omega never hurts her
    found = solve(better, 1)
    assert verify(better, found.certificate)
    assert found.value >= solve(plain, 1).value


def test_knowing_the_only_prior_is_no_knowledge() -> None:
    eve = informed(Agent([[0, 1], [1, 0]]), [["1/3", "2/3"]])
    assert (np.array(eve.knowledge) == 1).all()


def test_a_state_that_no_prior_has_tells_nothing() -> None:
    eve = informed(Agent([[0, 1], [1, 0], [1, 1]]), [[1, 0, 0], ["1/2", "1/2", 0]])
    assert [str(v) for v in eve.knowledge[2]] == ["1/2", "1/2"]
    assert [str(v) for v in eve.knowledge[1]] == ["0", "1"]


def test_floats_and_a_table_of_knowledge_are_combined() -> None:
    eve = informed(Agent([[0, 1], [1, 0]], knowledge=[["1/2", "1/2"], [1, 0]]), [[0.25, 0.75], [0.5, 0.5]])
    assert np.allclose(eve.knowledge, [[1 / 6, 1 / 3, 1 / 6, 1 / 3], [0.6, 0.4, 0, 0]])


@pytest.mark.parametrize(
    ("priors", "words"),
    [([], "must not be empty"), ([[1, 1]], r"priors\[0\]"), ([["1/2", "1/2"], [1]], r"priors\[1\] has 1 entries")],
)
def test_priors_that_are_no_distributions_are_refused(priors: list[list[object]], words: str) -> None:
    with pytest.raises(InputError, match=words):
        informed(Agent([[0, 1], [1, 0]]), priors)
