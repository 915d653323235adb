"""Long exact eliminations in a process of their own, which can be ended: flint holds the interpreter until it is done.

The parent waits, sees signals and its deadline, and ends the child if one of them comes. The child looks for modules
where the parent found them, and never in the current directory, in which a folder may have the name of a module.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from flint import fmpq, fmpz

from bap_lp.support.clock import check, remaining, watched

_CHILD = (
    "import sys; sys.path[:] = sys.argv[1:]; import bap_lp; del sys.path[0]\n"
    "from bap_lp.engines.linear.apart import answer; answer()"
)
_LONG = 1e6  # seconds: the longest wait that every system takes

Entries = tuple[list[int], list[int], list[Any], int]  # rows, columns, values and size of a square matrix


def solved_apart(matrix: Entries, right: list[Any], transposed: bool) -> list[Any] | tuple[list[int], list[int]] | None:
    """The solution; independent columns and the rows they cover if there is none; None if no child could answer."""
    rows, columns, values, size = matrix
    task = pickle.dumps((rows, columns, list(map(str, values)), size, list(map(str, right)), transposed))
    try:
        child = subprocess.Popen(
            [sys.executable, "-I", "-c", _CHILD, *_path()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return None
    left = min(remaining(), _LONG)

    def told() -> bytes:
        try:
            return child.communicate(task, left)[0]  # one call: a second one would not send what the first one left
        finally:
            child.kill()

    said = b""
    with child, suppress(subprocess.TimeoutExpired):
        said = watched(told, child.kill)
    check()
    if child.returncode or not said:
        return None
    found = pickle.loads(said)
    return found if isinstance(found, tuple) else list(map(_fraction, found))


def _path() -> list[str]:
    """Where a process in another directory finds modules, after the folder or archive of this very package."""
    own = Path(__file__).absolute().parents[3]
    return [str(own), *(place for place in sys.path if Path(place).is_absolute())]


def answer() -> None:
    """In the child: read a matrix and a right side, write the solution."""
    import numpy as np

    from bap_lp.engines.linear.core import Core, SingularCore
    from bap_lp.support.rational import objects

    rows, columns, values, size, right, transposed = pickle.load(sys.stdin.buffer)
    try:
        core = Core(np.array(rows), np.array(columns), objects(map(_fraction, values)), size, apart=True)
        found: Any = list(map(str, core.eliminated(objects(map(_fraction, right)), transposed).tolist()))
    except SingularCore as singular:
        found = (singular.columns, singular.rows)
    pickle.dump(found, sys.stdout.buffer)


def _fraction(text: str) -> fmpq:
    p, _, q = text.partition("/")
    return fmpq(fmpz(p), fmpz(q or "1"))
