"""Deterministic mechanisms by branch and bound.

A node restricts the signals of single states. Its bound is the optimum of the program under conditions with these
restrictions, exact for exact numbers; the part of a node without a feasible channel is proved empty by its slack
program. The node with the least bound is split next: its most divided state sends its likeliest signal, or it does not,
until no bound lies below the best mechanism found. What is left then covers all mechanisms and is the proof. Optima are
compared by (R_A, -R_E, weight), so that one mechanism is chosen among equally good ones: the most private, then the
least weight, which is the lexicographic order of the maps. HiGHS suggests a mechanism to start with; what it claims
about all of them is not used as a bound: on losses of 1e-9 it was wrong by half of the value. At the limit on the nodes
the gap is reported as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from typing import Any

import numpy as np

from bap_lp.engines.driver import Infeasible, optimise, unfeasible
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.highs import SolverError, loaded_program, run
from bap_lp.model.mechanism import degenerate
from bap_lp.program.finish import STOPPED, Pair
from bap_lp.program.lowering import SentSignals
from bap_lp.proof.cases import Case
from bap_lp.questions.optimum.asked import AskedProblem
from bap_lp.support.clock import SolveProgress, check, remaining
from bap_lp.support.rational import EXACT, Array, lifted

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


def searched(
    asked: AskedProblem, lam: Any, relaxed: Pair, bob_weight: int = 1, progress: SolveProgress | None = None
) -> tuple[Pair, list[Case]]:
    """The best mechanism with a bound on all (and the multipliers of the relaxation), and the cases that prove it.

    Raises NothingFound if there is none, and SolverError if none was found in the nodes allowed.
    """
    search = _Search(asked, lam, relaxed, bob_weight)
    search.suggest()
    most = min(_NODES, max(_ENTRIES // search.program.cost.size, _LEAST_NODES))
    done = search.run(most, progress)
    if search.best is None:
        if not done:
            raise SolverError(f"no mechanism that satisfies the conditions was found in {most} nodes")
        raise NothingFound(search.cases())
    how = f"branch and bound, {search.count} nodes" + ("" if done else f", {STOPPED}")
    (value, *_), q = search.best
    return replace(relaxed, rho=q, value=value, bound=search.bound(), how=how), search.cases()


class NothingFound(ArithmeticError):
    """The search has shown that no mechanism meets the conditions; its cases, if any, are the proof."""

    def __init__(self, cases: Sequence[Case]) -> None:
        super().__init__("no mechanism meets the conditions")
        self.cases = tuple(cases)


@dataclass(frozen=True, eq=False)
class _Part:
    """A node: what each state may send, and its optimum."""

    allowed: Array
    found: Pair


class _Search:
    def __init__(self, asked: AskedProblem, lam: Any, relaxed: Pair, bob_weight: int) -> None:
        self.asked, self.layout, self.lam, self.bob_weight, self.count = asked, asked.layout, lam, bob_weight, 1
        self.program = asked.layout.program(lam, bob_weight)
        self.ties = asked.ties(bob_weight)
        self.weights = asked.weights()
        self.best: Any = None  # (score, channel)
        self.near = EXACT.number(0.0 if asked.exact else asked.near(lam, bob_weight))
        self.void: list[_Part] = []
        self.whole: list[_Part] = []  # that cannot be split
        self.open: list[tuple[Any, int, _Part]] = []
        self._add(_Part(np.ones(self.program.shape, dtype=bool), relaxed))

    def run(self, most: int, progress: SolveProgress | None = None) -> bool:
        """Split nodes until the best mechanism is proved best; whether it was."""
        while self.open:
            score, _, part = self.open[0]
            if self.best is not None:
                best = self.best[0]
                if score >= best if self.asked.exact else part.found.bound >= best[0] - self.near:
                    return True
            if self.count >= most or (self.best is not None and not self.asked.exact and remaining() <= 0):
                return False
            check()
            if progress is not None:
                progress(self.count, float(score[0]), float("inf") if self.best is None else float(self.best[0][0]))
            heappop(self.open)
            if not (part.allowed.sum(axis=1) > 1).any():
                self.whole.append(part)
                continue
            for child in self._children(part):
                self._add(child)
        return True

    def bound(self) -> Any:
        found = [part.found.bound for part in (*(part for _, _, part in self.open), *self.whole)]
        return min([self.best[0][0], *found])

    def cases(self) -> list[Case]:
        """The parts that are left, as a certificate states them."""
        parts = [(part, False) for part in (*(part for _, _, part in self.open), *self.whole)]
        states = np.flatnonzero(self.layout.index >= 0)
        out = []
        for part, void in (*parts, *((part, True) for part in self.void)):
            limited = states[~part.allowed[self.layout.index[states]].all(axis=1)].tolist()
            fixed = [(x, tuple(np.flatnonzero(part.allowed[self.layout.index[x]]).tolist())) for x in limited]
            program = self.layout.whole_program(EXACT.zero if void else self.lam, 0 if void else self.bob_weight)
            out.append(Case(self.asked.whole_dual(program, part.found.dual), tuple(fixed), void))
        return out

    def _add(self, part: _Part) -> None:
        q = part.found.rho
        self.try_channel(q)
        score = self._score(q) if self.asked.exact else (part.found.bound,)  # which a float value may not attain
        heappush(self.open, (score, self.count, part))
        self.count += 1

    def _score(self, q: Array) -> tuple[Any, Any, Any]:
        return *self.layout.sent(q).score(self.lam, self.bob_weight), (self.weights * q).sum()

    def try_channel(self, q: Array) -> None:
        """Keep the likeliest map of a channel if it meets the conditions and is the best so far."""
        layout = self.layout
        q = degenerate([int(row.argmax()) for row in q], q.shape[1])
        score = self._score(q)
        if self.best is not None and not score < self.best[0]:
            return
        sent = SentSignals(layout.whole, layout.signals, layout.rows(q))
        if not any(demand.broken(sent) for demand in layout.demands):
            self.best = score, q

    def _solved(self, allowed: Array) -> _Part | None:
        """The node with its optimum; None, after a note of the proof, if it is empty."""
        program = self.program
        try:
            near = float(self.near)
            found = optimise(program, self.ties, exact=self.asked.exact, near=near, allowed=allowed, hasty=True)
            rough = found.value - found.bound > self.near or program.broken(found.rho) is not None
            if rough and (found.rho.max(axis=1) == 1).all():  # it is not split again
                found = optimise(program, exact=False, near=near, allowed=allowed)
            return _Part(allowed, found)
        except Infeasible:
            dual = unfeasible(self.layout.program(EXACT.zero, 0), allowed)
            assert dual is not None
            nothing = EXACT.zeros(program.shape)
            self.void.append(_Part(allowed, Pair(nothing, dual, EXACT.zero, EXACT.zero)))
            self.count += 1
            return None

    def _children(self, part: _Part) -> Iterator[_Part]:
        q = part.found.rho
        rows = zip(part.allowed, q.max(axis=1), self.layout.arrays.p, strict=True)
        ranks = [(int(row.sum() > 1), -top, mass) for row, top, mass in rows]
        x = ranks.index(max(ranks))
        likely = np.arange(q.shape[1]) == int(q[x].argmax())
        for row in (likely, part.allowed[x] & ~likely):
            allowed = part.allowed.copy()
            allowed[x] = row
            child = self._solved(allowed)
            if child is not None:
                yield child

    def suggest(self) -> None:
        """Try the mechanism that HiGHS finds with binary variables."""
        form = LinearForm.of(self.program.rounded)
        lp, binary = form.lp, np.zeros(form.lp.shape[1], dtype=bool)
        binary[form.rho] = True
        rows = np.zeros(lp.shape[0])
        np.maximum.at(rows, lp.index, np.abs(lp.value))
        rows[rows == 0], size = 1.0, float(np.abs(lp.cost).max()) or 1.0
        lp = replace(lp, cost=lp.cost / size, value=lp.value / rows[lp.index], rhs=lp.rhs / rows)
        limit = min(float(_OPTIONS["time_limit"]), max(remaining(), 0.0))
        highs = loaded_program(lp, binary, **(_OPTIONS | {"time_limit": limit}))
        run(highs, long=True)
        z = np.array(highs.getSolution().col_value)
        if len(z) == lp.shape[1] and np.isfinite(highs.getInfo().objective_function_value):
            self.try_channel(lifted(z[form.rho]))
