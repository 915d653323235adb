"""Bundles: a directory with a problem, its mechanism, the proof, and a manifest that holds them together.

problem.json      the problem as it was solved, a parameter averaged out, with its lambda and conditions
mechanism.json    the channel to publish from
certificate.json  the proof
manifest.json     SHA-256 of these files and of the source file, lambda, conditions, version, UTC date, how it was made

Several scenarios are `{"scenarios": [...]}` in problem.json, with a worst-case certificate. Tiers are
`{"tiers": [...], "weights": [...]}`, with their certificate; mechanism.json is that of the last tier, whose signals
name what all tiers see. A bundle verifies if the hashes are those of the files, the certificate is about the lambda and
the conditions of problem.json, the mechanism is the one of the certificate, and the certificate proves it. The hashes
show accidents and mixed-up files; they do not stop somebody who writes a whole new bundle. What cannot be forged is the
proof for the problem in problem.json.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.files.certificates import certificate_document, certificate_from_dict
from bap_lp.files.effort import check_effort, limits_needed, proof_steps
from bap_lp.files.mechanisms import MECHANISM, mechanism_document, mechanism_from_dict
from bap_lp.files.problems import ProblemFile, canonical_problem, kind_of, normal, problem_document
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.program.several import tier_views
from bap_lp.proof.binding import other_demands, other_priors, other_several
from bap_lp.proof.certificate import Certificate, Verdict
from bap_lp.proof.checking import verify
from bap_lp.proof.statement import statement_of
from bap_lp.support.display import Displayed
from bap_lp.support.documents import check, document_of, dumps, located, read_bytes, source_name
from bap_lp.support.labels import weight_of
from bap_lp.support.proof_tables import long_number, sparse_table
from bap_lp.support.rational import EXACT, InputError, field_of, number, public, text
from bap_lp.support.writing import write_bundle

FORMAT = "bap-lp bundle 2"
FILES = ("problem.json", "mechanism.json", "certificate.json")
MANIFEST = "manifest.json"
_TEXT = {"type": "string"}
_SOURCE: dict[str, Any] = {
    "type": "object",
    "properties": {"name": _TEXT, "sha256": _TEXT},
    "required": ["name", "sha256"],
}
_KEYS = {**dict.fromkeys(("format", "version", "made", "how", "method"), _TEXT), "lambda": {}, "conditions": {}}


class Mismatch(InputError):
    """The files of a bundle do not belong together."""


@dataclass(frozen=True, eq=False, repr=False)
class Bundle(Displayed):
    """What a bundle holds; `problems` has one entry, or one per scenario of a worst case, or one per tier."""

    problems: tuple[ProblemFile, ...]
    mechanism: Mechanism
    certificate: Certificate
    manifest: Mapping[str, Any]
    path: str = ""
    weights: tuple[Any, ...] = ()
    digest: str = ""  # SHA-256 of the manifest that was read, which names all other files by theirs

    @property
    def problem(self) -> Problem:
        return self.problems[0].problem

    @property
    def lam(self) -> Any:
        return self.problems[0].lam

    @property
    def conditions(self) -> Conditions | None:
        return self.problems[0].conditions

    @property
    def robust(self) -> bool:
        return self.certificate.kind == "scenarios"

    @property
    def tiered(self) -> bool:
        return self.certificate.kind == "tiers"

    def tier(self, k: int) -> Mechanism:
        """What tier k sees, counted from 0: the mechanism of a bundle of tiers with its signals pooled."""
        names = tier_views([file.problem for file in self.problems])
        seen = [names[signal][k] for signal in self.mechanism.signals]
        signals = list(dict.fromkeys(seen))
        q = field_of(self.mechanism.q).zeros((len(self.mechanism.states), len(signals)))
        for s, name in enumerate(seen):
            q[:, signals.index(name)] = q[:, signals.index(name)] + self.mechanism.q[:, s]
        return Mechanism.of(q, signals, self.mechanism.states, f"tier {k + 1}")

    def verify(self, allow_float: bool = False) -> Verdict:
        """Whether the proof holds for this problem, lambda, conditions and mechanism; hashes were checked before."""
        asked = [file.lam for file in self.problems]
        able = allow_float or any(isinstance(v, float) for v in (*asked, *self.weights))
        problems = [file.problem for file in self.problems]
        several = self.robust or self.tiered
        if several:
            wanted = [file.conditions for file in self.problems]
            wrong = other_several(problems, asked, self.weights, wanted, self.certificate)
        else:
            wrong = other_demands(self.problem, asked[0], self.conditions, self.certificate)
            wrong = wrong or other_priors(self.problems[0].priors, self.certificate)
        if wrong:
            return Verdict(False, wrong)
        return verify(problems, self.certificate, self.mechanism, able)


def save_bundle(
    path: str | os.PathLike[str],
    solution: Any,
    problem: Problem | None = None,
    lam: Any = None,
    source: str | os.PathLike[str] | None = None,
    how: str = "",
    weights: Sequence[Any] | None = None,
) -> None:
    """Write the bundle of a solution: all four files or none.

    Args:
        path: the directory; it is made if it is not there.
        solution: what `solve`, `robust` or `tiers` returned.
        problem: the problem as it was given, if the solution has it in floats; of tiers a list.
        lam: lambda as it was given, likewise.
        source: the file that the problem was read from.
        how: the command that made it, for readers.
        weights: of tiers, as they were given.

    Raises:
        InputError: the path is not a place for a directory, or the solution is not one that a bundle holds.

    >>> import tempfile
    >>> from bap_lp import Problem, load_bundle, save_bundle, solve
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bundle(f"{folder}/coin", solve(coin))
    ...     load_bundle(f"{folder}/coin").verify().ok
    True
    """
    write_bundle(Path(path), bundle_files(solution, problem, lam, source, how, weights))


def bundle_files(
    solution: Any,
    problem: Any = None,
    lam: Any = None,
    source: Any = None,
    how: str = "",
    weights: Sequence[Any] | None = None,
) -> dict[str, bytes]:
    certificate = solution.certificate
    mechanism: Any = solution.mechanisms[-1] if certificate.kind == "tiers" else solution.mechanism
    stated: Any = {}
    if certificate.kind in ("scenarios", "tiers"):
        given = zip(problem or solution.problems, certificate.lams if lam is None else lam, strict=True)
        documents = [problem_document(one, public(number(v, "lam"))) for one, v in given]
        stated = [one.written() for one in certificate.conditions_of] or {}
        for document, table in zip(documents, stated, strict=False):
            document |= {"conditions": table} if table else {}
        whole: Any = {certificate.kind: documents}
        if certificate.kind == "tiers":
            shares = certificate.tier_weights if weights is None else [number(w, "weights") for w in weights]
            whole["weights"] = [text(w) for w in shares]
        price: Any = [document["alice"]["lambda"] for document in documents]
    else:
        whole = problem_document(problem or solution.problem, certificate.lam if lam is None else lam)
        price = whole["alice"]["lambda"]
        stated = certificate.conditions.written()
        whole |= {"conditions": stated} if stated else {}
        whole |= {} if certificate.priors is None else {"priors": certificate.priors.document()}
    proved = certificate_document(certificate) | _rows(problem or getattr(solution, "problem", None), certificate)
    parts = (whole, mechanism_document(mechanism), proved)
    files = {name: dumps(document).encode() for name, document in zip(FILES, parts, strict=True)}
    return with_manifest(files, FORMAT, solution.method, price, stated, source, how)


def _rows(problem: Any, certificate: Certificate) -> dict[str, Any]:
    """The rows of conditions that are not the library's: `verify_standalone` knows them by nothing else."""
    own = {kind.name for one in (certificate.conditions, *certificate.conditions_of) for kind in one.kinds().values()}
    if not own:
        return {}
    from bap_lp.conditions.table import LIBRARY  # twenty files, which are read already where a condition is set

    if not (own := own - {kind.name for kind in LIBRARY}):
        return {}
    if certificate.kind != "release":
        raise InputError(
            "conditions", None, f"of one problem and prior may have {min(own)}, which is not the library's"
        )
    program, out = statement_of([problem], certificate).program, {}
    for rows in (rows for rows in program.rows if rows.name in own):
        if rows.terms or rows.entries is None:
            raise InputError("conditions", None, f"{rows.name} has rows that are not about the channel alone")
        entries = np.zeros((len(rows), *program.shape), dtype=object) + EXACT.zero
        np.add.at(entries, rows.entries[:3], rows.entries[3])
        out[rows.name] = {"entries": sparse_table(entries), "rhs": sparse_table(rows.rhs)}
    return {"rows": out}


def with_manifest(
    files: Mapping[str, bytes], form: str, method: str, lam: Any, conditions: Any, source: Any = None, how: str = "",
    **more: str,
) -> dict[str, bytes]:  # fmt: skip
    """Files of a folder and the manifest that binds them: its own SHA-256 names all of them, and is what is signed.

    source: the file that they were made from, a path or its name and bytes. more: entries that only this form has.
    """
    name, raw = source if isinstance(source, tuple) else (None, b"")
    if source is not None and name is None:
        name, raw = Path(source).name, read_bytes(source)
    manifest = {
        "format": form,
        "version": _version(),
        "made": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "how": how,
        "method": method,
        "lambda": lam,
        "conditions": conditions,
        "source": None if name is None else {"name": name, "sha256": _sha256(raw)},
        "files": {name: _sha256(raw) for name, raw in files.items()},
        **more,
    }
    return {**files, MANIFEST: dumps(manifest).encode()}


def manifested(
    folder: Path, form: str, names: Sequence[str], more: Mapping[str, Any] | None = None
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest of a folder and the bytes of its files, which are those that the manifest names.

    more: schemas of the entries that only this form has.
    """
    where = source_name(folder / MANIFEST)
    for _ in range(10):  # again, if the folder was replaced by another one between two of its files
        raw = {name: read_bytes(folder / name, plain=True) for name in (MANIFEST, *names)}
        if read_bytes(folder / MANIFEST, plain=True) == raw[MANIFEST]:
            break
    manifest = document_of(raw[MANIFEST], folder / MANIFEST)
    listed = {"type": "object", "properties": dict.fromkeys(names, _TEXT), "required": list(names)}
    with located(where):
        if isinstance(manifest, dict) and manifest.get("format", form) != form:
            rule = f"must be {form!r}: solve the problem again to get one of this form"
            raise InputError("format", manifest["format"], rule)
        keys = {**_KEYS, "source": {}, "files": listed, **(more or {})}
        check(manifest, {"type": "object", "properties": keys, "required": list(keys)})
        if manifest["source"] is not None:
            check(manifest["source"], _SOURCE)
    for name in names:
        if manifest["files"][name] != _sha256(raw[name]):
            raise Mismatch(where, None, f"does not fit {name}, which has another SHA-256")
    return manifest, raw


def load_bundle(path: str | os.PathLike[str]) -> Bundle:
    """Read a bundle and check its hashes; `verify` then judges the proof.

    Args:
        path: the directory.

    Returns:
        The bundle.

    Raises:
        InputError: a file is missing or is not such a file; Mismatch, a kind of it, if a file is not the manifest's.

    >>> import tempfile
    >>> from bap_lp import Problem, load_bundle, save_bundle, solve
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_bundle(f"{folder}/coin", solve(coin))
    ...     print(load_bundle(f"{folder}/coin").verify().reason)
    R_A = 3/40 is optimal: rho attains it and u proves that no mechanism goes below
    """
    manifest, raw = manifested(Path(path), FORMAT, FILES)
    where = [source_name(Path(path) / name) for name in (MANIFEST, *FILES)]
    whole, mechanism, proved = (document_of(raw[name], Path(path) / name) for name in FILES)
    kind = kind_of(whole, where[1])
    check_effort((whole, mechanism, proved), proof_steps({} if kind else whole, proved), where[3])
    parts = whole[kind] if kind else [whole]
    problems = tuple(canonical_problem(document, where[1]) for document in parts)
    prices, tables = ([*map(own, parts)] for own in (lambda v: v["alice"]["lambda"], lambda v: v.get("conditions", {})))
    conditions = tables[0] if not kind else tables if any(tables) else {}
    for key, value in (("lambda", prices if kind else prices[0]), ("conditions", conditions)):
        if written(manifest[key]) != written(value):
            raise Mismatch(where[0], None, f"does not fit problem.json, which has another {key}")
    if kind and any(file.priors is not None for file in problems):
        raise InputError(f"{where[1]}: priors", None, "cannot be kept by a certificate of scenarios or tiers")
    weights: tuple[Any, ...] = ()
    if kind == "tiers":
        with located(where[1]):
            weights = tuple(public(weight_of(long_number(w), f"weights[{k}]")) for k, w in enumerate(whole["weights"]))
            if max(weights) > 10**300:
                raise InputError("weights", None, "must be at most 1e300")
            if len(weights) != len(parts) or any(part["data"] != parts[0]["data"] for part in parts):
                raise InputError("tiers", None, "must have a weight each, and the same data")
    with located(where[2]):
        check(mechanism, {**MECHANISM, "required": ["states", "signals", "channel"]})
    channel = mechanism_from_dict(mechanism, where[2], problems[0].problem.states)
    with located(where[2]):
        normal(mechanism["channel"], "a row of channel")
    certificate = certificate_from_dict(proved, where[3])
    proved_kind = kind or ("priors" if "priors" in whole else "release")
    if certificate.kind != proved_kind:
        raise InputError(f"{where[3]}: kind", certificate.kind, f"must be {proved_kind!r}, as problem.json says")
    if written(proved.get("priors")) != written(whole.get("priors")):
        raise Mismatch(where[3], None, "has another set of priors than problem.json, or writes it otherwise")
    if written(proved.get("conditions", {})) != written(conditions):
        raise Mismatch(where[3], None, "has other conditions than problem.json, or writes them otherwise")
    if proved.get("rows") != (None if kind else _rows(problems[0].problem, certificate).get("rows")):
        raise Mismatch(where[3], None, "has other rows of conditions than these have")
    return Bundle(problems, channel, certificate, manifest, source_name(path), weights, digest_of(raw))


def limits_for(path: str | os.PathLike[str]) -> list[str]:
    """The limits that must be raised to read a bundle that was written here, as `set_limits` takes them."""
    raw = [(Path(path) / name).read_bytes() for name in FILES]
    whole, mechanism, proved = (json.loads(part, parse_int=str) for part in raw)
    longest = max(len(digits) for part in raw for digits in re.findall(rb"[0-9]+|$", part))
    steps = proof_steps({} if kind_of(whole, FILES[0]) else whole, proved)
    return limits_needed((whole, mechanism, proved), steps, longest)


def digest_of(raw: Mapping[str, bytes]) -> str:
    return _sha256(raw[MANIFEST])


def written(value: Any) -> str:
    """A document as text, keys in order: 1, 1.0 and true are different numbers in a file."""
    return json.dumps(value, sort_keys=True)


def _sha256(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _version() -> str:
    try:
        return version("bap-lp")
    except PackageNotFoundError:
        return "unknown"
