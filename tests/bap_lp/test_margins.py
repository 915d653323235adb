"""The bound of a program, where floats choose what is computed in fractions, against all of it in fractions."""

from __future__ import annotations

import numpy as np
import pytest

from bap_lp.program.bound import Dual, Observer, Program, Rows, Sparse
from bap_lp.program.finish import on_simplex
from bap_lp.rational import EXACT, lifted


@pytest.mark.parametrize("size", [1e-320, 1e-9, 1.0, 1e200])
def test_the_bound_is_the_one_in_fractions_where_floats_choose_what_to_compute(size: float) -> None:
    draw = np.random.default_rng(1)
    N, S, e = 9, 10, 3
    ties, sizes = draw.integers(0, 3, (N, S)) * 1.0, np.where(draw.random((N, S)) < 0.5, 1.0, size)
    cost, losses = lifted(ties * sizes), lifted(draw.random((N, e)) * size)
    own = Sparse(np.arange(N), np.arange(N), lifted(draw.random(N) * size), (N, N))
    seen = (
        Observer("eve", np.arange(S), losses, np.array([0]), EXACT.one),
        Observer("own", np.arange(S), own, np.array([0]), EXACT.one),
    )
    row, x, s = draw.integers(0, 4, 40), draw.integers(0, N, 40), draw.integers(0, S, 40)
    place = np.unique(np.stack([row, x, s]), axis=1)
    rows = Rows("rows", EXACT.zeros(4), (*place, lifted(draw.normal(size=place.shape[1]))))
    program = Program(EXACT.full(N, 1), cost, seen, (rows,))
    u = {o.name: on_simplex(draw.random((S, o.columns))) for o in seen}
    w = lifted(draw.random(4) * size)
    table = cost - u["eve"].dot(losses.T).T - np.stack([own.value * u["own"][k] for k in range(S)], axis=1)
    np.add.at(table, tuple(place[1:]), w[place[0]] * rows.entries[3])  # type: ignore[index]
    assert program.bound(Dual(u, {"rows": w})) == table.min(axis=1).sum()
    allowed = draw.random((N, S)) < 0.7
    least = [min(row[ok]) for row, ok in zip(table, allowed, strict=True)]
    assert program.bound(Dual(u, {"rows": w}), allowed) == sum(least)
