"""Conditions and their proofs as plain tables: the [conditions] of a problem file, and what a certificate adds.

conditions   as in a problem file                  channel    q(s|x), states x signals
prices       of min_eve_risk and of max_bob_risk   privacy    [signal, x, x', w] for every multiplier w > 0
obedience    with a margin, Bob's prices, signals x decisions
branches     with max_signals, for every set of that many signals: signals, u, prices, privacy, obedience
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.conditions.conditions import Conditions
from bap_lp.proof.conditional import Branch, Proof
from bap_lp.rational import Array, InputError, floats, number, objects, public, text

_BRANCH: dict[str, Any] = {
    "signals": {"type": "array"},
    "u": {"type": "array"},
    "prices": {"type": "object", "properties": {"min_eve_risk": {}, "max_bob_risk": {}}},
    "privacy": {"type": "array"},
    "obedience": {"type": "array"},
}
KEYS: dict[str, Any] = {
    "conditions": {"type": "object", "properties": {name: {} for name in Conditions.__dataclass_fields__}},
    "channel": {"type": "array"},
    "prices": {"type": "object", "properties": {"min_eve_risk": {}, "max_bob_risk": {}}},
    "privacy": {"type": "array"},
    "obedience": {"type": "array"},
    "branches": {"type": "array", "items": {"type": "object", "properties": _BRANCH, "required": ["signals", "u"]}},
}
_PRICES = ("min_eve_risk", "max_bob_risk")


def conditions_document(conditions: Conditions) -> dict[str, Any]:
    """The [conditions] table that says the same."""
    out: dict[str, Any] = {}
    for name, value in conditions.given().items():
        if name == "neighbours":
            out[name] = [list(pair) for pair in value]
        elif name == "metric":
            out[name] = [["inf" if d is None else text(d) for d in row] for row in value]
        else:
            out[name] = value if isinstance(value, (bool, int)) else text(value)
    return out


def conditions_from(table: dict[str, Any]) -> Conditions:
    """Conditions from their table; errors call the fields conditions.*."""
    try:
        return Conditions(**table)
    except InputError as error:
        raise InputError(f"conditions.{error.field}", error.value, error.rule) from None


def proof_document(proof: Proof) -> dict[str, Any]:
    """What a certificate adds to lambda, value, rho and u when there are conditions."""
    out: dict[str, Any] = {"conditions": conditions_document(proof.conditions), "channel": _texts(proof.channel)}
    out |= _multipliers(proof)
    if proof.branches:
        out["branches"] = [{"signals": list(b.keep), "u": _texts(b.u), **_multipliers(b.proof)} for b in proof.branches]
    return out


def _multipliers(proof: Proof) -> dict[str, Any]:
    out: dict[str, Any] = {
        "prices": {"min_eve_risk": text(proof.floor_price), "max_bob_risk": text(proof.cap_price)},
        "privacy": [[*place, text(w)] for place, w in zip(proof.pairs.tolist(), proof.weights.tolist(), strict=True)],
    }
    if proof.obedience is not None:
        out["obedience"] = _texts(proof.obedience)
    return out


def proof_from(
    document: dict[str, Any], table: Callable[[list[Any], str], Array], read: Callable[[Any], Any], exact: bool
) -> Proof | None:
    """The proof in a certificate's document, if there is one; `table` and `read` read its numbers."""
    if "conditions" not in document:
        extra = [key for key in KEYS if key in document]
        if extra:
            raise InputError(extra[0], None, "needs conditions")
        return None
    if "channel" not in document:
        raise InputError("channel", None, "is missing")
    conditions = conditions_from(document["conditions"])
    channel = table(document["channel"], "channel")
    channel = channel if exact else floats(channel)
    proof = _read_multipliers(document, conditions, channel, table, read, exact)
    branches = []
    for k, branch in enumerate(document.get("branches", [])):
        if not all(type(s) is int and 0 <= s < channel.shape[1] for s in branch["signals"]):
            raise InputError(f"branches[{k}].signals", branch["signals"], "must be positions of signals")
        u = table(branch["u"], f"branches[{k}].u")
        part = _read_multipliers(branch, conditions, channel[:, branch["signals"]], table, read, exact)
        branches.append(Branch(tuple(branch["signals"]), u if exact else floats(u), part))
    return replace(proof, branches=tuple(branches))


def _read_multipliers(
    document: dict[str, Any],
    conditions: Conditions,
    channel: Array,
    table: Callable[[list[Any], str], Array],
    read: Callable[[Any], Any],
    exact: bool,
) -> Proof:
    prices = [number(read(document.get("prices", {}).get(name, 0)), f"prices.{name}") for name in _PRICES]
    places, weights = [], []
    for k, row in enumerate(document.get("privacy", [])):
        if not isinstance(row, list) or len(row) != 4 or not all(type(v) is int for v in row[:3]):
            raise InputError(f"privacy[{k}]", row, "must be [signal, x, x', w]: three positions and a number")
        places.append(row[:3])
        weights.append(number(read(row[3]), f"privacy[{k}][3]"))
    obedience = table(document["obedience"], "obedience") if "obedience" in document else None
    flat = objects(weights)
    if not exact:
        flat = np.array([float(v) for v in weights])
        obedience = None if obedience is None else floats(obedience)
        prices = [float(v) for v in prices]
    pairs = np.array(places, dtype=np.int64).reshape(-1, 3)
    return Proof(conditions, channel, public(prices[0]), public(prices[1]), pairs, flat, obedience)


def exact_document(document: dict[str, Any]) -> bool:
    """Whether no number of the proof is a float."""
    if not all(exact_document(branch) for branch in document.get("branches", [])):
        return False
    rows = [row for key in ("channel", "u", "obedience", "privacy") for row in document.get(key, [])]
    numbers = [v for row in rows if isinstance(row, list) for v in row]
    return not any(isinstance(v, float) for v in (*numbers, *document.get("prices", {}).values()))


def _texts(rows: Array) -> list[list[str | float]]:
    return [[text(v) for v in row] for row in rows.tolist()]
