"""The primal simplex method on some columns first, and the solver that a thread keeps for it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction as F

import numpy as np
import pytest

from bap_lp import Problem, solve
from bap_lp.clock import OutOfTime, time_limited
from bap_lp.linear import highs as highs_room
from bap_lp.linear.exact import optimise
from bap_lp.linear.highs import primal_basis
from bap_lp.model.arrays import Arrays
from bap_lp.programs.compact import compact_program, start_basis


def coarse(seed: int, N: int = 30, b: int = 4, e: int = 3, values: int = 3) -> Problem:
    draw = np.random.default_rng(seed)
    return Problem([F(1, N)] * N, draw.integers(0, values, (N, b)).tolist(), draw.integers(0, values, (N, e)).tolist())


@pytest.mark.parametrize("seed", range(12))
def test_columns_left_out_at_first_enter_where_they_are_needed(seed: int) -> None:
    arrays = coarse(seed).arrays
    N, b, _ = arrays.shape
    lam = arrays.field.number(3)
    lp, sent = compact_program(arrays, lam), arrays.rounded.B.argmin(axis=1)
    start = start_basis(arrays.rounded, sent)
    first = np.ones(lp.shape[1], dtype=bool)
    first[: N * b] = (np.arange(b) == sent[:, None]).ravel()  # one decision per state: the full release
    basic = primal_basis(lp.rounded, start, first)
    assert not first[basic[basic < lp.shape[1]]].all()
    assert optimise(lp, basic).repairs == 0


def channel(problem: Problem) -> list[list[F]]:
    table: list[list[F]] = solve(problem, 1).mechanism.channel.tolist()
    return table


def test_a_kept_solver_forgets_the_last_program() -> None:
    problems = [coarse(seed, N=20 + 7 * seed, b=3 + seed % 3) for seed in range(8)]
    alone = [channel(problem) for problem in problems]
    with pytest.raises(OutOfTime), time_limited(0.0):
        solve(problems[0], 1)
    assert [channel(problem) for problem in reversed(problems)] == alone[::-1]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(channel, problems * 3)) == alone * 3


@pytest.mark.parametrize("inside", [False, True])
def test_a_start_that_is_far_off_is_left_to_another_method(inside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, (N, b, e) = np.random.default_rng(1), (40, 12, 8)
    arrays = Arrays(draw.dirichlet(np.ones(N)), draw.random((N, b)), draw.random((N, e)), (slice(0, e),))
    lp = compact_program(arrays, 1.0)
    start = start_basis(arrays, np.zeros(N, dtype=int))
    monkeypatch.setattr(highs_room, "_primal", lambda *_: None)
    basic = primal_basis(lp, start, inside=inside)
    monkeypatch.undo()
    assert optimise(lp.lifted(), basic).repairs == 0
    assert highs_room._primal(lp, start, 1) is None
