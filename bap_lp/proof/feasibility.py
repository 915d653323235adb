"""Whether a channel satisfies conditions, by their definitions; exact for exact numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bap_lp.conditions.base import Condition, SentSignals


def broken(demands: Iterable[Condition], sent: SentSignals, unit: Any) -> str:
    """Which condition a channel breaks, in words, or "" if none; `unit` is the relative tolerance, 0 for exact ones."""
    for x, row in enumerate(sent.q):
        if (row < 0).any() or abs(row.sum() - 1) > unit:
            return f"channel[{x}] is not a distribution"
    return next(filter(None, (demand.check(sent, unit) for demand in demands)), "")
