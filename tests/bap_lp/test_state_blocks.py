"""States read in blocks: arrays, mapped files and Parquet give the same optimum as in memory, bad blocks are named."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from bap_lp import InputError, Problem, solve
from bap_lp.engines.many_states import solve_game
from bap_lp.model.sums.arrays import Arrays

RNG = np.random.default_rng(4)
N = 3000
P, B, E = RNG.dirichlet(np.ones(N)), RNG.random((N, 3)), RNG.random((N, 2))
P[:5] = 0.0
P /= P.sum()
VALUE = solve(Problem(P, B, E), 0.7).value
CUTS = [slice(k, k + 800) for k in range(0, N, 800)]
Block = tuple[np.ndarray, ...]


def mapped(folder: Path) -> list[Any]:
    """Functions that read a part of files that numpy maps into memory."""
    for name, part in (("p", P), ("B", B), ("E", E)):
        np.save(folder / f"{name}.npy", part)

    def read(cut: slice) -> Block:
        return tuple(np.load(folder / f"{name}.npy", mmap_mode="r")[cut] for name in "pBE")

    return [partial(read, cut) for cut in CUTS]


def parquet(folder: Path) -> list[Any]:
    """Functions that read a row group of a Parquet file."""
    names = ["p", "b0", "b1", "b2", "e0", "e1"]
    table = pyarrow.table(dict(zip(names, np.column_stack([P, B, E]).T, strict=True)))
    pyarrow.parquet.write_table(table, folder / "states.parquet", row_group_size=700)
    file = pyarrow.parquet.ParquetFile(folder / "states.parquet")

    def read(k: int) -> Block:
        rows = np.column_stack([column.to_numpy() for column in file.read_row_group(k).columns])
        return rows[:, 0], rows[:, 1:4], rows[:, 4:]

    return [partial(read, k) for k in range(file.num_row_groups)]


@pytest.mark.slow
def test_every_source_gives_the_same_optimum(tmp_path: Path) -> None:
    arrays = [(P[cut], B[cut], E[cut]) for cut in CUTS]
    for blocks in (arrays, mapped(tmp_path), parquet(tmp_path), iter(arrays)):
        found = solve(blocks, 0.7)
        assert found.value == pytest.approx(VALUE, abs=1e-10)
        assert abs(found.gap) <= 1e-9
        assert found.states == N - 5


def test_a_block_has_a_table_for_every_eve() -> None:
    found = solve([(P[cut], B[cut], E[cut], B[cut]) for cut in CUTS], 0.7)
    arrays = Arrays(P, B, np.hstack([E, B]), (slice(0, 2), slice(2, 5)))
    rho = P[:, None] * found.rule.channel(arrays.B, arrays.E)
    assert found.value == pytest.approx(float(arrays.value(rho, 0.7)), abs=1e-12)
    assert abs(found.gap) <= 1e-9


def test_only_undecided_states_are_kept_and_blocks_are_read_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n, kept, reads = np.random.default_rng(0), 60_000, [], []
    p, bob, eve = np.full(n, 1 / n), rng.random((n, 3)), rng.random((n, 3))

    def counted(p: np.ndarray, *rest: Any, **how: Any) -> Any:
        kept.append(len(p))
        return solve_game(p, *rest, **how)

    monkeypatch.setattr("bap_lp.engines.state_blocks.solve_game", counted)

    def loader(k: int) -> Block:
        reads.append(k)
        return p[k : k + 20_000], bob[k : k + 20_000], eve[k : k + 20_000]

    found = solve([partial(loader, k) for k in range(0, n, 20_000)], 0.5)
    assert abs(found.gap) <= 1e-9
    assert max(kept) < n / 3
    assert min(map(reads.count, {*reads})) > 2


def test_progress_over_blocks_has_iteration_bound_and_value() -> None:
    seen: list[tuple[int, float, float]] = []
    found = solve([(P[cut], B[cut], E[cut]) for cut in CUTS], 0.7, progress=lambda *args: seen.append(args))
    assert [iteration for iteration, _, _ in seen] == [*range(1, len(seen) + 1)]
    assert all(bound <= VALUE + 1e-9 and value >= VALUE - 1e-9 for _, bound, value in seen)
    assert seen[-1][1:] == (found.bound, found.value)


def bad(at: int, value: float) -> list[Block]:
    losses = B.copy()
    losses[at, 1] = value
    return [(P[k : k + 1000], losses[k : k + 1000], E[k : k + 1000]) for k in range(0, N, 1000)]


@pytest.mark.parametrize(
    ("blocks", "lam", "message"),
    [
        ([(P, B, E)], -1, "lam = -1 must not be negative"),
        ([(P, B, E)], "much", "lam = 'much' is not a number"),
        ([], 1, "blocks must not be empty"),
        ([(P / 2, B, E)], 1, "sum of p over all blocks = '0.5' must be 1"),
        ([(P, B[:-1], E)], 1, "blocks[0] has shapes"),
        ([(P / 2, B, E), (P / 2, B, B)], 1, "blocks[1] has 3 and 3 columns, must have 3 and 2 as blocks[0]"),
        (bad(2999, np.nan), 1, "blocks[2].B[999][1] = nan must be finite and not negative"),
        (bad(1500, -1.0), 1, "blocks[1].B[500][1] = -1.0 must be finite and not negative"),
    ],
)
def test_bad_blocks_are_named(blocks: Any, lam: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        solve(blocks, lam)
    assert message in str(error.value)


@pytest.mark.parametrize("junk", [None, "abc", [[1, 2], [3]], {}, object(), 2.5], ids=lambda junk: type(junk).__name__)
def test_what_is_no_block_is_refused_by_name(junk: Any) -> None:
    with pytest.raises(InputError, match=r"blocks\[0\]"):
        solve([junk], 0.3)


@pytest.mark.parametrize("junk", [None, "abc", {}, object(), 2.5], ids=lambda junk: type(junk).__name__)
def test_what_is_neither_a_problem_nor_blocks_is_refused(junk: Any) -> None:
    with pytest.raises(InputError, match="problem must be a Problem"):
        solve(junk, 0.3)


def test_blocks_take_no_conditions() -> None:
    with pytest.raises(InputError, match="problem in blocks takes lam, progress, client and time_limit alone"):
        solve([(P, B, E)], 0.3, exact=True)  # type: ignore[call-overload]
