"""The memory that a table of joint decisions takes, estimated and refused before it is built.

The decisions of several Bobs, or of an Eve and what she may know, multiply: a short text can ask for a large table.
"""

from __future__ import annotations

from collections.abc import Iterable

from bap_lp.limits import limit, raising
from bap_lp.rational import InputError

# bytes of an entry with the copy that is made on the way, of a rational, and of a label without its letters: the growth
# of the process while problems of 0.6 to 8 million entries were built, per entry
_ENTRY, _RATIONAL, _LABEL = 16, 48, 64


def require_memory(role: str, words: str, states: int, columns: int, rationals: int, letters: int) -> None:
    """Refuse a table that would be too large; `rationals`: how many are objects of their own, `letters`: of labels."""
    need, most = columns * (states * _ENTRY + _LABEL) + rationals * _RATIONAL + letters, limit("memory")
    if need > most:
        size = f"have {columns} decisions {words} in {states} states, about {need / 2**20:.1f} MB"
        raise InputError(role, None, f"{size}, must take at most {most} bytes of memory {raising('memory')}")


def letters_of(groups: Iterable[Iterable[str] | None], columns: int) -> int:
    """Letters in the joint labels of so many columns, with one part of each group."""
    total = 0
    for group in groups:
        sizes = [len(part) + 2 for part in group or ()]
        total += columns * sum(sizes) // max(1, len(sizes))
    return total
