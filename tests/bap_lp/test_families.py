"""The piecewise-linear risks of a family against the evaluation of its channels, one w at a time."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import parts_of, priors, table

from bap_lp import Agent, Family, InputError, Mechanism, Problem, evaluate, randomised_response_family
from bap_lp.releases import full, hidden_mixture, null, public_mixture, randomised_response, truncated_geometric
from bap_lp.releases.families import PiecewiseLinear, lower_envelope

F = Fraction
quick = settings(max_examples=50)
RATIONALS = st.integers(0, 97).map(lambda k: F(k, 97))
LAMS = st.integers(0, 40).map(lambda k: F(k, 13))


@st.composite
def families(draw: st.DrawFn) -> Family:
    """Any segment of channels, and randomised response, for one or two Eves and states of possibly no probability."""
    count, b, e = draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    eves = [Agent(draw(table(parts_of(0, 2, 5), count, e)), weight=F(k + 1, 2)) for k in range(draw(st.integers(1, 2)))]
    problem = Problem(draw(priors(count)), draw(table(parts_of(0, 2, 5), count, b)), eves=eves)
    if draw(st.booleans()):
        return randomised_response_family(problem, draw(st.sampled_from([None, 1, F(1, 3)])))
    signals = draw(st.integers(1, 4))
    first, last = (Mechanism([draw(priors(signals)) for _ in range(count)]) for _ in range(2))
    start = F(draw(st.integers(-3, 3)), 2)
    return Family(problem, first, last, start, start + F(draw(st.integers(1, 5)), 3), "segment")


def inside(family: Family, share: Fraction) -> Any:
    return family.start + share * (family.end - family.start)


@pytest.mark.slow
@given(families(), RATIONALS)
@quick
def test_risks_are_those_of_the_channel(family: Family, share: Fraction) -> None:
    w = inside(family, share)
    for at in {w, *family.bob.breakpoints, *family.eve.breakpoints}:
        here = evaluate(family.problem, family.mechanism(at))
        assert (family.bob(at), family.eve(at)) == (here.bob, here.eve)


@pytest.mark.slow
@given(families())
@quick
def test_risks_are_concave_and_continuous(family: Family) -> None:
    for function in (family.bob, family.eve):
        assert all(before > after for before, after in pairwise(function.slopes))
        assert all(a < b for a, b in pairwise(function.breakpoints))
        assert (function.breakpoints[0], function.breakpoints[-1]) == (family.start, family.end)
        steps = zip(pairwise(function.breakpoints), pairwise(function.values), function.slopes, strict=True)
        assert all(v1 - v0 == slope * (w1 - w0) for (w0, w1), (v0, v1), slope in steps)


@pytest.mark.slow
@given(families(), LAMS, RATIONALS)
@quick
def test_minimise_finds_every_minimiser(family: Family, lam: Fraction, share: Fraction) -> None:
    best = family.minimise(lam)
    assert evaluate(family.problem, best.mechanism).alice(lam) == best.risks.alice(lam) == best.value
    assert any(low <= best.w <= high for low, high in best.minimisers)
    w = inside(family, share)
    alice = evaluate(family.problem, family.mechanism(w)).alice(lam)
    assert alice == family.alice(lam)(w)
    minimal = any(low <= w <= high for low, high in best.minimisers)
    assert (alice == best.value) if minimal else (alice > best.value)
    for low, high in best.minimisers:
        middle = (low + high) / 2
        assert family.alice(lam)(middle) == best.value
        assert evaluate(family.problem, family.mechanism(middle)).eve <= best.risks.eve


@pytest.mark.slow
@given(families(), LAMS)
@quick
def test_thresholds_say_which_parameter_is_best_where(family: Family, lam: Fraction) -> None:
    pieces = family.thresholds()
    assert pieces[0].start == 0
    assert pieces[-1].end == math.inf
    assert all(a.end == b.start for a, b in pairwise(pieces))
    # as lam grows both risks grow: R_E is the negative slope of a concave envelope, and a dearer R_E is bought with R_B
    assert all(a.risks.eve < b.risks.eve and a.risks.bob < b.risks.bob for a, b in pairwise(pieces))
    values = [piece.risks.alice(lam) for piece in pieces]
    assert family.minimise(lam).value == min(values)
    for piece in pieces:
        assert (piece.risks.bob, piece.risks.eve) == (family.bob(piece.w), family.eve(piece.w))
        middle = (piece.start + piece.end) / 2 if piece.end != math.inf else piece.start + 1
        assert family.minimise(middle).minimisers == piece.minimisers
        assert family.minimise(piece.start).value == piece.risks.alice(piece.start)


@pytest.mark.slow
@given(families(), RATIONALS, LAMS)
@quick
def test_floats_follow_the_rationals(family: Family, share: Fraction, lam: Fraction) -> None:
    near = Family(family.problem.as_float(), family.at_start, family.at_end, family.start, family.end)
    assert not near.exact
    w = float(inside(family, share))
    w = min(max(w, float(family.start)), float(family.end))
    assert near.bob(w) == pytest.approx(float(family.bob(inside(family, share))), abs=1e-12)
    assert near.eve(w) == pytest.approx(float(family.eve(inside(family, share))), abs=1e-12)
    assert near.minimise(float(lam)).value == pytest.approx(float(family.minimise(lam).value), abs=1e-12)


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=6), st.integers(0, 40))
@quick
def test_the_lower_envelope_is_the_minimum_of_the_lines(lines: list[tuple[int, int]], step: int) -> None:
    heights, slopes = [F(h) for h, _ in lines], [F(s) for _, s in lines]
    pieces = lower_envelope(heights, slopes, F(4))
    t = F(step, 10)
    _, d = max(piece for piece in pieces if piece[0] <= t)
    assert heights[d] + t * slopes[d] == min(h + t * s for h, s in zip(heights, slopes, strict=True))


PROBLEM = Problem(["1/2", "1/3", "1/6"], [[0, 1], [2, 1], [3, 0]], [[0, 1, 2], [1, 0, 1], [2, 1, 0]])


@pytest.mark.parametrize("function", [randomised_response_family(PROBLEM).bob, randomised_response_family(PROBLEM).eve])
def test_a_piecewise_function_becomes_a_sympy_expression(function: PiecewiseLinear) -> None:
    w = sympy.Symbol("w", real=True)
    expression = function.to_sympy(w)
    for k in range(9):
        at = F(k, 12)
        assert expression.subs(w, sympy.Rational(k, 12)) == sympy.Rational(str(function(at)))
    assert expression.subs(w, -1) is sympy.nan


def test_randomised_response_family_is_randomised_response() -> None:
    family = randomised_response_family(PROBLEM)
    assert (family.start, family.end) == (0, F(2, 3))
    for w in (0, "1/7", "1/2", "2/3"):
        assert (family.mechanism(w).q == randomised_response(PROBLEM, w).q).all()
    assert evaluate(PROBLEM, family.at_end).risks == evaluate(PROBLEM, null(PROBLEM)).risks


def test_public_coin_makes_the_risks_linear() -> None:
    first, second = full(PROBLEM), truncated_geometric(PROBLEM, "1/2")
    shown, hidden = public_mixture(PROBLEM, first, second), hidden_mixture(PROBLEM, first, second)
    ends = evaluate(PROBLEM, first), evaluate(PROBLEM, second)
    assert shown.bob.values == (ends[0].bob, ends[1].bob)
    assert shown.eve.values == (ends[0].eve, ends[1].eve)
    # a hidden coin garbles a public one
    for w in (F(1, 5), F(1, 2), F(6, 7)):
        assert hidden.bob(w) >= shown.bob(w)
        assert hidden.eve(w) >= shown.eve(w)


def test_hidden_coin_joins_different_signals() -> None:
    family = hidden_mixture(PROBLEM, full(PROBLEM), null(PROBLEM))
    assert family.at_start.signals == ("0", "1", "2", "nothing")
    assert family.mechanism("1/4").channel[0].tolist() == [F(3, 4), 0, 0, F(1, 4)]
    assert family.eve.kinks == ()


def test_float_ends_make_a_float_family() -> None:
    mixed = hidden_mixture(PROBLEM, full(PROBLEM), null(PROBLEM).as_float())
    assert not mixed.exact
    assert isinstance(mixed.minimise("1/3").value, float)
    assert not public_mixture(PROBLEM, full(PROBLEM).as_float(), null(PROBLEM)).exact
    assert not randomised_response_family(PROBLEM, 0.25).exact
    exact = randomised_response_family(PROBLEM)
    assert exact.mechanism(0.25).channel[0].tolist() == pytest.approx([0.75, 0.125, 0.125])
    assert isinstance(exact.minimise(0.5).value, float)
    assert exact.minimise(0.5).value == float(exact.minimise("1/2").value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Family(PROBLEM, full(PROBLEM), full(PROBLEM), 1, 1), "end = 1 must be above start = 1"),
        (
            lambda: Family(PROBLEM, full(PROBLEM), null(PROBLEM)),
            "at_end.signals = ('nothing',) must be those of at_start, ('0', '1', '2')",
        ),
        (lambda: randomised_response_family(PROBLEM).bob(1), "w = 1 must be between 0 and 2/3"),
        (lambda: randomised_response_family(PROBLEM).mechanism("-1/2"), "w = -1/2 must be between 0 and 2/3"),
        (lambda: randomised_response_family(PROBLEM).minimise(-1), "lam = -1 must not be negative"),
    ],
)
def test_a_bad_family_is_refused_with_its_rule(call: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        call()
    assert str(error.value) == message
