"""Pairs of a metric that others imply, against the definition state by state."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp import Conditions, Mechanism, Problem, solve, verify
from bap_lp.conditions.distances import PairDistances
from bap_lp.conditions.lagrangian import SentSignals
from bap_lp.conditions.privacy import Privacy
from bap_lp.conditions.signals import signals_of

NUMBERS = {
    "whole": st.integers(0, 4),
    "fractions": st.fractions(0, 2, max_denominator=6),
    "floats": st.sampled_from([0.1, 0.2, 0.30000000000000004, 0.3, 0.7, 1.0]),
    "long": st.sampled_from([F(10**30 + k, 7) for k in (0, 1)] + [F(2 * 10**30 + k, 7) for k in (0, 1, 2, 3)]),
}


def implied(d: dict[tuple[int, int], F], x: int, z: int, n: int) -> bool:
    through = ((d.get((x, y)), d.get((y, z))) for y in range(n))
    return any(a is not None and b is not None and a > 0 and b > 0 and a + b <= d[x, z] for a, b in through)


@pytest.mark.slow
@pytest.mark.parametrize("kind", NUMBERS)
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_pairs_that_are_needed_are_those_of_the_definition(kind: str, data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 12))
    values = data.draw(st.lists(st.none() | NUMBERS[kind], min_size=n * n, max_size=n * n))
    entries = [(k // n, k % n, v) for k, v in enumerate(values) if v is not None]
    d = {(x, y): F(v) for x, y, v in entries if x != y}
    found = PairDistances.of(entries)
    assert {pair: F(int(found[pair].p), int(found[pair].q)) for pair in found} == d
    needed = {pair for pair, own in zip(found, found.needed, strict=True) if own}
    assert needed == {(x, z) for x, z in d if not implied(d, x, z, n)}
    assert (0, 0) not in found
    assert (n, 0) not in found


@pytest.mark.slow
def test_several_hundred_states_of_a_metric_are_a_matter_of_seconds() -> None:
    """A grid of 18 x 18: 104,652 pairs, of which the neighbours on the grid are needed."""
    places = [(i, j) for i in range(18) for j in range(18)]
    apart = [[abs(a - c) + abs(b - d) for c, d in places] for a, b in places]
    n = len(places)
    problem = Problem([F(1, n)] * n, [[i, 17 - i] for i, _ in places], [[0]] * n)
    conditions = Conditions(exp_epsilon=2, metric=apart)
    [demand] = conditions.demands(problem)
    assert isinstance(demand, Privacy)
    assert len(demand.needed) == 4 * 18 * 17
    found = solve(problem, 0, exact=False, conditions=conditions)
    assert found.gap < 1e-8 * 17
    assert verify(problem, found.certificate)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 5), st.data())
def test_a_channel_is_private_by_the_definition(n: int, data: st.DataObject) -> None:
    metric = [[data.draw(st.sampled_from([None, 0, 1, 2])) for _ in range(n)] for _ in range(n)]
    weights = [data.draw(st.lists(st.integers(0, 4), min_size=2, max_size=2).filter(any)) for _ in range(n)]
    q = [[F(w, sum(row)) for w in row] for row in weights]
    problem: Any = Problem([F(1, n)] * n, [[0, 1]] * n, [[0]] * n)
    sent = SentSignals(problem.arrays, signals_of(problem, False), Mechanism(q).q)
    K, delta = F(2), data.draw(st.sampled_from([F(0), F(1, 4), F(1, 2)]))
    [demand] = Conditions(exp_epsilon=K, metric=metric, delta=delta).demands(problem)
    over = [
        sum(max(F(0), a - K ** metric[x][y] * b) for a, b in zip(q[x], q[y], strict=True))
        for x, y in np.ndindex(n, n)
        if x != y and metric[x][y] is not None
    ]
    assert (demand.check(sent, 0) == "") == all(v <= delta for v in over)
