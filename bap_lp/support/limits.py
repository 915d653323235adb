"""Bounds on the work that a file may ask for; each can be raised.

A short text can ask for endless work: "1e999999999" is eleven characters and a billion digits. What is read is
therefore bounded before anything is computed. `--limit digits=50000` before a command, or
BAP_LIMITS="digits=50000,columns=10" in the environment, changes a bound; BAP_LIMITS is also read by
`verify_standalone`.

bytes     of a file, and of a table once it is unpacked
digits    of one integer: a numerator, a denominator, or a decimal with its exponent written out
keys      of one table, or columns of a table of records
depth     of tables and lists within each other
columns   decisions of all Bobs taken together, or signals: they multiply
cells     of one table: states times columns, or records times columns; values of a document
bits      of a power K^d in differential privacy
parts     steps that it may take to see that a proof by cases leaves no case out
work      steps of a check in all, a step with long numbers counting for several

"""

from __future__ import annotations

import os
from collections.abc import Iterable

DEFAULTS = {
    "bytes": 2**28,
    "digits": 20_000,
    "keys": 10_000,
    "depth": 64,
    "columns": 100_000,
    "cells": 20_000_000,
    "bits": 100_000,
    "parts": 5_000_000,
    "work": 20_000_000,
}
_LIMITS = dict(DEFAULTS)
_READ = False


def limit(name: str) -> int:
    """The bound of this name, as it is set in this process."""
    global _READ
    if not _READ:
        _READ = True
        set_limits(filter(None, os.environ.get("BAP_LIMITS", "").split(",")))
    return _LIMITS[name]


def set_limits(settings: Iterable[str]) -> None:
    """Change bounds of this process: "digits=50000".

    Args:
        settings: one text "NAME=NUMBER" per bound.

    Raises:
        ValueError: a text is not of this form, or there is no bound of this name.

    >>> from bap_lp.support.limits import limit, set_limits
    >>> set_limits(["digits=30000"])
    >>> limit("digits")
    30000
    >>> set_limits(["digits=20000"])
    """
    for setting in settings:
        name, _, value = setting.strip().partition("=")
        if name not in DEFAULTS or not (value.isascii() and value.isdigit() and 0 < len(value) <= 18):
            known = ", ".join(DEFAULTS)
            raise ValueError(f"limit {setting[:60]!r} must be NAME=NUMBER, with a name of {known}")
        _LIMITS[name] = int(value)


def raising(name: str) -> str:
    """How to raise a bound, in words for a message."""
    return f"(--limit {name}=N raises this)"
