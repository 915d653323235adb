"""The path in lam: the paper's numbers, then what must hold for every problem, exactly where it is exact."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction as F
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import sympy
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import channels, lams, problems

from bap_lp import (
    Conditions,
    InputError,
    Mechanism,
    Problem,
    calibrate,
    chooses,
    corner,
    evaluate,
    frontier,
    lambda_path,
    sdc,
    solve,
    verify,
)
from bap_lp.releases import full, null, randomised_response

quick = settings(max_examples=50)
COIN = Problem.from_model(
    ["1/2", "1/2"],
    [[1, 0], ["1/2", "1/2"]],
    [[0, 1], [1, 0]],
    [[0, 1], [10, 0]],
    states=["tails", "heads"],
    bob_decisions=["fixed", "fair"],
)


def inside(path: Any) -> list[F]:
    """A lam within every piece."""
    return [p.start + 1 if p.end == math.inf else (p.start + p.end) / 2 for p in path.pieces]


def size_of(problem: Problem, lam: F) -> float:
    """The largest loss that enters R_A."""
    return float(max(problem.bob_loss.max(), lam * problem.eve_loss.max()))


def test_coin_toss_has_one_breakpoint() -> None:
    path = lambda_path(COIN)
    assert path.breakpoints == (F(1, 10),)
    assert [p.line for p in path.pieces] == [(F(1, 4), 0), (F(13, 40), F(-3, 4))]
    assert [p.mechanism.channel.tolist() for p in path.pieces] == [[[1, 0], [0, 1]], [[1, 0], [F(3, 10), F(7, 10)]]]
    assert path.value() == F(3, 40)
    assert path.value("1/10") == F(1, 4)
    assert path.piece("1/10") is path.pieces[1]
    assert path.exact
    assert path.verify()
    lam = sympy.Symbol("lam", nonnegative=True)
    quarter, half = sympy.Rational(1, 4), sympy.Rational(13, 40) - sympy.Rational(3, 4) * lam
    assert path.to_sympy(lam) == sympy.Piecewise((quarter, lam <= sympy.Rational(1, 10)), (half, True))
    assert path.to_sympy().free_symbols == {sympy.Symbol("lambda", nonnegative=True)}


@pytest.mark.slow
@quick
@given(problems(), st.lists(lams, max_size=3))
def test_an_exact_path_is_convex_proved_and_that_of_solve(problem: Problem, some: list[F]) -> None:
    path = lambda_path(problem)
    every, nothing = (evaluate(problem, release(problem)) for release in (full, null))
    assert path.pieces[0].start == 0
    assert path.pieces[0].risks.bob == every.bob
    assert path.pieces[-1].end == math.inf
    assert path.pieces[-1].risks.eve == nothing.eve
    assert path.verify()
    for left, right in pairwise(path.pieces):
        assert left.start < left.end == right.start
        assert left.risks.bob < right.risks.bob
        assert left.risks.eve < right.risks.eve
        assert left.risks.alice(left.end) == right.risks.alice(right.start)
    slopes = [(b.risks.bob - a.risks.bob) / (b.risks.eve - a.risks.eve) for a, b in pairwise(frontier(problem, path))]
    assert slopes == sorted(set(slopes)) == list(path.breakpoints)
    for piece in path.pieces:
        assert verify(problem, piece.certificate)
        assert evaluate(problem, piece.mechanism).risks == piece.risks
    for lam in (*some, *inside(path), *path.breakpoints):
        optimum = solve(problem, lam)
        assert (optimum.value, optimum.mechanism) == (path.value(lam), path.piece(lam).mechanism)
        assert verify(problem, path.certificate(lam))


def test_pieces_that_floats_cannot_tell_apart_leave_the_lower_line() -> None:
    """The second piece has R_B larger by 5e-17 and R_E larger by 5e-10: in floats it is as useful and more private."""
    bob = [["1/10000000", "1/10000000", 0], [1, 1, "10000001/10000000"]]
    problem = Problem(["1/2", "1/2"], bob, [[0, 1], ["1/1000000000", 0]])
    exact, path = lambda_path(problem), lambda_path(problem, exact=False)
    assert len(exact.pieces) == 2
    for lam in (*exact.breakpoints, F(1), F(10**6)):
        reached = path.value(float(lam)) - float(exact.value(lam))
        assert abs(reached) <= 1e-12 * size_of(problem, lam)


@pytest.mark.slow
@quick
@given(problems(), st.lists(lams, min_size=1, max_size=3))
def test_a_float_path_has_the_values_of_the_exact_one(problem: Problem, some: list[F]) -> None:
    exact, path = lambda_path(problem), lambda_path(problem, exact=False)
    assert path.verify()
    assert all(a.risks.eve < b.risks.eve and a.risks.bob < b.risks.bob for a, b in pairwise(path.pieces))
    for lam in (*some, *exact.breakpoints):
        reached = path.value(float(lam)) - float(exact.value(lam))
        assert abs(reached) <= 1e-9 * size_of(problem, lam)


@pytest.mark.slow
@quick
@given(problems(tempers=("ordinary", "zero_one", "small")), st.fractions(0, 1), st.fractions(0, 1))
def test_disclosure_control_is_the_optimum_under_a_floor_and_its_shadow_price(
    problem: Problem, share: F, other: F
) -> None:
    path = lambda_path(problem)
    first, last = path.pieces[0].risks, path.pieces[-1].risks
    floor = last.eve * share
    found = sdc(problem, min_eve_risk=floor, path=path)
    assert found.risks == evaluate(problem, found.mechanism).risks
    assert found.risks.eve == max(floor, first.eve)
    assert verify(problem, found.certificate)
    assert found.risks.alice(found.lam) == found.certificate.value
    conditioned = solve(problem, 0, conditions=Conditions(min_eve_risk=floor))
    [cost] = conditioned.costs()
    low, high = found.price_interval
    assert found.risks.bob == conditioned.risks.bob
    assert low <= cost.shadow_prices["min_eve_risk"] <= high
    # the other way round: what that floor costs is exactly what buys it
    cap = first.bob + other * (last.bob - first.bob)
    back = sdc(problem, max_bob_risk=cap, path=path)
    assert back.risks == evaluate(problem, back.mechanism).risks
    assert back.risks.bob == cap
    assert verify(problem, back.certificate)
    again = sdc(problem, min_eve_risk=back.risks.eve, path=path)
    assert again.risks == back.risks
    if cap not in [p.risks.bob for p in path.pieces]:
        assert back.price == 1 / again.price
        assert again.price_interval == (again.price, again.price)


def test_disclosure_control_of_the_coin_toss() -> None:
    found = sdc(COIN, min_eve_risk="3/8")
    assert found.risks.bob == F(23, 80)
    assert found.risks.eve == F(3, 8)
    assert found.price == found.lam == F(1, 10)
    assert found.mechanism.channel.tolist() == [[1, 0], [F(3, 20), F(17, 20)]]
    back = sdc(COIN, max_bob_risk="23/80")
    assert (back.risks.eve, back.price) == (F(3, 8), 10)
    assert sdc(COIN, min_eve_risk="3/4").price_interval == (F(1, 10), math.inf)
    assert sdc(COIN, min_eve_risk=0).price_interval == (0, F(1, 10))
    assert sdc(COIN, max_bob_risk="1/4").price_interval == (10, math.inf)
    assert sdc(COIN, max_bob_risk="13/40").price_interval == (0, 10)
    assert sdc(COIN, max_bob_risk=7).price_interval == (0, 0)
    rounded = sdc(COIN, min_eve_risk=0.375)
    assert (rounded.risks.bob, rounded.price) == pytest.approx((23 / 80, 0.1))
    assert verify(rounded.problem, rounded.certificate)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({"min_eve_risk": "4/5"}, "min_eve_risk = 4/5 cannot be reached: the null release .* R_E <= 3/4"),
        ({"min_eve_risk": 0.8}, "min_eve_risk = 0.8 cannot be reached: the null release .* R_E <= 0.75"),
        ({"max_bob_risk": "1/5"}, "max_bob_risk = 1/5 cannot be reached: the full release .* R_B >= 1/4"),
        ({}, "one of the two"),
        ({"min_eve_risk": 0, "max_bob_risk": 1}, "one of the two"),
    ],
)
def test_unattainable_conditions_state_the_range(condition: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sdc(COIN, **condition)


@pytest.mark.slow
@settings(max_examples=30)
@given(st.data(), problems(states=6, decisions=3), lams)
def test_what_chooses_a_mechanism(data: st.DataObject, problem: Problem, lam: F) -> None:
    path = lambda_path(problem)
    kinds = [data.draw(channels(problem)), full(problem), null(problem), solve(problem, lam).mechanism]
    for mechanism in kinds:
        interval = chooses(problem, mechanism, path)
        for at in (lam, F(0), *path.breakpoints[:3], *inside(path)[:3], inside(path)[-1]):
            over = evaluate(problem, mechanism).alice(at) - solve(problem, at).value
            assert over >= 0
            assert (over == 0) == (at in interval)
    assert lam in chooses(problem, kinds[-1], path)


def test_what_chooses_in_the_coin_toss() -> None:
    path = lambda_path(COIN)
    for mechanism, start, end in (
        (full(COIN), 0, F(1, 10)),
        (path.pieces[1].mechanism, F(1, 10), math.inf),
        (sdc(COIN, min_eve_risk="3/8").mechanism, F(1, 10), F(1, 10)),
    ):
        found = chooses(COIN, mechanism)
        assert (found.start, found.end) == (start, end)
    noisy = randomised_response(COIN, "3/13")
    assert chooses(COIN, noisy).empty
    assert F(1, 3) not in chooses(COIN, noisy)
    close = chooses(COIN, path.pieces[1].mechanism.as_float())
    assert close.start == pytest.approx(0.1)
    assert close.end == math.inf


@pytest.mark.slow
@quick
@given(problems(), lams)
def test_a_corner_is_attained_where_the_path_has_one_piece(problem: Problem, lam: F) -> None:
    path = lambda_path(problem)
    reached = corner(problem, lam)
    assert reached.attained == (len(path.pieces) == 1)
    assert reached.excess == path.value(lam) - reached.risks.alice(lam) >= 0
    if reached.attained:
        assert evaluate(problem, reached.mechanism).risks == reached.risks
    known = corner(problem, lam, path)
    assert (known.attained, known.excess, known.value) == (reached.attained, reached.excess, reached.value)


def test_corner_of_the_coin_toss() -> None:
    assert calibrate(COIN) == F(1, 3)
    at = corner(COIN)
    assert (at.risks.bob, at.risks.eve, at.lam) == (F(1, 4), F(3, 4), F(1, 3))
    assert (at.value, at.excess, at.attained) == (0, F(3, 40), False)
    blind = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [[1, 2], [1, 2]])
    assert corner(blind).attained
    assert corner(blind).lam is None
    with pytest.raises(InputError, match="lam"):
        corner(COIN, -1)


def test_no_proof_outside_a_piece_or_at_a_float() -> None:
    piece = lambda_path(COIN).pieces[0]
    with pytest.raises(InputError, match="between 0 and 1/10"):
        piece.certificate_at("1/5")
    with pytest.raises(InputError, match="is a float"):
        piece.certificate_at(0.05)
    with pytest.raises(InputError, match="must be exact"):
        lambda_path(COIN.as_float(), exact=True)


@pytest.mark.parametrize("asked", [None, Conditions(exp_epsilon=9)])
def test_progress_counts_the_pieces(asked: Conditions | None) -> None:
    seen: list[tuple[int, float]] = []
    path = lambda_path(COIN, progress=lambda pieces, lam: seen.append((pieces, lam)), conditions=asked)
    assert seen == [(k, float(piece.start)) for k, piece in enumerate(path.pieces, start=1)]


def test_a_wrong_path_is_found_out() -> None:
    path = lambda_path(COIN)
    first, second = path.pieces
    assert not replace(path, pieces=(second,)).verify()
    assert not replace(path, pieces=(first, replace(first, start=second.start, end=second.end))).verify()
    assert not replace(path, pieces=(first, replace(second, risks=first.risks))).verify()


@pytest.mark.slow
@given(st.integers(0, 3))
@settings(max_examples=4)
def test_the_path_of_many_states_is_proved_and_that_of_floats(seed: int) -> None:
    random = np.random.default_rng(seed)
    bob, eve = ([[F(int(v), 1000) for v in row] for row in random.integers(0, 1000, (40, 4))] for _ in range(2))
    weights = random.integers(1, 50, 40)
    problem = Problem([F(int(w), int(weights.sum())) for w in weights], bob, eve)
    path = lambda_path(problem)
    assume(len(path.pieces) > 1)
    assert path.verify()
    assert isinstance(path.pieces[0].mechanism, Mechanism)
    again = lambda_path(problem, exact=False)
    assert len(again.pieces) == len(path.pieces)
    assert again.breakpoints == pytest.approx([float(b) for b in path.breakpoints])


def same_mechanism(first: Mechanism, second: Mechanism) -> bool:
    return first.signals == second.signals and bool((first.q == second.q).all())


@pytest.mark.parametrize("eve", [[[1, 0], [1, 0]], [[1], [2]], [[0, 1], [1, 0]]])
@pytest.mark.parametrize("bob", [[[0, 0], [0, 0]], [[1, 0, 0], [1, 0, 0]], [[0, 1], [1, 0]]])
def test_floats_show_one_mechanism_too_where_releasing_nothing_is_optimal(bob: Any, eve: Any) -> None:
    problem = Problem([0.75, 0.25], bob, eve)
    path = lambda_path(problem)
    for lam in (0.0, 0.5, 2.0, 1000.0):
        if lam not in path.breakpoints:
            assert same_mechanism(solve(problem, lam).mechanism, path.piece(lam).mechanism)


def large(kind: str, N: int, b: int, e: int, seed: int) -> Problem:
    draw = np.random.default_rng(seed).integers
    top = 2 if kind == "zero_one" else 4
    tables = [[[F(int(draw(top))) for _ in range(k)] for _ in range(N)] for k in (b, e)]
    return Problem([F(1, N)] * N, *tables)


@pytest.mark.parametrize("kind", ["zero_one", "integers"])
@pytest.mark.parametrize(("states", "seed"), [(20, 0), (90, 0), (90, 1), (400, 2)])
def test_large_problems_with_many_optima_show_the_mechanism_of_the_path(kind: str, states: int, seed: int) -> None:
    """Small programs go to the simplex method, large ones to an interior point: the choice is the same."""
    problem = large(kind, states, 5, 4, seed)
    best = solve(problem, "1/2")
    assert same_mechanism(best.mechanism, lambda_path(problem).piece("1/2").mechanism)
    assert verify(problem, best.certificate)


def test_among_optimal_mechanisms_the_most_private_is_chosen() -> None:
    # Bob is indifferent between everything, so the least R_B leaves all mechanisms and the largest R_E the null one
    problem = Problem(["1/2", "1/2"], [[1, 1], [1, 1]], [[0, 1], [1, 0]])
    best = solve(problem, 0)
    assert (best.risks.bob, best.risks.eve) == (1, F(1, 2))
