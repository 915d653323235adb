"""Obedience: a signal prescribes a decision to every agent, and all follow it, by a margin if one is asked for.

margin m: at every signal sent Bob's decision is better than any other by m P(signal), and so is each Eve's. Number the
decisions of all agents d, Bob's first, let L be their (weighted) losses and own(s,d) the decision prescribed at s to
the agent of d. For all d != own(s,d)

    sum_x p(x) (L(x,own(s,d)) - L(x,d) + m) q[x,s] <= 0,

the rows of this notion, numbered by s, then d. An Eve who knows z has the losses k(z|x) E(x,j) there, and m k(z|x) in
place of m: she prefers her decision by m times the probability of the signal and z. Without a margin these are the
obedience rows of the paper's own program.

beliefs: agent a acts on pi_a(x) and L_a(x,d) (see `model.beliefs`). If signal s prescribes own(s,a) to him, then for
other d

    sum_x pi_a(x) (w_a L_a(x,own(s,a)) - w_a L_a(x,d) + m) q[x,s] <= 0

with the margin m, zero unless one is asked for: ties are broken for Alice. The rows are numbered by s, then a, then d.
States that only an agent believes possible have entries too. States are merged if the ratios pi_a(x) / p(x) and the
losses are equal: then their entries are multiples. Nobody has to demand this condition. It belongs to every problem in
which an agent's prior or loss is not Alice's. One signal per tuple of decisions is then enough, and needed: signals of
one tuple may be pooled, those of one decision not.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bap_lp.model.beliefs import Belief
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.merging import class_sums
from bap_lp.notions.base import Notion, Part, limit
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.reading import figure
from bap_lp.program.bound import Dual
from bap_lp.program.lowering import Lowering, SentSignals, Signals
from bap_lp.rational import EXACT, Array, InputError


class Obeyed(Notion):
    """Signals prescribe decisions, and a row of every other one says what it would gain: sum_x gains q[x,s] <= 0."""

    tuples = True

    def gains(self, arrays: Arrays, signals: Signals) -> tuple[Array, Array, Array]:
        raise NotImplementedError

    def disobeyed(self, decider: int) -> str:
        raise NotImplementedError

    def broken(self, sent: SentSignals) -> str:
        s, d, gains = self.gains(sent.arrays, sent.signals)
        wrong = np.flatnonzero((gains * sent.q[:, s]).sum(axis=0) > 0)
        return f"at signal {s[wrong[0]]} {self.disobeyed(int(d[wrong[0]]))}" if len(wrong) else ""

    def lower(self, program: Lowering) -> None:
        s, _, gains = self.gains(program.arrays, program.signals)
        x, k = np.nonzero(gains != 0)
        program.demand(self.name, EXACT.zeros(len(s)), (k, x, s[k], gains[x, k]))


class Margin(Obeyed):
    name = "margin"
    numbers: ClassVar[dict[str, int]] = {"margin": 0}
    with_reports = several = False

    def __init__(self, margin: Any, names: list[str], merges: bool = True) -> None:
        self.margin, self.names, self.merges = margin, names, merges

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> Margin | None:
        if given.margin is None or problem.misaligned:
            return None  # agents with beliefs of their own have the margin in their obedience
        if problem.reporting:
            raise InputError(cls.name, given.margin, "is not possible where probabilities are reported")
        return cls.obeyed(limit(given.margin, -1, problem), problem)

    @classmethod
    def obeyed(cls, margin: Any, problem: Problem) -> Margin:
        """Everybody does as he is told, and prefers it by a margin, which may be zero."""
        views = ((problem.view_name(*view), g) for view, g in zip(problem.eve_views, problem.eve_groups, strict=True))
        names = ["Bob"] * problem.shape[1] + [name for name, g in views for _ in range(g.stop - g.start)]
        return cls(margin, names, problem.eve_shares is None)  # states with the same losses may differ in k(z|x)

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        return f"At every message each decision is better than any other by at least {figure(value)}."

    def disobeyed(self, decider: int) -> str:
        return f"{self.names[decider]} prefers its decision by less than the margin"

    def gains(self, arrays: Arrays, signals: Signals) -> tuple[Array, Array, Array]:
        assert signals.eve is not None
        b = arrays.shape[1]
        told = np.hstack([signals.bob[:, None], b + signals.eve])
        own = told[:, np.append(np.zeros(b, dtype=int), 1 + arrays.group_of)]  # own(s,d)
        s, d = np.nonzero(own != np.arange(own.shape[1]))
        losses = np.hstack([arrays.B, arrays.E])
        return s, d, arrays.p[:, None] * (losses[:, own[s, d]] - losses[:, d] + self.margin * _shares(arrays)[:, d])

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        return [Part(self.name, self.margin, -1, EXACT.zero, lambda m: Margin(m, self.names, self.merges))]

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        """R_A falls by sum w[s,d] P(signal s and what the agent of d knows) per unit of the margin."""
        s, d, _ = self.gains(sent.arrays, sent.signals)
        w = dual.weights[self.name]
        used = np.flatnonzero(w != 0)
        heard = (_shares(sent.arrays)[:, d[used]] * sent.rho[:, s[used]]).sum(axis=0)
        return {self.name: EXACT.zero + (w[used] * heard).sum()}


def _shares(arrays: Arrays) -> Array:
    """The probability with which the agent of decision d is at hand: k(z|x), or one; states x decisions."""
    N, b, e = arrays.shape
    if arrays.shares is None:
        return EXACT.full((N, b + e), 1)
    return np.hstack([EXACT.full((N, b), 1), arrays.shares[:, arrays.group_of]])


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
