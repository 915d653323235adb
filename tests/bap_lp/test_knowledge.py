"""What an Eve knows besides the signal: her risk by its definition, and the same answer in every command."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from definitions import risks
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import any_problem, knowing_problems

from bap_lp import (
    Agent,
    Conditions,
    InputError,
    Mechanism,
    Problem,
    calibrate,
    compare,
    evaluate,
    lambda_path,
    load_problem,
    minimum_of,
    save_problem,
    sdc,
    solve,
    uniqueness,
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
def test_files_and_merging_keep_what_agents_know_and_believe(
    tmp_path_factory: pytest.TempPathFactory, problem: Problem
) -> None:
    file = tmp_path_factory.mktemp("known") / "p.json"
    save_problem(file, problem)
    again = load_problem(file).problem
    assert (again, hash(again)) == (problem, hash(problem))
    if problem.misaligned:
        return
    assert problem.merged().expand(solve(problem.merged(), 1).mechanism).q.shape[0] == len(problem.states)
    assert solve(problem.merged(), 1).value == solve(problem, 1).value


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
    assert example(knows=["a", "a", "b", "b"]).merged().shape[0] == 4
    assert example().merged().shape[0] == 2


def test_labels_say_who_knows_what() -> None:
    problem = example(knows=["age=3", "age=3", "age=4", "age=4"])
    assert problem.eve_decisions[:2] == ("Ann, age=3: no", "Ann, age=3: yes")
    signal = evaluate(problem, Mechanism([[1]] * 4)).signals[0]
    assert signal.eve == ["Ann, age=3: no", "Ann, age=3: yes", "Ann, age=4: no", "Ann, age=4: yes"]
    first = signal.decisions[1]
    assert (first.known, first.probability, first.posterior["0"]) == ("age=3", Fraction(1, 2), Fraction(1, 2))


def test_conditions_and_comparisons_understand_it() -> None:
    problem = example(knows=["a", "a", "b", "b"])
    floor = solve(problem, 0, conditions=Conditions(min_eve_risk="1/4"))
    assert floor.risks.eve >= Fraction(1, 4)
    assert verify(problem, floor.certificate)
    assert sdc(problem, min_eve_risk="1/4").risks.eve == Fraction(1, 4)
    strict = solve(problem, "1/2", conditions=Conditions(margin="1/10"))
    assert verify(problem, strict.certificate)
    assert compare(problem, "1/2").rows[0].alice == solve(problem, "1/2").value
    assert uniqueness(problem, "1/2").value == solve(problem, "1/2").value


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
