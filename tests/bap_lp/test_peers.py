"""The optimum against solvers we did not write: qif and sympy in rational arithmetic, scipy on another program."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from strategies import lams, problems

from bap_lp import Problem, solve

ORDINARY = ("ordinary", "zero_one", "small")


def live(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """p, B, E on the states that can occur, as Fractions."""
    keep = [x for x, mass in enumerate(problem.prior) if mass > 0]
    return problem.prior[keep], problem.bob_loss[keep], problem.eve_loss[keep]


@pytest.mark.slow
@settings(max_examples=25)
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


@pytest.mark.slow
def test_sympy_agrees_on_the_coin_toss() -> None:
    """rho and Eve's risk t at each signal, with t_i <= sum_x E(x,j) rho(x,i), by sympy's simplex method."""
    from sympy.solvers.simplex import lpmin

    p, bob, eve, lam = ["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]], "1/4"
    rho = [sympy.symbols(f"r{x}_:2", real=True) for x in range(2)]
    t, whole, pair = sympy.symbols("t:2", real=True), sympy.Rational, [0, 1]
    rows = [sympy.Eq(sum(rho[x]), whole(p[x])) for x in pair] + [rho[x][i] >= 0 for x in pair for i in pair]
    rows += [t[i] <= sum(eve[x][j] * rho[x][i] for x in pair) for i in pair for j in pair]
    value, _ = lpmin(sum(whole(bob[x][i]) * rho[x][i] for x in pair for i in pair) - whole(lam) * sum(t), rows)
    found = solve(Problem(p, bob, eve), lam).value
    assert value == sympy.Rational(str(found)) == sympy.Rational(13, 40) - sympy.Rational(3, 16)
