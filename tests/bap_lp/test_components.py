"""A problem in components has the optimum, the mechanism and the proof of the whole."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import few_lams, few_states

from bap_lp import Agent, Problem, lambda_path, solve, verify


def side_by_side(parts: list[Problem]) -> Problem:
    """One problem of components: a part has decisions of its own, and Eve knows which part it is."""
    share, bob, eve, knows = F(1, len(parts)), [], [], []
    widths = [part.shape[1] for part in parts]
    for k, part in enumerate(parts):
        for x, mass in enumerate(part.prior):
            own = [[9] * w for w in widths]  # nobody takes a decision of another part
            own[k] = part.bob_loss[x].tolist()
            bob.append((share * mass, [v for row in own for v in row]))
            eve.append(part.eve_loss[x].tolist())
            knows.append(f"part {k}")
    return Problem([mass for mass, _ in bob], [row for _, row in bob], eves=[Agent(eve, name="Eve", knows=knows)])


@pytest.mark.slow
@settings(max_examples=25)
@given(st.lists(few_states(most=4, eves=1), min_size=2, max_size=4), few_lams)
def test_the_optimum_of_components_side_by_side_is_the_mean_of_theirs(parts: list[Problem], lam: F) -> None:
    parts = [Problem(p.prior, p.bob_loss, np.resize(p.eve_loss.T, (2, len(p.prior))).T) for p in parts]
    whole = side_by_side(parts)
    found = solve(whole, lam)
    assert found.value == sum(solve(part, lam).value for part in parts) / len(parts)
    assert verify(whole, found.certificate)
    rough = solve(whole.as_float(), float(lam))
    assert float(rough.value) == pytest.approx(float(found.value), abs=1e-9)
    assert verify(whole.as_float(), rough.certificate)


def large(seed: int, states: int = 60, decisions: int = 12, values: int = 6) -> Problem:
    random = np.random.default_rng(seed)
    counts = random.integers(1, 9, states)
    bob = [[F(int(v), 4) for v in row] for row in random.integers(0, 9, (states, decisions))]
    eve = Agent(random.integers(0, 4, (states, 2)).tolist(), knows=random.integers(0, values, states).tolist())
    return Problem([F(int(c), int(counts.sum())) for c in counts], bob, eves=[eve])


def test_a_large_problem_of_components_shows_one_mechanism() -> None:
    problem = large(0)
    found = solve(problem, "1/2")
    assert verify(problem, found.certificate)
    path = lambda_path(problem)
    assert path.value(F(1, 2)) == found.value
    assert (path.piece(F(1, 2)).mechanism.q == found.mechanism.q).all()


def test_a_group_with_one_reply_that_is_always_best_joins_nobody() -> None:
    bob = [[0, 1, 1], [1, 0, 1], [1, 1, 0]] * 60
    bold = Agent([[0, 1]] * 180, name="bold")  # her first reply is best at every state
    knows = Agent([[0, 1], [1, 0], [1, 0]] * 60, name="clever", knows=[k // 3 for k in range(180)])
    problem = Problem([F(1, 180)] * 180, bob, eves=[bold, knows])
    found = solve(problem, 3)
    assert verify(problem, found.certificate)
