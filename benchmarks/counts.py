"""Tables of counts: seconds to build and to solve exactly, merged or with every table as a state, and to compare.

    python -m benchmarks counts

Four Eves ask whether each of four cells is below 3, so no cells can be taken together. Seconds are processor time, and
the last column is the largest memory of the process so far.
"""

from __future__ import annotations

import resource
from time import process_time

from bap_lp import solve
from bap_sdc import TableProblem, counts
from bap_sdc.count_tables.comparisons import compare_tables

BOB = {"cells": ["1", "2"], "loss": "absolute", "decisions": {"from": 0, "to": 1, "steps": 5}}
EVES = [{"cells": str(cell), "asks": "below", "below": 3} for cell in (1, 2, 3, 4)]
CASES = [(20, True), (20, False), (40, True), (40, False), (150, True), (150, False), (180, True)]
_COMPARED = 20_000  # tables up to which the releases are evaluated


def build(people: int, merge: bool) -> TableProblem:
    return counts(people, 4, alpha=[1, 2, 3, 1], bob=BOB, eve=EVES, merge=merge)


def main() -> None:
    print("   n  merge    tables   states  build s  solve s  compare s  exact rows     MB")
    for people, merge in CASES:
        start = process_time()
        problem = build(people, merge)
        built = process_time() - start
        start = process_time()
        # exact where the states are few; the float optimum of many has a certified gap
        solution = solve(problem, exact=None if len(problem.p) <= _COMPARED else False)
        solved = process_time() - start
        compared, rows = "", ""
        if problem.tables <= _COMPARED and merge:
            start = process_time()
            table = compare_tables(problem, solution.lam, solution)
            compared = f"{process_time() - start:.2f}"
            exact = sum(not isinstance(row.alice, float) for row in table.rows)
            rows = f"{exact} of {len(table.rows)}"
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        sizes = f"{people:4} {merge!s:>6} {problem.tables:9,} {len(problem.p):8,}"
        print(f"{sizes} {built:8.2f} {solved:8.2f} {compared:>10} {rows:>11} {memory:6}", flush=True)


if __name__ == "__main__":
    main()
