"""Obedience of agents with beliefs of their own: a signal prescribes a decision to every agent, and all follow it.

Agent a acts on pi_a(x) and L_a(x,d) (see `model.beliefs`). If signal s prescribes own(s,a) to him, then for other d
    sum_x pi_a(x) (w_a L_a(x,own(s,a)) - w_a L_a(x,d) + m) q[x,s] <= 0
with the margin m, zero unless one is asked for: ties are broken for Alice. States that only an agent believes possible
have rows too. States are merged if the ratios pi_a(x) / p(x) and the losses are equal: then their rows are multiples.

Nobody has to demand this condition. It belongs to every problem in which an agent's prior or loss is not Alice's. One
signal per tuple of decisions is then enough, and needed: signals of one tuple may be pooled, those of one decision not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.conditions.base import Condition, LinearRows, Part, broken_row
from bap_lp.conditions.lagrangian import Prices, SentSignals
from bap_lp.conditions.signals import Signals
from bap_lp.model.arrays import Arrays
from bap_lp.model.beliefs import Belief
from bap_lp.model.merging import class_sums
from bap_lp.rational import Array, Field

if TYPE_CHECKING:
    from bap_lp.conditions.conditions import Conditions
    from bap_lp.model.problem import Problem


class Obedience(Condition):
    name = "beliefs"
    width = 3  # signal, agent, decision
    tuples = True

    def __init__(self, margin: Any, beliefs: list[Belief], bobs: tuple[int, ...], starts: list[int], p: Array) -> None:
        self.margin, self.beliefs, self.bobs, self.starts, self.p = margin, beliefs, bobs, starts, p
        self.null_row = not any((belief.mass[p == 0] > 0).any() for belief in beliefs)

    @classmethod
    def of(cls, given: Conditions, problem: Problem, field: Field) -> Obedience | None:
        if not problem.misaligned:
            return None
        margin = field.number(given.margin or 0)
        bobs = tuple(len(bob.decisions or ()) for bob in problem.bobs)
        starts = [g.start for g in problem.eve_groups]
        return cls(margin, [b.in_field(field) for b in problem.beliefs], bobs, starts, field.array(problem.p))

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        return ("margin",)

    def shadow(self, prices: Prices, sent: SentSignals) -> dict[str, Any]:
        """R_A falls by sum w[s,a,d] P_a(s) per unit of margin, with the agents' own probabilities of the signals."""
        masses = np.stack([belief.mass.dot(sent.q) for belief in self.beliefs])
        total = (prices.weights * masses[prices.places[:, 1], prices.places[:, 0]]).sum()
        return {"margin": sent.arrays.field.zero + total} if self.margin > 0 else {}

    def at(self, margin: Any) -> Obedience:
        """With another margin."""
        return Obedience(margin, self.beliefs, self.bobs, self.starts, self.p)

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        """The margin, if there is one; obedience itself cannot be dropped."""
        return [Part("margin", self.margin, -1, 0 * self.margin, self.at)] if self.margin > 0 else []

    def joined(self, other: Condition) -> Condition:
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

    def told(self, signals: Signals) -> Array:
        """own(s,a): what signal s prescribes to agent a, Bobs first."""
        assert signals.eve is not None
        return np.column_stack([*np.unravel_index(signals.bob, self.bobs), signals.eve - np.array(self.starts)])

    def check(self, sent: SentSignals, unit: Any) -> str:
        places = self.places(sent.arrays, sent.signals)
        _, x, s, gains = self.linear(places, sent.arrays, sent.signals).q
        heard = sent.q[x, s]
        # an agent's losses do not limit what Alice counts if he disobeys: even a rare signal is judged by its own terms
        row = broken_row(gains, heard, abs(gains * heard).sum(axis=0), unit)
        if row is None:
            return ""
        by = ", or by less than the margin" if self.margin else ""
        return f"at signal {places[row, 0]} {self.beliefs[places[row, 1]].name} does not follow its decision{by}"

    def places(self, arrays: Arrays, signals: Signals) -> Array:
        told = self.told(signals)
        rows = [
            (s, a, d)
            for s, own in enumerate(told.tolist())
            for a, belief in enumerate(self.beliefs)
            for d in range(belief.act.shape[1])
            if d != own[a]
        ]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    def linear(self, places: Array, arrays: Arrays, signals: Signals) -> LinearRows:
        told, field = self.told(signals), arrays.field
        N, rows = len(arrays.p), len(places)
        gains = field.zeros((N, rows))
        for a, belief in enumerate(self.beliefs):
            mine = np.flatnonzero(places[:, 1] == a)
            s, d = places[mine, 0], places[mine, 2]
            gains[:, mine] = belief.act[:, told[s, a]] - belief.act[:, d] + self.margin * belief.mass[:, None]
        x, k = np.indices((N, rows))
        return LinearRows(field.zeros(rows), q=(k, x, places[:, 0][k], gains))
