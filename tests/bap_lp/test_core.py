"""Large cores by float factors and exact residuals, against exact elimination by flint."""

from __future__ import annotations

import random

import numpy as np
import pytest
from flint import fmpq, fmpq_mat
from hypothesis import given, settings
from hypothesis import strategies as st

from bap_lp.clock import OutOfTime, time_limited
from bap_lp.linear import core as room
from bap_lp.linear.core import Core, SingularCore
from bap_lp.rational import Array, objects


def sparse(size: int, seed: int, denominators: int = 1, spread: int = 9) -> tuple[Array, Array, Array]:
    """A random regular matrix with a dominant diagonal and three further entries in each row."""
    draw = np.random.default_rng(seed)
    rows = np.repeat(np.arange(size), 4)
    columns = np.concatenate(
        [np.append(r, (r + 1 + draw.choice(size - 1, 3, replace=False)) % size) for r in range(size)]
    )
    values = [
        fmpq(int(v), int(d))
        for v, d in zip(
            draw.integers(-spread, spread + 1, len(rows)), draw.integers(1, denominators + 1, len(rows)), strict=True
        )
    ]
    for k in range(0, len(values), 4):
        values[k] = fmpq(4 * spread + 1)
    keep = np.array([v != 0 for v in values])
    return rows[keep], columns[keep], objects(values)[keep]


def right_side(size: int, seed: int, digits: int) -> Array:
    draw = np.random.default_rng(seed)
    return objects(fmpq(int(a), int(b)) for a, b in draw.integers(1, 10**digits, (size, 2)).tolist())


@pytest.mark.parametrize("transposed", [False, True])
@settings(max_examples=25, deadline=None)
@given(size=st.integers(2, 30), seed=st.integers(0, 10**6), denominators=st.integers(1, 6), digits=st.integers(1, 15))
def test_refinement_solves_what_elimination_solves(
    transposed: bool, size: int, seed: int, denominators: int, digits: int
) -> None:
    size = max(size, 5)
    rows, columns, values = sparse(size, seed, denominators)
    right = right_side(size, seed + 1, digits)
    table = np.full((size, size), fmpq(0), dtype=object)
    table[rows, columns] = values
    matrix = fmpq_mat(size, size, (table.T if transposed else table).ravel().tolist())
    expected = matrix.solve(fmpq_mat(size, 1, right.tolist())).entries()
    found = Core(rows, columns, values, size).refined(right, transposed)
    assert found is None or found.tolist() == expected  # None leaves the work to elimination
    assert Core(rows, columns, values, size).solve(right, transposed).tolist() == expected


def test_short_answers_are_found_by_refinement_alone() -> None:
    size = 200
    rows, columns, values = sparse(size, 3)
    answer = objects(fmpq(k % 7 - 3, 1 + k % 3) for k in range(size))
    table = np.full((size, size), fmpq(0), dtype=object)
    table[rows, columns] = values
    core = Core(rows, columns, values, size)
    for transposed, right in ((False, table.dot(answer)), (True, table.T.dot(answer))):
        found = core.refined(right, transposed)
        assert found is not None
        assert found.tolist() == answer.tolist()


@pytest.mark.parametrize("large", [1, 10**9])
def test_dependent_columns_are_named(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_LARGE", large)
    rows, columns = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 2])
    values = objects(map(fmpq, [1, 2, 2, 4, 1]))
    with pytest.raises(SingularCore) as found:
        Core(rows, columns, values, 3).solve(objects(map(fmpq, [1, 1, 1])))
    assert len(found.value.columns) == len(found.value.rows) == 2


def square(size: int, repeated: bool = False) -> tuple[Array, Array, Array]:
    """Entries of a sparse matrix; repeated: two of its columns are equal."""
    draw = random.Random(size)
    cells = {(k, k): fmpq(draw.randint(1, 9), 2) for k in range(size)}
    for _ in range(3 * size):
        cells[draw.randrange(size), draw.randrange(size)] = fmpq(draw.randint(1, 9), draw.randint(1, 5))
    if repeated:
        cells = {(r, c): v for (r, c), v in cells.items() if c != 1}
        cells |= {(r, 1): v for (r, c), v in cells.items() if c == 0}
    rows, columns = (np.array(part) for part in zip(*cells, strict=True))
    return rows, columns, objects(cells.values())


@pytest.mark.slow
def test_another_process_eliminates_to_the_same_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    entries, right = square(30), objects(fmpq(k, 7) for k in range(30))
    here = Core(*entries, 30)
    monkeypatch.setattr(room, "LONG", 0)
    apart = Core(*entries, 30)
    for transposed in (False, True):
        assert (apart.solve(right, transposed) == here.eliminated(right, transposed)).all()
    with pytest.raises(SingularCore) as found:
        Core(*square(30, repeated=True), 30, apart=True).solve(right)
    assert len(found.value.columns) == len(found.value.rows) == 29


@pytest.mark.slow
def test_a_long_elimination_keeps_the_time_limit() -> None:
    size = 700
    core = Core(*square(size), size, apart=True)
    with pytest.raises(OutOfTime), time_limited(0.5):
        core.solved_exactly(objects(fmpq(k, 7) for k in range(size)), False)
