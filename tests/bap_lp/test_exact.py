"""From any basis, however wrong, to the exact optimum; and exact solves against flint on the whole matrix."""

from __future__ import annotations

import re
from fractions import Fraction as F

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import lams, problems

from bap_lp import Problem, solve, verify
from bap_lp.linear.exact import filtered, optimise, reduced_cost
from bap_lp.linear.factor import Factor, SingularBasis
from bap_lp.linear.highs import solve_lp
from bap_lp.linear.program import LinearProgram, from_entries
from bap_lp.programs.compact import compact_program
from bap_lp.rational import EXACT, objects

quick = settings(max_examples=60, deadline=None)


def program_of(problem: Problem, lam: F) -> LinearProgram:
    live = np.array([mass > 0 for mass in problem.p])
    return compact_program(problem.arrays.states(live), fmpq(lam.numerator, lam.denominator))


@pytest.mark.slow
@quick
@given(problems(states=5, decisions=3), lams, st.data())
def test_any_basis_leads_to_the_optimum(problem: Problem, lam: F, data: st.DataObject) -> None:
    lp = program_of(problem, lam)
    m, n = lp.shape
    basic = data.draw(st.lists(st.integers(0, n + m - 1), min_size=m, max_size=m, unique=True))
    vertex = optimise(lp, np.array(sorted(basic)))
    value = lp.cost.dot(vertex.z)
    assert value == lp.rhs.dot(vertex.y)
    assert F(int(value.p), int(value.q)) == solve(problem, lam).value


def without_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave every wrong basis to exact pivots."""
    for module in ("linear.exact", "programs.compact"):
        monkeypatch.setattr(f"bap_lp.{module}.FEW_ROWS", 10**9)


def test_the_repair_is_reached_by_badly_scaled_data(monkeypatch: pytest.MonkeyPatch) -> None:
    # priors 2^-k and losses over eighteen decades fall below the float solver's tolerances: its basis is not exact
    N = 24
    weights = [F(1, 2 ** (2 * k)) for k in range(N)]
    loss = [[F(1 + (7 * x + 3 * i) % 11) * F(10) ** ((5 * x + 7 * i) % 19 - 9) for i in range(4)] for x in range(N)]
    secret = [[F(1 + (5 * x + 2 * j) % 13) * F(10) ** ((11 * x + 4 * j) % 19 - 9) for j in range(4)] for x in range(N)]
    problem = Problem([w / sum(weights) for w in weights], loss, secret)
    looked = solve(problem, "2/3")
    assert "closer look" in looked.method
    assert "repaired" not in looked.method
    without_looks(monkeypatch)
    solution = solve(problem, "2/3")
    assert "repaired" in solution.method
    assert solution.value == looked.value
    for found in (looked, solution):
        assert found.gap == 0
        assert verify(problem, found.certificate)


def near_ties(N: int, b: int, e: int) -> Problem:
    """Losses 0, 1, 2 moved by multiples of 1e-15: to floats, a problem made of ties."""
    draw = np.random.default_rng(8).integers
    tables = [[[F(int(draw(3))) + F(int(draw(4)), 10**15) for _ in range(k)] for _ in range(N)] for k in (b, e)]
    return Problem([F(1, N)] * N, *tables)


@pytest.mark.slow
def test_refinement_finds_the_basis_that_floats_cannot_see(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = near_ties(120, 4, 4)
    solution = solve(problem, 1)
    assert "closer look" in solution.method
    assert "repaired" not in solution.method  # no pivot
    assert verify(problem, solution.certificate)
    # without the glass, pivots alone reach the same value by a longer way
    without_looks(monkeypatch)
    walked = solve(problem, 1)
    assert walked.value == solution.value
    assert int(re.findall(r"repaired in (\d+)", walked.method)[0]) > 1


def test_the_repair_is_reached_by_near_ties() -> None:
    def bump(x: int, i: int) -> F:
        return F((x * 7 + i * 5) % 3) + F((x * 3 + i) % 4, 10**15)

    bob, eve = ([[bump(x, k) for k in range(n)] for x in range(12)] for n in (4, 3))
    problem = Problem([F(1, 12)] * 12, bob, eve)
    solution = solve(problem, "calibrated")
    assert solution.gap == 0
    assert verify(problem, solution.certificate)
    # the value resolves differences no float could see
    assert solution.value.denominator % 10**15 == 0 or solution.value.denominator > 10**12


@pytest.mark.slow
@quick
@given(problems(states=5, decisions=3), lams)
def test_solves_agree_with_the_whole_matrix(problem: Problem, lam: F) -> None:
    lp = program_of(problem, lam)
    m, n = lp.shape
    basic = optimise(lp, solve_lp(lp.rounded).basic).basic
    dense = [[fmpq(0)] * m for _ in range(m)]
    for k, variable in enumerate(basic.tolist()):
        if variable >= n:
            dense[variable - n][k] = fmpq(1)
        else:
            for at in range(lp.start[variable], lp.start[variable + 1]):
                dense[lp.index[at]][k] = lp.value[at]
    whole = fmpq_mat(dense)
    factor = Factor(lp, basic)
    cost = np.append(lp.cost, EXACT.zeros(m))[basic]
    assert factor.solve(lp.rhs).tolist() == whole.solve(fmpq_mat(m, 1, lp.rhs.tolist())).entries()
    assert factor.solve_transposed(cost).tolist() == whole.transpose().solve(fmpq_mat(m, 1, cost.tolist())).entries()


@pytest.mark.slow
@quick
@given(problems(states=6), lams)
def test_filter_bounds_its_own_error(problem: Problem, lam: F) -> None:
    lp = program_of(problem, lam)
    vertex = optimise(lp, solve_lp(lp.rounded).basic)
    approximate, error = filtered(lp.rounded, vertex.y)
    for j in range(lp.shape[1]):
        exact = reduced_cost(lp, vertex.y, j)
        assert abs(F(int(exact.p), int(exact.q)) - F(approximate[j])) <= F(error[j])


def small_program(rows: list[list[int]], rhs: list[int], cost: list[int], equality: list[bool]) -> LinearProgram:
    table = np.array([[fmpq(v) for v in row] for row in rows], dtype=object)
    m, n = table.shape
    r, c = np.divmod(np.arange(m * n), n)
    numbers = (objects(fmpq(v) for v in values) for values in (cost, rhs))
    costs, right = numbers
    return from_entries(costs, r, c, table.ravel(), right, np.array(equality), np.zeros(n, dtype=bool))


def test_infeasible_and_unbounded_programs_say_so() -> None:
    with pytest.raises(ArithmeticError, match="no feasible solution"):
        optimise(small_program([[1, 1]], [-1], [1, 1], [False]), np.array([2]))
    with pytest.raises(ArithmeticError, match="unbounded"):
        optimise(small_program([[1, -1]], [1], [-1, -1], [False]), np.array([2]))


def test_dependent_columns_are_replaced() -> None:
    lp = small_program([[1, 1, 2, 0], [1, 1, 2, 0], [0, 0, 0, 1]], [2, 2, 1], [1, 2, 1, 1], [True, True, True])
    with pytest.raises(SingularBasis):
        Factor(lp, np.array([0, 1, 3]))
    vertex = optimise(lp, np.array([0, 1, 3]))
    assert lp.cost.dot(vertex.z) == 2


def test_cycling_program_ends() -> None:
    # Beale's example, which cycles under the textbook rule from the slack basis
    rows = [[1, -240, -4, 36], [1, -180, -1, 6], [0, 0, 1, 0]]
    lp = small_program(rows, [0, 0, 1], [-3, 600, -2, 24], [False] * 3)
    vertex = optimise(lp, np.array([4, 5, 6]))
    assert lp.cost.dot(vertex.z) == lp.rhs.dot(vertex.y)
