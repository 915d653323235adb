"""Proofs by cases: multipliers for parts of the mechanisms that together contain every feasible one.

A branch is about the channels that send only the signals `keep` and, in state x, only those listed for x in `fixed`.
Its bound takes each minimum over s in these signals alone. Under max_signals k every set of k signals must lie within
the signals of a branch; under determinism every map that sends at most k signals must follow one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bap_lp.conditions.lagrangian import Multipliers
from bap_lp.limits import limit
from bap_lp.rational import Array


@dataclass(frozen=True, eq=False)
class Branch:
    """Multipliers for the mechanisms of a part; `void`: they prove that none of these meets the conditions.

    Signals in `fixed` and in the multipliers are positions in `keep`.
    """

    keep: tuple[int, ...]
    multipliers: Multipliers
    fixed: tuple[tuple[int, tuple[int, ...]], ...] = ()
    void: bool = False

    def allowed(self, states: int) -> Array:
        """Which signals of `keep` each state may send."""
        out = np.ones((states, len(self.keep)), dtype=bool)
        for x, signals in self.fixed:
            out[x] = np.isin(np.arange(len(self.keep)), signals)
        return out


def uncovered(branches: Sequence[Branch], states: int, signals: int, most: int | None, deterministic: bool) -> str:
    """Which mechanisms no branch is about, or ""."""
    for branch in branches:
        if (
            not branch.keep
            or not set(branch.keep) <= set(range(signals))
            or any(
                not 0 <= x < states or not set(few) or not set(few) <= set(range(len(branch.keep)))
                for x, few in branch.fixed
            )
        ):
            return f"the branch {branch.keep} is about no signals or states of the problem"
    if deterministic:
        return _uncovered_maps(branches, states, signals, most)
    if most is None or most > signals or any(branch.fixed for branch in branches):
        return "there are branches without a limit on the signals"
    return _uncovered_signals([(1 << signals) - 1 & ~_bits(branch.keep) for branch in branches], signals, most)


def _bits(signals: Sequence[int]) -> int:
    return sum(1 << s for s in set(signals))


def _uncovered_signals(lacking: list[int], signals: int, most: int) -> str:
    """A set of `most` signals lies in no branch if and only if it has one that each branch lacks: find such a set.

    Sets of signals are the bits of integers. A branch that lacks none of the chosen signals must lack the next one.
    """
    open_, steps = [(0, 0)], limit("parts")
    while open_:
        chosen, banned = open_.pop()
        steps -= 1 + len(lacking)
        if steps < 0:
            return "the branches are too many to check"
        unmet = [lack & ~banned for lack in lacking if not lack & chosen]
        if not unmet:
            return f"no branch is about the signals {tuple(s for s in range(signals) if chosen >> s & 1)}"
        if chosen.bit_count() < most:
            first = min(unmet, key=int.bit_count)
            for s in range(signals):
                if first >> s & 1:
                    open_.append((chosen | 1 << s, banned))
                    banned |= 1 << s
    return ""


def _uncovered_maps(branches: Sequence[Branch], states: int, signals: int, most: int | None) -> str:
    """A region lists the signals that each state may send; it is split along the branches until they contain it."""
    parts = []
    for branch in branches:
        few = {x: _bits([branch.keep[s] for s in own]) for x, own in branch.fixed}
        parts.append([few.get(x, _bits(branch.keep)) for x in range(states)])
    open_, steps = [([(1 << signals) - 1] * states, parts)], limit("parts")
    while open_:
        region, near = open_.pop()
        steps -= states * (1 + len(near))
        if steps < 0:
            return "the branches are too many to check"
        if most is not None:
            single = 0
            for row in region:
                single |= row if row.bit_count() == 1 else 0
            if single.bit_count() >= most:  # the decided states use all the signals there may be
                region = [row & single if single.bit_count() == most else 0 for row in region]
        if not all(region):
            continue
        near = [part for part in near if all(a & b for a, b in zip(part, region, strict=True))]
        lacks = [[x for x in range(states) if region[x] & ~part[x]] for part in near]
        if not all(lacks):
            continue
        if near:
            counts = [sum(x in lack for lack in lacks) for x in range(states)]
            x = counts.index(max(counts))
            inside = region[x] & next(part[x] for part, lack in zip(near, lacks, strict=True) if x in lack)
        else:
            divided = [x for x in range(states) if region[x].bit_count() > 1]
            if most is None or not divided:
                shown = [[s for s in range(signals) if row >> s & 1] for row in region]
                return f"no branch is about the maps in {shown}"
            # a region without a branch may be without a map of so few signals: look closer
            x = divided[0]
            inside = region[x] & -region[x]
        for choice in (inside, region[x] & ~inside):
            open_.append(([*region[:x], choice, *region[x + 1 :]], near))
    return ""
