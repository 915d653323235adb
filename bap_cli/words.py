"""Numbers and labels in sentences and tables.

Labels are other people's text: control characters are spelled out, over-long ones cut, and nothing in them is markup.
"""

from __future__ import annotations

from collections.abc import Sequence

from bap_lp.model.risks import Number

LISTED = 6  # items of a list inside a sentence
READABLE = 24  # characters of a fraction somebody might still read
_LABEL = 80


def clean(label: str, width: int = _LABEL) -> str:
    """A label as one printable piece of text."""
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in label[: width + 1])
    return text if len(text) <= width else text[: width - 1] + "…"


def fraction(value: Number) -> str:
    """An exact number as a fraction if it is short enough to read, anything else as a decimal."""
    if isinstance(value, float):
        return decimal(value)
    if value.denominator.bit_length() + abs(value.numerator).bit_length() > 4 * READABLE:
        return f"≈ {decimal(value)}"
    text = str(value)
    return text if len(text) <= READABLE else f"≈ {decimal(value)}"


def decimal(value: Number) -> str:
    return f"{float(value):.6g}"


def both(value: Number) -> str:
    """Fraction and decimal: 13/40 (0.325)."""
    first, second = fraction(value), decimal(value)
    return first if first == second or first.startswith("≈") else f"{first} ({second})"


def equals(name: str, value: Number) -> str:
    text = both(value)
    return f"{name} {text}" if text.startswith("≈") else f"{name} = {text}"


def counted(count: int, what: str) -> str:
    """1 state, 2 states."""
    return f"{count} {what}" + ("" if count == 1 else "s")


def listed(names: Sequence[str], last: str = ", ") -> str:
    if len(names) > LISTED:
        return ", ".join(map(clean, names[:LISTED])) + f" and {len(names) - LISTED} more"
    shown = [clean(n) for n in names]
    return ", ".join(shown[:-1]) + last + shown[-1] if len(shown) > 1 else shown[0]
