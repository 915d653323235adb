"""Proofs by cases: multipliers for parts of the mechanisms that together contain every feasible one.

A case is about the channels that send only the signals `keep` and, in state x, only those listed for x in `fixed`. Its
bound takes each minimum over s in these signals alone. Under max_signals k every set of k signals must lie within the
signals of a case; under determinism every map that sends at most k signals must follow one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bap_lp.limits import limit
from bap_lp.program.bound import Dual
from bap_lp.rational import Array, InputError


@dataclass(frozen=True, eq=False)
class Case:
    """Multipliers for the mechanisms of a part; `void`: they prove that none of these meets the conditions.

    Signals in `fixed` and views in the multipliers are positions in `keep`.
    """

    keep: tuple[int, ...]
    dual: Dual
    fixed: tuple[tuple[int, tuple[int, ...]], ...] = ()
    void: bool = False

    def allowed(self, states: int) -> Array:
        """Which signals of `keep` each state may send."""
        out = np.ones((states, len(self.keep)), dtype=bool)
        for x, signals in self.fixed:
            out[x] = np.isin(np.arange(len(self.keep)), signals)
        return out


def uncovered(cases: Sequence[Case], states: int, signals: int, most: int | None, deterministic: bool) -> str:
    """Which mechanisms no case is about, or ""."""
    for case in cases:
        if (
            not 0 < len(case.keep) == len(set(case.keep))
            or not set(case.keep) <= set(range(signals))
            or any(
                not 0 <= x < states or not set(few) or not set(few) <= set(range(len(case.keep)))
                for x, few in case.fixed
            )
        ):
            return f"the case {case.keep} is about no signals or states of the problem"
    if deterministic:  # for every state the signals that it may send, as bits
        boxes = []
        for case in cases:
            few = {x: _bits([case.keep[s] for s in own]) for x, own in case.fixed}
            boxes.append([few.get(x, _bits(case.keep)) for x in range(states)])

        def few_used(sets: Region) -> Region:  # the states that are decided may use all that there may be
            used = sum({part for part in sets if part.bit_count() == 1})
            return sets if used.bit_count() < (most or 0) else [part & used for part in sets]

        region = _outside([(1 << signals) - 1] * states, boxes, None if most is None else few_used)
        maps = [[s for s in range(part.bit_length()) if part >> s & 1] for part in region]
        return f"no case is about the maps in {maps}" if region else ""
    if most is None or most > signals or any(case.fixed for case in cases):
        return "there are cases without a limit on the signals"
    # for every signal: 1 it is sent, 2 it is not
    boxes = [[3 if s in case.keep else 2 for s in range(signals)] for case in cases]

    def few_sent(sets: Region) -> Region:
        return sets if sets.count(1) < most else [part if part == 1 else part & 2 for part in sets]

    region = _outside([3] * signals, boxes, few_sent)
    sent = tuple(s for s, part in enumerate(region) if part == 1)
    return f"no case is about the signals {sent}" if region else ""


def _bits(signals: Sequence[int]) -> int:
    return sum(1 << s for s in set(signals))


Region = list[int]


def _outside(whole: Region, boxes: list[Region], few: Callable[[Region], Region] | None) -> Region:
    """A region of choices of an element per place, with few signals, that lies in no box; [] if there is none.

    A region and a box are a set of elements per place, as bits. Regions are split along the boxes.
    """
    todo, steps = [(whole, boxes)], limit("parts")
    while todo:
        region, near = todo.pop()
        region = region if few is None else few(region)
        steps -= len(whole) * (1 + len(near))
        if steps < 0:
            raise InputError("cases", len(boxes), "are too many to check")
        near = [box for box in near if all(a & b for a, b in zip(box, region, strict=True))]
        lacks = [[k for k, part in enumerate(region) if part & ~box[k]] for box in near]
        if not all(region) or not all(lacks):
            continue  # it is empty, or a box contains it
        counts = [(sum(k in lack for lack in lacks), part.bit_count() > 1) for k, part in enumerate(region)]
        k = counts.index(max(counts))
        if not near and (few is None or region[k].bit_count() == 1):
            return region
        # a region without a box may have no choice with so few signals: look closer
        inside = next((box[k] for box, lack in zip(near, lacks, strict=True) if k in lack), region[k] & -region[k])
        for part in (region[k] & inside, region[k] & ~inside):
            todo.append(([*region[:k], part, *region[k + 1 :]], near))
    return []
