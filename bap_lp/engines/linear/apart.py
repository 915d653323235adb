"""Long exact eliminations in a process of their own, which can be ended: flint holds the interpreter until it is done.

The parent waits, sees signals and its deadline, and ends the child if one of them comes.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from typing import Any

from flint import fmpq, fmpz

from bap_lp.clock import check

_TICK = 0.1  # seconds between looks at the deadline
_CHILD = "from bap_lp.engines.linear.apart import answer; answer()"

Entries = tuple[list[int], list[int], list[Any], int]  # rows, columns, values and size of a square matrix


def solved_apart(matrix: Entries, right: list[Any], transposed: bool) -> list[Any] | tuple[list[int], list[int]] | None:
    """The solution; independent columns and the rows they cover if there is none; None if no child could answer."""
    rows, columns, values, size = matrix
    task = pickle.dumps((rows, columns, list(map(str, values)), size, list(map(str, right)), transposed))
    path = os.pathsep.join(filter(None, sys.path))
    try:
        child = subprocess.Popen(
            [sys.executable, "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )
    except OSError:
        return None
    said: bytes | None = None
    left: bytes | None = task
    with child:
        try:
            while said is None:
                check()
                try:
                    said, _ = child.communicate(left, timeout=_TICK)
                except subprocess.TimeoutExpired:
                    left = None  # it has been taken over, and is sent on by the next call
        except BaseException:
            child.kill()
            raise
    if child.returncode or not said:
        return None
    found = pickle.loads(said)
    return found if isinstance(found, tuple) else list(map(_fraction, found))


def answer() -> None:
    """In the child: read a matrix and a right side, write the solution."""
    import numpy as np

    from bap_lp.engines.linear.core import Core, SingularCore
    from bap_lp.rational import objects

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
