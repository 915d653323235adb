"""Differential privacy: q(s|x) <= K^d(x,x') q(s|x') for every signal s and all pairs that are asked for (`pairs`).

All pairs with d = 1 say that max_x q(s|x) <= K min_x q(s|x). Two observers see them: `top` loses -q(s|x) in column x,
`low` loses q(s|x), and the row of signal s is -t_top[s] - K t_low[s] <= 0. Otherwise there is a row for every pair and
signal. Pairs of a metric that others imply need no rows.

With delta: sum_s max(0, q(s|x) - K^d(x,x') q(s|x')) <= delta for every ordered pair x, x' that is asked for. It says
that P(S in T|x) <= K^d P(S in T|x') + delta for every set T of signals (Dwork and Roth, 2014). The observer `beyond`
has a group of two columns per pair, 0 and K^d q(s|x') - q(s|x): the least of the two is minus the maximum, and the row
of the pair is -sum_s t[s,pair] <= delta. The left side is convex in the two rows of the channel and
max(0, u + v) <= max(0, u) + max(0, v): pooling signals and, where all pairs are asked for, averaging equal states keep
it, and the null row keeps it too. A pair is not implied by others, as deltas add up: every pair has its row. delta = 0
is differential privacy; delta >= 1 asks nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from flint import fmpq

from bap_lp.conditions.base import limit
from bap_lp.conditions.events import LARGEST_LOG, RatioBound, factor, figure, told
from bap_lp.conditions.given import Conditions
from bap_lp.conditions.max_leakage import per_state, spread
from bap_lp.conditions.pairs import (
    PairCondition,
    PairDistances,
    distances_of,
    log_of,
    ratio_of,
    read_metric,
    read_pairs,
)
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Dual, Sparse
from bap_lp.program.lowering import Lowering, SentSignals
from bap_lp.support.rational import EXACT, Array, InputError, public, text

_NEAR = fmpq(3, 2)  # times the least distance: pairs up to there are in the program from the start


class Privacy(PairCondition):
    name = "privacy"
    numbers: ClassVar[dict[str, int]] = {"exp_epsilon": 1, "epsilon": 0, "delta": 0}

    @classmethod
    def read(cls, given: dict[str, Any]) -> None:
        ratio, epsilon = given.get("exp_epsilon"), given.get("epsilon")
        if ratio is not None and epsilon is not None:
            raise InputError("epsilon", epsilon, "must not be given together with exp_epsilon")
        for name in ("neighbours", "metric", "delta"):
            if name in given and ratio is None and epsilon is None:
                value = given[name] if name == "delta" else None
                raise InputError(name, value, "needs epsilon or exp_epsilon")
        if log_of(ratio, epsilon) > LARGEST_LOG:
            raise InputError("epsilon", log_of(ratio, epsilon), f"must be at most {LARGEST_LOG:.0f}")
        if "neighbours" in given:
            given["neighbours"] = read_pairs(given["neighbours"])
        if "metric" in given:
            given["metric"] = read_metric(given["metric"])
            if "neighbours" in given:
                raise InputError("metric", None, "must not be given together with neighbours")

    @classmethod
    def written(cls, name: str, value: Any) -> Any:
        if name == "metric":
            return [["inf" if d is None else text(d) for d in row] for row in value]
        return super().written(name, value)

    @classmethod
    def sentences(cls, given: Conditions, problem: Problem) -> Iterator[str]:
        if ratio_of(given) is None:
            return
        among = "two data sets that are neighbours" if given.neighbours is not None else "any two data sets"
        if given.metric is not None:
            among = "two data sets at distance one"
        slack = "" if given.delta is None else f", up to a probability of {figure(given.delta)}"
        rule = f"Each message is at most {factor(given)} times as likely for one of {among} as for the other{slack}"
        yield f"{rule}: differential privacy with ε = {log_of(given.exp_epsilon, given.epsilon):.3g}."

    @classmethod
    def is_exact(cls, given: Conditions) -> bool:
        """epsilon is not exact (unless 0), as its exponential is irrational; distances must be whole."""
        if not RatioBound(given.exp_epsilon, given.epsilon).exact or isinstance(given.delta, float):
            return False
        distances = [d for row in given.metric or () for d in row if d is not None]
        return all(isinstance(d, Fraction) and d.denominator == 1 for d in distances)

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> Privacy | None:
        if ratio_of(given) is None or given.delta not in (None, 0):
            return None
        out = cls(ratio_of(given), distances_of(given, problem))
        if out.distances is not None:
            out.writable(out.distances.needed)
        return out

    @property
    def needed(self) -> Array:
        known = self.distances
        return np.zeros((0, 2), dtype=np.int64) if known is None else known.pairs[known.needed]

    def broken(self, sent: SentSignals) -> str:
        """By definition, pair by pair; where K^d is rounded, the pairs that imply the others."""
        if self.distances is None:
            for s, column in enumerate(sent.q.T):
                if column.max() > self.base * column.min():
                    high, low = told(column.max()), told(column.min())
                    return f"signal {s} breaks differential privacy: {high} against {low}"
            return ""
        rounded = any(d.q != 1 for d in self.distances.kinds)
        for pairs, ratios in self.blocks(self.needed if rounded else self.distances.pairs, sent.q.shape[1]):
            broken = np.array(sent.q[pairs[:, 0]] > sent.q[pairs[:, 1]] * ratios, dtype=bool)
            # a K^d that cannot be written belongs to d(x,z) >= d(x,y) + d(y,z), both positive: these pairs imply it
            broken[ratios[:, 0] == 0] = False
            if broken.any():
                k, s = np.argwhere(broken)[0].tolist()
                return f"signal {s} breaks differential privacy between states {pairs[k, 0]} and {pairs[k, 1]}"
        return ""

    def lower(self, program: Lowering) -> None:
        N, S = len(program.arrays.p), len(program.signals)
        if self.distances is None:
            s, one = np.arange(S), np.zeros(1, dtype=int)
            program.observe("top", per_state(N, -1), one)
            program.observe("low", per_state(N, 1), one)
            terms = [("top", s, s, 0 * s, EXACT.full(S, 1)), ("low", s, s, 0 * s, EXACT.full(S, self.base))]
            program.demand(self.name, EXACT.zeros(S), terms=terms)
            return
        pairs = self.needed
        row, s = np.arange(len(pairs) * S), np.tile(np.arange(S), len(pairs))
        x, y = np.repeat(pairs, S, axis=0).T
        values = np.concatenate([EXACT.full(len(row), 1), -np.repeat(self.ratios(pairs), S)])
        entries = np.tile(row, 2), np.concatenate([x, y]), np.tile(s, 2), values
        program.demand(self.name, EXACT.zeros(len(row)), entries, lazy=np.repeat(self._far(pairs), S))

    def _far(self, pairs: Array) -> Array:
        """Which pairs are not among the nearest; none if there is one distance."""
        assert self.distances is not None
        apart = [d for d in self.distances.kinds if d > 0]
        if len(apart) < 2:
            return np.zeros(len(pairs), dtype=bool)
        far = np.array([d > _NEAR * min(apart) for d in self.distances.kinds])
        return far[self.distances.place[tuple(pairs.T)]]

    def expanded(self, dual: Dual, index: Array, share: Array) -> Dual:
        return spread(dual, ("top", "low"), index, share) if self.distances is None else dual

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        """R_A falls by sum w d K^(d-1) q(s|x') per unit of K."""
        w, q = dual.weights[self.name], sent.q
        if self.distances is None:
            return {"exp_epsilon": w.dot(q.min(axis=0))}
        S = q.shape[1]
        used = np.flatnonzero(w != 0)
        pairs = self.needed[used // S]
        return {"exp_epsilon": EXACT.zero + (w[used] * self.rates(pairs) * q[pairs[:, 1], used % S]).sum()}


_MOST = 500_000  # pairs times signals


class ApproximatePrivacy(PairCondition):
    name = "approximate_privacy"

    def __init__(self, base: Any, distances: PairDistances | None, delta: Any) -> None:
        super().__init__(base, distances)
        self.delta = delta

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

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        """The rate of K is sum u d K^(d-1) q(s|x'), with the replies u that say that a pair exceeds its ratio."""
        pairs = self.asked(len(sent.q))
        if not len(pairs):
            return {"delta": EXACT.zero}
        heard = (dual.replies["beyond"][:, 1::2].T * sent.q[pairs[:, 1]]).sum(axis=1)
        rate = EXACT.zero + (heard * self.rates(pairs)).sum()
        return {"exp_epsilon": rate, "delta": EXACT.zero + dual.weights[self.name].sum()}
