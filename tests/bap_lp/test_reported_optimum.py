"""The optimum against Eves who report probabilities: closed forms, cvxpy, both checkers, and tampering."""

from __future__ import annotations

import math
import shutil
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tampering import both, edit, put

from bap_cli.main import main
from bap_lp import (
    Agent,
    Conditions,
    InputError,
    Mechanism,
    Problem,
    compare,
    evaluate,
    lambda_path,
    load_bundle,
    save_bundle,
    solve,
    verify,
)
from bap_lp import verify_standalone as standalone
from bap_lp.files.problems import problem_document, problem_from_dict
from bap_lp.questions.optimum.conditioned import shadow_prices
from bap_lp.questions.path.frontier import edge_points

BIT = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=[Agent("log")])
MIXED = Problem(
    ["1/4", "1/4", "1/2"],
    [[0, 1], [1, 0], ["1/2", "1/3"]],
    eves=[
        Agent("log", secret=["a", "b", "a"]),
        Agent([[0, 1], [1, 0], [0, 1]], name="finite", weight=2),
        Agent("brier", name="guest", knows=[1, 1, 2]),
    ],
)


def random_problem(seed: int, kind: str, states: int = 9, **more: Any) -> Problem:
    draw = np.random.default_rng(seed)
    secret = [int(v) for v in draw.integers(0, 3, states)]
    eve = Agent(kind, secret=secret, weight=2.0, **more)
    return Problem(draw.dirichlet(np.ones(states)), draw.random((states, 3)), eves=[eve])


def cvxpy_value(problem: Problem, lam: float) -> float:
    """The least R_A with cvxpy's own atoms, from the definition of the two losses."""
    import cvxpy as cp

    eve, p = problem.eves[0], np.asarray(problem.p, dtype=float)
    q = cp.Variable(problem.shape[:2], nonneg=True)
    rho = cp.multiply(p[:, None], q)
    labels = np.array([int(a) for a in eve.secret])
    m = cp.vstack([cp.sum(rho[np.flatnonzero(labels == a)], axis=0) for a in sorted(set(labels))])
    total = cp.sum(rho, axis=0)
    if eve.loss == "log":
        risk = -sum(cp.sum(cp.rel_entr(m[a], total)) for a in range(m.shape[0]))
    else:
        risk = 1 - sum(cp.quad_over_lin(m[:, s], total[s]) for s in range(m.shape[1]))
    goal = cp.Minimize(cp.sum(cp.multiply(np.asarray(problem.B, dtype=float), rho)) - lam * float(eve.weight) * risk)
    return float(cp.Problem(goal, [cp.sum(q, axis=1) == 1]).solve(solver=cp.CLARABEL))


@pytest.mark.parametrize("lam", ["1/5", "1", "7"])
def test_a_fair_bit_has_the_rate_distortion_solution(lam: str) -> None:
    found, price = solve(BIT, lam), float(Fraction(lam))
    assert found.gap < 1e-12
    assert found.value == pytest.approx(-price * math.log1p(math.exp(-1 / price)), abs=1e-13)
    assert found.risks.bob == pytest.approx(1 / (1 + math.exp(1 / price)), abs=1e-6)


@pytest.mark.parametrize("lam", ["1/5", "1", "7"])
def test_a_fair_bit_has_its_brier_solution(lam: str) -> None:
    price = Fraction(lam)
    flip = max(Fraction(0), (1 - 1 / (2 * price)) / 2)
    found = solve(Problem(BIT.p, BIT.B, eves=[Agent("brier")]), lam)
    best = flip - price * 2 * flip * (1 - flip)
    assert isinstance(found.value, Fraction)
    assert found.bound <= best <= found.value
    assert found.gap < 1e-12


@pytest.mark.parametrize("kind", ["log", "brier"])
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_of_cvxpy_lies_in_the_bracket(kind: str, seed: int) -> None:
    problem, lam = random_problem(seed, kind), [0.02, 0.2, 0.5, 3.0][seed]
    found = solve(problem, lam)
    assert found.gap < 1e-9
    assert found.bound - 1e-6 < cvxpy_value(problem, lam) < found.value + 1e-6
    assert verify(problem, found.certificate).optimal


@pytest.mark.parametrize("lam", ["1/10", "calibrated"])
def test_the_value_is_the_risk_of_the_mechanism_rounded_up(lam: str) -> None:
    found = solve(MIXED, lam)
    again = evaluate(MIXED, found.mechanism)
    assert found.value == pytest.approx(float(again.alice(found.lam)), abs=1e-14)
    assert found.value >= float(again.alice(found.lam)) - again.alice_error(found.lam)
    assert found.bound <= found.value
    assert found.gap < 1e-11


def test_a_high_price_publishes_nothing_and_lambda_zero_everything() -> None:
    assert solve(BIT, 0).value == 0
    problem = Problem(["1/4", "3/4"], [[0, 1], [1, 0]], eves=[Agent("log", secret=["a", "a"])])
    assert solve(problem, 5).value == 0  # there is no secret to protect
    hidden = random_problem(1, "brier")
    nothing = evaluate(hidden, Mechanism([[1]] * 9)).eve
    assert solve(hidden, 1000).risks.eve == pytest.approx(nothing, abs=1e-3)


@pytest.mark.parametrize(
    "conditions",
    [
        Conditions(min_eve_risk="11/10"),
        Conditions(exp_epsilon=4, max_bob_risk="1/3"),
        Conditions(max_leakage="3/2", posterior_caps=[{"event": ["0"], "at_most": "1/3"}]),
        Conditions(exp_epsilon=4, delta="1/10"),
    ],
)
def test_conditions_hold_and_are_proved(conditions: Conditions, tmp_path: Path) -> None:
    found = solve(MIXED, "1/10", conditions=conditions)
    assert found.gap < 1e-9
    assert found.price_of_conditions > -1e-12
    assert verify(MIXED, found.certificate)
    save_bundle(tmp_path / "bundle", found)
    assert "optimal" in standalone.check(tmp_path / "bundle")


def test_a_floor_on_her_risk_binds() -> None:
    floor = Fraction(3, 5)
    found = solve(BIT, 0, conditions=Conditions(min_eve_risk=floor))
    assert floor <= found.risks.eve + found.risks.eve_error
    assert found.risks.eve == pytest.approx(0.6, abs=1e-9)
    flip = float(found.value)
    assert -flip * math.log(flip) - (1 - flip) * math.log(1 - flip) == pytest.approx(0.6, abs=1e-9)


@pytest.mark.parametrize(
    ("conditions", "words"),
    [
        (Conditions(min_eve_risk=2), "conditions cannot be met: no mechanism satisfies min_eve_risk"),
        (Conditions(deterministic=True), "deterministic is not possible where probabilities are reported"),
        (Conditions(signal_floor="1/2"), "signal_floor = 1/2 needs an Eve with a table of losses: Eve reports"),
        (Conditions(margin="1/2"), "margin = 1/2 is not possible where probabilities are reported"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(conditions: Conditions, words: str) -> None:
    with pytest.raises(InputError) as found:
        solve(BIT, 1, conditions=conditions)
    assert str(found.value).startswith(words)


def test_a_file_with_a_margin_for_an_eve_who_reports_is_refused_by_the_name_of_the_margin() -> None:
    document = {**problem_document(BIT), "conditions": {"margin": "1/10"}}
    with pytest.raises(InputError, match=r": conditions\.margin = 1/10 is not possible where probabilities are"):
        problem_from_dict(document)


TAMPERED = {
    # a report that is more than certain would make every bound high
    "report": ("certificate", put("reports", 0, "rows", to=lambda rows: [[str(2 * int(v)) for v in r] for r in rows])),
    "negative report": ("certificate", put("reports", 0, "rows", 0, 0, to="-1")),
    "one list less": ("certificate", lambda document: document["reports"].pop()),
    "no lists": ("certificate", lambda document: document.pop("reports")),
    "loss": ("problem", put("eve", 0, "loss", to="brier")),
    "unknown loss": ("problem", put("eve", 0, "loss", to="linear")),
    "secret": ("problem", put("eve", 0, "secret", to=["a", "b", "b"])),
    "short secret": ("problem", put("eve", 0, "secret", to=["a", "b"])),
    "decisions": ("problem", put("eve", 0, "decisions", to=["x"])),
    "gap": ("certificate", put("gap", to="0")),
    "value": ("certificate", put("value", to="0")),
}


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of the mixed problem."""
    folder = tmp_path_factory.mktemp("mixed") / "bundle"
    save_bundle(folder, solve(MIXED, "1/10"))
    return folder


@pytest.mark.parametrize("what", TAMPERED)
def test_both_checkers_refuse_what_was_tampered_with(what: str, mixed: Path, tmp_path: Path) -> None:
    shutil.copytree(mixed, tmp_path / "b")
    name, change = TAMPERED[what]
    edit(tmp_path / "b", f"{name}.json", change)
    assert both(tmp_path / "b") == (False, False)


def test_both_checkers_accept_what_was_not(mixed: Path) -> None:
    assert both(mixed) == (True, True)
    assert standalone.check(mixed).startswith("R_A = 0.0689253091 is within")


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_wide_scales_keep_a_small_gap(scale: float) -> None:
    plain = random_problem(2, "log")
    wide = Problem(plain.p, scale * np.asarray(plain.B), eves=plain.eves)
    assert solve(wide, 0.2 * scale).gap < 1e-9 * scale


@pytest.mark.parametrize("kind", ["log", "brier"])
@pytest.mark.parametrize("weight", [Fraction(1, 10**8), Fraction(10**6), Fraction(10**17)])
def test_a_price_per_weight_has_one_value_whatever_the_weight_is(kind: str, weight: Fraction) -> None:
    eves = [Agent(kind, weight=weight)]
    found = solve(Problem(["1/2", "1/2"], [[0, 1], [1, 0]], eves=eves), Fraction(7, 10) / weight)
    assert found.gap < 1e-11


@pytest.mark.parametrize("scale", [18014398557226824, 312020600212040252915712])
def test_losses_beyond_what_clarabel_can_scale_have_an_answer_with_its_gap(scale: int) -> None:
    """Rows of its solution were zero, and no distribution could be made of them."""
    loss = [[0, 1, scale], [1, 0, 1], [scale, scale, 0]]
    problem = Problem(
        ["1/2", "1/3", "1/6"], bobs=[Agent(loss)], eves=[Agent("brier", weight=scale, knows=["u", "v", "v"])]
    )
    found = solve(problem, "1/3")
    assert verify(problem, found.certificate)
    assert found.gap >= 0


def test_costs_far_above_what_the_release_can_change_are_no_conflict() -> None:
    problem = Problem([0.5, 0.5], [[2000.0, 1000.0], [2000.0, 0.0]], eves=[Agent("log", secret=["v", "u"])])
    same = {"posterior_ratio": [{"event": [0], "exp_epsilon": 1.0}]}
    found = solve(problem, 1e-9, conditions=same)
    assert 500 - found.value == pytest.approx(1e-9 * math.log(2), rel=1e-3)
    assert found.gap < 1e-9
    assert verify(problem, found.certificate)


def test_multipliers_beyond_the_floats_are_left_out() -> None:
    eve = [[2000.0000020000002, 2000.0002000000002], [1000.0, 1.0000000000000002e-06]]
    bob = Agent([[0.7188830990300602, 0.049021614815287995], [0.5425638441748581, 0.6527168868608981]], weight=2.0)
    problem = Problem([0.0, 1.0], bobs=[bob], eve_loss=eve)
    same = {"pufferfish": {"pairs": [[[1], [1]]], "exp_epsilon": 1.0}, "exp_epsilon": 1.0, "neighbours": [[0, 1]]}
    found = solve(problem, 1e6, conditions=same | {"max_information": 0.375})
    assert verify(problem, found.certificate)


def test_ties_and_states_without_probability_do_no_harm() -> None:
    prior, bob = ["1/2", 0, "1/4", "1/4"], [[1, 1], [0, 1], [1, 1], [1, 1]]
    found = solve(Problem(prior, bob, eves=[Agent("log", secret=["a", "b", "c", "c"])]), 1)
    assert found.value == pytest.approx(1 - math.log(2), abs=1e-12)
    assert verify(found.problem, found.certificate).optimal


@pytest.mark.parametrize("bits", ["1/10", "1/2", "9/10"])
def test_a_limit_on_information_has_the_rate_distortion_function(bits: str, tmp_path: Path) -> None:
    plain = Problem(BIT.p, BIT.B, BIT.B)
    found = solve(plain, 0, conditions=Conditions(max_information=bits))
    flip = float(found.value)
    rate = 1 + flip * math.log2(flip) + (1 - flip) * math.log2(1 - flip)
    assert rate == pytest.approx(float(Fraction(bits)), abs=1e-9)
    assert found.gap < 1e-9
    slope = 1 / math.log2((1 - flip) / flip)  # of the distortion-rate function
    [price] = shadow_prices(found)["max_information"].values()
    assert float(price) == pytest.approx(slope, rel=1e-5)
    save_bundle(tmp_path / "bundle", found)
    assert load_bundle(tmp_path / "bundle").verify().optimal
    assert "optimal" in standalone.check(tmp_path / "bundle")


def test_a_limit_on_information_holds_for_the_secret_that_it_names() -> None:
    limits = [{"at_most": "1/20", "eve": "Eve"}, {"at_most": "1/2", "secret": ["u", "v", "v"]}, {"at_most": 1}]
    found = solve(MIXED, 0, conditions=Conditions(max_information=limits))
    assert evaluate(MIXED, found.mechanism).information["Eve"] <= 0.05 * math.log(2) + 1e-12
    assert verify(MIXED, found.certificate).optimal
    about = Problem(MIXED.p, MIXED.B, eves=[Agent("log", secret=["u", "v", "v"])])
    assert evaluate(about, found.mechanism).information["Eve"] <= 0.5 * math.log(2) + 1e-12
    wide = solve(MIXED, 0, conditions=Conditions(max_information=5))
    assert float(wide.value) == pytest.approx(float(solve(MIXED, 0).value), abs=1e-8)


@pytest.mark.parametrize("digits", [8, 14, 25])
def test_tiny_limits_on_information_are_kept_and_the_gap_is_stated(digits: int) -> None:
    """I(A;S) is quadratic near the null release: R_A approaches it with the root of the limit."""
    found = solve(BIT, 0, conditions=Conditions(max_information=Fraction(1, 10**digits)))
    assert 0 <= 0.5 - float(found.value) <= 10 ** (-digits / 2)
    assert found.gap < 1e-5
    assert verify(BIT, found.certificate)


def test_both_checkers_know_the_limit_on_information(tmp_path: Path) -> None:
    problem = Problem(BIT.p, BIT.B, BIT.B)
    found = solve(problem, 0, conditions=Conditions(max_information="1/2"))
    other = replace(found.certificate, conditions=Conditions(max_information="1/4"))
    assert "bits is above max_information = 0.25" in verify(problem, other).reason
    save_bundle(tmp_path / "bundle", replace(found, certificate=other))
    with pytest.raises(standalone.Refused, match="breaks max_information"):
        standalone.check(tmp_path / "bundle")


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        (0, "max_information[0].at_most = 0 must be positive: independent_of asks for no information"),
        ("x", "max_information[0].at_most = 'x' is not a number"),
        ([], "max_information must not be empty"),
        ([{"at_most": 1, "eve": "nobody"}], "max_information[0].eve = 'nobody' names no Eve who reports"),
        ([{"at_most": 1, "secret": [1]}], "max_information[0].secret has 1 labels, must have 2, one per state"),
    ],
)
def test_a_limit_that_does_not_fit_is_refused_in_one_line(limit: Any, words: str) -> None:
    with pytest.raises(InputError) as found:
        solve(BIT, 0, conditions=Conditions(max_information=limit))
    assert str(found.value).startswith(words)


def test_a_path_refuses_limits_on_information() -> None:
    with pytest.raises(InputError, match="max_information is no linear condition"):
        lambda_path(Problem(BIT.p, BIT.B, BIT.B), conditions=Conditions(max_information=1))


def test_points_of_the_curved_frontier_are_those_of_the_closed_form() -> None:
    points = edge_points(BIT)
    assert [one.bob for one in points] == sorted(one.bob for one in points)
    for lam in (0.1, 1, 5):  # no point lies below the line of R_A that lam allows
        best = -lam * math.log1p(math.exp(-1 / lam))
        assert all(one.alice(lam) >= best - 1e-12 for one in points)
    with pytest.raises(InputError, match="has no path of finitely many pieces: Eve reports probabilities; `sweep`"):
        lambda_path(BIT)


PEOPLE = """
[data]
prior = ["2/5", "1/10", "1/5", "3/10"]
[bob]
loss = [[0, 1], [0, 1], [1, 0], [1, 0]]
[eve]
name = "insurer"
loss = "log"
secret = ["well", "ill", "well", "ill"]
"""


@pytest.mark.parametrize("command", ["solve", "evaluate"])
def test_with_an_option_risks_are_told_in_bits(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, release = tmp_path / "people.toml", tmp_path / "release.json"
    file.write_text(PEOPLE)
    release.write_text('{"channel": [[1, 0], [1, 0], [0, 1], [0, 1]]}')
    more = [] if command == "solve" else [str(release)]
    assert main([command, str(file), *more, "--bits"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Eve's in bits, wanted high 0.8464" in told
    file.write_text(PEOPLE.replace('loss = "log"', 'loss = "brier"'))
    assert main([command, str(file), *more, "--bits"]) == 2
    assert capsys.readouterr().err.startswith("bap: --bits needs Eves who all have the log loss")


def test_tiers_need_decisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "people.toml"
    file.write_text(PEOPLE)
    assert main(["tiers", str(file), str(file)]) == 2
    printed = capsys.readouterr().err
    assert "needs Eves with tables of losses" in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize("kind", ["map", "channel", "signals"])
@pytest.mark.parametrize("limit", ["", '[conditions]\nmax_information = "1/10"'])
def test_reports_are_drawn(kind: str, limit: str, tmp_path: Path) -> None:
    (tmp_path / "people.toml").write_text(f"{PEOPLE}{limit}\n")
    assert main(["plot", str(tmp_path / "people.toml"), "--kind", kind, "-o", str(tmp_path / "out.svg")]) == 0
    assert (tmp_path / "out.svg").stat().st_size > 5000


@pytest.mark.parametrize("loss", ["log", "brier"])
@pytest.mark.parametrize("conditions", [{"exp_epsilon": 1}, {"independent_of": [[0]]}, {"independent_of": [[1]]}])
def test_conditions_that_leave_no_room_are_met_exactly(loss: str, conditions: Any) -> None:
    problem = Problem(["1/2", "1/4", "1/4"], [[0, 1], [1, 0], [1, 0]], eves=[Agent(loss)])
    for own in (problem, problem.as_float()):
        found = solve(own, 1, conditions=conditions)
        assert verify(own, found.certificate).optimal
        assert compare(own, 1, found)["optimum"].meets_conditions
