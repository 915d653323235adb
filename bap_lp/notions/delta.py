"""(epsilon, delta): sum_s max(0, q(s|x) - K^d(x,x') q(s|x')) <= delta for every ordered pair x, x' that is asked for.

It says that P(S in T|x) <= K^d P(S in T|x') + delta for every set T of signals (Dwork and Roth, 2014). The observer
`beyond` has a group of two columns per pair, 0 and K^d q(s|x') - q(s|x): the least of the two is minus the maximum, and
the row of the pair is -sum_s t[s,pair] <= delta. The left side is convex in the two rows of the channel and
max(0, u + v) <= max(0, u) + max(0, v): pooling signals and, where all pairs are asked for, averaging equal states keep
it, and the null row keeps it too. A pair is not implied by others, as deltas add up: every pair has its row. delta = 0
is differential privacy; delta >= 1 asks nothing.
"""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.notions.base import Part, limit
from bap_lp.notions.conditions import Conditions
from bap_lp.notions.distances import PairDistances
from bap_lp.notions.pairs import PairNotion, distances_of, ratio_of
from bap_lp.notions.reading import told
from bap_lp.program.bound import Dual, Sparse
from bap_lp.program.lowering import Lowering, SentSignals, Signals
from bap_lp.rational import EXACT, Array, InputError, public

_MOST = 500_000  # pairs times signals


class ApproximatePrivacy(PairNotion):
    name = "approximate_privacy"
    numbers: ClassVar[dict[str, int]] = {"delta": 0}

    def __init__(self, base: Any, distances: PairDistances | None, delta: Any) -> None:
        super().__init__(base, distances)
        self.delta = delta

    @classmethod
    def validate(cls, given: Conditions) -> None:
        if given.delta is not None and not given.private:
            raise InputError("delta", given.delta, "needs epsilon or exp_epsilon")

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> ApproximatePrivacy | None:
        if given.delta in (None, 0):
            return None
        out = cls(ratio_of(given), distances_of(given, problem), limit(given.delta, 1, problem))
        if given.delta >= 1:
            return None
        if out.distances is not None:
            out.writable(np.ones(len(out.distances), dtype=bool))
        return out

    def broken(self, sent: SentSignals) -> str:
        for pairs, ratios in self.blocks(self.asked(len(sent.q)), sent.q.shape[1]):
            over = sent.q[pairs[:, 0]] - ratios * sent.q[pairs[:, 1]]
            beyond = np.where(over > 0, over, 0 * over).sum(axis=1)
            wrong = np.flatnonzero(beyond > self.delta)
            if len(wrong):
                (x, y), most = pairs[wrong[0]].tolist(), told(beyond[wrong[0]])
                return f"states {x} and {y} break (epsilon, delta)-privacy: {most} against delta = {told(self.delta)}"
        return ""

    def lower(self, program: Lowering) -> None:
        N, S = len(program.arrays.p), len(program.signals)
        pairs = self.asked(N)
        if not len(pairs):
            return
        if len(pairs) * (S + 1) > _MOST:
            raise InputError("delta", public(self.delta), f"needs {len(pairs) * (S + 1)} rows, more than {_MOST}")
        pair = np.arange(len(pairs))
        value = np.concatenate([EXACT.full(len(pairs), -1), self.ratios(pairs)])
        losses = Sparse(pairs.T.ravel(), np.tile(2 * pair + 1, 2), value, (N, 2 * len(pairs)))
        program.observe("beyond", losses, 2 * pair)
        row, s = np.repeat(pair, S), np.tile(np.arange(S), len(pairs))
        terms = [("beyond", row, s, row, EXACT.full(len(row), 1))]
        program.demand(self.name, EXACT.full(len(pairs), self.delta), terms=terms)

    def expanded(self, dual: Dual, index: Array, share: Array) -> Dual:
        """A pair of classes is shared by the pairs of their states, in proportion to both probabilities."""
        if self.distances is not None or "beyond" not in dual.replies:  # one class has no pairs
            return dual
        pairs, count = self.asked(len(index)), int(index.max()) + 1
        a, b = index[pairs].T
        live = (a >= 0) & (b >= 0) & (a != b)
        place = np.where(live, a * (count - 1) + b - (b > a), 0)  # among the ordered pairs of classes
        part = np.where(live, share[pairs[:, 0]] * share[pairs[:, 1]], EXACT.zero)
        columns = np.stack([2 * place, 2 * place + 1], axis=1).ravel()
        beyond, weights = dual.replies["beyond"], dual.weights[self.name]
        replies = dict(dual.replies) | {"beyond": beyond[:, columns] * np.repeat(part, 2)}
        return Dual(replies, dict(dual.weights) | {self.name: weights[place] * part})

    def parts(self, arrays: Arrays, signals: Signals) -> list[Part]:
        at = partial(ApproximatePrivacy, self.base, self.distances)
        return [Part("delta", self.delta, 1, EXACT.one, at)]

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        """The rate of K is sum u d K^(d-1) q(s|x'), with the replies u that say that a pair exceeds its ratio."""
        pairs = self.asked(len(sent.q))
        if not len(pairs):
            return {"delta": EXACT.zero}
        heard = (dual.replies["beyond"][:, 1::2].T * sent.q[pairs[:, 1]]).sum(axis=1)
        rate = EXACT.zero + (heard * self.rates(pairs)).sum()
        return {"exp_epsilon": rate, "delta": EXACT.zero + dual.weights[self.name].sum()}
