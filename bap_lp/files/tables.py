"""Tables of numbers as documents carry them: exact ones as strings like "13/40", floats as numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from bap_lp.limits import limit
from bap_lp.rational import Array, InputError, number, objects, text

_LONG_INTEGER = re.compile(r"[ \t\r\n]*(?:\+|(-?))([0-9]{150,})[ \t\r\n]*")


def signed_table(rows: list[Any], field: str) -> Array:
    """A table of numbers of any sign; one float makes it a float table."""
    numbers: list[Any] = []
    for k, row in enumerate(rows):
        if not isinstance(row, list):
            raise InputError(f"{field}[{k}]", row, "must be a list")
        if not row or len(row) != len(rows[0]):
            raise InputError(f"{field}[{k}]", None, f"has {len(row)} entries, must have {len(rows[0]) or 'some'}")
        numbers.extend(number(long_number(v), f"{field}[{k}][{j}]") for j, v in enumerate(row))
    if not numbers:
        raise InputError(field, None, "must not be empty")
    flat = np.array([float(v) for v in numbers]) if any(isinstance(v, float) for v in numbers) else objects(numbers)
    return flat.reshape(len(rows), -1)


def signed_tables(values: list[Any], field: str) -> list[Array]:
    """Several tables of numbers."""
    for k, rows in enumerate(values):
        if not isinstance(rows, list):
            raise InputError(f"{field}[{k}]", rows, "must be a list")
    return [signed_table(rows, f"{field}[{k}]") for k, rows in enumerate(values)]


def signed_number(value: Any, field: str) -> Any:
    """A number of any sign and length."""
    return number(long_number(value), field)


def signed_numbers(values: list[Any], field: str) -> list[Any]:
    return [signed_number(value, f"{field}[{k}]") for k, value in enumerate(values)]


def long_number(value: Any) -> Any:
    """Exact solutions can have longer integers than the numbers of a problem may be."""
    found = _LONG_INTEGER.fullmatch(value) if isinstance(value, str) else None
    if found is None or len(found[2]) > limit("digits"):
        return value
    return fmpq(fmpz((found[1] or "") + found[2]))


def texts(table: Array) -> list[list[str | float]]:
    return [[text(v) for v in row] for row in table.tolist()]
