"""Model files: prior and likelihood by their names in scipy.stats, losses and decisions, in TOML or JSON.

A parameter of the likelihood is a number or an expression in theta such as "theta", "1 / theta" or "sqrt(theta)". The
expression is parsed and evaluated here: numbers, theta, + - * / **, and a few functions; nothing else is run.
"""

from __future__ import annotations

import ast
import operator
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import numpy as np

from bap_lp import InputError
from bap_lp.support.documents import check, located, read_document, source_name
from bap_lp.support.rational import number
from discretise.losses import asymmetric, zero_one
from discretise.models import GriddedProblem, ScalarModel, scalar_model

_AGENT = {
    "type": "object",
    "required": ["loss"],
    "properties": {name: {} for name in ("name", "loss", "thresholds", "over", "under", "decisions", "weight")},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["prior", "likelihood", "bob", "eve"],
    "properties": {
        "title": {"type": "string"},
        "prior": {},
        "likelihood": {},
        "bob": _AGENT,
        "eve": {"oneOf": [_AGENT, {"type": "array", "items": _AGENT}]},
        "alice": {"type": "object", "properties": {"lambda": {}}},
    },
}
_LOSSES = ("0-1", "squared", "absolute", "asymmetric")
_FUNCTIONS = {"sqrt": np.sqrt, "exp": np.exp, "log": np.log, "abs": np.abs}
_DEEPEST = 100  # operations of an expression within each other
_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: np.divide,  # by zero, as a root of a negative number, gives a parameter that no law allows
    ast.Pow: np.power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


@dataclass(frozen=True)
class ModelFile:
    """A model, the lam its file asks for, and what the file is called."""

    model: ScalarModel
    lam: Any
    source: str

    @property
    def problem(self) -> GriddedProblem:
        """The model on cells."""
        with self.named():
            return self.model.problem

    @contextmanager
    def named(self) -> Iterator[None]:
        """Errors raised inside name the file, and its fields as the file spells them."""
        with located(self.source, _renamed), _usable():
            yield


def load_model(path: str | os.PathLike[str]) -> ModelFile:
    """Read a model file.

    Args:
        path: a TOML or JSON file as docs/models.md describes it.

    Returns:
        The problem with the lam of the file.

    Raises:
        InputError: the file breaks a rule; file, field and value are named.

    >>> load_model("examples/models/rare_disease.toml").lam  # doctest: +SKIP
    'calibrated'
    """
    return model_from_dict(read_document(path), source_name(path))


def model_from_dict(document: Any, source: str = "model") -> ModelFile:
    """A model from the tables of its file; `source` is what errors call the file."""
    with located(source, _renamed):
        check(document, SCHEMA)
        eves = document["eve"] if isinstance(document["eve"], list) else [document["eve"]]
        bob_loss, bob_decisions = _task(document["bob"], "bob")
        one = len(eves) == 1
        tasks = [_task(eve, "eve" if one else f"eve[{k}]") for k, eve in enumerate(eves)]
        weights = [_number(eve.get("weight", 1), f"eve[{k}].weight") for k, eve in enumerate(eves)]
        lam = document.get("alice", {}).get("lambda", "calibrated")
        if not (isinstance(lam, str) and lam.strip().lower() == "calibrated"):
            number(lam, "alice.lambda")
        with _usable():
            found = scalar_model(
                _prior(document["prior"]),
                _likelihood(document["likelihood"]),
                bob_loss,
                [task[0] for task in tasks],
                bob_decisions,
                [task[1] for task in tasks],
                weights,
                title=document.get("title", ""),
            )
    return ModelFile(found, lam, source)


@contextmanager
def _usable() -> Iterator[None]:
    """What a law of scipy.stats cannot do with its parameters is an error of the file."""
    try:
        yield
    except (TypeError, ArithmeticError) as error:
        raise InputError("likelihood", None, f"cannot be used: {' '.join(str(error).split())}") from None


def _renamed(field: str) -> str:
    renamed = re.sub("(bob|eve)_(loss|decisions|weight)s?", r"\1.\2", field)
    return "alice.lambda" if field == "lam" else renamed


def _number(value: Any, field: str) -> float:
    return float(number(value, field))


def _task(table: Mapping[str, Any], field: str) -> tuple[Any, Any]:
    """The loss and the decisions of an agent."""
    kind = table["loss"]
    if kind not in _LOSSES:
        raise InputError(f"{field}.loss", kind, "must be one of " + ", ".join(map(repr, _LOSSES)))
    for key, owner in (("thresholds", "0-1"), ("over", "asymmetric"), ("under", "asymmetric")):
        if key in table and kind != owner:
            raise InputError(f"{field}.{key}", None, f"belongs to the loss {owner!r} only")
    loss: Any = kind
    decisions = table.get("decisions")
    if kind == "asymmetric":
        loss = asymmetric(*(_number(table.get(key, 1), f"{field}.{key}") for key in ("over", "under")))
    if "thresholds" in table:
        thresholds = _numbers(table["thresholds"], f"{field}.thresholds")
        loss = zero_one(*thresholds)
        decisions = list(range(len(thresholds) + 1)) if decisions is None else decisions
    if decisions is None:
        raise InputError(f"{field}.decisions", None, "is missing")
    if isinstance(decisions, dict):
        return loss, _spaced(decisions, f"{field}.decisions")
    return loss, _numbers(decisions, f"{field}.decisions")


def _numbers(values: Any, field: str) -> list[float]:
    if not isinstance(values, list) or not values:
        raise InputError(field, values, "must be a list of numbers")
    return [_number(v, f"{field}[{k}]") for k, v in enumerate(values)]


def _spaced(table: Mapping[str, Any], field: str) -> list[float]:
    if set(table) != {"from", "to", "count"}:
        raise InputError(field, None, "must be a list, or a table with from, to and count")
    count = table["count"]
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= 1000:
        raise InputError(f"{field}.count", count, "must be an integer between 1 and 1000")
    return np.linspace(_number(table["from"], f"{field}.from"), _number(table["to"], f"{field}.to"), count).tolist()


def _family(table: Any, field: str) -> tuple[Any, dict[str, Any]]:
    """The distribution of scipy.stats and its parameters."""
    from scipy import stats

    if not isinstance(table, dict):
        raise InputError(field, table, "must be a table")
    name = table.get("name")
    if not isinstance(name, str):
        raise InputError(f"{field}.name", name, "must be the name of a distribution of scipy.stats")
    family = getattr(stats, name, None)
    scalar = (stats.rv_continuous, stats.rv_discrete)
    if not isinstance(family, scalar):
        near = get_close_matches(name.lower(), [k for k, law in vars(stats).items() if isinstance(law, scalar)], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise InputError(f"{field}.name", name, f"is not a scalar distribution of scipy.stats{hint}")
    shapes = [] if not family.shapes else [part.strip() for part in family.shapes.split(",")]
    known = [*shapes, "loc", *([] if isinstance(family, stats.rv_discrete) else ["scale"])]
    given = {key: value for key, value in table.items() if key != "name"}
    for key in given:
        if key not in known:
            raise InputError(f"{field}.{key}", None, f"is not a parameter of {name}: it has {', '.join(known)}")
    for key in shapes:
        if key not in given:
            raise InputError(f"{field}.{key}", None, f"is missing: {name} has {', '.join(known)}")
    return family, given


def _prior(table: Any) -> Any:
    if isinstance(table, dict) and "values" in table:
        if set(table) != {"values", "weights"}:
            raise InputError("prior", None, "must have name and parameters, or values and weights")
        weights = table["weights"]
        if not isinstance(weights, list):
            raise InputError("prior.weights", weights, "must be a list of numbers")
        return _numbers(table["values"], "prior.values"), weights
    family, given = _family(table, "prior")
    values = {key: _number(value, f"prior.{key}") for key, value in given.items()}
    law = family(**values)
    if not np.isfinite(law.ppf(0.5)):
        raise InputError("prior", None, f"has parameters that {family.name} does not allow")
    return law


def _likelihood(table: Any) -> Callable[[Any], Any]:
    family, given = _family(table, "likelihood")
    parts = {key: _expression(value, f"likelihood.{key}") for key, value in given.items()}
    if not any(isinstance(value, str) for value in given.values()):
        raise InputError("likelihood", None, 'must depend on theta: give a parameter such as "theta" or "1 / theta"')

    def likelihood(theta: Any) -> Any:
        with np.errstate(all="ignore"):
            return family(**{key: value(theta) for key, value in parts.items()})

    return likelihood


def _expression(value: Any, field: str) -> Callable[[Any], Any]:
    if not isinstance(value, str):
        constant = _number(value, field)
        return lambda theta: constant
    try:
        tree = ast.parse(value.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise InputError(field, value, "is not an expression in theta") from None
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise InputError(field, value, f"has more than {_DEEPEST} operations within each other")
    with np.errstate(all="ignore"):
        _evaluate(tree, 1.0, field, value)
    return lambda theta: _evaluate(tree, theta, field, value)


def _evaluate(node: ast.AST, theta: Any, field: str, text: str) -> Any:
    match node:
        case ast.Constant(value=int() | float() as constant) if not isinstance(constant, bool):
            return float(constant)
        case ast.Name(id="theta"):
            return theta
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(left, theta, field, text), _evaluate(right, theta, field, text))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return _OPERATORS[type(op)](_evaluate(operand, theta, field, text))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_evaluate(argument, theta, field, text))
    rule = "may have numbers, theta, + - * / **, and " + ", ".join(_FUNCTIONS)
    raise InputError(field, text, rule)
