"""Numbers and labels in a sentence: a short fraction or a decimal, and quotes where a comma could mislead."""

from __future__ import annotations

from bap_lp.model.display import clean, decimal, equals, fraction
from bap_lp.model.risks import Number

UNCHANGED = "unchanged"  # a measure of what Eve knows anyway
_BRIEF = 9  # characters of a fraction that is still read


def short(value: Number) -> str:
    """A short fraction, or a decimal."""
    told = fraction(value)
    return told if len(told) <= _BRIEF or isinstance(value, float) else f"≈ {decimal(value)}"


def both(value: Number) -> str:
    told = short(value)
    return f"{told} ({decimal(value)})" if "/" in told else told


def equal(name: str, value: Number) -> str:
    return equals(name, value, both)


def named(label: str) -> str:
    """A label, in quotes if its commas or digits could be mistaken for those of the sentence."""
    return f"“{clean(label)}”" if any(c == "," or c.isdigit() for c in label) else clean(label)
