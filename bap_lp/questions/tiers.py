"""Tiers: a public file, a research file, a secure room. Each release refines the one before it.

One program (`program.several`) finds releases that are optimal together. Solving the tiers separately is cheaper, but
their releases do not refine each other in general: the difference is the price of nesting.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.conditions.given import demands_of_each
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.model.sums.merging import class_sums, merge_index
from bap_lp.program.bound import Program
from bap_lp.program.finish import on_grid, priced
from bap_lp.program.several import prefixes, tier_audiences, tier_names, tier_program, tiers_of
from bap_lp.proof.certificate import Certificate, Verdict, closed
from bap_lp.proof.checking import verify
from bap_lp.questions.optimum.several_problems import ReadProblems, SeveralSolution
from bap_lp.questions.optimum.solving import solve
from bap_lp.support.display import both, counted, equals, fraction, kind
from bap_lp.support.rational import (
    EXACT,
    Array,
    InputError,
    field_of,
    floats,
    in_floats,
    lifted,
    stated,
    taken,
)
from bap_lp.support.risks import Number

_MOST_ENTRIES = 1_000_000  # probabilities of a joint table


@dataclass(frozen=True, eq=False, repr=False)
class TierSolution(SeveralSolution):
    """Releases that refine each other and minimise sum_k w_k (R_B,k - lam_k R_E,k).

    mechanisms[k] is what tier k sees; parents[k][s] is the signal of tier k - 1 that its signal s refines. `separate`
    is the least sum without nesting, so that `price_of_nesting` = value - separate >= 0.
    """

    mechanisms: tuple[Mechanism, ...]
    parents: tuple[tuple[int, ...], ...]
    separate: Number
    separate_values: tuple[Number, ...]

    @property
    def price_of_nesting(self) -> Number:
        """What it costs that every release refines the one before it."""
        return self.value - self.separate

    def verify(self) -> Verdict:
        """Check the certificate with arithmetic alone."""
        return verify(self.problems, self.certificate)

    def refinement(self, tier: int, signal: str) -> Mechanism:
        """How to draw the release mechanisms[tier] once `signal` of the one before it is published.

        A state that cannot have sent `signal` gets the average row.
        """
        if not 1 <= tier < len(self.mechanisms):
            raise InputError("tier", tier, f"must be between 1 and {len(self.mechanisms) - 1}")
        before, after = self.mechanisms[tier - 1], self.mechanisms[tier]
        if signal not in before.signals:
            raise InputError("signal", signal, "is not one of " + ", ".join(map(repr, before.signals[:8])))
        parent = before.signals.index(signal)
        children = [s for s, up in enumerate(self.parents[tier]) if up == parent]
        joint, total = after.q[:, children], before.q[:, parent]
        average = field_of(joint).array(self.problems[0].p).dot(joint)
        average = average / average.sum()
        rows = [row / mass if mass > 0 else average for row, mass in zip(joint, total, strict=True)]
        names = [after.signals[s] for s in children]
        return Mechanism(np.array(rows), signals=names, states=after.states, name=f"tier {tier + 1} given {signal}")

    def _lines(self) -> Iterator[str]:
        price = equals("price of nesting", self.price_of_nesting, fraction)
        value = equals("value", self.value, fraction)
        yield f"{kind(self.exact)}, {counted(len(self.lams), 'tier')}, {value}, {price}"
        yield f"Separate releases would have {both(self.separate)}: nesting costs {both(self.price_of_nesting)}."
        yield self._proved("no nested releases have a smaller sum")

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The tiers; `R_A alone` is the least without nesting."""
        parts = zip(self.problems, self.lams, self.weights, self.risks, self.separate_values, strict=True)
        return [
            {"tier": f"{k + 1}: {problem.title}", "lambda": lam, "weight": weight, "R_B": own.bob, "R_E": own.eve,
             "R_A": own.alice(lam), "R_A alone": alone}
            for k, (problem, lam, weight, own, alone) in list(enumerate(parts))[:most]
        ]  # fmt: skip


def tiers(
    problems: Sequence[Problem],
    lams: Any = "calibrated",
    weights: Any = None,
    exact: bool | None = None,
    conditions: Any = None,
) -> TierSolution:
    """Releases for several circles of users, each of which refines the one before it, optimal together.

    Args:
        problems: the problem of each tier, the public one first; same states and prior. Tier k's Bob and Eves see the
            signals of its own and of all tiers before it.
        lams: a number or "calibrated" for all tiers, or a list with one per tier.
        weights: how much each tier counts, positive; 1 by default.
        exact: True insists on rationals, False works in floats, None follows the numbers given.
        conditions: what the release of every tier must satisfy, or a list with one for each (None for none).

    Returns:
        The nested mechanisms with their risks, the value, its proof, and what nesting costs.

    Raises:
        InputError: the problems have different states or priors, a lam is negative or undefined, an agent has beliefs
            of his own, there are too many tuples of decisions, or the conditions cannot hold (ConflictError, with its
            proof).

    >>> from bap_lp import Problem, tiers
    >>> bob = [["1/3", "2/3"], [1, 0]]
    >>> public, research = (Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (10, 2))
    >>> both = tiers([public, research], "1/3")
    >>> print(both.value, both.separate, both.price_of_nesting, both.verify().ok)
    13/40 13/40 0 True
    >>> print(tiers([public, research], "1/3", conditions=[{"exp_epsilon": 3}, None]).value)
    3/8
    """
    given, prices, shares = tiers_of(problems, lams, weights)
    read = ReadProblems.of(given, (*prices, *shares), "lams and weights", exact, conditions)
    given, whole, asked, exact = read.given, read.whole, read.asked, read.exact
    at, scale = ([taken(v, exact) for v in own] for own in (prices, shares))
    audiences = tier_audiences(whole, demands_of_each(asked, whole))
    everything = tier_program(audiences, at, scale)
    merged, index, mass = _merged(everything, whole, bool(asked))
    if merged.cost.size > _MOST_ENTRIES:
        size = f"{merged.shape[0]} x {merged.shape[1]}"
        raise InputError("problems", None, f"need {size} probabilities (states x tuples), more than {_MOST_ENTRIES}")
    spread = sum(float(w * p.arrays.spread(lam)) for w, lam, p in zip(scale, at, whole, strict=True))
    found = read.solved(merged, mass, spread, audiences, True)
    channel = found.rho[index]
    if (index < 0).any():
        null = mass.dot(found.rho)
        channel[index < 0] = null if exact else lifted(on_grid(floats(null)[None]))[0]
    dual = priced(everything, found.dual)
    value, bound = everything.value(channel), everything.bound(dual)
    total, least, gap = closed(value, bound, exact)
    mechanisms, parents = _mechanisms(given, channel, exact)
    lambdas, shares_out = (tuple(stated(v, exact) for v in own) for own in (at, scale))
    each = zip(given, lambdas, asked or [None] * len(given), strict=True)
    alone = tuple(solve(problem, lam, exact=exact, conditions=own).value for problem, lam, own in each)
    separate = sum(w * v for w, v in zip(shares_out, alone, strict=True))
    proof = Certificate(
        lambdas, total, gap, channel, dual, exact, kind="tiers", tier_weights=shares_out, prior=whole[0].p,
        conditions_of=asked,
    )  # fmt: skip
    risks, how = tuple(map(risks_of, given, mechanisms)), f"nested program, {found.how}"
    return TierSolution(
        given, lambdas, shares_out, total, risks, least, gap, how, proof, mechanisms, parents, separate, alone
    )


def _merged(program: Program, problems: Sequence[Problem], asked: bool) -> tuple[Program, Array, Array]:
    """The program, the class of each state, and the probabilities of the classes.

    Without conditions states that nobody in any tier can tell apart are merged; the class is -1 where p = 0.
    """
    p = problems[0].p
    if asked:
        return program, np.arange(len(p)), p
    index, count = merge_index(p, [table for one in problems for table in (one.B, one.E)])
    seen = tuple(replace(o, losses=class_sums(o.losses, index, count)) for o in program.observers)  # type: ignore[arg-type]
    return (
        Program(EXACT.full(count, 1), class_sums(program.cost, index, count), seen),
        index,
        class_sums(p, index, count),
    )


def _mechanisms(
    given: Sequence[Problem], channel: Array, exact: bool
) -> tuple[tuple[Mechanism, ...], tuple[tuple[int, ...], ...]]:
    """What every tier sees, without unused signals, and the signal of the tier before that each of them refines."""
    mechanisms: list[Mechanism] = []
    parents: list[tuple[int, ...]] = []
    place = {0: 0}  # of every prefix of the tier before that is sent
    sizes = [one.shape[1] for one in given]
    for k, problem in enumerate(given):
        prefix = prefixes(sizes, k)
        q = class_sums(channel.T, prefix, int(prefix[-1]) + 1).T
        names = tier_names(given[: k + 1])
        used = [s for s in range(q.shape[1]) if any(q[:, s] > 0)]
        parents.append(tuple(place[s // problem.shape[1]] for s in used))
        place = {s: position for position, s in enumerate(used)}
        rows = q[:, used]
        rows = rows if exact else in_floats(rows)
        mechanisms.append(Mechanism.of(rows, [names[s] for s in used], problem.states, f"tier {k + 1}"))
    return tuple(mechanisms), tuple(parents)
