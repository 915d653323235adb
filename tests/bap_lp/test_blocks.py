"""States read in blocks: from arrays, .npy and Parquet the same optimum as in memory, and bad blocks are named."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

from bap_lp import InputError, Problem, array_blocks, parquet_blocks, solve, solve_chunks
from bap_lp.engines.game import chunks

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


def split(folder: Path) -> Path:
    """The same states as a folder of two files."""
    folder.mkdir()
    table = pyarrow.parquet.read_table(parquet(folder.parent))
    for k, part in enumerate((table.slice(0, 1000), table.slice(1000))):
        pyarrow.parquet.write_table(part, folder / f"{k}.parquet")
    return folder


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
        parquet_blocks(split(tmp_path / "folder"), "p", ["b0", "b1", "b2"], ["e0", "e1"], size=800),
        [lambda k=k: (P[k : k + 800], B[k : k + 800], E[k : k + 800]) for k in range(0, N, 800)],
    ]
    for blocks in sources:
        found = solve_chunks(blocks, 0.7)
        assert found.value == pytest.approx(VALUE, abs=1e-10)
        assert abs(found.gap) <= 1e-9
        assert found.states == N - 5


def test_files_of_numpy_are_mapped_into_memory_and_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load, modes = np.load, []
    monkeypatch.setattr(np, "load", lambda path, **how: (modes.append(how.get("mmap_mode")), load(path, **how))[1])
    found = solve_chunks(array_blocks(*npy(tmp_path), size=800), 0.7)
    assert found.value == pytest.approx(VALUE, abs=1e-10)
    assert {*modes} == {"r"}


def test_only_undecided_states_are_kept_and_blocks_are_read_several_times(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, n, kept, reads = np.random.default_rng(0), 60_000, [], []
    p, bob, eve = np.full(n, 1 / n), rng.random((n, 3)), rng.random((n, 3))
    game = chunks.solve_game
    monkeypatch.setattr(chunks, "solve_game", lambda p, *rest, **how: (kept.append(len(p)), game(p, *rest, **how))[1])

    def loader(k: int) -> tuple[np.ndarray, ...]:
        reads.append(k)
        return p[k : k + 20_000], bob[k : k + 20_000], eve[k : k + 20_000]

    found = solve_chunks([partial(loader, k) for k in range(0, n, 20_000)], 0.5)
    assert abs(found.gap) <= 1e-9
    assert max(kept) < n / 3
    assert min(map(reads.count, {*reads})) > 2


def test_progress_over_blocks_has_iteration_bound_and_value() -> None:
    seen: list[tuple[int, float, float]] = []
    found = solve_chunks(array_blocks(P, B, E, size=800), 0.7, progress=lambda *args: seen.append(args))
    assert [iteration for iteration, _, _ in seen] == [*range(1, len(seen) + 1)]
    assert all(bound <= VALUE + 1e-9 and value >= VALUE - 1e-9 for _, bound, value in seen)
    assert seen[-1][1:] == (found.bound, found.value)


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


JUNK = [None, "abc", [[1, 2], [3]], {}, [[1j, 0], [0, 1]], object(), 2.5, -1]
COIN = np.array([0.75, 0.25]), np.array([[1 / 3, 2 / 3], [1.0, 0.0]]), np.array([[0.0, 1.0], [10.0, 0.0]])


@pytest.mark.parametrize("junk", JUNK[2:], ids=lambda junk: type(junk).__name__)
@pytest.mark.parametrize("place", ["prior", "bob_loss", "eve_loss"])
def test_blocks_of_what_is_no_array_are_refused_by_name(place: str, junk: Any) -> None:
    given: dict[str, Any] = dict(zip(("prior", "bob_loss", "eve_loss"), COIN, strict=True))
    with pytest.raises(InputError, match=place):
        list(array_blocks(**given | {place: junk})())


@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: type(junk).__name__)
@pytest.mark.parametrize("place", ["chunks", "tol", "undecided", "limit", "groups", "size"])
def test_solve_chunks_refuses_junk_by_name(place: str, junk: Any) -> None:
    if (place, junk) in (("tol", 2.5), ("groups", None)):
        return
    calls: dict[str, Any] = {
        "size": lambda: array_blocks(*COIN, size=junk),
        "chunks": lambda: solve_chunks([junk], 0.3),
    }
    with pytest.raises(InputError, match=place):
        calls.get(place, lambda: solve_chunks([COIN], 0.3, **{place: junk}))()


def test_a_file_that_numpy_did_not_write_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "prior.npy"
    file.write_text("0.5, 0.5")
    with pytest.raises(InputError, match=r"must be a file of numbers that numpy\.save wrote"):
        array_blocks(file, *COIN[1:])


def test_a_column_may_be_the_loss_of_both_and_one_of_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "states.parquet"
    table = {"p": [0.75, 0.25], "a": [0.0, 1.0], "b": [1.0, 0.0], "word": ["x", "y"]}
    pyarrow.parquet.write_table(pyarrow.table(table), file)
    found = solve_chunks(parquet_blocks(file, "p", ["a", "b"], ["a", "b"]), 0.5)
    loss = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert found.value == pytest.approx(solve(Problem(np.array([0.75, 0.25]), loss, loss), 0.5).value, abs=1e-12)
    with pytest.raises(InputError, match="column 'word' must be an array of numbers"):
        list(parquet_blocks(file, "p", ["word"], ["a"])())
