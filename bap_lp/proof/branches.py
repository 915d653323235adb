"""Proofs by cases: multipliers for parts of the mechanisms that together contain every feasible one.

A branch is about the channels that send only the signals `keep` and, in state x, only those listed for x in `fixed`.
Its bound takes each minimum over s in these signals alone. Under max_signals k every set of k signals must lie within
the signals of a branch; under determinism every map that sends at most k signals must follow one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from bap_lp.conditions.lagrangian import Multipliers
from bap_lp.rational import Array

_MOST = 1_000_000  # sets of signals, or parts of the maps, that are looked at


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
    if not deterministic:
        if most is None or most > signals or any(branch.fixed for branch in branches):
            return "there are branches without a limit on the signals"
        if comb(signals, most) > _MOST:
            return f"there are more than {_MOST} sets of {most} signals"
        known = [set(branch.keep) for branch in branches]
        for wanted in combinations(range(signals), most):
            if not any(keep.issuperset(wanted) for keep in known):
                return f"no branch is about the signals {wanted}"
        return ""
    parts: Array = np.zeros((len(branches), states, signals), dtype=bool)
    for part, branch in zip(parts, branches, strict=True):
        part[:, list(branch.keep)] = branch.allowed(states)
    open_: list[tuple[Array, Array]] = [(np.ones((states, signals), dtype=bool), parts)]
    for _ in range(_MOST):
        if not open_:
            return ""
        region, near = open_.pop()
        single = region[region.sum(axis=1) == 1].any(axis=0)
        if most is not None and single.sum() >= most:  # the decided states use all the signals there may be
            region = region & single if single.sum() == most else region & False
        if not region.any(axis=1).all():
            continue
        near = near[np.any(near & region, axis=2).all(axis=1)]
        if len(near):
            outside = np.any(region & ~near, axis=2)  # (branch, state): the branch lacks some of the region there
            if not outside.any(axis=1).all():
                continue
            x = int(outside.sum(axis=0).argmax())
            inside = region[x] & near[outside[:, x]][0, x]
        else:
            divided = np.flatnonzero(region.sum(axis=1) > 1)
            if most is None or not len(divided):
                return f"no branch is about the maps in {[np.flatnonzero(row).tolist() for row in region]}"
            # a region without a branch may be without a map of so few signals: look closer
            x = int(divided[0])
            inside = np.arange(signals) == int(region[x].argmax())
        for choice in (inside, region[x] & ~inside):
            smaller = region.copy()
            smaller[x] = choice
            open_.append((smaller, near))
    return "the branches are too many to check"
