"""solve over a set of priors: the mechanism with the least worst R_A, where Bob follows the signal and Eve knows p.

Floats find the channel and the tuples of replies that bind (`cuts`); the exact program over these tuples (`blocks`)
then ends at a gap of zero, unless some other tuple is worse, which is added. Where that program would be too large, the
float channel is published as the fractions it is, and the gap, an exact number, is stated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.clock import OutOfTime, SolveProgress, check
from bap_lp.conditions.given import Conditions
from bap_lp.engines.linear.exact_simplex import Infeasible
from bap_lp.engines.linear.highs import SolverError
from bap_lp.engines.solve import inner_channel, nearest_table, optimise
from bap_lp.model.display import counted
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Risks
from bap_lp.model.sums.arrays import Arrays
from bap_lp.program.bound import Dual, Program
from bap_lp.program.credal import Credal, Polytope
from bap_lp.program.finish import STOPPED, feasible, priced
from bap_lp.program.lowering import signals_of
from bap_lp.program.prior_set import PriorSet
from bap_lp.program.worst_prior import (
    ROWS,
    Search,
    conditions_program,
    listed_program,
    most_nodes,
    replies_at,
    risks_under,
    value_under,
)
from bap_lp.proof.certificate import Certificate, reported
from bap_lp.proof.prior_proofs import refuse_beliefs
from bap_lp.questions.optimum.asked import AskedProblem, exactly
from bap_lp.questions.optimum.conflicts import refusal
from bap_lp.questions.optimum.solution import Solution, mechanism_on
from bap_lp.questions.prior_sets.blocks import (
    ExactOracle,
    PricedChannel,
    Weighed,
    by_blocks,
    float_oracle,
    near_prior,
    some_prior,
)
from bap_lp.questions.prior_sets.cuts import NO_ROOM, Cuts, by_cuts, sized
from bap_lp.rational import EXACT, Array, InputError, float_above, floats, public, taken
from bap_lp.rational import stated as as_stated

_MOST_ENTRIES = 400_000  # of the exact program over tuple blocks
_MOST_TABLE = 200_000  # probabilities of the channel
_FEW = 2000  # probabilities up to which an exact program finds the nearest channel that meets the conditions
_ENDS = 30  # rounds of tuples that the exact program is given
_NEAR = 1e-9  # of the losses: a float gap that is not worth an exact solution
_FIRST, _MORE = 8, 3  # vertices of a hull to start with, and that are added at a time
_LAST = 5_000  # nodes of a search after the time is over
_LEAST = 1e-12  # weights of cuts below this are rounding


def solve_over_priors(
    problem: Problem,
    lam: Any,
    exact: bool | None,
    conditions: Conditions,
    priors: PriorSet,
    progress: SolveProgress | None = None,
) -> Solution:
    """Minimise the worst R_A over the priors of a set, over all mechanisms or those that satisfy the conditions."""
    refuse_beliefs(problem, conditions)
    if exact and not priors.exact:
        raise InputError("priors", None, 'must be exact, such as "1/20", for an exact solution')
    exact = exactly(problem, lam, None if exact is None and not priors.exact else exact, conditions) and priors.exact
    problem = problem if exact else problem.as_float()
    whole, price = problem.exactly, taken(lam, exact)
    credal = priors.on(whole.p, exact)
    task = _Task.of(problem, whole, price, conditions, credal, exact)
    best = task.conclude(task.solve(progress), priors)
    if conditions.empty:
        return best
    free = _Task.of(problem, whole, price, Conditions(), credal, exact)
    return replace(best, without=free.conclude(free.solve(progress), priors).value)


@dataclass(frozen=True, eq=False)
class _Task:
    problem: Problem
    whole: Problem
    lam: Any
    conditions: Conditions
    credal: Credal
    exact: bool
    base: Program

    @classmethod
    def of(
        cls, problem: Problem, whole: Problem, lam: Any, conditions: Conditions, credal: Credal, exact: bool
    ) -> _Task:
        N, b, _ = whole.shape
        if N * b > _MOST_TABLE:
            raise InputError("priors", None, f"need {N} x {b} probabilities, more than {_MOST_TABLE}")
        base = conditions_program(whole.arrays, signals_of(whole, False), conditions.demands(whole))
        task = cls(problem, whole, lam, conditions, credal, exact, base)
        task._reached()
        return task

    @property
    def arrays(self) -> Arrays:
        return self.whole.arrays

    def _reached(self) -> None:
        """Refuse a state that a prior of the set may have and whose losses are not defined."""
        if self.problem.theta is None:
            return
        some_prior(self.credal)
        oracle = ExactOracle(self.credal)
        for x in np.flatnonzero(self.whole.p == 0).tolist():
            one = EXACT.zeros(len(self.whole.p))
            one[x] = EXACT.one
            if oracle(one)[0] > 0:
                name = self.problem.states[x]
                rule = f"reach state {name}, which has probability zero and so no posterior of the parameter"
                raise InputError("priors", None, rule)

    def solve(self, progress: SolveProgress | None) -> PricedChannel:
        point = None
        if any(len(rows) for rows in self.base.rows):
            try:
                point = floats(optimise(self.base, exact=False, near=1.0).rho)
            except Infeasible:
                raise refusal(AskedProblem.of(self.problem, self.conditions, self.exact)) from None
        if self.credal.listed is not None:
            return self._listed(self.credal.listed)
        start = some_prior(self.credal)
        arrays, scale, shift = sized(self.arrays, self.lam)
        flat = self.credal.rounded

        def told(rounds: int, low: float, high: float) -> None:
            if progress is not None:
                progress(rounds, scale * low + shift, scale * high + shift)

        cuts = by_cuts(self.base, arrays, flat, float_oracle(flat), floats(start), point, told)
        stopped = cuts.stopped
        if stopped and self.exact:
            check()  # an exact optimum has nothing to show before the end
        if not stopped and (self.exact or cuts.high - cuts.low > _NEAR):
            try:
                closed = self._closed(cuts, arrays)
            except OutOfTime:
                if self.exact:
                    raise
                closed, stopped = None, True
            if closed is not None:
                return closed
        return self._bracketed(cuts, scale, stopped)

    def _listed(self, vertices: Array) -> PricedChannel:
        """A hull has finitely many vertices, scenarios of one program; those that count are few, and are added."""
        near = EXACT.zero if self.exact else EXACT.number(1e-10 * float(self.arrays.spread(self.lam)))
        used = list(range(min(len(vertices), _FIRST)))
        while True:
            program = listed_program(self.base, self.arrays, self.lam, vertices[used])
            pair = optimise(program, exact=self.exact, near=float(near))
            values = [value_under(self.arrays, self.lam, p, pair.rho) for p in vertices]
            worse = [k for k, value in enumerate(values) if k not in used and value > pair.value + near]
            if not worse:
                break
            used += sorted(worse, key=lambda k: -values[k])[:_MORE]
        dual = pair.dual
        names = {o.name for o in self.base.observers}, {rows.name for rows in self.base.rows}
        own = [
            {k: v for k, v in part.items() if k in kept}
            for part, kept in zip((dual.replies, dual.weights), names, strict=True)
        ]
        weights = dual.weights[ROWS].tolist()
        listed = [Weighed(weights[k], vertices[x], None, dual.replies[f"eve {k}"]) for k, x in enumerate(used)]
        return PricedChannel(pair.rho, Dual(*own), listed, pair.how)

    def _closed(self, cuts: Cuts, arrays: Arrays) -> PricedChannel | None:
        """The exact optimum over tuple blocks; None if it is too large, or tuples are added for too long."""
        replies = cuts.active(arrays, 1.0)
        known = {t.tobytes() for t in replies}
        flat, rounded = self.credal.rounded, self.base.rounded
        oracle, exact = float_oracle(flat), np.isinf(cuts.low) or cuts.high - cuts.low <= _NEAR
        form = self.credal.dual_form()
        entries = (form.count + 1) * self.base.shape[1] + len(form.rows[0])
        for _ in range(_ENDS):
            if len(replies) * entries > _MOST_ENTRIES:
                return None
            try:
                closed: PricedChannel
                if exact:
                    closed = by_blocks(self.base, self.arrays, self.lam, self.credal, replies)
                    search = Search(
                        self.arrays, self.lam, closed.q, ExactOracle(self.credal), _heaviest(closed).prior, self.credal
                    )
                else:
                    closed = by_blocks(rounded, arrays, 1.0, flat, replies)
                    search = Search(arrays, 1.0, closed.q, oracle, _heaviest(closed).prior, flat)
            except (SolverError, ArithmeticError):
                return None
            search.climb(one.prior for one in closed.listed)
            if not search.best > closed.value:
                search.run()
            if not search.best > closed.value + (0 if exact else 1e-9):
                if not exact:
                    exact = True
                    continue
                listed = [replace(one, replies=self._paid(one.replies, one.weight)) for one in closed.listed]
                return PricedChannel(closed.q, closed.dual, listed, f"tuple blocks, {closed.how}")
            t = replies_at(search.arrays, search.prior, closed.q)
            if t.tobytes() in known:
                if exact:
                    return None
                exact = True
                continue
            replies, known = [*replies, t], known | {t.tobytes()}
        return None

    def _paid(self, replies: Array, weight: Any) -> Array:
        """The table of replies, signals x columns, with lam times the weight on the chosen ones."""
        out = EXACT.zeros((self.base.shape[1], self.arrays.E.shape[1]))
        for i, row in enumerate(replies.tolist()):
            out[i, row] = self.lam * weight
        return out

    def _bracketed(self, cuts: Cuts, scale: float, stopped: bool) -> PricedChannel:
        """The float channel and the cuts that weigh, as fractions: their priors are found again in rationals."""
        assert cuts.q is not None
        assert cuts.dual is not None
        q = feasible(self.base, cuts.q, map(inner_channel, (self.base,)))
        if q is None and cuts.q.size <= _FEW:  # conditions at their edge leave no room for rounding
            q = nearest_table(self.base, cuts.q)
        if q is None:
            raise InputError("conditions", None, NO_ROOM)
        live = [k for k, w in enumerate(cuts.weights.tolist()) if w > _LEAST] or [0]
        shares = [EXACT.number(float(cuts.weights[k])) for k in live] if len(cuts.weights) else [EXACT.one]
        total = sum(shares, EXACT.zero)
        shares = [share / total for share in shares]
        listed = [
            Weighed(w, *near_prior(self.credal, cuts.priors[k], cuts.moved[k]), self._paid(cuts.replies[k], w))
            for k, w in zip(live, shares, strict=True)
        ]
        how = f"cuts, {counted(cuts.rounds, 'round')}" + (f", {STOPPED}" if stopped else "")
        return PricedChannel(q, cuts.dual.each(lambda table: scale * table), listed, how, stopped=stopped)

    def _worst(self, found: PricedChannel) -> tuple[Search, Any, Array | None]:
        """The worst prior of the channel, what is proved to be above all, and the proofs of a polytope."""
        oracle, start = ExactOracle(self.credal), _heaviest(found)
        search = Search(self.arrays, self.lam, found.q, oracle, start.prior, self.credal)
        search.moved = start.moved
        search.climb()
        nodes, timed = most_nodes(self.credal), not found.stopped
        nodes = nodes if timed else min(nodes, _LAST)
        top = search.run(nodes=nodes, timed=timed)
        if not isinstance(self.credal, Polytope):
            return search, top, None
        oracle = ExactOracle(self.credal)  # what the check asks for, which starts at the worst prior
        again = Search(self.arrays, self.lam, found.q, oracle, search.prior, self.credal)
        top = again.run(nodes=nodes, timed=timed)
        return again, top, np.array(list(oracle.proofs.values()))

    def conclude(self, found: PricedChannel, priors: PriorSet) -> Solution:
        """The solution with its certificate: both ends in rationals, from the channel and the listed priors."""
        search, top, proofs = self._worst(found)
        parts = [Weighed(EXACT.zero, search.prior, search.moved, 0 * found.listed[0].replies)]
        for one in found.listed:
            k = next((k for k, other in enumerate(parts) if (other.prior == one.prior).all()), None)
            if k is not None:
                own = parts[k]
                parts[k] = replace(own, weight=own.weight + one.weight, replies=own.replies + one.replies)
            elif one.weight:
                parts.append(one)
        listed = np.array([one.prior for one in parts])
        program = listed_program(self.base, self.arrays, self.lam, listed)
        replies = {f"eve {k}": one.replies for k, one in enumerate(parts)}
        weights = EXACT.list(one.weight for one in parts)
        dual = Dual({**found.dual.replies, **replies}, {**found.dual.weights, ROWS: weights})
        dual = priced(program, program.completed(dual))
        bound, exact = program.bound(dual), self.exact
        attained = bool(top == search.best)
        if not attained and not exact:
            top = EXACT.number(float_above(top))
        stated, least, gap = reported(top, bound, exact)
        bob, eve = (v if exact else float(v) for v in risks_under(self.arrays, search.prior, found.q))
        moves = [one.moved for one in parts if one.moved is not None]
        witness = np.concatenate(moves) if moves else proofs
        at = as_stated(self.lam, exact)
        certificate = Certificate(
            (at,), stated, gap, found.q, dual, exact, self.conditions, kind="priors", prior=self.whole.p,
            priors=priors, listed=listed, witness=witness,
        )  # fmt: skip
        problem = self.problem
        mechanism = mechanism_on(found.q, problem.bob_decisions, problem.states, "smallest worst case", exact)
        method = f"worst prior of a set, {found.how}"
        return Solution(
            problem, at, stated, mechanism, Risks.summed(bob, eve, 1), least, gap, method, certificate,
            worst_prior=public(search.prior if exact else floats(search.prior)), attained=attained,
        )  # fmt: skip


def _heaviest(found: PricedChannel) -> Weighed:
    return max(found.listed, key=lambda one: one.weight)
