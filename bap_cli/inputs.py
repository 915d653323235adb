"""What a command is given: the problem file, lambda from the file or the command line, and how errors call it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from bap_cli.catalogue import locate
from bap_lp.files import ProblemFile, load_problem
from bap_lp.problem import lam_of
from bap_lp.rational import InputError, public
from bap_lp.risks import Number


def load(name: str) -> ProblemFile:
    """The problem of a file or catalogue name."""
    return load_problem(locate(name))


def wanted(loaded: ProblemFile, lam: str | None) -> Any:
    """--lambda if given, else what the file asks for."""
    return loaded.lam if lam is None else lam


def number(loaded: ProblemFile, lam: str | None) -> Number:
    """The wanted lambda as a number."""
    with lambda_named(loaded, lam):
        return public(lam_of(loaded.problem, wanted(loaded, lam)))


def choice(loaded: ProblemFile, lam: str | None) -> str:
    """How lambda was chosen, in words."""
    if str(wanted(loaded, lam)).strip().lower() == "calibrated":
        return "calibrated: full and null release tie"
    return "from the file" if lam is None else "from --lambda"


@contextmanager
def lambda_named(loaded: ProblemFile, lam: str | None) -> Iterator[None]:
    """The library's `lam` is the option --lambda, or the file's alice.lambda."""
    try:
        yield
    except InputError as error:
        if error.field != "lam":
            raise
        field = f"{loaded.source}: alice.lambda" if lam is None else "--lambda"
        raise InputError(field, error.value, error.rule) from None


def working(loaded: ProblemFile) -> Any:
    """A sign of life on stderr while a large problem is solved, if somebody is watching."""
    if not sys.stderr.isatty() or loaded.problem.B.size + loaded.problem.E.size < 2000:
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("solving")
