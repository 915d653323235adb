"""Solution: an optimal mechanism with its value, its bound and its certificate; and how a joint table becomes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.model.calibration import extremes
from bap_lp.model.evaluated import certainty_in_words
from bap_lp.model.evaluation import evaluate
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism, without_unused
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.signal_sums import near_least, signal_losses
from bap_lp.program.finish import on_grid, on_simplex
from bap_lp.program.prior_set import PriorSet
from bap_lp.proof.certificate import Certificate
from bap_lp.support.display import (
    LISTED,
    Displayed,
    both,
    counted,
    distribution,
    equals,
    fraction,
    kind,
    quoted_label,
    risks_line,
)
from bap_lp.support.rational import Array, by_rows, field_of, floats, in_floats, is_exact, public
from bap_lp.support.risks import Number, Risks

if TYPE_CHECKING:
    from bap_lp.questions.optimum.conditioned import ConditionCost

_WIDE = 1e-4  # of the largest loss: what Bob or Eve gain from the data, below which 2^-52 of a loss is seen


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Displayed):
    """An optimal mechanism at lam, with its proof. `solve` makes it.

    Attributes:
        problem: the problem that was solved.
        lam: the price of privacy.
        value: R_A of the mechanism; in floats rounded up.
        mechanism: the channel to use.
        risks: R_B and R_E of the mechanism, recomputed from it.
        bound: a number that no mechanism can beat; in floats rounded down.
        gap: value - bound: 0 if exact, certified and tiny if not.
        method: how it was computed, in words.
        certificate: the proof, which `verify` checks without a solver.
        without: what `unconstrained` is, or what finds it.
        randomised: the optimum without determinism; None if it was not asked for.
        worst_prior: the prior of a set under which the mechanism has its largest R_A, and `risks`; None without a set.
        attained: whether `value` is the worst R_A itself; if not, it is a number that no prior of the set exceeds.

    >>> from bap_lp import Problem, solve
    >>> best = solve(Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]]))
    >>> print(best.lam, best.value, best.gap, best.risks.bob, best.risks.eve)
    1/3 3/40 0 13/40 3/4
    """

    problem: Problem
    lam: Number
    value: Number
    mechanism: Mechanism
    risks: Risks
    bound: Number
    gap: Number
    method: str
    certificate: Certificate
    without: Number | Callable[[], Number] | None = field(default=None, repr=False)
    randomised: Number | None = None
    worst_prior: Array | None = None
    attained: bool = True

    @property
    def priors(self) -> PriorSet | None:
        """The set of priors whose worst case counts; None if the problem's own prior counts."""
        return self.certificate.priors

    @property
    def exact(self) -> bool:
        return self.certificate.exact

    @property
    def conditions(self) -> Conditions | None:
        """The conditions that the mechanism meets; None if none were set."""
        return None if self.certificate.conditions.empty else self.certificate.conditions

    @cached_property
    def unconstrained(self) -> Number | None:
        """The optimum without the conditions, solved for when it is asked for; None if there are none."""
        return self.without() if callable(self.without) else self.without

    @property
    def price_of_conditions(self) -> Number | None:
        """What the conditions cost: value minus the optimum without them; None if there are none."""
        return None if self.unconstrained is None else self.value - self.unconstrained

    def costs(self) -> tuple[ConditionCost, ...]:
        """What each condition costs in R_A: entries with `name`, `cost` and `shadow_prices` (of its numbers, by label).

        The cost of one of several conditions is what R_A would save without it, the others kept. It may be nothing,
        because the others imply the condition.

        >>> from bap_lp import Problem, solve
        >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
        >>> cap = {"posterior_caps": [{"event": ["0"], "at_most": "9/10"}]}
        >>> [found] = solve(coin, 0, conditions=cap).costs()
        >>> print(found.name, found.cost, dict(found.shadow_prices))
        posterior_caps 1/12 {'posterior_caps[0].at_most': Fraction(25, 27)}
        """
        from bap_lp.questions.optimum.conditioned import condition_costs  # which solves again

        return condition_costs(self)

    @property
    def price_of_determinism(self) -> Number | None:
        """What determinism costs: value minus the optimum under the other conditions."""
        return None if self.randomised is None else self.value - self.randomised

    def _lines(self) -> Iterator[str]:
        value = equals("R_A", self.value, fraction) + (f" (gap {float(self.gap):.1g})" if self.gap else "")
        at = f"{value} at {equals('lambda', self.lam, fraction)}"
        signals = counted(len(self.mechanism.signals), "signal")
        yield f"{kind(self.exact)}, {at}, {risks_line(self.risks.bob, self.risks.eve)}, {signals}"
        yield self._proved()
        ends = [risks_line(public(bob), public(eve)) for bob, eve in extremes(self.problem)]
        yield f"If everything is released, {ends[0]}; if nothing is, {ends[1]}."
        yield from self._over_priors()
        yield from self._under_conditions()
        _, *signals_, invariance = evaluate(self.problem, self.mechanism).summary().splitlines()
        yield from signals_
        yield from certainty_in_words(self.problem, self.mechanism)
        yield from self._randomised()
        yield invariance

    def _proved(self) -> str:
        among = "" if self.conditions is None else " that meets the conditions"
        what = "R_A" if self.priors is None else "worst R_A"
        if self.exact and self.gap == 0:
            ends = equals("value = bound", self.value)
            return f"This is proved exactly: no mechanism{among} has a smaller {what}; {ends}."
        start = f"This is proved up to {float(self.gap):.2g}"
        ends = f"value {float(self.value):.12g}, lower bound {float(self.bound):.12g}"
        loose = "" if self.conditions is None else " In floats, limits are read looser by 2^-48 of their size."
        return f"{start}: {ends}; no mechanism{among} has a{'' if self.priors else 'n'} {what} below the bound.{loose}"

    def _over_priors(self) -> Iterator[str]:
        if self.priors is None or self.worst_prior is None:
            return
        worst = "the largest R_A that any prior of the set can cause" if self.attained else "above the largest R_A"
        yield f"It holds even if {self.priors.words()}: it is {worst}."
        yield "Bob does what the signal says, whatever the shares are, and Eve knows them."
        shares = dict(zip(self.problem.states, self.worst_prior.tolist(), strict=True))
        yield f"The worst shares, which the risks are about: {distribution(shares)}. The signals, at the stated ones:"

    def _under_conditions(self) -> Iterator[str]:
        if self.conditions is None:
            return
        yield f"Conditions: {self.conditions.words()}."
        if self.price_of_conditions is None:
            return
        yield f"The conditions cost {both(self.price_of_conditions)} in R_A."
        if self.price_of_determinism:
            yield f"Of that {both(self.price_of_determinism)} because nothing is drawn at random."
        for one in self.costs():
            yield f"Condition {next(one._lines())}."

    def _randomised(self) -> Iterator[str]:
        """A state has several signals only if B - u.E, what they cost Alice, is the same."""
        mixed = np.flatnonzero(((self.mechanism.q > 0).sum(axis=1) > 1) & np.asarray(self.problem.p > 0)).tolist()
        if not mixed:
            yield "The data determine the signal: nothing is drawn at random."
            return
        yield f"The signal is random in {len(mixed)} of {counted(len(self.problem.p), 'state')}."
        costs = self.signal_costs
        for x in sorted(mixed, key=lambda x: -self.problem.p[x])[:LISTED]:
            own = distribution(dict(zip(self.mechanism.signals, public(self.mechanism.q[x]).tolist(), strict=True)))
            least = "" if costs is None else f"; each of them costs Alice B - u.E = {both(min(costs[x]))}"
            yield f"{quoted_label(self.problem.states[x])} sends {own}{least}."

    @property
    def signal_costs(self) -> Array | None:
        """B(x,i) - u_i.E(x,.): what signal i costs Alice in state x. None where other terms add to it."""
        proof, problem = self.certificate, self.problem
        if problem.misaligned or problem.reporting or not proof.conditions.empty or self.priors is not None:
            return None
        u = proof.u if self.exact else floats(proof.u)
        return public(problem.B - problem.E.dot(u.T))

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The mechanism."""
        return self.mechanism.rows(most)


def mechanism_on(rows: Array, names: Sequence[str], states: Sequence[str], name: str, exact: bool) -> Mechanism:
    """A channel on the problem's states without the signals that are never sent.

    A channel in floats is published in floats if these are the numbers that were proved.
    """
    kept, signals = without_unused(rows, names)
    return Mechanism.of(kept if exact else in_floats(kept), signals, states, name)


def published(
    problem: Problem, arrays: Arrays, index: Array, q: Array, names: Sequence[str]
) -> tuple[Mechanism, Array]:
    """A channel on merged states as a mechanism on the problem's own, without unused signals; and with all of them."""
    kept, signals = without_unused(q, names)
    if len(q) == len(problem.p):  # nothing was merged
        return Mechanism.of(kept, signals, problem.states, "optimum"), q

    def whole(rows: Array) -> Array:
        out = rows[index]
        if (index < 0).any():
            null = field_of(rows).array(arrays.p).dot(rows)
            out[index < 0] = null / null.sum() if is_exact(rows) else on_grid(null[None])[0]
        return out

    every = whole(q)
    shown = every if kept is q else whole(kept)
    return Mechanism.of(shown, signals, problem.states, "optimum"), every


def own_risks(problem: Problem, mechanism: Mechanism, told: Risks) -> Risks:
    """The risks of agents who decide for themselves, if that is better for them than what they are told."""
    own = risks_of(problem, mechanism)
    gain = own.bob + own.bob_error < told.bob or own.eve - own.eve_error > told.eve
    return own if gain else told


def channel_of(arrays: Arrays, rho: Array) -> Array:
    """q(s|x) of a joint table; floats as numbers that floats hold, in rows that sum to one."""
    if is_exact(rho):
        return by_rows(np.divide, rho, arrays.p)
    q = rho / arrays.p[:, None]
    ends = zip(arrays.spreads, (arrays.B, arrays.E), strict=True)
    # where losses are so large that probabilities of 2^-52 matter, floats are scaled to their sums instead
    coarse = any(0 < spread < _WIDE * float(loss.max()) for spread, loss in ends)
    return on_simplex(q) if coarse else on_grid(q)


def obedient(problems: Sequence[Arrays], profiles: Array, q: Array) -> Array:
    """The channel whose signals say what the Bobs do: each goes to the profile that they follow (their own on ties).

    profiles: what every problem's Bobs are told, signals x problems. Pooling raises no R_A and keeps the conditions.
    """
    target = profiles.copy()
    sent = np.flatnonzero((q != 0).any(axis=0))
    for k, arrays in enumerate(problems):
        small, told = arrays.rounded, profiles[sent, k]
        near = near_least(small.p[:, None] * floats(q[:, sent]), small.B, np.zeros(small.B.shape[1], dtype=int))
        near[np.arange(len(sent)), told] = False
        doubt = np.flatnonzero(near.any(axis=1))  # elsewhere floats prove that it is the least
        losses = signal_losses(arrays.p[:, None] * q[:, sent[doubt]], arrays.B)
        own = losses[np.arange(len(doubt)), told[doubt]]
        target[sent[doubt], k] = np.where(own > losses.min(axis=1), losses.argmin(axis=1), told[doubt])
    if (target == profiles).all():
        return q
    place = {tuple(row): signal for signal, row in enumerate(profiles.tolist())}
    out = 0 * q
    for signal, row in enumerate(target.tolist()):
        out[:, place[tuple(row)]] += q[:, signal]
    return out
