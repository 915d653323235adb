"""Blocks of states on the workers of a cluster that may lose workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from bap_lp.clock import check
from bap_lp.rational import InputError

_ATTEMPTS, _POLL, _PATIENCE = 4, 1.0, 60.0  # seconds


class WorkersLost(RuntimeError):
    """The workers that held the blocks are gone, and the blocks could not be placed again."""


class RemoteBlocks:
    """Blocks on the workers of a cluster. Arrays are sent once, loaders are called there, futures stay the caller's.

    A worker that is lost takes its blocks with it. Arrays are then sent again, loaders read again, and the scheduler
    computes the caller's futures again if it knows how.
    """

    def __init__(self, client: Any, blocks: list[Any]) -> None:
        self.client, self.blocks = client, blocks
        self.future = type(client.submit(int))
        self.placed = list(map(self._place, blocks))

    def _place(self, block: Any) -> Any:
        if isinstance(block, self.future) or callable(block):
            return block
        return self.client.scatter(_Sealed(block), hash=False)

    def call(self, function: Callable[..., Any], *arguments: Any, most: int | None = None) -> list[Any]:
        """The function of every block and its number, in order; only of the first few if told."""
        for attempt in range(_ATTEMPTS):
            try:
                futures = [
                    self.client.submit(function, block, number, *arguments, pure=False)
                    for number, block in enumerate(self.placed[:most])
                ]
                self._wait(futures)
                return list(self.client.gather(futures))
            except (InputError, KeyboardInterrupt, MemoryError):
                raise
            except Exception as error:
                if not _is_loss(error):
                    raise
                if attempt == _ATTEMPTS - 1:
                    raise WorkersLost(f"blocks were lost with their workers, {_ATTEMPTS} times: {error}") from error
                self._place_again()
        raise AssertionError("the last attempt returns or raises")

    def _place_again(self) -> None:
        try:
            self.client.wait_for_workers(1, timeout=_PATIENCE)
            self.placed = list(map(self._place, self.blocks))
        except TimeoutError:
            raise WorkersLost(f"the cluster has had no worker for {_PATIENCE:.0f} s") from None
        except Exception:  # the same blocks could be sent once: workers were lost again, the next attempt meets that
            return

    def _wait(self, futures: list[Any]) -> None:
        """Until all are done; a cluster without any worker is given up after a while."""
        from distributed import wait

        since = time.monotonic()
        while True:
            try:
                wait(futures, timeout=_POLL)
                return
            except TimeoutError:
                check()
                if self.client.scheduler_info()["workers"]:
                    since = time.monotonic()
                elif time.monotonic() - since > _PATIENCE:
                    raise WorkersLost(f"the cluster has had no worker for {_PATIENCE:.0f} s") from None


def _is_loss(error: Exception) -> bool:
    """Whether an error is about workers and their data, not about the computation."""
    return isinstance(error, (WorkersLost, OSError)) or type(error).__module__.startswith(
        ("distributed", "dask", "concurrent")
    )


class _Sealed:
    """A block as one object: scatter would take a tuple apart."""

    def __init__(self, block: Any) -> None:
        self.block = block

    def __call__(self) -> Any:
        return self.block() if callable(self.block) else self.block
