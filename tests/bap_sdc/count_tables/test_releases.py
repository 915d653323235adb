"""What offices do, evaluated without a channel, against the channel written down for few people."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import Conditions, InputError, Mechanism, lambda_path
from bap_lp.model.evaluation import risks
from bap_lp.support.rational import public
from bap_sdc import TableProblem, counts
from bap_sdc.count_tables import channels, sums
from bap_sdc.count_tables.channels import Evaluator, part_law, recovered
from bap_sdc.count_tables.comparisons import compare_tables
from bap_sdc.count_tables.protections import (
    USUAL,
    CellKey,
    Geometric,
    Protection,
    RandomRounding,
    Rounding,
    Suppression,
    read_protections,
)

MORE = (
    *USUAL,
    Rounding(2),
    RandomRounding(4),
    Suppression(2),
    CellKey(1, "1/2"),
    CellKey(3, 1),
    Geometric("9/10"),
    Geometric(0),
)
BOB = {"cells": "1", "loss": "0-1", "thresholds": ["1/3"]}
EVES: list[Any] = [
    {"cells": "2", "asks": "empty"},
    [{"cells": "1", "asks": "below", "below": 2, "weight": 2}, {"cells": ["2", "3"], "asks": "share", "above": "1/2"}],
    {"cells": "1", "asks": "person"},
    {"cells": "3", "asks": "member", "knows": "others"},
    {"cells": "3", "asks": "member"},
]


def written_down(problem: TableProblem, protection: Protection) -> Mechanism:
    """The channel from all tables to all published tables."""
    q = public(protection.matrix(problem.model.population.n))
    tables = [list(map(int, label.split("|"))) for label in problem.states]
    shown = list(product(range(q.shape[1]), repeat=len(tables[0])))
    return Mechanism([[math.prod(q[m, o] for m, o in zip(x, s, strict=True)) for s in shown] for x in tables])


def check(problem: TableProblem, protection: Protection) -> None:
    expected = risks(problem, written_down(problem, protection))
    found = Evaluator(problem.model, True).risks(protection)
    assert (found.bob, found.eve) == (expected.bob, expected.eve)
    rough = Evaluator(problem.model, False).risks(protection)
    assert abs(rough.bob - expected.bob) <= rough.bob_error
    assert abs(rough.eve - expected.eve) <= rough.eve_error < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("protection", MORE, ids=lambda p: p.title)
@pytest.mark.parametrize("eve", EVES, ids=["empty", "two", "person", "member-others", "member"])
def test_risks_are_those_of_the_channel(protection: Protection, eve: Any) -> None:
    check(counts(4, 3, bob=BOB, eve=eve, merge=False), protection)


@pytest.mark.slow
@pytest.mark.parametrize("protection", USUAL, ids=lambda p: p.title)
def test_risks_are_those_of_the_channel_when_margins_are_public(protection: Protection) -> None:
    bob = {"cells": "a x", "loss": "absolute", "decisions": [0, "1/2", 1], "of": "x"}
    eve = [{"cells": "a x", "asks": "small", "below": 3}, {"cells": "b", "asks": "person", "knows": "nothing"}]
    shared = {"rows": ["a", "b"], "columns": ["x", "y"], "row_totals": [2, 3], "bob": bob, "eve": eve}
    check(counts(column_totals=[4, 1], merge=False, **shared), protection)
    check(counts(merge=False, **shared), protection)


@pytest.mark.slow
@pytest.mark.parametrize("protection", USUAL, ids=lambda p: p.title)
@pytest.mark.parametrize("alpha", [1, [1, 2, 1, "1/2"]])
def test_cells_that_nobody_tells_apart_show_something_all_the_same(protection: Protection, alpha: Any) -> None:
    eve = {"cells": "1", "asks": "small", "below": 2}
    bob = {"cells": "1", "loss": "squared", "decisions": ["1/4", "1/2"]}
    problem = counts(2, 4, alpha=alpha, bob=bob, eve=eve, merge=False)
    assert problem.model.parts == (frozenset([0]), frozenset([1, 2, 3]))
    check(problem, protection)


def test_a_part_shows_what_its_cells_show() -> None:
    """Rows are distributions, and the law of two cells is the mixture over how their total is split."""
    model = counts(4, 4, alpha=[1, 2, 3, 1], bob=BOB, eve={"cells": "1", "asks": "empty"}).model
    q = RandomRounding(3).matrix(4)
    law = public(part_law(model.population, frozenset([1, 2]), q))
    assert (law.sum(axis=1) == 1).all()
    split = {(m, first): comb(1 + first, first) * comb(2 + m - first, 2) for m in range(5) for first in range(m + 1)}
    both = [
        [
            sum(split[m, first] * public(q)[first, a] * public(q)[m - first, b] for first in range(m + 1))
            / F(sum(split[m, first] for first in range(m + 1)))
            for m in range(5)
        ]
        for a, b in product(range(q.shape[1]), repeat=2)
    ]

    def shapes(columns: Any) -> dict[tuple[F, ...], F]:
        out: dict[tuple[F, ...], F] = {}
        for column in columns:
            if sum(column):
                key = tuple(v / sum(column) for v in column)
                out[key] = out.get(key, F(0)) + sum(column)
        return out

    assert shapes(law.T.tolist()) == shapes(both)


def test_decisions_that_tie_are_settled_exactly() -> None:
    """With two equal cells and equal costs every symmetric signal leaves the agents indifferent."""
    bob = {"cells": "1", "loss": "0-1", "thresholds": ["1/2"]}
    eve = {"cells": "1", "asks": "share", "above": "1/2", "costs": [1, 1]}
    for n in (3, 5):
        for protection in MORE:
            check(counts(n, 2, bob=bob, eve=eve, merge=False), protection)


def test_long_denominators_are_summed_modulo_primes(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = counts(12, 2, bob=BOB, eve=EVES[0], merge=False)
    whole = Evaluator(problem.model, True)
    for protection in (Geometric("7/9"), CellKey(2, "999/1000")):
        first = whole.risks(protection)
        monkeypatch.setattr(sums, "_WORD", 0)
        second = whole.risks(protection)
        monkeypatch.undo()
        assert (first.bob, first.eve) == (second.bob, second.eve)
        assert isinstance(first.bob, F)
        expected = risks(problem, written_down(problem, protection))
        assert (first.bob, first.eve) == (expected.bob, expected.eve)


def test_too_many_published_tables_are_summed_in_floats_or_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = counts(8, 3, bob=BOB, eve=EVES[0])
    exact = Evaluator(problem.model, True).risks(CellKey(2, 1))
    monkeypatch.setattr(sums, "_MOST_TERMS", {True: 100, False: 10**6})
    rough = Evaluator(problem.model, True).risks(CellKey(2, 1))
    assert isinstance(rough.bob, float)
    assert abs(rough.bob - exact.bob) <= rough.bob_error
    monkeypatch.setattr(sums, "_MOST_TERMS", {True: 100, False: 100})
    monkeypatch.setattr(channels, "_DENSE_MOST", 0)
    table = compare_tables(problem, protections=[CellKey(2, 1), Rounding(3)])
    assert table.omitted == (("cell key (2, 1)", "the tables have too many published versions to be summed"),)


@pytest.mark.parametrize("protection", MORE, ids=lambda p: p.title)
def test_rows_are_distributions(protection: Protection) -> None:
    q = public(protection.matrix(9))
    assert (q.sum(axis=1) == 1).all()
    assert (q >= 0).all()


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(0, 8), st.integers(1, 12))
def test_cell_keys_are_unbiased_with_the_variance_asked_for(most: int, part: int, n: int) -> None:
    variance = F(int((top := CellKey(most, 1).spread(1)).p), int(top.q)) * F(part, 8)
    q = public(CellKey(most, variance).matrix(n))
    for m in range(1, n + 1):
        change = [o - m for o in range(q.shape[1])]
        assert sum(c * v for c, v in zip(change, q[m], strict=True)) == 0
        assert sum(c * c * v for c, v in zip(change, q[m], strict=True)) == variance
        assert all(abs(c) <= most for c, v in zip(change, q[m], strict=True) if v)
    assert q[0].tolist() == [1] + [0] * (q.shape[1] - 1)


@pytest.mark.parametrize("base", [2, 3, 5])
def test_random_rounding_is_unbiased_and_rounding_is_nearest(base: int) -> None:
    q = public(RandomRounding(base).matrix(11))
    assert [sum(base * o * v for o, v in enumerate(row)) for row in q] == list(range(12))
    shown = public(Rounding(base).matrix(11)).argmax(axis=1) * base
    assert (np.abs(shown - np.arange(12)) * 2 <= base).all()


def test_proportional_outputs_are_pooled_without_loss() -> None:
    q = Geometric("1/2").matrix(6)
    few = sums.pooled(q[[2, 3]])
    assert few.shape == (2, 2)  # noise to 2 or below says one thing, noise to 3 or above another
    assert (few.sum(axis=1) == 1).all()
    assert sums.pooled(q).shape == q.shape


def test_what_suppression_does_not_hide() -> None:
    margins = counts(rows=2, columns=2, row_totals=[2, 2], column_totals=[2, 2], bob={**BOB, "cells": "row 1 column 1"},
                     eve={"cells": "row 1 column 1", "asks": "empty"})  # fmt: skip
    # the tables are 2|0|0|2, 1|1|1|1 and 0|2|2|0: all ones or all twos are hidden, and every table can be read off
    assert recovered(margins.model, Suppression(3)) == (1, 1)
    free = counts(4, 2, bob=BOB, eve={"cells": "1", "asks": "empty"})
    # 4|0 and 0|4 show all; in 3|1 and 1|3 the suppressed 1 follows from n; 2|2 hides both counts but leaves only itself
    assert recovered(free.model, Suppression(3)) == (F(3, 5), F(3, 5))
    wide = counts(4, 3, bob=BOB, eve={"cells": "1", "asks": "empty"})
    hidden, follows = recovered(wide.model, Suppression(3))
    # 1|1|2 and its rearrangements look alike, and of the others only 4 people in one cell hide nothing
    assert hidden == 1 - F(3, comb(6, 2))
    assert follows == hidden - F(3, comb(6, 2))


def test_the_optimum_is_below_every_release_and_the_frontier_beyond_all() -> None:
    problem = counts(8, 3, bob=BOB, eve=EVES[1])
    path = lambda_path(problem)
    for lam in (F(1, 10), F(1, 2), F(2)):
        table = compare_tables(problem, lam)
        assert table.releases[0].name == "optimum"
        assert min(row.excess for row in table.releases) == 0
        for row in table.releases:
            assert row.alice >= path.value(lam)
            assert isinstance(row.alice, F)


def test_the_epsilon_of_geometric_noise_is_that_of_its_channel() -> None:
    problem = counts(3, 3, bob=BOB, eve=EVES[0], merge=False)
    table = compare_tables(problem, protections=[Geometric("1/2"), Rounding(3)])
    channel = written_down(problem, Geometric("1/2"))
    assert table["geometric 1/2"].epsilon == pytest.approx(channel.epsilon)
    assert table["rounding 3"].epsilon == math.inf


def test_floors_and_caps_are_checked_and_other_conditions_refused() -> None:
    problem = counts(6, 3, bob=BOB, eve=EVES[0])
    table = compare_tables(problem, conditions=Conditions(min_eve_risk="1/8"))
    assert table["full"].breaks == "R_E = 0 is below min_eve_risk = 1/8"
    assert table["optimum"].breaks == ""
    assert table["null"].meets_conditions
    with pytest.raises(InputError, match=r"conditions.deterministic cannot be checked"):
        compare_tables(problem, conditions=Conditions(deterministic=True))


def test_a_float_problem_compares_floats() -> None:
    problem = counts(5, 3, alpha=["1/2", 1, 1], bob=BOB, eve=EVES[0])
    assert not problem.exact
    table = compare_tables(problem, protections=[Rounding(3), CellKey(2, 1)])
    rational = {"cells": "1", "loss": "squared", "decisions": [0, 1]}
    exact = counts(5, 3, alpha=["1/2", 1, 1], bob=rational, eve=EVES[0])
    assert exact.exact
    assert all(isinstance(row.alice, float) for row in table.releases)
    other = compare_tables(exact, protections=[Rounding(3), CellKey(2, 1)])
    for name in ("rounding 3", "cell key (2, 1)", "full", "null"):
        assert float(table[name].risks.eve) == pytest.approx(float(other[name].risks.eve), abs=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"rounding": 1}, "releases.rounding = 1 must be a whole number between 2 and 1000"),
        ({"rounding": [3, "5"]}, "releases.rounding[1] = '5' must be a whole number"),
        ({"geometric": 1}, "releases.geometric = 1 must be at least 0 and below 1"),
        ({"cell_key": {"maximum": 2, "variance": 2}}, "releases.cell_key.variance = 2 must be between 0 and 8/5"),
        ({"cell_key": {"maximum": 2}}, "must be a table with maximum and variance"),
        ({"noise": 1}, "releases.noise is not a known key"),
    ],
)
def test_bad_releases_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as refused:
        read_protections(given)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_releases_of_a_file() -> None:
    found = read_protections({"rounding": [3, 3], "geometric": ["1/2"], "cell_key": {"maximum": 1, "variance": "1/4"}})
    assert [p.title for p in found] == ["rounding 3", "cell key (1, 1/4)", "geometric 1/2"]
    assert read_protections(None) == USUAL
    assert read_protections({}) == ()
