"""Agents with beliefs and losses of their own, against an independent program, brute force and closed forms."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from random import Random
from typing import Any

import pytest
from definitions import least_risk
from hypothesis import given, settings
from strategies import any_problem, few_lams, few_states

from bap_lp import (
    Agent,
    Conditions,
    ConflictError,
    InputError,
    Problem,
    calibrate,
    chooses,
    compare,
    corner,
    evaluate,
    lambda_path,
    minimum_of,
    robust,
    sdc,
    sensitivity,
    solve,
    uniqueness,
    verify,
)
from bap_lp.releases import full, randomised_response


def prosecutor(guilty: Any = "3/10", **judge: Any) -> Problem:
    """Kamenica and Gentzkow (2011): the judge convicts if guilt is at least as likely as not."""
    eve = Agent([[0, 1], [1, 0]], ["acquit", "convict"], "judge", harm=[[0, 1], [0, 1]], **judge)
    return Problem([1 - F(guilty), F(guilty)], bobs=[Agent([[0], [0]])], eves=[eve], states=["innocent", "guilty"])


def test_the_prosecutor_s_signals_are_those_of_the_paper() -> None:
    best = solve(prosecutor(), 1)
    assert best.risks.eve == F(3, 5)
    assert best.mechanism.channel.tolist() == [[F(4, 7), F(3, 7)], [0, 1]]
    convicted = evaluate(best.problem, best.mechanism).signals[1]
    assert convicted.posterior == {"innocent": F(1, 2), "guilty": F(1, 2)}
    assert convicted.eve == ["convict", "acquit"]  # a tie, and the decision that is taken first


@pytest.mark.parametrize("margin", [F(0), F(1, 10), F(1, 3), F(1, 2)])
def test_a_margin_makes_the_judge_s_decision_robust(margin: F) -> None:
    """At a conviction (1 - g) + m <= g must hold for the posterior g, so g = (1 + m) / 2 where the margin binds.

    The acquitted are innocent for certain; so the convicted are 3/10 over g.
    """
    best = solve(prosecutor(), 1, conditions=Conditions(margin=margin))
    assert best.risks.eve == F(3, 10) / ((1 + margin) / 2)
    assert best.value == -best.risks.eve
    assert verify(best.problem, best.certificate)


def test_a_margin_that_nobody_can_be_given_is_refused() -> None:
    with pytest.raises(InputError, match=r"margin = 2 is not attainable: no mechanism makes every agent prefer"):
        solve(prosecutor(), 1, conditions=Conditions(margin=2))


@settings(max_examples=25)
@given(few_states(), few_lams)
def test_harm_and_prior_that_coincide_change_nothing_at_all(problem: Problem, lam: F) -> None:
    eves = [replace(e, harm=e.loss, prior=problem.p) for e in problem.eves]
    bobs = [replace(b, harm=b.loss, prior=problem.p) for b in problem.bobs]
    same = Problem(problem.p, bobs=bobs, eves=eves)
    one, other = solve(same, lam), solve(problem, lam)
    assert one.value == other.value
    assert one.mechanism == other.mechanism
    assert verify(problem, one.certificate)


def test_a_floor_per_signal_leaves_the_prosecutor_no_acquittal() -> None:
    """Every signal must convict with probability 1/10 at least, so it convicts: possible if guilt is likely anyway."""
    with pytest.raises(ConflictError, match=r"signal_floor = 1/10 cannot be met$"):
        solve(prosecutor(), 1, conditions=Conditions(signal_floor="1/10"))
    assert solve(prosecutor("3/5"), 1, conditions=Conditions(signal_floor="1/10")).value == -1


def own_beliefs(problem: Problem) -> bool:
    return any(a.harm is not None or a.prior is not None for a in (*problem.bobs, *problem.eves))


@pytest.mark.slow
@settings(max_examples=15)
@given(any_problem(3).filter(own_beliefs))
def test_questions_about_the_path_are_answered_for_own_beliefs(problem: Problem) -> None:
    path = lambda_path(problem)
    ideal = corner(problem, 1, path)
    assert ideal.risks.bob == min(p.risks.bob for p in path.pieces)
    assert ideal.risks.eve == max(p.risks.eve for p in path.pieces)
    middle = (path.pieces[0].risks.eve + path.pieces[-1].risks.eve) / 2
    level = sdc(problem, min_eve_risk=middle, path=path)
    assert evaluate(problem, level.mechanism).alice(level.lam) == level.risks.alice(level.lam)
    assert verify(problem, level.certificate)
    assert chooses(problem, path.pieces[0].mechanism, path).start == 0


def test_comparison_uses_the_agents_own_replies_and_never_beats_the_optimum() -> None:
    rng = Random(1)
    for _ in range(8):
        problem = random_problem(rng, 3, 2, 3)
        found = compare(problem, "1/2")
        assert found["optimum"].excess == 0 == min(row.excess for row in found.releases)
        best = found["randomised response"]
        tried = [evaluate(problem, randomised_response(problem, F(k, 60))).alice(F(1, 2)) for k in range(41)]
        assert best.alice <= min(tried)


def test_states_that_nobody_tells_apart_are_merged_and_the_proof_is_about_all_of_them() -> None:
    problem = random_problem(Random(21), 3, 2, 2)
    copies = 40
    fine = Problem(
        [F(str(v)) / copies for v in problem.p for _ in range(copies)],
        bobs=[_copied(a, copies) for a in problem.bobs],
        eves=[_copied(a, copies) for a in problem.eves],
    )
    best = solve(fine, 1)
    assert best.value == solve(problem, 1).value
    assert verify(fine, best.certificate)
    assert lambda_path(fine).verify()


def _copied(agent: Agent, copies: int) -> Agent:
    tables = {
        name: None if (part := getattr(agent, name)) is None else [row for row in part for _ in range(copies)]
        for name in ("loss", "harm")
    }
    return Agent(**tables, prior=[F(str(v)) / copies for v in agent.prior for _ in range(copies)])


def random_problem(rng: Random, N: int, b: int, e: int) -> Problem:
    def tab(columns: int) -> list[list[F]]:
        return [[F(rng.randrange(9), 4) for _ in range(columns)] for _ in range(N)]

    def prior() -> list[F]:
        weights = [rng.randrange(1, 9) for _ in range(N)]
        return [F(w, sum(weights)) for w in weights]

    bob = Agent(tab(b), prior=prior())
    return Problem(prior(), bobs=[bob], eves=[Agent(tab(e), harm=tab(e), prior=prior())])


def test_larger_problems_agree_with_the_independent_program() -> None:
    rng = Random(2)
    for size in ((20, 3, 3), (40, 2, 4), (12, 4, 4)):
        problem = random_problem(rng, *size)
        best = solve(problem, 1)
        assert float(best.value) == pytest.approx(least_risk(problem, 1, Conditions()), abs=1e-7)
        assert verify(problem, best.certificate)


def test_a_margin_has_a_shadow_price_and_conflicts_are_explained() -> None:
    """Convictions are (3/5) / (1 + m) likely, so R_A rises by (3/5) / (1 + m)^2 per unit of margin."""
    best = solve(prosecutor(), 1, conditions=Conditions(margin="1/10"))
    [cost] = best.costs()
    assert (cost.name, cost.cost, dict(cost.shadow_prices)) == ("margin", F(3, 55), {"margin": F(60, 121)})
    with pytest.raises(ConflictError) as refused:
        solve(prosecutor(), 1, conditions=Conditions(margin="3/4", min_eve_risk="1/2"))
    assert set(refused.value.conflict) == {"min_eve_risk", "margin"}
    assert refused.value.proof is not None
    assert refused.value.proof.verify(prosecutor())


def test_a_parameter_is_averaged_out_of_harm_as_well() -> None:
    model = Problem.from_model(
        ["1/2", "1/2"],
        [[1, 0], ["1/2", "1/2"]],
        bobs=[Agent([[0, 1], [1, 0]], harm=[[0, 2], [1, 0]], prior=["1/2", "1/2"])],
        eves=[Agent([[0, 1], [10, 0]])],
    )
    bob = model.bobs[0]
    assert [[str(v) for v in row] for row in bob.harm] == [["1/3", "4/3"], ["1", "0"]]
    assert [[str(v) for v in row] for row in bob.loss] == [["1/3", "2/3"], ["1", "0"]]
    assert verify(model, solve(model, "1/3").certificate)


def test_a_certificate_of_another_belief_proves_nothing() -> None:
    one, other = prosecutor("3/10"), prosecutor("3/10", prior=["3/4", "1/4"])
    assert not verify(other, solve(one, 1).certificate)
    assert not verify(one, solve(other, 1).certificate)


def test_why_full_and_null_never_tie_under_the_counted_harms() -> None:
    opposed = Problem(
        ["1/2", "1/2"], bobs=[Agent([[0, 1], [1, 0]])], eves=[Agent([[0, 1], [1, 0]], harm=[[1, 0], [0, 1]])]
    )
    with pytest.raises(InputError, match="the same release, full or null"):
        calibrate(opposed)
    with pytest.raises(InputError, match="the same R_E for full and null"):
        calibrate(constant())


def constant() -> Problem:
    return Problem(
        ["1/2", "1/2"], bobs=[Agent([[0, 1], [1, 0]])], eves=[Agent([[0, 1], [1, 0]], harm=[[1, 1], [1, 1]])]
    )


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        ({"harm": [[0, 1]]}, r"eves\[0\]\.harm has shape \(1, 2\), must have \(2, 2\) like the loss"),
        ({"harm": [[0, 1], [-1, 0]]}, r"eves\[0\]\.harm\[1\]\[0\] = -1 must not be negative"),
        ({"prior": ["1/2", "1/4", "1/4"]}, r"eves\[0\]\.prior has 3 entries, must have 2, one per state"),
        ({"prior": ["1/2", "1/4"]}, r"sum of eves\[0\]\.prior = 3/4 must be 1"),
    ],
)
def test_bad_beliefs_are_refused_in_one_line(agent: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Problem(["1/2", "1/2"], bobs=[Agent([[0], [0]])], eves=[Agent([[0, 1], [1, 0]], **agent)])


@pytest.mark.parametrize(
    "question",
    [
        lambda p: uniqueness(p, 1),
        lambda p: sensitivity(p, 1),
        lambda p: robust([p], 1),
        lambda p: evaluate(p, full(p), eve_prior=["1/2", "1/2"]),
        lambda p: minimum_of(p.eves),
    ],
)
def test_what_is_not_defined_for_own_beliefs_is_refused(question: Any) -> None:
    with pytest.raises(InputError, match="harm or"):
        question(prosecutor())
