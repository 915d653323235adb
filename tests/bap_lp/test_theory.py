"""Statements of the page on the mathematics: sizes, merging, the rule, the null release, transportation, weights."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from strategies import events, few_lams, few_states, parts_of, table

from bap_lp import Agent, Conditions, ConflictError, Problem, evaluate, solve
from bap_lp.releases import full, meets, null

quick = settings(max_examples=30)


def demand(draw: Any, problem: Problem, kind: str) -> dict[str, Any]:
    """A number for this condition, whether anything meets it or not."""
    event = draw(events(len(problem.p)))
    return {
        "at_most": {"posterior_caps": [{"event": event, "at_most": draw(parts_of(0, 1))}]},
        "at_least": {"posterior_caps": [{"event": event, "at_least": draw(parts_of(0, 1))}]},
        "signal_floor": {"signal_floor": draw(parts_of(0, 2, 8))},
        "min_eve_risk": {"min_eve_risk": draw(parts_of(0, 2, 8))},
        "exp_epsilon": {"exp_epsilon": draw(parts_of(1, 3))},
        "max_leakage": {"max_leakage": draw(parts_of(1, 3))},
        "independent_of": {"independent_of": [event]},
        "pufferfish": {"pufferfish": {"pairs": [[event, draw(events(len(problem.p)))]], "exp_epsilon": 1}},
    }[kind]


KINDS = ("at_most", "at_least", "signal_floor", "min_eve_risk", "exp_epsilon", "max_leakage", "independent_of")


@pytest.mark.slow
@settings(max_examples=40)
@given(few_states(3), st.sets(st.sampled_from((*KINDS, "pufferfish")), min_size=1, max_size=3), st.data())
def test_what_can_be_met_without_a_limit_on_bob_is_met_by_the_null_release(
    problem: Problem, kinds: set[str], data: st.DataObject
) -> None:
    wanted: dict[str, Any] = {}
    for kind in sorted(kinds):
        for name, value in demand(data.draw, problem, kind).items():
            wanted[name] = wanted.get(name, []) + value if name == "posterior_caps" else value
    conditions = Conditions(**wanted)
    try:
        solve(problem, 1, conditions=conditions)
        possible = True
    except ConflictError:
        possible = False
    assert possible == (meets(problem, null(problem), conditions) == "")


def test_an_eve_with_a_loss_of_her_own_may_do_more_harm_without_a_release_or_less() -> None:
    """Uncertain, she takes the safe decision, which harms nobody: a floor on the harm is met by the full release.

    So releasing nothing is not the most private, and the floor conflicts with the ratio 1, though each can be met.
    """
    eve = Agent([["1/4", 0, 1], ["1/4", 1, 0]], harm=[[0, 1, 1], [0, 1, 1]])
    problem = Problem(["1/2", "1/2"], bobs=[Agent([[0, 1], [1, 0]])], eves=[eve])
    assert (evaluate(problem, null(problem)).eve, evaluate(problem, full(problem)).eve) == (0, 1)
    floor: dict[str, Any] = {"min_eve_risk": 1}
    ratio: dict[str, Any] = {"exp_epsilon": 1}
    for possible in (floor, ratio):
        solve(problem, 1, conditions=Conditions(**possible))
    with pytest.raises(ConflictError):
        solve(problem, 1, conditions=Conditions(**floor, **ratio))
    # a Bob who takes the wrong action for Alice once he is informed: the full release is not the most useful
    bob = Agent([["1/4", 0, 1], ["1/4", 1, 0]], harm=[[0, 1, 1], [0, 1, 1]])
    useless = Problem(["1/2", "1/2"], bobs=[bob], eves=[Agent([[0, 1], [1, 0]])])
    assert evaluate(useless, null(useless)).bob < evaluate(useless, full(useless)).bob


@quick
@given(st.integers(2, 5), st.integers(1, 4), few_lams, st.data())
def test_against_one_eve_with_two_replies_the_program_is_a_transportation_problem(
    N: int, b: int, lam: F, data: st.DataObject
) -> None:
    """min sum (d - lam) f with sum_y f(x,y) <= p(x) a(x), between the states that lose under one reply or the other."""
    bob = np.array(data.draw(table(parts_of(0, 2), N, b)), dtype=object)
    eve = np.array(data.draw(table(parts_of(0, 2), N, 2)), dtype=object)
    p = np.full(N, F(1, N))
    found = solve(Problem(p.tolist(), bob.tolist(), eve.tolist()), lam).value
    least, above = eve.min(axis=1), eve - eve.min(axis=1)[:, None]
    left, right = (np.flatnonzero(above[:, j]) for j in (0, 1))
    constant = p.dot(bob.min(axis=1)) - lam * p.dot(least)
    if not len(left) or not len(right):
        assert found == constant  # she is settled
        return
    loss = above.max(axis=1)
    C = (bob - bob.min(axis=1)[:, None]) / np.where(loss == 0, 1, loss)[:, None]
    d = (C[left][:, None] + C[right][None]).min(axis=2).astype(float)
    leaves = np.kron(np.eye(len(left)), np.ones(len(right)))
    reaches = np.kron(np.ones(len(left)), np.eye(len(right)))
    room = np.concatenate([(p * loss)[left], (p * loss)[right]]).astype(float)
    plan = linprog((d - float(lam)).ravel(), np.vstack([leaves, reaches]), room)
    assert float(found - constant) == pytest.approx(plan.fun, abs=1e-9)
