"""The structured solver against HiGHS on the same compact program, its growth in N, its memory, and ties.

Random dense games: uniform losses, Dirichlet prior, at lam = 1 and at the calibrated lam, where releasing everything
and releasing nothing are equally good.  HiGHS runs on the compact program with scaled marginals (N rho), by its dual
simplex and by its interior point; one that needs more than LIMIT seconds is stopped and shown as >.  Gaps are relative
to the largest spread of losses.
"""

from __future__ import annotations

import math
import multiprocessing
from functools import partial
from pathlib import Path

import highspy
import numpy as np
from rich.console import Console
from rich.table import Table

from bap_lp.engines.game.solver import GameSolution, solve_game
from benchmarks.instances import best_time

LIMIT = 120.0
SMALL = [(50, 5, 5), (200, 8, 8), (500, 5, 5), (1000, 10, 10)]
VERSUS = [*SMALL, (5000, 5, 5), (10_000, 5, 5), (10_000, 10, 10), (100_000, 2, 2)]
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


def calibrated(p: Array, B: Array, E: Array) -> float:
    """Bob's loss from silence over Eve's loss from silence."""
    bob = (p @ B).min() - p @ B.min(axis=1)
    eve = (p @ E).min() - p @ E.min(axis=1)
    return float(bob / eve)


def program(p: Array, B: Array, E: Array, lam: float) -> highspy.HighsLp:
    n, b = B.shape
    e = E.shape[1]
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = n * b + b, n + b * e
    lp.col_cost_ = np.concatenate([B.ravel(), np.full(b, -lam)])
    lp.col_lower_ = np.concatenate([np.zeros(n * b), np.full(b, -np.inf)])
    lp.col_upper_ = np.full(n * b + b, np.inf)
    lp.row_lower_ = np.concatenate([n * p, np.zeros(b * e)])
    lp.row_upper_ = np.concatenate([n * p, np.full(b * e, np.inf)])
    state, decision = np.divmod(np.arange(n * b), b)
    index = np.column_stack([state, n + decision[:, None] * e + np.arange(e)])
    entry = np.column_stack([np.ones(n * b), E[state]])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    starts = np.concatenate([np.arange(n * b) * (e + 1), n * b * (e + 1) + np.arange(b + 1) * e])
    lp.a_matrix_.start_ = starts.astype(np.int32)
    lp.a_matrix_.index_ = np.concatenate([index.ravel(), n + np.arange(b * e)]).astype(np.int32)
    lp.a_matrix_.value_ = np.concatenate([entry.ravel(), -np.ones(b * e)])
    return lp


def general(game: Game, lam: float, solver: str, value: float) -> float:
    """Seconds HiGHS needs, infinite where stopped."""
    model = highspy.Highs()
    for name, setting in {"output_flag": False, "solver": solver, "time_limit": LIMIT}.items():
        assert model.setOptionValue(name, setting) == highspy.HighsStatus.kOk
    model.passModel(program(*game, lam))

    def run() -> None:
        model.clearSolver()  # a model that was solved before is at its optimum
        model.run()

    elapsed, _ = best_time(run, repeats=1)
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return math.inf
    assert abs(model.getInfo().objective_function_value / len(game[0]) - value) < 1e-6, "HiGHS disagrees"
    return elapsed


def relative_gap(game: Game, lam: float, found: GameSolution) -> float:
    scale = max(np.ptp(game[1], axis=1).max(), lam * np.ptp(game[2], axis=1).max())
    return abs(found.gap) / float(scale)


def times(seconds: float, own: float) -> str:
    return f"> {LIMIT / own:.0f}" if math.isinf(seconds) else f"{seconds / own:.1f}"


def versus(console: Console) -> None:
    table = Table("(N, b, e)", "lam", "seconds", "gap", "simplex /", "interior /", "best /", title="HiGHS over this")
    for size in VERSUS:
        game = dense(*size)
        for name, lam in (("1", 1.0), ("calibrated", calibrated(*game))):
            own, found = best_time(partial(solve_game, *game, lam=lam))
            others = [general(game, lam, solver, found.value) for solver in ("simplex", "ipm")]
            gap = f"{relative_gap(game, lam, found):.0e}"
            table.add_row(str(size), name, f"{own:.4f}", gap, *(times(t, own) for t in (*others, min(others))))
    console.print(table)


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
    versus(console)
    growth(console)
    ties(console)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        console.print(f"(1000000, 5, 5): peak memory {pool.apply(peak, ((1_000_000, 5, 5),)):.1f} times the input")


if __name__ == "__main__":
    main()
