"""The proof of a solved study as a document, certificate.json.

Without conditions, by component: `states`, its record types; and for each of its `groups`, `eve` (her number) and
`known` (the number of what she knows), the distinct `replies`, and `reply_of`, which of them each decision has. The
joint table is not repeated: it is the prior times the channel of mechanism.json. `numbers` is "exact", or "floats" if
the study is to be read in floats, each the fraction it is. The numbers that are claimed are checked, never believed.
Under conditions it is the proof of the parts (`conditions.proof`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bap_lp.files.tables import long_number, proof_table, read_proof_table
from bap_lp.rational import EXACT, Array, is_exact, number, objects, public, text
from bap_sdc.records.conditions.proof import StudyProof
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.result import RecordComponent, RecordOptimum, TabledReplies

_CLAIMS = ("value", "bob", "eve", "bound", "gap")


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
    exact = {"exact": True, "floats": False}[document["numbers"]]
    if exact and not program.exact:
        raise ValueError("the study is in floats and its proof is exact")
    whole = program if exact else program.as_float().lifted()
    read = value_of if exact else float
    state, decision = (np.array([row[k] for row in rows], dtype=np.int64) for k in (0, 1))
    q = _numbers([row[2] for row in rows])
    if is_exact(q) != exact or not _within(state, len(whole.p)) or not _within(decision, whole.decisions):
        raise ValueError("the mechanism does not fit the study")
    order = np.lexsort((decision, state))
    state, decision, rho = state[order], decision[order], EXACT.array(q)[order] * whole.p[state[order]]
    home, place = np.full(len(whole.p), -1), np.zeros(len(whole.p), dtype=np.int64)
    parts = [np.array(part["states"], dtype=np.int64) for part in document["components"]]
    for k, states in enumerate(parts):
        if not _within(states, len(whole.p)):
            raise ValueError("a component has record types that the study has not")
        home[states], place[states] = k, np.arange(len(states))
    components = []
    for k, (states, part) in enumerate(zip(parts, document["components"], strict=True)):
        mine = np.flatnonzero(home[state] == k)
        groups = tuple((int(g["eve"]), int(g["known"])) for g in part["groups"])
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
        method=str(document["method"]),
        exact=exact,
        **{name: read(document[name]) for name in _CLAIMS},
    )


def _replies(program: RecordProgram, groups: Sequence[dict[str, Any]]) -> TabledReplies:
    """Replies side by side; equal ones are the same objects."""
    tables = []
    for group in groups:
        table, which = read_proof_table(group["replies"], "replies"), np.array(group["reply_of"], dtype=np.int64)
        if not 0 <= group["eve"] < len(program.eves) or not 0 <= group["known"] < 2**62:
            raise ValueError("a group is of nobody")
        if table.ndim != 2 or table.shape[1] != program.eves[group["eve"]].loss.shape[1]:
            raise ValueError("the replies have another shape")
        if which.shape != (program.decisions,) or not _within(which, len(table)):
            raise ValueError("there must be a reply for every decision")
        tables.append(table[which])
    return TabledReplies(np.hstack(tables), np.arange(program.decisions))


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


def _within(places: Array, count: int) -> bool:
    """Whether these are positions in a list of this length."""
    whole = places.ndim == 1 and np.issubdtype(places.dtype, np.integer)
    return bool(whole and (places >= 0).all() and (places < count).all())
