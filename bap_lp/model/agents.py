"""Several Eves as one: the paper's criterion for several Eves, L_E = min over the Eves of their losses.

A breach occurs as soon as one of them learns her target. The joint Eve chooses a decision for each, so she acts on the
product of their decision spaces, and she loses only what the best of them loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

import numpy as np

from bap_lp.model.knowledge import knowledge_of
from bap_lp.model.labels import labels, weight_of
from bap_lp.model.problem import Agent
from bap_lp.rational import Array, InputError, array, same_kind

_MOST = 100_000  # joint decisions


def minimum_of(eves: Sequence[Agent], name: str = "") -> Agent:
    """One Eve on the product of the decision spaces, with the smallest of the weighted losses.

    Args:
        eves: the agents, with losses for the same states.
        name: the name of the joint agent; "minimum of ..." by default.

    Returns:
        The joint agent. Her decisions are named "a, b, ..." and ordered with the last Eve's changing fastest. If some
        Eves know labels, she knows all of them.

    Raises:
        InputError: there is no Eve, their tables have different numbers of rows, there are too many joint decisions, or
            an Eve has harm or a prior of her own or a table of knowledge.

    >>> from bap_lp import Agent, minimum_of
    >>> both = minimum_of([Agent([[0, 1]], ["low", "high"]), Agent([["1/2", 2]], ["no", "yes"])])
    >>> both.decisions, [str(v) for v in both.loss[0]]
    (['low, no', 'low, yes', 'high, no', 'high, yes'], ['0', '0', '1/2', '1'])
    """
    if not eves:
        raise InputError("eves", None, "must not be empty")
    tables: list[Array] = []
    names: list[Sequence[str]] = []
    for k, eve in enumerate(eves):
        if eve.harm is not None or eve.prior is not None:
            raise InputError(f"eves[{k}]", None, "must not have harm or a prior: the joint Eve shares Alice's")
        if eve.knowledge is not None:
            rule = "is not possible here: the joint Eve needs a label per state, as in knows"
            raise InputError(f"eves[{k}].knowledge", None, rule)
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
        first = np.minimum(first[:, :, None], table[:, None, :]).reshape(len(first), -1)
    called = [eve.name or f"Eve{k + 1}" for k, eve in enumerate(eves)]
    known = [knowledge_of(eve.knows, None, f"eves[{k}]", len(first))[0] for k, eve in enumerate(eves)]
    columns = [labels_ for labels_ in known if labels_ is not None]
    knows = [", ".join(row) for row in zip(*columns, strict=True)] if columns else None
    decisions = [", ".join(n) for n in product(*names)]
    return Agent(first, decisions, name or f"minimum of {', '.join(called)}", knows=knows)
