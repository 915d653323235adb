"""margin m: at every signal sent Bob's decision is better than any other by m P(signal), and so is each Eve's.

A signal s prescribes a decision to Bob and to every Eve. Number the decisions of all agents d, Bob's first, let L be
their (weighted) losses and own(s,d) the decision prescribed at s to the agent of d. For all d != own(s,d)
    sum_x p(x) (L(x,own(s,d)) - L(x,d) + m) q[x,s] <= 0,
the rows of this notion, numbered by s, then d. An Eve who knows z has the losses k(z|x) E(x,j) there, and m k(z|x) in
place of m: she prefers her decision by m times the probability of the signal and z. Without a margin these are the
obedience rows of the paper's own program.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
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
        """Signal and decider of every row, and what the prescribed decision loses by it, states x rows."""
        raise NotImplementedError

    def disobeyed(self, decider: int) -> str:
        """Who does not follow his decision, in words."""
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
    def sentences(cls, given: Conditions, problem: Problem) -> Iterator[str]:
        if given.margin is not None:
            yield f"At every message each decision is better than any other by at least {figure(given.margin)}."

    def disobeyed(self, decider: int) -> str:
        return f"{self.names[decider]} prefers its decision by less than the margin"

    def gains(self, arrays: Arrays, signals: Signals) -> tuple[Array, Array, Array]:
        """Of a row for every decision of an agent."""
        own = _own(arrays, signals)
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


def _own(arrays: Arrays, signals: Signals) -> Array:
    """own(s,d): what the agent of decision d is told at s."""
    assert signals.eve is not None
    b = arrays.shape[1]
    told = np.hstack([signals.bob[:, None], b + signals.eve])
    return told[:, np.append(np.zeros(b, dtype=int), 1 + arrays.group_of)]


def _shares(arrays: Arrays) -> Array:
    """The probability with which the agent of decision d is at hand: k(z|x), or one; states x decisions."""
    N, b, e = arrays.shape
    if arrays.shares is None:
        return EXACT.full((N, b + e), 1)
    return np.hstack([EXACT.full((N, b), 1), arrays.shares[:, arrays.group_of]])
