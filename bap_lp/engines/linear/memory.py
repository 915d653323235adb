"""The memory and the precision that a program will need, refused before the work begins."""

from __future__ import annotations

import os

from bap_lp.support.rational import InputError

# bytes of one entry of a program while it is built and solved: row, column and value, their sorted copies, and the
# solver's own; a rational is an object of its own. Peak of the process on chains of 200 to 400 states, per entry.
_FLOAT, _EXACT = 150, 400
_PRECISE = 2_000_000  # bits of a determinant: one of 1.1 million, 12 x 6 x 6 with 6000 digits each, takes 50 s
_SMALL = 100 * 2**20  # bytes that are there


def available() -> float:
    """Bytes of memory that the system can still give, infinite where it does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError):
        return float("inf")


def require(entries: int, exact: bool) -> None:
    """Refuse a program with so many entries if it would not fit."""
    require_bytes(entries * (_EXACT if exact else _FLOAT), f"a program of {entries} entries")


def require_square(size: int, each: int) -> None:
    """Refuse a dense system of so many unknowns, with so many bytes for every entry in all its copies."""
    require_bytes(each * size**2, f"a dense system in {size} unknowns")


def require_precision(size: int, bits: int) -> None:
    """Refuse an exact system of so many unknowns whose entries have so many bits, if its determinant is too long."""
    if size * bits > _PRECISE:
        rule = f"has exact numbers so long that its optimum may need integers of {size * bits / 1e6:.1f} million bits"
        raise InputError("problem", None, f"{rule}: round them, or compute in floats")


def require_bytes(need: int, what: str) -> None:
    """Refuse what would not fit; what is small is not looked at."""
    if need < _SMALL:
        return
    have = available()
    if need > have:
        rule = f"needs {what}, about {need / 2**30:.1f} GiB; {have / 2**30:.1f} GiB are free"
        raise InputError("problem", None, rule)
