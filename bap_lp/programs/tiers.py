"""Tiers: a public file, a research file, a secure room. Each release refines the one before it.

    min  sum_k w_k ( sum_x,i B_k(x,i_k) rho[x,i_1..i_K] - lam_k sum t_k[i_1..i_k] )
    s.t. sum_i rho[x,i] = p(x),  t_k[i_1..i_k] <= sum_{x, i_k+1..i_K} E_k(x,j) rho[x,i],  rho >= 0,
and the duals of the rows of t_k are the replies u_k that prove the optimum (`proof.nested`, which also says why signals
of decisions are enough). Solving the tiers separately is cheaper, but their releases do not refine each other in
general: the difference is the price of nesting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bap_lp.arguments import checked
from bap_lp.linear.optimum import optimum
from bap_lp.linear.program import ProgramBuilder
from bap_lp.model.display import Grid, Tabular, both, counted, equals, fraction, kind
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.labels import joints
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.merging import class_sums, first_members, merge_index
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number, Risks
from bap_lp.programs.solution import on_states
from bap_lp.programs.solving import solve
from bap_lp.programs.ties import tie_costs
from bap_lp.proof.certificate import Verdict
from bap_lp.proof.nested import Nest, TierCertificate, tiers_of, verify_tiers
from bap_lp.rational import EXACT, FLOAT, Array, InputError, is_exact, public

_MOST_ENTRIES = 1_000_000  # probabilities of a joint table
_MANY = 300_000  # products up to which a gap is computed in rationals


@dataclass(frozen=True, eq=False, repr=False)
class TierSolution(Tabular):
    """Releases that refine each other and minimise sum_k w_k (R_B,k - lam_k R_E,k).

    mechanisms[k] is what tier k sees; parents[k][s] is the signal of tier k - 1 that its signal s refines. `separate`
    is the least sum without nesting, so that `price_of_nesting` = value - separate >= 0.
    """

    problems: tuple[Problem, ...]
    lams: tuple[Number, ...]
    weights: tuple[Number, ...]
    value: Number
    mechanisms: tuple[Mechanism, ...]
    parents: tuple[tuple[int, ...], ...]
    risks: tuple[Risks, ...]
    bound: Number
    gap: Number
    separate: Number
    separate_values: tuple[Number, ...]
    method: str
    certificate: TierCertificate

    @property
    def exact(self) -> bool:
        return self.certificate.exact

    @property
    def price_of_nesting(self) -> Number:
        """What it costs that every release refines the one before it."""
        return self.value - self.separate

    def verify(self) -> Verdict:
        """Check the certificate with arithmetic alone."""
        return verify_tiers(self.problems, self.certificate)

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
        average = self.problems[0].p.dot(joint)
        average = average / average.sum()
        rows = [row / mass if mass > 0 else average for row, mass in zip(joint, total, strict=True)]
        names = [after.signals[s] for s in children]
        return Mechanism(np.array(rows), signals=names, states=after.states, name=f"tier {tier + 1} given {signal}")

    def summary(self) -> str:
        """The optimum, tier by tier, in plain sentences."""
        lines = [f"Over {counted(len(self.lams), 'tier')} the least sum of Alice's risks is {both(self.value)}."]
        for k, (own, lam) in enumerate(zip(self.risks, self.lams, strict=True)):
            found = f"{equals('R_B', own.bob)}, {equals('R_E', own.eve)}, {equals('R_A', own.alice(lam))}"
            lines.append(f"Tier {k + 1} at {equals('lambda', lam)}: {found}.")
        lines.append(
            f"Separate releases would have {both(self.separate)}: nesting costs {both(self.price_of_nesting)}."
        )
        return "\n".join(lines)

    def _headline(self) -> str:
        price = equals("price of nesting", self.price_of_nesting, fraction)
        return (
            f": {kind(self.exact)}, {counted(len(self.lams), 'tier')}, {equals('value', self.value, fraction)}, {price}"
        )

    def _grid(self, most: int | None = None) -> Grid:
        parts = list(zip(self.problems, self.lams, self.weights, self.risks, self.mechanisms, strict=True))
        rows = [
            (k + 1, problem.title, lam, weight, own.bob, own.eve, own.alice(lam), len(mechanism.signals))
            for k, (problem, lam, weight, own, mechanism) in enumerate(parts[:most])
        ]
        return Grid(("tier", "title", "lambda", "weight", "R_B", "R_E", "R_A", "signals"), rows, len(parts))


@checked
def tiers(
    problems: Sequence[Problem], lams: Any = "calibrated", weights: Any = None, exact: bool | None = None
) -> TierSolution:
    """Releases for several circles of users, each of which refines the one before it, optimal together.

    Args:
        problems: the problem of each tier, the public one first; same states and prior. Tier k's Bob and Eves see the
            signals of its own and of all tiers before it.
        lams: a number or "calibrated" for all tiers, or a list with one per tier.
        weights: how much each tier counts, positive; 1 by default.
        exact: True insists on rationals, False works in floats, None follows the numbers given.

    Returns:
        The nested mechanisms with their risks, the value, its proof, and what nesting costs.

    Raises:
        InputError: the problems have different states or priors, a lam is negative or undefined, an agent has beliefs
            of his own, or there are too many tuples of decisions.

    >>> from bap_lp import Problem, tiers
    >>> bob = [["1/3", "2/3"], [1, 0]]
    >>> public, research = (Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (10, 2))
    >>> both = tiers([public, research], "1/3")
    >>> print(both.value, both.separate, both.price_of_nesting, both.verify().ok)
    13/40 13/40 0 True
    """
    given, prices, shares = tiers_of(problems, lams, weights)
    able = all(problem.exact for problem in given) and all(map(is_exact, (*prices, *shares)))
    if exact and not able:
        raise InputError("problems", None, 'and lams and weights must be exact, such as "1/3", for an exact solution')
    field = EXACT if exact or (exact is None and able) else FLOAT
    given = given if field.exact else tuple(problem.as_float() for problem in given)
    nest = Nest.of(given, prices, shares, field)
    merged, index = _merged(nest)
    if len(merged.p) * len(merged.tuples) > _MOST_ENTRIES:
        size = f"{len(merged.p)} x {len(merged.tuples)}"
        raise InputError("problems", None, f"need {size} probabilities (states x tuples), more than {_MOST_ENTRIES}")
    rho, replies, how = _solve(merged)
    table = on_states(given[0], merged.arrays[0], index, rho)
    mechanisms, parents = _mechanisms(given, merged, index, rho)
    risks = tuple(risks_of(problem, mechanism) for problem, mechanism in zip(given, mechanisms, strict=True))
    at, scale = tuple(map(public, nest.lams)), tuple(map(public, nest.weights))
    value = sum(w * own.alice(lam) for w, own, lam in zip(scale, risks, at, strict=True))
    bound = public(nest.bound(replies))
    if field.exact and value != bound:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {bound}")
    alone = tuple(solve(problem, lam, exact=field.exact).value for problem, lam in zip(given, at, strict=True))
    return TierSolution(
        problems=given,
        lams=at,
        weights=scale,
        value=value,
        mechanisms=mechanisms,
        parents=parents,
        risks=risks,
        bound=bound,
        gap=value - bound,
        separate=sum(w * v for w, v in zip(scale, alone, strict=True)),
        separate_values=alone,
        method=f"nested program, {how}",
        certificate=TierCertificate(at, scale, value, table, tuple(replies)),
    )


def _merged(nest: Nest) -> tuple[Nest, Array]:
    """States that nobody in any tier can tell apart are merged; the class of each state is -1 where p = 0."""
    index, count = merge_index(nest.p, [table for a in nest.arrays for table in (a.B, a.E)])
    p, first = class_sums(nest.p, index, count), first_members(index)
    return replace(nest, arrays=tuple(replace(a.states(first), p=p) for a in nest.arrays)), index


def _solve(nest: Nest) -> tuple[Array, list[Array], str]:
    """Joint table, replies and how they were found; in floats from the differences of losses alone."""
    nest = nest if nest.field.exact else nest.lowered()
    field, (N, T) = nest.field, (len(nest.p), len(nest.tuples))
    make = ProgramBuilder(field)
    rho = make.columns((N, T), nest.costs())
    make.rows(N, [(np.arange(N)[:, None], rho, field.one)], nest.p, equality=True)
    places, hidden = [], []
    for k, (a, w, lam) in enumerate(nest.tiers):
        prefix, e = nest.prefix(k), a.shape[2]
        count = int(prefix[-1]) + 1
        t = make.columns((count, len(a.groups)), -w * lam, free=True)
        row = np.arange(count * e).reshape(count, e)
        heard = (row[prefix][None], rho[:, :, None], -a.E[:, None, :])
        places.append(make.rows(count * e, [(row, t[:, a.group_of], field.one), heard]))
        hidden.append(t.ravel())
    lp = make.build()
    ties = tie_costs(rho, np.concatenate(hidden), lp.shape[1], field)

    def read(z: Array, y: Array, noise: float = 1e-13) -> tuple[Array, list[Array]]:
        table = z[rho]
        replies = [-y[place].reshape(-1, a.shape[2]) for place, a in zip(places, nest.arrays, strict=True)]
        if field.exact:
            return table, replies
        replies = [a.on_simplex(u, w * lam) for (a, w, lam), u in zip(nest.tiers, replies, strict=True)]
        table = np.where(table > noise * nest.p[:, None], table, 0.0)
        lost = np.flatnonzero(table.sum(axis=1) < 1e-9 * nest.p)  # too improbable for the float solver's tolerances
        table[lost] = 0.0
        table[lost, nest.margins(replies)[lost].argmin(axis=1)] = nest.p[lost]
        return table * (nest.p / table.sum(axis=1))[:, None], replies

    def good(z: Array, y: Array) -> bool:
        table, replies = read(z, y)
        gap = nest.value(table) - nest.bound(replies)
        if gap <= 0.1 * field.tolerance * nest.spread:
            return True
        if gap > 0.1 * field.tolerance * nest.height(replies):
            return False
        return table.size * sum(a.shape[2] for a in nest.arrays) > _MANY or nest.small_gap(table, replies)

    found = optimum(lp, ties=ties, accept=good)
    # in an optimum found in rationals tiny probabilities are not noise
    table, replies = read(found.z, found.y, 0.0 if found.exact else 1e-13)
    return table, replies, found.how


def _mechanisms(
    given: Sequence[Problem], nest: Nest, index: Array, rho: Array
) -> tuple[tuple[Mechanism, ...], tuple[tuple[int, ...], ...]]:
    """What every tier sees, without unused signals, and the signal of the tier before that each of them refines."""
    mechanisms: list[Mechanism] = []
    parents: list[tuple[int, ...]] = []
    place = {0: 0}  # of every prefix of the tier before that is sent
    for k, problem in enumerate(given):
        q = nest.pooled(rho, k) / nest.p[:, None]
        names = joints([one.bob_decisions for one in given[: k + 1]], " > ")
        used = [s for s in range(q.shape[1]) if any(q[:, s] > 0)]
        parents.append(tuple(place[s // problem.shape[1]] for s in used))
        place = {s: position for position, s in enumerate(used)}
        states = [str(x) for x in range(len(q))]
        merged = Mechanism.of(q[:, used], [names[s] for s in used], states, f"tier {k + 1}")
        mechanisms.append(merged.expanded(index, nest.p, problem.states))
    return tuple(mechanisms), tuple(parents)
