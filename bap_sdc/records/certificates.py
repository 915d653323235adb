"""The proof of a solved study as a file has it, read: certificate.json, whose form `conditions.proof` has.

Numbers that are stated there are read here, and checked by the proof: never believed.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.files.bundles import written
from bap_lp.files.certificates import certificate_from_dict, stated_number
from bap_lp.support.proof_tables import long_number, proof_table, read_proof_table
from bap_lp.support.rational import EXACT, Array, is_exact, number, objects, public
from bap_sdc.records.conditions.parts import Prices, StudyPart, priced_program
from bap_sdc.records.conditions.proof import ComponentsProof, PartsProof, StudyProof
from bap_sdc.records.conditions.stated import COUPLING
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.result import RecordComponent, TabledReplies

if TYPE_CHECKING:
    from bap_sdc.records.study import Study


def _replies(program: RecordProgram, groups: Sequence[dict[str, Any]]) -> TabledReplies:
    """Replies side by side; equal ones are the same objects."""
    tables = []
    for group in groups:
        keyed(group, {"eve", "known", "replies", "reply_of"})
        [eve], _ = positions([group["eve"]], len(program.eves)), positions([group["known"]], 2**62)
        table = read_proof_table(group["replies"], "replies")
        if table.ndim != 2 or table.shape[1] != program.eves[eve].loss.shape[1]:
            raise ValueError("the replies have another shape")
        which = positions(group["reply_of"], len(table))
        if len(which) != program.decisions:
            raise ValueError("there must be a reply for every decision")
        tables.append(table[which])
    return TabledReplies(np.hstack(tables), np.arange(program.decisions))


def value_of(value: Any) -> Any:
    """A number as a file has it: a Fraction from text, a float from a number."""
    return public(number(long_number(value), "certificate")) if isinstance(value, str) else float(value)


def read_probabilities(rows: Any) -> Array:
    """p as prior.json has it: a table of a proof with one row, or one row of floats."""
    if isinstance(rows, list) and any(isinstance(v, float) for v in rows[0]):
        return np.array(rows[0], dtype=float)
    return read_proof_table(rows, "p")[0]


def probabilities_document(p: Array) -> Any:
    return proof_table(p[None]) if is_exact(p) else [p.tolist()]


def keyed(document: Any, keys: Set[str]) -> dict[str, Any]:
    """A table with exactly these keys."""
    if not isinstance(document, dict) or set(document) != keys:
        raise ValueError(f"must be a table with {', '.join(sorted(keys))}")
    return document


def positions(values: Any, count: int) -> Array:
    """Positions in a list of this length, written as whole numbers."""
    if not isinstance(values, list) or not set(map(type, values)) <= {int}:
        raise ValueError("positions must be whole numbers")
    if values and not (min(values) >= 0 and max(values) < count):
        raise ValueError("a position is not in its list")
    return np.array(values, dtype=np.int64)


def proof_from_document(study: Study, document: dict[str, Any], rows: Sequence[Any], method: str) -> StudyProof:
    """The proof in a certificate file, of the rows (record type, decision, probability) of a mechanism.

    What it states is read, and judged by `StudyProof.verify`.

    Raises:
        ValueError, KeyError, TypeError, IndexError or InputError: the document does not fit the study.
    """
    keyed(document, {"numbers", "lambda", "value", "bound", "gap", "prices", "parts"})
    exact = {"exact": True, "floats": False}[document["numbers"]]
    lam, *ends = (stated_number(document[name], name, exact) for name in ("lambda", "value", "bound", "gap"))
    given, names = keyed(document["prices"], {"floor", *COUPLING}), [spy.name for spy in study.spies]
    floors = {names.index(name): _fraction(w) for name, w in given["floor"].items()}
    prices = Prices(floors, _fraction(given["min_eve_risk"]), _fraction(given["max_bob_risk"]))
    parts, (value, bound, gap) = document["parts"], ends
    if any("certificate" in part for part in parts):
        if study.conditions is None:
            raise ValueError("a study without conditions is proved by its components")
        own = _read_parts(study, parts)
        return PartsProof(study, lam, prices, value, bound, gap, method, exact, **own)
    program = priced_program(study, EXACT.number(lam), prices, exact)[0]
    components = _read_components(program, parts, rows)
    return ComponentsProof(study, lam, prices, value, bound, gap, method, exact, components)


def _read_components(
    program: RecordProgram, documents: Sequence[Any], rows: Sequence[Any]
) -> tuple[RecordComponent, ...]:
    """The components of a document with their rows of the mechanism."""
    state, decision = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1))
    order = np.lexsort((decision, state))
    state, decision = state[order], decision[order]
    rho = objects(_rational(row[2]) for row in rows)[order] * program.p[state]
    home, place = np.full(len(program.p), -1), np.zeros(len(program.p), dtype=np.int64)
    parts = [positions(keyed(part, {"states", "groups"})["states"], len(program.p)) for part in documents]
    for k, states in enumerate(parts):
        home[states], place[states] = k, np.arange(len(states))
    out = []
    for k, (states, part) in enumerate(zip(parts, documents, strict=True)):
        mine = np.flatnonzero(home[state] == k)
        groups = tuple((g["eve"], g["known"]) for g in part["groups"])
        replies = _replies(program, part["groups"]) if groups else None
        out.append(RecordComponent(states, place[state[mine]], decision[mine], rho[mine], groups, replies))
    return tuple(out)


def _read_parts(study: Study, documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    parts, certificates = [], []
    limits = [len(t.loss[0]) for t in study.targets]
    for k, one in enumerate(documents):
        keyed(one, {"states", "levels", "certificate"})
        certificate = certificate_from_dict(one["certificate"], f"parts[{k}]")
        given = zip(one["levels"], limits, strict=True)
        levels = tuple(tuple(positions(own, most).tolist()) for own, most in given)
        part = StudyPart(study, positions(one["states"], len(study.prior.types)), levels)
        shape = None if certificate.channel is None else certificate.channel.shape
        if shape != (len(part.states), len(part.decisions)):
            raise ValueError("a part does not fit its certificate")
        if written(one["certificate"].get("conditions", {})) != written(part.conditions().written()):
            raise ValueError("a part has other conditions than its certificate, or writes them otherwise")
        parts.append(part)
        certificates.append(certificate)
    if sorted(x for part in parts for x in part.states.tolist()) != list(range(len(study.prior.types))):
        raise ValueError("the parts do not have every record type once")
    return {"parts": tuple(parts), "certificates": tuple(certificates)}


def _rational(value: Any) -> Any:
    """A probability as a file has it."""
    return number(long_number(value), "certificate") if isinstance(value, str) else EXACT.number(float(value))


def _fraction(value: Any) -> Any:
    found = number(value, "certificate")
    if isinstance(found, float):
        raise ValueError("a proof has exact numbers")
    return found
