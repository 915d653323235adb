"""Worst-case certificates: JSON <-> RobustCertificate.

lambdas, value   one lambda per scenario, and the smallest worst case
weights          of the least favourable mixture of scenarios
channel          q(s|x), states x profiles of the Bobs' decisions
replies          per scenario a table profiles x Eve's decisions, see `proof.worst_case`
"""

from __future__ import annotations

from typing import Any

from bap_lp.files.documents import check, located
from bap_lp.files.tables import signed_number, signed_numbers, signed_table, signed_tables, texts
from bap_lp.proof.worst_case import RobustCertificate
from bap_lp.rational import EXACT, FLOAT, is_exact, public, text

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
        lams, value = signed_numbers(document["lambdas"], "lambdas"), signed_number(document["value"], "value")
        replies, channel = signed_tables(document["replies"], "replies"), signed_table(document["channel"], "channel")
        [weights] = signed_table([document["weights"]], "weights")
        field = EXACT if all(map(is_exact, (*lams, value, *replies, weights, channel))) else FLOAT
        prices = tuple(public(field.number(v)) for v in lams)
        tables = field.array(channel), field.array(weights), tuple(field.array(u) for u in replies)
        return RobustCertificate(prices, public(field.number(value)), *tables)
