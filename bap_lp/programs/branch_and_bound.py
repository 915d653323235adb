"""Deterministic mechanisms and few signals: enumeration where they are few, otherwise branch and bound.

A node restricts the signals: all states to some of them (max_signals), or single states (deterministic). Its bound is
the optimum of the program under conditions with these restrictions, exact for exact numbers; the part of a node without
a feasible channel is proved empty by the elastic program. The node with the least bound is split next:
    deterministic   the most divided state sends its likeliest signal, or it does not
    max_signals     the least used signal is not sent, or it is among the k
until no bound lies below the best mechanism found. What is left then covers all mechanisms and is the proof. Optima are
compared by (R_A, -R_E, weight), so that one mechanism is chosen among equally good ones: the most private, then the
least weight, which for deterministic mechanisms is the lexicographic order of the maps. HiGHS suggests a mechanism to
start with; what it claims about all of them is not used as a bound: on losses of 1e-9 it was wrong by half of the
value. At the limit on the nodes the gap is reported as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from bap_lp.clock import check, remaining
from bap_lp.conditions.lagrangian import SentSignals
from bap_lp.linear.highs import SolverError, loaded_program
from bap_lp.linear.optimum import Infeasible
from bap_lp.model.mechanism import degenerate
from bap_lp.programs.compact import STOPPED, SolveProgress
from bap_lp.programs.constrained import ChannelLayout, ChannelOptimum, ChannelProgram
from bap_lp.proof.branches import Branch
from bap_lp.proof.conditional import broken
from bap_lp.proof.enumeration import best_deterministic, enumerable
from bap_lp.rational import ROUNDING, TOLERANCE, Array

_NODES = 1000  # programs of a search at most; of 20 states and 3 decisions about a minute
_ENTRIES = 100_000  # probabilities in all of them: larger programs take longer, so fewer are solved
_LEAST_NODES = 20
_OPTIONS: dict[str, Any] = {
    "solver": "choose",
    "presolve": "choose",
    "mip_rel_gap": 0.0,
    "mip_abs_gap": 1e-10,
    "mip_feasibility_tolerance": 1e-9,
    "time_limit": 60.0,
}


def combinatorial(
    layout: ChannelLayout,
    lam: Any,
    relaxed: ChannelOptimum,
    bob_weight: int = 1,
    progress: SolveProgress | None = None,
) -> tuple[ChannelOptimum, Any, list[Branch]]:
    """The best mechanism (with the multipliers of the relaxation), a bound on all, and the branches that prove it.

    Raises NothingFound if there is none, and SolverError if none was found in the nodes allowed.
    """
    arrays, signals = layout.arrays, layout.signals
    if layout.deterministic and enumerable(arrays, layout.local):
        found = best_deterministic(arrays, signals, layout.local, lam, arrays.field.tolerance, bob_weight)
        if found is None:
            raise NothingFound(())
        how = f"all {arrays.shape[1]}^{len(arrays.p)} deterministic mechanisms tried"
        return replace(relaxed, q=degenerate(found[1].tolist(), len(signals), arrays.exact), how=how), found[0], []
    search = _Search(layout, lam, relaxed, bob_weight)
    suggested = search.suggest() if layout.deterministic else None
    most = min(_NODES, max(_ENTRIES // (len(arrays.p) * len(signals)), _LEAST_NODES))
    done = search.run(most, progress)
    if search.best is None:
        if not done:
            raise SolverError(f"no mechanism that satisfies the conditions was found in {most} nodes")
        raise NothingFound(search.branches())
    how = f"branch and bound, {search.count} nodes" + ("" if done else f", {STOPPED}")
    if not done and suggested is not None:
        claimed = layout.restored(suggested, lam, bob_weight)
        how += f" (in floats, without proof, HiGHS finds none below {claimed:.9g})"
    bound, branches = search.bound(done), search.branches() if done else []
    return replace(relaxed, q=search.best[1], how=how), bound, branches


def _near(layout: ChannelLayout, lam: float) -> float:
    """How much worse than the best the optimum of a part may be in floats, if it is not to be split.

    The gap of its own multipliers comes on top of it; both together must stay below the gap of a certificate.
    """
    arrays = layout.whole
    return float(0.4 * TOLERANCE * arrays.spread(lam) + 0.25 * ROUNDING * arrays.range(lam))


class NothingFound(ArithmeticError):
    """The search has shown that no mechanism meets the conditions; its branches, if any, are the proof."""

    def __init__(self, branches: Sequence[Branch]) -> None:
        super().__init__("no mechanism meets the conditions")
        self.branches = tuple(branches)


@dataclass(frozen=True, eq=False)
class _Part:
    """A node: the signals that are sent, those among the k, what each state may send, and its optimum (None: void)."""

    keep: tuple[int, ...]
    required: frozenset[int]
    allowed: Array | None
    found: ChannelOptimum


class _Search:
    def __init__(self, layout: ChannelLayout, lam: Any, relaxed: ChannelOptimum, bob_weight: int) -> None:
        self.layout, self.lam, self.bob_weight, self.count = layout, lam, bob_weight, 1
        self.best: Any = None  # (score, channel)
        self.near = 0 if layout.arrays.exact else _near(layout, float(lam))
        shape = len(layout.arrays.p), len(layout.signals)
        allowed = np.ones(shape, dtype=bool) if layout.deterministic else None
        self.void: list[_Part] = []
        self.whole: list[_Part] = []  # that cannot be split, and are better than the best by rounding
        self.open: list[tuple[Any, int, _Part]] = []
        self._add(_Part(tuple(range(shape[1])), frozenset(), allowed, relaxed))

    def run(self, most: int, progress: SolveProgress | None = None) -> bool:
        """Split nodes until the best mechanism is proved best; whether it was."""
        while self.open:
            score, _, part = self.open[0]
            if self.best is not None and self._beyond(score):
                return not self.whole
            if self.count >= most or (self.best is not None and not self.layout.arrays.exact and remaining() <= 0):
                return False
            check()
            if progress is not None:
                progress(self.count, float(score[0]), float("inf") if self.best is None else float(self.best[0][0]))
            heappop(self.open)
            if not self._divisible(part):
                self.whole.append(part)
                continue
            for child in self._by_state(part) if self.layout.deterministic else self._by_signal(part):
                self._add(child)
        return not self.whole

    def _divisible(self, part: _Part) -> bool:
        if part.allowed is not None:
            return bool((part.allowed.sum(axis=1) > 1).any())
        return any(sent.any() and s not in part.required for s, sent in zip(part.keep, part.found.q.T, strict=True))

    def bound(self, done: bool) -> Any:
        """Below every mechanism that meets the conditions."""
        found = [part.found.bound for part in (*(part for _, _, part in self.open), *self.whole)]
        return self.best[0][0] if done and self.layout.arrays.exact else min(found, default=self.best[0][0])

    def branches(self) -> list[Branch]:
        """The parts that are left, as a certificate states them."""
        parts = [*((part, False) for _, _, part in self.open), *((part, True) for part in self.void)]
        states = np.flatnonzero(self.layout.index >= 0)
        out = []
        for part, void in parts:
            fixed: list[tuple[int, tuple[int, ...]]] = []
            if part.allowed is not None:
                limited = states[~part.allowed[self.layout.index[states]].all(axis=1)].tolist()
                fixed = [(x, tuple(np.flatnonzero(part.allowed[self.layout.index[x]]).tolist())) for x in limited]
            out.append(Branch(part.keep, part.found.dual, tuple(fixed), void))
        return out

    def _beyond(self, score: Any) -> bool:
        best = self.best[0]
        return bool(score >= best) if self.layout.arrays.exact else bool(score[0] >= best[0] - self.near)

    def _add(self, part: _Part) -> None:
        wide = self.layout.arrays.field.zeros((len(part.found.q), len(self.layout.signals)))
        wide[:, list(part.keep)] = part.found.q
        self.try_channel(wide)
        heappush(self.open, (self._score(wide), self.count, part))
        self.count += 1

    def _score(self, q: Array) -> tuple[Any, Any, Any]:
        return *self.layout.sent(q).score(self.lam, self.bob_weight), (self.layout.weights * q).sum()

    def try_channel(self, q: Array) -> None:
        """Keep the channel (under determinism: the likeliest map) if it meets the conditions and is the best so far."""
        layout = self.layout
        if layout.deterministic:
            q = degenerate([int(row.argmax()) for row in q], q.shape[1], layout.arrays.exact)
        if layout.most is not None and int((q > 0).any(axis=0).sum()) > layout.most:
            return
        score = self._score(q)
        if self.best is not None and not score < self.best[0]:
            return
        sent = SentSignals(layout.whole, layout.signals, layout.rows(q))
        if not broken(layout.demands, sent, layout.arrays.field.tolerance):
            self.best = score, q

    def _solved(self, keep: tuple[int, ...], required: frozenset[int], allowed: Array | None) -> _Part | None:
        """The node with its optimum; None, after a note of the proof, if it is empty."""
        layout = self.layout.only(keep)
        try:
            return _Part(keep, required, allowed, self._program(layout, allowed).solve())
        except Infeasible:
            zero = layout.arrays.field.zero
            proof = ChannelProgram(layout, zero, 0, allowed, elastic=True).solve()
            self.void.append(_Part(keep, required, allowed, proof))
            self.count += 1
            return None

    def _program(self, layout: ChannelLayout, allowed: Array | None = None) -> ChannelProgram:
        return ChannelProgram(layout, self.lam, self.bob_weight, allowed)

    def _by_signal(self, part: _Part) -> Iterator[_Part]:
        most, q = self.layout.most, part.found.q
        assert most is not None
        used = [
            (mass, s) for s, mass, sent in zip(part.keep, self.layout.arrays.p.dot(q), q.T, strict=True) if sent.any()
        ]
        s = min((mass, s) for mass, s in used if s not in part.required)[1]
        without = self._solved(tuple(k for k in part.keep if k != s), part.required, None)
        required = part.required | {s}
        among = part if len(required) < most else self._solved(tuple(sorted(required)), required, None)
        for child in (without, among and replace(among, required=required)):
            if child is not None:
                yield child

    def _by_state(self, part: _Part) -> Iterator[_Part]:
        assert part.allowed is not None
        q, most = part.found.q, self.layout.most
        rows = zip(part.allowed, q.max(axis=1), self.layout.arrays.p, strict=True)
        ranks = [(int(row.sum() > 1), -top, mass) for row, top, mass in rows]
        x = ranks.index(max(ranks))
        likely = np.arange(q.shape[1]) == int(q[x].argmax())
        for row in (likely, part.allowed[x] & ~likely):
            allowed = part.allowed.copy()
            allowed[x] = row
            single = allowed[allowed.sum(axis=1) == 1].any(axis=0)
            if most is not None and single.sum() >= most:
                allowed = allowed & single if single.sum() == most else allowed & False
            if allowed.any(axis=1).all():
                child = self._solved(part.keep, part.required, allowed)
                if child is not None:
                    yield child

    def suggest(self) -> float | None:
        """Try the mechanism that HiGHS finds with binary variables; if it is good, the bound that HiGHS claims."""
        layout, most = self.layout, self.layout.most
        program = self._program(layout)
        binary = program.q.ravel()
        if most is not None:
            N, S = program.q.shape
            used, one = program.columns(S), layout.arrays.field.one
            row = np.arange(N * S).reshape(N, S)
            program.rows(N * S, [(row, program.q, one), (row, used, -one)])
            program.rows(1, [(0, used, one)], one * most)
            binary = np.append(binary, used)
        lp = program.program().rounded
        rows = np.zeros(lp.shape[0])
        np.maximum.at(rows, lp.index, np.abs(lp.value))
        rows[rows == 0], size = 1.0, float(np.abs(lp.cost).max()) or 1.0
        lp = replace(lp, cost=lp.cost / size, value=lp.value / rows[lp.index], rhs=lp.rhs / rows)
        limit = min(float(_OPTIONS["time_limit"]), max(remaining(), 0.0))
        whole = np.isin(np.arange(lp.shape[1]), binary)
        highs = loaded_program(lp, whole, **(_OPTIONS | {"time_limit": limit}))
        highs.run()
        z = np.array(highs.getSolution().col_value)
        if len(z) != lp.shape[1] or not np.isfinite(highs.getInfo().objective_function_value):
            return None
        self.try_channel(layout.arrays.field.array(z[program.q]))
        if self.best is None:
            return None
        return float(highs.getInfo().mip_dual_bound * size - TOLERANCE * layout.arrays.size(self.lam))
