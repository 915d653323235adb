"""Every number of the paper's coin toss, with tolerance zero; then Eve's asymmetry k in place of 10.

The model: tails or heads with probabilities 3/4, 1/4; B = [[1/3, 2/3], [1, 0]] (columns: fixed, fair) and
E = [[0, 1], [k, 0]] (columns: tails, heads). Send the signals "fixed" and "fair" by default on tails and heads, and
let a = P(fair, tails), c = P(fixed, heads) be the masses sent astray. Then

    R_B = 1/4 + a/3 + c,      R_E = min(k c, 3/4 - a) + min(k/4 - k c, a),      R_E <= min(3/4, k/4) by pooling.

A unit of R_E costs Bob 1/k through c and 1/3 through a, and each way alone can reach the ceiling on its side of k = 3:
    k >= 3: c = 3/(4k), a = 0, so q(fixed|heads) = 3/k; V = min(1/4, 1/4 + 3/(4k) - 3/4 lam), threshold 1/k;
    k <= 3: a = k/4, c = 0, so q(fair|tails) = k/3;     V = min(1/4, 1/4 + k/12 - k/4 lam),   threshold 1/3.
At k = 3 both cost 1/3 and full, null and everything on the way tie at the calibrated lam = 1/min(k, 3).
Randomised response moves a = 3w/4 and c = w/4 together: R_B = 1/4 + w/2, R_E = (k + 3) w/4 up to the ceiling, which it
meets at w = min(k, 3)/(k + 3); its threshold in lam is 2/(k + 3).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
import sympy

from bap_lp import Mechanism, Problem, calibrate, evaluate, randomised_response_family, solve
from bap_lp.releases import (
    bob_decision,
    compare,
    full,
    hidden_mixture,
    null,
    randomised_response,
    randomised_response_epsilon,
)

F = Fraction
ASYMMETRIES = [F(1, 7), F(1), F(5, 2), F(299, 100), F(3), F(301, 100), F(4), F(17, 3), F(10), F(1000)]


def coin_toss(k: Any = 10) -> Problem:
    return Problem.from_model(
        ["1/2", "1/2"],
        [[1, 0], ["1/2", "1/2"]],
        [[0, 1], [1, 0]],
        [[0, 1], [k, 0]],
        thetas=["fixed", "fair"],
        states=["tails", "heads"],
        bob_decisions=["fixed", "fair"],
        eve_decisions=["tails", "heads"],
        title="Coin toss",
    )


COIN = coin_toss()
LAM = F(1, 3)


def test_the_model_has_the_papers_prior_and_losses() -> None:
    assert COIN.exact
    assert COIN.prior.tolist() == [F(3, 4), F(1, 4)]
    assert COIN.bob_loss.tolist() == [[F(1, 3), F(2, 3)], [1, 0]]
    assert calibrate(COIN) == LAM


def test_full_and_null_release_have_the_papers_risks() -> None:
    at_full, at_null = evaluate(COIN, full(COIN)), evaluate(COIN, null(COIN))
    assert (at_full.bob, at_full.eve) == (F(1, 4), 0)
    assert (at_null.bob, at_null.eve) == (F(1, 2), F(3, 4))
    assert at_full.alice(LAM) == at_null.alice(LAM) == F(1, 4)
    (tails, heads) = evaluate(COIN, full(COIN)).signals
    assert tails.theta_posterior == {"fixed": F(2, 3), "fair": F(1, 3)}
    assert (tails.bob, heads.bob) == (["fixed"], ["fair"])
    (nothing,) = evaluate(COIN, null(COIN)).signals
    assert nothing.bob_indifferent
    assert nothing.eve == ["heads"]


def test_randomised_response_has_the_papers_risks() -> None:
    family = randomised_response_family(COIN)
    w = sympy.Symbol("w")
    assert (family.start, family.end) == (0, F(1, 2))
    assert family.bob.breakpoints == (0, F(1, 2))
    assert family.bob.values[0] == F(1, 4)
    assert family.bob.slopes == (F(1, 2),)
    assert family.eve.breakpoints == (0, F(3, 13), F(1, 2))
    assert family.eve.values == (0, F(3, 4), F(3, 4))
    assert family.eve.slopes == (F(13, 4), 0)
    thirteenths, quarter = sympy.Rational(3, 13), sympy.Rational(1, 4)
    assert family.bob.to_sympy(w).subs(w, thirteenths) == sympy.Rational(19, 52)
    assert family.eve.to_sympy(w).subs(w, thirteenths / 2) == 13 * quarter * thirteenths / 2


@pytest.mark.parametrize("w", [F(0), F(1, 9), F(3, 13), F(1, 4), F(1, 2), F(2, 3), F(1)])
def test_randomised_response_is_symmetric_about_one_half(w: Fraction) -> None:
    here, there = (evaluate(COIN, randomised_response(COIN, v)).risks for v in (w, 1 - w))
    assert here == there
    near = min(w, 1 - w)
    assert (here.bob, here.eve) == (F(1, 4) + near / 2, min(F(13, 4) * near, F(3, 4)))


@pytest.mark.parametrize(
    ("w", "eve_at_tails"), [(F(1, 10), ["tails"]), (F(3, 13), ["tails", "heads"]), (F(2, 5), ["heads"])]
)
def test_randomised_response_leads_to_the_papers_decisions(w: Fraction, eve_at_tails: list[str]) -> None:
    tails, heads = evaluate(COIN, randomised_response(COIN, w)).signals
    assert (tails.bob, heads.bob) == (["fixed"], ["fair"])
    assert (tails.eve, heads.eve) == (eve_at_tails, ["heads"])


def test_the_best_randomised_response_is_the_papers() -> None:
    family = randomised_response_family(COIN)
    below, above = family.thresholds()
    assert (below.start, below.end, below.minimisers) == (0, F(2, 13), ((0, 0),))
    assert (above.start, above.end, above.minimisers) == (F(2, 13), math.inf, ((F(3, 13), F(3, 13)),))
    assert (below.risks.bob, below.risks.eve) == (F(1, 4), 0)
    assert (above.risks.bob, above.risks.eve) == (F(19, 52), F(3, 4))
    best = family.minimise("calibrated")
    assert (best.w, best.value) == (F(3, 13), F(19, 52) - F(3, 4) * LAM)
    assert best.mechanism.max_ratio == F(10, 3)
    assert best.mechanism.epsilon == math.log(F(10, 3))
    assert round(best.mechanism.epsilon, 2) == 1.20
    tie = family.minimise("2/13")
    assert (tie.minimisers, tie.w, tie.value) == (((0, F(3, 13)),), F(3, 13), F(1, 4))
    assert (randomised_response_epsilon(COIN, "10/3").q == best.mechanism.q).all()


def test_the_optimum_is_proved_exactly() -> None:
    solution = solve(COIN, LAM)
    assert solution.exact
    assert solution.mechanism.channel.tolist() == [[1, 0], [F(3, 10), F(7, 10)]]
    assert (solution.risks.bob, solution.risks.eve) == (F(13, 40), F(3, 4))
    assert (solution.value, solution.bound, solution.gap) == (F(3, 40), F(3, 40), 0)
    pooled, revealed = evaluate(COIN, solution.mechanism).signals
    assert pooled.posterior == {"tails": F(10, 11), "heads": F(1, 11)}
    assert pooled.theta_posterior == {"fixed": F(20, 33), "fair": F(13, 33)}
    assert (pooled.bob, pooled.eve, pooled.eve_indifferent) == (["fixed"], ["tails", "heads"], True)
    assert revealed.posterior == {"tails": 0, "heads": 1}
    assert revealed.theta_posterior == {"fixed": 0, "fair": 1}
    assert (revealed.bob, revealed.eve) == (["fair"], ["heads"])
    # Bob is misled on 3/40 of the datasets, the price above the full release
    assert COIN.prior[1] * solution.mechanism.channel[1][0] == F(3, 40) == solution.risks.bob - F(1, 4)


def test_the_summary_table_is_exact() -> None:
    table = compare(COIN)
    assert table.lam == LAM
    printed = {
        "full": ("0.250", "0.000", "0.250"),
        "null": ("0.500", "0.750", "0.250"),
        "randomised response": ("0.365", "0.750", "0.115"),
        "optimum": ("0.325", "0.750", "0.075"),
    }
    for name, numbers in printed.items():
        row = table[name]
        assert tuple(f"{float(v):.3f}" for v in (row.risks.bob, row.risks.eve, row.alice)) == numbers
    assert table["randomised response"].parameter == "w = 3/13"
    assert table["randomised response"].excess == F(19, 52) - F(13, 40)
    assert table.releases[0].name == "optimum"


# --- Eve's asymmetry k -----------------------------------------------------------------------------------------------


def optimum(k: Fraction, lam: Fraction) -> Fraction:
    """The value derived above."""
    high = F(1, 4) + F(3) / (4 * k) - F(3, 4) * lam if k >= 3 else F(1, 4) + k / 12 - k / 4 * lam
    return min(F(1, 4), high)


def tailored(k: Fraction) -> Mechanism:
    """The channel that takes R_E to its ceiling at least cost to Bob."""
    rows = [[1, 0], [3 / k, 1 - 3 / k]] if k >= 3 else [[1 - k / 3, k / 3], [0, 1]]
    return Mechanism(rows, signals=["fixed", "fair"], states=["tails", "heads"])


@pytest.mark.parametrize("k", ASYMMETRIES)
@pytest.mark.parametrize("lam", [F(1, 20), F(1, 3), F(2, 5), F(7, 8), "calibrated"])
def test_the_optimum_for_every_asymmetry_is_known(k: Fraction, lam: Any) -> None:
    problem = coin_toss(k)
    lam = calibrate(problem) if lam == "calibrated" else lam
    solution = solve(problem, lam)
    assert solution.value == optimum(k, lam)
    assert evaluate(problem, solution.mechanism).alice(lam) == solution.bound == solution.value
    threshold = 1 / max(k, F(3))
    if k != 3 and lam > threshold:
        assert solution.mechanism.channel.tolist() == tailored(k).channel.tolist()


@pytest.mark.parametrize("k", ASYMMETRIES)
def test_releases_for_every_asymmetry_are_known(k: Fraction) -> None:
    problem, ceiling = coin_toss(k), min(k, F(3)) / 4
    assert calibrate(problem) == 1 / min(k, F(3))
    assert evaluate(problem, null(problem)).eve == ceiling
    here = evaluate(problem, tailored(k))
    assert here.eve == ceiling
    assert here.alice(LAM * 2) == optimum(k, LAM * 2)
    assert [s.bob for s in here.signals] == ([["fixed"], ["fair"]] if k != 3 else [["fixed", "fair"]])
    assert any(s.eve_indifferent for s in here.signals)
    family = randomised_response_family(problem)
    w = min(k, F(3)) / (k + 3)
    assert family.eve.kinks == ((w,) if k != 3 else ())
    below, above = family.thresholds()
    assert (below.w, below.end) == (0, 2 / (k + 3))
    assert (above.w, above.risks.bob, above.risks.eve) == (w, F(1, 4) + w / 2, ceiling)
    assert family.mechanism(w).max_ratio == max(k / 3, 3 / k)


def test_the_optimum_is_a_hidden_coin_between_two_releases() -> None:
    """For k > 3 mix Bob's decision with the constant signal "fixed": the family's minimiser is the optimum."""
    constant = Mechanism([[1], [1]], signals=["fixed"], states=COIN.states, name="always fixed")
    family = hidden_mixture(COIN, bob_decision(COIN), constant)
    best = family.minimise(LAM)
    assert (best.w, best.value) == (F(3, 10), F(3, 40))
    assert [piece.end for piece in family.thresholds()] == [F(1, 10), math.inf]
