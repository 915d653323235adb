"""Conditions that speak about one signal at a time: for every signal s and every k, sum_x g_k(x) q[x,s] <= 0.

The rows form a cone in the likelihoods q(s|.), so sums of signals stay in it: such a condition survives pooling, and
one signal per decision of Bob is enough. Rows are numbered by s, then k. A condition says which vectors g_k it has, in
order, and what its row means.

Averaging two states with equal losses, weighted by their probabilities, keeps sum_x g_k(x) q[x,s] if g_k(x) / p(x) is
the same for both: such states are merged, and their g_k added. A state of probability zero matters only where some
g_k(x) is not zero; it is then a variable of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from bap_lp.conditions.base import Condition
from bap_lp.conditions.events import rows_of
from bap_lp.conditions.given import Conditions
from bap_lp.model.problem import Problem
from bap_lp.model.sums.merging import class_sums
from bap_lp.program.bound import Dual
from bap_lp.program.lowering import Lowering, SentSignals, Signals
from bap_lp.support.rational import EXACT, Array


@dataclass(frozen=True, eq=False)
class ConeRow:
    """What a vector g_k means: where the demand stands, its number, and how g_k depends on that.

    slope: h(x), where g_k is g_k - r h if the demand asks less by r; None without a number. told: a group of Eve's
    columns and one of them, where the row is only about signals that prescribe it.
    """

    label: str
    slope: Array | None = None
    value: Any = None
    told: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class SignalCone(Condition):
    """g[k,x] and what each k means."""

    g: Array
    meaning: tuple[ConeRow, ...]
    p: Array
    kind: ClassVar[type]  # of one demand
    merges = True

    @classmethod
    def stated(cls, value: Any) -> Any:
        return rows_of(cls.kind, value, cls.name)

    @classmethod
    def vectors(cls, stated: Any, problem: Problem) -> Iterator[tuple[Array, ConeRow]]:
        """Every g_k with its meaning, in order."""
        raise NotImplementedError

    @classmethod
    def of(cls, given: Conditions, problem: Problem) -> SignalCone | None:
        if getattr(given, cls.name) is None:
            return None
        rows = list(cls.vectors(getattr(given, cls.name), problem))
        g = EXACT.zeros((len(rows), len(problem.p)))
        for k, (vector, _) in enumerate(rows):
            g[k] = vector
        return cls(g, tuple(row for _, row in rows), problem.p)

    @property
    def null_row(self) -> bool:  # type: ignore[override]
        return not (self.g[:, self.p == 0] != 0).any()

    def features(self) -> Array:
        return (self.g / np.where(self.p > 0, self.p, 1 + 0 * self.p)).T

    def on(self, index: Array, count: int) -> SignalCone:
        slopes = [None if row.slope is None else class_sums(row.slope, index, count) for row in self.meaning]
        meaning = tuple(replace(row, slope=slope) for row, slope in zip(self.meaning, slopes, strict=True))
        sums = class_sums(self.g.T, index, count).T
        return replace(self, g=sums, meaning=meaning, p=class_sums(self.p, index, count))

    def broken(self, sent: SentSignals) -> str:
        if not len(self.g):
            return ""
        wrong = (self.g.dot(sent.q) > 0) & self._about(sent.signals).T
        if not wrong.any():
            return ""
        k, s = (int(v[0]) for v in np.nonzero(wrong))
        return f"signal {s} breaks {self.meaning[k].label}"

    def _about(self, signals: Signals) -> Array:
        """Which rows there are: signals x vectors."""
        out = np.ones((len(signals), len(self.g)), dtype=bool)
        for k, row in enumerate(self.meaning):
            if row.told is not None:
                assert signals.eve is not None
                out[:, k] = signals.eve[:, row.told[0]] == row.told[1]
        return out

    def lower(self, program: Lowering) -> None:
        s, k = np.nonzero(self._about(program.signals))
        row, x = np.nonzero((self.g != 0)[k])
        program.demand(self.name, EXACT.zeros(len(s)), (row, x, s[row], self.g[k[row], x]))

    def shadow(self, dual: Dual, sent: SentSignals) -> dict[str, Any]:
        """R_A falls by sum_s w[s,k] sum_x h_k(x) q[x,s] per unit of the number of a demand."""
        out: dict[str, Any] = {}
        (s, k), w = np.nonzero(self._about(sent.signals)), dual.weights[self.name]
        for number, row in enumerate(self.meaning):
            own = np.flatnonzero((k == number) & (w != 0))
            slope = self.p if row.slope is None else row.slope
            rate = EXACT.zero + (w[own] * slope.dot(sent.q)[s[own]]).sum() if len(own) else EXACT.zero
            out[row.label] = out.get(row.label, EXACT.zero) + rate
        return out
