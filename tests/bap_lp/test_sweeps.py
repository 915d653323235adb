"""One answer per item, in order, on every executor; failures and interruptions; what travels by pickle."""

from __future__ import annotations

import copy
import io
import math
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from typing import Any

import pytest
from clusters import local_client

from bap_lp import InputError, Problem, Solution, solve, sweep, verify

LAMS = [Fraction(k, 20) for k in range(8)]


def coin_toss(k: Any = 10) -> Problem:
    return Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [k, 0]], title=f"k = {k}")


def value(lam: Fraction) -> Fraction:
    return min(Fraction(1, 4), Fraction(13, 40) - Fraction(3, 4) * lam)


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    # forking would copy the threads that Dask and HiGHS started in this process
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.fixture(scope="module")
def dask() -> Iterator[Executor]:
    with local_client(processes=True) as client:
        yield client.get_executor()


@pytest.fixture(params=["here", "threads", "processes", "dask"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor | None]:
    if request.param == "here":
        yield None
    elif request.param == "threads":
        with ThreadPoolExecutor(2) as pool:
            yield pool
    else:
        yield request.getfixturevalue(request.param)


@pytest.mark.slow
def test_many_lam_are_solved_exactly_and_in_order(executor: Executor | None) -> None:
    problem = coin_toss()
    solutions = sweep(LAMS, partial(solve, problem), executor=executor)
    assert [s.lam for s in solutions] == LAMS
    assert [s.value for s in solutions] == [value(lam) for lam in LAMS]
    assert all(verify(problem, s.certificate) and s.exact for s in solutions)


@pytest.mark.slow
def test_many_problems_are_solved_by_default(executor: Executor | None) -> None:
    problems = [coin_toss(k) for k in (4, 1, 10, 3)]
    solutions = sweep(iter(problems), executor=executor)
    assert [s.problem.title for s in solutions] == [p.title for p in problems]
    assert [s.value for s in solutions] == [solve(p).value for p in problems]


@pytest.mark.slow
def test_a_failure_names_its_item(executor: Executor | None) -> None:
    with pytest.raises(InputError, match="lam = -1") as caught:
        sweep([1, -1, 2], partial(solve, coin_toss()), executor=executor)
    assert caught.value.__notes__ == ["in item 1 of the sweep: -1"]


def test_a_sweep_over_nothing_is_empty(executor: Executor | None) -> None:
    assert sweep([], executor=executor) == []


def test_results_keep_the_order_of_the_items_not_of_completion() -> None:
    def late(k: int) -> int:
        time.sleep(0.02 * (4 - k))
        return k

    with ThreadPoolExecutor(4) as pool:
        assert sweep(range(4), late, executor=pool) == [0, 1, 2, 3]


@pytest.mark.parametrize("how", ["interrupt", "failure"])
def test_what_is_pending_is_cancelled(how: str) -> None:
    started, submitted, release = [], threading.Event(), threading.Event()

    def task(k: int) -> int:
        started.append(k)
        submitted.wait(10)
        if k == 1 and how == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)  # Ctrl-C: the main thread is waiting in sweep
        elif k == 1:
            raise ArithmeticError("no")
        if k == 2:  # if it runs already when the others are cancelled, from the last to the first
            release.wait(10)
        return k

    futures: list[Future[Any]] = []

    class Watched(ThreadPoolExecutor):
        def submit(self, *arguments: Any, **keywords: Any) -> Future[Any]:
            futures.append(super().submit(*arguments, **keywords))
            if len(futures) == 4:
                futures[3].add_done_callback(lambda _: release.set())
            if len(futures) == 200:
                submitted.set()
            return futures[-1]

    expected = KeyboardInterrupt if how == "interrupt" else ArithmeticError
    with Watched(1) as pool, pytest.raises(expected):
        sweep(range(200), task, executor=pool)
    assert started in ([0, 1], [0, 1, 2])  # whether the next task had begun is a matter of luck
    assert [k for k, future in enumerate(futures) if not future.cancelled()] == started


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_for_terminals_only(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    written = {}
    for stream, label in ((Terminal(), "lambdas"), (io.StringIO(), "lambdas"), (Terminal(), None)):
        monkeypatch.setattr(sys, "stderr", stream)
        assert sweep([4.0, 9.0], math.sqrt, progress=label) == [2.0, 3.0]
        written[stream] = stream.getvalue()
    drawn, piped, silent = written.values()
    assert "lambdas" in drawn
    assert "2/2" in drawn
    assert piped == silent == ""


def same(a: Solution, b: Solution) -> None:
    assert (a.value, a.bound, a.lam, a.method, a.risks) == (b.value, b.bound, b.lam, b.method, b.risks)
    for mine, other in (
        (a.problem.p, b.problem.p), (a.problem.B, b.problem.B), (a.problem.E, b.problem.E),
        (a.mechanism.q, b.mechanism.q),
    ):  # fmt: skip
        assert mine.dtype == other.dtype
        assert (mine == other).all()
    assert verify(b.problem, b.certificate) == verify(a.problem, a.certificate)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("protocol", [None, *range(2, pickle.HIGHEST_PROTOCOL + 1)])
def test_a_solution_survives_pickle_and_deepcopy(exact: bool, protocol: int | None) -> None:
    found = solve(coin_toss("2" + "0" * 40 + "/7"), "1/3", exact=exact)
    other = copy.deepcopy(found) if protocol is None else pickle.loads(pickle.dumps(found, protocol))
    same(found, other)
    assert other.exact == exact
    assert [other.mechanism.release(0) for _ in range(3)]


def test_an_error_survives_pickle() -> None:
    error = InputError("prior[2]", Fraction(-1, 3), "must be positive")
    error.add_note("in a file")
    other = pickle.loads(pickle.dumps(error))
    assert str(other) == str(error) == "prior[2] = -1/3 must be positive"
    assert (other.field, other.value, other.rule) == (error.field, error.value, error.rule)
    assert other.__notes__ == ["in a file"]
