"""From a problem, its conditions and lam to the program, and back: signals, merged states, multipliers on all states.

States that no condition distinguishes are merged (`Condition.merges`), those of probability zero are left out where the
null row will do. A swap of two states with equal loss rows that maps the conditions to themselves maps feasible
mechanisms to feasible ones of the same value, and averaging the two raises R_E and keeps every linear condition: so
some optimum treats them alike. The multipliers of the merged program are those of the whole one.

Pool the signals on which Bob takes the same decision i. R_B stays and R_E can only rise, and a condition that survives
post-processing stays too: one signal per decision of Bob is enough. A condition about the decisions themselves, such as
a margin, survives pooling only where Bob and all Eves decide alike; both risks stay. One signal per tuple is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from bap_lp.model.problem import Problem
from bap_lp.model.reports import Reporter
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.merging import first_members
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.program.bound import Dual, Entries, Observer, Program, Rows, Sparse, Terms
from bap_lp.support.labels import joints
from bap_lp.support.limits import limit, raising
from bap_lp.support.rational import EXACT, Array, InputError, ReadOnly, tree_sum

_MOST = 2_000_000  # entries q[x,s] of a program


Scores = tuple[tuple[int, Reporter], ...]  # groups of Eve's columns that report probabilities, weighted with p(x)


@dataclass(frozen=True, eq=False)
class Signals(ReadOnly):
    """bob[s]: the decision told to Bob; eve[s,g]: in tuples, the column of E prescribed to Eve g."""

    bob: Array
    eve: Array | None
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.bob)


def signals_of(problem: Problem, tuples: bool) -> Signals:
    """One signal per decision of Bob, or one per tuple of everybody's decisions."""
    b = problem.shape[1]
    if not tuples:
        return Signals(np.arange(b), None, problem.bob_decisions)
    sizes = [g.stop - g.start for g in problem.eve_groups]
    for name, size in (("columns", b * prod(sizes)), ("cells", b * prod(sizes) * len(problem.p))):
        if size > limit(name):
            rule = f"needs {b * prod(sizes)} signals, one per tuple of decisions: more than {limit(name)} {name}"
            raise InputError("margin", None, f"{rule} {raising(name)}")
    table = np.indices((b, *sizes)).reshape(1 + len(sizes), -1).T
    eves = [problem.eves[n].decisions or () for n, _ in problem.eve_views]
    names = tuple(joints([problem.bob_decisions, joints(eves)], " / "))
    return Signals(table[:, 0], table[:, 1:] + np.array([g.start for g in problem.eve_groups]), names)


@dataclass(frozen=True, eq=False)
class SentSignals:
    """A channel and what the agents lose at its signals."""

    arrays: Arrays
    signals: Signals
    q: Array
    scores: Scores = ()

    @cached_property
    def rho(self) -> Array:
        return self.arrays.p[:, None] * self.q

    @cached_property
    def bob(self) -> Array:
        return signal_losses(self.rho, self.arrays.B)

    @cached_property
    def eve(self) -> Array:
        return signal_losses(self.rho, self.arrays.E)

    @cached_property
    def told_risk(self) -> Any:
        """R_B of a Bob who decides what he is told."""
        return tree_sum(self.bob[np.arange(len(self.signals)), self.signals.bob])

    @cached_property
    def eve_risk(self) -> Any:
        """R_E of Eves who decide for themselves, or what they are told where signals prescribe it."""
        if self.signals.eve is not None:
            return tree_sum(self.eve[np.arange(len(self.signals))[:, None], self.signals.eve].ravel())
        return tree_sum(self.least_eve.ravel())

    @cached_property
    def least_eve(self) -> Array:
        """What every Eve loses at every signal, at every value that she may know: signals x groups."""
        out = self.arrays.least_replies(self.eve)
        for group, reporter in self.scores:
            out[:, group] = reporter.risk(self.q)
        return out

    def score(self, lam: Any, bob_weight: int = 1) -> tuple[Any, Any]:
        """bob_weight R_B - lam R_E, and what chooses among equal ones: -R_E, or R_B where R_B has no weight."""
        bob, eve = self.told_risk, self.eve_risk
        return bob_weight * bob - lam * eve, -eve if bob_weight else bob


class Lowering:
    """The program as it is put together; `told` are p(x) E of what signals prescribe to the Eves, if they do."""

    def __init__(self, arrays: Arrays, signals: Signals, lam: Any, bob_weight: int = 1, scores: Scores = ()) -> None:
        self.arrays, self.signals = arrays, signals
        (N, S), p = (len(arrays.p), len(signals)), arrays.p[:, None]
        self.costs = p * arrays.B[:, signals.bob]
        self.observers: list[Observer] = []
        self.rows: list[Rows] = []
        self.cost = self.costs if bob_weight == 1 else bob_weight * self.costs
        self.told: Array | None = None
        if signals.eve is None:
            self.observe("eve", p * arrays.E, np.array([g.start for g in arrays.groups]), lam, scores)
        else:
            tables = (p * arrays.E[:, signals.eve[:, k]] for k in range(len(arrays.groups)))
            self.told = sum(tables, EXACT.zeros((N, S)))
            self.cost = self.cost - lam * self.told

    def observe(
        self, name: str, losses: Array | Sparse, starts: Array, price: Any = EXACT.zero, scores: Scores = ()
    ) -> None:
        self.observers.append(Observer(name, np.arange(len(self.signals)), losses, starts, price, scores))

    def demand(
        self,
        name: str,
        rhs: Array,
        entries: Entries | None = None,
        terms: Sequence[Terms] = (),
        lazy: Array | None = None,
    ) -> None:
        self.rows.append(Rows(name, rhs, entries, tuple(terms), lazy=lazy))

    def program(self) -> Program:
        return Program(EXACT.full(len(self.cost), 1), self.cost, tuple(self.observers), tuple(self.rows))


def lowered(
    arrays: Arrays, signals: Signals, demands: Sequence[Any], lam: Any, bob_weight: int = 1, scores: Scores = ()
) -> Program:
    """The program under demands, which are those of `conditions.base`."""
    out = Lowering(arrays, signals, lam, bob_weight, scores)
    for demand in demands:
        demand.lower(out)
    return out.program()


@dataclass(frozen=True, eq=False)
class LoweredProblem(ReadOnly):
    """A problem under conditions, in rationals: its states and signals, and the merged state of each, or -1."""

    problem: Problem
    demands: tuple[Any, ...]
    whole: Arrays  # on the problem's states
    arrays: Arrays  # on merged states
    index: Array
    signals: Signals

    @classmethod
    def of(cls, problem: Problem, demands: Sequence[Any]) -> LoweredProblem:
        for demand in demands if problem.report_tables is not None else ():
            if demand.tuples or not demand.convex:
                raise InputError(demand.name, None, "is not possible where probabilities are reported")
        arrays = problem.arrays
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
        return cls(problem, tuple(demands), problem.arrays, arrays, index, signals)

    @cached_property
    def local(self) -> tuple[Any, ...]:
        return tuple(demand.on(self.index, len(self.arrays.p)) for demand in self.demands)

    @property
    def merges(self) -> bool:
        """Whether the program's states are others than the problem's."""
        return len(self.arrays.p) < len(self.whole.p)

    def program(self, lam: Any, bob_weight: int = 1) -> Program:
        """On merged states. The last one is kept."""
        last = vars(self).get("_last")
        if last is None or last[0] != (lam, bob_weight):
            made = lowered(self.arrays, self.signals, self.local, lam, bob_weight, self.scores)
            last = vars(self)["_last"] = (lam, bob_weight), made
        program: Program = last[1]
        return program

    def whole_program(self, lam: Any, bob_weight: int = 1) -> Program:
        """On the problem's own states: what a certificate is about."""
        return lowered(self.whole, self.signals, self.demands, lam, bob_weight, self.whole_scores)

    @cached_property
    def scores(self) -> Scores:
        """The Eves who report probabilities, on merged states."""
        return self._scores(first_members(self.index), self.arrays.p)

    @cached_property
    def whole_scores(self) -> Scores:
        """The same on the problem's own states."""
        return self._scores(np.arange(len(self.whole.p)), self.whole.p)

    def _scores(self, first: Array, p: Array) -> Scores:
        return tuple((k, reporter.on(first, p)) for k, reporter in self.problem.reporters.items())

    @cached_property
    def share(self) -> Array:
        """p(x) over the probability of its class; zero where there is none."""
        p, total = self.whole.p, self.arrays.p[self.index]
        ratios = (a / b if b and k >= 0 else EXACT.zero for a, b, k in zip(p, total, self.index.tolist(), strict=True))
        if self.merges:
            return EXACT.list(ratios)
        return EXACT.full(len(p), 1)

    def expanded(self, dual: Dual) -> Dual:
        """Multipliers of the merged program on the problem's own states."""
        if self.merges:
            for demand in self.demands:
                dual = demand.expanded(dual, self.index, self.share)
        return dual

    @property
    def pure(self) -> bool:
        """Whether only deterministic channels will do."""
        return not all(demand.convex for demand in self.demands)

    def rows(self, q: Array) -> Array:
        """A channel on merged states on the problem's own; states without a class get the null row."""
        if not self.merges:
            return q
        rows = q[self.index]
        if (self.index < 0).any():
            null = self.arrays.p.dot(q)
            if self.pure:  # its likeliest signal
                null = np.where(np.arange(len(null)) == int(np.argmax(null)), 1 + 0 * null, 0 * null)
            rows[self.index < 0] = null
        return rows

    def sent(self, q: Array) -> SentSignals:
        """A channel on merged states with what the agents lose."""
        return SentSignals(self.arrays, self.signals, q, self.scores)

    def sent_whole(self, q: Array) -> SentSignals:
        """The same for a channel on the problem's own states."""
        return SentSignals(self.whole, self.signals, q, self.whole_scores)
