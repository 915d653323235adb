"""States in blocks (p, B, E), read again whenever they are asked for: from arrays, from .npy files, from Parquet.

Each function returns a callable without arguments. Every call of it reads the data once more, block by block, as
`solve_chunks` needs it. A block has the priors of its states, and a row of Bob's and of Eve's losses for each.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

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
        InputError: the three do not have the same number of states.

    >>> import numpy as np
    >>> from bap_lp import array_blocks
    >>> blocks = array_blocks(np.full(5, 0.2), np.zeros((5, 2)), np.ones((5, 3)), size=2)
    >>> [len(p) for p, B, E in blocks()]
    [2, 2, 1]
    """
    parts = [np.load(a, mmap_mode="r") if isinstance(a, (str, os.PathLike)) else a for a in (prior, bob_loss, eve_loss)]
    if len({len(a) for a in parts}) != 1:
        lengths = ", ".join(str(len(a)) for a in parts)
        raise InputError("blocks", None, f"have {lengths} states in prior, bob_loss and eve_loss: must be the same")

    def read() -> Iterator[tuple[Array, Array, Array]]:
        for k in range(0, len(parts[0]), size):
            p, B, E = (np.asarray(a[k : k + size], dtype=float) for a in parts)
            yield p, B, E

    return read


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

    data = pyarrow.dataset.dataset(path, format="parquet")
    names = [prior, *bob_loss, *eve_loss]
    for name in names:
        if name not in data.schema.names:
            raise InputError("column", name, f"is not in {os.fspath(path)}: it has {', '.join(data.schema.names[:12])}")

    def read() -> Iterator[tuple[Array, Array, Array]]:
        for batch in data.to_batches(columns=names, batch_size=size):
            columns = [np.asarray(batch[name], dtype=float) for name in names]
            if len(batch):
                rest = np.stack(columns[1:], axis=1)
                yield columns[0], rest[:, : len(bob_loss)], rest[:, len(bob_loss) :]

    return read
