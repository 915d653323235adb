"""Certificate files: JSON <-> Certificate, one form for every proof; every error names file, field, value and rule.

kind            "release", "conflict", "scenarios", "tiers" or "priors"
numbers         "exact", or "floats" if the problem is to be read in floats, each the fraction it is
lambda          the price of privacy; a list for scenarios and tiers, and then `weights_of_tiers` for the latter
value, gap      what is stated: R_A, and how far below it others could be
channel         q(s|x), states x signals of the program (not in a conflict)
conditions      as in a problem file, if there are any; a list for scenarios and tiers, a table each
replies         of every observer, by name: a table views x columns
weights         of the rows of every condition, by name: {"shape": [rows], "at": [[row, weight], ...]}
reports         where probabilities are reported: a table for every Eve who does (and every value that she may know),
                one row per signal, one column per value of her secret, in the order of their first appearance
cases           under determinism, for every part of the mechanisms: states ([x, signals] where state x may send only
                some of the signals), void (true if the multipliers prove that the part is empty), replies and weights
priors          in a proof over a set of priors: the set, as in a problem file
listed          then: priors of the set, a row each, the worst one of the channel first
witness         then, for a Wasserstein set: how mass is moved, a table per listed prior, one below the other; for a
                polytope: multipliers of its rows, which prove largest sums over it
rows            in a bundle, for conditions that were registered: of each its entries [row, x, s, number] and its rhs
conflict        in a conflict, for the reader: the labels of the conditions that cannot hold together
A key that is empty, or that a proof of this kind does not use, is refused.
Every number of a proof is exact. See `program.bound` for what the multipliers prove and `tables` for their forms.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.files.effort import check_effort, proof_steps
from bap_lp.program.bound import Dual
from bap_lp.program.prior_set import PRIOR_KEYS, PriorSet
from bap_lp.proof.cases import Case
from bap_lp.proof.certificate import Certificate, ConflictError
from bap_lp.support.display import clean
from bap_lp.support.documents import check, dumps, located, read_document, source_name
from bap_lp.support.proof_tables import proof_table, read_proof_table, signed_number, sparse_table
from bap_lp.support.rational import EXACT, Array, InputError, public, text
from bap_lp.support.writing import write_files

_LIST: dict[str, Any] = {"type": "array"}
_TABLES: dict[str, Any] = {"replies": {}, "weights": {}}
_CASE = {"type": "object", "properties": {"states": _LIST, "void": {}, **_TABLES}}
_CASE["required"] = ["replies", "weights"]
_CONDITIONS = {"type": "object"}
_PROPERTIES: dict[str, Any] = {
    "kind": {"type": "string"},
    "numbers": {"type": "string"},
    "lambda": {},
    "weights_of_tiers": _LIST,
    "value": {},
    "gap": {},
    "channel": {},
    "conditions": {"oneOf": [_CONDITIONS, {"type": "array", "items": _CONDITIONS}]},
    "cases": {"type": "array", "items": _CASE},
    "reports": _LIST,
    "conflict": {},
    "rows": {"type": "object"},
    "priors": {"type": "object", "properties": {name: {} for name in PRIOR_KEYS}},
    "listed": {},
    "witness": {},
    **_TABLES,
}
_LEFT_OUT = ("weights_of_tiers", "conditions", "cases", "reports", "witness")
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": _PROPERTIES,
    "required": ["kind", "numbers", "lambda", "value", "gap", "replies", "weights"],
}


def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate. `verify` judges signs, sums and sizes; here only exact numbers are required.

    Args:
        path: the JSON file of `save_certificate`, or of `bap solve --out`.

    Returns:
        The certificate.

    Raises:
        InputError: the file cannot be read or is not a certificate.

    >>> import os, tempfile
    >>> from bap_lp import Problem, load_certificate, save_certificate, solve, verify
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_certificate(os.path.join(folder, "proof.json"), solve(coin).certificate)
    ...     verify(coin, load_certificate(os.path.join(folder, "proof.json"))).ok
    True
    """
    document = read_document(path)
    check_effort((document,), proof_steps({}, document), source_name(path))
    return certificate_from_dict(document, source_name(path))


def certificate_from_dict(document: Any, source: str) -> Certificate:
    """A certificate from its document; `source` is what errors call it."""
    with located(source):
        if isinstance(document, dict) and "rho" in document and "kind" not in document:
            raise InputError("rho", None, "is of an older form of certificates: solve the problem again")
        check(document, _SCHEMA)
        kinds = {"exact": True, "floats": False}
        if document["numbers"] not in kinds:
            raise InputError("numbers", document["numbers"], 'must be "exact" or "floats"')
        exact, several = kinds[document["numbers"]], document["kind"] in ("scenarios", "tiers")
        several = several or (document["kind"] == "conflict" and isinstance(document["lambda"], list))
        given = document["lambda"] if several else [document["lambda"]]
        if not isinstance(given, list) or not given:
            raise InputError("lambda", None, "must be a list, one number per problem")
        lams = tuple(stated_number(v, "lambda", exact) for v in given)
        shares = tuple(stated_number(v, "weights_of_tiers", exact) for v in document.get("weights_of_tiers", []))
        for key in _LEFT_OUT:
            if key in document and not document[key]:
                raise InputError(key, None, "must be left out where it is empty")
        if bool(shares) != (document["kind"] == "tiers") and not (several and document["kind"] == "conflict"):
            raise InputError("weights_of_tiers", None, "belongs to tiers, one number each")
        if "conflict" in document and document["kind"] != "conflict":
            raise InputError("conflict", None, "belongs to a certificate of that kind")
        channel = None
        if document["kind"] != "conflict":
            if "channel" not in document:
                raise InputError("channel", None, "is missing")
            channel = read_proof_table(document["channel"], "channel", 2)
        asked: Any = document.get("conditions", [] if several else {})
        if isinstance(asked, list) != several or (asked and several and not (any(asked) and len(asked) == len(lams))):
            raise InputError("conditions", None, "must be a list for scenarios and tiers, a table each, or one table")
        over = document["kind"] == "priors"
        for key, needed in (("priors", over), ("listed", over), ("witness", over and "witness" in document)):
            if (key in document) != needed:
                raise InputError(key, None, "is missing" if needed else "belongs to a certificate of kind priors")
        listed, witness = (
            read_proof_table(document[key], key) if key in document else None for key in ("listed", "witness")
        )
        shape = (0, 0) if channel is None else channel.shape
        return Certificate(
            lams,
            stated_number(document["value"], "value", exact),
            stated_number(document["gap"], "gap", exact),
            channel,
            _dual(document, ""),
            exact,
            Conditions() if several else Conditions.of(asked),
            tuple(_case(part, f"cases[{k}]", shape) for k, part in enumerate(document.get("cases", []))),
            document["kind"],
            shares,
            reports=tuple(read_proof_table(v, f"reports[{k}]", 2) for k, v in enumerate(document.get("reports", []))),
            priors=PriorSet.of(document["priors"]) if over else None,
            listed=listed,
            witness=witness,
            conditions_of=tuple(map(Conditions.of, asked)) if several else (),
        )


def stated_number(value: Any, field: str, exact: bool) -> Any:
    """A number as a certificate states it; floats are written as the fractions they are."""
    found = signed_number(value, field)
    if isinstance(found, float):
        raise InputError(field, found, "must be an exact number")
    if exact:
        return public(found)
    try:
        near = float(found)
    except OverflowError:
        near = float("inf")
    if not np.isfinite(near) or EXACT.number(near) != found:
        raise InputError(field, value, "must be a number that a float holds")
    return near


def _dual(document: dict[str, Any], where: str) -> Dual:
    tables: list[dict[str, Array]] = []
    for key, ndim in (("replies", 2), ("weights", 1)):
        if not isinstance(document[key], dict):
            raise InputError(f"{where}{key}", None, "must be a table, by name")
        tables.append(
            {name: read_proof_table(v, f"{where}{key}.{clean(name)}", ndim) for name, v in document[key].items()}
        )
    return Dual(*tables)


def _case(part: dict[str, Any], where: str, shape: tuple[int, ...]) -> Case:
    if not isinstance(part.get("void", False), bool):
        raise InputError(f"{where}.void", part["void"], "must be true or false")
    fixed = []
    for row in part.get("states", []):
        fits = isinstance(row, list) and len(row) == 2 and _positions([row[0]], shape[0] or 2**31)
        if not fits or not _positions(row[1], shape[1] or 2**31):
            raise InputError(f"{where}.states", row, "must be a state and a list of signals")
        fixed.append((row[0], tuple(row[1])))
    return Case(_dual(part, f"{where}."), tuple(fixed), part.get("void", False))


def _positions(values: Any, count: int) -> bool:
    return isinstance(values, list) and all(type(v) is int and 0 <= v < count for v in values)


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    several = certificate.kind in ("scenarios", "tiers") or bool(certificate.conditions_of)
    lams = [_exactly(lam) for lam in certificate.lams]
    out: dict[str, Any] = {
        "kind": certificate.kind,
        "numbers": "exact" if certificate.exact else "floats",
        "lambda": lams if several else lams[0],
        "value": _exactly(certificate.value),
        "gap": _exactly(certificate.gap),
        "weights_of_tiers": [_exactly(w) for w in certificate.tier_weights] or None,
        "conditions": [one.written() for one in certificate.conditions_of] or certificate.conditions.written() or None,
        "priors": None if certificate.listed is None or certificate.priors is None else certificate.priors.document(),
    }
    for name in ("listed", "witness", "channel"):
        table = getattr(certificate, name)
        out[name] = None if table is None else proof_table(table)
    out |= _dual_document(certificate.dual)
    out["reports"] = [proof_table(table) for table in certificate.reports] or None
    out["cases"] = [_case_document(case) for case in certificate.cases] or None
    return {key: value for key, value in out.items() if value is not None}


def _exactly(value: Any) -> str:
    return str(text(EXACT.number(value)))


def _dual_document(dual: Dual) -> dict[str, Any]:
    weights = {name: sparse_table(w) for name, w in dual.weights.items()}
    return {"replies": {name: proof_table(u) for name, u in dual.replies.items()}, "weights": weights}


def _case_document(case: Case) -> dict[str, Any]:
    states = {"states": [[x, list(signals)] for x, signals in case.fixed]} if case.fixed else {}
    void = {"void": True} if case.void else {}
    return {**states, **void, **_dual_document(case.dual)}


def conflict_document(error: ConflictError) -> dict[str, Any]:
    assert error.proof is not None
    return certificate_document(error.proof) | {"conflict": list(error.conflict)}


def save_certificate(path: str | os.PathLike[str], certificate: Certificate) -> None:
    """Write a certificate file (JSON).

    Args:
        path: where to write it.
        certificate: what `solve`, `robust` or `tiers` returned as `certificate`.

    Raises:
        InputError: the path is not a place for a file.

    >>> import os, tempfile
    >>> from bap_lp import Problem, save_certificate, solve
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_certificate(os.path.join(folder, "proof.json"), solve(coin).certificate)
    ...     os.listdir(folder)
    ['proof.json']
    """
    write_files({Path(path): dumps(certificate_document(certificate))})
