"""Least margins and bounds, where floats or shortcuts choose what is computed in fractions, against all of it."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp.program import margins
from bap_lp.program.bound import Dual, Observer, Program, Rows, Sparse
from bap_lp.program.finish import on_simplex
from bap_lp.support.rational import EXACT, lifted, objects
from bap_sdc.records.optimum import summed
from bap_sdc.records.optimum.summed import SummedCost


@pytest.mark.parametrize("block", [17, 1 << 20])
@pytest.mark.parametrize("size", [1e-320, 1e-9, 1.0, 1e200])
def test_the_bound_is_the_one_in_fractions_where_floats_choose_what_to_compute(
    size: float, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(margins, "_BLOCK", block)
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


def test_what_floats_take_for_zero_counts_beside_huge_numbers() -> None:
    N, tiny = 40, fmpq(1, 10**330)
    cost, losses, u = (EXACT.zeros(shape) for shape in ((N, 2), (N, 2), (2, 2)))
    cost[:, 1], losses[:, 1] = fmpq(1, 10**40), fmpq(10**300)
    u[0, 0] = u[1, 1] = tiny
    eve = Observer("eve", np.arange(2), losses, np.array([0]), tiny)
    least = Program(EXACT.full(N, 1), cost, (eve,)).bound(Dual({"eve": u}, {}))
    assert least == N * (fmpq(1, 10**40) - fmpq(1, 10**30))


@st.composite
def tables(draw: st.DrawFn) -> tuple[SummedCost, np.ndarray, np.ndarray]:
    """Few numbers, so that there are ties, of sizes that floats cannot tell apart, or cannot hold."""
    long = draw(st.booleans())
    numbers = st.sampled_from([fmpq(k, 6) for k in range(4)])
    if long:
        size = st.sampled_from([fmpq(0), fmpq(1, 10**30), fmpq(10**25, 3), fmpq(1)])
        numbers = st.builds(lambda a, b: a + b, numbers, size)

    def table(rows: int, columns: int) -> np.ndarray:
        cells = draw(st.lists(numbers, min_size=rows * columns, max_size=rows * columns))
        return objects(cells).reshape(rows, columns)

    levels = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    states, columns = draw(st.integers(1, 5)), draw(st.integers(0, 3))
    codes = np.array(draw(st.lists(st.tuples(*(st.integers(0, 1) for _ in levels)), min_size=states, max_size=states)))
    cost = SummedCost(tuple(table(2, n) for n in levels), codes)
    return cost, table(states, columns), table(cost.shape[1], columns)


@given(tables(), st.sampled_from([1, 1 << 20]))
@settings(max_examples=80)
def test_least_margins_and_their_first_signals_are_those_of_the_table(case, block) -> None:
    cost, losses, u = case
    original, summed._CELLS = summed._CELLS, block
    try:
        least, first = cost.least(losses, u)
    finally:
        summed._CELLS = original
    for x, codes in enumerate(cost.codes):
        margins = []
        for s, signal in enumerate(product(*map(range, cost.levels))):
            own = sum((t[c, i] for t, c, i in zip(cost.tables, codes, signal, strict=True)), fmpq(0))
            margins.append(own - sum((a * b for a, b in zip(losses[x], u[s], strict=True)), fmpq(0)))
        assert least[x] == min(margins)
        assert first[x] == margins.index(min(margins))
