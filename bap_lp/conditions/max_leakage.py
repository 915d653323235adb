"""max_leakage c: sum_s max_x q(s|x) <= c, the exponential of maximal leakage (Issa, Wagner and Kamath, 2020).

The observer `leak` loses -q(s|x) in column x: its least is -max_x q(s|x), and the row is -sum_s t[s] <= c. The maximum
of a sum is at most the sum of the maxima: pooling signals, averaging equal states and giving a state of probability
zero the null row can only lower the left side. c lies between 1, where nothing is released, and the number of signals.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from bap_lp.conditions.events import figure, told
from bap_lp.conditions.risk_limits import NumberLimit
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Dual, Sparse
from bap_lp.program.lowering import Lowering, SentSignals
from bap_lp.support.rational import EXACT, Array


def per_state(count: int, value: int) -> Sparse:
    """An observer's column for every state, with one loss: value * q(s|x)."""
    x = np.arange(count)
    return Sparse(x, x, EXACT.full(count, value), (count, count))


def spread(dual: Dual, names: tuple[str, ...], index: Array, share: Array) -> Dual:
    """Replies about merged states, shared by the states of a class according to their probabilities."""
    replies = dict(dual.replies)
    for name in names:
        replies[name] = np.where(index >= 0, replies[name][:, index], EXACT.zero) * share
    return Dual(replies, dual.weights)


class MaximalLeakage(NumberLimit):
    name = "max_leakage"
    numbers: ClassVar[dict[str, int]] = {"max_leakage": 1}

    @classmethod
    def sentence(cls, value: Any, problem: Problem) -> str:
        times = figure(value)
        return f"Whatever somebody wants to guess, the messages make the guess right at most {times} times as often."

    def broken(self, sent: SentSignals) -> str:
        leaked = sent.q.max(axis=0).sum()
        more = leaked > self.limit
        return f"the signals leak {told(leaked)}, more than max_leakage = {told(self.limit)}" if more else ""

    def lower(self, program: Lowering) -> None:
        s = np.arange(len(program.signals))
        program.observe("leak", per_state(len(program.arrays.p), -1), np.zeros(1, dtype=int))
        program.demand(self.name, EXACT.full(1, self.limit), terms=[("leak", 0 * s, s, 0 * s, EXACT.full(len(s), 1))])

    def expanded(self, dual: Dual, index: Array, share: Array) -> Dual:
        return spread(dual, ("leak",), index, share)
