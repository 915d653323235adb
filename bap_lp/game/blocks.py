"""States in blocks (p, B, E), read again whenever they are asked for: from arrays, from .npy files, from Parquet.

Each function returns a callable without arguments whose every call reads the data once more, block by block: what
`solve_chunks` wants. A block has the priors of its states, and a row of Bob's and of Eve's losses for each.
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
    """Blocks of arrays, or of .npy files given by path, which are mapped and not loaded."""
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
    """Blocks of a Parquet file or folder, given the names of its columns. Needs the extra `parquet`."""
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
