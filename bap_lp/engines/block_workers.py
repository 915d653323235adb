"""Blocks of states on the workers of a Dask cluster that may lose workers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bap_lp.support.clock import OutOfTime, check, remaining
from bap_lp.support.rational import InputError

_ATTEMPTS, _POLL, _PATIENCE = 4, 1.0, 60.0  # seconds
_LOSSES = ("distributed", "dask", "concurrent")  # modules whose errors are about workers, not about the computation


class WorkersLost(RuntimeError):
    """The workers that held the blocks are gone, and the blocks could not be placed again."""


class _Sealed:
    """A block as one object: scatter would take a tuple apart."""

    def __init__(self, block: Any) -> None:
        self.block = block

    def __call__(self) -> Any:
        return self.block


class RemoteBlocks:
    """Blocks on the workers of a cluster. Arrays are sent once, loaders are called there, futures stay the caller's.

    A worker that is lost takes its blocks with it. Arrays are then sent again, loaders read again, and the scheduler
    computes the caller's futures again if it knows how.
    """

    def __init__(self, client: Any, blocks: list[Any]) -> None:
        self.client, self.blocks = client, blocks
        self._place()

    def _place(self) -> None:
        future, send = type(self.client.submit(int)), partial(self.client.scatter, hash=False, timeout=_PATIENCE)
        self.placed = [
            block if callable(block) or isinstance(block, future) else send(_Sealed(block)) for block in self.blocks
        ]

    def each(self, function: Callable[..., Any], *arguments: Any) -> list[Any]:
        """The function of every block and its number, in order; tried again when workers were lost."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                if attempt > 1:
                    self._await_worker()
                    self._place()
                submit = self.client.submit
                futures = [submit(function, block, k, *arguments, pure=False) for k, block in enumerate(self.placed)]
                self._wait(futures)
                return list(self.client.gather(futures))
            except (InputError, OutOfTime, WorkersLost):
                raise
            except Exception as error:
                if not isinstance(error, OSError) and not type(error).__module__.startswith(_LOSSES):
                    raise
                if attempt == _ATTEMPTS:
                    raise WorkersLost(f"blocks were lost with their workers, {_ATTEMPTS} times: {error}") from error
        raise AssertionError("the last attempt returns or raises")

    def _wait(self, futures: list[Any]) -> None:
        """Until all are done; a cluster without any worker is given up after a while."""
        from distributed import wait

        while True:
            try:
                wait(futures, timeout=_POLL)
                return
            except TimeoutError:
                check()
                self._await_worker()

    def _await_worker(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=min(_PATIENCE, max(remaining(), 0.0)))
        except TimeoutError:
            raise WorkersLost(f"the cluster has had no worker for {_PATIENCE:.0f} s") from None
