"""Proofs by cases: multipliers for parts of the deterministic mechanisms that together contain every one of them.

A case is about the channels that send, in state x, only the signals listed for x in `fixed`. Its bound takes each
minimum over s in these signals alone. Every map from states to signals must follow a case.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bap_lp.program.bound import Dual
from bap_lp.support.limits import limit
from bap_lp.support.rational import Array, InputError


@dataclass(frozen=True, eq=False)
class Case:
    """Multipliers for the mechanisms of a part; `void`: they prove that none of these meets the conditions."""

    dual: Dual
    fixed: tuple[tuple[int, tuple[int, ...]], ...] = ()
    void: bool = False

    def allowed(self, shape: tuple[int, int]) -> Array:
        """Which signals each state may send: states x signals."""
        out = np.ones(shape, dtype=bool)
        for x, signals in self.fixed:
            out[x] = np.isin(np.arange(shape[1]), signals)
        return out


def uncovered(cases: Sequence[Case], states: int, signals: int) -> str:
    """Which deterministic mechanisms no case is about, or ""."""
    whole, boxes = (1 << signals) - 1, []  # for every state the signals that it may send, as bits
    for k, case in enumerate(cases):
        if any(not 0 <= x < states or not own or not set(own) <= set(range(signals)) for x, own in case.fixed):
            return f"cases[{k}] is about no signals or states of the problem"
        sent = {x: sum(1 << s for s in set(own)) for x, own in case.fixed}
        boxes.append([sent.get(x, whole) for x in range(states)])
    region = _outside([whole] * states, boxes)
    maps = [[s for s in range(part.bit_length()) if part >> s & 1] for part in region]
    return f"no case is about the maps in {maps}" if region else ""


Region = list[int]


def _outside(whole: Region, boxes: list[Region]) -> Region:
    """A region of choices of an element per place that meets no box; [] if the boxes contain every choice.

    A region and a box are a set of elements per place, as bits. Regions are split along the boxes.
    """
    todo, steps = [(whole, boxes)], limit("parts")
    while todo:
        region, near = todo.pop()
        steps -= len(whole) * (1 + len(near))
        if steps < 0:
            raise InputError("cases", len(boxes), "are too many to check")
        near = [box for box in near if all(a & b for a, b in zip(box, region, strict=True))]
        if not near:
            return region
        lacks = [[k for k, part in enumerate(region) if part & ~box[k]] for box in near]
        if not all(lacks):
            continue  # a box contains it
        counts = [sum(k in lack for lack in lacks) for k in range(len(region))]
        k = counts.index(max(counts))
        inside = next(box[k] for box, lack in zip(near, lacks, strict=True) if k in lack)
        for part in (region[k] & inside, region[k] & ~inside):
            todo.append(([*region[:k], part, *region[k + 1 :]], near))
    return []
