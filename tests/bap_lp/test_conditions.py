"""Each condition's optimum is feasible, no better than without it, no worse than any feasible release, and proved."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import jsonschema
import numpy as np
import pytest
from definitions import holds
from flint import fmpq
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import conditioned, few_lams, few_states, parts_of, private, table

from bap_lp import limits
from bap_lp.conditions.conditions import Conditions
from bap_lp.conditions.lagrangian import Prices
from bap_lp.files.certificates import load_certificate, save_certificate
from bap_lp.files.problems import SCHEMA, conditions_document, conditions_from, problem_from_dict
from bap_lp.linear.exact import optimise
from bap_lp.linear.program import from_entries
from bap_lp.model.evaluation import evaluate, risks
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.programs.solving import solve
from bap_lp.proof.certificate import verify
from bap_lp.rational import InputError, objects
from bap_lp.releases import (
    RELEASES,
    bob_decision,
    full,
    null,
    randomised_response,
    randomised_response_epsilon,
    truncated_geometric,
)

F = Fraction
quick = settings(max_examples=50, deadline=None)
ZERO_ONE = [[0, 1], [1, 0]]


def shifted(prices: Prices, by: int) -> Prices:
    """The price of a limit on a risk, higher by a number."""
    return Prices(np.zeros((1, 0), dtype=np.int64), objects([fmpq(by) + prices.total]))


def library(problem: Problem) -> list[Mechanism]:
    made = [randomised_response(problem, F(k, 6)) for k in range(7)]
    made += [randomised_response_epsilon(problem, F(k, 2)) for k in range(2, 9)]
    made += [truncated_geometric(problem, F(k, 5)) for k in range(1, 5)]
    for release in RELEASES.values():
        try:
            made.append(release(problem))
        except InputError:
            continue
    return made


def meets(problem: Problem, mechanism: Mechanism, conditions: Conditions) -> bool:
    q = mechanism.channel
    told = (problem.prior[:, None] * q).T.dot(problem.bob_loss).argmin(axis=1)
    ok = holds(problem, replace(conditions, margin=None), q, told)
    return ok and (conditions.margin is None or has_margin(problem, mechanism, conditions.margin))


def has_margin(problem: Problem, mechanism: Mechanism, margin: Fraction) -> bool:
    rho = problem.prior[:, None] * mechanism.channel
    for s in range(rho.shape[1]):
        for loss in (problem.bob_loss, *(problem.eve_loss[:, g] for g in problem.eve_groups)):
            losses = sorted(rho[:, s].dot(loss))
            if rho[:, s].sum() > 0 and len(losses) > 1 and losses[1] - losses[0] < margin * rho[:, s].sum():
                return False
    return True


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(conditioned())
def test_the_optimum_meets_its_conditions_and_no_feasible_release_is_better(
    case: tuple[Problem, Fraction, Conditions],
) -> None:
    problem, lam, conditions = case
    rivals = [m for m in library(problem) if meets(problem, m, conditions)]
    try:
        solution = solve(problem, lam, conditions=conditions)
    except InputError:
        assert not rivals
        return
    assert solution.exact
    assert meets(problem, solution.mechanism, conditions)
    assert solution.value == risks(problem, solution.mechanism).alice(lam)
    assert solution.value >= solve(problem, lam).value
    assert all(solution.value <= risks(problem, m).alice(lam) for m in rivals)
    assert solution.bound <= solution.value
    assert solution.gap == 0
    assert verify(problem, solution.certificate)


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(conditioned())
def test_floats_agree_with_rationals(case: tuple[Problem, Fraction, Conditions]) -> None:
    problem, lam, conditions = case
    try:
        exact = solve(problem, lam, conditions=conditions)
    except InputError:
        assume(False)
    rough = solve(problem, lam, False, conditions=conditions)
    assert not rough.exact
    assert math.isclose(rough.value, exact.value, abs_tol=1e-8)
    assert rough.bound <= rough.value + 1e-12
    if not conditions.combinatorial and not conditions.empty:
        assert verify(problem, rough.certificate)


@settings(max_examples=15, deadline=None)
@given(few_states(), few_lams, st.data())
def test_tampering_is_noticed(problem: Problem, lam: Fraction, data: st.DataObject) -> None:
    low, high = risks(problem, full(problem)), risks(problem, null(problem))
    wanted = data.draw(private(len(problem.p))) | {"min_eve_risk": (low.eve + high.eve) / 2}
    solution = solve(problem, lam, conditions=Conditions(**wanted))
    proof = solution.certificate.proof
    assert proof is not None
    certificate = solution.certificate
    assert verify(problem, certificate)
    assert not verify(problem, replace(certificate, value=certificate.value - F(1, 100)))
    assert not verify(problem, replace(certificate, u=certificate.u + 1))
    stricter = replace(proof.conditions, min_eve_risk=high.eve + 1)
    assert not verify(problem, replace(certificate, proof=replace(proof, conditions=stricter)))
    dearer = {**proof.prices, "min_eve_risk": shifted(proof.prices["min_eve_risk"], 1)}
    assert not verify(problem, replace(certificate, proof=replace(proof, prices=dearer)))
    assert not verify(problem, replace(certificate, proof=replace(proof, channel=0 * proof.channel)))
    without = Conditions(min_eve_risk=wanted["min_eve_risk"])
    if solve(problem, lam, conditions=without).value < solution.value:  # then privacy has a price, and needs its proof
        own = proof.prices["privacy"]
        for wrong in (Prices(own.places[:0], own.weights[:0]), Prices(own.places, -own.weights)):
            changed = replace(proof, prices={**proof.prices, "privacy": wrong})
            assert not verify(problem, replace(certificate, proof=changed))
    if solution.value > solve(problem, lam).value:  # the proof of the unconditioned optimum is no proof of this one
        assert not verify(problem, replace(certificate, proof=None))


@pytest.mark.parametrize("ratio", [F(1), F(3, 2), F(3), F(10)])
def test_randomised_response_is_optimal_for_two_states(ratio: Fraction) -> None:
    problem = Problem(["1/2", "1/2"], ZERO_ONE, ZERO_ONE)
    solution = solve(problem, 0, conditions=Conditions(exp_epsilon=ratio))
    expected = randomised_response_epsilon(problem, ratio)
    if ratio > 1:
        assert (solution.mechanism.channel == expected.channel).all()
    assert solution.risks.eve == solution.risks.bob == 1 / (1 + ratio)  # the paper's bound, attained
    assert verify(problem, solution.certificate)


COUNTS = [
    ([1, 1, 1, 1], lambda x, i: abs(x - i)),
    ([4, 3, 2, 1], lambda x, i: (x - i) ** 2),
    ([1, 5, 5, 1], lambda x, i: int(x != i)),
    ([7, 1, 1, 0], lambda x, i: abs(x - i)),
]


@pytest.mark.parametrize(("weights", "loss"), COUNTS)
@pytest.mark.parametrize("ratio", [F(2), F(5, 3)])
def test_counts_post_process_the_geometric_mechanism(weights: list[int], loss: Any, ratio: Fraction) -> None:
    N = len(weights)
    prior = [F(w, sum(weights)) for w in weights]
    table = [[F(loss(x, i)) for i in range(N)] for x in range(N)]
    problem = Problem(prior, table, [[0]] * N)
    geometric = truncated_geometric(problem, 1 / ratio)
    adjacent = Conditions(exp_epsilon=ratio, neighbours=[(x, x + 1) for x in range(N - 1)])
    solution = solve(problem, 0, conditions=adjacent)
    # the best remap of its signals is Bob's best decision at each of them
    assert solution.value == risks(problem, geometric).bob
    assert verify(problem, solution.certificate)
    as_metric = Conditions(exp_epsilon=ratio, metric=[[abs(x - y) for y in range(N)] for x in range(N)])
    assert solve(problem, 0, conditions=as_metric).value == solution.value


def test_null_states_are_bound_by_privacy() -> None:
    """0 and 2 are neighbours of 1 only, which has no probability.

    With q(1|1) = 1/2: q(0|0) <= 2 q(0|1) and 1 - q(0|1) <= 2 (1 - q(0|0)) give q(0|0) <= 3/4, and as much for state 2.
    """
    problem = Problem(["1/2", 0, "1/2"], [[0, 1], [0, 0], [1, 0]], [[0]] * 3)
    solution = solve(problem, 0, conditions=Conditions(exp_epsilon=2, neighbours=[("0", "1"), ("1", "2")]))
    assert solution.value == F(1, 4)
    q = solution.mechanism.channel
    assert (q[:2] <= 2 * q[1:]).all()
    assert (q[1:] <= 2 * q[:2]).all()
    assert verify(problem, solution.certificate)
    assert solve(problem, 0, conditions=Conditions(exp_epsilon=2)).value == F(1, 3)


def test_epsilon_is_a_float_condition_unless_it_is_zero() -> None:
    problem = Problem(["1/2", "1/2"], ZERO_ONE, ZERO_ONE)
    solution = solve(problem, 0, conditions=Conditions(epsilon=1.0))
    assert not solution.exact
    assert math.isclose(solution.value, 1 / (1 + math.e), rel_tol=1e-12)
    assert verify(problem, solution.certificate)
    with pytest.raises(InputError, match="exp_epsilon, not epsilon"):
        solve(problem, 0, True, conditions=Conditions(epsilon=1))
    assert solve(problem, 0, conditions=Conditions(epsilon=0)).value == F(1, 2)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"min_eve_risk": "4/5"}, "min_eve_risk = 4/5 is not attainable: R_E lies between 0 .* and 3/4"),
        ({"max_bob_risk": "1/5"}, "max_bob_risk = 1/5 is not attainable: R_B lies between 1/4 .* and 1/2"),
        ({"max_bob_risk": "1/4", "exp_epsilon": 2}, "max_bob_risk = 1/4 cannot be met: .* at least 5/12"),
        ({"max_bob_risk": "1/4", "min_eve_risk": "1/2"}, "max_bob_risk = 1/4 cannot be met: .* at least 3/10"),
        ({"margin": 5}, "margin = 5 is not attainable: full release leaves a margin of 1/3, null release 0"),
        ({"deterministic": True, "max_bob_risk": "3/10", "min_eve_risk": "1/4"}, "deterministic = True cannot be met"),
        ({"exp_epsilon": "1/2"}, "exp_epsilon = 1/2 must be at least 1"),
        ({"epsilon": 1, "exp_epsilon": 2}, "epsilon = 1 must not be given together"),
        ({"neighbours": [(0, 1)]}, "neighbours needs epsilon"),
        ({"exp_epsilon": 2, "neighbours": [("tails", "edge")]}, r"neighbours\[0\] = 'edge' is not a state"),
        ({"exp_epsilon": 2, "neighbours": [(0, 2)]}, r"neighbours\[0\] = 2 must be a label or a position"),
        ({"exp_epsilon": 2, "neighbours": [0]}, r"neighbours\[0\] = 0 must be a pair"),
        ({"exp_epsilon": 2, "metric": [[0, 1]]}, "metric has 1 rows"),
        ({"exp_epsilon": 2, "metric": [[0, -1], [1, 0]]}, r"metric\[0\]\[1\] = -1 must not be negative"),
        ({"exp_epsilon": 2, "metric": [[0, 1000], [1000, 0]]}, r"metric\[0\]\[1\] = 1000 makes"),
        ({"max_signals": 0}, "max_signals = 0 must be a positive integer"),
        ({"min_eve_risk": -1}, "min_eve_risk = -1 must be at least 0"),
        ({"deterministic": 1}, "deterministic = 1 must be true or false"),
    ],
)
def test_conditions_that_cannot_hold_are_refused_with_field_value_and_rule(
    wanted: dict[str, Any], message: str
) -> None:
    prior, likelihood = ["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]]
    coin = Problem.from_model(prior, likelihood, ZERO_ONE, [[0, 1], [10, 0]], states=["tails", "heads"])
    with pytest.raises(InputError, match=message):
        solve(coin, 0, conditions=Conditions(**wanted))


@settings(max_examples=10, deadline=None)
@given(few_states(5), few_lams, st.integers(1, 2), st.booleans())
def test_branch_and_bound_finds_what_trying_everything_finds(
    problem: Problem, lam: Fraction, most: int, deterministic: bool
) -> None:
    conditions = Conditions(deterministic=deterministic, max_signals=most)
    tried = solve(problem, lam, conditions=conditions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(limits._LIMITS, "maps", 1)
        searched = solve(problem, lam, conditions=conditions)
        assert verify(problem, searched.certificate)
    assert searched.value == tried.value
    assert searched.gap == tried.gap == 0
    if deterministic:
        assert (searched.mechanism.q == tried.mechanism.q).all()


@settings(max_examples=20, deadline=None)
@given(few_states(4), few_lams, st.integers(1, 2), st.data())
def test_few_signals_are_proved_by_branches(problem: Problem, lam: Fraction, most: int, data: st.DataObject) -> None:
    wanted = data.draw(private(len(problem.p))) if data.draw(st.booleans()) else {}
    solution = solve(problem, lam, conditions=Conditions(max_signals=most, **wanted))
    assert verify(problem, solution.certificate)
    rough = solve(problem, lam, False, conditions=Conditions(max_signals=most, **wanted))
    assert verify(problem, rough.certificate)
    proof = solution.certificate.proof
    assert proof is not None
    if solution.price_of_determinism and len(proof.branches) > 1:
        fewer = replace(proof, branches=proof.branches[1:])
        assert not verify(problem, replace(solution.certificate, proof=fewer))
        assert not verify(problem, replace(solution.certificate, proof=replace(proof, branches=())))
        wrong = tuple(replace(b, multipliers=replace(b.multipliers, u=b.multipliers.u + 1)) for b in proof.branches)
        assert not verify(problem, replace(solution.certificate, proof=replace(proof, branches=wrong)))


def test_branches_need_not_cover_maps_that_send_too_many_signals() -> None:
    # no map with one signal sends state 0 to the first decision and state 2 to the second: nothing is missing there
    problem = Problem(["1/3", 0, "2/3"], [[0, "1/2"], [0, 0], ["1/4", 0]], [[0, 0]] * 3)
    best = solve(problem, 0, conditions=Conditions(deterministic=True, max_signals=1, margin=0))
    assert (best.value, best.gap) == (Fraction(1, 6), 0)
    assert verify(problem, best.certificate)


def test_the_price_of_determinism_of_the_coin_toss_is_what_a_coin_saves() -> None:
    coin = Problem.from_model(["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], ZERO_ONE, [[0, 1], [10, 0]])
    solution = solve(coin, "1/3", conditions=Conditions(deterministic=True))
    assert solution.price_of_determinism == solution.price_of_conditions == solution.value - solve(coin, "1/3").value
    assert solution.value == min(risks(coin, m).alice(F(1, 3)) for m in (full(coin), null(coin), bob_decision(coin)))


def test_equal_states_may_be_sent_apart() -> None:
    """Two equal states of probability 1/2 give a deterministic mechanism the randomness of a fair coin."""
    problem = Problem(["1/4", "1/4", "1/2"], [[0, 1], [0, 1], [1, 0]], [[1, 0], [1, 0], [0, 1]])
    best = solve(problem, 1, conditions=Conditions(deterministic=True))
    values = []
    for target in product(range(2), repeat=3):
        channel = np.zeros((3, 2), dtype=int)
        channel[range(3), target] = 1
        values.append(risks(problem, Mechanism(channel.tolist())).alice(F(1)))
    assert best.value == min(values)


@pytest.mark.slow
@quick
@given(few_states(eves=1), st.data())
def test_misaligned_eve_is_never_below(problem: Problem, data: st.DataObject) -> None:
    mechanism = data.draw(st.sampled_from(library(problem)))
    N, e = problem.E.shape
    weights = data.draw(st.lists(st.integers(0, 5), min_size=N, max_size=N).filter(any))
    wrong: dict[str, Any] = {}
    if data.draw(st.booleans()):
        wrong["eve_prior"] = [F(w, sum(weights)) for w in weights]
    if data.draw(st.booleans()):
        wrong["eve_acts_on"] = data.draw(table(parts_of(0, 2), N, e))
    aligned, misled = evaluate(problem, mechanism), evaluate(problem, mechanism, **wrong)
    assert misled.eve >= aligned.eve
    assert misled.bob == aligned.bob


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(conditioned(), st.booleans())
def test_certificates_survive_the_disk(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[Problem, Fraction, Conditions], exact: bool
) -> None:
    problem, lam, conditions = case
    try:
        certificate = solve(problem, lam, exact, conditions=conditions).certificate
    except InputError:
        assume(False)
    path = tmp_path_factory.mktemp("proof") / "certificate.json"
    save_certificate(path, certificate)
    again = load_certificate(path)
    assert again.exact == certificate.exact == exact
    assert verify(problem, again) == verify(problem, certificate)
    if certificate.proof is not None:
        assert again.proof is not None
        assert again.proof.conditions == conditions
        assert (again.proof.channel == certificate.proof.channel).all()
        for name, own in certificate.proof.prices.items():
            assert (
                again.proof.prices[name].weights.tolist() == own.weights[own.weights != 0].tolist() or name != "privacy"
            )


COIN_FILE = {
    "data": {"labels": ["tails", "heads"], "prior": ["3/4", "1/4"]},
    "bob": {"loss": [["1/3", "2/3"], [1, 0]]},
    "eve": {"loss": [[0, 1], [10, 0]]},
}


def test_a_file_states_its_conditions_in_a_table() -> None:
    table = {
        "min_eve_risk": "3/8",
        "max_bob_risk": 0.5,
        "exp_epsilon": 2,
        "metric": [[0, 3], ["inf", 0]],
        "deterministic": True,
        "max_signals": 2,
        "margin": "1/100",
    }
    document = {**COIN_FILE, "conditions": table}
    jsonschema.validate(document, SCHEMA)
    found = problem_from_dict(document).conditions
    assert found == Conditions(**table)
    assert conditions_from(conditions_document(found)) == found
    assert problem_from_dict(COIN_FILE).conditions is None
    pairs = Conditions(epsilon="1/2", neighbours=[["tails", "heads"], [0, 1]])
    assert conditions_from(conditions_document(pairs)) == pairs


@pytest.mark.parametrize(
    ("table", "message", "schema"),
    [
        ({"min_eve": 1}, r"coin: conditions.min_eve is not a known key: \[conditions\] may have min_eve_risk", True),
        ({"min_eve_risk": -1}, "coin: conditions.min_eve_risk = -1 must be at least 0", True),
        ({"min_eve_risk": "1/0"}, "coin: conditions.min_eve_risk = '1/0' divides by zero", True),
        ({"max_bob_risk": 10**301}, "coin: conditions.max_bob_risk = 1000.* must be at most 1e300", True),
        ({"exp_epsilon": 2, "neighbours": "all"}, "coin: conditions.neighbours = 'all' must be a list", True),
        ({"exp_epsilon": 2, "neighbours": [["x", "heads"]]}, r"conditions.neighbours\[0\] = 'x' is not a state", False),
        ({"exp_epsilon": 2, "epsilon": 1}, "conditions.epsilon = 1 must not be given together with exp_epsilon", True),
        ({"deterministic": "yes"}, "conditions.deterministic = 'yes' must be true or false", True),
        ({"max_signals": 2.5}, "conditions.max_signals = 2.5 must be a positive integer", True),
        ([], r"conditions = \[\] must be a table", True),
    ],
)
def test_a_bad_condition_of_a_file_is_named(table: Any, message: str, schema: bool) -> None:
    document = {**COIN_FILE, "conditions": table}
    with pytest.raises(InputError, match=message):
        problem_from_dict(document, "coin")
    assert jsonschema.Draft202012Validator(SCHEMA).is_valid(document) != schema


def test_the_best_remap_of_the_geometric_mechanism_is_the_private_optimum() -> None:
    """min over remaps T(i|s) of the geometric channel, a program of its own, has the value of the private optimum."""
    N, ratio = 4, F(2)
    loss = [[abs(x - i) for i in range(3)] for x in range(N)]
    problem = Problem([F(1, 2), F(1, 4), F(1, 8), F(1, 8)], loss, [[0]] * N)
    q, b = truncated_geometric(problem, 1 / ratio).q, 3
    cost = (problem.p[:, None] * q).T.dot(problem.B).ravel()  # T[s,i]
    rows, columns = np.repeat(np.arange(N), b), np.arange(N * b)
    ones = objects([cost[0] * 0 + 1] * (N * b))
    lp = from_entries(cost, rows, columns, ones, ones[:N], np.ones(N, dtype=bool), np.zeros(N * b, dtype=bool))
    vertex = optimise(lp, np.arange(0, N * b, b))
    conditions = Conditions(exp_epsilon=ratio, neighbours=[(x, x + 1) for x in range(N - 1)])
    best = solve(problem, 0, conditions=conditions)
    assert str(cost.dot(vertex.z)) == str(best.value)
