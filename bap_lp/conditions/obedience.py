"""Obedience: a signal prescribes a decision to every agent, and all follow it, by a margin if one is asked for.

Agent a acts on pi_a(x) and L_a(x,d), with the weight w_a. If signal s prescribes own(s,a) to him, then for all other d

    sum_x pi_a(x) (w_a L_a(x,own(s,a)) - w_a L_a(x,d) + m) q[x,s] <= 0

with the margin m: his decision is better than any other by m times the probability that he gives the signal. The rows
are numbered by s, then a, then d.

margin: all agents share Alice's prior and count, and all Bobs are one agent, the first. An Eve who knows z acts on
p(x) k(z|x). With m = 0 these are the obedience rows of the paper's own program.

beliefs: agents act on their own beliefs (see `model.beliefs`), and m is zero unless a margin is asked for: ties are
broken for Alice. States that only an agent believes possible have entries too. States are merged if the ratios
pi_a(x) / p(x) and the losses are equal: then their entries are multiples. Nobody has to demand this condition. It
belongs to every problem in which an agent's prior or loss is not Alice's. One signal per tuple of decisions is then
enough, and needed: signals of one tuple may be pooled, those of one decision not.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bap_lp.conditions.base import Condition, limit
from bap_lp.conditions.events import figure
from bap_lp.conditions.given import Conditions
from bap_lp.model.beliefs import Belief
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.merging import class_sums
from bap_lp.program.bound import Dual
from bap_lp.program.lowering import Lowering, SentSignals, Signals
from bap_lp.support.rational import EXACT, Array, InputError

_MOST = 2_000_000  # entries of the rows of all signals


class Obeyed(Condition):
    """Signals prescribe decisions, and a row of every other one says what it would gain: sum_x gains q[x,s] <= 0."""

    tuples = merges = null_row = True
    margin: Any

    def agents(self, arrays: Arrays) -> list[tuple[Array, Array]]:
        """What every agent acts on: pi(x) and pi(x) w L(x,d)."""
        raise NotImplementedError

    def told(self, signals: Signals) -> tuple[Array, ...]:
        """The decision of every Bob at every signal."""
        return (signals.bob,)

    def disobeyed(self, agent: int) -> str:
        raise NotImplementedError

    def gains(self, arrays: Arrays, signals: Signals) -> tuple[Array, Array, Array]:
        """The signal, the agent and the entries of every row."""
        assert signals.eve is not None
        told = [*self.told(signals), *(signals.eve - np.array([g.start for g in arrays.groups])).T]
        agents = self.agents(arrays)
        entries = sum(act.size - len(act) for _, act in agents) * len(signals)
        if entries > _MOST:
            rule = f"needs {entries} numbers, one per state, signal and other decision of an agent"
            raise InputError(self.name, None, f"{rule}, must need at most {_MOST}")
        signal, agent, gains = [], [], []
        for a, ((mass, act), own) in enumerate(zip(agents, told, strict=True)):
            s, d = np.nonzero(own[:, None] != np.arange(act.shape[1]))
            more = act[:, own[s]] - act[:, d]
            signal.append(s)
            agent.append(np.full(len(s), a))
            gains.append(more + self.margin * mass[:, None] if self.margin else more)
        order = np.argsort(np.concatenate(signal), kind="stable")  # by s, then a, then d
        return np.concatenate(signal)[order], np.concatenate(agent)[order], np.hstack(gains)[:, order]

    def broken(self, sent: SentSignals) -> str:
        s, a, gains = self.gains(sent.arrays, sent.signals)
        wrong = np.flatnonzero((gains * sent.q[:, s]).sum(axis=0) > 0)
        return f"at signal {s[wrong[0]]} {self.disobeyed(int(a[wrong[0]]))}" if len(wrong) else ""

    def lower(self, program: Lowering) -> None:
        s, _, gains = self.gains(program.arrays, program.signals)
        x, k = np.nonzero(gains != 0)
        program.demand(self.name, EXACT.zeros(len(s)), (k, x, s[k], gains[x, k]))

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        """R_A falls by sum w[s,a,d] P_a(s) per unit of the margin; P_a(s): how probable agent a finds the signal."""
        s, a, _ = self.gains(sent.arrays, sent.signals)
        w, masses = dual.weights[self.name], np.stack([mass.dot(sent.q) for mass, _ in self.agents(sent.arrays)])
        used = np.flatnonzero(w != 0)
        return {"margin": EXACT.zero + (w[used] * masses[a[used], s[used]]).sum()}


class Margin(Obeyed):
    name = "margin"
    numbers: ClassVar[dict[str, int]] = {"margin": 0}
    several = False

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
        names = ["Bob", *(problem.view_name(*view) for view in problem.eve_views)]
        return cls(margin, names, problem.eve_shares is None)  # states with the same losses may differ in k(z|x)

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        return f"At every message each decision is better than any other by at least {figure(value)}."

    def disobeyed(self, agent: int) -> str:
        return f"{self.names[agent]} prefers its decision by less than the margin"

    def agents(self, arrays: Arrays) -> list[tuple[Array, Array]]:
        """All Bobs together, then the Eves; who knows z acts on p(x) k(z|x), which is in her losses already."""
        p, shares = arrays.p, arrays.shares
        eves = [
            (p if shares is None else p * shares[:, k], p[:, None] * arrays.E[:, g])
            for k, g in enumerate(arrays.groups)
        ]
        return [(p, p[:, None] * arrays.B), *eves]


class Obedience(Obeyed):
    name = "beliefs"

    def __init__(self, margin: Any, beliefs: list[Belief], bobs: tuple[int, ...], p: Array) -> None:
        self.margin, self.beliefs, self.bobs, self.p = margin, beliefs, bobs, p
        self.null_row = not any((belief.mass[p == 0] > 0).any() for belief in beliefs)

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> Obedience | None:
        if not problem.misaligned:
            return None
        margin = EXACT.zero if given.margin is None else limit(given.margin, -1, problem)
        return cls(margin, list(problem.beliefs), tuple(len(bob.decisions or ()) for bob in problem.bobs), problem.p)

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        return ("margin",)

    def features(self) -> Array:
        own = np.hstack([part for b in self.beliefs for part in (b.mass[:, None], b.act)])
        return np.where(self.p[:, None] > 0, own / np.where(self.p > 0, self.p, 1 + 0 * self.p)[:, None], 0 * own)

    def on(self, index: Array, count: int) -> Obedience:
        beliefs = [
            Belief(b.name, b.role, class_sums(b.mass, index, count), class_sums(b.act, index, count), b.counted)
            for b in self.beliefs
        ]
        return Obedience(self.margin, beliefs, self.bobs, class_sums(self.p, index, count))

    def agents(self, arrays: Arrays) -> list[tuple[Array, Array]]:
        return [(belief.mass, belief.act) for belief in self.beliefs]

    def told(self, signals: Signals) -> tuple[Array, ...]:
        return np.unravel_index(signals.bob, self.bobs)

    def disobeyed(self, agent: int) -> str:
        by = ", or by less than the margin" if self.margin else ""
        return f"{self.beliefs[agent].name} does not follow its decision{by}"

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        return super().shadow(dual, sent) if self.margin > 0 else {}
