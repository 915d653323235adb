"""The problems every benchmark is run on, from one seed."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp import Conditions, Problem
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import compact
from bap_lp.questions.optimum.asked import AskedProblem
from bap_lp.support.rational import EXACT

SIZES = [(2, 2, 2), (50, 5, 5), (200, 8, 8), (500, 5, 5), (1000, 10, 10)]


def rational(N: int, b: int, e: int, seed: int = 0) -> Problem:
    """Losses with denominators to 1000, prior of integer weights to 1000."""
    draw = random.Random(seed)
    weights = [draw.randint(1, 1000) for _ in range(N)]
    prior = np.array([fmpq(w, sum(weights)) for w in weights], dtype=object)
    tables = [
        np.array(
            [[fmpq(draw.randint(0, 1000), draw.randint(1, 1000)) for _ in range(k)] for _ in range(N)], dtype=object
        )
        for k in (b, e)
    ]
    return Problem(prior, *tables)


def zero_one(N: int, b: int, e: int, seed: int = 0) -> Problem:
    """0-1 losses and a uniform prior: as degenerate as problems get."""
    draw = random.Random(seed)
    tables = [np.array([[fmpq(draw.randint(0, 1)) for _ in range(k)] for _ in range(N)], dtype=object) for k in (b, e)]
    return Problem(np.array([fmpq(1, N)] * N, dtype=object), *tables)


KINDS: dict[str, Callable[..., Problem]] = {"rationals to 1000": rational, "0-1, uniform": zero_one}


def best_time(task: Callable[[], Any], repeats: int = 3) -> tuple[float, Any]:
    """The shortest of a few runs, in seconds, and the result: the least disturbed run is the best estimate.

    Short tasks are repeated for half a second, since the first runs of a short task are the most disturbed.
    """
    times: list[float] = []
    result = None
    while len(times) < repeats or sum(times) < 0.5:
        start = time.perf_counter()
        result = task()
        times.append(time.perf_counter() - start)
        if times[-1] > 5:
            break
    return min(times), result


def compact_program(arrays: Arrays, lam: Any) -> LinearProgram:
    """The free problem as any solver gets it."""
    return LinearForm.of(compact(arrays, lam)).lp


def conditioned_program(problem: Problem, conditions: Conditions, lam: float) -> LinearProgram:
    """The program under conditions as any solver gets it, in floats."""
    layout = AskedProblem.of(problem, conditions, exact=False).layout
    return LinearForm.of(layout.program(EXACT.number(lam)).rounded).lp
