"""The proof of a solved study as a document, certificate.json.

Without conditions, by component: `states`, its record types; and for each of its `groups`, `eve` (her number) and
`known` (the number of what she knows), the distinct `replies`, and `reply_of`, which of them each decision has. The
joint table is not repeated: it is the prior times the channel of mechanism.json. `numbers` is "exact", or "floats" if
the study is to be read in floats, each the fraction it is. The numbers that are claimed are checked, never believed.
Under conditions it is the proof of the parts (`conditions.proof`).
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.files.bundles import written
from bap_lp.files.certificates import certificate_from_dict
from bap_lp.files.tables import long_number, proof_table, read_proof_table
from bap_lp.rational import EXACT, Array, is_exact, number, objects, public, text
from bap_sdc.records.conditions.parts import Prices, StudyPart, priced_program
from bap_sdc.records.conditions.proof import PartsProof, PricedProof, StudyProof
from bap_sdc.records.conditions.stated import COUPLING
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.result import RecordComponent, RecordOptimum, TabledReplies

if TYPE_CHECKING:
    from bap_sdc.records.study import Study

_CLAIMS = ("value", "bob", "eve", "bound", "gap")
_KEYS = {"numbers", "lambda", *_CLAIMS, "eves", "columns", "method", "components"}


def proof_document(proof: RecordOptimum | StudyProof) -> dict[str, Any]:
    """The document of a proof."""
    if not isinstance(proof, RecordOptimum):
        return proof.document()
    return {
        "numbers": "exact" if proof.exact else "floats",
        "lambda": text(proof.lam),
        **{name: text(getattr(proof, name)) for name in _CLAIMS},
        "eves": [text(v) for v in proof.eves],
        "columns": [text(v) for v in proof.columns],
        "method": proof.method,
        "components": [
            {"states": part.states.tolist(), "groups": _groups_document(proof.program, part)}
            for part in proof.components
        ],
    }


def _groups_document(program: RecordProgram, part: RecordComponent) -> list[dict[str, Any]]:
    if not part.groups:
        return []
    out, low, u = [], 0, part.replies_of(program)
    for eve, known in part.groups:
        high = low + program.eves[eve].loss.shape[1]
        place: dict[tuple[Any, ...], int] = {}
        which = [place.setdefault(tuple(row), len(place)) for row in u[:, low:high].tolist()]
        table = objects(v for row in place for v in row).reshape(len(place), -1)
        out.append({"eve": int(eve), "known": int(known), "replies": proof_table(table), "reply_of": which})
        low = high
    return out


def read_optimum(program: RecordProgram, document: dict[str, Any], rows: Sequence[Any]) -> RecordOptimum:
    """The optimum of a document, on the rows (record type, decision, probability) of its mechanism.

    Raises ValueError, KeyError, TypeError or IndexError if the document does not fit the program.
    """
    keyed(document, _KEYS)
    exact = {"exact": True, "floats": False}[document["numbers"]]
    if exact and not program.exact:
        raise ValueError("the study is in floats and its proof is exact")
    whole = program if exact else program.as_float().lifted()
    read = partial(_stated, exact)
    if not isinstance(document["method"], str):
        raise ValueError("a method is said in words")
    if [len(document["eves"]), len(document["columns"])] != [len(whole.eves), len(whole.losses)]:
        raise ValueError("there must be a risk for every Eve and every column")
    state, decision = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1))
    q = _numbers([row[2] for row in rows])
    if is_exact(q) != exact:
        raise ValueError("the mechanism does not fit the study")
    order = np.lexsort((decision, state))
    state, decision, rho = state[order], decision[order], EXACT.array(q)[order] * whole.p[state[order]]
    home, place = np.full(len(whole.p), -1), np.zeros(len(whole.p), dtype=np.int64)
    documents = [keyed(part, {"states", "groups"}) for part in document["components"]]
    parts = [positions(part["states"], len(whole.p)) for part in documents]
    for k, states in enumerate(parts):
        home[states], place[states] = k, np.arange(len(states))
    components = []
    for k, (states, part) in enumerate(zip(parts, documents, strict=True)):
        mine = np.flatnonzero(home[state] == k)
        groups = tuple((g["eve"], g["known"]) for g in part["groups"])
        replies = _replies(whole, part["groups"]) if groups else None
        components.append(
            RecordComponent(states, place[state[mine]], decision[mine], rho[mine], groups, replies)
        )  # fmt: skip
    return RecordOptimum(
        program=whole,
        lam=read(document["lambda"]),
        eves=tuple(map(read, document["eves"])),
        columns=tuple(map(read, document["columns"])),
        components=tuple(components),
        method=document["method"],
        exact=exact,
        **{name: read(document[name]) for name in _CLAIMS},
    )


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


def _stated(exact: bool, value: Any) -> Any:
    """A number that is claimed: a fraction of a text if exact, else a float."""
    if type(value) is not (str if exact else float) or str(value) == "-0.0":
        raise ValueError("a number of the proof is of another kind")
    return value_of(value)


def value_of(value: Any) -> Any:
    """A number as a file has it: a Fraction from text, a float from a number."""
    return public(number(long_number(value), "certificate")) if isinstance(value, str) else float(value)


def _numbers(values: list[Any]) -> Array:
    if any(isinstance(v, str) for v in values):
        return objects(number(long_number(v), "certificate") for v in values)
    return np.array(values, dtype=float)


def read_probabilities(rows: Any) -> Array:
    """p as prior.json has it: a table of a proof with one row, or one row of floats."""
    if isinstance(rows, list) and any(isinstance(v, float) for v in rows[0]):
        return _numbers(rows[0])
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
    """The proof in a certificate file, of the rows of a mechanism; raises ValueError or InputError if it is none."""
    if document["kind"] not in ("parts", "priced") or document["numbers"] not in ("exact", "floats"):
        raise ValueError("a study with conditions needs a certificate of its parts")
    inner = "parts" if document["kind"] == "parts" else "optimum"
    keyed(document, {"kind", "numbers", "lambda", "value", "gap", "prices", inner})
    keyed(document["prices"], {"floor", *COUPLING})
    names = [spy.name for spy in study.spies]
    given, lam, exact = document["prices"], _fraction(document["lambda"]), document["numbers"] == "exact"
    floors = {names.index(name): _fraction(w) for name, w in given["floor"].items()}
    prices = Prices(floors, _fraction(given["min_eve_risk"]), _fraction(given["max_bob_risk"]))
    found: StudyProof
    if document["kind"] == "priced":
        best = read_optimum(priced_program(study, lam, prices)[0], document["optimum"], rows)
        found = PricedProof.of(study, lam, prices, method, best=best)
    else:
        found = PartsProof.of(study, lam, prices, method, **_read_parts(study, document["parts"]))
    stated = (EXACT.number(getattr(found, name)) for name in ("value", "gap"))
    if found.exact != exact or [*stated] != [_fraction(document[name]) for name in ("value", "gap")]:
        raise ValueError("the proof has another value or gap than it states")
    return found


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
    if len({certificate.exact for certificate in certificates}) != 1:
        raise ValueError("some parts are exact and some are not")
    return {"parts": tuple(parts), "certificates": tuple(certificates)}


def _fraction(value: Any) -> Any:
    found = number(value, "certificate")
    if isinstance(found, float):
        raise ValueError("a proof has exact numbers")
    return found
