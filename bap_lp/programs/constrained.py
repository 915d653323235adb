"""The compact program under conditions, in the channel's own variables q(s|x): null states have rows too.

    min  beta sum p(x) B(x,i_s) q[x,s] - lam sum_sg t[s,g]
    s.t. sum_s q[x,s] = 1,  t[s,g] <= sum_x p(x) E(x,j) q[x,s] for j in group g (for j = j_sg where s prescribes it),
         and the rows of the conditions.
beta = 1, except for the largest R_E that the conditions allow (beta = 0, lam = 1). The elastic program relaxes all rows
of the conditions by one number v >= 0 and minimises it: if the least v is positive, no channel meets the conditions,
and the multipliers prove it (a bound above zero with beta = lam = 0).

Of several optima the most private is chosen, then the one with the least weight (see `compact`). Under determinism the
weight is the place of the map in lexicographic order. In floats an optimum is checked like any certificate; where it
fails (a likelihood ratio between tiny probabilities, say) the program is finished in exact arithmetic and rounded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.conditions.lagrangian import Multipliers, SentSignals
from bap_lp.conditions.margin import Margin
from bap_lp.linear.optimum import Infeasible, optimum
from bap_lp.linear.program import LinearProgram, ProgramBuilder
from bap_lp.programs.compact import STOPPED
from bap_lp.programs.layout import ChannelLayout
from bap_lp.proof.conditional import ConditionedProblem, allowance, broken, proved, terms
from bap_lp.rational import EXACT, ROUNDING, Array

_TRACE = 1e-11  # below a hundredth of the tolerance of certificates
_NOISE = 1e-13  # probabilities of a float solution up to this are rounding
_RARE = 100  # and signals with no larger ones than so many times this
_MANY = 300_000  # products up to which a gap is computed in rationals


@dataclass(frozen=True, eq=False)
class ChannelOptimum:
    """An optimal channel on the program's states, its multipliers on the problem's, the bound they prove, and how."""

    q: Array
    dual: Multipliers
    bound: Any
    how: str


class ChannelProgram:
    """The program of a layout; `allowed[x,s]` says which signals a state of the program may send."""

    def __init__(
        self, layout: ChannelLayout, lam: Any, bob_weight: int = 1, allowed: Array | None = None, elastic: bool = False
    ) -> None:
        self.layout, self.lam, self.bob_weight, self.allowed = layout, lam, bob_weight, allowed
        self.arrays, self.signals, self.index, self.share = layout.arrays, layout.signals, layout.index, layout.share
        self.elastic, self._near = elastic, False
        (N, _, e), S, G, field = self.arrays.shape, len(self.signals), len(self.arrays.groups), self.arrays.field
        self._builder = ProgramBuilder(field)
        self._slack = self._builder.columns(1, field.one) if elastic else None
        p = self.arrays.p[:, None]
        self.costs = p * self.arrays.B[:, self.signals.bob]
        self.q = self._builder.columns((N, S), self.costs * bob_weight)
        self.t = self._builder.columns((S, G), -field.number(lam), free=True)
        self._builder.rows(N, [(np.arange(N)[:, None], self.q, field.one)], field.one, equality=True)
        hers = self.signals.eve
        s, j = (
            np.indices((S, e)).reshape(2, -1)
            if hers is None
            else np.array([np.indices(hers.shape)[0], hers]).reshape(2, -1)
        )
        row = np.arange(len(s))
        entries = [(row, self.t[s, self.arrays.group_of[j]], field.one), (row, self.q[:, s], -p * self.arrays.E[:, j])]
        self._eve = self._builder.rows(len(s), entries)
        self.demands = [demand for demand in layout.demands if demand.priced]
        self._local = [demand for demand in layout.local if demand.priced]
        self._place = {demand.name: demand.rows(self) for demand in self._local}

    def columns(self, shape: int | tuple[int, ...]) -> Array:
        """Auxiliary columns of a condition."""
        return self._builder.columns(shape)

    def rows(self, count: int, entries: Sequence[tuple[Any, Any, Any]], rhs: Any = 0) -> slice:
        """Rows of a condition."""
        if self._slack is not None:
            entries = [*entries, (np.arange(count), self._slack[0], -self.arrays.field.one)]
        return self._builder.rows(count, entries, rhs)

    def program(self) -> LinearProgram:
        return self._builder.build()

    def solve(self) -> ChannelOptimum:
        """The optimum; raises Infeasible if no channel meets the conditions.

        In floats a condition may be impossible by rounding alone: it is then loosened by less than it may be missed by.
        The multipliers prove at least as much of the condition itself.
        """
        near = None if self.arrays.exact or self.elastic else self.layout.relaxed
        try:
            return self._solve(last=near is None)
        except Infeasible:
            if near is None:
                raise
        return ChannelProgram(near, self.lam, self.bob_weight, self.allowed)._solve(last=True)

    def _solve(self, last: bool) -> ChannelOptimum:
        lp = self.program()
        ties = [] if self.elastic else self._ties(lp.shape[1])
        keep = np.ones(lp.shape[1], dtype=bool)
        if self.allowed is not None:
            keep[self.q] = self.allowed
            lp, ties = lp.on_columns(keep), [cost[keep] for cost in ties]

        def read(z: Array, y: Array, noise: float = _NOISE) -> tuple[Array, Multipliers]:
            wide = self.arrays.field.zeros(len(keep))
            wide[keep] = z
            return self._channel(wide[self.q], noise), self._dual(y)

        lazy = np.zeros(lp.shape[0], dtype=bool)
        for demand in self._local:
            lazy[demand.lazy(self._place[demand.name])] = True
        accept = lambda z, y: self._good(*read(z, y))  # noqa: E731
        later = lazy if lazy.any() else None
        try:
            found = optimum(lp, ties=ties, accept=accept, lazy=later)
        except Infeasible:
            if not (last and self._near):
                raise
            # floats that miss a limit by rounding are no solution in rationals, and yet the best that floats can say
            found = optimum(lp, ties=ties, accept=lambda *_: True, lazy=later)
        # in an optimum found in rationals tiny probabilities are not noise
        q, dual = read(found.z, found.y, 0.0 if found.exact else _NOISE)
        return ChannelOptimum(q, dual, self._bound(dual), found.how)

    def feasible(self) -> bool:
        """Whether any channel meets the conditions: without a cost every feasible vertex is an optimum."""
        lp = self.program()
        try:
            optimum(replace(lp, cost=lp.field.zeros(len(lp.cost))))
        except Infeasible:
            return False
        return True

    def simple(self) -> ChannelOptimum | None:
        """Null or full release with the bound at zero prices, where the time is over; None if neither is allowed."""
        if self.signals.eve is not None or self.allowed is not None:
            return None
        p, B = self.arrays.p, self.arrays.B
        channels = [np.eye(B.shape[1])[sent] for sent in (B.argmin(axis=1), np.full(len(B), (p @ B).argmin()))]
        fitting = [q for q in channels if not self._broken(q)]
        if not fitting:
            return None
        dual = self._dual(np.zeros(self._builder.row_count))
        best = min(fitting, key=lambda q: self.layout.sent(q).score(self.lam, self.bob_weight))
        return ChannelOptimum(best, dual, self._bound(dual), STOPPED)

    def _ties(self, count: int) -> list[Array]:
        first, weight = self.arrays.field.zeros(count), self.arrays.field.zeros(count)
        weight[self.q] = self.layout.weights
        if self.bob_weight:
            first[self.t] = -self.arrays.field.one
        else:
            first[self.q] = self.costs
        return [first, weight]

    def _channel(self, q: Array, noise: float) -> Array:
        if self.arrays.exact:
            return q
        # likelihood ratios bind tiny probabilities to larger ones: there only a signal as a whole counts as never sent
        sent = q.max(axis=0) > noise if any(d.by_ratio for d in self.demands) else q > noise
        sent &= q.max(axis=0) > _RARE * noise  # what a signal that is mere rounding tells the agents does not matter
        q = np.where(sent, np.maximum(q, 0.0), 0.0)
        total = q.sum(axis=1, keepdims=True)
        q = q / np.where(total > 0, total, 1.0)
        if self.allowed is None and any(d.by_ratio for d in self.demands) and self._broken(q):
            # rounding breaks ratios of tiny probabilities; a trace of the null release, whose ratios are one, helps
            q = q + _TRACE * (self.arrays.p @ q / self.arrays.p.sum() - q)
        return q

    def _broken(self, q: Array) -> str:
        """Which condition a float channel breaks by more than a tenth of the tolerance of certificates."""
        sent = SentSignals(self.layout.whole, self.signals, self.layout.rows(q))
        return broken(self.demands, sent, 0.1 * self.arrays.field.tolerance)

    def _dual(self, y: Array) -> Multipliers:
        duals, S = -y if self.arrays.exact else np.maximum(-y, 0.0), len(self.signals)
        prices = {d.name: d.prices(self, self._place[d.name], duals) for d in self._local}
        replies = [d.replies(self, self._place[d.name], duals) for d in self._local if isinstance(d, Margin)]
        if replies:
            return Multipliers(replies[0], prices)
        if self.signals.eve is not None:
            return Multipliers(self.arrays.field.zeros((S, self.arrays.shape[2])), prices)
        dual = Multipliers(duals[self._eve].reshape(S, -1), prices)
        if self.arrays.exact:
            return dual
        _, lagrangian = terms(self.layout.whole, self.demands, self.signals, self._price, dual)
        return Multipliers(self.arrays.on_simplex(dual.u, lagrangian.risk), prices)

    @property
    def _price(self) -> Any:
        return self.arrays.field.zero if self.elastic else self.arrays.field.number(self.lam)

    @property
    def _allowed(self) -> Array | None:
        """Which signals each of the problem's states may send."""
        if self.allowed is None:
            return None
        return np.where((self.index >= 0)[:, None], self.allowed[self.index], True)

    def _bound(self, dual: Multipliers) -> Any:
        arrays, weight = self.layout.whole, 0 if self.elastic else self.bob_weight
        near = 10 * arrays.field.tolerance
        wrong, bound = proved(arrays, self.demands, self.signals, self._price, dual, near, self._allowed, weight)
        if wrong:
            raise ArithmeticError(f"the multipliers of the optimum do not verify: {wrong}")
        return bound

    def _good(self, q: Array, dual: Multipliers) -> bool:
        """Whether a float optimum meets its conditions and its gap is small; only then is it worth publishing."""
        if self.elastic:
            return True
        arrays = self.layout.whole
        sent = SentSignals(arrays, self.signals, self.layout.rows(q))
        if self._broken(q):
            self._near = self._near or not self.bob_weight
            return False
        if not self.bob_weight:
            return True
        gap = sent.told_risk - self.lam * sent.eve_risk - self._bound(dual)
        if self.signals.eve is not None and not self.layout.problem.misaligned:
            # agents who decide for themselves must not lose less than they are told to, but for rounding
            eve, bob = arrays.least_replies(sent.eve).sum(), sent.bob.min(axis=1).sum()
            gained = self.lam * (sent.eve_risk - eve) + sent.told_risk - bob
            near = arrays.field.tolerance * arrays.spread(self.lam) + ROUNDING * arrays.range(self.lam)
            if gained > 0.2 * near:
                return False
        if gap <= 0.1 * arrays.field.tolerance * arrays.spread(self.lam):
            return True
        if gap > 0.1 * arrays.field.tolerance * arrays.size(self.lam):
            return False
        self._near = True
        return q.size * arrays.shape[2] > _MANY or self._small_gap(q, dual)

    def _small_gap(self, q: Array, dual: Multipliers) -> bool:
        """Whether the gap is half of what a certificate may have, in rationals: floats cannot tell it from rounding."""
        if self.layout.stated is None or self.layout.stated[1] is not self.layout.demands:
            return True
        unit, rows = EXACT.number(self.arrays.field.tolerance), EXACT.array(self.layout.rows(q))
        asked = ConditionedProblem.lifted(self.layout.problem, self.layout.stated[0], unit)
        arrays, lam, allowed = asked.arrays, EXACT.number(float(self.lam)), self._allowed
        sent = SentSignals(arrays, self.signals, rows / rows.sum(axis=1)[:, None])
        wrong, bound = proved(arrays, asked.demands, self.signals, lam, dual.in_field(EXACT), unit, allowed)
        return bool(wrong) or 2 * (sent.score(lam)[0] - bound) <= allowance(arrays, lam, unit)
