"""Linear programs that mean nothing: the exact optimum, its proof, ties, and what is refused."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from bap_lp import Problem, solve, verify
from bap_lp.engines.linear import highs
from bap_lp.engines.linear.exact_simplex import exact_optimum
from bap_lp.engines.linear.factor import Factor, SingularBasis
from bap_lp.engines.linear.iterative_refinement import refine_in_floats
from bap_lp.engines.linear.linear_optimum import Infeasible, optimum
from bap_lp.engines.linear.linear_program import LinearProgram, ProgramBuilder
from bap_lp.support.rational import EXACT, FLOAT

entries = st.integers(-4, 4)
scales = st.sampled_from([F(1), F(10) ** 9, F(1, 10**9)])


def program(cost: list[Any], rows: list[list[Any]], rhs: list[Any], equality: bool = False) -> LinearProgram:
    make = ProgramBuilder(EXACT)
    z = make.columns(len(cost), EXACT.list([EXACT.number(v) for v in cost]))
    for row, right in zip(rows, rhs, strict=True):
        make.rows(1, [(0, z, EXACT.list([EXACT.number(v) for v in row]))], EXACT.number(right), equality=equality)
    return make.build()


@st.composite
def programs(draw: st.DrawFn, wide: bool = False) -> LinearProgram:
    """min c.z, A z <= b, sum z <= 1, z >= 0 with b >= 0: feasible and bounded, often degenerate."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    units = [draw(scales) if wide else F(1) for _ in range(rows + 1)]
    table = [[unit * draw(entries) for _ in range(columns)] for unit in units]
    return program(table[0], [*table[1:], [1] * columns], [*(draw(st.integers(0, 3)) for _ in range(rows)), 1])


def dense(lp: LinearProgram) -> Any:
    table = lp.field.zeros(lp.shape)
    table[lp.index, lp.column_of] = lp.value
    return table


def vertices(lp: LinearProgram) -> list[tuple[Any, ...]]:
    """All vertices by brute force: every choice of as many tight constraints as columns."""
    m, n = lp.shape
    A = np.vstack([dense(lp), -np.diag(EXACT.full(n, 1))])
    b = np.append(lp.rhs, EXACT.zeros(n))
    found = set()
    for tight in combinations(range(m + n), n):
        matrix = fmpq_mat(n, n, A[list(tight)].ravel().tolist())
        if matrix.rank() == n:
            z = EXACT.list(matrix.solve(fmpq_mat(n, 1, b[list(tight)].tolist())).entries())
            if all(v <= w for v, w in zip(A.dot(z), b, strict=True)):
                found.add(tuple(z))
    return list(found)


def proved(lp: LinearProgram) -> Any:
    """The optimal value, after checking that the multipliers prove it."""
    best, A = optimum(lp), dense(lp)
    assert (best.z >= 0).all()
    assert (best.y[~lp.equality] <= 0).all()
    left = A.dot(best.z)
    assert all(v == b if equal else v <= b for v, b, equal in zip(left, lp.rhs, lp.equality, strict=True))
    assert all(v >= 0 for v in lp.cost - A.T.dot(best.y))
    assert lp.cost.dot(best.z) == lp.rhs.dot(best.y)
    return lp.cost.dot(best.z)


@settings(max_examples=80)
@given(programs(wide=True))
def test_primal_and_dual_value_agree_exactly(lp: LinearProgram) -> None:
    proved(lp)


@pytest.mark.slow
@settings(max_examples=60)
@given(programs(), st.data())
def test_ties_choose_the_vertex_that_enumeration_chooses(lp: LinearProgram, data: st.DataObject) -> None:
    n = lp.shape[1]
    second = EXACT.list([fmpq(data.draw(entries)) for _ in range(n)])
    third = EXACT.list([fmpq(2**k + 3 * k * k) for k in range(n)])
    ties = [second, third]
    best = optimum(lp, ties=ties)
    score = min(tuple(c.dot(np.array(v, dtype=object)) for c in (lp.cost, *ties)) for v in vertices(lp))
    assert tuple(c.dot(best.z) for c in (lp.cost, *ties)) == score


@settings(max_examples=40)
@given(programs())
def test_floats_and_rationals_find_the_same_value(lp: LinearProgram) -> None:
    exact, rough = optimum(lp), optimum(lp.rounded)
    assert float(lp.cost.dot(exact.z)) == pytest.approx(float(lp.rounded.cost @ rough.z), abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_larger_program_agrees_with_scipy(seed: int) -> None:
    draw = np.random.default_rng(seed).integers
    n, m = 60, 40
    table, start = draw(-9, 10, (m, n)), draw(0, 3, n)
    lp = program(draw(0, 50, n).tolist(), table.tolist(), table.dot(start).tolist(), equality=True)
    found = linprog(lp.rounded.cost, A_eq=dense(lp.rounded), b_eq=lp.rounded.rhs)
    assert float(proved(lp)) == pytest.approx(found.fun, abs=1e-7)


def test_programs_without_an_optimum_say_so() -> None:
    for make in (EXACT, FLOAT):
        lp = program([1, 1], [[1, 1]], [-1])
        with pytest.raises(Infeasible):
            optimum(lp if make.exact else lp.rounded)
    with pytest.raises(ArithmeticError):
        optimum(program([-1, -1], [[1, -1]], [1]))


def test_dependent_rows_and_columns_are_no_obstacle() -> None:
    lp = program([1, 2, 1, 1], [[1, 1, 2, 0], [1, 1, 2, 0], [0, 0, 0, 1]], [2, 2, 1], equality=True)
    assert proved(lp) == 2


def test_columns_that_leave_a_row_empty_are_dependent() -> None:
    with pytest.raises(SingularBasis):
        Factor(program([0, 0, 0], [[1, 1, 0], [0, 0, 1]], [1, 1]), np.array([0, 1]))


def test_a_program_that_cycles_under_the_textbook_rule_ends() -> None:
    """Beale's example."""
    rows = [[1, -240, -4, 36], [1, -180, -1, 6], [0, 0, 1, 0]]
    proved(program([-3, 600, -2, 24], rows, [0, 0, 1]))


def test_the_slack_of_an_equality_stays_zero_while_ties_are_broken() -> None:
    lp = program([0, 0, 0], [[1, 1, 1], [0, 1, -1]], [1, 0], equality=True)
    found = exact_optimum(lp, np.array([0, 4]), [EXACT.list([EXACT.zero, EXACT.zero, EXACT.number(-1)])])
    assert found.z.tolist() == [0, fmpq(1, 2), fmpq(1, 2)]


def test_what_floats_cannot_see_is_found() -> None:
    """min z0 + 2 z1 s.t. z0 + z1 >= 1, z1 <= 2^-80 z0, z1 >= 2^-90."""
    lp = program([1, 2], [[-1, -1], [-F(1, 2**80), 1], [0, -1]], [-1, 0, -F(1, 2**90)])
    assert [F(int(v.p), int(v.q)) for v in optimum(lp).z] == [1 - F(1, 2**90), F(1, 2**90)]


def near_ties(N: int, b: int, e: int) -> Problem:
    """Losses 0, 1, 2 moved by multiples of 1e-15: to floats, a problem made of ties."""
    draw = np.random.default_rng(8).integers
    tables = [[[F(int(draw(3))) + F(int(draw(4)), 10**15) for _ in range(k)] for _ in range(N)] for k in (b, e)]
    return Problem([F(1, N)] * N, *tables)


def all_sizes(N: int) -> Problem:
    """Priors 2^-k and losses over eighteen decades, below the tolerances of a float solver."""
    weights = [F(1, 2 ** (2 * k)) for k in range(N)]
    loss = [[F(1 + (7 * x + 3 * i) % 11) * F(10) ** ((5 * x + 7 * i) % 19 - 9) for i in range(4)] for x in range(N)]
    secret = [[F(1 + (5 * x + 2 * j) % 13) * F(10) ** ((11 * x + 4 * j) % 19 - 9) for j in range(4)] for x in range(N)]
    return Problem([w / sum(weights) for w in weights], loss, secret)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [all_sizes(24), near_ties(12, 4, 3), near_ties(120, 4, 4)], ids=repr)
@pytest.mark.parametrize("formulation", ["compact", "paper"])
def test_a_wrong_float_basis_is_repaired_exactly(problem: Problem, formulation: str) -> None:
    found = solve(problem, "2/3", formulation=formulation)
    assert found.gap == 0
    assert found.value == solve(problem, "2/3").value
    assert verify(problem, found.certificate)


@given(programs())
@settings(max_examples=40)
def test_looks_in_floats_lead_from_any_basis_to_the_optimum(lp: LinearProgram) -> None:
    """From the slacks: the basis that is settled on has the exact optimum as its value, up to rounding."""
    rows, columns = lp.shape
    look = refine_in_floats(lp.rounded, np.arange(columns, columns + rows))
    assert look is not None
    best = optimum(lp)
    value = float(lp.cost.dot(best.z))
    assert (look.primal, look.dual) == (0.0, 0.0)
    assert abs(float(lp.rounded.cost @ look.z) - value) <= 1e-12 * (1 + abs(value))
    assert abs(float(lp.rounded.rhs @ look.y) - value) <= 1e-12 * (1 + abs(value))


def test_looks_in_floats_refuse_dependent_columns() -> None:
    lp = program([1, 1], [[1, 2], [2, 4]], [1, 2])
    assert refine_in_floats(lp.rounded, np.array([0, 1])) is None
    assert refine_in_floats(lp.rounded, np.array([0])) is None


def test_looks_leave_the_vertex_that_the_ties_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    prior = [F(k, 10**12 + 11) for k in (2, 1, 2, 3, 10**12, 2, 1)]
    bob = [[int(d) for d in row] for row in ("0110", "0011", "0110", "1001", "0010", "1010", "1100")]
    eve = [[int(d) for d in row] for row in ("101", "010", "011", "001", "000", "110", "101")]
    problem, found = Problem(prior, bob, eve), []
    for rows in (0, 10**9):  # from which programs are solved by looks
        monkeypatch.setattr("bap_lp.engines.linear.linear_optimum._MANY_ROWS", rows)
        found.append(solve(problem, "1/3", conditions={"margin": 0}).mechanism)
    assert found[0] == found[1]


def test_a_run_given_up_for_the_interior_point_has_the_same_optimum(monkeypatch: pytest.MonkeyPatch) -> None:
    draw, found = np.random.default_rng(0).integers, []
    problem = Problem([F(1, 30)] * 30, draw(0, 9, (30, 3)).tolist(), draw(0, 9, (30, 3)).tolist())
    inside = highs.solve_interior
    monkeypatch.setattr(highs, "solve_interior", lambda lp: found.append(lp) or inside(lp))
    plain = solve(problem, "1/3", conditions={"margin": "1/4"}).mechanism
    assert not found
    monkeypatch.setattr(highs, "_LONG", 0)
    monkeypatch.setattr(highs, "_PER_ROW", 1)
    assert solve(problem, "1/3", conditions={"margin": "1/4"}).mechanism == plain
    assert found
