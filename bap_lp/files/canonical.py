"""Problems as bundles have them: averaged, nothing left out, numbers that need no scaling when they are read."""

from __future__ import annotations

from typing import Any

from bap_lp.files.documents import check, located
from bap_lp.files.problems import ProblemFile, problem_from_dict
from bap_lp.files.tables import long_number
from bap_lp.model.labels import ROUNDED
from bap_lp.notions.conditions import Conditions
from bap_lp.program.prior_set import PRIOR_KEYS
from bap_lp.rational import InputError, number

_TEXT = {"type": "string"}
_LIST = {"type": "array"}
_AGENT = {
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
        "bob": {"type": "array", "items": _AGENT},
        "eve": {"type": "array", "items": _AGENT},
        "alice": {"type": "object", "properties": {"lambda": {}}, "required": ["lambda"]},
        "conditions": {"type": "object", "properties": {name: {} for name in Conditions.__dataclass_fields__}},
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
            normal([row for row in agent.get("secret", []) if isinstance(row, list)], f"secret of agent {k}")
            random = any(isinstance(row, list) for row in agent.get("secret", []))
            if (isinstance(agent["loss"], list) or random) and "decisions" not in agent:
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
