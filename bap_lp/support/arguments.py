"""Numbers and texts that users hand over, refused under their names."""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.support.rational import InputError


def real_numbers(name: str, value: Any) -> Any:
    """An array of floats; refuses what is not made of numbers, such as text, a ragged table or complex numbers."""
    try:
        return np.asarray(value, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InputError(name, None, f"must be an array of numbers, is {_said(value)}") from None


def whole_number(name: str, value: Any, least: int) -> int:
    """An integer, at least so large; 1e5 is one too."""
    whole = isinstance(value, (int, np.integer)) or (isinstance(value, (float, np.floating)) and value == value // 1)
    if isinstance(value, (bool, np.bool_)) or not whole or value < least:
        raise InputError(name, value, f"must be an integer, at least {least}")
    return int(value)


def text_of(name: str, value: Any) -> str:
    """Text; none if it is None."""
    if value is not None and not isinstance(value, str):
        raise InputError(name, None, f"must be text, is {_said(value)}")
    return value or ""


def _said(value: Any) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
