"""The path under conditions: solve at every lam says the same, and proofs hold at both ends of a piece and inside."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F
from itertools import pairwise

import definitions
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import conditioned, few_lams

from bap_lp import (
    Agent,
    Conditions,
    InputError,
    Problem,
    chooses,
    corner,
    evaluate,
    frontier,
    lambda_path,
    sdc,
    solve,
    verify,
)
from bap_lp.releases import null

COIN = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], [[0, 1], [1, 0]], [[0, 1], [10, 0]])


@pytest.mark.slow
@settings(max_examples=40)
@given(conditioned(), st.lists(few_lams, max_size=2))
def test_path_and_solve_show_the_same_mechanism(case: tuple[Problem, F, Conditions], some: list[F]) -> None:
    problem, lam, conditions = case
    try:
        path = lambda_path(problem, conditions=conditions)
    except InputError:
        with pytest.raises(InputError):
            solve(problem, lam, conditions=conditions)
        return
    assert path.exact
    assert path.verify()
    assert all(a.risks.eve < b.risks.eve and a.risks.bob < b.risks.bob for a, b in pairwise(path.pieces))
    for at in (lam, F(0), *path.breakpoints, *some):
        found, piece = solve(problem, at, conditions=conditions), path.piece(at)
        assert path.value(at) == found.value
        assert (found.mechanism.q == piece.mechanism.q).all()
        assert found.mechanism.signals == piece.mechanism.signals
        assert evaluate(problem, piece.mechanism).risks == piece.risks
        assert definitions.broken(problem, conditions, piece.mechanism.channel) == set()
        assert verify(problem, path.certificate(at))


@pytest.mark.slow
@settings(max_examples=15)
@given(conditioned(), st.lists(few_lams, min_size=1, max_size=3))
def test_a_float_path_has_the_values_of_the_exact_one(case: tuple[Problem, F, Conditions], some: list[F]) -> None:
    problem, _, conditions = case
    # a margin at the edge of what is possible is a matter of rounding
    conditions = Conditions(**conditions.given() | {"margin": None})
    try:
        exact = lambda_path(problem, conditions=conditions)
    except InputError:
        return
    path = lambda_path(problem, False, conditions=conditions)
    assert path.verify()
    for lam in (*some, *exact.breakpoints):
        assert float(path.value(float(lam))) == pytest.approx(float(exact.value(lam)), abs=1e-8 * float(1 + lam))


def test_without_conditions_the_path_is_that_of_all_mechanisms() -> None:
    for nothing in (None, Conditions()):
        path = lambda_path(COIN, conditions=nothing)
        assert path.conditions is None
        assert path.breakpoints == (F(1, 10),)
    loose = lambda_path(COIN, conditions=Conditions(min_eve_risk=0))
    assert [p.line for p in loose.pieces] == [p.line for p in lambda_path(COIN).pieces]
    assert loose.conditions == Conditions(min_eve_risk=0)


def test_the_path_of_the_deterministic_coin_toss() -> None:
    conditions = Conditions(deterministic=True)
    path = lambda_path(COIN, conditions=conditions)
    assert [p.line for p in path.pieces] == [(F(1, 4), 0), (F(1, 2), F(-3, 4))]
    assert path.breakpoints == (F(1, 3),)
    assert path.verify()
    assert (frontier(COIN, path)[-1].mechanism.q == null(COIN).q).all()


def test_a_wrong_path_under_conditions_is_found_out() -> None:
    path = lambda_path(COIN, conditions=Conditions(max_bob_risk="3/10"))
    assert path.verify()
    assert path.pieces[-1].risks.bob == F(3, 10)
    assert not replace(path, pieces=(replace(path.pieces[0], end=math.inf),)).verify()
    assert not replace(path, pieces=path.pieces[1:]).verify()


def test_the_corner_says_how_close_a_path_under_conditions_comes() -> None:
    path = lambda_path(COIN, conditions=Conditions(exp_epsilon=3))
    for lam in (0, "1/3", 5):
        found, free = corner(COIN, lam, path), corner(COIN, lam)
        assert (found.risks, found.value, found.attained) == (free.risks, free.value, False)
        assert found.excess == path.value(lam) - found.value >= free.excess
    blind = Problem(["1/2", "1/2"], [[1, 0], [1, 0]], [[0, 1], [1, 0]])
    assert corner(blind, 1, lambda_path(blind, conditions=Conditions(exp_epsilon=1))).attained


def test_questions_about_all_mechanisms_refuse_a_path_under_conditions() -> None:
    path = lambda_path(COIN, conditions=Conditions(exp_epsilon=3))
    for ask in (
        lambda: chooses(COIN, null(COIN), path),
        lambda: sdc(COIN, min_eve_risk="1/2", path=path),
    ):
        with pytest.raises(InputError, match="path has conditions"):
            ask()


def test_conditions_that_are_not_exact_make_a_float_path() -> None:
    assert not lambda_path(COIN, conditions=Conditions(epsilon=1)).exact
    with pytest.raises(InputError, match="exp_epsilon, not epsilon"):
        lambda_path(COIN, exact=True, conditions=Conditions(epsilon=1))
    with pytest.raises(InputError, match="min_eve_risk = 4/5 is not attainable"):
        lambda_path(COIN, conditions=Conditions(min_eve_risk="4/5"))


def test_risks_of_a_float_path_are_plain_floats() -> None:
    problem = Problem([0.75, 0.25], [[0.25, 0.75], [1, 0]], [[0, 1], [10, 0]])
    for piece in lambda_path(problem, conditions=Conditions(exp_epsilon=3)).pieces:
        assert {type(value) for value in (piece.risks.bob, piece.risks.eve)} == {float}


def test_a_float_path_of_many_sizes_is_finished_in_rationals() -> None:
    """Losses from 1e-9 to 7e9 and a prior down to 1e-15: a bound in floats is off by more than its second piece."""
    prior = [1, 10**12, 10**15, 1, 10**12]
    tables = {
        "one": [["4"], ["9e-9"], ["2"], ["9e-9"], ["7"]],
        "two": [["5e-9", "4"], ["0", "4e-9"], ["7", "3e9"], ["7e9", "0"], ["1e-9", "2"]],
        "Eve": [["2", "7e-9"], ["1e9", "6e9"], ["4e-9", "9"], ["7e9", "1"], ["7e-9", "9e-9"]],
    }
    harm = [["3/2", "5/6"], ["9/4", "8/5"], ["4/5", 7], ["1/2", 10], ["8/3", "1/4"]]
    exact = Problem(
        [F(v, sum(prior)) for v in prior],
        bobs=[Agent(tables["one"], name="one", weight="1/2"), Agent(tables["two"], name="two", weight=3)],
        eves=[Agent(tables["Eve"], name="Eve", harm=harm)],
    )
    wanted, found = lambda_path(exact), lambda_path(exact.as_float())
    assert found.verify()
    assert [float(b) for b in wanted.breakpoints] == pytest.approx(list(found.breakpoints), rel=1e-12)
    for ours, its in zip(found.pieces, wanted.pieces, strict=True):
        assert ours.risks.bob == pytest.approx(float(its.risks.bob), rel=1e-12)
        assert ours.risks.eve == pytest.approx(float(its.risks.eve), rel=1e-12)
