"""Certificates of tiers: JSON <-> TierCertificate; every error names file, field, value and rule.

lambdas, weights   one number per tier
value              of the sum over the tiers of weight times R_A
rho                joint table, states x tuples of the Bobs' decisions, the last tier's changing fastest
replies            per tier a table, prefixes of the tuples x Eve's decisions; see `proof.nested`
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from bap_lp.files.documents import check, dumps, located, read_document, source_name
from bap_lp.files.effort import check_effort, nested_steps
from bap_lp.files.tables import signed_number, signed_numbers, signed_table, signed_tables, texts
from bap_lp.files.writing import write_files
from bap_lp.model.labels import joined
from bap_lp.model.problem import Problem
from bap_lp.proof.nested import TierCertificate
from bap_lp.rational import EXACT, FLOAT, is_exact, public, text

_LIST = {"type": "array"}
_KEYS = {"lambdas": _LIST, "weights": _LIST, "value": {}, "rho": _LIST, "replies": _LIST}
_SCHEMA: dict[str, Any] = {"type": "object", "properties": _KEYS, "required": list(_KEYS)}


def tier_certificate_document(certificate: TierCertificate) -> dict[str, Any]:
    """The JSON document of a certificate of tiers."""
    return {
        "lambdas": [text(lam) for lam in certificate.lams],
        "weights": [text(weight) for weight in certificate.weights],
        "value": text(certificate.value),
        "rho": texts(certificate.rho),
        "replies": [texts(u) for u in certificate.replies],
    }


def save_tier_certificate(path: str | os.PathLike[str], certificate: TierCertificate) -> None:
    """Write a certificate of tiers (JSON)."""
    write_files({Path(path): dumps(tier_certificate_document(certificate))})


def load_tier_certificate(path: str | os.PathLike[str]) -> TierCertificate:
    """Read a certificate of tiers; signs, sums and sizes are for `verify_tiers` to judge."""
    document = read_document(path)
    check_effort((document,), nested_steps(document, "rho"), source_name(path))
    return tier_certificate_from_dict(document, source_name(path))


def tier_certificate_from_dict(document: Any, source: str) -> TierCertificate:
    """A certificate of tiers from its document; one float makes all numbers floats."""
    with located(source):
        check(document, _SCHEMA)
        lams, weights = (signed_numbers(document[key], key) for key in ("lambdas", "weights"))
        value, rho = signed_number(document["value"], "value"), signed_table(document["rho"], "rho")
        replies = signed_tables(document["replies"], "replies")
        field = EXACT if all(map(is_exact, (*lams, *weights, value, rho, *replies))) else FLOAT
        at, shares = (tuple(public(field.number(v)) for v in group) for group in (lams, weights))
        tables = field.array(rho), tuple(field.array(u) for u in replies)
        return TierCertificate(at, shares, public(field.number(value)), *tables)


def tier_names(problems: Sequence[Problem]) -> dict[str, tuple[str, ...]]:
    """What every tier sees, by the signal of the last one: ("short", "short > surgery")."""
    out: dict[str, tuple[str, ...]] = {}
    for parts in product(*(one.bob_decisions for one in problems)):
        seen = tuple(joined(parts[: k + 1], " > ") for k in range(len(parts)))
        out.setdefault(seen[-1], seen)
    return out
