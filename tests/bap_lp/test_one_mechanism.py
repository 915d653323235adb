"""Where several mechanisms are optimal, every way to the answer shows the same one."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import lams, problems

from bap_lp import InputError, Mechanism, Problem, calibrate, compare, lambda_path, solve, verify
from bap_lp.linear.exact import optimise
from bap_lp.linear.optimum import optimum
from bap_lp.linear.program import LinearProgram, from_entries
from bap_lp.model.arrays import Arrays
from bap_lp.programs import compact as compact_room
from bap_lp.programs.compact import compact_program
from bap_lp.programs.components import solve_compact
from bap_lp.programs.ties import compact_ties
from bap_lp.rational import EXACT

TIED = ("zero_one", "small", "ordinary")


def same(first: Mechanism, second: Mechanism) -> bool:
    return first.signals == second.signals and bool((first.q == second.q).all())


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(problems(states=6, decisions=4, tempers=TIED), lams)
def test_solve_and_path_show_the_same_mechanism(problem: Problem, lam: F) -> None:
    path = lambda_path(problem)
    for at in (lam, *path.breakpoints):
        best = solve(problem, at)
        assert best.value == path.value(at)
        assert same(best.mechanism, path.piece(at).mechanism)


@pytest.mark.parametrize("eve", [[[1, 0], [1, 0]], [[1], [2]], [[0, 1], [1, 0]]])
@pytest.mark.parametrize("bob", [[[0, 0], [0, 0]], [[1, 0, 0], [1, 0, 0]], [[0, 1], [1, 0]]])
def test_floats_show_one_mechanism_too_where_releasing_nothing_is_optimal(bob: Any, eve: Any) -> None:
    problem = Problem([0.75, 0.25], bob, eve)
    path = lambda_path(problem)
    for lam in (0.0, 0.5, 2.0, 1000.0):
        if lam not in path.breakpoints:
            assert same(solve(problem, lam).mechanism, path.piece(lam).mechanism)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problems(states=6, decisions=4, tempers=TIED))
def test_the_comparison_shows_the_mechanism_of_solve(problem: Problem) -> None:
    try:
        lam = calibrate(problem)
    except InputError:
        lam = F(1)
    assert same(compare(problem, lam).optimum.mechanism, solve(problem, lam).mechanism)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems(states=6, decisions=4, tempers=TIED), lams)
def test_the_choice_does_not_depend_on_the_method(problem: Problem, lam: F) -> None:
    arrays, price = problem.arrays.merged()[0], EXACT.number(lam)
    N, b, _ = arrays.shape
    lp, ties = compact_program(arrays, price), compact_ties(arrays)
    tables = [
        solve_compact(arrays, price).rho,
        optimum(lp, ties=ties).z[: N * b].reshape(N, b),
        optimise(lp, np.arange(lp.shape[1], sum(lp.shape)), ties).z[: N * b].reshape(N, b),
    ]
    for table in tables[1:]:
        assert (table == tables[0]).all()


def large(kind: str, N: int, b: int, e: int, seed: int) -> Problem:
    draw = np.random.default_rng(seed).integers
    top = 2 if kind == "zero_one" else 4
    tables = [[[F(int(draw(top))) for _ in range(k)] for _ in range(N)] for k in (b, e)]
    return Problem([F(1, N)] * N, *tables)


@pytest.mark.parametrize("kind", ["zero_one", "integers"])
@pytest.mark.parametrize("seed", range(3))
def test_the_structured_method_makes_the_same_choice_as_simplex(
    kind: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = large(kind, 90, 5, 4, seed)
    by_simplex = solve(problem, "1/2")
    monkeypatch.setattr(compact_room, "whole_program", lambda arrays: False)
    by_structure = solve(problem, "1/2")
    assert "structured" in by_structure.method
    assert "structured" not in by_simplex.method
    assert same(by_simplex.mechanism, by_structure.mechanism)
    assert same(by_simplex.mechanism, lambda_path(problem).piece("1/2").mechanism)
    assert verify(problem, by_structure.certificate)


def test_among_optimal_mechanisms_the_most_private_is_chosen() -> None:
    # Bob is indifferent between everything, so the least R_B leaves all mechanisms and the largest R_E the null one
    problem = Problem(["1/2", "1/2"], [[1, 1], [1, 1]], [[0, 1], [1, 0]])
    best = solve(problem, 0)
    assert (best.risks.bob, best.risks.eve) == (1, F(1, 2))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(problems(states=5, decisions=3, tempers=TIED), lams)
def test_no_optimal_vertex_beats_the_choice_in_the_tie_costs(problem: Problem, lam: F) -> None:
    # minimise the second cost over the optimal face by adding the first as an equality: an independent program
    arrays, price = problem.arrays.merged()[0], EXACT.number(lam)
    best = solve_compact(arrays, price)
    N, b, _ = arrays.shape
    weight = compact_ties(arrays)[1][: N * b].reshape(N, b)
    lp = compact_program(arrays, price)
    value, most_private = best.bound, arrays.eve_risk(best.rho)
    chosen = (weight * best.rho).sum()
    face = _with_rows(arrays, lp, value, most_private)
    found = optimum(face)
    assert face.cost.dot(found.z) == chosen


def _with_rows(arrays: Arrays, lp: LinearProgram, value: Any, eve_risk: Any) -> LinearProgram:
    m, n = lp.shape
    N, b, _ = arrays.shape
    t = np.arange(n) >= N * b
    rows = np.concatenate([lp.index, np.full(n, m), np.full(int(t.sum()), m + 1)])
    columns = np.concatenate([lp.column_of, np.arange(n), np.flatnonzero(t)])
    values = np.concatenate([lp.value, lp.cost, -EXACT.full(int(t.sum()), 1)])
    return from_entries(
        compact_ties(arrays)[1],
        rows,
        columns,
        values,
        np.concatenate([lp.rhs, EXACT.list([value, -eve_risk])]),
        np.append(lp.equality, [True, False]),
        lp.free,
    )
