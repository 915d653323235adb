"""Problem files: TOML or JSON <-> Problem with its lam and conditions; every error names file, field, value and rule.

What tables and keys a file may have is written once, as a JSON Schema, schema.json. The numbers are judged by Problem,
and the field names it uses are turned into the file's own: `bobs[1].loss[2]` is `bob[1].loss[2]` in a file with several
Bobs, `bob.loss[2]` with one. Problems as bundles have them are averaged, nothing is left out, and their numbers need no
scaling when they are read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.files.binary import is_binary, packed, unpacked
from bap_lp.files.effort import check_effort, items, length
from bap_lp.model.agents import Agent
from bap_lp.model.problem import Problem
from bap_lp.model.reports import reports
from bap_lp.program.prior_set import PRIOR_KEYS, PriorSet
from bap_lp.support.documents import check, dumps, located, read_document, source_name
from bap_lp.support.labels import ROUNDED, Numbers
from bap_lp.support.proof_tables import long_number, texts
from bap_lp.support.rational import Array, InputError, number, public, text
from bap_lp.support.writing import write_files

SCHEMA: dict[str, Any] = json.loads(Path(__file__).with_name("schema.json").read_text(encoding="utf-8"))
_READ = SCHEMA | {"properties": SCHEMA["properties"] | {"conditions": {"type": "object"}}}  # they read themselves

_LARGEST = 10**300
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
    conditions and the set of priors it sets."""

    problem: Problem
    lam: Any = "calibrated"
    source: str = ""
    conditions: Conditions | None = None
    priors: PriorSet | None = field(default=None, kw_only=True)


def load_problem(path: str | os.PathLike[str]) -> ProblemFile:
    """Read a problem file: TOML, JSON, or the binary .npz of `save_problem`.

    Args:
        path: the file.

    Returns:
        The file's `problem`, its `lam`, its `conditions` and its `priors` (None if it has none).

    Raises:
        InputError: the file cannot be read, or something in it breaks a rule; the message names the key.

    >>> import os, tempfile
    >>> from bap_lp import Problem, load_problem, save_problem
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_problem(os.path.join(folder, "coin.json"), coin, lam="1/3")
    ...     found = load_problem(os.path.join(folder, "coin.json"))
    >>> found.problem == coin, found.lam, found.conditions
    (True, Fraction(1, 3), None)
    """
    if is_binary(path):
        return problem_from_dict(unpacked(path), source_name(path))
    return bounded_problem(read_document(path), source_name(path))


def bounded_problem(document: Any, source: str) -> ProblemFile:
    """The problem of a file that anybody may have written: its numbers are not added up if that takes too long."""
    states = max((length(agent, "loss") for role in ("bob", "eve") for agent in items(document, role)), default=0)
    check_effort((document,), states, source)
    return problem_from_dict(document, source)


def problem_from_dict(document: Any, source: str = "problem") -> ProblemFile:
    """A problem from the tables of its file; `source` is what errors call the file."""
    with located(source):
        check(document, _READ)
        data, theta = document["data"], document.get("theta")
        _one_prior(data, theta)
        lam = lam_from(document.get("alice", {}).get("lambda", "calibrated"))
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
        conditions = conditions_for(document.get("conditions"), problem)
        return ProblemFile(problem, lam, source, conditions, priors=priors_for(document.get("priors"), problem))


def priors_for(table: dict[str, Any] | None, problem: Problem) -> PriorSet | None:
    """The set of priors, if there is one, that fits the problem."""
    if table is None:
        return None
    priors = PriorSet.of(table)
    priors.on(problem.exactly.p, priors.exact)
    return priors


def conditions_for(table: dict[str, Any] | None, problem: Problem) -> Conditions | None:
    """The conditions, if there are any, that fit the problem."""
    if not table:
        return None
    conditions = Conditions.of(table)
    try:
        conditions.demands(problem.exactly)
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
    own = ("harm", "prior", "knows", "knowledge", "secret")
    return [
        Agent(t["loss"], t.get("decisions"), t.get("name", ""), t.get("weight", 1), **{k: t.get(k) for k in own})
        for t in group
    ]


def lam_from(value: Any) -> Any:
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


def problem_document(problem: Problem, lam: Any = "calibrated") -> dict[str, Any]:
    """A problem as its file would have it; a parameter is already averaged out of Bob's losses."""

    return _document(problem, lam, texts)


def _document(problem: Problem, lam: Any, table: Callable[[Array], Any]) -> dict[str, Any]:
    def agent(a: Agent) -> dict[str, Any]:
        keys = {
            "name": a.name,
            "weight": text(a.weight),
            "decisions": None if a.decisions is None else list(a.decisions),
            "loss": a.loss if reports(a) else table(a.loss),
            "secret": None if a.secret is None else list(a.secret),
            "harm": None if a.harm is None else table(a.harm),
            "prior": None if a.prior is None else [text(v) for v in a.prior.tolist()],
            "knows": None if a.knows is None else list(a.knows),
            "knowledge": None if a.knowledge is None else texts(a.knowledge),
        }
        return {key: value for key, value in keys.items() if value is not None}

    numbered = table is not texts and isinstance(problem.states, Numbers)

    return {
        "title": problem.title,
        "data": ({} if numbered else {"labels": list(problem.states)})
        | {"prior": [text(v) for v in problem.p.tolist()] if table is texts else table(problem.p)},
        "bob": [*map(agent, problem.bobs)],
        "eve": [*map(agent, problem.eves)],
        "alice": {"lambda": lam if lam == "calibrated" else text(number(lam, "lam"))},
    }


def save_problem(path: str | os.PathLike[str], problem: Problem, lam: Any = "calibrated") -> None:
    """Write a problem file: what was built in Python can be reported and shared from the command line.

    Args:
        path: where to write it; a name that ends in .npz asks for a binary file, any other for JSON.
        problem: the problem.
        lam: the lam that the file asks for.

    Raises:
        InputError: the path is not a place for a file.

    >>> import os, tempfile
    >>> from bap_lp import Problem, load_problem, save_problem
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_problem(os.path.join(folder, "coin.npz"), coin)
    ...     load_problem(os.path.join(folder, "coin.npz")).problem == coin
    True
    """
    content = packed(_document(problem, lam, np.asarray)) if is_binary(path) else dumps(problem_document(problem, lam))
    write_files({Path(path): content})


_TEXT = {"type": "string"}
_LIST = {"type": "array"}
_BUNDLED_AGENT = {
    "type": "object",
    "properties": {"name": _TEXT, "weight": {}, "loss": {}}
    | dict.fromkeys(("decisions", "harm", "prior", "knows", "knowledge", "secret"), _LIST),
    "required": ["name", "weight", "loss"],
}
_CANONICAL: dict[str, Any] = {  # what problem_document writes: no default is left to the reader
    "type": "object",
    "properties": {
        "title": _TEXT,
        "data": {"type": "object", "properties": {"labels": _LIST, "prior": _LIST}, "required": ["labels", "prior"]},
        "bob": {"type": "array", "items": _BUNDLED_AGENT},
        "eve": {"type": "array", "items": _BUNDLED_AGENT},
        "alice": {"type": "object", "properties": {"lambda": {}}, "required": ["lambda"]},
        "conditions": {"type": "object"},
        "priors": {"type": "object", "properties": {name: {} for name in PRIOR_KEYS}},
    },
    "required": ["title", "data", "bob", "eve", "alice"],
}


def kind_of(document: Any, source: str) -> str:
    """What problem.json is about: "scenarios", "tiers", or "" for one problem."""
    kinds = {frozenset(["scenarios"]): "scenarios", frozenset(["tiers", "weights"]): "tiers"}
    kind = kinds.get(frozenset(document), "") if isinstance(document, dict) else ""
    for key in document if kind else ():
        if not (isinstance(document[key], list) and document[key]):
            raise InputError(f"{source}: {key}", document[key], "must be a list that is not empty")
    return kind


def canonical_problem(document: Any, source: str) -> ProblemFile:
    """A problem as bundles have it: averaged, nothing left out, a number as lambda, a prior that needs no scaling."""
    with located(source):
        check(document, _CANONICAL)
    file = problem_from_dict(document, source)
    with located(source):
        if file.lam == "calibrated":
            raise InputError("alice.lambda", None, "must be a number in a bundle")
        normal([document["data"]["prior"]], "data.prior")
        for k, agent in enumerate((*document["bob"], *document["eve"])):
            normal([agent["prior"]] if "prior" in agent else [], f"prior of agent {k}")
            normal(agent.get("knowledge", []), f"knowledge of agent {k}")
            if isinstance(agent["loss"], list) and "decisions" not in agent:
                raise InputError(f"decisions of agent {k}", None, "must be given in a bundle")
        normal_conditions(document.get("conditions", {}))
        normal(document.get("priors", {}).get("vertices", []), "a row of priors.vertices")
    return file


def normal(rows: list[Any], field: str) -> None:
    """Refuse distributions that would be scaled when they are read: a bundle has the numbers that are used."""
    for row in rows:
        numbers = [number(long_number(v), field) for v in row]
        rounded = any(isinstance(v, float) for v in numbers)
        total = sum(map(float, numbers)) if rounded else sum(numbers)
        if total != 1 and not (rounded and abs(total - 1) <= ROUNDED):
            raise InputError(f"sum of {field}", total, "must be 1 in a bundle")


def normal_conditions(table: dict[str, Any]) -> None:
    """Refuse demands that are not set, and priors that would be scaled."""
    for name, value in table.items():
        if value is None:
            raise InputError(f"conditions.{name}", None, "must not be null in a bundle")
    pairs = table.get("pufferfish") or []
    for k, demand in enumerate(pairs if isinstance(pairs, list) else [pairs]):
        normal(demand.get("priors") or [], f"conditions.pufferfish[{k}].priors")
