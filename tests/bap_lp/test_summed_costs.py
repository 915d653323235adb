"""Least margins of costs that are sums over columns, against the table written out."""

from __future__ import annotations

from itertools import product

import numpy as np
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp.program import summed
from bap_lp.program.summed import SummedCost
from bap_lp.rational import objects


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
