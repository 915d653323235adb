"""Certificate files: JSON <-> Certificate; every error names file, field, value and rule.

lambda, value   what is proved                     rho, u     joint table and Eve's replies, see `proof.certificate`
Under conditions also
conditions      as in a problem file               channel    q(s|x), states x signals
prices          of min_eve_risk and max_bob_risk   privacy    [signal, x, x', w] for every multiplier w > 0
obedience       with a margin, Bob's prices, signals x decisions
beliefs         [signal, agent, decision, w]: prices of the obedience of agents with beliefs of their own, Bobs first
branches        under max_signals or determinism, for every part of the mechanisms: signals (that are sent), u, states
                ([x, signals] where state x may send only some of them), void (true if the multipliers prove that the
                part is empty), and the keys of the prices
The keys of the prices are those of the conditions themselves (`Condition.document`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bap_lp.arguments import checked
from bap_lp.notions.conditions import TABLE, Conditions
from bap_lp.conditions.lagrangian import Multipliers, Prices
from bap_lp.files.documents import check, dumps, located, read_document, source_name
from bap_lp.files.effort import check_effort, proof_steps
from bap_lp.files.problems import conditions_document, conditions_from
from bap_lp.files.tables import signed_number, signed_table, texts
from bap_lp.files.writing import write_files
from bap_lp.proof.branches import Branch
from bap_lp.proof.certificate import Certificate
from bap_lp.proof.conditional import Proof
from bap_lp.rational import EXACT, FLOAT, Field, InputError, floats, public, text


def _merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Tables put together; tables under one key are put together too."""
    out: dict[str, Any] = {}
    for part in parts:
        for key, value in part.items():
            both = isinstance(value, dict) and isinstance(out.get(key), dict)
            out[key] = _merged([out[key], value]) if both else value
    return out


_NOTHING: dict[str, Any] = {"prices": {"min_eve_risk": "0", "max_bob_risk": "0"}, "privacy": []}
_LIST: dict[str, Any] = {"type": "array"}
_PRICES = _merged([kind.schema() for kind in TABLE.values() if kind.priced])
_BRANCH = {"signals": _LIST, "u": _LIST, "states": _LIST, "void": {}, **_PRICES}
MULTIPLIERS: dict[str, Any] = {  # under conditions
    "conditions": {"type": "object", "properties": {name: {} for name in Conditions.__dataclass_fields__}},
    **_PRICES,
    "branches": {"type": "array", "items": {"type": "object", "properties": _BRANCH, "required": ["signals", "u"]}},
}
_UNDER_CONDITIONS = MULTIPLIERS | {"channel": _LIST}

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"lambda": {}, "value": {}, "rho": _LIST, "u": _LIST} | _UNDER_CONDITIONS,
    "required": ["lambda", "value", "rho", "u"],
}


@checked
def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate. `verify` judges signs, sums and sizes; here only numbers are required.

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
        check(document, _SCHEMA)
        lam, value = (signed_number(document[key], key) for key in ("lambda", "value"))
        rho, u = (signed_table(document[key], key) for key in ("rho", "u"))
        numbers, kinds = (lam, value, rho.flat[0], u.flat[0]), exact_numbers(document)
        exact = kinds and not any(isinstance(v, float) for v in numbers)
        if not exact:
            lam, value, rho, u = float(lam), float(value), floats(rho), floats(u)
        return Certificate(public(lam), public(value), rho, u, _proof(document, exact))


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """The JSON document of a certificate: lam, value, rho (states x Bob's decisions), u (Bob's x Eve's decisions)."""
    document = {
        "lambda": text(certificate.lam),
        "value": text(certificate.value),
        "rho": texts(certificate.rho),
        "u": texts(certificate.u),
    }
    if certificate.proof is not None:
        document |= _proof_document(certificate.proof)
    return document


@checked
def save_certificate(path: str | os.PathLike[str], certificate: Certificate) -> None:
    """Write a certificate file (JSON).

    Args:
        path: where to write it.
        certificate: what `solve` returned as `certificate`.

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


def _proof_document(proof: Proof) -> dict[str, Any]:
    """What a certificate adds to lambda, value, rho and u when there are conditions."""
    out: dict[str, Any] = {"conditions": conditions_document(proof.conditions), "channel": texts(proof.channel)}
    return out | prices_document(proof.prices) | branches_document(proof.branches)


def branches_document(branches: Sequence[Branch]) -> dict[str, Any]:
    """The key of the branches, if there are any."""
    out = []
    for branch in branches:
        document: dict[str, Any] = {"signals": list(branch.keep), "u": texts(branch.multipliers.u)}
        if branch.fixed:
            document["states"] = [[x, list(signals)] for x, signals in branch.fixed]
        if branch.void:
            document["void"] = True
        out.append(document | prices_document(branch.multipliers.prices))
    return {"branches": out} if out else {}


def prices_document(prices: Mapping[str, Prices]) -> dict[str, Any]:
    """The keys of the prices in a certificate."""
    return _merged([_NOTHING, *(TABLE[name].document(own) for name, own in prices.items())])


def _proof(document: dict[str, Any], exact: bool) -> Proof | None:
    """The proof in a certificate's document, if there is one."""
    if "conditions" not in document:
        extra = [key for key in _UNDER_CONDITIONS if key in document]
        if extra:
            raise InputError(extra[0], None, "needs conditions")
        return None
    if "channel" not in document:
        raise InputError("channel", None, "is missing")
    conditions, field = conditions_from(document["conditions"]), EXACT if exact else FLOAT
    channel = field.array(signed_table(document["channel"], "channel"))
    branches = read_branches(document, len(channel), channel.shape[1], field)
    return Proof(conditions, channel, read_prices(document, field), branches)


def read_branches(document: dict[str, Any], states: int, signals: int, field: Field) -> tuple[Branch, ...]:
    """The branches in a certificate's document, for so many states and signals."""
    branches = []
    for k, part in enumerate(document.get("branches", [])):
        if not _positions(part["signals"], signals):
            raise InputError(f"branches[{k}].signals", part["signals"], "must be positions of signals")
        if not isinstance(part.get("void", False), bool):
            raise InputError(f"branches[{k}].void", part["void"], "must be true or false")
        fixed = []
        for row in part.get("states", []):
            if not isinstance(row, list) or len(row) != 2 or not _positions([row[0]], states):
                raise InputError(f"branches[{k}].states", row, "must be a state and a list of signals")
            if not _positions(row[1], len(part["signals"])):
                raise InputError(f"branches[{k}].states", row, "must be a state and a list of signals")
            fixed.append((row[0], tuple(row[1])))
        u = field.array(signed_table(part["u"], f"branches[{k}].u"))
        dual = Multipliers(u, read_prices(part, field))
        branches.append(Branch(tuple(part["signals"]), dual, tuple(fixed), part.get("void", False)))
    return tuple(branches)


def _positions(values: Any, count: int) -> bool:
    return isinstance(values, list) and all(type(v) is int and 0 <= v < count for v in values)


def read_prices(document: dict[str, Any], field: Field) -> dict[str, Prices]:
    """The prices in a certificate's document."""
    return {name: kind.read(document, signed_number, field) for name, kind in TABLE.items() if kind.priced}


def exact_numbers(document: dict[str, Any]) -> bool:
    """Whether no number of the proof is a float."""
    if not all(exact_numbers(branch) for branch in document.get("branches", [])):
        return False
    rows = [row for key in ("channel", "u", *_PRICES) for row in _rows(document.get(key, []))]
    return not any(isinstance(v, float) for row in rows for v in row)


def _rows(value: Any) -> list[list[Any]]:
    if isinstance(value, dict):
        return [list(value.values())]
    return [row for row in value if isinstance(row, list)]
