"""The folder of a solved study: all that release, audit, report and the check of the proof need, without the table.

    study.json          columns with their levels, losses, Eves: nothing about single records
    mechanism.json      the channel: for every fitted record type, the records it may be released as
    certificate.json    the proof (`conditions.proof`)
    result.json         what `bap microdata solve --json` prints
    prior.json          counts of the fitted and of the held-out record types, and the probabilities: confidential
    manifest.json       SHA-256 of these files, and a secret nonce: its own SHA-256 is what is signed
The probabilities are read as they are written; if the model is "counts", they are also computed again from the counts.
The proof covers the channel; `disagreement` asks whether mechanism.json and result.json say the same, and whether the
light follows from its numbers. The audit is a measurement on the records in prior.json: `repeated` makes it again. The
folder may be solved again at any time, so it is read once.

The SHA-256 of the manifest is public, in the kit for analysts. Solving is deterministic: without the nonce, whoever
knows all records but one would find it by solving for every candidate until the digest fits.
"""

from __future__ import annotations

import json
import math
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from bap_lp.files.bundles import MANIFEST, Mismatch, digest_of, manifested, with_manifest, written
from bap_lp.proof.certificate import Verdict
from bap_lp.support.documents import document_of, dumps, located, source_name
from bap_lp.support.limits import limit, raising
from bap_lp.support.proof_tables import texts
from bap_lp.support.rational import Array, InputError, array, number, public, text
from bap_sdc.records.agents import Spy, Target, share_of
from bap_sdc.records.audit.attackers import ATTACKERS
from bap_sdc.records.audit.audit import counted_types
from bap_sdc.records.audit.light import Light
from bap_sdc.records.certificates import (
    probabilities_document,
    proof_from_document,
    read_probabilities,
    value_of,
)
from bap_sdc.records.conditions.stated import StudyConditions
from bap_sdc.records.data.levels import Column, Reading
from bap_sdc.records.data.losses import loss_table
from bap_sdc.records.data.models import CHANCES, MODELS, WEIGHTED, listed_prior
from bap_sdc.records.data.prior import Prior, fit, held_out, keys
from bap_sdc.records.optimum.risks import summed
from bap_sdc.records.solution import StudySolution
from bap_sdc.records.solved import solution_of
from bap_sdc.records.study import Study

FORMAT = "bap microdata 4"
PUBLIC = ("study.json", "mechanism.json", "result.json")
CONFIDENTIAL = ("prior.json", "certificate.json")
FILES = (*PUBLIC, *CONFIDENTIAL)
MEASURED = ("audit", "light", "verdict")  # of result.json: what held-out records say
_NONCE = 32  # bytes
_ROUNDING = 1e-9  # of a measurement in floats


def bundle_texts(
    solution: StudySolution, result: dict[str, Any], keep: tuple[str, ...] = (), source: Any = None, how: str = ""
) -> dict[str, bytes]:
    """The files of a folder, by name. source: the study file; how: the command, for readers."""
    study = solution.study
    documents = {
        "study.json": _study_document(study, keep),
        "mechanism.json": _mechanism_document(solution),
        "certificate.json": solution.proof.document(),
        "result.json": result,
        "prior.json": _prior_document(study),
    }
    files = {name: dumps(documents[name]).encode() for name in FILES}
    stated = documents["study.json"]["conditions"] or {}
    nonce = secrets.token_hex(_NONCE)
    return with_manifest(files, FORMAT, solution.method, text(solution.lam), stated, source, how, nonce=nonce)


@dataclass(frozen=True)
class ReadFolder:
    """A folder and its files as they were read, whatever is there now."""

    path: Path
    raw: Mapping[str, bytes]

    def document(self, name: str) -> Any:
        return document_of(self.raw[name], self.path / name)

    @property
    def digest(self) -> str:
        """SHA-256 of manifest.json, which names all other files by theirs: what is signed."""
        return digest_of(self.raw)

    @property
    def keep(self) -> tuple[str, ...]:
        """The known columns that the study wants to keep in a release."""
        return tuple(self.document("study.json").get("keep", ()))


class Unproved(InputError):
    """The files of a folder can be read, but they do not belong together: they prove nothing."""


def proved_solution(
    folder: str | Path, allow_float: bool = False, progress: Callable[[str], None] = lambda _: None
) -> tuple[StudySolution, Verdict]:
    """The solution of a folder, whose proof holds and whose files say what it proves, and the verdict.

    Args:
        folder: what `bap microdata solve --out` wrote.
        allow_float: whether a proof in floats is good enough for an exact study.
        progress: told what is done.

    Raises:
        InputError: a file is missing or is not JSON; Unproved if the folder does not prove its optimum.
    """
    where = source_name(folder)
    try:
        solution = load_solution(folder)
        if solution.study.exact and not (solution.exact or allow_float):
            rule = "does not prove its optimum exactly: the study is exact and its proof is in floats"
            raise Unproved(where, None, f"{rule} (--allow-float accepts it)")
        progress("checking the proof")
        verdict = solution.verify()
        if wrong := disagreement(solution) if verdict else verdict.reason:
            raise Unproved(where, None, f"does not prove its optimum: {wrong}")
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError):
        # the tables were forged so that they do not fit each other: whatever they say, they prove nothing
        raise Unproved(where, None, "does not prove its optimum: its files do not belong together") from None
    return solution, verdict


def disagreement(solution: StudySolution) -> str:
    """Why the files that a solution was read from do not say what its proof says; empty if they do.

    Args:
        solution: what `load_solution` read.

    Returns:
        One sentence, or "".
    """
    folder = solution.folder
    assert folder is not None
    mechanism, result, manifest = map(folder.document, ("mechanism.json", "result.json", MANIFEST))
    stated = {} if solution.study.conditions is None else solution.study.conditions.document()
    for key, value in (("lambda", text(solution.lam)), ("conditions", stated)):
        if written(manifest.get(key)) != written(value):
            return f"manifest.json has another {key} than the proof"
    for name, made in (
        ("study.json", _study_document(solution.study, folder.keep)),
        ("prior.json", _prior_document(solution.study)),
    ):
        if written(folder.document(name)) != written(made):
            return f"{name} says more, or writes it otherwise, than what was proved"
    if written(mechanism) != written(_mechanism_document(solution)):
        return "mechanism.json is not the mechanism that was proved"
    if not isinstance(result.get("method"), str):
        return "result.json says no method"
    made = solution.document()
    if result.keys() != made.keys():
        odd = min(result.keys() ^ made.keys())
        return f"result.json has {odd}, which nobody knows" if odd in result else f"result.json has no {odd}"
    for key, value in made.items():
        if key not in (*MEASURED, "method") and written(result[key]) != written(value):
            return f"result.json has another {key} than the proof"
    return _wrong_light(solution, result)


def _wrong_light(solution: StudySolution, result: dict[str, Any]) -> str:
    """Why the light of a result does not follow from its numbers, or these are not those of the proof."""
    study, verdict = solution.study, result["verdict"]
    held, audited = int(study.left_out.sum()), result["audit"]
    count = 0 if audited is None else audited["records"]
    if written(count) != written(held) and (audited is not None or verdict is not None):
        return "result.json has an audit of other records than those that were held out"
    if verdict is None:
        return "" if result["light"] is None else "result.json has a light and no verdict"
    light = Light.of_document(verdict["light"])
    if light.colour != result["light"] or written(light.document()) != written(verdict["light"]):
        return "result.json has another light than its numbers give"
    if verdict["words"][: len(light.words())] != light.words():
        return "result.json has other words than its light"
    gains = [
        1 - float(risk) / float(null) if null else 0.0 for risk, null in zip(solution.eves, solution.nulls, strict=True)
    ]
    asked = solution.eve_gain
    if asked is not None and max(gains) > float(asked) + _ROUNDING:
        return "result.json has a smaller eve_gain than the proof states"
    allowed = [
        (s.name, max(own, 0.0) if asked is None else float(asked)) for s, own in zip(study.spies, gains, strict=True)
    ]
    told = [(one.eve, one.allowed) for one in light.gains]
    if light.records != held or light.bob[2] != float(solution.risks.bob) or told != (allowed if held else []):
        return "result.json has a light with other numbers than the proof"
    return ""


def repeated(solution: StudySolution) -> str:
    """Why the audit, the verdict and the light of a folder are not those that its records give; empty if they are.

    They are learned again by the attackers that the audit names: all that there are, or none.

    Raises:
        InputError: scikit-learn is missing.
    """
    assert solution.folder is not None
    result = solution.folder.document("result.json")
    audit, asked = result["audit"], result["verdict"] is not None
    try:
        names = sorted(audit["eves"][0]["attackers"]) if audit else []
        if names and names != sorted(ATTACKERS):
            return "result.json has an audit by other attackers than `solve` trains"
        own = list(ATTACKERS) if names else []
        verdict = solution.verdict(own) if asked else None
        found = verdict.audit if verdict else solution.audit(attackers=own) if audit else None
        made = json.loads(dumps(solution.document(found, verdict)))
        wrong = next((key for key in MEASURED if not _near(result[key], made[key])), None)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        if isinstance(error, InputError):
            raise
        wrong = "audit"
    return f"result.json has another {wrong} than its records give here" if wrong else ""


def _near(one: Any, other: Any) -> bool:
    """Whether two documents are the same but for how a machine adds floats."""
    if isinstance(one, float) or isinstance(other, float):
        numbers = type(one) in (int, float) and type(other) in (int, float)
        return numbers and math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_near(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_near, one, other))
    return type(one) is type(other) and bool(one == other)


def mechanism_digest(solution: StudySolution) -> str:
    """SHA-256 of mechanism.json: as it was read, or as it would be written."""
    raw = solution.folder.raw["mechanism.json"] if solution.folder else dumps(_mechanism_document(solution)).encode()
    return sha256(raw).hexdigest()


def _study_document(study: Study, keep: tuple[str, ...]) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "title": study.title,
        "columns": [
            {"name": c.name, "labels": list(c.labels), "values": list(c.values), "numeric": c.numeric,
             "bands": [str(v) for v in c.bands], "named": c.named, "merged": dict(c.merged), "whole": c.whole,
             "missing": list(c.reading.missing), "strip": c.reading.strip,
             "decimal": c.reading.decimal, "ordered": c.ordered}
            for c in study.columns
        ],
        "publish": [{"column": t.column, "loss": texts(t.loss), "weight": text(t.weight)} for t in study.targets],
        "eves": [
            {"name": s.name, "secret": s.secret, "knows": list(s.knows), "loss": texts(s.loss), "weight":
            text(s.weight), "informed": s.informed} | ({"score": s.score} if s.score else {}) for s in study.spies
        ],
        "holdout": str(study.holdout),
        "seed": study.seed,
        "keep": list(keep),
        "conditions": None if study.conditions is None else study.conditions.document(),
    }  # fmt: skip


def _prior_document(study: Study) -> dict[str, Any]:
    prior = study.prior
    out: dict[str, Any] = {"model": prior.model, "smoothing": text(prior.alpha), "toward": prior.toward}
    out["margins"] = [list(margin) for margin in prior.margins]
    out["likelihoods"] = [[text(a), v] for a, v in prior.likelihoods]
    out["scores"] = [list(pair) for pair in prior.scores]
    for name, tables in (("draws", prior.draws), ("fresh", prior.fresh)):
        out[name] = {str(count): table.tolist() for count, table in tables.items()}
    for name, side in (("fitted", ~study.left_out), ("held_out", study.left_out)):
        types, counts = counted_types(study.codes[side], study.levels)
        out[name] = np.column_stack([types, counts]).tolist()
    return out | {"types": study.prior.types.tolist(), "p": probabilities_document(study.prior.p)}


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
    where = source_name(folder)
    if not folder.is_dir() or not (folder / "study.json").exists():
        raise InputError(where, None, "must be a folder written by `bap microdata solve --out`")
    if not (folder / MANIFEST).exists():
        rule = f"has no manifest.json: it is no folder of the form {FORMAT!r}. Solve the study again to get one"
        raise InputError(where, None, rule)
    try:
        manifest, raw = manifested(folder, FORMAT, FILES, {"nonce": {"type": "string"}})
        read = ReadFolder(folder, raw)
    except Mismatch as error:
        raise Unproved(where, None, f"does not prove its optimum: manifest.json {error.rule}") from None
    if not re.fullmatch(f"[0-9a-f]{{{2 * _NONCE}}}", manifest["nonce"]):
        raise Unproved(where, None, f"does not prove its optimum: manifest.json must have a nonce of {_NONCE} bytes")
    documents = {name: read.document(name) for name in FILES}
    for name, document in documents.items():
        if not isinstance(document, dict):
            raise InputError(source_name(folder / name), None, "must be a table")
    with located(where):
        _require_room(documents["prior.json"])
    try:
        study = _study(documents["study.json"], documents["prior.json"])
        return replace(_solution(study, documents), folder=read)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError):
        raise Unproved(where, None, "does not prove its optimum: its files do not belong together") from None


def _study(document: dict[str, Any], counts: dict[str, Any]) -> Study:
    study = Study.__new__(Study)
    study.title, study.source, study.seed = document["title"], "frame", document["seed"]
    study.columns = tuple(
        Column(
            c["name"],
            tuple(c["values"]),
            c["numeric"],
            tuple(Fraction(value_of(v)) for v in c["bands"]),
            c["merged"],
            c["whole"],
            Reading(tuple(c["missing"]), c["strip"], c["decimal"]),
            c["ordered"],
        )
        for c in document["columns"]
    )
    # what people read is made of what records are compared with: a folder cannot call a level by another one's name
    for column, given in zip(study.columns, document["columns"], strict=True):
        if list(column.labels) != given["labels"] or column.named != given["named"]:
            raise ValueError("labels must be those of the values and bands")
        if len(set(column.labels)) != len(column):
            raise ValueError("every level must have a label of its own")
    study.names = tuple(c.name for c in study.columns)
    study.levels = tuple(len(c) for c in study.columns)
    study.targets = tuple(
        Target(t["column"], array(t["loss"], "loss", 2), number(t["weight"], "weight")) for t in document["publish"]
    )
    study.spies = tuple(
        Spy(
            s["name"],
            s["secret"],
            tuple(s["knows"]),
            array(s["loss"], "loss", 2),
            number(s["weight"], "weight"),
            int(s["informed"]),
            s.get("score", ""),
        )
        for s in document["eves"]
    )
    levels = dict(zip(study.names, study.levels, strict=True))
    square = all(t.loss.shape == (levels[t.column], levels[t.column]) for t in study.targets)
    if not square or any(len(spy.loss) != study.levels[spy.secret] for spy in study.spies):
        raise ValueError("a loss must have a row for every level")
    for spy in study.spies:
        if spy.score and not np.array_equal(
            spy.loss, loss_table(spy.score, study.columns[spy.secret], "loss", eve=True)
        ):
            raise ValueError("a score must be that of the losses")
    study.holdout = share_of(value_of(document["holdout"]))
    study.conditions = StudyConditions.of(document["conditions"])
    parts = [
        np.array(counts[name], dtype=np.int64).reshape(-1, len(study.names) + 1) for name in ("fitted", "held_out")
    ]
    _require_levels(parts, study.levels)
    sides = [np.repeat(part[:, :-1], part[:, -1], axis=0) for part in parts]
    study.codes = np.concatenate(sides)
    study.left_out = np.arange(len(study.codes)) >= len(sides[0])
    _require_share(study)
    study.prior = _prior(study, counts, sides[0])
    return study


def _prior(study: Study, document: dict[str, Any], codes: Array) -> Prior:
    """The prior as it is written; that of counts is also the one that the counts give."""
    alpha, toward, model = document["smoothing"], document["toward"], document["model"]
    joined = [[k] for k in range(len(study.names))] if toward == "margins" else study._pooled()
    types, p = np.array(document["types"], dtype=np.int64), read_probabilities(document["p"])
    if model == "counts":
        prior = fit(codes, study.levels, alpha, toward, joined, study.seed)
        if not np.array_equal(types, prior.types) or not np.array_equal(p, prior.p):
            raise ValueError("the probabilities are not those of the counts")
    else:
        _require_levels([np.column_stack([types, np.ones(len(types), dtype=np.int64)])], study.levels)
        if model not in (*MODELS, *WEIGHTED.values()) or p.shape != (len(types),) or not (p > 0).all() or p.sum() != 1:
            raise ValueError("a model needs its name and positive probabilities that sum to one")
        prior = listed_prior(codes, study.levels, types, p, model)
        if model == "conditional":
            _require_shares_of_the_file(study, types, p)
    draws, fresh = (
        {int(count): np.array(table, dtype=np.int64) for count, table in document[name].items()}
        for name in ("draws", "fresh")
    )
    for tables in (draws, fresh):
        for count, table in tables.items():
            if table.shape != (len(prior.types), count) or (table < 0).any() or (table.sum(axis=1) != CHANCES).any():
                raise ValueError("the chances of the draws must be a distribution for every record type")
    return replace(
        prior,
        likelihoods=tuple((Fraction(value_of(a)), float(v)) for a, v in document["likelihoods"]),
        scores=tuple((str(name), None if score is None else float(score)) for name, score in document["scores"]),
        margins=tuple(tuple(map(int, margin)) for margin in document["margins"]),
        draws=draws,
        fresh=fresh,
    )


def _require_share(study: Study) -> None:
    """Of every secret as many records are held out as the share says; which ones, only the table itself can tell."""
    secret = keys(study.codes[:, study.secrets], [study.levels[k] for k in study.secrets])
    asked = held_out(secret, study.holdout, study.seed)
    if not np.array_equal(np.sort(secret[asked]), np.sort(secret[study.left_out])):
        raise ValueError("the held-out records must be the share that the study holds out")


def _require_shares_of_the_file(study: Study, types: Array, p: Array) -> None:
    """The shares of all columns but the secrets are the counts of the file, fitted or not."""
    rest = study.rest
    sizes = [study.levels[k] for k in rest]
    found, home = np.unique(keys(types[:, rest], sizes), return_inverse=True)
    own, counts = np.unique(keys(study.codes[:, rest], sizes), return_counts=True)
    if not np.array_equal(found, own) or list(summed(p, home, len(found)) * len(study.codes)) != counts.tolist():
        raise ValueError("the shares of the columns that are not secret must be those of the file")


def _require_room(prior: dict[str, Any]) -> None:
    """Refuse counts of more records than a table may have, before the records are laid out."""
    rows = [row for name in ("fitted", "held_out") for row in prior.get(name) or () if isinstance(row, list) and row]
    cells = sum(row[-1] * len(row) for row in rows if isinstance(row[-1], int) and row[-1] > 0)
    if cells > limit("cells"):
        raise InputError("prior.json", None, f"counts records of {cells} cells, too many to read {raising('cells')}")


def _require_levels(parts: list[Array], levels: tuple[int, ...]) -> None:
    if any((part < 0).any() or (part[:, :-1] >= np.array(levels)).any() for part in parts):
        raise ValueError("counts must be of record types of the study")


def _solution(study: Study, documents: dict[str, Any]) -> StudySolution:
    document, result, mechanism = (documents[n] for n in ("certificate.json", "result.json", "mechanism.json"))
    levels = study.program.levels
    rows = []
    for x, *told, q in mechanism["rows"]:
        if len(told) != len(levels) or not all(
            type(v) is int and 0 <= v < m for v, m in zip(told, levels, strict=True)
        ):
            raise ValueError("a row of the mechanism must be of levels of the published columns")
        rows.append((x, np.ravel_multi_index(tuple(told), levels), q))
    if study.conditions is not None:
        study.conditions = study.conditions.fitted(study)
    found = solution_of(study, proof_from_document(study, document, rows, result["method"]))
    gain = result["eve_gain"]
    return found if gain is None else replace(found, eve_gain=public(number(gain, "eve_gain")))
