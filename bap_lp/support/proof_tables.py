"""Tables of numbers as documents carry them: exact ones as strings like "13/40", floats as numbers.

The tables of a proof are exact. Three forms keep them short: rows of numbers; `{"over": D, "rows": ...}`, integers over
a common denominator D; and `{"shape": [rows, columns], "at": [[row, column, number], ...]}`, without the zeros.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from bap_lp.support.limits import limit, raising
from bap_lp.support.rational import EXACT, Array, InputError, common_denominator, number, objects, text

_SHORT = 16  # entries of a table that is written whole
_READABLE, _COMMON = 10**6, 300  # common denominators from, and bits of those up to which integers over it are shorter
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


def signed_number(value: Any, field: str) -> Any:
    return number(long_number(value), field)


def long_number(value: Any) -> Any:
    """Exact solutions can have longer integers than the numbers of a problem may be."""
    found = _LONG_INTEGER.fullmatch(value) if isinstance(value, str) else None
    if found is None or len(found[2]) > limit("digits"):
        return value
    return fmpq(fmpz((found[1] or "") + found[2]))


def texts(table: Array) -> list[list[str | float]]:
    return [[text(v) for v in row] for row in table.tolist()]


def proof_table(table: Array) -> Any:
    """A table of a proof, in the shortest of its forms; floats are the fractions they are."""
    exact = EXACT.array(table)
    if exact.ndim == 2 and 4 * np.count_nonzero(exact) < exact.size > _SHORT:
        return sparse_table(exact)
    common = common_denominator(exact)
    if common.q == 1 and common.p > _READABLE and common.p.bit_length() <= _COMMON:
        return {"over": str(common), "rows": [[str(v) for v in row] for row in (exact * common).tolist()]}
    return texts(exact)


def sparse_table(exact: Array) -> dict[str, Any]:
    """A table of any number of dimensions without its zeros."""
    at = [[*place, str(exact[tuple(place)])] for place in np.argwhere(exact != 0).tolist()]
    return {"shape": list(exact.shape), "at": at}


def read_proof_table(value: Any, field: str, ndim: int | None = None) -> Array:
    """A table of a proof: exact numbers of any sign, with so many dimensions."""
    table = _read_table(value, field)
    if ndim not in (None, table.ndim):
        raise InputError(field, None, f"must have {ndim} dimensions")
    return table


def _read_table(value: Any, field: str) -> Array:
    if isinstance(value, list):
        return _exact(signed_table(value, field), field)
    if not isinstance(value, dict) or set(value) not in ({"over", "rows"}, {"shape", "at"}):
        raise InputError(field, None, "must be rows of numbers, or a table with over and rows, or shape and at")
    if "over" in value:
        common = signed_number(value["over"], f"{field}.over")
        if isinstance(common, float) or common <= 0:
            raise InputError(f"{field}.over", value["over"], "must be a positive integer")
        if not isinstance(value["rows"], list):
            raise InputError(f"{field}.rows", None, "must be a list")
        return _exact(signed_table(value["rows"], f"{field}.rows"), field) / common
    shape, at = value["shape"], value["at"]
    if not (isinstance(shape, list) and len(shape) in (1, 2) and all(type(n) is int and n >= 0 for n in shape)):
        raise InputError(f"{field}.shape", None, "must be one or two numbers of entries")
    if math.prod(shape) > limit("cells"):
        raise InputError(f"{field}.shape", None, f"must have at most {limit('cells')} cells {raising('cells')}")
    if not isinstance(at, list):
        raise InputError(f"{field}.at", None, "must be a list")
    out, seen = EXACT.zeros(tuple(shape)), set()
    for k, entry in enumerate(at):
        width = len(shape)
        fits = isinstance(entry, list) and len(entry) == width + 1 and all(type(n) is int for n in entry[:-1])
        if (
            not fits
            or not all(0 <= n < most for n, most in zip(entry, shape, strict=False))
            or tuple(entry[:-1]) in seen
        ):
            raise InputError(f"{field}.at[{k}]", None, "must be a place of the table, each once, and a number")
        seen.add(tuple(entry[:-1]))
        number_ = signed_number(entry[-1], f"{field}.at[{k}]")
        if isinstance(number_, float):
            raise InputError(f"{field}.at[{k}]", entry[-1], "must be an exact number")
        out[tuple(entry[:-1])] = number_
    return out


def _exact(table: Array, field: str) -> Array:
    if table.dtype != object:
        raise InputError(field, None, "must have exact numbers")
    return table
