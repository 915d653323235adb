"""Whom a signal makes certain: on average a release can look like none while one of its signals gives the data away.

A signal tells an Eve as much as the data would if one of her decisions is best in every state that is possible there.
An Eve who has such a decision without any signal gains nothing from the data, and is left out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bap_lp.model.display import both, clean, person
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.rational import field_of, public

_NAMED = 3


class CertainEve(NamedTuple):
    """The signals that tell an Eve as much as the data would, and how often one of them is sent."""

    eve: str
    probability: Number
    signals: tuple[str, ...]

    def words(self) -> str:
        names = ", ".join(f"“{clean(name)}”" for name in self.signals[:_NAMED])
        more = f" and {len(self.signals) - _NAMED} more" if len(self.signals) > _NAMED else ""
        often = f"With probability {both(self.probability)}" if self.probability != 1 else "Always"
        return f"{often} the signal tells {person(self.eve)} as much as the data would: {names}{more}."


def certainties(problem: Problem, mechanism: Mechanism) -> list[CertainEve]:
    """One for every Eve with a table of losses; none where agents act on beliefs of their own."""
    if problem.misaligned or problem.reporting:
        return []
    p, field = problem.p, field_of(problem.p)
    occurs, sent = np.asarray(p != 0), np.asarray(mechanism.q != 0)
    found: dict[int, tuple[Number, list[str]]] = {n: (public(field.zero), []) for n in range(len(problem.eves))}
    for k, (n, _) in enumerate(problem.eve_views):
        losses = np.asarray(problem.eves[n].loss)
        right = np.asarray(losses == losses.min(axis=1)[:, None])
        share = None if problem.eve_shares is None else problem.eve_shares[:, k]
        seen = occurs if share is None else occurs & np.asarray(share != 0)
        if right[occurs].all(axis=0).any():
            continue
        for s, name in enumerate(mechanism.signals):
            live = np.flatnonzero(seen & sent[:, s])
            if len(live) and right[live].all(axis=0).any():
                mass = p[live] * field.array(mechanism.q[live, s])
                total, names = found[n]
                found[n] = total + public((mass if share is None else mass * share[live]).sum()), [*names, name]
    return [CertainEve(problem.eves[n].name, v, tuple(dict.fromkeys(names))) for n, (v, names) in found.items()]


def certainty_in_words(problem: Problem, mechanism: Mechanism) -> list[str]:
    """What the average does not say: one sentence for every Eve whom some signal makes certain."""
    return [one.words() for one in certainties(problem, mechanism) if one.signals]
