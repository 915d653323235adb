"""Several Eves as one: the paper's multiple-Eve criterion, L_E = min over the Eves of their losses.

A breach occurs as soon as one of them learns her target. The joint Eve picks a decision for each, so she acts on the
product of their decision spaces, and she loses only what the best of them loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from bap_lp.model.labels import labels, weight_of
from bap_lp.model.problem import Agent
from bap_lp.rational import Array, InputError, array, same_kind

_MOST = 100_000  # joint decisions


def minimum_of(eves: Sequence[Agent], name: str = "") -> Agent:
    """One Eve on the product decision space with the smallest of the (weighted) losses."""
    if not eves:
        raise InputError("eves", None, "must not be empty")
    tables: list[Array] = []
    names: list[Sequence[str]] = []
    for k, eve in enumerate(eves):
        table = array(eve.loss, f"eves[{k}].loss", 2)
        if tables and len(table) != len(tables[0]):
            raise InputError(f"eves[{k}].loss", None, f"has {len(table)} rows, must have {len(tables[0])}")
        weight = weight_of(eve.weight, f"eves[{k}].weight")
        tables.append(weight * table if isinstance(weight, float) == (table.dtype == float) else float(weight) * table)
        names.append(labels(eve.decisions, f"eves[{k}].decisions", table.shape[1]))
    if prod(map(len, names)) > _MOST:
        raise InputError("eves", None, f"have {prod(map(len, names))} joint decisions, at most {_MOST} are allowed")
    first, *rest = same_kind(*tables)
    for table in rest:
        low, other = first[:, :, None], table[:, None, :]
        smaller = low + (other - low) * (other < low)
        first = smaller.reshape(len(first), -1)
    called = [eve.name or f"Eve{k + 1}" for k, eve in enumerate(eves)]
    return Agent(first, [", ".join(n) for n in product(*names)], name or f"minimum of {', '.join(called)}")
