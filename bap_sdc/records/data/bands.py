"""Bands of numbers and how they are written: their names, and which band a number is in."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from bap_lp.support.rational import InputError

DIGITS = 1000  # longer ones are text: Python reads integers of 4300 digits and refuses longer ones
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?\s*", re.ASCII)
HUGE = 10**DIGITS
_ZEROS = 20  # zeros that a text of a number may add


def band_names_given(names: Any, count: int, field: str) -> list[str]:
    good = isinstance(names, Sequence) and not isinstance(names, str) and all(isinstance(n, str) and n for n in names)
    if not good or len(names) != count or len(set(names)) != count:
        raise InputError(field, names, f"must be a list of {count} different names, one per band")
    return list(names)


def band_names(ends: tuple[Fraction, ...], whole: bool) -> list[str]:
    """The bands in words: of integers "4" or "5-19" with both ends, of other numbers "0.5 to 2" without its end."""
    last = len(ends) - 2
    out = []
    for k, (a, b) in enumerate(pairwise(ends)):
        top = b if k == last or not whole else b - 1
        between = "-" if whole and a >= 0 else " to "
        out.append(short_number(a) if whole and a == top else f"{short_number(a)}{between}{short_number(top)}")
    return out


def short_number(value: Fraction) -> str:
    return str(value) if value.denominator == 1 else f"{float(value):.15g}"


def plain(value: Any, width: int = 0) -> str:
    """The one text of a number, exact: 30 for " 30.0" and 3e1, 1E+40 where zeros would be many; digits of a width."""
    if isinstance(value, Fraction):
        return str(value)
    decimal = Decimal(str(value).strip())
    sign, digits, exponent = decimal.as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).lstrip("0")
    if not text:
        return "0".zfill(width)
    kept = text.rstrip("0")
    exponent += len(text) - len(kept)
    minus = "-" if sign else ""
    if not -_ZEROS <= exponent <= _ZEROS:
        return f"{minus}{kept[0]}{'.' if kept[1:] else ''}{kept[1:]}E{exponent + len(kept) - 1:+d}"
    if exponent >= 0:
        return f"{minus}{(kept + '0' * exponent).zfill(width)}"
    whole = kept.zfill(1 - exponent)
    return f"{minus}{whole[:exponent]}.{whole[exponent:]}"


def text_of(value: Any) -> str:
    """The text of a cell; an instant at midnight is its day."""
    return value if isinstance(value, str) else str(value).removesuffix(" 00:00:00")


def width_of(values: Sequence[Any]) -> int:
    """The width of codes such as 007, if all cells are digits of one width and some start with 0; else 0."""
    if not all(isinstance(v, str) and v.isascii() and v.isdigit() for v in values):
        return 0
    widths = {len(v) for v in values}
    return widths.pop() if len(widths) == 1 and any(v[0] == "0" for v in values) else 0


def banding(ends: tuple[Fraction, ...], where: str, whole: bool = False) -> Callable[[Any], int]:
    """The band of a cell; cells outside all bands are refused, and fractions if the bands are of integers.

    Rounding to floats keeps order, so a float strictly between two rounded ends decides; ties are compared exactly.
    """
    marks = [rough(end) for end in ends]

    def band(value: Any) -> int:
        if not is_number(value):
            raise InputError(where, str(value), "must be a number, because the column has bands")
        if whole and not isinstance(value, int) and Fraction(str(value).strip()).denominator != 1:
            raise InputError(where, str(value), "must be an integer, as in the table of the study")
        near = rough(value)
        if marks[0] < near < marks[-1] and near not in marks:
            return bisect_right(marks, near) - 1
        at = Fraction(str(value).strip())
        if not ends[0] <= at <= ends[-1]:
            rule = f"must lie between {short_number(ends[0])} and {short_number(ends[-1])}, as its bands do"
            raise InputError(where, str(value), rule)
        return min(bisect_right(ends, at), len(ends) - 1) - 1

    return band


def rough(value: Any) -> float:
    """The float next to a number, infinite if it is too large."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def is_number(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= DIGITS and _NUMBER.fullmatch(value) is not None
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, Fraction)):
        return False
    if isinstance(value, float):
        return bool(np.isfinite(value))  # all are below HUGE, but NumPy's cannot be compared with it
    return bool(-np.inf < value < np.inf) and abs(value) < HUGE
