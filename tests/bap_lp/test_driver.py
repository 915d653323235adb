"""The one driver: usual releases are vertices, a substituted program is the same one, floats agree with rationals."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import few_lams, few_states, parts_of, problems

from bap_lp import Conditions, Problem
from bap_lp.engines.driver import optimise
from bap_lp.engines.exactly import exact_pair
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.exact_simplex import exact_optimum
from bap_lp.engines.linear.factor import Factor
from bap_lp.engines.linear.highs import solve_lp
from bap_lp.engines.rounded import RoundedProgram
from bap_lp.engines.start import best_release, release_basis
from bap_lp.engines.ties import joint_ties
from bap_lp.program.bound import Program, compact
from bap_lp.questions.optimum.asked import AskedProblem
from bap_lp.support.rational import EXACT, number


def private_program(problem: Problem, ratio: F, lam: F) -> Program:
    layout = AskedProblem.of(problem, Conditions(exp_epsilon=ratio), True).layout
    return layout.program(number(lam, "lam"))


@given(problems(states=6), few_lams, st.booleans())
@settings(max_examples=60)
def test_a_usual_release_is_the_vertex_of_its_basis(problem: Problem, lam: F, private: bool) -> None:
    arrays, price = problem.arrays.merged()[0], number(lam, "lam")
    program = private_program(problem, F(2), lam) if private else compact(arrays, price)
    form, sent = LinearForm.of(program), best_release(program)
    assert sent is not None
    basic = release_basis(program, form, sent)
    assert len(basic) == form.lp.shape[0]
    z = EXACT.zeros(sum(form.lp.shape))
    z[basic] = Factor(form.lp, basic).solve(form.lp.rhs)
    rho = z[form.rho]
    assert (rho[np.arange(len(sent)), sent] == program.mass).all()
    assert np.count_nonzero(rho) == len(sent)


@given(few_states(), parts_of(1, 4), few_lams)
@settings(max_examples=60)
def test_privacy_with_half_the_rows_has_the_same_optimum_and_its_basis(problem: Problem, ratio: F, lam: F) -> None:
    program = private_program(problem, ratio, lam)
    small = RoundedProgram(program, (), None)
    assert small.substitution is not None
    lp, columns, rows = small.scaled
    found, plain = small.vertex(), solve_lp(lp)
    assert float(lp.cost @ found.z) == pytest.approx(float(lp.cost @ plain.z), abs=1e-9)
    assert float(lp.rhs @ found.y) == pytest.approx(float(lp.rhs @ plain.y), abs=1e-9)
    assert len(found.basic) == lp.shape[0]
    form = LinearForm.of(program)
    exact = exact_optimum(form.lp, found.basic)
    assert form.lp.cost.dot(exact.z) == exact_pair(program).value
    dual = small.form.dual(found.y * rows)
    assert all((u >= -1e-9).all() for u in (*dual.replies.values(), *dual.weights.values()))
    assert ((found.z * columns)[small.form.rho] >= -1e-9).all()


@given(problems(states=6, tempers=("ordinary", "zero_one", "small")), few_lams)
@settings(max_examples=60)
def test_a_program_of_floats_has_the_value_of_its_fractions(problem: Problem, lam: F) -> None:
    arrays = problem.as_float().arrays.merged()[0]
    rough = optimise(compact(arrays, float(lam)), joint_ties(arrays.B.shape), exact=False, near=1e-9)
    exact = optimise(compact(arrays.lifted(), EXACT.number(float(lam))), joint_ties(arrays.B.shape))
    assert exact.gap == 0
    assert rough.bound <= float(exact.value) + 1e-12
    assert rough.value == pytest.approx(float(exact.value), abs=1e-8 * (1 + abs(float(exact.value))))
