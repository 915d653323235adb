"""Floats: what is found is proved and near the optimum, beside losses of any size; a false claim is refused."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import (
    Agent,
    Conditions,
    InputError,
    Problem,
    evaluate,
    lambda_path,
    load_bundle,
    robust,
    save_bundle,
    solve,
    tiers,
    verify,
    verify_standalone,
)
from bap_lp.releases import null

COINS = [Problem(["3/4", "1/4"], [["1/3", "2/3", 10**9], [1, 0, 10**9]], [[0, 1], [k, 0]]) for k in (10, 2)]
FOUND: list[tuple[Any, Any]] = [
    (solve(COINS[0], "1/3", exact=False), lambda found: verify(COINS[0], found.certificate)),
    (robust(COINS, "1/3", exact=False), lambda found: verify(COINS, found.certificate)),
    (tiers(COINS, "1/3", exact=False), lambda found: verify(COINS, found.certificate)),
]


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
    calm = Problem(["3/4", "1/4"], [[0, 0, 0], [0, 0, 0]], eve)  # there nothing is worth releasing
    null = solve(calm, "1/3", exact=False)
    assert not verify(problem, null.certificate)
    assert not verify(problem, replace(best.certificate, value=best.value + 1e-4))
    save_bundle(tmp_path, replace(best, certificate=null.certificate, mechanism=null.mechanism), problem, F(1, 3))
    assert not load_bundle(tmp_path).verify(True)
    with pytest.raises(verify_standalone.Refused):
        verify_standalone.check(tmp_path, True)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e308])
def test_no_value_that_is_not_finite_is_verified(bad: float) -> None:
    for found, check in FOUND:
        assert check(found)
        for changed in ({"value": bad}, {"value": found.certificate.value + 1e-4}):
            assert not check(replace(found, certificate=replace(found.certificate, **changed)))


def test_a_scenario_that_is_never_the_worst_excuses_no_false_claim(tmp_path: Path) -> None:
    """Its spread of 1e12 made the null release "optimal up to 0.18" beside it."""
    coin = Problem([0.75, 0.25], [[1 / 3, 2 / 3], [1, 0]], [[0, 1], [10, 0]])
    calm = Problem([0.75, 0.25], [[0, 0], [0, 0]], [[0, 1e12], [1e12, 0]])
    best = robust([coin, calm], 1 / 3)
    assert verify([coin, calm], best.certificate)
    assert best.value == pytest.approx(3 / 40, abs=1e-9)
    quiet = robust([Problem([0.75, 0.25], [[0, 0], [0, 0]], [[0, 1], [10, 0]]), calm], 1 / 3)
    assert not verify([coin, calm], quiet.certificate)
    save_bundle(tmp_path, replace(best, certificate=quiet.certificate, mechanism=quiet.mechanism))
    assert not load_bundle(tmp_path).verify(True)
    with pytest.raises(verify_standalone.Refused):
        verify_standalone.check(tmp_path, True)


@pytest.mark.parametrize("offset", [0.0, 1e9])
def test_agents_with_beliefs_of_their_own_act_on_differences(offset: float) -> None:
    """Decisions were taken for tied, and signals for obeyed, within 1e-9 of the largest loss."""
    eve = Agent([[offset, offset + 1.0], [offset + 1.0, offset]], prior=[0.25, 0.75])
    problem = Problem([0.5, 0.5], [[offset, offset + 1.0], [offset + 1.0, offset]], eves=[eve])
    assert evaluate(problem, null(problem)).eve - offset == 0.5
    found = solve(problem, 0.1)
    assert verify(problem, found.certificate)
    assert found.value - 0.9 * offset == pytest.approx(0.0, abs=1e-6)
    # with another belief she would not follow the same signals
    other = Problem([0.5, 0.5], problem.bob_loss, eves=[replace(eve, prior=[0.75, 0.25])])
    assert not verify(other, found.certificate)


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
@settings(max_examples=60)
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
