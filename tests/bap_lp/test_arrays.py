"""The shortcuts of `Arrays` through floats give the rationals of the definitions, whatever the numbers."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems

from bap_lp import Agent, Problem
from bap_lp.model import arrays as module
from bap_lp.model.arrays import Arrays
from bap_lp.model.signal_sums import signal_losses
from bap_lp.rational import EXACT


def sent(arrays: Arrays, seed: int, signals: int) -> np.ndarray:
    """A joint table of small fractions, with zeros."""
    draw = np.random.default_rng(seed).integers(0, 4, (len(arrays.p), signals))
    return arrays.p[:, None] * np.array([[fmpq(int(v), 7) for v in row] for row in draw], dtype=object)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems(states=30, decisions=4), st.integers(0, 99), st.integers(1, 5))
def test_risks_filtered_by_floats_are_those_of_the_definition(problem: Problem, seed: int, signals: int) -> None:
    arrays = problem.arrays
    rho = sent(arrays, seed, signals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", 0)
        bob, eve = arrays.risks(rho)
        assert eve == arrays.eve_risk(rho)
    assert bob == signal_losses(rho, arrays.B).min(axis=1).sum()
    assert eve == arrays.least_replies(signal_losses(rho, arrays.E)).sum()


@pytest.mark.parametrize("related", [True, False])
def test_risks_of_long_probabilities_are_those_of_the_definition(related: bool) -> None:
    draw, N = np.random.default_rng(3), 40
    losses = [[[F(int(v), 1 + k) for k, v in enumerate(row)] for row in draw.integers(0, 9, (N, 3))] for _ in range(2)]
    arrays = Problem([F(1, N)] * N, *losses).arrays
    shares = [fmpq(1 + x % 5, 3**200 + (0 if related else 2 * x)) if x % 3 else fmpq(x % 2) for x in range(N)]
    rho = arrays.p[:, None] * np.array([[v, 1 - v] for v in shares], dtype=object)
    bob, eve = (rho.T.dot(table) for table in (arrays.B, arrays.E))
    assert (signal_losses(rho, arrays.B) == bob).all()
    assert arrays.risks(rho) == (bob.min(axis=1).sum(), eve.min(axis=1).sum())
    assert arrays.eve_risk(rho) == eve.min(axis=1).sum()


def test_risks_of_losses_that_floats_cannot_tell_apart_are_exact() -> None:
    near = [[1 + F(k, 10**20), 1 + F(3 - k % 3, 10**20), 1 + F(1, 10**20)] for k in range(80)]
    arrays = Problem([F(1, 80)] * 80, near, near).arrays
    rho = sent(arrays, 1, 2)
    least = signal_losses(rho, arrays.B).min(axis=1).sum()
    assert arrays.risks(rho) == (least, least)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems(states=12, decisions=4), st.integers(0, 99), st.integers(1, 40))
def test_margins_in_integers_are_those_in_rationals(problem: Problem, seed: int, most: int) -> None:
    arrays = problem.arrays
    random = np.random.default_rng(seed)
    top, bottom = (random.integers(low, most + 1, arrays.shape[1:]) for low in (0, 1))
    u = np.vectorize(lambda a, c: fmpq(int(a), int(c)), otypes=[object])(top, bottom)
    margins, whole = arrays.B - arrays.E.dot(u.T), arrays.whole_margins(u)
    if whole is not None:
        scale, integers = whole
        assert (EXACT.array(integers) == scale * margins).all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FILTERED", 0)
        assert (arrays.least_margins(u) == margins.min(axis=1)).all()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems(states=12, decisions=4), st.integers(0, 99))
def test_sums_in_integers_are_those_in_rationals(problem: Problem, seed: int) -> None:
    arrays, random = problem.arrays, np.random.default_rng(seed)
    N, b, _ = arrays.shape
    key = random.integers(0, b, N)
    state = np.flatnonzero(random.integers(0, 2, N)) if b > 1 else np.zeros(0, dtype=int)
    signal, amounts = (key[state] + 1) % b, arrays.p[state] / fmpq(3)
    rho = arrays.rule_table(key)
    plain, moved = arrays.rule_sums(key), rho.copy()
    moved[state, signal] += amounts
    moved[state, key[state]] -= amounts
    for table, found in ((rho, plain), (moved, arrays.rule_sums(key, state, signal, amounts))):
        for whole in (found, arrays.whole_sums(table)):
            if whole is not None:
                assert (EXACT.array(whole[1]) == whole[0] * table.T.dot(arrays.B)).all()
                assert (EXACT.array(whole[2]) == whole[0] * table.T.dot(arrays.E)).all()


def test_sums_that_floats_cannot_hold_are_not_formed() -> None:
    losses = [[0, 2**23], [1, 0]]
    for p, short in ((F(1, 2**10), True), (F(1, 2**29), True), (F(1, 2**31), False), (F(1, 2**60), False)):
        arrays = Problem([p, 1 - p], losses, losses).arrays
        key = np.array([0, 1])
        assert (arrays.rule_sums(key) is not None) == (arrays.whole_sums(arrays.rule_table(key)) is not None) == short


def test_sums_over_many_eves_are_not_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FEW", 0)
    top = 2**23 - 1
    for bits in range(24, 31):
        p = F(1, 2**bits + 1)
        eves = [Agent([[top, top], [top - k, top]], name=str(k)) for k in range(7)]
        arrays = Problem([p, 1 - p], [[0, 1], [1, 0]], eves=eves).arrays
        rho = arrays.rule_table(np.array([0, 1]))
        least = sum(p * top + (1 - p) * (top - k) for k in range(7))
        assert arrays.eve_risk(arrays.p[:, None]) == fmpq(least.numerator, least.denominator)
        assert arrays.risks(rho)[1] == arrays.least_replies(rho.T.dot(arrays.E)).sum()


def test_losses_that_round_to_integers_are_not_taken_for_integers() -> None:
    thirds = Problem(["1/2", "1/2"], [[0, 1], [1, 0]], [["1/3", 1], ["2/3", 0]]).arrays.integers
    assert thirds is not None
    assert thirds[0] == 3
    assert thirds[1].tolist() == [[0, 3], [3, 0]]
    assert thirds[2].tolist() == [[1, 3], [2, 0]]
    losses = [[0, 1], [1, 0]] * 4
    assert Problem([F(1, 8)] * 8, losses, losses).arrays.integers is not None
    assert Problem([F(1, 8)] * 8, losses, [*losses[:7], [1 + F(1, 10**30), 0]]).arrays.integers is None
    assert Problem([F(1, 8)] * 8, losses, [*losses[:7], [1 + F(1, 2**27), 0]]).arrays.integers is None
    assert Problem([1], [[2**60]], [[1]]).arrays.integers is None


def test_merged_states_keep_what_is_known_of_their_losses() -> None:
    losses = [[k % 2, k % 3, 1] for k in range(40)]
    arrays = Problem([F(1, 40)] * 40, losses, losses).arrays.merged()[0]
    fresh = Arrays(arrays.p, arrays.B, arrays.E, arrays.groups)
    assert len(arrays.p) == 6
    for kept, own in zip(
        (arrays.rounded.p, arrays.rounded.B, arrays.rounded.E),
        (fresh.rounded.p, fresh.rounded.B, fresh.rounded.E),
        strict=True,
    ):
        assert kept.tolist() == own.tolist()
    assert arrays.integers is not None
    assert fresh.integers is not None
    assert [part.tolist() for part in arrays.integers[1:]] == [part.tolist() for part in fresh.integers[1:]]
