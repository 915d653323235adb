"""A Bob who reports probabilities: both ends of the optimum, against closed forms, other methods and tampering."""

from __future__ import annotations

import math
import random
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from tampering import both, edit, put

from bap_lp import (
    Agent,
    Conditions,
    ConflictError,
    InputError,
    Mechanism,
    Problem,
    calibrate,
    evaluate,
    lambda_path,
    load_bundle,
    load_problem,
    save_bundle,
    save_problem,
    solve,
    verify,
    verify_standalone,
)
from bap_lp.model.reports import Forecaster
from bap_lp.program.bound import NoProof
from bap_lp.program.forecasts import ReportTangents, cells_of
from bap_lp.rational import EXACT

STANDALONE = Path(verify_standalone.__file__)
GUESS = [[0, 1], [1, 0]]
FUNNEL = Problem(
    ["1/4", "1/4", "1/3", "1/6"],
    bobs=[Agent("log", secret=["yes", "no", "yes", "no"])],
    eve_loss=[[0, 1, 1], [1, 0, 1], [0, 1, 1], [1, 1, 0]],
)


@cache
def best():
    return solve(FUNNEL, "1/4")


def random_problem(seed: int, kind: str, states: int = 4, values: int = 2, soft: bool = False) -> tuple[Problem, str]:
    draw = random.Random(seed)
    mass = [draw.randint(1, 9) for _ in range(states)]
    secret: list = [x % values for x in range(states)]
    if soft:
        rows = [[draw.randint(0, 4) + (k == 0) for k in range(values)] for _ in range(states)]
        secret = [[Fraction(v, sum(row)) for v in row] for row in rows]
    eve = [[draw.randint(0, 5) for _ in range(3)] for _ in range(states)]
    problem = Problem([Fraction(m, sum(mass)) for m in mass], bobs=[Agent(kind, secret=secret)], eve_loss=eve)
    return problem, draw.choice(["1/10", "1/4", "1/2"])


def true_value(problem: Problem, lam: float, rho: np.ndarray) -> float:
    """R_A of a joint table by the definition, in floats."""
    bob = problem.forecasters[0]
    m = bob.law.astype(float).T @ rho
    total = m.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        if bob.kind == "log":
            risk = -np.where(m > 0, m * np.log(m / total), 0.0).sum()
        else:
            risk = (total - np.where(total > 0, (m * m).sum(axis=0) / total, 0.0)).sum()
    return float(risk - lam * (rho.T @ problem.E.astype(float)).min(axis=1).sum())


@pytest.mark.parametrize(("kind", "half"), [("log", math.log(2)), ("brier", 0.5)])
@pytest.mark.parametrize(("lam", "p"), [("1/2", "1/3"), ("3/2", "1/2"), (3, "1/1000")])
def test_of_two_states_the_optimum_is_the_envelope_of_h_minus_lam_times_the_smaller_probability(kind, half, lam, p):
    # h(mu) >= 2 h(1/2) min(mu, 1 - mu): below lam = 2 h(1/2) all is told, above it the rarer state is paired
    problem = Problem([p, 1 - Fraction(p)], bobs=[Agent(kind)], eve_loss=GUESS)
    found = solve(problem, lam)
    best = 2 * min(Fraction(p), 1 - Fraction(p)) * min(0.0, half - float(Fraction(lam)) / 2)
    assert float(found.bound) <= best + 1e-15
    assert best <= float(found.value) + 1e-15
    assert found.gap <= 1e-8
    assert verify(problem, found.certificate).optimal


@pytest.mark.parametrize("kind", ["log", "brier"])
@pytest.mark.parametrize("seed", range(3))
def test_the_bracket_holds_the_envelope_on_a_grid_of_posteriors(kind, seed):
    problem, lam = random_problem(seed, kind, states=3, soft=seed == 2)
    found, steps = solve(problem, lam), 40
    grid = np.array([mu for mu in product(range(steps + 1), repeat=3) if sum(mu) == steps]).T / steps
    grid = np.hstack([grid, found.mechanism.q.astype(float) * problem.p.astype(float)[:, None]])
    grid = grid / grid.sum(axis=0)
    cost = [true_value(problem, float(Fraction(lam)), grid[:, [k]]) for k in range(grid.shape[1])]
    best = linprog(cost, A_eq=grid, b_eq=problem.p.astype(float)).fun
    assert float(found.bound) <= best + 1e-9
    assert float(found.value) <= best + 1e-9
    assert 0 <= found.gap <= 1e-8


@pytest.mark.parametrize("lam", ["1/4", "1/2", "3/4"])
def test_the_bottleneck_of_a_binary_symmetric_channel_flips_the_bit(lam):
    """Mrs. Gerber's lemma: h(1/10 * d) is convex in h(d), so a flip with some probability d is optimal."""
    law = [["9/10", "1/10"], ["1/10", "9/10"]]
    problem = Problem(["1/2", "1/2"], bobs=[Agent("log", ["a", "b"], secret=law)], eves=[Agent("log")])
    d = np.linspace(1e-9, 0.5, 200_001)
    h = lambda v: -v * np.log(v) - (1 - v) * np.log1p(-v)  # noqa: E731
    best = (h(0.1 * (1 - d) + 0.9 * d) - float(Fraction(lam)) * h(d)).min()
    found = solve(problem, lam)
    assert float(found.bound) - 1e-9 <= best <= float(found.value) + 1e-9


def test_the_rate_privacy_function_of_binary_data_is_the_identity_and_perfect_privacy_tells_nothing():
    """Asoodeh, Diaz, Alajaji, Linder (Information 7:15), where the private bit is the data."""
    both = Problem(["1/4", "3/4"], bobs=[Agent("log")], eves=[Agent("log")])
    entropy = -0.25 * math.log(0.25) - 0.75 * math.log(0.75)
    for lam in ("1/2", "3/2"):  # (1 - lam) H(X|S)
        assert float(solve(both, lam).value) == pytest.approx(min(0.0, (1 - float(Fraction(lam))) * entropy), abs=1e-8)
    private = solve(both, "1/2", conditions=Conditions(independent_of=[[0]]))
    assert float(private.value) == pytest.approx(entropy / 2, abs=1e-9)


def test_the_value_is_the_true_risk_of_the_mechanism_rounded_up():
    found = best()
    risks = evaluate(FUNNEL, found.mechanism)
    assert abs(float(found.value) - (risks.bob - float(risks.eve) / 4)) <= risks.bob_error + 1e-15
    half = evaluate(FUNNEL, Mechanism([[1, 0], [1, 0], [0, 1], [0, 1]]))
    first, second = math.log(2) / 2, -(1 / 3) * math.log(2 / 3) - (1 / 6) * math.log(1 / 3)
    assert abs(half.bob - first - second) < 1e-14
    assert half.signals[0].decisions[0].report == {"yes": Fraction(1, 2), "no": Fraction(1, 2)}
    assert abs(half.information["Bob"] + half.bob + (7 / 12) * math.log(7 / 12) + (5 / 12) * math.log(5 / 12)) < 1e-14


def test_three_values_have_both_ends_too():
    problem, lam = random_problem(5, "brier", states=3, values=3)
    found = solve(problem, lam)
    assert found.gap <= 1e-6
    assert verify(problem, found.certificate)


def test_of_many_values_the_gap_is_wide_and_is_not_called_optimal():
    problem = Problem(["1/6"] * 6, bobs=[Agent("log")], eve_loss=[[x % 2, 1 - x % 2] for x in range(6)])
    found = solve(problem, "3/2", time_limit=0.5)
    verdict = verify(problem, found.certificate)
    assert verdict
    assert not verdict.optimal
    assert found.gap > 1e-3
    assert "stopped" in found.method


def test_a_model_tells_bob_who_reports_about_theta():
    coin = Problem.from_model(
        ["1/2", "1/2"], [[1, 0], ["1/2", "1/2"]], bobs=[Agent("brier")], eve_loss=[[0, 1], [10, 0]]
    )
    direct = Problem(
        ["3/4", "1/4"],
        bobs=[Agent("brier", ["0", "1"], secret=[["2/3", "1/3"], [0, 1]])],
        eve_loss=[[0, 1], [10, 0]],
    )
    assert coin == Problem(direct.p, bobs=direct.bobs, eves=direct.eves, theta=coin.theta)
    assert calibrate(coin) == Fraction(2, 9)
    assert solve(coin, "2/9").value == solve(direct, "2/9").value


def test_floats_are_the_fractions_they_are():
    rough = Problem(
        [0.25, 0.25, 0.5], bobs=[Agent("log", secret=[[0.1, 0.9], [0.5, 0.5], [1, 0]])], eve_loss=GUESS + GUESS[:1]
    )
    found = solve(rough, 0.4)
    assert not found.exact
    assert found.gap < 1e-8
    assert verify(rough, found.certificate)
    assert not verify(rough.rationalised(), found.certificate, allow_float=False)


@pytest.mark.parametrize(
    "conditions",
    [
        {"exp_epsilon": 2},
        {"max_leakage": "6/5"},
        {"exp_epsilon": 2, "delta": "1/10"},
        {"posterior_caps": [{"event": [0], "at_most": "1/3"}]},
    ],
)
def test_conditions_hold_and_cost_something(conditions):
    asked = Conditions(**conditions)
    found, free = solve(FUNNEL, "1/4", conditions=asked), best()
    assert verify(FUNNEL, found.certificate)
    assert found.gap <= 1e-8
    assert found.value >= free.bound


def test_with_perfect_privacy_only_the_null_release_is_left():
    found = solve(FUNNEL, "1/4", conditions=Conditions(exp_epsilon=1))
    null = -(7 / 12) * math.log(7 / 12) - (5 / 12) * math.log(5 / 12) - Fraction(5, 12) / 4
    assert abs(float(found.value) - null) < 1e-12
    assert found.gap < 1e-8


@pytest.mark.parametrize(
    ("conditions", "word"),
    [
        ({"max_bob_risk": 1}, "max_bob_risk"),
        ({"deterministic": True}, "deterministic"),
    ],
)
def test_conditions_that_are_not_covered_are_refused_in_one_line(conditions, word):
    with pytest.raises(InputError, match=f"^{word} = .* is not possible with a Bob who reports probabilities$"):
        solve(FUNNEL, conditions=Conditions(**conditions))
    forged = replace(best().certificate, conditions=Conditions(**conditions))
    assert not verify(FUNNEL, forged)


def test_a_conflict_has_its_proof():
    with pytest.raises(ConflictError, match="min_eve_risk = 9/10 is not attainable") as refused:
        solve(FUNNEL, conditions=Conditions(min_eve_risk="9/10"))
    assert verify(FUNNEL, refused.value.proof)


@pytest.mark.parametrize(
    ("bob", "words"),
    [
        (Agent("lgo"), r"bobs\[0\].loss = 'lgo' must be a table, \"log\" or \"brier\""),
        (Agent("log", secret=[1, 2]), r"bobs\[0\].secret has 2 labels, must have 4, one per state"),
        (Agent("log", secret=[[1, 1], [0, 1], [1, 0], [1, 0]]), r"sum of bobs\[0\].secret\[0\] = 2 must be 1"),
        (Agent("log", ["a"]), r"bobs\[0\].decisions is not for an agent who reports probabilities"),
        (Agent("log", knows=[1, 1, 1, 1]), r"bobs\[0\].knows is not for an agent who reports probabilities"),
        (Agent("log", harm=[[1]] * 4), r"bobs\[0\].harm is not for an agent who reports probabilities"),
    ],
)
def test_a_bob_who_cannot_be_is_refused_in_one_line(bob, words):
    with pytest.raises(InputError, match=f"^{words}$"):
        Problem(FUNNEL.prior, bobs=[bob], eves=FUNNEL.eves)


def test_questions_that_need_tables_say_so():
    with pytest.raises(InputError, match=r"^problem has no path of finitely many pieces: Bob reports probabilities"):
        lambda_path(FUNNEL)


# the mathematics of the bound


@pytest.mark.parametrize("kind", ["log", "brier"])
@pytest.mark.parametrize(("values", "rows"), [(2, 4), (3, 5), (4, 2)])
def test_between_the_corners_of_a_simplex_no_report_loses_less_than_the_table(kind, values, rows):
    draw = random.Random(values)
    law = [[Fraction(draw.randint(0, 5) + (k == x % values)) for k in range(values)] for x in range(rows)]
    law = np.array([[EXACT.number(v / sum(row)) for v in row] for row in law], dtype=object)
    tangents = ReportTangents(Forecaster(kind, law, tuple("abcd"[:values]), EXACT.one))
    splits = "."
    for _ in range(4):
        splits = "".join(step if step == "s" or draw.random() < 0.4 else "s.." for step in splits)
    finite, n = tangents.finite(splits), len(tangents.start)
    assert len(set(finite.names)) == len(finite.names)
    assert (finite.losses >= 0).all()
    covered = 0.0
    for cell, corners in zip(cells_of(n, splits), finite.numbered, strict=True):
        covered += abs(np.linalg.det(np.array(cell, dtype=float) / 2.0**256))
        share = np.array([draw.random() + 1e-3 for _ in corners])
        share /= share.sum()
        r = share @ finite.reports[corners].astype(float)
        table = finite.losses[:, corners].astype(float) @ share - n
        t = law.astype(float)
        if kind == "log":
            true = -np.where(t > 0, t * np.log(np.where(r > 0, r, 1)), 0).sum(axis=1)
        else:
            true = 1 - 2 * t @ r + r @ r
        assert (table <= true + 1e-12).all()
    assert abs(covered - 1) < 1e-12


@pytest.mark.parametrize("splits", ["", "s.", "...", "s...", "x", "s..s..", "s" * 300, "s" + "." * 50_000])
def test_what_is_no_subdivision_proves_nothing(splits):
    certificate = replace(best().certificate, splits=(splits,))
    assert not verify(FUNNEL, certificate)
    with pytest.raises(NoProof):
        list(cells_of(2, splits))
    with pytest.raises(verify_standalone.Refused):
        verify_standalone.simplices(2, splits)


# files, and what is not proved


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("funnel") / "bundle"
    save_bundle(folder, best())
    return folder


def standalone(folder) -> tuple[int, str]:
    run = subprocess.run([sys.executable, str(STANDALONE), str(folder)], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def test_a_bundle_is_proved_by_both_checkers(bundle):
    assert load_bundle(bundle).verify().optimal
    code, words = standalone(bundle)
    assert code == 0, words
    assert "optimal" in words


def test_a_problem_file_names_what_bob_wants(tmp_path):
    soft = Problem(["1/2", "1/2"], bobs=[Agent("brier", ["x", "y"], secret=[["1/3", "2/3"], [1, 0]])], eve_loss=GUESS)
    for problem in (FUNNEL, soft, soft.as_float()):
        save_problem(tmp_path / "p.json", problem, "1/2")
        assert load_problem(tmp_path / "p.json").problem == problem
    (tmp_path / "p.toml").write_text(
        '[data]\nprior = ["1/4", "3/4"]\n[bob]\nloss = "log"\nsecret = ["a", "b"]\n[eve]\nloss = [[0, 1], [1, 0]]\n'
    )
    assert load_problem(tmp_path / "p.toml").problem.bobs[0].secret == ("a", "b")


FORGED = {
    "coarser": ("certificate.json", put("splits", 0, to=lambda splits: splits.replace("s..", ".", 1))),
    "value": ("certificate.json", put("value", to=lambda value: str(Fraction(value) - Fraction(1, 1000)))),
    "gap": ("certificate.json", put("gap", to="0")),
    "without": ("certificate.json", lambda document: document.pop("splits")),
    "twice": ("certificate.json", put("splits", to=lambda splits: splits * 2)),
    "no text": ("certificate.json", put("splits", 0, to=0)),
    "secret": ("problem.json", put("bob", 0, "secret", 0, to="no")),
    "loss": ("problem.json", put("bob", 0, "loss", to="brier")),
}


@pytest.mark.parametrize("name", FORGED)
def test_a_changed_bundle_is_refused_by_both_checkers(bundle, tmp_path, name):
    shutil.copytree(bundle, tmp_path / "b")
    edit(tmp_path / "b", *FORGED[name])
    assert both(tmp_path / "b") == (False, False)


def test_several_bobs_with_weights_and_an_eve_who_knows_something(tmp_path):
    problem = Problem(
        ["1/4", "1/4", "1/2"],
        bobs=[Agent("log", secret=["a", "b", "a"], name="B", weight="1/2"), Agent([[0, 1], [1, 0], [1, 0]], name="C")],
        eves=[Agent([[0, 1], [1, 0], [1, 0]], knows=[0, 0, 1])],
    )
    found = solve(problem, "3/4")
    assert verify(problem, found.certificate).optimal
    save_bundle(tmp_path / "b", found)
    assert standalone(tmp_path / "b")[0] == 0


@pytest.mark.parametrize(
    "problem",
    [
        Problem([0, "1/2", "1/2"], bobs=[Agent("log", secret=["c", "b", "a"])], eve_loss=[*GUESS, [1, 0]]),
        Problem([0, 0, 1], bobs=[Agent("brier")], eve_loss=[*GUESS, [1, 0]]),
        Problem(["1/2", "1/2"], bobs=[Agent("log", secret=["a", "a"])], eve_loss=GUESS),
        Problem([1e-6, 1 - 1e-6], bobs=[Agent("log")], eve_loss=GUESS),
        Problem(["1/3", "2/3"], bobs=[Agent("log", weight=10**6)], eve_loss=GUESS),
        Problem(["1/3", "2/3"], bobs=[Agent("log", secret=[["1/2", "1/4", "1/4"], [0, "1/2", "1/2"]])], eve_loss=GUESS),
    ],
    ids=["a state of probability zero", "one state", "no secret", "a rare state", "a heavy weight", "fewer states"],
)
def test_odd_problems_have_both_ends(problem):
    found = solve(problem, 2)
    verdict = verify(problem, found.certificate)
    assert verdict, verdict.reason
    assert verdict.optimal


# both report: the information bottleneck and the privacy funnel

SOFT = [["9/10", "1/10"], ["3/5", "2/5"], ["1/5", "4/5"], ["1/10", "9/10"]]
MASS = ["1/8", "3/8", "3/8", "1/8"]


def entropies(law: np.ndarray, rho: np.ndarray) -> float:
    """H(V|S) of a joint table of data and signals, where V has this law given the data."""
    m = law.T @ rho
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(-np.nan_to_num(m * np.log(m / m.sum(axis=0))).sum())


def test_the_iteration_of_the_information_bottleneck_stops_above_the_bound():
    # I(X;S) - beta I(theta;S) is beta R_A up to a constant: beta = 1/lam, Bob wants theta and Eve the data
    problem = Problem(MASS, bobs=[Agent("log", secret=SOFT)], eves=[Agent("log")])
    p, law, generator = problem.p.astype(float), problem.forecasters[0].law.astype(float), np.random.default_rng(3)
    found, best = solve(problem, "2/5"), math.inf
    assert verify(problem, found.certificate).optimal
    for _ in range(6):
        q = generator.dirichlet([1.0] * 4, 4)
        for _ in range(300):
            mass = p @ q
            decoder = (law * p[:, None]).T @ q / mass
            far = (law[:, :, None] * np.log(law[:, :, None] / decoder[None])).sum(axis=1)
            q = mass * np.exp(-far * 5 / 2)
            q = np.maximum(q / q.sum(axis=1, keepdims=True), 1e-300)
        rho = p[:, None] * q
        value = entropies(law, rho) - 2 / 5 * entropies(np.eye(4), rho)
        assert value >= float(found.bound) - 1e-12
        best = min(best, value)
    assert float(found.value) <= best + 1e-9


def test_where_both_report_the_stand_alone_checker_agrees(tmp_path):
    problem = Problem(MASS, bobs=[Agent("brier", secret=[0, 1, 0, 1])], eves=[Agent("log", secret=[0, 0, 1, 1])])
    found = solve(problem, "1/4")
    save_bundle(tmp_path / "b", found)
    assert load_bundle(tmp_path / "b").verify().optimal
    code, words = standalone(tmp_path / "b")
    assert code == 0, words


def test_the_bracket_survives_a_time_limit_that_leaves_no_time_for_the_price_of_conditions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = Problem(["1/2", "1/4", "1/4"], bobs=[Agent("log")], eves=[Agent([[0, 1], [0, 1], [1, 0]])])

    def over(step: int, bound: float, value: float) -> None:
        monkeypatch.setattr(time, "monotonic", lambda: math.inf)

    found = solve(problem, 1, conditions={"exp_epsilon": 2}, progress=over, time_limit=10**6)
    assert "time limit" in found.method
    assert found.price_of_conditions is None
    assert verify(problem, found.certificate)
