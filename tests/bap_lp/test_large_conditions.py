"""Large programs under privacy: tiny probabilities are seen, floats have a certified gap, exact answers their proof."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import combinations

import numpy as np
import pytest
from flint import fmpq

from bap_lp import Conditions, Problem, solve, verify
from bap_lp.linear import highs
from bap_lp.linear.extended import ExtendedBasis, ExtendedProgram, Unsolved, to_floats
from bap_lp.linear.highs import solve_lp
from bap_lp.linear.looks import looked
from bap_lp.linear.optimum import optimum
from bap_lp.linear.program import LinearProgram, from_entries
from bap_lp.programs import branch_and_bound
from bap_lp.programs.constrained import ChannelLayout, ChannelProgram
from bap_lp.rational import EXACT, objects


def chain(n: int) -> tuple[Problem, Conditions]:
    losses = [[abs(x - i) for i in range(n)] for x in range(n)]
    neighbours = [(x, x + 1) for x in range(n - 1)]
    return Problem([F(1, n)] * n, losses, [[0]] * n), Conditions(exp_epsilon=2, neighbours=neighbours)


def geometric_risk(n: int) -> F:
    """The least Bayes risk of the truncated geometric mechanism with ratio 1/2, remapped, for a uniform prior.

    Ghosh, Roughgarden and Sundararajan (2012): no mechanism that is private between neighbours does better.
    """
    q = [[F(1, 3) * F(1, 2) ** abs(x - s) * (2 if s in (0, n - 1) else 1) for s in range(n)] for x in range(n)]
    return sum(min(sum(q[x][s] * abs(x - i) for x in range(n)) for i in range(n)) for s in range(n)) / n


@pytest.mark.slow
@pytest.mark.parametrize("n", [15, 36])
def test_a_long_chain_is_solved_exactly_and_in_floats(n: int) -> None:
    problem, conditions = chain(n)
    exact = solve(problem, 0, conditions=conditions)
    assert exact.value == geometric_risk(n)
    assert exact.gap == 0
    assert verify(problem, exact.certificate)
    rough = solve(problem, 0, False, conditions=conditions)
    assert 0 <= rough.gap < 1e-9
    assert rough.value == pytest.approx(float(exact.value), abs=1e-9)
    assert verify(problem.as_float(), rough.certificate)


@pytest.mark.slow
def test_rows_that_are_added_when_violated_lead_to_the_same_optimum() -> None:
    k = 4
    places = [(i, j) for i in range(k) for j in range(k)]
    apart = [[math.dist(a, b) for b in places] for a in places]
    problem = Problem([1 / k**2] * k**2, apart, [[0]] * k**2)
    conditions = Conditions(epsilon=0.7, metric=apart)
    program = ChannelProgram(ChannelLayout.of(problem, conditions), 0.0)
    lp = program.program()
    [demand] = program._local
    lazy = np.zeros(lp.shape[0], dtype=bool)
    lazy[demand.lazy(program._place["privacy"])] = True
    assert 0.3 < lazy.mean() < 1
    assert optimum(lp, lazy=lazy).z @ lp.cost == pytest.approx(optimum(lp).z @ lp.cost, abs=1e-9)
    found = solve(problem, 0, conditions=conditions)
    assert found.gap < 1e-9
    assert verify(problem, found.certificate)


@pytest.mark.slow
def test_many_states_alike_in_pairs_have_the_published_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ghazi et al. (arXiv 2212.06074): randomised response on the best set of outputs; found from inside."""
    random, N, b, K = np.random.default_rng(3), 340, 6, 2
    losses, weights = random.integers(0, 60, (N, b)), random.integers(1, 50, N)
    p = weights / weights.sum()
    sets = [list(few) for k in range(1, b + 1) for few in combinations(range(b), k)]
    least = min(
        p @ (losses[:, few].sum(axis=1) + (K - 1) * losses[:, few].min(axis=1)) / (K + len(few) - 1) for few in sets
    )
    called: list[int] = []

    def counted(lp: LinearProgram) -> highs.FloatVertex:
        called.append(lp.shape[0])
        return inside(lp)

    inside = highs.solve_interior
    monkeypatch.setattr(highs, "solve_interior", counted)
    problem, conditions = Problem(p, losses.tolist(), [[0]] * N), Conditions(exp_epsilon=K)
    found = solve(problem, 0, conditions=conditions)
    assert called
    assert found.value == pytest.approx(least, abs=1e-9)
    assert 0 <= found.gap < 1e-8
    assert verify(problem, found.certificate)


def tiny() -> LinearProgram:
    """min z0 + z1 s.t. z0 + z1 >= 1, z1 <= 2^-80 z0, z1 >= 2^-90: the float solver cannot see the last rows."""
    rows, columns = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 1])
    values = [fmpq(-1), fmpq(-1), fmpq(-1, 2**80), fmpq(1), fmpq(-1)]
    rhs = objects([fmpq(-1), fmpq(0), fmpq(-1, 2**90)])
    nothing = np.zeros(3, dtype=bool)
    return from_entries(objects([fmpq(1), fmpq(2)]), rows, columns, objects(values), rhs, nothing, nothing[:2])


def test_a_look_sees_what_the_float_solver_cannot() -> None:
    lp = tiny()
    look = looked(lp, solve_lp(lp.rounded).basic)
    assert look is not None
    assert look.optimal
    z, _ = look.point()
    assert z.tolist() == [1 - 2.0**-90, 2.0**-90]
    exact = optimum(lp)
    assert [F(int(v.p), int(v.q)) for v in exact.z] == [1 - F(1, 2**90), F(1, 2**90)]


def test_extended_solves_are_right_far_behind_the_point() -> None:
    random = np.random.default_rng(5)
    n = 12
    table = random.integers(-9, 10, (n, n)) + 40 * np.eye(n, dtype=int)
    rows, columns = np.indices((n, n)).reshape(2, -1)
    value = objects(fmpq(int(v)) for v in table.ravel())
    right = objects(fmpq(int(v), 7) for v in random.integers(1, 99, n))
    none = np.zeros(n, dtype=bool)
    lp = from_entries(EXACT.full(n, 1), rows, columns, value, right, ~none, none)
    x, bits = ExtendedBasis(ExtendedProgram(lp), np.arange(n)).values()
    found = [F(int(v), 2**bits) for v in x]
    for r in range(n):
        residual = sum(int(table[r, c]) * found[c] for c in range(n)) - F(int(right[r].p), int(right[r].q))
        assert abs(residual) < F(1, 2**150)
    assert to_floats(x, bits) == pytest.approx(np.linalg.solve(table, right.astype(float)), rel=1e-12)
    table[1] = table[0]
    lp = from_entries(EXACT.full(n, 1), rows, columns, objects(fmpq(int(v)) for v in table.ravel()), right, ~none, none)
    with pytest.raises(Unsolved):
        ExtendedBasis(ExtendedProgram(lp), np.arange(n)).values()


@pytest.mark.parametrize("distance", [59, 60, 61, 200])
def test_huge_ratios_of_a_metric_are_no_obstacle(distance: int) -> None:
    n = 4
    problem = Problem([F(1, n)] * n, [[abs(x - i) for i in range(n)] for x in range(n)], [[0]] * n)
    conditions = Conditions(exp_epsilon=2, metric=[[distance * abs(x - y) for y in range(n)] for x in range(n)])
    found = solve(problem, 0, conditions=conditions)
    K = F(2) ** distance
    assert 0 < found.value < 4 / K
    assert verify(problem, found.certificate)
    rough = solve(problem, 0, False, conditions=conditions)
    assert rough.gap < 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_a_search_that_was_stopped_publishes_signals_that_bob_obeys(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch_and_bound, "_NODES", 8)
    weights = np.random.default_rng(seed).integers(1, 9, 12).tolist()
    losses = [[abs(x % 6 - i) for i in range(6)] for x in range(12)]
    problem = Problem(
        [F(w, sum(weights)) for w in weights], losses, [[int(x // 6 != j) for j in (0, 1)] for x in range(12)]
    )
    best = solve(problem, "1/2", conditions=Conditions(max_signals=2))
    assert best.gap > 0
    assert "it is attained under the conditions" in verify(problem, best.certificate).reason
