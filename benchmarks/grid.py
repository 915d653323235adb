"""Plain HiGHS against ours, in floats: shapes, kinds of losses and conditions, so that a cliff is seen.

A number is the time of HiGHS as it comes (presolve, then simplex) on the program, over ours, in the same run and in
seconds of the processor. Ours includes laying out the program, the choice among several optima and the certified gap;
HiGHS is only given the program. Below one, HiGHS alone is faster. Losses:

    floats     random floats and a random prior        integers   random integers to 20 and a random prior
    0-1        random 0-1 losses, uniform prior        absolute   distances on a line, uniform prior
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bap_lp import Conditions, Problem, solve
from bap_lp.engines.linear.highs import loaded_program
from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.support.clock import OutOfTime
from benchmarks.instances import compact_program, conditioned_program

LIMIT = 60.0
LOSSES = ("floats", "integers", "0-1", "absolute")
# long, square, and wide: decisions few and many, against few and many states
SHAPES = [
    (200, 5, 5), (1000, 10, 10), (2000, 20, 5), (200, 10, 10), (200, 20, 20), (200, 50, 10), (200, 100, 4),
    (52, 52, 2), (30, 30, 30), (60, 20, 60), (60, 60, 20), (100, 50, 5), (100, 100, 2), (100, 100, 10),
    (60, 60, 60), (40, 100, 4), (20, 100, 20), (40, 80, 80), (10_000, 5, 5), (10_000, 10, 10), (100_000, 2, 2),
]  # fmt: skip
ASKED: dict[str, Callable[[int], dict[str, Any]]] = {
    "all pairs": lambda N: {"exp_epsilon": 2},
    "chain": lambda N: {"exp_epsilon": 2, "neighbours": [(x, x + 1) for x in range(N - 1)]},
    "posterior cap": lambda N: {"posterior_caps": [{"event": list(range(0, N, 3)), "at_most": 0.6}]},
    "independence": lambda N: {"independent_of": [list(range(0, N, 3))]},
    "leakage": lambda N: {"max_leakage": 1.5},
}
CONDITIONED = [(60, 5, 5), (100, 10, 5), (200, 5, 3), (40, 40, 4)]


def losses(kind: str, N: int, b: int, e: int, seed: int = 0) -> Problem:
    """A problem in floats."""
    draw, x = np.random.default_rng(seed), np.arange(N)[:, None]
    uniform, random = np.full(N, 1 / N), draw.dirichlet(np.ones(N))
    if kind == "floats":
        return Problem(random, draw.random((N, b)), draw.random((N, e)))
    if kind == "integers":
        return Problem(random, draw.integers(0, 20, (N, b)) * 1.0, draw.integers(0, 20, (N, e)) * 1.0)
    if kind == "0-1":
        return Problem(uniform, draw.integers(0, 2, (N, b)) * 1.0, draw.integers(0, 2, (N, e)) * 1.0)
    B, E = (np.abs(x * step % N * (k - 1) / (N - 1) - np.arange(k)) for step, k in ((1, b), (7919, e)))
    return Problem(uniform, B, E)


def plain(lp: LinearProgram) -> tuple[float, float]:
    """Seconds that HiGHS takes, and the value that it finds."""
    start = time.process_time()
    tolerances = {f"{side}_feasibility_tolerance": 1e-7 for side in ("primal", "dual")}
    highs = loaded_program(lp, solver="choose", presolve="choose", time_limit=LIMIT, **tolerances)
    highs.run()
    return time.process_time() - start, highs.getObjectiveValue()


def ours(problem: Problem, conditions: Conditions) -> tuple[float, bool]:
    """Seconds that we take, and whether the optimum was reached in time."""
    fresh = Problem(problem.p, problem.B, problem.E)
    start = time.process_time()
    try:
        reached = "stopped" not in solve(fresh, 1.0, False, conditions=conditions, time_limit=LIMIT).method
    except OutOfTime:
        reached = False
    return time.process_time() - start, reached


def ratio(problem: Problem, conditions: Conditions) -> str:
    """HiGHS over ours, the shorter of two runs each if they are short, and our seconds."""
    if conditions.empty:
        lp = compact_program(problem.arrays.merged()[0], 1.0)
    else:
        lp = conditioned_program(problem, conditions, 1.0)
    (peer, _), (own, reached) = plain(lp), ours(problem, conditions)
    if max(peer, own) < 2:
        peer, own = min(peer, plain(lp)[0]), min(own, ours(problem, conditions)[0])
    style = "red" if not reached or peer < 0.5 * own else "yellow" if peer < own else "green"
    return f"[{style}]{'' if reached else '<'}{peer / own:.2f}[/] ({own:.3f} s)"


def main() -> None:
    """Print the grid of the free problem, and that of the conditions."""
    console = Console(width=140)
    ours(losses("floats", 300, 10, 10), Conditions())  # imports
    table = Table("(N, b, e)", *LOSSES, box=None, title="free: HiGHS / ours (ours)")
    for shape in SHAPES:
        table.add_row(str(shape), *(ratio(losses(kind, *shape), Conditions()) for kind in LOSSES))
    console.print(table)
    table = Table("condition", "(N, b, e)", *LOSSES, box=None, title="under conditions: HiGHS / ours (ours)")
    for condition, given in ASKED.items():
        for shape in CONDITIONED:
            asked = Conditions(**given(shape[0]))
            table.add_row(condition, str(shape), *(ratio(losses(kind, *shape), asked) for kind in LOSSES))
    console.print(table)


if __name__ == "__main__":
    main()
