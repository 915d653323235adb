"""The tables and their prior, against the Polya urn, scipy's law and enumeration by hand."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from math import comb

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from bap_lp import InputError
from bap_lp.support.rational import public
from bap_sdc.count_tables.layout import atoms, read_layout
from bap_sdc.count_tables.spaces import Population, enumerate_tables, space_of

ALPHAS = st.lists(st.builds(F, st.integers(1, 5), st.sampled_from([1, 1, 2, 3])), min_size=1, max_size=4)


def polya(alpha: list[F], n: int) -> dict[tuple[int, ...], F]:
    """The law of the table, person by person: the next one is in cell i with probability (a_i + x_i) / (A + people)."""
    law = {(0,) * len(alpha): F(1)}
    for people in range(n):
        following: dict[tuple[int, ...], F] = {}
        for x, mass in law.items():
            for i, a in enumerate(alpha):
                y = (*x[:i], x[i] + 1, *x[i + 1 :])
                following[y] = following.get(y, F(0)) + mass * (a + x[i]) / (sum(alpha) + people)
        law = following
    return law


def singles(count: int) -> list[frozenset[int]]:
    return [frozenset([i]) for i in range(count)]


def population(n: int, alpha: list[F], totals: tuple[tuple[frozenset[int], int], ...] = ()) -> Population:
    return Population(n, tuple(fmpq(a.numerator, a.denominator) for a in alpha), totals)


@settings(max_examples=40)
@given(ALPHAS, st.integers(1, 6))
def test_the_prior_is_that_of_the_polya_urn(alpha: list[F], n: int) -> None:
    space = space_of(population(n, alpha), singles(len(alpha)))
    found = dict(zip(map(tuple, space.tables.tolist()), public(space.prior).tolist(), strict=True))
    assert found == polya(alpha, n)
    assert sum(found.values()) == 1
    assert len(space) == comb(n + len(alpha) - 1, len(alpha) - 1) == space.members()


def test_the_prior_is_that_of_scipy() -> None:
    alpha = [F(1), F(5, 2), F(3), F(1, 2)]
    space = space_of(population(20, alpha), singles(4))
    law = stats.dirichlet_multinomial(list(map(float, alpha)), 20)
    expected = np.array([law.pmf(x) for x in space.tables])
    np.testing.assert_allclose(space.prior.astype(float), expected, rtol=1e-11)


@settings(max_examples=60)
@given(st.data(), st.integers(1, 4), st.integers(1, 5))
def test_tables_with_totals_are_those_found_by_trying_all(data: st.DataObject, cells: int, n: int) -> None:
    sets = st.frozensets(st.integers(0, cells - 1), min_size=1)
    totals = data.draw(st.lists(st.tuples(sets, st.integers(0, n)), max_size=3))
    expected = [
        x
        for x in product(range(n + 1), repeat=cells)
        if sum(x) == n and all(sum(x[i] for i in s) == t for s, t in totals)
    ]
    if not expected:
        with pytest.raises(InputError, match="leave no table"):
            enumerate_tables(n, cells, totals)
    else:
        assert enumerate_tables(n, cells, totals).tolist() == list(map(list, expected))


@pytest.mark.parametrize(("rows", "columns"), [([3, 4], [2, 5]), ([2, 0, 3], [1, 4]), ([1, 2, 2], [2, 2, 1])])
def test_public_margins_condition_the_prior(rows: list[int], columns: list[int]) -> None:
    wide, cells = len(columns), len(rows) * len(columns)
    alpha = [F(1 + k % 3) for k in range(cells)]
    law = polya(alpha, sum(rows))

    def fits(x: tuple[int, ...]) -> bool:
        table = np.reshape(x, (len(rows), wide))
        return table.sum(axis=1).tolist() == rows and table.sum(axis=0).tolist() == columns

    kept = {x: mass for x, mass in law.items() if fits(x)}
    totals = [(frozenset(range(r * wide, (r + 1) * wide)), t) for r, t in enumerate(rows)]
    totals += [(frozenset(range(c, cells, wide)), t) for c, t in enumerate(columns)]
    space = space_of(population(sum(rows), alpha, tuple(totals)), singles(cells))
    found = dict(zip(map(tuple, space.tables.tolist()), public(space.prior).tolist(), strict=True))
    assert found == {x: mass / sum(kept.values()) for x, mass in kept.items()}


def test_cells_taken_together_have_the_law_of_the_sums() -> None:
    alpha, parts = [F(1), F(3, 2), F(2), F(1, 2)], [frozenset([0, 3]), frozenset([1]), frozenset([2])]
    expected: dict[tuple[int, ...], F] = {}
    for x, mass in polya(alpha, 5).items():
        key = tuple(sum(x[i] for i in part) for part in parts)
        expected[key] = expected.get(key, F(0)) + mass
    space = space_of(population(5, alpha), parts)
    assert dict(zip(map(tuple, space.tables.tolist()), public(space.prior).tolist(), strict=True)) == expected
    assert space.members() == len(polya(alpha, 5))


def test_the_parts_are_the_finest_that_the_sets_tell_apart() -> None:
    layout = read_layout(5, None, None)
    assert atoms([frozenset([0, 1]), frozenset([1, 2])], layout) == (
        frozenset([0]),
        frozenset([1]),
        frozenset([2]),
        frozenset([3, 4]),
    )
    assert atoms([], layout) == (frozenset(range(5)),)


def test_totals_of_a_two_way_table_leave_no_dead_ends() -> None:
    wide = 4
    rows, columns = [30, 30, 30], [20, 25, 25, 20]
    totals = [(frozenset(range(r * wide, (r + 1) * wide)), t) for r, t in enumerate(rows)]
    totals += [(frozenset(range(c, 12, wide)), t) for c, t in enumerate(columns)]
    with pytest.raises(InputError, match="are too many"):
        enumerate_tables(90, 12, totals, most=1000)
