"""A problem in components has the optimum, the mechanism and the proof of the whole."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from clusters import local_client
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import knowing_problems

from bap_lp import Agent, InputError, Problem, lambda_path, solve, verify
from bap_lp.game.solver import solve_game
from bap_lp.model.arrays import Arrays
from bap_lp.programs import compact, components, workers
from bap_lp.programs.compact import JointOptimum, solve_undivided
from bap_lp.programs.components import components_of, solve_compact
from bap_lp.programs.ties import weight_at

METHODS: dict[str, dict[str, int]] = {"all decisions": {}, "priced": {"_DENSE": 1}}


def divided(arrays: Arrays, lam: fmpq, method: str) -> tuple[bool, JointOptimum]:
    """Whether it splits, and the optimum by this method, however small the problem is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(components, "_SMALL", 0)
        for name, value in METHODS[method].items():
            patch.setattr(components, name, value)
        return components_of(arrays) is not None, solve_compact(arrays, lam)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(knowing_problems(most=9, decisions=7), st.fractions(0, 3, max_denominator=4))
@settings(max_examples=40, deadline=None)
def test_components_give_the_table_of_the_whole_program(method: str, problem: Problem, lam: Fraction) -> None:
    arrays, _ = problem.arrays.merged()
    price = fmpq(lam.numerator, lam.denominator)
    whole = solve_undivided(arrays, price)
    _, parts = divided(arrays, price, method)
    assert parts.bound == whole.bound == arrays.value(parts.rho, price)
    assert (parts.rho == whole.rho).all()  # also among several optima
    assert arrays.bound(parts.u) == whole.bound  # one certificate, complete


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@given(knowing_problems(most=9, decisions=7), st.fractions(0, 3, max_denominator=4))
@settings(max_examples=20, deadline=None)
def test_components_in_floats_have_a_certified_gap(method: str, problem: Problem, lam: Fraction) -> None:
    arrays, _ = problem.as_float().arrays.merged()
    _, parts = divided(arrays, float(lam), method)
    assert arrays.bound(parts.u) <= arrays.value(parts.rho, float(lam)) + 1e-12
    assert arrays.value(parts.rho, float(lam)) - parts.bound < 1e-9
    assert abs(parts.bound - float(solve(problem, lam).bound)) < 1e-9


def test_a_component_is_perturbed_by_the_weights_of_its_own_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the perturbed vertex is not the one that the ties choose, and most of the work is done twice."""
    random, (N, b) = np.random.default_rng(0), (40, 5)
    arrays = Problem([Fraction(1, N)] * N, *(random.integers(0, 2, (N, k)).tolist() for k in (b, 4))).arrays
    places, seen = (np.arange(N) + 7) * b, []

    def watched(*args: Any, noise: np.ndarray, **options: Any) -> Any:
        seen.append(noise * 2.0**32)
        return solve_game(*args, noise=noise, **options)

    monkeypatch.setattr(compact, "solve_game", watched)
    monkeypatch.setattr(compact, "whole_program", lambda arrays: False)
    for data, lam in ((arrays, fmpq(1)), (arrays.rounded, 1.0)):
        solve_undivided(data, lam, None, places)
        assert (seen.pop() == weight_at(places[:, None] + np.arange(b))).all()


def large(seed: int, states: int = 60, decisions: int = 12, values: int = 6) -> Problem:
    random = np.random.default_rng(seed)
    counts = random.integers(1, 9, states)
    bob = [[Fraction(int(v), 4) for v in row] for row in random.integers(0, 9, (states, decisions))]
    eve = Agent(random.integers(0, 4, (states, 2)).tolist(), knows=random.integers(0, values, states).tolist())
    return Problem([Fraction(int(c), int(counts.sum())) for c in counts], bob, eves=[eve])


def test_a_large_problem_is_split_without_being_told_and_shows_one_mechanism() -> None:
    problem = large(0)
    found = solve(problem, "1/2")
    assert "components" in found.method
    assert verify(problem, found.certificate)
    arrays, _ = problem.arrays.merged()
    assert (found.certificate.rho == solve_undivided(arrays, fmpq(1, 2)).rho).all()
    piece = lambda_path(problem)
    assert piece.value(Fraction(1, 2)) == found.value


def test_processes_give_the_same_answer() -> None:
    problem = large(1)
    here, there = solve(problem, "1/2"), solve(problem, "1/2", workers=2)
    assert (here.certificate.rho == there.certificate.rho).all()
    assert (here.certificate.u == there.certificate.u).all()
    with pytest.raises(InputError, match="workers = 0 must be a positive integer"):
        solve(problem, "1/2", workers=0)


@pytest.mark.slow
def test_a_dask_client_gives_the_same_answer() -> None:
    problem = large(2)
    with local_client(workers=1) as client:
        there = solve(problem, "1/2", client=client)
    assert (there.certificate.rho == solve(problem, "1/2").certificate.rho).all()


def test_a_group_with_one_reply_that_is_always_best_joins_nobody() -> None:
    bob = [[0, 1, 1], [1, 0, 1], [1, 1, 0]] * 60
    bold = Agent([[0, 1]] * 180, name="bold")  # her first reply is best at every state
    knows = Agent([[0, 1], [1, 0], [1, 0]] * 60, name="clever", knows=[k // 3 for k in range(180)])
    problem = Problem([Fraction(1, 180)] * 180, bob, eves=[bold, knows])
    split = components_of(problem.arrays)
    assert split is not None
    assert len(split.components) == 60
    assert split.settled == {0: 0}
    assert verify(problem, solve(problem, 3).certificate)


def test_every_core_is_used_where_it_pays(monkeypatch):
    monkeypatch.setattr(workers, "_cores", lambda: 4)
    small, large = SimpleNamespace(effort=10.0), SimpleNamespace(effort=1e8)
    assert workers.worker_count([small] * 9, "all") == 1
    assert workers.worker_count([large, small], "all") == 1  # the others are done long before
    assert workers.worker_count([large] * 3, "all") == 3
    assert workers.worker_count([large] * 9, "all") == 4
    assert workers.worker_count([], "all") == 1
