"""The choice among several optimal mechanisms.

Among all optimal rho the most private one is chosen (least -sum t), and among those the one with the least sum w rho
for fixed weights w without a pattern: a vertex that does not depend on the way to it. The rho that are optimal inside a
piece of the path V(lam) are those with the risks (R_B, R_E) of the piece. So the choice is the same for all lam of a
piece, and at a breakpoint it is that of the piece that starts there (docs/proofs/theorems.md has the proof).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from flint import fmpq

from bap_lp.model.sums.arrays import Arrays
from bap_lp.rational import FLOAT, Array, Field, objects


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


def tie_costs(signals: Array, risks: Array, count: int, field: Field, places: Array | None = None) -> list[Array]:
    """Costs that choose among optima: minus R_E, then fixed weights of the joint table.

    signals: column numbers of rho[x,s]; risks: those of t; count: columns in all; places: the numbers of rho[x,s] among
    the weights, if they are not 0, 1, ...
    """
    private = field.zeros(count)
    private[risks.ravel()] = -field.one
    generic = field.zeros(count)
    own = weights(signals.size, field) if places is None else weight_at(places.ravel(), field)
    generic[signals.ravel()] = own
    return [private, generic]


def compact_ties(arrays: Arrays) -> list[Array]:
    """`tie_costs` of the compact program."""
    (N, b, _), G = arrays.shape, len(arrays.groups)
    columns = np.arange(N * b + b * G)
    return tie_costs(columns[: N * b].reshape(N, b), columns[N * b :], len(columns), arrays.field)


def table_weights(arrays: Arrays, places: Array | None = None) -> Array:
    """The fixed weights of a joint table, N x b, as floats; places: the numbers of (x, 0), if they are not x * b."""
    N, b, _ = arrays.shape
    return weights(N * b, FLOAT).reshape(N, b) if places is None else weight_at(places[:, None] + np.arange(b))


def float_ties(arrays: Arrays, weight: Array) -> list[Array]:
    """`compact_ties` with these weights as floats, which hold them exactly: -1 and integers up to 2^32."""
    t = arrays.shape[1] * len(arrays.groups)
    return [np.append(np.zeros(weight.size), np.full(t, -1.0)), np.append(weight, np.zeros(t))]
