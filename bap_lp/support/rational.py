"""From what users write to the numbers that the library computes with, and back.

A number is exact (int, "1/3", "0.25" read as 1/4, Fraction, Decimal, sympy.Rational, fmpq) or a float. Inside, exact
arrays are object arrays of python-flint `fmpq` and float arrays are float64; the two never mix (fmpq * float raises
TypeError), so no exact result can be touched by rounding unnoticed. What leaves is `fractions.Fraction` or float.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from itertools import starmap
from numbers import Integral, Real
from typing import Any

import numpy as np
from flint import fmpq, fmpz

from bap_lp.support.limits import limit, raising

Array = np.ndarray

FEW = 64  # entries of an exact table up to which neither flint's matrices nor looking for zeros pays

# "1e999999999" is a short string and a very long integer; numbers above 1e308 cannot be represented as floats
_MAX_DIGITS = 300
_LARGEST = 10**_MAX_DIGITS
_LARGEST_FLOAT = 1e300 * (1 - 2**-52)  # the float 1e300 itself is a little larger than 10^300
_NUMBER = re.compile(
    r"(?P<sign>[-+]?)(?:(?P<top>[0-9]+)(?:/(?P<bottom>[0-9]+))?"
    r"|(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?(?:[eE](?P<power>[-+]?[0-9]+))?)"
)


class InputError(ValueError):
    """Something the user gave breaks a rule: `field = value rule`.

    Args:
        field: what was given, in the user's words.
        value: its value; None if the value would not help.
        rule: the rule that it breaks.

    >>> from bap_lp import InputError, Problem
    >>> try:
    ...     Problem([1, -1], [[0], [0]], [[0], [0]])
    ... except InputError as error:
    ...     print(error)
    prior[1] = -1 must not be negative
    """

    def __init__(self, field: str, value: object, rule: str) -> None:
        self.field, self.value, self.rule = field, value, rule
        super().__init__(f"{field} = {show(value)} {rule}" if value is not None else f"{field} {rule}")

    def __reduce__(self) -> tuple[Any, ...]:
        # an exception is rebuilt from its arguments, not from its message, on the way back from another process
        return type(self), (self.field, self.value, self.rule), self.__dict__


def show(value: object) -> str:
    """A value as an error message quotes it: one line, never longer than a line."""
    text = repr(value) if isinstance(value, str) else str(value)
    if isinstance(value, float) and abs(value) == 1e300:  # it is a little larger than the limit, which is 10^300
        text = f"{value:.17e}"
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."


def number(value: Any, field: str) -> Any:
    """Read one number: fmpq if it was given exactly, float if it was given as a float."""
    if isinstance(value, fmpq):
        return value
    if isinstance(value, Fraction):
        return fmpq(value.numerator, value.denominator)
    if isinstance(value, (bool, np.bool_)):
        raise InputError(field, value, "must be a number, not a truth value")
    if isinstance(value, Integral):
        return fmpq(int(value))
    if isinstance(value, (float, np.floating)):
        if not math.isfinite(value):
            raise InputError(field, value, "must be finite")
        return float(value)
    if isinstance(value, str):
        return _from_text(value, field)
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise InputError(field, value, "must be finite")
        return _from_text(str(value), field)
    if isinstance(value, fmpz):
        return fmpq(value)
    if getattr(value, "is_Rational", False):  # sympy, without importing it
        return fmpq(int(value.p), int(value.q))
    if isinstance(value, Real) and math.isfinite(value):
        return float(value)
    raise InputError(field, value, 'must be a number: an integer, "1/3", "0.25" or a float')


def _from_text(text: str, field: str) -> fmpq:
    """A fraction of two integers, or a decimal with an exponent: plain digits, nothing between them.

    Behind its sign a decimal has at most 300 characters, and its exponent at most four digits and the size 300; a
    fraction may be as long as those of exact solutions. `verify_standalone` reads the same texts.
    """
    text = text.strip(" \t\r\n")
    found = _NUMBER.fullmatch(text) if len(text) <= 2 * limit("digits") + 8 else None
    if found is None or not (found["top"] or found["whole"] or found["part"]):
        if len(text) > _MAX_DIGITS and not text.strip().lstrip("+-").strip("0123456789/.eE+-"):
            raise InputError(field, text, f"must have at most {limit('digits')} digits {raising('digits')}")
        infinite = text.strip().lower().lstrip("+-") in {"nan", "inf", "infinity"}
        raise InputError(field, text, "must be finite" if infinite else "is not a number")
    if found["top"]:
        top, bottom = found["top"], found["bottom"]
        if bottom is None and len(top) > _MAX_DIGITS:
            raise InputError(field, text, f"must have at most {_MAX_DIGITS} digits")
        if max(len(top), len(bottom or "")) > limit("digits"):
            raise InputError(field, text, f"must have at most {limit('digits')} digits {raising('digits')}")
        if bottom is not None and not bottom.strip("0"):
            raise InputError(field, text, "divides by zero")
        return fmpq(fmpz(found["sign"].replace("+", "") + top), fmpz(bottom or "1"))
    whole, part, power = found["whole"] or "", found["part"] or "", found["power"] or "0"
    if len(text.lstrip("+-")) > _MAX_DIGITS or len(power.lstrip("+-")) > 4 or abs(int(power)) > _MAX_DIGITS:
        raise InputError(field, text, f"must have at most {_MAX_DIGITS} digits")
    size = fmpq(10) ** (int(power) - len(part))
    return fmpq(int(found["sign"].replace("+", "") + whole + part)) * size


def is_exact(value: Any) -> bool:
    """Whether an array (or a single number) holds exact rationals."""
    return value.dtype == object if isinstance(value, np.ndarray) else not isinstance(value, float)


def finite(*values: Any) -> bool:
    """Whether no float among these numbers and arrays is infinite or undefined."""
    return all(is_exact(v) or bool(np.isfinite(v).all()) for v in values)


def array(values: Any, field: str, ndim: int, signed: bool = False) -> Array:
    if hasattr(values, "to_numpy"):  # a data frame lists its columns, and its rows are meant
        values = values.to_numpy()
    if np.any(getattr(values, "mask", False)) and isinstance(values, np.ma.MaskedArray):  # numpy.ma is loaded late
        raise InputError(field, None, "must not have masked entries")
    if isinstance(values, np.ndarray) and values.dtype.kind == "f":
        out = np.array(values, dtype=float)
        _check_shape(out.shape, field, ndim)
        bad = ~((out >= (-_LARGEST_FLOAT if signed else 0)) & (out <= _LARGEST_FLOAT))
        if bad.any():
            at = tuple(int(k) for k in np.argwhere(bad)[0])
            rule = "must not be negative" if out[at] < 0 and not signed else f"must be at most 1e{_MAX_DIGITS}"
            rule = rule if math.isfinite(out[at]) else "must be finite"
            raise InputError(field + "".join(f"[{k}]" for k in at), out[at], rule)
        return out
    if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == ndim and values.size:
        flat = values.ravel().tolist()
        if all(type(v) is fmpq for v in flat) and min(flat) >= (-_LARGEST if signed else 0) and max(flat) <= _LARGEST:
            return values.copy()
    rows = [sequence(values, field)] if ndim == 1 else list(sequence(values, field))
    numbers = []
    for k, row in enumerate(rows):
        name = field if ndim == 1 else f"{field}[{k}]"
        numbers.append([sized_number(v, f"{name}[{j}]", signed) for j, v in enumerate(sequence(row, name))])
        if len(numbers[-1]) != len(numbers[0]):
            raise InputError(name, None, f"has {len(numbers[-1])} entries, must have {len(numbers[0])} like {field}[0]")
    _check_shape((len(numbers), len(numbers[0]) if numbers else 0), field, 2)
    flat = [v for row in numbers for v in row]
    out = np.array([float(v) for v in flat]) if any(isinstance(v, float) for v in flat) else objects(flat)
    return out.reshape(len(numbers), -1) if ndim == 2 else out


def sequence(values: Any, field: str) -> Any:
    """A list, or anything else to iterate over but text and tables."""
    if isinstance(values, (str, bytes, dict)) or not isinstance(values, Iterable):
        raise InputError(field, values, "must be a list")
    return values if isinstance(values, (list, tuple, np.ndarray)) else list(values)


def sized_number(value: Any, field: str, signed: bool = False) -> Any:
    """A number that is not too large, and not negative unless signed."""
    if isinstance(value, (list, tuple, dict, np.ndarray)):
        raise InputError(field, value, "must be a number, not a list or table")
    value = number(value, field)
    if value < 0 and not signed:
        raise InputError(field, value, "must not be negative")
    if abs(value) > _LARGEST:
        raise InputError(field, value, f"must be at most 1e{_MAX_DIGITS}")
    return value


def _check_shape(shape: tuple[int, ...], field: str, ndim: int) -> None:
    if len(shape) != ndim:
        raise InputError(field, None, f"has {len(shape)} dimensions, must have {ndim}")
    if 0 in shape:
        raise InputError(field, None, "must not be empty")


def objects(values: Iterable[Any]) -> Array:
    """A one-dimensional object array, even when the items look like sequences to numpy."""
    items = list(values)
    out = np.empty(len(items), dtype=object)
    out[:] = items
    return out


def floats(values: Array) -> Array:
    """The nearest float64 array."""
    if not is_exact(values):
        return values
    return values.astype(float)  # float(fmpq) is correctly rounded, whatever the sizes


def lifted(values: Array) -> Array:
    """Floats as the rationals they are; most are zero in channels and replies."""
    out, live = EXACT.zeros(values.shape), values != 0
    out[live] = objects(starmap(fmpq, map(float.as_integer_ratio, values[live].tolist())))
    return out


def in_floats(values: Array) -> Array:
    """Rationals as floats, if these are the same numbers; as they are, if not."""
    near = floats(values)
    return near if (lifted(near) == values).all() else values


def same_kind(*arrays: Array) -> tuple[Array, ...]:
    """One float array makes all of them float arrays."""
    return arrays if all(is_exact(a) for a in arrays) else tuple(floats(a) for a in arrays)


def by_rows(operation: np.ufunc, table: Array, factors: Array) -> Array:
    """The rows of a table times or divided by their factors; in long exact tables zeros, which abound, are skipped."""
    if not is_exact(table) or table.size <= FEW:
        return operation(table, factors[:, None])
    return operation(table, factors[:, None], out=table.copy(), where=table.astype(bool))


def float_below(value: fmpq) -> float:
    """The largest float that is at most a rational."""
    near = float(value)
    return near if EXACT.number(near) <= value else math.nextafter(near, -math.inf)


def float_above(value: fmpq) -> float:
    """The least float that is at least a rational."""
    return 0.0 - float_below(-value)


def simplest(low: fmpq, high: fmpq) -> fmpq:
    """The fraction with the least denominator from low to high, by the Stern-Brocot tree."""
    if low < 0 < high or low == 0:
        return fmpq(0)
    if high < 0:
        return -simplest(-high, -low)
    whole = low.p // low.q
    if whole == low:
        return fmpq(whole)
    if whole + 1 <= high:
        return fmpq(whole + 1)
    return whole + 1 / simplest(1 / (high - whole), 1 / (low - whole))


def tree_sum(values: Array) -> Any:
    """The sum over the first axis, added in a balanced tree.

    Adding n fractions one after another carries an ever longer denominator through n additions; in a tree only the last
    few additions are long.
    """
    if not is_exact(values) or len(values) == 0:
        return values.sum(axis=0) if not is_exact(values) else EXACT.zeros(values.shape[1:])[()]
    while len(values) > 1:
        half = len(values) // 2
        paired = values[:half] + values[half : 2 * half]
        values = paired if len(values) % 2 == 0 else np.concatenate([paired, values[-1:]])
    return values[0]


def common_denominator(values: Array) -> fmpq:
    """The least common multiple of the denominators."""
    common = fmpz(1)
    for q in {v.q for v in values.ravel().tolist()}:
        common = common.lcm(q)
    return fmpq(common)


class Field:
    """The numbers a computation works in: rationals, compared exactly, or floats, compared within a tolerance.

    `tolerance` is what a certificate may be off by, relative to the size of the losses.
    """

    def __init__(self, exact: bool) -> None:
        self.exact = exact
        self.zero: Any = fmpq(0) if exact else 0.0
        self.one: Any = fmpq(1) if exact else 1.0
        self.tolerance: Any = self.zero if exact else TOLERANCE

    def zeros(self, shape: int | tuple[int, ...]) -> Array:
        if not self.exact:
            return np.zeros(shape)
        out = np.empty(shape, dtype=object)
        out.fill(self.zero)  # faster than np.full
        return out

    def full(self, shape: int | tuple[int, ...], value: Any) -> Array:
        return np.full(shape, self.number(value), dtype=object if self.exact else float)

    def number(self, value: Any) -> Any:
        """A number in this field: a float is lifted to the rational it is, a rational rounded to the nearest float."""
        if not self.exact:
            return float(value)
        if isinstance(value, float):
            return fmpq(*value.as_integer_ratio())
        return value if isinstance(value, fmpq) else number(value, "number")

    def array(self, values: Array) -> Array:
        if not self.exact:
            return floats(values)
        return values if is_exact(values) else lifted(values)

    def list(self, values: Iterable[Any]) -> Array:
        """A one-dimensional array of numbers of this field."""
        return objects(values) if self.exact else np.array(list(values), dtype=float)


TOLERANCE = 1e-9
UNIT = 2.0**-53  # relative error of one float operation
ROUNDING = 2.0**-46  # of a sum of floats: 64 units in the last place
EXACT, FLOAT = Field(True), Field(False)


def field_of(values: Any) -> Field:
    return EXACT if is_exact(values) else FLOAT


def public(values: Any) -> Any:
    """What leaves the library: Fraction or float, alone or in a read-only array."""
    if isinstance(values, np.ndarray):
        out = values.copy()
        if is_exact(values):
            out = objects(map(_reduced, values.ravel())).reshape(values.shape)
        out.flags.writeable = False
        return out
    return float(values) if isinstance(values, float) else _reduced(values)


def _reduced(value: Any) -> Fraction:
    """A Fraction of what is in lowest terms already: Python's gcd takes quadratic time, minutes at 10^6 digits."""
    out = object.__new__(Fraction)
    out._numerator, out._denominator = int(value.p), int(value.q)  # type: ignore[attr-defined]
    return out


def taken(value: Any, exact: bool) -> Any:
    """A number as the rational that is computed with: itself, or the nearest float where the numbers are floats."""
    return EXACT.number(value if exact else float(value))


def stated(value: Any, exact: bool) -> Any:
    """A rational as a result states it: a Fraction, or the nearest float where the numbers are floats."""
    return public(value) if exact else float(value)


class ReadOnly:
    """A value: an attribute is set once, and arrays cannot be written to, also after pickling, which forgets that."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in vars(self):
            raise AttributeError(
                f"{name} of a {type(self).__name__} cannot be changed: make another {type(self).__name__}"
            )
        super().__setattr__(name, value)

    def __post_init__(self) -> None:
        self._freeze()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._freeze()

    def _freeze(self) -> None:
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)
            elif isinstance(value, (tuple, dict)):
                for part in value.values() if isinstance(value, dict) else value:
                    if isinstance(part, np.ndarray):
                        part.setflags(write=False)


_LONG = 200  # characters of a number in a sentence


def shown(value: Any, rounded: bool) -> str:
    """A number in a sentence: itself if it is short and need not be rounded, else as a float of twelve digits."""
    if not rounded and len(exact := str(text(value))) <= _LONG:
        return exact
    try:
        return f"{float(value):.12g}"
    except OverflowError:
        return "a number too large for floats"


def text(value: Any) -> str | float:
    """A number as JSON carries it: exact ones as strings like "13/40", floats as numbers."""
    if isinstance(value, Fraction):
        value = fmpq(value.numerator, value.denominator)  # whose text may be longer than Python prints
    return value if isinstance(value, float) else str(value)
