"""States read in blocks: from arrays, .npy and Parquet the same optimum as in memory, and bad blocks are named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from bap_lp import InputError, Problem, array_blocks, parquet_blocks, solve, solve_chunks

RNG = np.random.default_rng(4)
N = 3000
P, B, E = RNG.dirichlet(np.ones(N)), RNG.random((N, 3)), RNG.random((N, 2))
P[:5] = 0.0
P /= P.sum()
VALUE = solve(Problem(P, B, E), 0.7).value


def parquet(folder: Path) -> Path:
    names = ["p", "b0", "b1", "b2", "e0", "e1"]
    table = pyarrow.table(dict(zip(names, np.column_stack([P, B, E]).T, strict=True)))
    pyarrow.parquet.write_table(table, folder / "states.parquet", row_group_size=700)
    return folder / "states.parquet"


def npy(folder: Path) -> list[Path]:
    for name, part in (("p", P), ("B", B), ("E", E)):
        np.save(folder / f"{name}.npy", part)
    return [folder / f"{name}.npy" for name in ("p", "B", "E")]


@pytest.mark.slow
def test_every_source_gives_the_same_optimum(tmp_path: Path) -> None:
    file = parquet(tmp_path)
    sources = [
        array_blocks(P, B, E, size=800),
        array_blocks(*npy(tmp_path), size=800),
        parquet_blocks(file, "p", ["b0", "b1", "b2"], ["e0", "e1"], size=800),
    ]
    for blocks in sources:
        found = solve_chunks(blocks, 0.7)
        assert found.value == pytest.approx(VALUE, abs=1e-10)
        assert abs(found.gap) <= 1e-9
        assert found.states == N - 5


def test_a_column_that_is_not_in_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"column = 'b9' is not in .*states\.parquet: it has p, b0"):
        parquet_blocks(parquet(tmp_path), "p", ["b9"], ["e0"])


def bad(at: int, value: float) -> np.ndarray:
    losses = B.copy()
    losses[at, 1] = value
    return losses


@pytest.mark.parametrize(
    ("chunks", "lam", "message"),
    [
        ([(P, B, E)], -1, "lam = -1 must not be negative"),
        ([(P, B, E)], "much", "lam = 'much' is not a number"),
        ([], 1, "chunks must not be empty"),
        (iter([(P, B, E)]), 1, "can be read once only"),
        ([(P / 2, B, E)], 1, "sum of p over all chunks = '0.5' must be 1"),
        ([(P, B[:-1], E)], 1, "chunks[0] has shapes"),
        (array_blocks(P, bad(2999, np.nan), E, 1000), 1, "chunks[2].B[999][1] = nan must be finite and not negative"),
        (array_blocks(P, bad(1500, -1.0), E, 1000), 1, "chunks[1].B[500][1] = -1.0 must be finite and not negative"),
    ],
)
def test_bad_chunks_are_named(chunks: object, lam: object, message: str) -> None:
    with pytest.raises(InputError) as error:
        solve_chunks(chunks, lam)  # type: ignore[arg-type]
    assert message in str(error.value)


def test_arrays_of_different_lengths_are_refused() -> None:
    with pytest.raises(InputError, match="must be the same"):
        array_blocks(P, B[:-1], E)
