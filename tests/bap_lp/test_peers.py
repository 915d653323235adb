"""The optimum against solvers we did not write: qif in rational arithmetic, sympy, and scipy on the paper's program."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from scipy.optimize import linprog
from strategies import lams, problems

from bap_lp import Problem, solve
from bap_lp.programs.compact import compact_program
from bap_lp.programs.paper import paper_program

ORDINARY = ("ordinary", "zero_one", "small")


def live(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p, B, E on the states that can occur, as Fractions."""
    keep = [x for x, mass in enumerate(problem.prior) if mass > 0]
    return problem.prior[keep], problem.bob_loss[keep], problem.eve_loss[keep]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(problems(states=6, decisions=3, tempers=ORDINARY, eves=1), lams.filter(bool))
def test_qif_agrees_exactly(problem: Problem, lam: F) -> None:
    # an optimum of R_B - lam R_E minimises R_B among the mechanisms with at least its R_E
    import qif

    qif.set_default_type(qif.rat)
    solution = solve(problem, lam)
    p, B, E = live(problem)
    prior = np.array([qif.rat(v.numerator, v.denominator) for v in p])
    floor = qif.rat(solution.risks.eve.numerator, solution.risks.eve.denominator)
    b, e = B.shape[1], E.shape[1]
    C = qif.mechanism.l_risk.min_loss_given_min_risk(prior, b, e, floor, lambda j, x: E[x, j], lambda x, i: B[x, i])
    assert sum(p[x] * F(C[x, i]) * B[x, i] for x in range(len(p)) for i in range(b)) == solution.risks.bob


@settings(max_examples=40, deadline=None)
@given(problems(states=8, decisions=3, tempers=ORDINARY, eves=1), lams)
def test_scipy_agrees_on_the_paper_program(problem: Problem, lam: F) -> None:
    possible = np.array([mass > 0 for mass in problem.p])
    lp = paper_program(problem.arrays.states(possible).rounded, float(lam))
    A = np.zeros(lp.shape)
    A[lp.index, lp.column_of] = lp.value
    rows = lp.equality
    found = linprog(lp.cost, A[~rows], lp.rhs[~rows], A[rows], lp.rhs[rows])
    assert found.status == 0
    assert found.fun == pytest.approx(float(solve(problem, lam).value), abs=1e-7 * (1 + float(lam)) * 1000)


@pytest.mark.slow
def test_sympy_agrees_on_the_coin_toss() -> None:
    from sympy.solvers.simplex import lpmin

    coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    lp = compact_program(coin.arrays, coin.p[1])  # at lam = 1/4
    z = sympy.symbols(f"z:{lp.shape[1]}", real=True)
    sides = [sympy.S.Zero] * lp.shape[0]
    for column, row, value in zip(lp.column_of, lp.index, lp.value, strict=True):
        sides[row] += sympy.Rational(str(value)) * z[column]
    rows = [
        sympy.Eq(side, sympy.Rational(str(rhs))) if equal else side <= sympy.Rational(str(rhs))
        for side, rhs, equal in zip(sides, lp.rhs, lp.equality, strict=True)
    ]
    rows += [z[j] >= 0 for j in np.flatnonzero(~lp.free)]
    value, _ = lpmin(sum(sympy.Rational(str(c)) * v for c, v in zip(lp.cost, z, strict=True)), rows)
    assert value == sympy.Rational(str(solve(coin, "1/4").value)) == sympy.Rational(13, 40) - sympy.Rational(3, 16)
