"""One BLAS thread while blocks of states are shared out over the cores.

The products here are long and thin; OpenBLAS would cut each of them over all cores and wait at every one.  The wheels
of numpy and scipy carry their own OpenBLAS, whose thread counts are read and set through its C interface; with any
other BLAS nothing is changed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock

import numpy as np


@cache
def _controls() -> tuple[tuple[Callable[[], int], Callable[[int], None]], ...]:
    """(get, set) of every OpenBLAS that came with numpy and scipy."""
    import scipy

    found = []
    for module in (np, scipy):
        home = Path(module.__path__[0])
        for folder in (home.parent / f"{module.__name__}.libs", home / ".dylibs"):
            for path in sorted(folder.glob("libscipy_openblas*")):
                library = ctypes.CDLL(str(path))
                for suffix in ("64_", ""):
                    names = (f"scipy_openblas_get_num_threads{suffix}", f"scipy_openblas_set_num_threads{suffix}")
                    if all(hasattr(library, name) for name in names):
                        found.append((getattr(library, names[0]), getattr(library, names[1])))
    return tuple(found)


class _Nest:
    """How many callers are inside, and the counts to restore when the last one leaves."""

    lock = Lock()
    depth = 0
    before: tuple[int, ...] = ()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    with _Nest.lock:
        if _Nest.depth == 0:
            _Nest.before = tuple(get() for get, _ in _controls())
            for _, put in _controls():
                put(1)
        _Nest.depth += 1
    try:
        yield
    finally:
        with _Nest.lock:
            _Nest.depth -= 1
            if _Nest.depth == 0:
                for (_, put), count in zip(_controls(), _Nest.before, strict=True):
                    put(count)
