"""What an Eve knows besides the signal, labels, a channel or one of several priors: her risk by its definition."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from definitions import risks
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import any_problem, channels, few_states, knowing_problems, priors

from bap_lp import (
    Agent,
    InputError,
    Mechanism,
    Problem,
    calibrate,
    evaluate,
    informed,
    lambda_path,
    load_problem,
    minimum_of,
    save_problem,
    solve,
    verify,
)


@pytest.mark.slow
@given(knowing_problems(), st.fractions(0, 3, max_denominator=4))
@settings(max_examples=30)
def test_solve_path_and_paper_program_agree(problem: Problem, lam: Fraction) -> None:
    found = solve(problem, lam)
    assert verify(problem, found.certificate)
    assert (found.risks.bob, found.risks.eve) == risks(problem, found.mechanism.channel)
    path = lambda_path(problem)
    assert path.value(lam) == found.value
    if np.prod([g.stop - g.start for g in problem.eve_groups]) <= 9:
        assert solve(problem, lam, formulation="paper").value == found.value
    assert abs(solve(problem.as_float(), float(lam)).value - found.value) < 1e-9


@given(any_problem())
@settings(max_examples=30)
def test_files_keep_what_agents_know_and_believe(tmp_path_factory: pytest.TempPathFactory, problem: Problem) -> None:
    file = tmp_path_factory.mktemp("known") / "p.json"
    save_problem(file, problem)
    again = load_problem(file).problem
    assert (again, hash(again)) == (problem, hash(problem))


def example(**known: object) -> Problem:
    bob = [[0, 1], [1, 0], [0, 1], [1, 0]]
    return Problem(["1/4"] * 4, bob, eves=[Agent([[0, 1], [1, 0], [0, 1], [1, 0]], ["no", "yes"], "Ann", **known)])


def test_an_eve_who_knows_the_data_leaves_nothing_to_hide() -> None:
    problem = example(knows=["a", "b", "c", "d"])
    assert solve(problem, 5).risks == solve(problem, 0).risks
    with pytest.raises(InputError, match="is undefined: Eve does no better with the data"):
        calibrate(problem)


def test_knowledge_that_says_nothing_changes_nothing() -> None:
    blind, plain = example(knowledge=[["1/3", "2/3"]] * 4), example()
    assert solve(blind, 2).value == solve(plain, 2).value
    assert (solve(blind, 2).mechanism.q == solve(plain, 2).mechanism.q).all()


def test_states_with_equal_losses_and_different_knowledge_are_kept_apart() -> None:
    assert len(example(knows=["a", "a", "b", "b"]).arrays.merged()[0].p) == 4
    assert len(example().arrays.merged()[0].p) == 2


def test_labels_say_who_knows_what() -> None:
    problem = example(knows=["age=3", "age=3", "age=4", "age=4"])
    assert problem.eve_decisions[:2] == ("Ann, age=3: no", "Ann, age=3: yes")
    signal = evaluate(problem, Mechanism([[1]] * 4)).signals[0]
    assert signal.eve == ["Ann, age=3: no", "Ann, age=3: yes", "Ann, age=4: no", "Ann, age=4: yes"]
    first = signal.decisions[1]
    assert (first.known, first.probability, first.posterior["0"]) == ("age=3", Fraction(1, 2), Fraction(1, 2))


def test_the_joint_eve_knows_what_all_of_them_know() -> None:
    both = minimum_of([Agent([[0, 1], [1, 0]], knows=["a", "b"]), Agent([[0, 1], [1, 0]], knows=[1, 1])])
    assert both.knows == ["a, 1", "b, 1"]


BAD = [
    ({"knows": ["a"]}, "eves[0].knows has 1 labels, must have 4, one per state"),
    ({"knows": "abcd"}, "eves[0].knows = 'abcd' must be a list of labels, one per state"),
    ({"knows": ["a", "b", "", "c"]}, "eves[0].knows[2] = '' must be a non-empty string or an integer"),
    ({"knows": ["a", "b", True, "c"]}, "eves[0].knows[2] = True must be a non-empty string or an integer"),
    ({"knowledge": [[1]] * 3}, "eves[0].knowledge has 3 rows, must have 4, one per state"),
    ({"knowledge": [["1/2", "1/3"]] * 4}, "sum of eves[0].knowledge[0] = 5/6 must be 1"),
    ({"knows": ["a"] * 4, "knowledge": [[1]] * 4}, "eves[0].knowledge must not be given with knows: one of the two"),
]


@pytest.mark.parametrize(("known", "message"), BAD)
def test_bad_knowledge_is_refused(known: dict[str, object], message: str) -> None:
    with pytest.raises(InputError) as refused:
        example(**known)
    assert str(refused.value) == message


def test_bob_has_the_signal_alone() -> None:
    with pytest.raises(InputError, match=r"bobs\[0\].knows is for an Eve"):
        Problem([1], bobs=[Agent([[0]], knows=["a"])], eve_loss=[[0]])


def test_a_file_names_its_own_fields(tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    file.write_text('[data]\nprior = [1]\n[bob]\nloss = [[0]]\n[eve]\nloss = [[0]]\nknows = ["a", "b"]\n')
    with pytest.raises(InputError, match=r"p.toml: eve.knows has 2 labels, must have 1"):
        load_problem(file)
    save_problem(tmp_path / "q.json", example(knows=[1, 1, 2, 2]))
    assert load_problem(tmp_path / "q.json").problem == example(knows=["1", "1", "2", "2"])


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
    [
        (3, "priors = 3 must be a list"),
        ([], "must not be empty"),
        ([[1, 1]], r"priors\[0\]"),
        ([["1/2", "1/2"], [1]], r"priors\[1\] has 1 entries"),
    ],
)
def test_priors_that_are_no_distributions_are_refused(priors: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        informed(Agent([[0, 1], [1, 0]]), priors)
