"""What a command is given: the problem file, lambda from the file or the command line, and how errors call it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

import bap_lp
from bap_cli.catalogue import locate
from bap_lp.files.binary import is_binary
from bap_lp.files.problems import ProblemFile, bounded_problem, load_problem
from bap_lp.model.calibration import lam_of
from bap_lp.support.documents import read_document, source_name
from bap_lp.support.labels import gone
from bap_lp.support.rational import InputError, public
from bap_lp.support.risks import Number


def is_study(file: str | os.PathLike[str], asked: Mapping[str, Any] | None = None) -> bool:
    """Whether this is a study file or the folder of a solved study; a file that cannot be read is not.

    asked: conditions of the command line, which a study refuses.
    """
    study = _is_study(file)
    if study and asked:
        raise InputError("--condition", None, "is for problem files: a study has conditions of its own")
    return study


def _is_study(file: str | os.PathLike[str]) -> bool:
    place = os.fspath(file)
    if os.path.isdir(place):
        return os.path.exists(os.path.join(place, "study.json"))
    if not os.path.isfile(place) or not place.lower().endswith((".toml", ".json")):
        return False
    try:
        document = read_document(place)
    except InputError:
        return False
    return isinstance(document, dict) and "publish" in document and "data" in document


def load(name: str, sets: bool = False) -> ProblemFile:
    """The problem of a file or catalogue name: a problem file, text or binary, or one about a table of counts.

    sets: whether the command knows what to do with a set of priors.
    """
    found = _load(name)
    if found.priors is not None and not sets:
        knowing = "bap solve, explain, evaluate, verify and release"
        rule = f"is a set of priors, which {knowing} know: leave it out for one prior"
        raise InputError(f"{found.source}: priors", None, rule)
    return found


def _load(name: str) -> ProblemFile:
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


Asked = Mapping[str, tuple[str, Any]]  # a field of Conditions: the option that states it, and the value


def asked_conditions(options: Mapping[str, Any], texts: Sequence[str]) -> Asked:
    """The conditions of the command line: `--min-eve-risk 1/3` and its like, and `--condition key=value`."""
    out = {name: (f"--{name.replace('_', '-')}", value) for name, value in options.items() if value is not None}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not value:
            raise InputError("--condition", text, "must be KEY=VALUE, such as max_leakage=2")
        known = bap_lp.Conditions.names()
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=0)
            raise InputError("--condition", key, gone(key) or f"is not a condition; did you mean {near[0]}?")
        if key in out:
            raise InputError(f"--condition {key}", value, "must be given once")
        out[key] = f"--condition {key}", _value(value, key)
    return out


def _value(text: str, key: str) -> Any:
    """As in a TOML file: true, false, a whole number, a list or a table in JSON; what else is written is a number."""
    if text[0] not in "[{" and text not in ("true", "false") and not text.isdecimal():
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise InputError(f"--condition {key}", text, f"is not JSON: {error}") from None


def conditions(loaded: ProblemFile, asked: Asked) -> bap_lp.Conditions | None:
    """The file's conditions, with those of the command line in their place."""
    given = {name: value for name, (_, value) in asked.items()}
    own = {} if loaded.conditions is None else loaded.conditions.given()
    for one, other in (("epsilon", "exp_epsilon"), ("exp_epsilon", "epsilon")):
        if one in given and other not in given:
            own.pop(other, None)
    return bap_lp.Conditions(**(own | given)) if own or given else None


def asking(loaded: ProblemFile, asked: Asked) -> ProblemFile:
    """The file with the conditions of the command line."""
    if not asked:
        return loaded
    with named(loaded, None, asked):
        return replace(loaded, conditions=conditions(loaded, asked))


@contextmanager
def named(loaded: ProblemFile, lam: str | None = None, asked: Asked | None = None) -> Iterator[None]:
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
        elif name == "total_variation":
            field = "--total-variation"
        elif name in ("conditions", "priors"):
            field = f"{loaded.source}: {error.field}"
        elif name in bap_lp.Conditions.names():
            stated = asked.get(name) if asked else None
            inside = error.field.removeprefix(name)
            field = f"{loaded.source}: conditions.{error.field}" if stated is None else f"{stated[0]}{inside}"
        else:
            raise
        again = type(error)(field, error.value, error.rule)
        again.__dict__.update({k: v for k, v in vars(error).items() if k not in ("field", "value", "rule")})
        raise again from None
