"""Uniform numbers for releases, from the secure source of the operating system unless a seed or generator is given."""

from __future__ import annotations

import secrets
from random import Random
from typing import Any

import numpy as np

from bap_lp import InputError
from gaussian.arrays import Array


def release_uniforms(shape: tuple[int, ...], generator: Any = None) -> Array:
    """Numbers in [0, 1) with 53 bits; `generator` is None, a seed, a random.Random or a numpy Generator."""
    if isinstance(generator, np.random.Generator):
        return generator.random(shape)
    if isinstance(generator, bool) or not (generator is None or isinstance(generator, (int, np.integer, Random))):
        raise InputError("generator", generator, "must be a seed, a random.Random or a numpy Generator")
    source = secrets.SystemRandom() if generator is None else generator
    if not isinstance(source, Random):
        source = Random(int(source))
    return np.array([source.random() for _ in range(int(np.prod(shape)))]).reshape(shape)
