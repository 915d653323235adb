"""The structured solver: its growth in N, its memory, and ties; `grid` has it against HiGHS.

Random dense games: uniform losses, Dirichlet prior, at lam = 1. Gaps are relative to the largest spread of losses.
"""

from __future__ import annotations

import math
import multiprocessing
from functools import partial
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from bap_lp.engines.game.solver import GameSolution, solve_game
from benchmarks.instances import best_time

GROWTH = [(2, 2), (5, 5)]
Array = np.ndarray
Game = tuple[Array, Array, Array]


def dense(n: int, b: int, e: int) -> Game:
    rng = np.random.default_rng(n + b)
    return rng.dirichlet(np.ones(n)), rng.random((n, b)), rng.random((n, e))


def zero_one(n: int, b: int, e: int) -> Game:
    rng = np.random.default_rng(n)
    return np.full(n, 1 / n), np.round(rng.random((n, b))), np.round(rng.random((n, e)))


def integers(n: int, b: int, e: int) -> Game:
    rng = np.random.default_rng(n)
    return np.full(n, 1 / n), rng.integers(0, 4, (n, b)) * 1.0, rng.integers(0, 4, (n, e)) * 1.0


def copies(n: int, b: int, e: int) -> Game:
    _, B, E = dense(n, b, e)
    which = np.arange(n) % (n // 10)
    return np.full(n, 1 / n), B[which], E[which]


def relative_gap(game: Game, lam: float, found: GameSolution) -> float:
    scale = max(np.ptp(game[1], axis=1).max(), lam * np.ptp(game[2], axis=1).max())
    return abs(found.gap) / float(scale)


def growth(console: Console) -> None:
    table = Table("(b, e)", "1e4", "1e5", "1e6", "exponent", "gap at 1e6", title="Seconds as N grows")
    for b, e in GROWTH:
        games = [dense(n, b, e) for n in (10_000, 100_000, 1_000_000)]
        runs = [best_time(partial(solve_game, *game)) for game in games]
        exponent = math.log(runs[-1][0] / runs[0][0]) / math.log(100)
        gap = relative_gap(games[-1], 1.0, runs[-1][1])
        table.add_row(str((b, e)), *(f"{t:.3f}" for t, _ in runs), f"{exponent:.2f}", f"{gap:.0e}")
    console.print(table)


def ties(console: Console) -> None:
    table = Table("losses", "(N, b, e)", "seconds", "gap", "vertex", title="Ties")
    for make in (zero_one, integers, copies):
        for size in ((10_000, 10, 10), (100_000, 5, 5)):
            game = make(*size)
            own, found = best_time(partial(solve_game, *game), repeats=1)
            gap = f"{relative_gap(game, 1.0, found):.0e}"
            table.add_row(make.__name__, str(size), f"{own:.3f}", gap, str(found.vertex))
    console.print(table)


def high_water() -> int:
    """The largest resident size of this process so far, in bytes (Linux)."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))


def peak(size: tuple[int, int, int]) -> float:
    """Peak memory, input included and the imported libraries left out, in units of the losses."""
    solve_game(*dense(100, *size[1:]))
    libraries = high_water()
    game = dense(*size)
    solve_game(*game)
    return (high_water() - libraries) / (game[1].nbytes + game[2].nbytes)


def main() -> None:
    console = Console()
    growth(console)
    ties(console)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        console.print(f"(1000000, 5, 5): peak memory {pool.apply(peak, ((1_000_000, 5, 5),)):.1f} times the input")


if __name__ == "__main__":
    main()
