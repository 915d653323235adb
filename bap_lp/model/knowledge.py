"""What an Eve knows already: she sees the signal and z, drawn from k(z|x) apart from the signal.

    R_E = sum_{s,z} min_j sum_x p(x) k(z|x) q(s|x) E(x,j)
So an Eve with knowledge is one Eve per value z, with the losses k(z|x) E(x,j): a group of columns of its own. With
`knows`, a label per state, z is a function of x and k(z|x) is one or zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.model.labels import probability, state_labels
from bap_lp.rational import Array, Field, InputError, array, floats, is_exact


def knowledge_of(knows: Any, knowledge: Any, field: str, rows: int) -> tuple[tuple[str, ...] | None, Array | None]:
    """Read `knows` (a label per state) or `knowledge` (k(z|x), a row per state); at most one of them."""
    if knows is not None and knowledge is not None:
        raise InputError(f"{field}.knowledge", None, "must not be given with knows: one of the two")
    if knows is not None:
        return state_labels(knows, f"{field}.knows", rows), None
    if knowledge is not None:
        table = array(knowledge, f"{field}.knowledge", 2)
        if len(table) != rows:
            raise InputError(f"{field}.knowledge", None, f"has {len(table)} rows, must have {rows}, one per state")
        read = [probability(row, f"{field}.knowledge[{x}]") for x, row in enumerate(table)]
        return None, np.array(read, dtype=table.dtype)
    return None, None


def values_of(knows: tuple[str, ...] | None, knowledge: Array | None) -> tuple[str, ...] | None:
    """The values z, in order of first appearance; None for an Eve who knows nothing."""
    if knows is not None:
        return tuple(dict.fromkeys(knows))
    return None if knowledge is None else tuple(map(str, range(knowledge.shape[1])))


def shares_of(knows: tuple[str, ...] | None, knowledge: Array | None, rows: int, field: Field) -> Array:
    """k(z|x), states x values; a column of ones for an Eve who knows nothing."""
    if knowledge is not None:
        return field.array(knowledge)
    if knows is None:
        return field.full((rows, 1), 1)
    place = {z: k for k, z in enumerate(dict.fromkeys(knows))}
    out = field.zeros((rows, len(place)))
    out[np.arange(rows), [place[z] for z in knows]] = field.one
    return out


def expanded_losses(loss: Array, shares: Array) -> Array:
    """k(z|x) E(x,j), the values z one after another."""
    if shares.shape[1] == 1:
        return loss if (shares == 1).all() else shares * loss
    if not is_exact(loss):
        return (floats(shares)[:, :, None] * loss[:, None, :]).reshape(len(loss), -1)
    out = np.full((len(loss), shares.shape[1], loss.shape[1]), loss.ravel()[0] * 0, dtype=object)
    x, z = np.nonzero(shares != 0)
    out[x, z] = loss[x] * shares[x, z][:, None]
    return out.reshape(len(loss), -1)
