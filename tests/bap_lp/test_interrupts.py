"""Signals and time limits inside the solvers: every run can be stopped, and leaves the process as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bap_lp import Conditions, Problem, solve
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.highs import PRIMAL, loaded_program, run
from bap_lp.engines.linear.linear_program import LinearProgram
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import compact
from bap_lp.support.clock import OutOfTime, time_limited

STOPPED = 7  # the child's exit code if the interrupt reached it as one

CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
import numpy as np
from bap_lp import Conditions, Problem, solve
draw = np.random.default_rng(0)
def random(N, b, e):
    return Problem([f"1/{N}"] * N, draw.integers(0, 99, (N, b)).tolist(), draw.integers(0, 99, (N, e)).tolist())
apart = [[abs(x - y) for y in range(400)] for x in range(400)]
problem, conditions = random(*SHAPE), CONDITIONS
small = random(6, 3, 3)
before = solve(small, 1).value
print("ready", flush=True)
try:
    solve(problem, 1, EXACT, conditions=conditions)
except KeyboardInterrupt:
    sys.exit(STOPPED if solve(small, 1).value == before else 1)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "conditions", "exact"),
    [
        ((400, 20, 3), "Conditions(exp_epsilon=2, metric=apart)", False),
        ((400, 20, 3), "Conditions(exp_epsilon=2, metric=apart)", True),
        ((150, 150, 150), "None", False),
        ((150, 150, 150), "None", True),
        ((60, 12, 8), "Conditions(deterministic=True, max_bob_risk=30)", True),
        ((900, 25, 3), "Conditions(max_information=0.2)", False),
    ],
    ids=["metric, floats", "metric, exact", "free, floats", "free, exact", "whole numbers", "cones"],
)
def test_an_interrupt_ends_a_solution_in_the_middle_as_one(
    shape: tuple[int, int, int], conditions: str, exact: bool
) -> None:
    """All of these take ten seconds or more; who is not interrupted in time is killed, or ends with another code."""
    given = {"SHAPE": shape, "CONDITIONS": conditions, "EXACT": exact, "STOPPED": STOPPED}
    script = CHILD
    for name, value in given.items():
        script = script.replace(name, str(value))
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        time.sleep(1.5)
        child.send_signal(signal.SIGINT)
        assert child.wait(timeout=30) == STOPPED
    finally:
        child.kill()
        child.communicate()


def large() -> LinearProgram:
    """A program that takes some seconds by every method."""
    draw, (N, b, e) = np.random.default_rng(0), (500, 80, 20)
    arrays = Arrays(np.full(N, 1 / N), draw.random((N, b)), draw.random((N, e)), (slice(0, e),))
    return LinearForm.of(compact(arrays, 1.0)).lp


class Alarm(Exception):
    """What the signal handler of these tests raises."""


@pytest.fixture
def alarm() -> Iterator[None]:
    """A signal in 0.4 seconds."""

    def ring(*_: object) -> None:
        raise Alarm

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


INSIDE: dict[str, object] = {"solver": "ipm"}
METHODS: list[dict[str, object]] = [{}, {"simplex_strategy": PRIMAL}, INSIDE, INSIDE | {"presolve": "on"}]


@pytest.mark.slow
@pytest.mark.parametrize("options", METHODS, ids=["dual", "primal", "interior", "interior after presolve"])
@pytest.mark.usefixtures("alarm")
def test_whatever_a_signal_handler_raises_ends_a_run_of_highs(options: dict[str, object]) -> None:
    program = loaded_program(large(), **options)
    with pytest.raises(Alarm):
        run(program)
    assert program.getModelStatus().name in ("kInterrupt", "kTimeLimit")


@pytest.mark.slow
@pytest.mark.parametrize("options", METHODS, ids=["dual", "primal", "interior", "interior after presolve"])
def test_a_run_of_highs_keeps_the_time_limit_in_every_thread(options: dict[str, object]) -> None:
    def limited() -> None:
        with time_limited(0.3):
            run(loaded_program(large(), **options))

    with pytest.raises(OutOfTime):
        limited()
    with ThreadPoolExecutor(1) as thread, pytest.raises(OutOfTime):
        thread.submit(limited).result()


@pytest.mark.slow
def test_a_large_problem_under_conditions_keeps_the_time_limit() -> None:
    N, draw = 400, np.random.default_rng(0)
    apart = [[abs(x - y) for y in range(N)] for x in range(N)]
    problem = Problem([f"1/{N}"] * N, draw.integers(0, 99, (N, 20)).tolist(), draw.integers(0, 99, (N, 3)).tolist())
    conditions = Conditions(exp_epsilon=2, metric=apart)
    with pytest.raises(OutOfTime):
        solve(problem, 1, conditions=conditions, time_limit=1)
    stopped = solve(problem, 1, False, conditions=conditions, time_limit=1)
    assert "stopped" in stopped.method
    assert stopped.bound <= stopped.value
