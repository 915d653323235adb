"""Random numbers for releases of continuous data: from the operating system's secure source, or reproducible.

Whoever can predict the random numbers of a release can undo it. So a release draws securely unless the caller asks for
reproducible numbers, for rehearsals and simulations.
"""

from __future__ import annotations

import secrets
from random import Random

import numpy as np

from bap_lp.support.rational import InputError
from gaussian.real_arrays import Array


def uniforms(shape: tuple[int, ...], generator: np.random.Generator | Random | int | None = None) -> Array:
    """Independent uniform numbers in [0, 1), multiples of 2^-53; a generator or a seed makes them reproducible."""
    if generator is None:
        size = int(np.prod(shape, dtype=np.int64))
        integers = np.frombuffer(secrets.token_bytes(8 * size), dtype=np.uint64).reshape(shape)
        return (integers >> np.uint64(11)).astype(float) * 2.0**-53
    if isinstance(generator, Random):
        return np.array([generator.random() for _ in range(int(np.prod(shape)))]).reshape(shape)
    if isinstance(generator, (int, np.integer)) and not isinstance(generator, bool) and generator >= 0:
        generator = np.random.default_rng(int(generator))
    if not isinstance(generator, np.random.Generator):
        raise InputError(
            "generator", repr(generator), "must be a numpy Generator, a random.Random, a seed >= 0 or None"
        )
    return np.asarray(generator.random(shape))
