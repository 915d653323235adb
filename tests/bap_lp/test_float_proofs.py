"""Float certificates: judged in rationals, on the spread between the full and the null release."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import few_lams, few_states, lams, problems

from bap_lp import (
    Agent,
    Certificate,
    Conditions,
    ConflictError,
    InputError,
    Mechanism,
    Problem,
    evaluate,
    lambda_path,
    load_bundle,
    robust,
    save_bundle,
    solve,
    tiers,
    verify,
    verify_robust,
    verify_standalone,
    verify_tiers,
)
from bap_lp.proof import certificate as proofs
from bap_lp.proof import nested
from bap_lp.proof.certificate import TOLERANCE
from bap_lp.rational import EXACT
from bap_lp.releases import full, null


def test_one_float_and_a_large_loss_do_not_make_a_false_claim_true() -> None:
    """With a tolerance of 1e-9 of the largest loss this was verified, "within 0.83"."""
    problem = Problem(["3/4", "1/4"], [["1/3", "2/3", 10**9], [1, 0, 10**9]], [[0, 1], [10, 0]])
    null = Certificate(1 / 3, 0.25, np.array([[0.75, 0, 0], [0.25, 0, 0]]), np.full((3, 2), 1 / 6))
    assert solve(problem, "1/3").value == F(3, 40)
    verdict = verify(problem, null)
    assert not verdict
    assert "of the spread 0.5" in verdict.reason
    best = solve(problem, "1/3", exact=False).certificate
    assert verify(problem, best)
    assert not verify(problem, replace(best, value=best.value + 1e-4))


@pytest.mark.parametrize("huge", [10**13, 10**15, 10**20, 10**99])
@pytest.mark.parametrize("whose", ["Bob", "Eve"])
def test_the_rounding_of_a_huge_loss_excuses_no_false_claim(whose: str, huge: int, tmp_path: Path) -> None:
    """Beside a loss of 1e15 that nobody has, everything was "verified", and `solve` in floats stopped at the null."""
    bob, eve = [["1/3", "2/3", 5], [1, 0, 5]], [[0, 1, 20], [10, 0, 20]]
    (bob if whose == "Bob" else eve)[1][2] = huge
    problem = Problem(["3/4", "1/4"], bob, eve)
    best = solve(problem, "1/3", exact=False)
    assert best.value == pytest.approx(3 / 40, abs=1e-9)
    assert verify(problem, best.certificate)
    u = np.full((3, 3), 1 / 6)
    u[:, 2] = 0
    null = Certificate(1 / 3, 0.25, np.array([[0.75, 0, 0], [0.25, 0, 0]]), u)
    assert not verify(problem, null)
    assert not verify(problem, replace(best.certificate, value=best.value + 1e-4))
    silent = Mechanism([[1.0], [1.0]], signals=["0"])
    save_bundle(tmp_path, replace(best, certificate=null, mechanism=silent), problem, F(1, 3))
    assert not load_bundle(tmp_path).verify(True)
    with pytest.raises(verify_standalone.Refused, match="the proof only shows"):
        verify_standalone.check(tmp_path, True)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308])
def test_nothing_that_is_not_finite_is_verified(bad: float) -> None:
    problem = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    best = solve(problem, "1/3", exact=False).certificate
    table = best.rho.copy()
    table[0, 0] = bad
    for changed in ({"lam": bad}, {"value": bad}, {"rho": table}, {"u": table}):
        assert not verify(problem, replace(best, **changed))


def test_a_huge_lambda_is_judged_by_its_own_proof() -> None:
    problem = Problem([0.75, 0.25], [[1 / 3, 2 / 3], [1, 0]], [[0, 1], [10, 0]])
    claimed = Certificate(1e308, -1e308, np.array([[0.75, 0], [0.25, 0]]), np.array([[5e307, 5e307]] * 2))
    verdict = verify(problem, claimed)
    assert not verdict
    assert "inf" not in verdict.reason


def test_a_float_is_not_good_enough_for_exact_numbers_unless_allowed() -> None:
    problem = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    best = solve(problem, "1/3")
    for changed in (
        {"value": float(best.value)},
        {"lam": 1 / 3},
        {"u": best.certificate.u.astype(float)},
        {"rho": best.certificate.rho.astype(float)},
    ):
        one = replace(best.certificate, **changed)
        assert not one.exact
        assert verify(problem, one, allow_float=False).reason.endswith("those of the certificate are floats")
        assert verify(problem, one)
    assert verify(problem, best.certificate, allow_float=False)
    assert verify(problem.as_float(), solve(problem, "1/3", exact=False).certificate, allow_float=False)


def allowed_gap(problem: Problem, lam: Any) -> tuple[F, F, F]:
    """The largest gap by its definition on the page on trust, and the spreads of Bob and Eve."""
    (worst, hidden), (best, known) = (
        (F(r.bob), F(r.eve)) for r in (evaluate(problem, release(problem)) for release in (null, full))
    )
    ranges = sum(
        F(p) * (F(max(b)) - F(min(b)) + F(lam) * (F(max(e)) - F(min(e))))
        for p, b, e in zip(problem.p, problem.B, problem.E, strict=True)
    )
    bob, eve = worst - best, hidden - known
    return F(1, 10**9) * (bob + F(lam) * eve) + F(1, 2**46) * ranges, bob, eve


COIN = Problem([0.75, 0.25], [[1 / 3, 2 / 3], [1.0, 0.0]], [[0.0, 1.0], [10.0, 0.0]])


@pytest.mark.parametrize(("share", "good"), [(0.99, True), (1.01, False)])
def test_a_float_gap_may_be_as_large_as_the_page_on_trust_says(share: float, good: bool) -> None:
    best, (gap, _, _) = solve(COIN, 1 / 3).certificate, allowed_gap(COIN, 1 / 3)
    # Bob's minima are at (tails, 0) and at a tie of heads: the bound falls by 3/4 d - 10/4 d if u moves by d
    d = share * float(gap) / 1.75
    assert verify(COIN, replace(best, u=best.u + np.array([[d, -d], [0, 0]]))).ok == good
    rounding = (0.325 + 0.25) * 2**-46
    assert verify(COIN, replace(best, value=best.value + share * (float(gap) + rounding))).ok == good


@pytest.mark.parametrize(("miss", "good"), [(0.9e-9, True), (1.1e-9, False)])
def test_a_row_of_a_float_certificate_may_miss_its_sum_by_a_share_of_it(miss: float, good: bool) -> None:
    rare = Problem([0.75, 0.25 - 1e-6, 1e-6], [[0.3, 0.7], [1.0, 0.0], [1.0, 0.5]], [[0.0, 1.0], [10.0, 0.0], [1, 0]])
    best = solve(rare, 1 / 3).certificate
    for x in range(3):
        rho = best.rho.copy()
        rho[x] *= 1 + miss
        assert verify(rare, replace(best, rho=rho)).ok == good
    u = best.u.copy()
    u[0] *= 1 + miss
    assert verify(rare, replace(best, u=u)).ok == good


@pytest.mark.parametrize(("share", "good"), [(0.99, True), (1.01, False)])
def test_float_limits_may_be_missed_by_as_much_as_the_page_on_trust_says(share: float, good: bool) -> None:
    _, bob, eve = allowed_gap(COIN, 1 / 3)
    for lam, name, limit, off in (
        (0.0, "min_eve_risk", 0.5, share * (1e-9 * float(eve) + 0.5 * 2**-46)),
        (1.0, "max_bob_risk", 0.3, -share * (1e-9 * float(bob) + 0.3 * 2**-46)),
        (0.0, "exp_epsilon", 2.0, -share * 4e-9),  # q = 2 q', and q - (2 - d) q' = d q' may be 1e-9 (q + 2 q')
    ):
        proved = solve(COIN, lam, conditions=Conditions(**{name: limit})).certificate
        assert proved.proof is not None
        other = replace(proved.proof, conditions=Conditions(**{name: limit + off}))
        assert verify(COIN, replace(proved, proof=other)).ok == good, name


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problems(5, 3), lams, st.integers(-3, 9))
def test_a_constant_added_to_all_losses_of_a_state_changes_nothing(problem: Problem, lam: F, size: int) -> None:
    """The spread and the gap are those of the differences between decisions: offsets do not loosen the check."""
    rough = solve(problem, lam, exact=False)
    assert verify(problem, rough.certificate)
    arrays = problem.as_float().arrays.lifted()
    offset = EXACT.number(F(10) ** size)
    shifted = replace(arrays, B=arrays.B + offset)
    at = EXACT.number(float(lam))
    assert (arrays.spread(at), arrays.range(at)) == (shifted.spread(at), shifted.range(at))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(few_states(), few_lams, st.sampled_from([1e-6, 1e-4, 1e-2]), st.data())
def test_a_float_proof_that_is_off_by_more_than_the_tolerance_is_refused(
    problem: Problem, lam: F, off: float, data: st.DataObject
) -> None:
    rough = solve(problem, lam, exact=False).certificate
    spread = float(problem.arrays.spread(EXACT.number(lam)))
    assert verify(problem, rough)
    assert not verify(problem, replace(rough, value=rough.value + off * (1 + abs(rough.value))))
    # what is shifted between decisions raises the value; if by more than the tolerance, it is seen
    rho = rough.rho.copy()
    x, i, k = (data.draw(st.integers(0, n - 1)) for n in (*rho.shape, rho.shape[1]))
    move = off * rho[x, i]
    rho[x, i], rho[x, k] = rho[x, i] - move, rho[x, k] + move
    arrays = problem.as_float().arrays
    gap = float(arrays.value(rho, float(lam))) - float(solve(problem, lam).value)
    if gap > 10 * TOLERANCE * spread + 1e-12:
        assert not verify(problem, replace(rough, rho=rho))


def test_many_float_states_are_judged_in_floats_with_error_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(4)
    n = 400
    problem = Problem(random.dirichlet(np.ones(n)), random.random((n, 4)), random.random((n, 3)))
    best = solve(problem, 0.5).certificate
    slow = verify(problem, best)
    monkeypatch.setattr(proofs, "_MANY", 0)
    calls: list[Any] = []
    monkeypatch.setattr(proofs, "_verify", lambda *a: calls.append(a) or slow)
    assert verify(problem, best)
    assert calls == []  # floats decide
    wrong = replace(best, value=best.value + 1e-7)
    verify(problem, wrong)
    assert len(calls) == 1  # floats never refuse: rationals do
    monkeypatch.undo()
    assert not verify(problem, wrong)


def test_float_worst_cases_are_judged_on_the_spread() -> None:
    bob = [["1/3", "2/3", 10**9], [1, 0, 10**9]]
    coins = [Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (4, 10)]
    rough = robust(coins, "1/3", exact=False).certificate
    assert verify_robust(coins, rough)
    assert not verify_robust(coins, rough, allow_float=False)
    assert not verify_robust(coins, replace(rough, value=rough.value + 1e-4))
    assert not verify_robust(coins, replace(rough, lams=(math.inf, 1 / 3)))


def test_a_scenario_that_is_never_the_worst_excuses_no_false_claim(tmp_path: Path) -> None:
    """Its spread of 1e12 made the null release "optimal up to 0.18" beside it."""
    coin = Problem([0.75, 0.25], [[1 / 3, 2 / 3], [1, 0]], [[0, 1], [10, 0]])
    calm = Problem([0.75, 0.25], [[0, 0], [0, 0]], [[0, 1e12], [1e12, 0]])
    best = robust([coin, calm], 1 / 3)
    assert verify_robust([coin, calm], best.certificate)
    assert best.value == pytest.approx(3 / 40, abs=1e-9)
    channel = np.zeros_like(best.certificate.channel)
    channel[:, 0] = 1.0
    replies = [np.full(u.shape, w / u.shape[1] / 3) for u, w in zip(best.certificate.replies, (1, 0), strict=True)]
    change = {"channel": channel, "value": 0.25, "weights": np.array([1.0, 0.0]), "replies": tuple(replies)}
    forged = replace(best.certificate, **change)
    assert "the weights only prove" in verify_robust([coin, calm], forged).reason
    silent = Mechanism(channel[:, :1], signals=["0 | 0"])
    save_bundle(tmp_path, replace(best, certificate=forged, mechanism=silent))
    assert not load_bundle(tmp_path).verify(True)
    with pytest.raises(verify_standalone.Refused, match="the weights prove less"):
        verify_standalone.check(tmp_path, True)


def test_float_tiers_are_judged_on_the_spread() -> None:
    """On the scale of the largest loss the null release, at 0.25 instead of 3/40, was "within 0.4 of optimal"."""
    bob = [["1/3", "2/3", 10**9], [1, 0, 10**9]]
    coins = [Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (10, 2)]
    exact, rough = tiers(coins, "1/3"), tiers(coins, "1/3", exact=False)
    assert verify_tiers(coins, exact.certificate, allow_float=False)
    assert verify_tiers(coins, rough.certificate)
    assert not verify_tiers(coins, rough.certificate, allow_float=False)
    blind = np.zeros((2, 9))
    blind[:, 0] = 0.75, 0.25
    replies = tuple(np.full(u.shape, 1 / 6) for u in rough.certificate.replies)
    value = sum(float(evaluate(one, null(one)).alice(F(1, 3))) for one in coins)
    false = replace(rough.certificate, rho=blind, replies=replies, value=value)
    assert value > float(exact.value) + 0.1
    verdict = verify_tiers(coins, false)
    assert not verdict
    assert "of the spread" in verdict.reason
    for changed in (
        {"value": rough.certificate.value + 1e-4},
        {"value": math.nan},
        {"lams": (math.inf, 1 / 3)},
        {"weights": (1.0, math.nan)},
        {"lams": (1e308, 1 / 3)},
    ):
        assert not verify_tiers(coins, replace(rough.certificate, **changed))


@pytest.mark.parametrize("seed", range(6))
def test_float_tiers_verify_beside_huge_losses(seed: int) -> None:
    draw = random.Random(seed)
    p = [0.2, 0.3, 0.5]
    tables = [[[1e9 + 5 * draw.random() for _ in range(2)] for _ in p] for _ in range(4)]
    pair = [Problem(p, *tables[:2]), Problem(p, *tables[2:])]
    found = tiers(pair, [0.5, 2.0], [1.0, 0.7])
    assert found.verify(), found.verify().reason
    worse = found.certificate.rho[:, ::-1].copy()
    assert not verify_tiers(pair, replace(found.certificate, rho=worse))


def test_large_float_tiers_are_judged_in_floats_with_error_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)
    p = draw.dirichlet(np.ones(40))
    pair = [Problem(p, draw.random((40, 3)), draw.random((40, 3))) for _ in range(2)]
    best = tiers(pair, 0.5).certificate
    slow = verify_tiers(pair, best)
    assert slow
    monkeypatch.setattr(nested, "_MANY", 0)
    monkeypatch.setattr(nested.Nest, "lifted", lambda _: pytest.fail("floats decide"))
    quick = verify_tiers(pair, best)
    assert quick
    monkeypatch.undo()
    assert not verify_tiers(pair, replace(best, value=best.value + 1e-7))


@pytest.mark.parametrize(
    ("seed", "demand"),
    [(7, {"max_signals": 2}), (16, {"exp_epsilon": 2.0}), (27, {"margin": 0.01}), (75, {"min_eve_risk": 1e9 + 0.5})],
)
def test_float_solutions_under_conditions_verify_beside_huge_losses(seed: int, demand: dict[str, Any]) -> None:
    """The solver stopped at a gap of 1e-10 of the largest loss, which was a tenth of the spread."""
    draw = random.Random(seed)
    states = draw.randint(2, 4)
    draw.choice([0, 3, 6, 9])
    weights = [draw.randint(1, 5) for _ in range(states)]
    bob = [[float(draw.randint(0, 5)) for _ in range(3)] + [1e9] for _ in range(states)]
    eve = [[draw.randint(0, 5) + 1e9 for _ in range(3)] for _ in range(states)]
    problem = Problem([w / sum(weights) for w in weights], bob, eve)
    assert verify(problem, solve(problem, 0.5, conditions=Conditions(**demand)).certificate)


def _beside(seed: int, offset: float, unit: float) -> tuple[Problem, list[float]]:
    """Two or three states and random losses of this unit beside an offset, two Eves, one with a weight."""
    draw = random.Random(seed)
    states = draw.randint(2, 3)
    masses = [draw.random() for _ in range(states)]

    def losses(width: int) -> list[list[float]]:
        return [[offset + unit * 5 * draw.random() for _ in range(width)] for _ in range(states)]

    eves = [Agent(losses(2), name="first"), Agent(losses(2), name="second", weight=2.5)]
    problem = Problem([mass / sum(masses) for mass in masses], losses(3), eves=eves)
    floors = [0.999 * float(min(problem.p @ eve.loss)) for eve in problem.eves]
    return problem, floors


DEMANDS: dict[str, Any] = {
    "exp_epsilon": lambda problem, floors, unit: {"exp_epsilon": 2.0},
    "delta": lambda problem, floors, unit: {"exp_epsilon": 1.5, "delta": 0.1},
    "min_eve_risk": lambda problem, floors, unit: {"min_eve_risk": _between(problem, 1)},
    "max_bob_risk": lambda problem, floors, unit: {"max_bob_risk": _between(problem, 0)},
    "margin": lambda problem, floors, unit: {"margin": 0.01 * unit},
    "no margin": lambda problem, floors, unit: {"margin": 0},
    "max_signals": lambda problem, floors, unit: {"max_signals": 2},
    "max_signals, margin": lambda problem, floors, unit: {"max_signals": 2, "margin": 0},
    "max_signals, floor": lambda problem, floors, unit: {"max_signals": 2, "min_eve_risk": _between(problem, 1)},
    "deterministic": lambda problem, floors, unit: {"deterministic": True},
    "deterministic, margin": lambda problem, floors, unit: {"deterministic": True, "margin": 0.01 * unit},
    "posterior_caps": lambda problem, floors, unit: {"posterior_caps": [{"event": [0], "at_most": 0.9}]},
    "posterior_ratio": lambda problem, floors, unit: {"posterior_ratio": [{"event": [0], "exp_epsilon": 1.5}]},
    "signal_floor": lambda problem, floors, unit: {"signal_floor": dict(zip(("first", "second"), floors, strict=True))},
    "max_leakage": lambda problem, floors, unit: {"max_leakage": 1.5},
    "independent_of": lambda problem, floors, unit: {"independent_of": [[0]]},
    "pufferfish": lambda problem, floors, unit: {"pufferfish": {"pairs": [[[0], [1]]], "exp_epsilon": 1.5}},
}


def _between(problem: Problem, agent: int) -> float:
    low, high = (float(ends[agent]) for ends in problem.arrays.extremes())
    return low + 0.7 * (high - low)


@pytest.mark.slow
@pytest.mark.parametrize(("offset", "unit"), [(1e9, 1.0), (0.0, 1e-9), (1e3, 1e-6)])
@pytest.mark.parametrize("demand", DEMANDS)
def test_float_solutions_under_every_notion_verify_beside_huge_losses(demand: str, offset: float, unit: float) -> None:
    """Products such as p(x) B(x,i) of losses near 1e9 lost what the decisions differ by, in the solver, not the check.

    Branches were pruned on the scale of the largest loss; that a Bob and an Eve follow their signals was, too.
    """
    for seed in range(4):
        problem, floors = _beside(seed, offset, unit)
        try:
            found = solve(problem, 0.5, conditions=Conditions(**DEMANDS[demand](problem, floors, unit)))
        except ConflictError:
            continue
        verdict = verify(problem, found.certificate)
        assert verdict, f"{demand}, {seed}: {verdict.reason}"
        assert found.bound <= found.value + 1e-15 * abs(found.value)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_agents_with_beliefs_of_their_own_act_on_differences(offset: float) -> None:
    """Decisions were taken for tied, and signals for obeyed, within 1e-9 of the largest loss."""
    eve = Agent([[offset, offset + 1.0], [offset + 1.0, offset]], prior=[0.25, 0.75])
    problem = Problem([0.5, 0.5], [[offset, offset + 1.0], [offset + 1.0, offset]], eves=[eve])
    assert evaluate(problem, null(problem)).eve - offset == 0.5
    found = solve(problem, 0.1)
    assert verify(problem, found.certificate)
    assert found.value - 0.9 * offset == pytest.approx(0.0, abs=1e-6)
    # told to follow a signal against her belief she would not
    assert found.certificate.proof is not None
    told = found.certificate.proof.channel[:, [1, 0, 3, 2]]
    changed = replace(
        found.certificate, rho=problem.p[:, None] * told, proof=replace(found.certificate.proof, channel=told)
    )
    assert "does not follow its decision" in verify(problem, changed).reason


def test_a_limit_that_floats_miss_by_rounding_is_no_reason_to_refuse() -> None:
    """Every float between the risks of the full and the null release is attainable, their own roundings included."""
    for seed in range(6):
        problem, _ = _beside(seed, 1e9, 1.0)
        (bob, _), (_, eve) = problem.arrays.extremes()
        for wanted in ({"max_bob_risk": float(bob)}, {"min_eve_risk": float(eve)}):
            for more in ({}, {"deterministic": True}, {"max_signals": 3}):
                found = solve(problem, 0.5, conditions=Conditions(**wanted, **more))
                assert verify(problem, found.certificate)


def test_tiny_probabilities_of_an_optimum_found_in_rationals_are_kept() -> None:
    """They were cut off as noise, and what was left was the full release, the worst of all on this spread of 3e-14."""
    losses = [[F(1, 4), 1, 1, 1], [F(1, 2**43), F(1, 2**44), 1, 1]]
    problem = Problem(["1/2", "1/2"], [[1, 1], [1, 1]], losses)
    assert verify(problem, solve(problem, 1, exact=False).certificate)


def test_float_agents_follow_what_they_are_told_whatever_losses_they_do_not_expect() -> None:
    """Bob believes in the first state alone. The ratio makes it possible at every signal, so he always takes 1."""
    bob = Agent([[2, 5e-9], [1, 8e9], [4, 8], [1e9, 4e-9]], name="Bob", prior=[1, 0, 0, 0])
    eve = Agent([[9, 2e9], [0, 4e9], [1e-9, 5e9], [2, 2]], name="Eve")
    problem = Problem([1 / 7, 3 / 7, 1 / 21, 8 / 21], bobs=[bob], eves=[eve])
    asked = Conditions(posterior_ratio=[{"event": [0], "exp_epsilon": 100}])
    found = solve(problem, 0.0, conditions=asked)
    assert found.value == pytest.approx(24e9 / 7) == evaluate(problem, found.mechanism).bob
    assert verify(problem, found.certificate)
    disobeyed = replace(problem.bobs[0], prior=problem.prior)
    other = solve(Problem(problem.prior, bobs=[disobeyed], eves=problem.eves), 0.0, conditions=asked)
    assert not verify(problem, other.certificate)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6))
def test_float_agents_with_own_beliefs_leave_alice_no_more_risk_than_is_proved(seed: int) -> None:
    """An agent who is indifferent may do Alice a favour; then R_A lies between the bound and the value."""
    rng = random.Random(seed)

    def table() -> list[list[float]]:
        return [[rng.randint(0, 9) * 10.0 ** rng.choice([-9, 0, 9]) for _ in range(2)] for _ in range(4)]

    def prior() -> list[float]:
        shares = [rng.choice([0, 1e-9, 1, 2, 3]) for _ in range(3)] + [1]
        return [v / sum(shares) for v in shares]

    agents = [Agent(table(), name=name, prior=prior()) for name in ("Bob", "Eve")]
    problem = Problem([0.25] * 4, bobs=agents[:1], eves=agents[1:])
    found = solve(problem, 0.5)
    again = evaluate(problem, found.mechanism).risks.alice(0.5)
    near = 1e-9 * (abs(again) + found.risks.bob + found.risks.eve)
    assert found.bound - near <= again <= found.value + near


def test_a_margin_is_judged_on_what_tells_two_decisions_apart() -> None:
    """Two decisions of Bob are the same; a third one that is worse by 6e9 does not make them differ by 1/10."""
    problem = Problem([1.0], [[6e9, 1, 1]], [[0, 1]])
    with pytest.raises(InputError, match=r"margin = 0.1 is not attainable"):
        solve(problem, 0.5, conditions=Conditions(margin=0.1))


def test_a_margin_is_not_broken_beside_a_huge_loss_where_the_signal_is_not_sent() -> None:
    """Eve was told to lose 1 in the first state; a loss of 1e15 in the third one, which sends other signals, hid it."""
    problem = Problem([0.4, 0.4, 0.2], [[0, 1], [1, 0], [1e15, 0]], [[0, 1], [1, 0], [1e15, 0]])
    best = solve(problem, 1.0, conditions=Conditions(margin=0.01))
    exact = solve(Problem(["2/5", "2/5", "1/5"], problem.bob_loss.astype(int), problem.eve_loss.astype(int)), 1,
                  conditions=Conditions(margin="1/100"))  # fmt: skip
    assert best.value == pytest.approx(float(exact.value), abs=1e-6)
    assert best.certificate.proof is not None
    channel = np.array([[0.0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 1]])  # (Bob, Eve) = (0, 1), then (1, 1)
    proof = replace(best.certificate.proof, channel=channel)
    forged = replace(best.certificate, rho=np.array([[0.4], [0.4], [0.2]]) * channel, value=-0.4, proof=proof)
    assert "prefers its decision by less than the margin" in verify(problem, forged).reason


def test_the_most_private_mechanism_of_a_float_path_is_followed_too() -> None:
    """Its channel was not checked: it promised an R_E that agents who act on their own beliefs do not leave."""
    bob = Agent(
        [[9e9, 1e-9], [1e-9, 0], [3e-9, 4e9], [8e-9, 7], [9e9, 7]],
        name="Bob",
        prior=[2 / 3, 1 / 3, 0, 0, 0],
        harm=[[0, 1], [0, 0], [1, 0], [0, 0], [0, 0]],
    )
    eve = Agent([[2e-9, 0], [0, 0], [2e9, 9e-9], [9, 0], [9, 8e9]], name="Eve")
    problem = Problem([0.2] * 5, bobs=[bob], eves=[eve])
    path = lambda_path(problem)
    assert path.verify()
    assert evaluate(problem, path.pieces[-1].mechanism).eve == pytest.approx(path.pieces[-1].risks.eve)


@pytest.mark.parametrize("weights", [(1, 3, 0, 1), (2, 5, 2, 1), (3, 2, 0, 1)])
def test_a_factor_that_allows_certainty_exactly_is_met_in_floats(weights: tuple[int, ...]) -> None:
    # K P(A) = 1: the coefficient 1 - K P(A) is all rounding in floats, and must not be read as a demand
    prior = [F(w, sum(weights)) for w in weights]
    problem = Problem(prior, [[0, 1], [1, 0], [1, 0], [0, 1]], [[0], [0], [1], [0]])
    K = 1 / (prior[1] + prior[2])
    for wanted in (
        Conditions(posterior_ratio=[{"event": [1, 2], "exp_epsilon": K}]),
        Conditions(pufferfish={"pairs": [[[1, 2], [0, 1, 2, 3]]], "exp_epsilon": K}),
    ):
        found = solve(problem, 0, exact=False, conditions=wanted)
        assert found.value == pytest.approx(float(solve(problem, 0, conditions=wanted).value), abs=1e-12)
        verdict = verify(problem, found.certificate)
        assert verdict, verdict.reason
