"""How a problem under conditions becomes a program: its states and signals, and the way back to the problem's own.

States that no condition distinguishes are merged (`Condition.merges`), those of probability zero are left out where the
null row will do. The weights choose among several optima; under determinism a weight is the place of the map in
lexicographic order.

Float losses enter as differences. The least loss of a state is a constant in the risks of all channels; next to losses
of 1e9 the products p(x) B(x,i) would lose the differences of decisions that matter. `lowered` takes it off, and moves
the limits on risks by as much; channels and multipliers are those of the problem itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bap_lp.conditions.base import Condition
from bap_lp.conditions.combinatorial import Deterministic, MaxSignals
from bap_lp.conditions.conditions import Conditions
from bap_lp.conditions.lagrangian import SentSignals
from bap_lp.conditions.signals import Signals, signals_of
from bap_lp.model.arrays import Arrays, pooled
from bap_lp.model.problem import Problem
from bap_lp.programs.ties import weights
from bap_lp.rational import EXACT, TOLERANCE, Array, InputError, ReadOnly, float_below, objects

_LEXICOGRAPHIC = 50  # bits of a map up to which maps are chosen in lexicographic order; beyond, by fixed weights
_MOST = 2_000_000  # entries q[x,s] of a program


@dataclass(frozen=True, eq=False)
class ChannelLayout(ReadOnly):
    """A problem under conditions: the program's states and signals, and the state of each of the problem's, or -1."""

    problem: Problem
    demands: tuple[Condition, ...]
    whole: Arrays  # on the problem's states
    arrays: Arrays
    index: Array
    signals: Signals
    weights: Array  # of q[x,s], to choose among optima
    stated: tuple[Conditions, tuple[Condition, ...]] | None = None  # the conditions as written, with their demands
    taken: tuple[Any, Any] = (EXACT.zero, EXACT.zero)  # what was taken off every R_B and R_E, in rationals

    @classmethod
    def of(cls, problem: Problem, conditions: Conditions) -> ChannelLayout:
        demands, arrays = conditions.demands(problem), problem.arrays
        if not all(demand.null_row for demand in demands):
            index = np.arange(len(arrays.p))
        elif not all(demand.merges for demand in demands):
            live = np.array([mass > 0 for mass in arrays.p])
            arrays, index = arrays.states(live), np.where(live, np.cumsum(live) - 1, -1)
        else:
            told = [own for own in (demand.features() for demand in demands) if own is not None]
            arrays, index = arrays.merged(np.hstack(told) if told else None)
        signals = signals_of(problem, any(demand.tuples for demand in demands))
        if len(arrays.p) * len(signals) > _MOST:
            rule = f"need {len(arrays.p)} x {len(signals)} probabilities, more than {_MOST}"
            raise InputError("conditions", None, rule)
        N, S, field = len(arrays.p), len(signals), arrays.field
        table = weights(N * S, field).reshape(N, S)
        if conditions.deterministic and N * math.log2(S) <= _LEXICOGRAPHIC:
            table = objects(EXACT.number(S) ** (N - 1 - x) * s for x in range(N) for s in range(S)).reshape(N, S)
        whole = problem.arrays
        return cls(problem, demands, whole, arrays, index, signals, field.array(table), (conditions, demands))

    @cached_property
    def local(self) -> tuple[Condition, ...]:
        """The conditions on the program's states."""
        return tuple(demand.on(self.index, len(self.arrays.p)) for demand in self.demands)

    @cached_property
    def lowered(self) -> ChannelLayout:
        """With the least loss of every state taken off, in floats: the same channels and multipliers are optimal."""
        taken = (EXACT.zero, EXACT.zero) if self.whole.exact else self.whole.full_risks()
        if not any(taken):
            return self
        demands = tuple(demand.lowered(*taken) for demand in self.demands)
        arrays, whole = self.arrays.lowered(0)[0], self.whole.lowered(0)[0]
        return replace(self._demanding(demands), arrays=arrays, whole=whole, taken=taken)

    def lifted(self, conditions: Conditions) -> ChannelLayout:
        """In rationals, floats being the rationals they are."""
        demands, table = conditions.demands(self.problem, EXACT), EXACT.array(self.weights)
        own, whole = self.arrays.lifted(), self.whole.lifted()
        return replace(self, demands=demands, arrays=own, whole=whole, weights=table, stated=None)

    @property
    def relaxed(self) -> ChannelLayout | None:
        """With conditions loosened by less than floats may miss them by; None if there are none to loosen."""
        unit = self.whole.field.number(TOLERANCE)
        demands = tuple(demand.relaxed(self.whole, unit) for demand in self.demands)
        return None if demands == self.demands else self._demanding(demands)

    def _demanding(self, demands: tuple[Condition, ...]) -> ChannelLayout:
        """With other demands of the same conditions."""
        stated = self.stated
        if stated is not None:
            stated = (stated[0], demands) if stated[1] is self.demands else None
        return replace(self, demands=demands, stated=stated)

    def restored(self, bound: Any, lam: Any, bob_weight: int = 1) -> Any:
        """A bound for the problem itself, from one on what is left of its losses."""
        if not any(self.taken):
            return bound
        bob, eve = self.taken
        return float_below(EXACT.number(bound) + bob_weight * bob - EXACT.number(lam) * eve)

    @property
    def deterministic(self) -> bool:
        return any(isinstance(demand, Deterministic) for demand in self.demands)

    @property
    def most(self) -> int | None:
        """The limit on the signals, if there is one that binds."""
        found = [demand.most for demand in self.demands if isinstance(demand, MaxSignals)]
        return found[0] if found and found[0] < len(self.signals) else None

    @cached_property
    def share(self) -> Array:
        """p(x) over the probability of its state in the program."""
        p, total = self.whole.p, self.arrays.p[self.index]
        return self.arrays.field.list(a / b if b else self.arrays.field.one for a, b in zip(p, total, strict=True))

    def only(self, keep: Sequence[int]) -> ChannelLayout:
        """On some of the signals."""
        return replace(self, signals=self.signals.only(keep), weights=self.weights[:, list(keep)])

    def without(self, *names: str) -> ChannelLayout:
        """Without some of the conditions; their signals and states stay."""
        return replace(self, demands=tuple(demand for demand in self.demands if demand.name not in names))

    def rows(self, q: Array) -> Array:
        """A channel of the program on the problem's states; those without one get the null row."""
        rows = q[self.index]
        if (self.index < 0).any():
            null = self.arrays.p.dot(q)
            if self.deterministic:
                null = np.where(np.arange(len(null)) == int(np.argmax(null)), 1 + 0 * null, 0 * null)
            rows[self.index < 0] = null
        return rows

    def sent(self, q: Array) -> SentSignals:
        """A channel of the program with what the agents lose."""
        return SentSignals(self.arrays, self.signals, q)

    def obedient(self, q: Array) -> Array:
        """Signals that Bob would disobey by more than rounding, pooled with the one he prefers: that lowers R_A.

        At an exact optimum there are none, but a search may have been stopped before the optimum.
        """
        if self.signals.eve is not None:
            return q
        return pooled(q, self.arrays.followed(self.arrays.p[:, None] * q))
