"""Value and bound of float tables by sums of pairs of floats, against the same numbers in fractions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import Problem, solve
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual, compact
from bap_lp.program.finish import on_grid
from bap_lp.proof.certificate import settled
from bap_lp.proof.large_sums import value_and_bound
from bap_lp.support.rational import EXACT


@st.composite
def tables(draw: st.DrawFn) -> tuple[Arrays, np.ndarray, np.ndarray]:
    """Losses with and without ties, of any size, also beside a constant; a channel and replies that are good or not."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n, b, e = draw(st.integers(1, 40)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
    unit, constant = draw(st.sampled_from([1e-9, 1.0, 1e9])), draw(st.sampled_from([0.0, 1e6]))
    B, E = (unit * (constant + rng.random((n, k))) for k in (b, e))
    if draw(st.booleans()):
        B, E = np.round(B / unit), np.round(E / unit)
    cut = draw(st.integers(0, e - 1))
    groups = (slice(0, e),) if cut == 0 else (slice(0, cut), slice(cut, e))
    arrays = Arrays(rng.dirichlet(np.ones(n)), B, E, groups)
    u = arrays.on_simplex(rng.random((b, e)), 0.7)
    best = np.eye(b)[(B - E @ u.T).argmin(axis=1)]
    return arrays, on_grid(draw(st.sampled_from([best, rng.dirichlet(np.ones(b), n), best * 0.9 + 0.1 / b]))), u


@settings(max_examples=150)
@given(tables())
def test_both_ends_hold_and_are_as_close_as_floats_can_tell(case: tuple[Arrays, np.ndarray, np.ndarray]) -> None:
    arrays, q, u = case
    replies = settled(Problem(arrays.p, arrays.B, arrays.E), 0.7, u).replies["eve"]
    if len(arrays.groups) > 1:
        replies = EXACT.array(arrays.on_simplex(u, 0.7))
        for g in arrays.groups:
            replies[:, g.start] += EXACT.number(0.7) - replies[:, g].sum(axis=1)
    lam, exact = EXACT.number(0.7), arrays.lifted()
    exact = replace(exact, p=exact.p / exact.p.sum())
    rho = exact.p[:, None] * EXACT.array(q)
    bob, eve = exact.told_risk(rho), exact.eve_risk(rho)
    bound = compact(exact, lam).bound(Dual({"eve": replies}, {}))
    found = value_and_bound(arrays, q, lam, replies)
    assert found is not None
    size = float(bob + lam * eve) or 1.0
    assert float(abs(found[0] - bob)) <= 1e-25 * size
    assert float(abs(found[1] - eve)) <= 1e-25 * size
    assert 0 <= float(found[2] - (bob - lam * eve)) <= 1e-20 * size
    assert 0 <= float(bound - found[3]) <= 1e-13 * size


@pytest.mark.parametrize("loss", [1e150, 1e-5])
def test_numbers_near_the_ends_of_the_range_are_left_to_fractions(loss: float) -> None:
    p = np.full(100, 0.01) if loss > 1 else np.append(1e-150, np.full(99, 1 / 99))
    B, E = loss * np.random.default_rng(0).random((100, 2)), np.ones((100, 2))
    arrays = Arrays(p, B, E, (slice(0, 2),))
    half = EXACT.full((2, 2), EXACT.number(0.5))
    assert value_and_bound(arrays, np.full((100, 2), 0.5), EXACT.number(1), half) is None
    assert float(solve(Problem(p, B, E), 1.0).gap) >= 0
