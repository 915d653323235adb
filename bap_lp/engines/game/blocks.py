"""States in blocks (p, B, E), read again whenever they are asked for: from arrays, from .npy files, from Parquet.

Each function returns a callable without arguments. Every call of it reads the data once more, block by block, as
`solve_chunks` needs it. A block has the priors of its states, and a row of Bob's and of Eve's losses for each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bap_lp.arguments import real_numbers, whole_number
from bap_lp.rational import Array, InputError

Blocks = Callable[[], Iterator[tuple[Array, Array, Array]]]
_SIZE = 1 << 17


def array_blocks(prior: Any, bob_loss: Any, eve_loss: Any, size: int = _SIZE) -> Blocks:
    """Blocks of arrays, or of .npy files given by path, which are mapped and not loaded.

    Args:
        prior: p(x), one entry per state.
        bob_loss: Bob's losses, a row per state.
        eve_loss: Eve's losses, a row per state.
        size: states per block.

    Returns:
        A function that iterates over the blocks, for `solve_chunks`.

    Raises:
        InputError: one is not an array of numbers, or the three do not have the same number of states.

    >>> import numpy as np
    >>> from bap_lp import array_blocks
    >>> blocks = array_blocks(np.full(5, 0.2), np.zeros((5, 2)), np.ones((5, 3)), size=2)
    >>> [len(p) for p, B, E in blocks()]
    [2, 2, 1]
    """
    size = whole_number("size", size, 1)
    given = (("prior", prior, 1), ("bob_loss", bob_loss, 2), ("eve_loss", eve_loss, 2))
    parts = [_mapped(*one) for one in given]
    if len({len(a) for a in parts}) != 1:
        lengths = ", ".join(str(len(a)) for a in parts)
        raise InputError("blocks", None, f"have {lengths} states in prior, bob_loss and eve_loss: must be the same")

    def read() -> Iterator[tuple[Array, Array, Array]]:
        for k in range(0, len(parts[0]), size):
            p, B, E = (real_numbers(name, a[k : k + size]) for (name, *_), a in zip(given, parts, strict=True))
            yield p, B, E

    return read


def _mapped(name: str, values: Any, dimension: int) -> Any:
    """An array that is sliced block by block: mapped from its file, or as it was given if it has a shape."""
    if isinstance(values, (str, os.PathLike)):
        try:
            values = np.load(values, mmap_mode="r")
        except ValueError:
            raise InputError(name, os.fspath(values), "must be a file of numbers that numpy.save wrote") from None
    elif not hasattr(values, "shape"):
        values = real_numbers(name, values)
    if len(values.shape) != dimension:
        rows = "one number per state" if dimension == 1 else "a row of losses per state"
        raise InputError(name, None, f"has shape {tuple(values.shape)}, must have {rows}")
    return values


def parquet_blocks(
    path: str | os.PathLike[str], prior: str, bob_loss: Sequence[str], eve_loss: Sequence[str], size: int = _SIZE
) -> Blocks:
    """Blocks of a Parquet file or folder, given the names of its columns. Needs the extra `parquet`.

    Args:
        path: the file, or a folder of files.
        prior: the column of p(x).
        bob_loss: the columns of Bob's losses, one per decision.
        eve_loss: the columns of Eve's losses, one per decision.
        size: the largest number of states in a block.

    Returns:
        A function that iterates over the blocks, for `solve_chunks`.

    Raises:
        InputError: a column is not in the file.

    >>> import os, tempfile
    >>> import pyarrow, pyarrow.parquet
    >>> from bap_lp import parquet_blocks
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "states.parquet")
    ...     columns = {"p": [0.5, 0.5], "hire": [0, 1], "pass": [1, 0], "guess": [1, 1]}
    ...     pyarrow.parquet.write_table(pyarrow.table(columns), file)
    ...     blocks = parquet_blocks(file, "p", ["hire", "pass"], ["guess"])
    ...     [(p.tolist(), B.tolist()) for p, B, E in blocks()]
    [([0.5, 0.5], [[0.0, 1.0], [1.0, 0.0]])]
    """
    import pyarrow.dataset

    size = whole_number("size", size, 1)
    data = pyarrow.dataset.dataset(path, format="parquet")
    names = [prior, *bob_loss, *eve_loss]
    for name in names:
        if name not in data.schema.names:
            raise InputError("column", name, f"is not in {os.fspath(path)}: it has {', '.join(data.schema.names[:12])}")

    def read() -> Iterator[tuple[Array, Array, Array]]:
        for batch in data.to_batches(columns=list(dict.fromkeys(names)), batch_size=size):
            columns = [real_numbers(f"column {name!r}", batch[name]) for name in names]
            if len(batch):
                rest = np.stack(columns[1:], axis=1)
                yield columns[0], rest[:, : len(bob_loss)], rest[:, len(bob_loss) :]

    return read
