"""Many problems, one answer each: y_k = f(x_k) for k = 1, 2, ..., in order, here or on any executor.

An executor is anything with the interface of `concurrent.futures.Executor`: the processes or threads of the standard
library, or `Client.get_executor()` of a Dask cluster. Tasks and results are pickled between processes, so there
`function` must be importable by name, or a `functools.partial` of such a function:

    sweep(problems)                                          solve each at its calibrated lam
    sweep(lams, partial(solve, problem))                     one problem, many lam
    sweep(problems, partial(solve, lam="1/3"), executor=pool)

The results have the order of the items, whatever the order of completion. The first failure, or Ctrl-C, cancels
everything that has not started. Tasks that are already running finish on their executor, and the caller gets the
exception.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, as_completed
from contextlib import contextmanager
from typing import Any

from bap_lp.questions.optimum.solving import solve
from bap_lp.support.rational import show


def sweep(
    problems: Iterable[Any],
    function: Callable[[Any], Any] = solve,
    *,
    executor: Executor | None = None,
    progress: str | None = "sweep",
) -> list[Any]:
    """[function(item) for item in problems], on `executor` if there is one.

    Args:
        problems: the items, usually problems or values of lam.
        function: what to do with each; by default it is solved at its calibrated lam.
        executor: where to do it; None: here, one after another. It is neither started nor shut down.
        progress: the label of a bar on standard error, drawn on a terminal only; None for no bar.

    Returns:
        The results, in the order of the items.

    Raises:
        Exception: the first exception of `function`, with a note that names the item.

    >>> from functools import partial
    >>> from bap_lp import Problem, solve, sweep
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> [str(found.value) for found in sweep(["1/10", "1/3", "1/2"], partial(solve, coin))]
    ['1/4', '3/40', '-1/20']
    """
    items = list(problems)
    with _bar(progress, len(items)) as advance:
        return _here(items, function, advance) if executor is None else _there(items, function, executor, advance)


def _here(items: list[Any], function: Callable[[Any], Any], advance: Callable[[], None]) -> list[Any]:
    results = []
    for k, item in enumerate(items):
        try:
            results.append(function(item))
        except Exception as error:
            raise _located(error, k, item) from None
        advance()
    return results


def _there(
    items: list[Any], function: Callable[[Any], Any], executor: Executor, advance: Callable[[], None]
) -> list[Any]:
    index: dict[Future[Any], int] = {}
    try:
        for k, item in enumerate(items):
            index[executor.submit(function, item)] = k
        for future in as_completed(index):
            error = future.exception()
            if isinstance(error, Exception):
                raise _located(error, index[future], items[index[future]])
            future.result()
            advance()
    except BaseException:
        # the latest first: meanwhile the executor takes its next task from the front
        for future in reversed(index):
            future.cancel()
        raise
    return [future.result() for future in index]


def _located(error: Exception, k: int, item: Any) -> Exception:
    error.add_note(f"in item {k} of the sweep: {show(item)}")
    return error


@contextmanager
def _bar(label: str | None, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on standard error if that is a terminal; nothing otherwise."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    if label is None or not console.is_terminal:
        yield lambda: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(label, total=total)
        yield lambda: bar.advance(task)
