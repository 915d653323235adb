"""Eves who report probabilities: what they lose, what they learn, and how they are written."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from bap_lp import Agent, InputError, Mechanism, Problem, calibrate, evaluate, solve
from bap_lp.files.certificates import certificate_document, certificate_from_dict
from bap_lp.files.problems import problem_document, problem_from_dict

PRIOR = ["1/4", "1/4", "1/2"]
BOB = [[0, 1], [1, 0], ["1/2", "1/3"]]


def problem(*eves: Agent) -> Problem:
    return Problem(PRIOR, BOB, eves=list(eves))


def random_problem(seed: int, **eve: Any) -> tuple[Problem, np.ndarray]:
    draw = np.random.default_rng(seed)
    prior, bob = draw.dirichlet(np.ones(6)), draw.random((6, 3))
    return Problem(prior, bob, eves=[Agent(**eve)]), draw.dirichlet(np.ones(4), size=6)


def entropy(p: np.ndarray) -> float:
    p = np.asarray(p)[np.asarray(p) > 0]
    return float(-(p * np.log(p)).sum())


@pytest.mark.parametrize("seed", range(5))
def test_a_log_risk_is_the_conditional_entropy(seed: int) -> None:
    secret = [0, 1, 2, 0, 1, 2]
    given, q = random_problem(seed, loss="log", secret=secret)
    joint = given.p[:, None] * q
    table = np.array([joint[np.array(secret) == a].sum(axis=0) for a in range(3)])
    found = evaluate(given, Mechanism(q))
    hidden = entropy(table.ravel()) - entropy(table.sum(axis=0))  # H(A,S) - H(S)
    assert found.eve == pytest.approx(hidden, abs=1e-13)
    assert abs(found.eve - hidden) <= found.eve_error + 1e-15 < 1e-12
    assert 0 < found.information_error["Eve"] < 1e-12
    assert found.information["Eve"] == pytest.approx(entropy(table.sum(axis=1)) - hidden, abs=1e-13)


@pytest.mark.parametrize("seed", range(3))
def test_a_brier_risk_is_one_minus_the_squared_posteriors(seed: int) -> None:
    given, q = random_problem(seed, loss="brier")
    joint = given.p[:, None] * q
    posterior = joint / joint.sum(axis=0)
    assert evaluate(given, Mechanism(q)).eve == pytest.approx(1 - (joint * posterior).sum(), abs=1e-14)


def test_exact_data_have_an_exact_brier_risk() -> None:
    found = evaluate(problem(Agent("brier")), Mechanism([[1, 0], [0, 1], [0, 1]]))
    assert (found.eve, found.eve_error) == (Fraction(1, 3), 0)


def test_no_release_leaves_the_entropy_and_full_release_nothing() -> None:
    given = problem(Agent("log"))
    null, full = Mechanism([[1]] * 3), Mechanism(np.eye(3, dtype=int).tolist())
    assert evaluate(given, null).eve == pytest.approx(1.5 * math.log(2), abs=1e-15)
    assert evaluate(given, null).information["Eve"] == 0
    assert evaluate(given, full).eve == 0
    assert evaluate(given, full).information["Eve"] == pytest.approx(1.5 * math.log(2), abs=1e-15)


def test_who_knows_more_loses_less_and_learns_what_is_left() -> None:
    null = Mechanism([[1]] * 3)
    found = evaluate(problem(Agent("log", knows=["low", "low", "high"])), null)
    assert found.eve == pytest.approx(math.log(2) / 2, abs=1e-15)
    noisy = evaluate(problem(Agent("log", knowledge=[[1, 0], [1, 0], ["1/2", "1/2"]])), null)
    assert found.eve < noisy.eve < 1.5 * math.log(2)


def test_weights_and_finite_eves_add_up() -> None:
    table = [[0, 1], [1, 0], [0, 1]]
    both = problem(Agent("log", name="a", weight="1/2"), Agent(table, name="b", weight=2), Agent("brier", name="c"))
    mechanism = Mechanism([[1, 0], ["1/2", "1/2"], [0, 1]])
    found = evaluate(both, mechanism)
    alone = {one.name: evaluate(problem(one), mechanism) for one in both.eves}
    assert found.eve == pytest.approx(sum(float(one.eve) for one in alone.values()), abs=1e-14)
    for name, one in alone.items():
        assert found.agents[name] == pytest.approx(float(one.agents[name]), abs=1e-14)


def test_her_report_is_the_posterior_of_her_secret() -> None:
    found = evaluate(problem(Agent("log", secret=["a", "b", "a"])), Mechanism([[1, 0], [1, 0], [0, 1]]))
    assert [signal.decisions[-1].report for signal in found.signals] == [
        {"a": Fraction(1, 2), "b": Fraction(1, 2)},
        {"a": 1, "b": 0},
    ]
    assert found.signals[0].eve == ["reports probabilities: a 0.5, b 0.5"]


def test_the_calibrated_lambda_ties_full_and_null_release() -> None:
    given = problem(Agent("log", secret=["a", "b", "a"]), Agent("brier", name="other", weight=3))
    lam = calibrate(given)
    full, null = (evaluate(given, Mechanism(q)) for q in (np.eye(3, dtype=int).tolist(), [[1]] * 3))
    assert float(full.alice(lam)) == pytest.approx(float(null.alice(lam)), abs=1e-15)
    assert isinstance(calibrate(problem(Agent("brier"))), Fraction)


@pytest.mark.parametrize("kind", ["log", "brier"])
@pytest.mark.parametrize("secret", [None, ["a", "b", "a"], [3, 3, 4]])
def test_a_file_says_the_same(kind: str, secret: Any) -> None:
    given = problem(Agent(kind, name="a", secret=secret, knows=[1, 1, 2], weight="1/3"), Agent(BOB, name="b"))
    again = problem_from_dict(problem_document(given)).problem
    assert again == given
    assert again != problem(Agent(kind, name="a", knows=[1, 1, 2], weight="1/3", secret=["c", "c", "c"]), given.eves[1])
    assert (hash(again), again.eves[0].secret) == (hash(given), secret and tuple(map(str, secret)))


@pytest.mark.parametrize(
    ("eve", "words"),
    [
        (Agent("lag"), 'eves[0].loss = \'lag\' must be a table, "log" or "brier"'),
        (Agent("log", secret=["a"]), "eves[0].secret has 1 labels, must have 3, one per state"),
        (Agent("log", secret=["a", "", "b"]), "eves[0].secret[1] = '' must be a non-empty string or an integer"),
        (Agent("log", secret="abc"), "eves[0].secret = 'abc' must be a list of labels, one per state"),
        (Agent("log", ["a"]), "eves[0].decisions is not for an Eve who reports probabilities"),
        (Agent("brier", harm=BOB), "eves[0].harm is not for an Eve who reports probabilities"),
        (Agent("log", prior=PRIOR), "eves[0].prior is not for an Eve who reports probabilities"),
        (Agent("log", weight=0), "eves[0].weight = 0 must be positive"),
        (Agent(BOB, secret=[1, 2, 3]), 'eves[0].secret needs the loss "log" or "brier"'),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(eve: Agent, words: str) -> None:
    with pytest.raises(InputError) as found:
        problem(eve)
    assert str(found.value) == words


def test_beliefs_of_others_are_refused_next_to_reports() -> None:
    with pytest.raises(InputError, match="must not report probabilities if an agent has harm or a prior"):
        problem(Agent("log"), Agent(BOB, name="b", prior=["1/3", "1/3", "1/3"]))


def test_states_without_probability_change_nothing() -> None:
    wide = Problem([*PRIOR, 0], [*BOB, [0, 0]], eves=[Agent("log", secret=["a", "b", "a", "c"])])
    narrow = problem(Agent("log", secret=["a", "b", "a"]))
    q = [[1, 0], ["1/2", "1/2"], [0, 1]]
    assert evaluate(wide, Mechanism([*q, [1, 0]])).eve == evaluate(narrow, Mechanism(q)).eve
    assert calibrate(wide) == calibrate(narrow)


@pytest.mark.parametrize(
    ("bob", "field"), [({"loss": "log"}, "loss = 'log'"), ({"loss": "brier", "secret": []}, "secret")]
)
def test_a_bob_who_reports_is_told_of_the_grid(bob: dict[str, Any], field: str) -> None:
    document = problem_document(problem(Agent(BOB)))
    with pytest.raises(InputError, match=r"^problem: bob\..* a grid of reports, by their Brier losses$"):
        problem_from_dict(document | {"bob": bob})
    with pytest.raises(InputError, match=r"^bobs\[0\].loss = '.*' must be a table: .*a grid of reports"):
        Problem(PRIOR, bobs=[Agent(bob["loss"])], eve_loss=BOB)


def test_a_proof_about_a_bob_who_reports_is_told_of_the_grid() -> None:
    document = certificate_document(solve(problem(Agent(BOB))).certificate)
    with pytest.raises(InputError, match=r"^proof: splits is no longer there: .* a grid of reports"):
        certificate_from_dict(document | {"splits": ["."]}, "proof")


@pytest.mark.parametrize("seed", range(3))
def test_a_grid_of_reports_costs_at_most_half_of_the_square_of_its_step(seed: int) -> None:
    """Rounded to step h, Bob's best report changes a Brier loss 2 (t - r)^2 + const by at most 2 (h/2)^2."""
    draw = np.random.default_rng(seed)
    prior, law, eve = draw.dirichlet(np.ones(5)), draw.random(5), draw.random((5, 3))
    values = {}
    for n in (4, 8, 40):
        loss = [[2 * t * (1 - t) + 2 * (t - k / n) ** 2 for k in range(n + 1)] for t in law]
        values[n] = solve(Problem(prior, loss, eve), 0.3)
    assert values[40].bound <= values[8].value <= values[4].value + 1e-12
    assert all(values[n].bound <= values[40].value + 1 / (2 * n**2) for n in (4, 8))
