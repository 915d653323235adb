"""The one pipeline on linear programs that mean nothing: optimality, scaling, ties, and what it refuses."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp.linear.exact import reduced_cost
from bap_lp.linear.optimum import Infeasible, LongWalk, optimum, scaled
from bap_lp.linear.program import LinearProgram, ProgramBuilder
from bap_lp.rational import EXACT, FLOAT, lifted

entries = st.integers(-4, 4)
scales = st.sampled_from([F(1), F(10) ** 9, F(1, 10**9)])


@st.composite
def programs(draw: st.DrawFn, wide: bool = False) -> LinearProgram:
    """min c.z, A z <= b, sum z <= 1, z >= 0 with b >= 0: feasible and bounded, often degenerate."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    unit = draw(scales) if wide else F(1)
    make = ProgramBuilder(EXACT)
    cost = [fmpq(draw(entries)) * fmpq(unit.numerator, unit.denominator) for _ in range(columns)]
    z = make.columns(columns, EXACT.list(cost))
    for _ in range(rows):
        size = draw(scales) if wide else F(1)
        row = EXACT.list([fmpq(draw(entries)) * fmpq(size.numerator, size.denominator) for _ in range(columns)])
        make.rows(1, [(0, z, row)], fmpq(draw(st.integers(0, 3))))
    make.rows(1, [(0, z, EXACT.one)], EXACT.one)
    return make.build()


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


@settings(max_examples=80, deadline=None)
@given(programs(wide=True))
def test_primal_and_dual_value_agree_exactly(lp: LinearProgram) -> None:
    best = optimum(lp)
    assert lp.cost.dot(best.z) == lp.rhs.dot(best.y)
    assert all(v >= 0 for v in best.z)
    assert all(v <= 0 for v in best.y)
    assert all(reduced_cost(lp, best.y, j) >= 0 for j in range(lp.shape[1]))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(programs(), st.data())
def test_ties_choose_the_vertex_that_enumeration_chooses(lp: LinearProgram, data: st.DataObject) -> None:
    n = lp.shape[1]
    second = EXACT.list([fmpq(data.draw(entries)) for _ in range(n)])
    third = EXACT.list([fmpq(2**k + 3 * k * k) for k in range(n)])
    ties = [second, third]
    best = optimum(lp, ties=ties)
    score = min(tuple(c.dot(np.array(v, dtype=object)) for c in (lp.cost, *ties)) for v in vertices(lp))
    assert tuple(c.dot(best.z) for c in (lp.cost, *ties)) == score


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(programs(wide=True))
def test_scaling_is_by_powers_of_two(lp: LinearProgram) -> None:
    small, columns, rows = scaled(lp.rounded)
    entries_moved = small.value / lp.rounded.value
    assert all(np.frexp(f)[0] == 0.5 for f in (*columns, *rows, *entries_moved))
    assert np.abs(small.cost).max(initial=0.0) < 2


def simple(field: Any, rhs: Any = 1) -> LinearProgram:
    make = ProgramBuilder(field)
    z = make.columns(2, field.list([field.number(-1), field.number(-2)]))
    make.rows(1, [(0, z, field.one)], field.number(rhs))
    return make.build()


def test_a_program_without_feasible_points_is_refused() -> None:
    with pytest.raises(Infeasible):
        optimum(simple(EXACT, -1))


def test_float_solutions_that_are_not_accepted_are_finished_exactly() -> None:
    refused = optimum(simple(FLOAT), accept=lambda z, y: False)
    assert "exact arithmetic" in refused.how
    accepted = optimum(simple(FLOAT), accept=lambda z, y: True)
    assert accepted.how == "HiGHS simplex"
    assert refused.z.tolist() == accepted.z.tolist() == [0.0, 1.0]


def test_a_limit_on_exact_steps_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # a float solver that answers with the slack basis leaves all the work to exact pivots
    from bap_lp.linear import optimum as room
    from bap_lp.linear.highs import SolverError

    def lost(*_: object) -> None:
        raise SolverError("lost")

    monkeypatch.setattr(room, "solve_lp", lost)
    with pytest.raises(LongWalk):
        optimum(simple(EXACT), limit=0)
    assert optimum(simple(EXACT)).repairs == 1


@settings(max_examples=40, deadline=None)
@given(programs())
def test_floats_and_rationals_find_the_same_value(lp: LinearProgram) -> None:
    exact, rough = optimum(lp), optimum(lp.rounded)
    assert float(lp.cost.dot(exact.z)) == pytest.approx(float(lp.rounded.cost @ rough.z), abs=1e-9)
    assert (lifted(lp.rounded.value) == lp.value).all()
