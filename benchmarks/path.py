"""The whole exact path against one cold exact solution: pieces, time per piece, and the ratio of the two.

    python benchmarks/path.py [seeds]

Every seed gives a random problem with losses k/1000 and weights up to 100. Path and solution are timed in turn, in one
process, three times each, and the least processor time counts, so that neighbours on the machine do not; the checks
that follow are not counted.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from time import process_time

import numpy as np

from bap_lp.model.problem import Problem
from bap_lp.questions.optimum.solving import solve
from bap_lp.questions.path.pieces import lambda_path

SIZES = [(50, 5, 5), (200, 5, 5)]


def random_problem(size: tuple[int, int, int], seed: int) -> Problem:
    states, b, e = size
    random = np.random.default_rng(seed)
    weights = [int(w) for w in random.integers(1, 100, states)]
    tables = [random.integers(0, 1001, (states, k)).tolist() for k in (b, e)]
    bob, eve = ([[Fraction(v, 1000) for v in row] for row in table] for table in tables)
    return Problem([Fraction(w, sum(weights)) for w in weights], bob, eve)


def measure(problem: Problem, repeats: int = 3) -> tuple[int, float, float]:
    """Pieces, seconds for the path, seconds for one cold exact solution at a short lam in the middle of it."""
    path_times, solve_times = [], []
    for _ in range(repeats):
        start = process_time()
        path = lambda_path(problem)
        path_times.append(process_time() - start)
        middle = Fraction(path.pieces[len(path.pieces) // 2].certificate.lam).limit_denominator(10**6)
        start = process_time()
        solution = solve(problem, middle)
        solve_times.append(process_time() - start)
        if solution.value != path.value(middle):
            raise ArithmeticError(f"path and solution differ at lam = {middle}")
    verdict = path.verify()
    if not verdict:
        raise ArithmeticError(verdict.reason)
    return len(path.pieces), min(path_times), min(solve_times)


def main(seeds: int = 5) -> None:
    print("(N, b, e)       seed  pieces   path s  ms/piece  cold ms  piece/cold")
    for size in SIZES:
        for seed in range(seeds):
            pieces, path, cold = measure(random_problem(size, seed))
            each = path / pieces
            times = f"{path:8.3f} {1000 * each:9.2f} {1000 * cold:8.1f} {each / cold:11.2f}"
            print(f"{size!s:15} {seed:4} {pieces:7} {times}", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
