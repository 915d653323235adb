"""Files: TOML or JSON -> Problem, Mechanism, Certificate, and back; every error names file, field, value and rule.

What tables and keys a file may have is written once, as a JSON Schema: schema.json for problems, the two below for
mechanisms and certificates. The numbers are judged by Problem, Mechanism and verify, and the field names those use are
turned into the file's own: `bobs[1].loss[2]` is `bob[1].loss[2]` in a file with several Bobs, `bob.loss[2]` with one.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpq, fmpz

from bap_lp.files.documents import check, dumps, located, read_document, source_name, write_files
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Agent, Problem
from bap_lp.rational import Array, InputError, number, objects, public, show, text

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.proof.certificate import Certificate

SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("schema.json").read_text(encoding="utf-8"))

_LIST = {"type": "array"}
_MECHANISM = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "states": _LIST, "signals": _LIST, "channel": _LIST},
    "required": ["channel"],
}
_CERTIFICATE: dict[str, Any] = {
    "type": "object",
    "properties": {"lambda": {}, "value": {}, "rho": _LIST, "u": _LIST},
    "required": ["lambda", "value", "rho", "u"],
}

_LARGEST = 10**300
_LONG_FRACTION = re.compile(r"-?\d{150,}|-?\d+/\d*[1-9]\d*")
_AGENT = re.compile(r"(names of )?(bob|eve)s(?:\[(\d+)\])?(\.\w+)?")
_PLAIN = re.compile(r"(?<![\w.])(theta_prior|thetas|likelihood|prior|states)(?=\[|$)")
_FILE_FIELD = {
    "theta_prior": "theta.prior",
    "thetas": "theta.labels",
    "likelihood": "data.likelihood",
    "prior": "data.prior",
    "states": "data.labels",
}


@dataclass(frozen=True)
class ProblemFile:
    """A problem, the lam its file asks for ("calibrated" or the number as written), what the file is called, and the
    conditions it sets."""

    problem: Problem
    lam: Any = "calibrated"
    source: str = ""
    conditions: Conditions | None = None


def load_problem(path: str | os.PathLike[str]) -> ProblemFile:
    """Read a problem file, TOML or JSON."""
    return problem_from_dict(read_document(path), source_name(path))


def problem_from_dict(document: Any, source: str = "problem") -> ProblemFile:
    """A problem from the tables of its file; `source` is what errors call the file."""
    with located(source):
        check(document, SCHEMA)
        data, theta = document["data"], document.get("theta")
        _one_prior(data, theta)
        lam = _lam(document.get("alice", {}).get("lambda", "calibrated"))
    with located(source, _file_fields(document)):
        shared: dict[str, Any] = {
            "bobs": _agents(document["bob"]),
            "eves": _agents(document["eve"]),
            "states": data.get("labels"),
            "title": document.get("title", ""),
        }
        if theta is None:
            problem = Problem(data["prior"], **shared)
        else:
            problem = Problem.from_model(theta["prior"], data["likelihood"], thetas=theta.get("labels"), **shared)
    with located(source):
        return ProblemFile(problem, lam, source, _conditions(document.get("conditions"), problem))


def _conditions(table: dict[str, Any] | None, problem: Problem) -> Conditions | None:
    """The conditions, if there are any, that fit the problem."""
    if not table:
        return None
    from bap_lp.files.proofs import conditions_from

    conditions = conditions_from(table)
    try:
        conditions.demands(problem)
    except InputError as error:
        raise InputError(f"conditions.{error.field}", error.value, error.rule) from None
    return conditions


def _one_prior(data: dict[str, Any], theta: Any) -> None:
    if theta is None:
        if "likelihood" in data:
            raise InputError("data.likelihood", None, "needs a [theta] table with a prior (or give data.prior instead)")
        if "prior" not in data:
            raise InputError("data.prior", None, "is missing (or give theta.prior and data.likelihood)")
    else:
        if "prior" in data:
            raise InputError("data.prior", None, "must not be given with [theta], which implies it")
        if "likelihood" not in data:
            raise InputError("data.likelihood", None, "is missing: p(x|theta), a row per theta")


def _agents(tables: Any) -> list[Agent]:
    group = tables if isinstance(tables, list) else [tables]
    return [Agent(t["loss"], t.get("decisions"), t.get("name", ""), t.get("weight", 1)) for t in group]


def _lam(value: Any) -> Any:
    if value == "calibrated":
        return value
    try:
        lam = number(value, "alice.lambda")
    except InputError as error:
        rule = error.rule if error.rule == "divides by zero" else 'must be "calibrated" or a non-negative finite number'
        raise InputError("alice.lambda", value, rule) from None
    if not 0 <= lam <= _LARGEST:
        raise InputError("alice.lambda", value, "must not be negative" if lam < 0 else "must be at most 1e300")
    return public(lam)


def _file_fields(document: dict[str, Any]) -> Callable[[str], str]:
    """Turns the field names of Problem into those of this document."""

    def agent(match: re.Match[str]) -> str:
        name, role, index, rest = match.groups()
        several = isinstance(document[role], list)
        return role + (f"[{index}]" if several and index is not None else "") + (".name" if name else rest or "")

    return lambda field: _PLAIN.sub(lambda m: _FILE_FIELD[m[1]], _AGENT.sub(agent, field))


def load_mechanism(path: str | os.PathLike[str], states: Sequence[str] | None = None) -> Mechanism:
    """Read a mechanism. Given the states of a problem, its own must be those, in that order, or be left out."""
    document = read_document(path)
    with located(source_name(path)):
        check(document, _MECHANISM)
        channel, own = document["channel"], document.get("states")
        if states is not None:
            if len(channel) != len(states):
                raise InputError("channel", None, f"has {len(channel)} rows, must have {len(states)}, one per state")
            for k, (given, wanted) in enumerate(zip(states if own is None else own, states, strict=False)):
                if given != wanted:
                    raise InputError(f"states[{k}]", given, f"must be {show(wanted)}, the problem's states[{k}]")
        names = states if own is None else own
        channel = [[_number(v) for v in row] if isinstance(row, list) else row for row in channel]
        return Mechanism(channel, signals=document.get("signals"), states=names, name=document.get("name", ""))


def mechanism_document(mechanism: Mechanism) -> dict[str, Any]:
    """The JSON document of a mechanism: exact numbers as strings like "13/40", floats as numbers."""
    return {"states": list(mechanism.states), "signals": list(mechanism.signals), "channel": _texts(mechanism.q)}


def load_certificate(path: str | os.PathLike[str]) -> Certificate:
    """Read a certificate. Signs, sums and sizes are for `verify` to judge; here it only has to be made of numbers."""
    from bap_lp.files.proofs import KEYS, exact_document, proof_from
    from bap_lp.proof.certificate import Certificate

    document = read_document(path)
    with located(source_name(path)):
        check(document, {**_CERTIFICATE, "properties": _CERTIFICATE["properties"] | KEYS})
        lam, value = (number(_number(document[key]), key) for key in ("lambda", "value"))
        rho, u = (_signed_table(document[key], key) for key in ("rho", "u"))
        numbers, kinds = (lam, value, rho.flat[0], u.flat[0]), exact_document(document)
        exact = kinds and not any(isinstance(v, float) for v in numbers)
        if not exact:
            lam, value, rho, u = float(lam), float(value), rho.astype(float), u.astype(float)
        return Certificate(public(lam), public(value), rho, u, proof_from(document, _signed_table, _number, exact))


def _signed_table(rows: list[Any], field: str) -> Array:
    """A table of numbers of any sign; one float makes it a float table."""
    numbers: list[Any] = []
    for k, row in enumerate(rows):
        if not isinstance(row, list):
            raise InputError(f"{field}[{k}]", row, "must be a list")
        if not row or len(row) != len(rows[0]):
            raise InputError(f"{field}[{k}]", None, f"has {len(row)} entries, must have {len(rows[0]) or 'some'}")
        numbers.extend(number(_number(v), f"{field}[{k}][{j}]") for j, v in enumerate(row))
    if not numbers:
        raise InputError(field, None, "must not be empty")
    flat = np.array([float(v) for v in numbers]) if any(isinstance(v, float) for v in numbers) else objects(numbers)
    return flat.reshape(len(rows), -1)


def _number(value: Any) -> Any:
    """Exact solutions can be longer fractions than Python reads at once."""
    if not isinstance(value, str) or len(value) < 100 or not _LONG_FRACTION.fullmatch(value):
        return value
    numerator, _, denominator = value.partition("/")
    return fmpq(fmpz(numerator), fmpz(denominator or "1"))


def certificate_document(certificate: Certificate) -> dict[str, Any]:
    """The JSON document of a certificate: lam, value, rho (states x Bob's decisions), u (Bob's x Eve's decisions)."""
    document = {
        "lambda": text(certificate.lam),
        "value": text(certificate.value),
        "rho": _texts(certificate.rho),
        "u": _texts(certificate.u),
    }
    if certificate.proof is not None:
        from bap_lp.files.proofs import proof_document

        document |= proof_document(certificate.proof)
    return document


def _texts(table: Array) -> list[list[str | float]]:
    return [[text(v) for v in row] for row in table.tolist()]


def problem_document(problem: Problem, lam: Any = "calibrated") -> dict[str, Any]:
    """A problem as its file would have it; a parameter is already averaged out of Bob's losses."""

    def agents(group: Sequence[Agent]) -> list[dict[str, Any]]:
        return [
            {"name": a.name, "weight": text(a.weight), "decisions": list(a.decisions or ()), "loss": _texts(a.loss)}
            for a in group
        ]

    return {
        "title": problem.title,
        "data": {"labels": list(problem.states), "prior": [text(v) for v in problem.p.tolist()]},
        "bob": agents(problem.bobs),
        "eve": agents(problem.eves),
        "alice": {"lambda": lam if lam == "calibrated" else text(number(lam, "lam"))},
    }


def save_problem(path: str | os.PathLike[str], problem: Problem, lam: Any = "calibrated") -> None:
    """Write a problem file (JSON): what was built in Python can be reported and shared from the command line."""
    write_files({Path(path): dumps(problem_document(problem, lam))})


def save_mechanism(path: str | os.PathLike[str], mechanism: Mechanism) -> None:
    write_files({Path(path): dumps(mechanism_document(mechanism))})


def save_certificate(path: str | os.PathLike[str], certificate: Certificate) -> None:
    write_files({Path(path): dumps(certificate_document(certificate))})
