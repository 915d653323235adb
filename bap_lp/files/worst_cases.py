"""Worst-case certificates: JSON <-> RobustCertificate.

lambdas, value   one lambda per scenario, and the smallest worst case
weights          of the least favourable mixture of scenarios
channel          q(s|x), states x profiles of the Bobs' decisions
replies          per scenario a table profiles x Eve's decisions, see `proof.worst_case`
"""

from __future__ import annotations

from typing import Any

from bap_lp.files.documents import check, located
from bap_lp.files.tables import long_number, signed_table, texts
from bap_lp.proof.worst_case import RobustCertificate
from bap_lp.rational import InputError, floats, is_exact, number, public, text

_LIST = {"type": "array"}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"lambdas": _LIST, "value": {}, "weights": _LIST, "channel": _LIST, "replies": _LIST},
    "required": ["lambdas", "value", "weights", "channel", "replies"],
}


def robust_document(certificate: RobustCertificate) -> dict[str, Any]:
    """The JSON document of a worst-case certificate."""
    return {
        "lambdas": [text(lam) for lam in certificate.lams],
        "value": text(certificate.value),
        "weights": [text(w) for w in certificate.weights.tolist()],
        "channel": texts(certificate.channel),
        "replies": [texts(u) for u in certificate.replies],
    }


def robust_from_dict(document: Any, source: str) -> RobustCertificate:
    """A worst-case certificate from its document; one float makes all numbers floats."""
    with located(source):
        check(document, _SCHEMA)
        lams = [number(long_number(v), f"lambdas[{k}]") for k, v in enumerate(document["lambdas"])]
        value = number(long_number(document["value"]), "value")
        tables = []
        for k, rows in enumerate(document["replies"]):
            if not isinstance(rows, list):
                raise InputError(f"replies[{k}]", rows, "must be a list")
            tables.append(signed_table(rows, f"replies[{k}]"))
        tables += [signed_table([document["weights"]], "weights"), signed_table(document["channel"], "channel")]
        if not all(map(is_exact, (*lams, value, *tables))):
            lams, value, tables = [float(v) for v in lams], float(value), [floats(t) for t in tables]
        *replies, weights, channel = tables
        prices = tuple(public(v) for v in lams)
        return RobustCertificate(prices, public(value), channel, weights[0], tuple(replies))
