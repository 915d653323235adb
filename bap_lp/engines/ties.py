"""The choice among several optimal mechanisms.

Among all optimal rho the most private one is chosen (least -sum t), and among those the one with the least sum w rho
for fixed weights w without a pattern: a vertex that does not depend on the way to it. The rho that are optimal inside a
piece of the path V(lam) are those with the risks (R_B, R_E) of the piece. So the choice is the same for all lam of a
piece, and at a breakpoint it is that of the piece that starts there (docs/proofs/theorems.md has the proof).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.engines.form import LinearForm
from bap_lp.support.rational import FLOAT, Array, Field, objects


@dataclass(frozen=True, eq=False)
class Tie:
    """A further cost, minimised over what is still optimal: of the table, and of t by observer."""

    table: Array | None = None
    hidden: tuple[tuple[str, Any], ...] = ()

    def cost(self, form: LinearForm) -> Array:
        field = form.lp.field
        table = None if self.table is None else field.array(self.table)
        return form.tie(table, {name: field.number(c) for name, c in self.hidden})


def joint_ties(shape: tuple[int, ...]) -> list[Tie]:
    """The most private table, and of those the one of least weight; floats hold these numbers exactly."""
    return [Tie(None, (("eve", -1.0),)), Tie(weights(int(np.prod(shape)), FLOAT).reshape(shape))]


def weight_at(place: Array, field: Field = FLOAT) -> Array:
    """The fixed weights of these places, numbered x*b + i in the table of (merged) states and decisions."""
    key = (place.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):  # the mixer of SplitMix64
        key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
    out = (key >> np.uint64(32)) + np.uint64(1)  # integers up to 2^32
    return objects(map(fmpq, out.ravel().tolist())).reshape(out.shape) if field.exact else out.astype(float)


@lru_cache(maxsize=16)
def weights(count: int, field: Field) -> Array:
    """Fixed weights from 1 to 2^32 without a pattern: two different sums of them are never equal, but by accident."""
    out = weight_at(np.arange(count), field)
    out.flags.writeable = False
    return out
