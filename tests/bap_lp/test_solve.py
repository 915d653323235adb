"""The optimum: exact, the same by every formulation and every solver, below every other mechanism, and proved."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import lams, problems

from bap_lp import Agent, InputError, Problem, evaluate, solve, verify

quick = settings(max_examples=80)


@pytest.mark.slow
@settings(max_examples=50)
@given(problems(states=5, decisions=3), lams)
def test_paper_program_has_the_same_value(problem: Problem, lam: F) -> None:
    compact, paper = solve(problem, lam), solve(problem, lam, formulation="paper")
    assert compact.value == paper.value
    assert len(compact.mechanism.signals) <= problem.shape[1]
    assert verify(problem, paper.certificate)
    assert evaluate(problem, paper.mechanism).alice(lam) == paper.value


@pytest.mark.slow
@quick
@given(problems(), lams, st.sampled_from([F(0), F(0), F(1, 1000), F(10**9)]))
def test_float_solution_carries_a_certified_gap(problem: Problem, lam: F, offset: F) -> None:
    problem = Problem(problem.prior, problem.bob_loss + offset, eves=problem.eves)
    exact, rounded = solve(problem, lam), solve(problem, lam, exact=False)
    size = float(max(problem.bob_loss.max(), lam * problem.eve_loss.max()))
    assert abs(rounded.gap) <= 1e-9 * size
    # rounding the data itself moves the value by a few ulp of the losses
    assert abs(float(rounded.value - exact.value)) <= abs(rounded.gap) + 1e-13 * size
    assert rounded.bound <= exact.value + 1e-13 * size
    verdict = verify(problem, rounded.certificate)
    assert verdict, verdict.reason


@pytest.mark.slow
@quick
@given(problems(states=6), lams, st.data())
def test_merging_changes_nothing(problem: Problem, lam: F, data: st.DataObject) -> None:
    copies = data.draw(st.lists(st.integers(1, 3), min_size=len(problem.states), max_size=len(problem.states)))
    index = np.repeat(np.arange(len(copies)), copies)
    eves = [Agent(e.loss[index], e.decisions, e.name, e.weight) for e in problem.eves]
    large = Problem((problem.p / np.array([fmpq(c) for c in copies]))[index], problem.B[index], eves=eves)
    assert len(large.arrays.merged()[0].p) <= len(problem.states)
    solution = solve(large, lam)
    assert evaluate(large, solution.mechanism).alice(lam) == solution.value == solve(problem, lam).value


def test_certificate_of_another_problem_is_refused() -> None:
    coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    other = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [9, 0]])
    larger = Problem(["1/2", "1/4", "1/4"], [[0, 1]] * 3, [[0, 1]] * 3)
    certificate = solve(coin).certificate
    assert verify(coin, certificate)
    assert not verify(other, certificate)
    assert not verify(larger, certificate)


def test_states_of_probability_zero_get_the_null_row() -> None:
    problem = Problem(["3/4", 0, "1/4"], [["1/3", "2/3"], [0, 0], [1, 0]], [[0, 1], [5, 5], [10, 0]])
    solution = solve(problem, "1/3")
    assert solution.value == F(3, 40)
    assert problem.null_states == ("1",)
    assert list(solution.mechanism.channel[1]) == [F(33, 40), F(7, 40)]
    assert verify(problem, solution.certificate)


@pytest.mark.parametrize(
    ("lam", "exact", "formulation", "message"),
    [
        (-1, None, "compact", "lam = -1 must not be negative"),
        ("much", None, "compact", "lam = 'much' is not a number"),
        (0.5, True, "compact", "lam = 0.5 is a float"),
        (float("nan"), None, "compact", "lam = nan must be finite"),
        (1, None, "dual", "formulation = 'dual' must be"),
        (True, None, "compact", "lam = True must be a number"),
    ],
)
def test_a_bad_argument_is_refused_with_its_rule(
    lam: object, exact: bool | None, formulation: str, message: str
) -> None:
    problem = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])
    with pytest.raises(InputError) as error:
        solve(problem, lam, exact, formulation)
    assert message in str(error.value)


def test_exact_needs_exact_numbers_and_says_how_to_get_them() -> None:
    problem = Problem([0.1, 0.9], [[0, 1], [1, 0]], [[0, 1], [1, 0]])
    assert not solve(problem, 1).exact
    with pytest.raises(InputError, match="rationalised"):
        solve(problem, 1, exact=True)
    written = Problem(["1/10", "9/10"], [[0, 1], [1, 0]], [[0, 1], [1, 0]])
    assert solve(problem.rationalised(), 1).value == solve(written, 1).value


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
    cap, floor = (qif.rat(v.numerator, v.denominator) for v in (solution.risks.bob, solution.risks.eve))
    b, e, states = B.shape[1], E.shape[1], range(len(p))
    losses = lambda j, x: E[x, j], lambda x, i: B[x, i]
    C = qif.mechanism.l_risk.min_loss_given_min_risk(prior, b, e, floor, *losses)
    assert sum(p[x] * F(C[x, i]) * B[x, i] for x in states for i in range(b)) == solution.risks.bob
    C = qif.mechanism.l_risk.max_risk_given_max_loss(prior, b, e, cap, *losses)
    left = [[sum(p[x] * F(C[x, i]) * E[x, j] for x in states) for j in range(e)] for i in range(b)]
    assert sum(map(min, left)) == solution.risks.eve


@pytest.mark.slow
def test_many_states_that_tie_on_whole_losses_have_an_exact_optimum() -> None:
    rng = np.random.default_rng(1)
    weights, eve = rng.integers(1, 9, 200), rng.integers(0, 9, (200, 20))
    prior = [F(int(w), int(weights.sum())) for w in weights]
    problem = Problem(prior, np.ones((200, 60), dtype=int).tolist(), eve.tolist())
    found = solve(problem, "1/2")
    null = min(sum((p * int(v) for p, v in zip(prior, column, strict=True)), F()) for column in eve.T)
    assert found.value == 1 - null / 2
    assert verify(problem, found.certificate).optimal
