"""What a command is given: the problem file, lambda from the file or the command line, and how errors call it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from bap_cli.catalogue import locate
from bap_lp.conditions.conditions import Conditions
from bap_lp.files.binary import is_binary
from bap_lp.files.documents import read_document, source_name
from bap_lp.files.problems import ProblemFile, bounded_problem, load_problem
from bap_lp.model.calibration import lam_of
from bap_lp.model.risks import Number
from bap_lp.rational import InputError, public


def load(name: str) -> ProblemFile:
    """The problem of a file or catalogue name: a problem file, text or binary, or one about a table of counts."""
    path = locate(name)
    if os.path.isdir(path):
        raise InputError(
            source_name(path), None, "cannot be read: Is a directory; `bap verify` and `bap release` read bundles"
        )
    if is_binary(path):
        return load_problem(path)
    document, source = read_document(path), source_name(path)
    if isinstance(document, dict) and "table" in document:
        from bap_sdc.count_tables.files import counts_from_dict

        return counts_from_dict(document, source)
    return bounded_problem(document, source)


def wanted(loaded: ProblemFile, lam: str | None) -> Any:
    """--lambda if given, else what the file asks for."""
    return loaded.lam if lam is None else lam


def number(loaded: ProblemFile, lam: str | None) -> Number:
    """The wanted lambda as a number."""
    with named(loaded, lam):
        return public(lam_of(loaded.problem, wanted(loaded, lam)))


def choice(loaded: ProblemFile, lam: str | None) -> str:
    """How lambda was chosen, in words."""
    return choice_of(wanted(loaded, lam), lam is None)


def choice_of(price: Any, of_file: bool) -> str:
    """How a lambda was chosen, in words: calibrated, from the file, or from the command line."""
    if str(price).strip().lower() == "calibrated":
        return "calibrated: full and null release are equally good"
    return "from the file" if of_file else "from --lambda"


def conditions(loaded: ProblemFile, asked: Mapping[str, Any]) -> Conditions | None:
    """The file's conditions, with those of the command line in their place."""
    given = {name: value for name, value in asked.items() if value is not None}
    own = {} if loaded.conditions is None else loaded.conditions.given()
    for one, other in (("epsilon", "exp_epsilon"), ("exp_epsilon", "epsilon")):
        if one in given and other not in given:
            own.pop(other, None)
    return Conditions(**(own | given)) if own or given else None


@contextmanager
def named(loaded: ProblemFile, lam: str | None = None, asked: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Errors call things what the user calls them.

    The library's `lam` is the option --lambda or the file's alice.lambda, its `min_eve_risk` is --min-eve-risk or the
    file's conditions.min_eve_risk.
    """
    try:
        yield
    except InputError as error:
        name = re.split(r"[\[.]", error.field)[0]
        if name == "time_limit":
            field = "--time-limit"
        elif name == "lam":
            field = f"{loaded.source}: alice.lambda" if lam is None else "--lambda"
        elif name == "conditions":
            field = f"{loaded.source}: {error.field}"
        elif name in Conditions.__dataclass_fields__:
            own = asked is None or asked.get(name) is None
            field = f"{loaded.source}: conditions.{error.field}" if own else _option(name, error.field)
        else:
            raise
        again = type(error)(field, error.value, error.rule)
        again.__dict__.update({k: v for k, v in vars(error).items() if k not in ("field", "value", "rule")})
        raise again from None


def _option(name: str, field: str) -> str:
    """The option that stated a field of Conditions, with the place in its table if it may be one."""
    if name == "posterior_caps":
        return "--posterior-floor" if field.endswith(".at_least") else "--posterior-cap"
    inside = re.sub(r"^\w+(\[\d+\])?", "", field) if name == "pufferfish" else ""
    return f"--{name.replace('_', '-')}{inside}"
