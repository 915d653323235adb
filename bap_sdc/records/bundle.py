"""The folder of a solved study: all that release, audit and report need, without the table itself.

    study.json          columns with their levels, losses, Eves: nothing about single records
    mechanism.json      the channel: for every fitted record type, the records it may be released as
    certificate.json    the proof: joint tables and Eve's replies by component, or the certificate under conditions
    result.json         what `bap microdata solve --json` prints
    prior.json          counts of the fitted and of the held-out record types: confidential, as the table is
A study that is read again is fitted again to its counts, which gives the same prior exactly. The proof covers the
channel; `disagreement` asks whether mechanism.json and result.json say the same. prior.json, which is never public, has
digests of study.json, certificate.json and its own counts, so that files of two folders are not mixed up.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from bap_lp.files.certificates import certificate_document, load_certificate
from bap_lp.files.documents import dumps, located, read_document, source_name
from bap_lp.files.problems import conditions_document, conditions_from
from bap_lp.files.tables import long_number, texts
from bap_lp.limits import limit, raising
from bap_lp.rational import Array, InputError, array, is_exact, number, objects, public, text
from bap_sdc.records.audit.audit import counted_types
from bap_sdc.records.data.levels import Column, Reading
from bap_sdc.records.data.prior import fit
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.result import RecordComponent, RecordOptimum, TabledReplies
from bap_sdc.records.solution import StudySolution, conditioned_solution, solution_of
from bap_sdc.records.study import Spy, Study, Target

FORMAT = "bap microdata 1"
_STORED = 5_000_000  # replies that are written; without them the proof is found again when the folder is read
PUBLIC = ("study.json", "mechanism.json", "result.json")
CONFIDENTIAL = ("prior.json", "certificate.json")


def bundle_texts(solution: StudySolution, result: dict[str, Any], keep: tuple[str, ...] = ()) -> dict[str, str]:
    """The files of a folder, by name."""
    study = solution.study
    documents = {
        "study.json": _study_document(study, keep),
        "mechanism.json": _mechanism_document(solution),
        "certificate.json": _certificate_document(solution),
        "result.json": result,
        "prior.json": _prior_document(study),
    }
    documents["prior.json"]["sha256"] = _digests({name: json.loads(dumps(d)) for name, d in documents.items()})
    return {name: dumps(document) for name, document in documents.items()}


class Unproved(InputError):
    """The files of a folder can be read, but they do not belong together: they prove nothing."""


def _digests(documents: dict[str, Any]) -> dict[str, str]:
    """SHA-256 of the documents that must belong together, whatever the order of their keys."""
    out = {}
    for name in ("study.json", "certificate.json", "prior.json"):
        document = {key: value for key, value in documents[name].items() if key != "sha256"}
        out[name] = hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
    return out


def disagreement(folder: str | Path, solution: StudySolution) -> str:
    """Why mechanism.json or result.json of a folder do not say what its proof says; empty if they do.

    Args:
        folder: the folder that the solution was read from.
        solution: the solution.

    Returns:
        One sentence, or "".
    """
    mechanism, result = (read_document(Path(folder) / name) for name in ("mechanism.json", "result.json"))
    if mechanism != json.loads(dumps(_mechanism_document(solution))):
        return "mechanism.json is not the mechanism that was proved"
    for key, value in json.loads(dumps(solution.document())).items():
        if key not in ("audit", "method") and (not isinstance(result, dict) or result.get(key) != value):
            return f"result.json has another {key} than the proof"
    return ""


def _study_document(study: Study, keep: tuple[str, ...]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "title": study.title,
        "columns": [
            {"name": c.name, "labels": list(c.labels), "values": list(c.values), "numeric": c.numeric,
             "bands": [str(v) for v in c.bands], "named": c.named, "merged": dict(c.merged), "whole": c.whole,
             "missing": list(c.reading.missing), "strip": c.reading.strip, "ordered": c.ordered}
            for c in study.columns
        ],
        "publish": [{"column": t.column, "loss": texts(t.loss), "weight": text(t.weight)} for t in study.targets],
        "eves": [
            {"name": s.name, "secret": s.secret, "knows": list(s.knows), "loss": texts(s.loss), "weight":
            text(s.weight)} for s in study.spies
        ],
        "holdout": str(study.holdout),
        "seed": study.seed,
        "keep": list(keep),
        "conditions": None if study.conditions is None else conditions_document(study.conditions),
    }  # fmt: skip


def _prior_document(study: Study) -> dict[str, Any]:
    out: dict[str, Any] = {"smoothing": text(study.prior.alpha), "toward": study.prior.toward}
    out["likelihoods"] = [[text(a), v] for a, v in study.prior.likelihoods]
    for name, side in (("fitted", ~study.left_out), ("held_out", study.left_out)):
        types, counts = counted_types(study.codes[side], study.levels)
        out[name] = np.column_stack([types, counts]).tolist()
    return out


def _mechanism_document(solution: StudySolution) -> dict[str, Any]:
    study = solution.study
    row, signal, q = solution.channel.rows(study.prior.types)
    told = solution.channel.decode(signal)
    entries = np.column_stack([row, told]).tolist()
    return {
        "columns": list(study.names),
        "published": [t.column for t in study.targets],
        "levels": {c.name: list(c.labels) for c in study.columns},
        "types": study.prior.types.tolist(),
        "rows": [[*entry, text(v)] for entry, v in zip(entries, public(q).tolist(), strict=True)],
    }


def _certificate_document(solution: StudySolution) -> dict[str, Any]:
    proof = solution.proof
    if not isinstance(proof, RecordOptimum):
        return certificate_document(proof)
    return {
        "lambda": text(proof.lam),
        "value": text(proof.value),
        "bob": text(proof.bob),
        "eve": text(proof.eve),
        "bound": text(proof.bound),
        "gap": text(proof.gap),
        "eves": [text(v) for v in proof.eves],
        "columns": [text(v) for v in proof.columns],
        "method": proof.method,
        "exact": proof.exact,
        "components": None
        if _many(proof)
        else [
            {
                "states": c.states.tolist(),
                "row": c.row.tolist(),
                "decision": c.decision.tolist(),
                "rho": [text(v) for v in c.rho.tolist()],
                "groups": [list(map(int, g)) for g in c.groups],
                **_replies_document(proof, c),
            }
            for c in proof.components
        ],
    }


def _many(best: RecordOptimum) -> bool:
    columns = sum(best.program.eves[n].loss.shape[1] for part in best.components for n, _ in part.groups)
    return best.decisions * columns > _STORED


def _replies_document(best: RecordOptimum, part: RecordComponent) -> dict[str, Any]:
    """The distinct replies, and which one each decision has."""
    if part.replies is None:
        return {"replies": None}
    table = part.replies.of(best.program, np.arange(best.decisions))
    written: dict[int, Any] = {}  # many replies are one and the same number
    rows = [tuple(_text_once(v, written) for v in u) for u in table.tolist()]
    place = {row: k for k, row in enumerate(dict.fromkeys(rows))}
    return {"replies": [list(row) for row in place], "reply_of": [place[row] for row in rows]}


def _text_once(value: Any, written: dict[int, Any]) -> Any:
    out = written.get(id(value))
    if out is None:
        out = written[id(value)] = text(value)
    return out


def _replies(document: dict[str, Any]) -> TabledReplies | None:
    if document["replies"] is None:
        return None
    rows = document["replies"]
    return TabledReplies(_numbers([v for u in rows for v in u], (len(rows), -1)), np.array(document["reply_of"]))


def load_solution(folder: str | Path) -> StudySolution:
    """Read the folder of a solved study.

    Args:
        folder: what `bap microdata solve --out` wrote.

    Returns:
        The solution.

    Raises:
        InputError: a file is missing or is not JSON; Unproved if the files do not belong together.
    """
    folder = Path(folder)
    if not folder.is_dir() or ((folder / "manifest.json").exists() and not (folder / "study.json").exists()):
        raise InputError(source_name(folder), None, "must be a folder written by `bap microdata solve --out`")
    documents = {name: read_document(folder / name) for name in ("study.json", "prior.json", "certificate.json")}
    with located(source_name(folder / "study.json")):
        if not isinstance(documents["study.json"], dict) or documents["study.json"].get("format") != FORMAT:
            raise InputError("format", None, f"must be {FORMAT!r}")
    where = source_name(folder)
    for name, document in documents.items():
        if not isinstance(document, dict):
            raise InputError(source_name(folder / name), None, "must be a table")
    written = documents["prior.json"].get("sha256")
    for name, digest in _digests(documents).items():
        if not isinstance(written, dict) or written.get(name) != digest:
            raise Unproved(where, None, f"does not prove its optimum: {name} was changed, or is of another folder")
    with located(where):
        _require_room(documents["prior.json"])
    try:
        study = _study(documents["study.json"], documents["prior.json"])
        return _solution(study, documents["certificate.json"], folder)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
        raise Unproved(where, None, "does not prove its optimum: its files do not belong together") from None


def kept_columns(folder: str | Path) -> tuple[str, ...]:
    """The known columns that the study wants to keep in a release."""
    return tuple(read_document(Path(folder) / "study.json").get("keep", ()))


def _study(document: dict[str, Any], counts: dict[str, Any]) -> Study:
    study = Study.__new__(Study)
    study.title, study.source, study.seed = document["title"], "frame", document["seed"]
    study.columns = tuple(
        Column(
            c["name"],
            tuple(c["values"]),
            c["numeric"],
            tuple(Fraction(_value(v)) for v in c["bands"]),
            c["merged"],
            c["whole"],
            Reading(tuple(c["missing"]), c["strip"]),
            c["ordered"],
        )
        for c in document["columns"]
    )
    # what people read is made of what records are compared with: a folder cannot call a level by another one's name
    for column, given in zip(study.columns, document["columns"], strict=True):
        if list(column.labels) != given["labels"] or column.named != given["named"]:
            raise ValueError("labels must be those of the values and bands")
    study.names = tuple(c.name for c in study.columns)
    study.levels = tuple(len(c) for c in study.columns)
    study.targets = tuple(
        Target(t["column"], array(t["loss"], "loss", 2), number(t["weight"], "weight")) for t in document["publish"]
    )
    study.spies = tuple(
        Spy(s["name"], s["secret"], tuple(s["knows"]), array(s["loss"], "loss", 2), number(s["weight"], "weight"))
        for s in document["eves"]
    )
    study.holdout = Fraction(_value(document["holdout"]))
    given = document["conditions"]
    study.conditions = conditions_from(given) if given else None
    parts = [
        np.array(counts[name], dtype=np.int64).reshape(-1, len(study.names) + 1) for name in ("fitted", "held_out")
    ]
    _require_levels(parts, study.levels)
    sides = [np.repeat(part[:, :-1], part[:, -1], axis=0) for part in parts]
    study.codes = np.concatenate(sides)
    study.left_out = np.arange(len(study.codes)) >= len(sides[0])
    alpha, toward = counts["smoothing"], counts["toward"]
    joined = [[k] for k in range(len(study.names))] if toward == "margins" else study._pooled()
    fitted = fit(sides[0], study.levels, alpha, toward, joined, study.seed)
    likelihoods = tuple((Fraction(_value(a)), float(v)) for a, v in counts["likelihoods"])
    object.__setattr__(fitted, "likelihoods", likelihoods)
    study.prior = fitted
    return study


def _require_room(prior: dict[str, Any]) -> None:
    """Refuse counts of more records than a table may have, before the records are laid out."""
    rows = [row for name in ("fitted", "held_out") for row in prior.get(name) or () if isinstance(row, list) and row]
    cells = sum(row[-1] * len(row) for row in rows if isinstance(row[-1], int) and row[-1] > 0)
    if cells > limit("cells"):
        raise InputError("prior.json", None, f"counts records of {cells} cells, too many to read {raising('cells')}")


def _require_levels(parts: list[Array], levels: tuple[int, ...]) -> None:
    if any((part < 0).any() or (part[:, :-1] >= np.array(levels)).any() for part in parts):
        raise ValueError("counts must be of record types of the study")


def _value(value: Any) -> Any:
    return public(number(long_number(value), "certificate")) if isinstance(value, str) else float(value)


def _numbers(values: list[Any], shape: tuple[int, ...] | None = None) -> Array:
    exact = any(isinstance(v, str) for v in values)
    out = objects(number(long_number(v), "certificate") for v in values) if exact else np.array(values, dtype=float)
    return out if shape is None else out.reshape(shape)


def _solution(study: Study, document: dict[str, Any], folder: Path) -> StudySolution:
    if study.conditions is not None:
        certificate, result = load_certificate(folder / "certificate.json"), read_document(folder / "result.json")
        if certificate.conditions.empty or certificate.kind != "release":
            raise ValueError("a study with conditions needs a certificate under conditions")
        bound, at, gap = _value(result["bound"]), (certificate.lam, certificate.value), certificate.gap
        found = SimpleNamespace(lam=at[0], value=at[1], bound=bound, gap=gap, method=result["method"])
        return conditioned_solution(study, certificate, found)
    if document["components"] is None:
        return study.solve(_value(document["lambda"]), bool(document["exact"]))
    components = tuple(
        RecordComponent(
            np.array(c["states"], dtype=np.int64),
            np.array(c["row"], dtype=np.int64),
            np.array(c["decision"], dtype=np.int64),
            _numbers(c["rho"]),
            tuple((int(n), int(z)) for n, z in c["groups"]),
            _replies(c),
        )
        for c in document["components"]
    )
    exact = bool(document["exact"])
    program = study.program if exact else study.program.as_float().lifted()
    for part in components:
        _fitting(program, part)
    read = _value if exact else float
    numbers = {name: read(document[name]) for name in ("value", "bob", "eve", "bound", "gap")}
    best = RecordOptimum(
        program=program,
        lam=read(document["lambda"]),
        eves=tuple(map(read, document["eves"])),
        columns=tuple(map(read, document["columns"])),
        components=components,
        method=document["method"],
        exact=exact,
        **numbers,
    )
    return solution_of(study, best)


def _fitting(program: RecordProgram, part: RecordComponent) -> None:
    """Raise ValueError if a part has positions outside its tables, or numbers of another kind than the program."""
    types, decisions, n = len(program.p), program.decisions, len(part.states)
    tables = [part.rho]
    sound = _within(part.states, types) and _within(part.row, n) and _within(part.decision, decisions)
    sound = sound and len(part.row) == len(part.decision) == len(part.rho)
    if isinstance(part.replies, TabledReplies):
        place, table = part.replies.place, part.replies.table
        sound = sound and place.shape == (decisions,) and _within(place, len(table)) and table.ndim == 2
        tables.append(table)
    known = [int(eve.known.max()) + 1 for eve in program.eves]
    sound = sound and all(0 <= eve < len(known) and 0 <= z < known[eve] for eve, z in part.groups)
    if not sound or bool(part.groups) != (part.replies is not None):
        raise ValueError("a component does not fit the study")
    if not all(map(is_exact, tables)):
        raise ValueError("the numbers of a component must be fractions")


def _within(places: Array, count: int) -> bool:
    """Whether these are positions in a list of this length."""
    whole = places.ndim == 1 and np.issubdtype(places.dtype, np.integer)
    return bool(whole and (places >= 0).all() and (places < count).all())
