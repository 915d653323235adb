"""The memory that a program will need, refused before it is allocated."""

from __future__ import annotations

import os

from bap_lp.rational import InputError

# bytes of one entry of a program while it is built and solved: row, column and value, their sorted copies, and the
# solver's own; a rational is an object of its own. Peak of the process on chains of 200 to 400 states, per entry.
_FLOAT, _EXACT = 150, 400


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
    if entries < 1_000_000:
        return
    need, have = entries * (_EXACT if exact else _FLOAT), available()
    if need > have:
        rule = f"needs a program of {entries} entries, about {need / 2**30:.1f} GiB; {have / 2**30:.1f} GiB are free"
        raise InputError("problem", None, rule)
