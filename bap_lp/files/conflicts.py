"""Conflict files: JSON <-> the proof that no mechanism meets some conditions (`proof.infeasible`).

infeasible      true                               conditions  as in a problem file
u               signals x Eve's decisions          and the keys of the prices and branches, as in a certificate
conflict        labels of demands that cannot hold together; attainable: the nearest numbers, both for the reader
"""

from __future__ import annotations

import os
from typing import Any

from bap_lp.files.certificates import (
    MULTIPLIERS,
    branches_document,
    exact_numbers,
    prices_document,
    read_branches,
    read_prices,
)
from bap_lp.files.documents import check, located, read_document, source_name
from bap_lp.files.effort import check_effort, proof_steps
from bap_lp.files.problems import conditions_document, conditions_from
from bap_lp.files.tables import signed_table, texts
from bap_lp.proof.infeasible import ConflictError, Infeasibility
from bap_lp.rational import EXACT, FLOAT, text

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"infeasible": {}, "conflict": {}, "attainable": {}, "u": {"type": "array"}} | MULTIPLIERS,
    "required": ["infeasible", "conditions", "u"],
}


def conflict_document(error: ConflictError) -> dict[str, Any]:
    """The JSON document of a conflict that has a proof."""
    assert error.proof is not None
    return {
        "infeasible": True,
        "conflict": list(error.conflict),
        "attainable": {name: text(value) for name, value in error.attainable.items()},
        "conditions": conditions_document(error.proof.conditions),
        "u": texts(error.proof.u),
        **prices_document(error.proof.prices),
        **branches_document(error.proof.branches),
    }


def load_conflict(path: str | os.PathLike[str], states: int) -> Infeasibility | None:
    """Read a conflict file about a problem with so many states; None if the file is something else."""
    document = read_document(path)
    if not isinstance(document, dict) or document.get("infeasible") is not True:
        return None
    check_effort((document,), proof_steps({}, document, states), source_name(path))
    with located(source_name(path)):
        check(document, _SCHEMA)
        u = signed_table(document["u"], "u")
        conditions = conditions_from(document["conditions"])
        field = EXACT if exact_numbers(document) and conditions.exact else FLOAT
        branches = read_branches(document, states, len(u), field)
        return Infeasibility(conditions, field.array(u), read_prices(document, field), branches)
