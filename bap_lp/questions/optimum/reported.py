"""solve where probabilities are reported: an Eve with the log or the Brier loss, or a limit on information.

The cone program gives a channel and one report for every signal and Eve (`engines.conic`). Listed as columns, the
reports make a finite program whose bound holds for all reports: its replies are the price on the report of the signal
itself. The channel is judged with its true risks, logarithms rounded to the safe side. Value and bound are rational
and their difference is stated; it is small, but not zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.conditions.max_information import information_reporters
from bap_lp.engines.conic import ConicPoint, NoMechanism, conic_point
from bap_lp.engines.driver import Infeasible, nearest_table, slack_program
from bap_lp.model.calibration import extremes
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Dual, Program
from bap_lp.program.finish import feasible, priced
from bap_lp.program.lowering import LoweredProblem
from bap_lp.proof.certificate import NEAR, Certificate, reported
from bap_lp.proof.statement import Statement, rounds
from bap_lp.questions.optimum.asked import numbers_of
from bap_lp.questions.optimum.solution import Solution, mechanism_on
from bap_lp.support.clock import OutOfTime
from bap_lp.support.rational import EXACT, Array, InputError, floats, lifted
from bap_lp.support.rational import stated as as_stated

_FLOORS = (0.0, 1e-10, 1e-7)  # probabilities up to which a solution of Clarabel may be tidied
_SHARES = (2.0**-26, 2.0**-20, 2.0**-14)  # of the even channel, where Clarabel breaks a condition by more than rounding
_CLOSE = 1e-10  # of what the release can change: a gap that is small enough
_HALVINGS = 24  # of the share of the null release where floats are too coarse for a limit on information
_FEW = 2000  # probabilities up to which that is tried


@dataclass(frozen=True, eq=False)
class Ends:
    """The statement with the reports listed, a channel on all states, multipliers, and what the two prove."""

    statement: Statement
    channel: Array
    dual: Dual
    reports: tuple[Array, ...]
    value: Any
    bound: Any


def solve_reported(problem: Problem, lam: Any, exact: bool | None, conditions: Conditions) -> Solution:
    """Minimise R_A over the mechanisms that satisfy the conditions, to a certified bracket."""
    problem, price, exact = numbers_of(problem, lam, exact, conditions)
    asked = ReportedProblem(problem.exactly, conditions, price)
    ends = asked.proved()
    stated, least, gap = reported(ends.value, ends.bound, exact, rounds(ends.statement.program))
    at = as_stated(price, exact)
    name = "optimum" + " under conditions" * (not conditions.empty)
    mechanism = mechanism_on(ends.channel, asked.layout.signals.names, problem.states, name, exact)
    prior, reports = asked.problem.p, ends.reports
    certificate = Certificate(
        (at,), stated, gap, ends.channel, ends.dual, exact, conditions, prior=prior, reports=reports
    )
    how = f"compact program{'' if conditions.empty else ' under conditions'}, Clarabel, reports of Eve"
    risks = risks_of(problem, mechanism)
    best = Solution(problem, at, stated, mechanism, risks, least, gap, how, certificate)
    if conditions.empty:
        return best
    from bap_lp.questions.optimum.solving import solve

    return replace(best, without=solve(problem, at, exact).value)


def with_placeholders(problem: Problem, conditions: Conditions) -> Problem:
    """An exact problem with one report in place of all, which tells all values apart."""
    tables = []
    for one in (*problem.reporters.values(), *information_reporters(conditions, problem)):
        numbers = [EXACT.number(k + 1) for k in range(len(one.values))]
        tables.append(EXACT.list(v / (2 * sum(numbers)) for v in numbers)[None])
    return problem.reported(tables)


class ReportedProblem:
    """An exact problem under conditions, lowered with one report in place of all."""

    def __init__(self, problem: Problem, conditions: Conditions, lam: Any) -> None:
        self.problem, self.conditions, self.lam = problem, conditions, lam
        start = with_placeholders(problem, conditions)
        self.layout = LoweredProblem.of(start, conditions.demands(start))
        self.program = self.layout.program(lam)
        (bob, eve), (null_bob, null_eve) = extremes(problem)
        spread = null_bob - bob + lam * (null_eve - eve)
        self.scale = float(spread) if spread > 0 else 1.0

    def _solved(self, scale: float | None, balanced: bool) -> ConicPoint:
        try:
            return conic_point(self.program, scale, balanced)
        except NoMechanism:
            names = ", ".join(self.conditions.given())
            raise InputError("conditions", None, f"cannot be met: no mechanism satisfies {names}") from None

    def channel(self, q: Array) -> Array:
        """A channel on merged states that meets the conditions exactly, near a float one: the best of some.

        Small probabilities may be traces of the path to a vertex, or meant.
        """
        floors = _FLOORS if q.size <= _FEW else _FLOORS[:1]
        found = [own for own in (self._met(np.where(q > floor, q, 0.0)) for floor in floors) if own is not None]
        if found:
            return min(found, key=self.program.value) if len(found) > 1 else found[0]
        names = ", ".join(self.conditions.given())
        rule = f"leave no room for rounding: no mechanism was found that satisfies {names} exactly"
        raise InputError("conditions", None, rule)

    def _met(self, q: Array) -> Array | None:
        q = _scaled(q)
        even = np.full(q.shape, 1 / q.shape[1])
        tried: list[tuple[Array, Any]] = [(q, None), (q, even), (q, self._inner)]
        tried += [((1 - share) * q + share * even, None) for share in _SHARES]
        found = (self._kept(own, inner() if callable(inner) else inner) for own, inner in tried)
        last = (find(q) for find in (self._nearest, self._withdrawn))
        return next((own for own in chain(found, last) if own is not None), None)

    def _kept(self, q: Array, inner: Array | None = None) -> Array | None:
        """A channel near a float one that keeps all rows, and all demands by their definition."""
        return self._unbroken(feasible(self.program, q, (inner,)))

    def _unbroken(self, q: Array | None) -> Array | None:
        broken = q is None or any(demand.broken(self.layout.sent(q)) for demand in self.layout.local)
        return None if broken else q

    def _nearest(self, q: Array) -> Array | None:
        """The nearest channel, exactly: rows may leave no room, as those of independence do."""
        try:
            return self._unbroken(nearest_table(self.program, q)) if q.size <= _FEW else None
        except Infeasible:
            return None

    def _withdrawn(self, q: Array) -> Array | None:
        """The channel mixed with as little as needed of the null release that sends the same signals as often."""
        mass = floats(self.program.mass)
        null = np.tile(mass @ q / mass.sum(), (len(q), 1))
        best, share = self._kept(null), 0.5
        for k in range(2, _HALVINGS if best is not None else 0):
            found = self._kept((1 - share) * q + share * null)
            best, share = (best, share + 2.0**-k) if found is None else (found, share - 2.0**-k)
        return best

    def _inner(self) -> Array | None:
        try:
            return _scaled(np.maximum(conic_point(slack_program(self.program)).rho, 0.0))
        except ArithmeticError:
            return None

    def proved(self) -> Ends:
        """Both ends. If those of one solution are not close enough, each is the better one of two.

        Where costs are much larger than what the release can change, Clarabel may take a program of its scale for
        infeasible: then the largest cost is the scale.
        """
        found: list[Ends] = []
        failed: list[Exception] = []
        for scale, balanced in product((self.scale, None), (True, False)):
            enough = EXACT.number((NEAR if scale is None else _CLOSE) * self.scale)
            if any(one.value - one.bound <= enough for one in found):
                break
            try:
                found.append(self._ends(self._solved(scale, balanced)))
            except (ArithmeticError, InputError, OutOfTime) as error:
                failed.append(error)
        if not found:
            raise failed[0]
        high, low = min(found, key=lambda one: one.value), max(found, key=lambda one: one.bound)
        return replace(low, channel=high.channel, value=high.value)

    def _ends(self, found: ConicPoint) -> Ends:
        channel = self.layout.rows(self.channel(found.rho))
        tables = []
        for name, group, reporter in ((o.name, g, r) for o in self.program.observers for g, r in o.scores):
            table = lifted(found.reports[name, group][1])  # those of the log loss sum to at most one
            tables.append(table / table.sum(axis=1)[:, None] if reporter.kind == "log" else table)
        final = self.problem.reported(tables)
        layout = LoweredProblem.of(final, self.conditions.demands(final))
        program = layout.whole_program(self.lam)
        dual = self.layout.expanded(found.dual.each(lambda v: lifted(np.nan_to_num(np.maximum(v, 0.0), posinf=0.0))))
        dual = Dual({**dual.replies, **_replies(self.program, program, found)}, dual.weights)
        dual = priced(program, program.completed(dual))
        statement = Statement(program, layout, self.conditions, self.lam)
        return Ends(statement, channel, dual, tuple(tables), statement.value(channel), statement.bound(dual)[0])


def _scaled(q: Array) -> Array:
    """Rows over their sums; even where nothing is left, as where costs of very different sizes stop Clarabel early."""
    total = q.sum(axis=1, keepdims=True)
    return np.where(total > 0, q / np.where(total > 0, total, 1.0), 1 / q.shape[1])


def _replies(start: Program, program: Program, found: ConicPoint) -> dict[str, Array]:
    """The replies of observers who report: at view v the whole price is on the report for v."""
    out = {}
    for before, o in zip(start.observers, program.observers, strict=True):
        if o.scores:
            u = np.zeros((o.views, o.columns))
            scored = {g for g, _ in o.scores}
            ends, old = [*o.starts.tolist(), o.columns], [*before.starts.tolist(), before.columns]
            for g in range(len(o.starts)):
                if g in scored:
                    u[np.arange(o.views), ends[g] + np.arange(o.views)] = found.reports[o.name, g][0]
                else:
                    u[:, ends[g] : ends[g + 1]] = found.dual.replies[o.name][:, old[g] : old[g + 1]]
            out[o.name] = u
    return out
