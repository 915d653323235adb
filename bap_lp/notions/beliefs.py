"""Obedience of agents with beliefs of their own: a signal prescribes a decision to every agent, and all follow it.

Agent a acts on pi_a(x) and L_a(x,d) (see `model.beliefs`). If signal s prescribes own(s,a) to him, then for other d
    sum_x pi_a(x) (w_a L_a(x,own(s,a)) - w_a L_a(x,d) + m) q[x,s] <= 0
with the margin m, zero unless one is asked for: ties are broken for Alice. The rows are numbered by s, then a, then d.
States that only an agent believes possible have entries too. States are merged if the ratios pi_a(x) / p(x) and the
losses are equal: then their entries are multiples.

Nobody has to demand this condition. It belongs to every problem in which an agent's prior or loss is not Alice's. One
signal per tuple of decisions is then enough, and needed: signals of one tuple may be pooled, those of one decision not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.model.beliefs import Belief
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.merging import class_sums
from bap_lp.notions.base import Notion, Part, limit
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.margin import Obeyed
from bap_lp.program.bound import Dual
from bap_lp.program.lowering import SentSignals, Signals
from bap_lp.rational import EXACT, Array


class Obedience(Obeyed):
    name = "beliefs"

    def __init__(self, margin: Any, beliefs: list[Belief], bobs: tuple[int, ...], starts: list[int], p: Array) -> None:
        self.margin, self.beliefs, self.bobs, self.starts, self.p = margin, beliefs, bobs, starts, p
        self.null_row = not any((belief.mass[p == 0] > 0).any() for belief in beliefs)

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> Obedience | None:
        if not problem.misaligned:
            return None
        margin = EXACT.zero if given.margin is None else limit(given.margin, -1, problem)
        bobs = tuple(len(bob.decisions or ()) for bob in problem.bobs)
        starts = [g.start for g in problem.eve_groups]
        return cls(margin, list(problem.beliefs), bobs, starts, problem.p)

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        return ("margin",)

    def at(self, margin: Any) -> Obedience:
        """With another margin."""
        return Obedience(margin, self.beliefs, self.bobs, self.starts, self.p)

    def kept(self) -> Obedience:
        """Agents with beliefs of their own obey in any case."""
        return self.at(0 * self.margin)

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        """The margin, if there is one; obedience itself cannot be dropped."""
        return [Part("margin", self.margin, -1, 0 * self.margin, self.at)] if self.margin > 0 else []

    def joined(self, other: Notion) -> Notion:
        assert isinstance(other, Obedience)
        return self if self.margin >= other.margin else other

    def features(self) -> Array:
        own = np.hstack([part for b in self.beliefs for part in (b.mass[:, None], b.act)])
        return np.where(self.p[:, None] > 0, own / np.where(self.p > 0, self.p, 1 + 0 * self.p)[:, None], 0 * own)

    def on(self, index: Array, count: int) -> Obedience:
        beliefs = [
            Belief(b.name, b.role, class_sums(b.mass, index, count), class_sums(b.act, index, count), b.counted)
            for b in self.beliefs
        ]
        return Obedience(self.margin, beliefs, self.bobs, self.starts, class_sums(self.p, index, count))

    def gains(self, arrays: Arrays, signals: Signals) -> tuple[Array, Array, Array]:
        """Of a row for every agent and other decision."""
        assert signals.eve is not None
        told = np.column_stack([*np.unravel_index(signals.bob, self.bobs), signals.eve - np.array(self.starts)])
        signal, agent, gains = [], [], []
        for s, own in enumerate(told.tolist()):
            for a, belief in enumerate(self.beliefs):
                others = np.flatnonzero(np.arange(belief.act.shape[1]) != own[a])
                signal += [s] * len(others)
                agent += [a] * len(others)
                more = belief.act[:, [own[a]]] - belief.act[:, others]
                gains.append(more + self.margin * belief.mass[:, None] if self.margin else more)
        return np.array(signal, dtype=int), np.array(agent, dtype=int), np.hstack(gains)

    def disobeyed(self, decider: int) -> str:
        by = ", or by less than the margin" if self.margin else ""
        return f"{self.beliefs[decider].name} does not follow its decision{by}"

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        """R_A falls by sum w[s,a,d] P_a(s) per unit of margin, with the agents' own probabilities of the signals."""
        if not self.margin > 0:
            return {}
        s, a, _ = self.gains(sent.arrays, sent.signals)
        masses = np.stack([belief.mass.dot(sent.q) for belief in self.beliefs])
        return {"margin": EXACT.zero + (dual.weights[self.name] * masses[a, s]).sum()}
