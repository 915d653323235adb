"""Checks of numbers: an invalid one raises ValueError with its field, its value and the rule that it breaks."""

from __future__ import annotations

import math
from numbers import Integral, Real


def real(field: str, value: object) -> float:
    """The value as a float, if it is a finite real number."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{field} = {value!r} must be a real number")
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{field} = {number} must be finite")
    return number


def positive(field: str, value: object) -> float:
    """The value as a float > 0."""
    number = real(field, value)
    if number <= 0:
        raise ValueError(f"{field} = {value} must be > 0")
    return number


def non_negative(field: str, value: object) -> float:
    """The value as a float >= 0."""
    number = real(field, value)
    if number < 0:
        raise ValueError(f"{field} = {value} must be >= 0")
    return number


def unit(field: str, value: object) -> float:
    """The value as a float in [0, 1]."""
    number = real(field, value)
    if not 0 <= number <= 1:
        raise ValueError(f"{field} = {value} must lie in [0, 1]")
    return number


def count(field: str, value: object) -> int:
    """The value as an int >= 1."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise ValueError(f"{field} = {value!r} must be an integer")
    if value < 1:
        raise ValueError(f"{field} = {value} must be >= 1")
    return int(value)


def loss_pair(field: str, value: object) -> tuple[float, float]:
    """Two positive numbers: the losses of a miss and of a false alarm."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise ValueError(f"{field} = {value!r} must be two numbers: the losses of a miss and of a false alarm")
    return positive(field, value[0]), positive(field, value[1])
