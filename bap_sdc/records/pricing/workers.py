"""Independent tasks, here, in processes, or on a Dask client: answers come as they are done."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from math import isinf
from typing import Any, Literal, Protocol

from bap_lp.support.clock import remaining, time_limited
from bap_lp.support.rational import InputError

Workers = int | Literal["all"] | None
_PAYS = 2e7  # steps besides the largest task, about 1e-7 s each on tables of records: processes start in less


class Task(Protocol):
    """Something that can be solved apart from the rest; `effort` is an estimate of its steps."""

    @property
    def effort(self) -> float: ...

    def solve(self) -> Any: ...


def worker_count(tasks: Sequence[Task], workers: Workers) -> int:
    """The number of processes: as told; None is this one, "all" is every core if that pays."""
    if workers == "all":
        effort = [task.effort for task in tasks]
        workers = _cores() if sum(effort) - max(effort, default=0.0) > _PAYS else None
    if workers is None:
        return 1
    if isinstance(workers, bool) or not isinstance(workers, int) or workers < 1:
        raise InputError("workers", workers, "must be a positive integer")
    return min(workers, max(len(tasks), 1))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def answers(tasks: Sequence[Task], workers: Workers = None, client: Any = None) -> Iterator[tuple[int, Any]]:
    """(k, answer) of every task. The first failure, or an interrupt, ends all others."""
    count = worker_count(tasks, workers)
    if client is None and count == 1:
        yield from ((k, task.solve()) for k, task in enumerate(tasks))
        return
    from concurrent.futures import Executor, ProcessPoolExecutor, as_completed  # a tenth of the start of a command
    from multiprocessing import active_children

    others = active_children()
    executor: Executor = (
        client.get_executor() if client is not None else ProcessPoolExecutor(count, initializer=_usual_signals)
    )
    futures: dict[Any, int] = {}
    try:
        # largest first, so that no worker starts a long task when the others are done
        for k in sorted(range(len(tasks)), key=lambda k: -tasks[k].effort):
            futures[executor.submit(_solved, tasks[k], remaining())] = k
        for future in as_completed(futures):
            yield futures[future], future.result()
    except BaseException:
        for child in active_children() if client is None else ():
            if child not in others:
                child.kill()
        raise
    finally:
        for future in futures:
            future.cancel()
        if client is None:
            executor.shutdown(wait=True, cancel_futures=True)


def _usual_signals() -> None:
    """A worker is ended by the process that asks, and hears none of its signals."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _solved(task: Task, seconds: float) -> Any:
    """The deadline of the process that asks goes along."""
    with time_limited(None if isinf(seconds) else max(seconds, 0.0)):
        return task.solve()
