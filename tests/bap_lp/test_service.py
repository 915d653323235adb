"""In a service: time limits, cancellation, memory, logging, threads."""

import logging
import math
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bap_lp import Conditions, InputError, Problem, evaluate, lambda_path, solve, verify
from bap_lp.engines.linear import memory
from bap_lp.engines.linear.linear_program import ProgramBuilder
from bap_lp.support.clock import OutOfTime, check, remaining, time_limited
from bap_lp.support.rational import FLOAT


def random_problem(states: int, decisions: int, seed: int = 0, exact: bool = False) -> Problem:
    rng = np.random.default_rng(seed)
    if exact:
        tables = rng.integers(0, 1000, (2, states, decisions))
        return Problem([f"1/{states}"] * states, tables[0].tolist(), tables[1].tolist())
    return Problem(rng.dirichlet(np.ones(states)), rng.random((states, decisions)), rng.random((states, decisions)))


@pytest.mark.parametrize("shape", [(30, 3), (400, 8)], ids=["one program", "structured"])
def test_floats_out_of_time_are_a_certified_pair_that_says_so(shape: tuple[int, int]) -> None:
    problem = random_problem(*shape)
    found, best = solve(problem, 0.7, time_limit=0), solve(problem, 0.7)
    assert "stopped before the optimum" in found.method
    assert found.bound <= best.value <= found.value + 1e-12
    assert best.bound <= found.value
    assert found.gap == pytest.approx(found.value - found.bound, rel=1e-12)
    assert solve(problem, 0.7, time_limit=10**400).value == best.value


@pytest.mark.parametrize("shape", [(30, 3), (400, 8)])
def test_exact_solutions_out_of_time_are_refused(shape: tuple[int, int]) -> None:
    problem = random_problem(*shape, exact=True)
    with pytest.raises(TimeoutError, match="the time limit was reached before the optimum"):
        solve(problem, "7/10", time_limit=0)
    assert math.isinf(remaining())


def test_conditions_out_of_time_give_a_release_that_meets_them_or_none() -> None:
    problem = random_problem(12, 3)
    private = Conditions(exp_epsilon=2.0)
    found, best = solve(problem, 0.7, conditions=private, time_limit=0), solve(problem, 0.7, conditions=private)
    assert "stopped before the optimum" in found.method
    assert found.mechanism.max_ratio == 1
    assert found.bound <= best.value <= found.value + 1e-12
    useful = Conditions(exp_epsilon=2.0, max_bob_risk=best.risks.bob)  # neither full nor null release meets both
    with pytest.raises(OutOfTime):
        solve(problem, 0.7, conditions=useful, time_limit=0)


@pytest.mark.parametrize("limit", [-1, math.nan, "1", True])
def test_a_wrong_time_limit_is_refused(limit: object) -> None:
    with pytest.raises(InputError, match=r"time_limit = .* must be a number of seconds"):
        solve(random_problem(3, 2), 1.0, time_limit=limit)  # type: ignore[arg-type]


def test_a_limit_inside_another_can_only_shorten_it() -> None:
    with time_limited(3600):
        with time_limited(0), pytest.raises(OutOfTime):
            check()
        with time_limited(7200):
            assert remaining() <= 3600
        check()


class Cancelled(Exception):
    pass


def test_a_progress_function_cancels_what_it_watches() -> None:
    def cancel(*_: object) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        solve(random_problem(500, 8), 0.7, progress=cancel)
    with pytest.raises(Cancelled):
        solve(random_problem(500, 8, exact=True), "7/10", progress=cancel)
    with pytest.raises(Cancelled):
        lambda_path(random_problem(10, 3, exact=True), progress=cancel)
    with pytest.raises(Cancelled):
        solve(random_problem(16, 3), 0.7, conditions=Conditions(deterministic=True), progress=cancel)


def test_an_interrupt_of_a_large_float_problem_gives_the_best_pair_so_far() -> None:
    problem = random_problem(500, 8)

    def interrupt(iteration: int, *_: object) -> None:
        if iteration == 3:
            raise KeyboardInterrupt

    found, best = solve(problem, 0.7, progress=interrupt), solve(problem, 0.7)
    assert found.method.endswith("stopped before the optimum")
    assert found.bound <= best.value <= found.value + 1e-12
    assert 0 < found.gap < 1


def test_a_program_that_does_not_fit_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available", lambda: 2.0**27)
    builder = ProgramBuilder(FLOAT)
    columns = builder.columns(1000)
    with pytest.raises(InputError, match=r"needs a program of 1000000 entries, about 0\.1 GiB; 0\.1 GiB are free"):
        builder.rows(1000, [(np.arange(1000)[:, None], columns, 1.0)])


def test_dense_systems_that_do_not_fit_are_refused_before_they_are_built(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    problem = Problem(np.full(4000, 1 / 4000), draw.random((4000, 40)), draw.random((4000, 40)))
    monkeypatch.setattr(memory, "available", lambda: 2.0**26)
    with pytest.raises(InputError, match=r"needs a dense system in 1600 unknowns, about 0.1 GiB; 0.1 GiB are free"):
        solve(problem, 1)
    wide = Problem(np.full(100, 0.01), draw.random((100, 100)), draw.random((100, 100)))
    with pytest.raises(InputError, match=r"needs a program of 1020000 entries, about 0.1 GiB; 0.1 GiB are free"):
        solve(wide, 1)


def test_available_memory_is_a_number_of_bytes() -> None:
    assert memory.available() > 2**20


def test_a_solution_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="bap_lp"):
        found = solve(problem := random_problem(5, 2, exact=True), "1/2")
    (record,) = caplog.records
    assert (record.name.split(".")[0], record.levelname) == ("bap_lp", "INFO")
    value = f"{float(found.value):.9g}"
    form = rf"{re.escape(repr(problem))}: R_A {re.escape(value)}, gap 0, {re.escape(found.method)}, \d+\.\d+ s"
    assert re.fullmatch(form, record.getMessage())


@pytest.mark.slow
def test_threads_find_what_one_after_the_other_finds() -> None:
    tasks = [(random_problem(40 + 60 * (k % 4), 4, k, exact=k % 2 == 0), k) for k in range(16)]

    def work(task: tuple[Problem, int]) -> object:
        problem, k = task
        conditions = Conditions(exp_epsilon=3) if k % 5 == 0 else None
        found = solve(problem, "1/2", conditions=conditions)
        assert verify(problem, found.certificate)
        small = random_problem(6, 3, k, exact=True)
        pieces = [(piece.start, piece.mechanism) for piece in lambda_path(small).pieces]
        return found.value, found.mechanism, evaluate(problem, found.mechanism).risks, pieces

    alone = [work(task) for task in tasks]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(work, tasks))
    assert together == alone


def test_a_time_limit_belongs_to_its_thread() -> None:
    problem, inside, done = random_problem(30, 3, exact=True), threading.Event(), threading.Event()

    def limited() -> None:
        with time_limited(0):
            inside.set()
            done.wait(30)

    thread = threading.Thread(target=limited)
    thread.start()
    inside.wait(30)
    try:
        assert solve(problem, "1/2").gap == 0
    finally:
        done.set()
        thread.join()
