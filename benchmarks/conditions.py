"""Privacy between pairs of states, against plain HiGHS on the same program in the same run.

    chain n        n states in a row, absolute loss, exp(epsilon) = 2 between neighbours, lambda = 0
    all pairs      1000 states, 20 decisions, exp(epsilon) = 2 between all pairs, lambda = 0
    grid k         k x k places, Euclidean distance as loss and as metric, exp(epsilon) = 2 per unit, lambda = 0

The ratios are our time over HiGHS's. Ours includes building the program, the check and the proof; floats come with the
certified gap. HiGHS's own value is off where probabilities are below its tolerance, as the column `HiGHS off by` shows.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from bap_lp import Conditions, Problem, solve
from benchmarks.grid import plain
from benchmarks.instances import conditioned_program

CHAINS = (30, 50, 100)
GRIDS = (5, 6, 8)


def chain(n: int) -> tuple[Problem, Conditions]:
    losses = [[abs(x - i) for i in range(n)] for x in range(n)]
    neighbours = [(x, x + 1) for x in range(n - 1)]
    return Problem([f"1/{n}"] * n, losses, [[0]] * n), Conditions(exp_epsilon=2, neighbours=neighbours)


def grid(k: int) -> tuple[Problem, Conditions]:
    places = [(i, j) for i in range(k) for j in range(k)]
    apart = [[math.dist(a, b) for b in places] for a in places]
    return Problem([1 / k**2] * k**2, apart, [[0]] * k**2), Conditions(epsilon=math.log(2), metric=apart)


def all_pairs(N: int, b: int) -> tuple[Problem, Conditions]:
    random = np.random.default_rng(1)
    weights, losses = random.integers(1, 100, N), random.integers(0, 100, (N, b))
    return Problem([f"{w}/{weights.sum()}" for w in weights], losses.tolist(), [[0]] * N), Conditions(exp_epsilon=2)


def timed(problem: Problem, conditions: Conditions, exact: bool) -> tuple[float, Any]:
    start = time.process_time()
    found = solve(problem, 0, exact, conditions=conditions)
    return time.process_time() - start, found


def main() -> None:
    """Print the table."""
    table = Table("program", "HiGHS", "floats", "ratio", "gap", "exact", "ratio", "HiGHS off by", box=None)
    cases = [(f"chain {n}", *chain(n)) for n in CHAINS]
    cases += [("all pairs (1000, 20)", *all_pairs(1000, 20))]
    cases += [(f"grid {k}", *grid(k)) for k in GRIDS]
    timed(*chain(4), True)  # imports
    for name, problem, conditions in cases:
        peer, value = plain(conditioned_program(problem, conditions, 0.0))
        rough, found = timed(problem, conditions, False)
        line = [name, f"{peer:.2f} s", f"{rough:.2f} s", f"{rough / peer:.1f}", f"{found.gap:.1e}"]
        best = found.value
        if problem.exact and conditions.exact:
            exact, proved = timed(problem, conditions, True)
            line += [f"{exact:.2f} s", f"{exact / peer:.1f}"]
            best = float(proved.value)
        else:
            line += ["", ""]
        table.add_row(*line, f"{abs(value - best):.1e}")
    Console().print(table)


if __name__ == "__main__":
    main()
