"""One thread for the linear algebra of long and thin tables.

OpenBLAS would cut each of their products over all cores and wait for all cores every time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any


@cache
def _libraries() -> Any:
    import scipy.linalg  # noqa: F401  has a BLAS of its own
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Callers:
    """How many are inside; the first sets the limit, and the last lifts it."""

    lock = Lock()
    inside = 0
    limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread per BLAS call inside the block."""
    with _Callers.lock:
        _Callers.inside += 1
        if _Callers.inside == 1:
            _Callers.limit = _libraries().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _Callers.lock:
            _Callers.inside -= 1
            if _Callers.inside == 0:
                _Callers.limit.restore_original_limits()
