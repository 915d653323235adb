"""One BLAS thread while blocks of states are shared out over the cores.

The products here are long and thin. OpenBLAS would cut each of them over all cores and wait for all cores every time.
The wheels of numpy and scipy come with their own OpenBLAS, whose thread counts are read and set through its C
interface. With any other BLAS nothing is changed.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock


@cache
def _controls() -> tuple[tuple[Callable[[], int], Callable[[int], None]], ...]:
    """(get, set) of every OpenBLAS that came with numpy and scipy."""
    found = []
    for name in ("numpy", "scipy"):
        spec = find_spec(name)  # where it is installed, without importing it
        home = Path(spec.origin).parent if spec is not None and spec.origin is not None else Path(name)
        for folder in (home.parent / f"{name}.libs", home / ".dylibs"):
            for path in sorted(folder.glob("libscipy_openblas*")):
                library = ctypes.CDLL(str(path))
                for suffix in ("64_", ""):
                    calls = [f"scipy_openblas_{verb}_num_threads{suffix}" for verb in ("get", "set")]
                    if all(hasattr(library, call) for call in calls):
                        found.append((getattr(library, calls[0]), getattr(library, calls[1])))
    return tuple(found)


class _Nest:
    """How many callers are inside, and the counts to restore when the last one leaves."""

    lock = Lock()
    depth = 0
    before: tuple[int, ...] = ()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread per BLAS call inside the block; the counts of before are restored when the last caller leaves."""
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
