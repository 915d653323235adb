"""Several problems in one program: scenarios, whose worst case counts, and tiers, each of which sees more.

Scenarios. Scenario k has its own prior p_k, losses B_k, E_k and lam_k on the same states; its Bob and Eve know it. At a
signal Bob may decide differently in every scenario, so a signal recommends a profile s = (s_1..s_K) of decisions.
Signals with the same profile can be pooled: every R_B^k stays and every R_E^k can only rise. Scenarios with the same
p_k and B_k share their Bob, and a place in the profile. In the channel's own variables
    min v   s.t.  sum p_k(x) B_k(x,s_k) q[x,s] - lam_k sum t_k <= v,   t_k[s,g] = min_j sum_x p_k(x) E_k(x,j) q[x,s]:
one observer per scenario, and a worst row each, whose weights are a least favourable mixture of the scenarios.

Tiers. Tier k has a Bob and Eves of its own, and they see the signals of tiers 1..k. Signals (i_1..i_K) of the Bobs'
decisions are enough: pool the signals of any nested mechanism on which Bob 1 decides alike, then those of tier 2 with
the same i_1 on which Bob 2 does, and so on; what tier k sees is a function of what it saw, its Bob's decision stays
optimal on each pooled signal (a convex cone), and no Eve gains. Costs w_k B_k(x,i_k) add up; the observer of tier k,
whose price is w_k lam_k, sees the prefix (i_1..i_k).

Conditions. A problem of several is lowered as if it were alone, with what its agents see as signals; its rows and
observers are then pulled back along `sees`. A condition that survives pooling allows the signals above.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Any

import numpy as np

from bap_lp.model.beliefs import shared
from bap_lp.model.calibration import lam_of
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.merging import class_sums
from bap_lp.program.bound import Observer, Program, Rows
from bap_lp.program.lowering import SentSignals, Signals, lowered
from bap_lp.support.labels import joints, weight_of
from bap_lp.support.rational import EXACT, Array, InputError, ReadOnly, floats

_MOST_PROFILES = 4096
_MOST_TUPLES = 100_000


def scenarios_of(problems: Sequence[Problem], lams: Any) -> tuple[tuple[Problem, ...], tuple[Any, ...]]:
    """The problems, checked to have the same states, and the working lam of each."""
    scenarios = _alike(problems)
    given = each(lams, "lams", len(scenarios), "scenario")
    return scenarios, tuple(lam_of(s, v) for s, v in zip(scenarios, given, strict=True))


def _alike(problems: Sequence[Problem]) -> tuple[Problem, ...]:
    """The problems, checked to have the same states."""
    if not problems:
        raise InputError("problems", None, "must not be empty")
    for k, problem in enumerate(problems):
        if problem.states != problems[0].states:
            raise InputError(f"problems[{k}]", None, "must have the same states as problems[0]")
    return tuple(problems)


def profiles_of(problems: Sequence[Problem]) -> tuple[Array, tuple[str, ...]]:
    """What every scenario's Bob decides (profiles x scenarios), and the profiles' names; refuses beliefs."""
    heads: list[Problem] = []
    places: list[int] = []
    for k, one in enumerate(problems):
        shared(one, f"problems[{k}]")
        same = (m for m, head in enumerate(heads) if np.array_equal(head.p, one.p) and np.array_equal(head.B, one.B))
        place = next(same, len(heads))
        heads += [one] if place == len(heads) else []
        places.append(place)
    sizes = [one.shape[1] for one in heads]
    if prod(sizes) > _MOST_PROFILES:
        raise InputError("problems", None, f"have {prod(sizes)} profiles of decisions, more than {_MOST_PROFILES}")
    profiles = np.array(list(product(*map(range, sizes))))[:, places]
    return profiles, tuple(joints([one.bob_decisions for one in heads], " | "))


@dataclass(frozen=True, eq=False)
class Audience(ReadOnly):
    """The agents of one of several problems: what they see of the signal, and what is demanded of that."""

    arrays: Arrays
    signals: Signals  # as they see them
    sees: Array
    demands: tuple[Any, ...] = ()

    def pooled(self, q: Array) -> Array:
        """The channel that they see."""
        return q if len(self.signals) == q.shape[1] else class_sums(q.T, self.sees, len(self.signals)).T

    def sent_whole(self, q: Array) -> SentSignals:
        return SentSignals(self.arrays, self.signals, self.pooled(q))

    def program(self, lam: Any, mark: int) -> Program:
        """Their program on all signals; names end with the mark."""
        own = lowered(self.arrays, self.signals, self.demands, lam)
        order = np.argsort(self.sees, kind="stable")
        start = np.searchsorted(self.sees[order], np.arange(len(self.signals) + 1))

        def pulled(rows: Rows) -> Rows:
            entries = rows.entries
            if entries is not None:
                row, x, view, value = entries
                count = np.diff(start)[view]
                which = np.repeat(np.arange(len(view)), count)
                signal = order[start[view][which] + np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)]
                entries = row[which], x[which], signal, value[which]
            terms = tuple((f"{term[0]} {mark}", *term[1:]) for term in rows.terms)
            return replace(rows, name=f"{rows.name} {mark}", entries=entries, terms=terms)

        seen = tuple(replace(o, name=f"{o.name} {mark}", sees=o.sees[self.sees]) for o in own.observers)
        return Program(own.mass, own.cost[:, self.sees], seen, tuple(map(pulled, own.rows)))


def _joined(parts: Sequence[Program], cost: Array, *more: Rows) -> Program:
    """All observers and rows, with a cost and rows of their own."""
    seen = tuple(o for part in parts for o in part.observers)
    return Program(parts[0].mass, cost, seen, (*more, *(rows for part in parts for rows in part.rows)))


def scenario_audiences(problems: Sequence[Problem], demands: Sequence[Sequence[Any]]) -> list[Audience]:
    """Of exact scenarios: everybody sees the profile."""
    profiles, names = profiles_of(problems)
    every = np.arange(len(profiles))
    each = zip(problems, profiles.T, demands, strict=True)
    return [Audience(one.arrays, Signals(told, None, names), every, tuple(own)) for one, told, own in each]


def scenario_program(audiences: Sequence[Audience], lams: Sequence[Any]) -> Program:
    """The largest R_A^k: a worst row for each."""
    parts = [audience.program(EXACT.zero, k) for k, audience in enumerate(audiences)]
    worst = worst_rows("scenarios", [part.cost for part in parts], [part.observers[0] for part in parts], lams)
    return _joined(parts, EXACT.zeros(parts[0].shape), worst)


def worst_rows(name: str, costs: Sequence[Array], eves: Sequence[Observer], lams: Sequence[Any]) -> Rows:
    """A worst row for every case: cost.rho - lam sum t, with t of its Eve, who sees the signal itself."""
    terms = []
    for k, (eve, lam) in enumerate(zip(eves, lams, strict=True)):
        s, g = np.indices((len(eve.sees), len(eve.starts))).reshape(2, -1)
        terms.append((eve.name, np.full(len(s), k), s, g, EXACT.full(len(s), lam)))
    row, x, s = np.indices((len(costs), *costs[0].shape)).reshape(3, -1)
    entries = row, x, s, np.concatenate([cost.ravel() for cost in costs])
    return Rows(name, EXACT.zeros(len(costs)), entries, tuple(terms), worst=True)


def tiers_of(
    problems: Sequence[Problem], lams: Any, weights: Any
) -> tuple[tuple[Problem, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The problems, checked to have the same states and prior, with the working lam and weight of each tier."""
    given = _alike(problems)
    for k, problem in enumerate(given):
        shared(problem, f"problems[{k}]")
        exact, (p, first) = problem.exact and given[0].exact, (problem.p, given[0].p)
        if not ((p == first).all() if exact else np.allclose(floats(p), floats(first), rtol=1e-9, atol=0)):
            raise InputError(f"problems[{k}]", None, "must have the same prior as problems[0]")
    count = prod(problem.shape[1] for problem in given)
    if count > _MOST_TUPLES:
        raise InputError("problems", None, f"have {count} tuples of decisions, more than {_MOST_TUPLES}")
    prices = each(lams, "lams", len(given), "tier")
    shares = each(1 if weights is None else weights, "weights", len(given), "tier")
    working = tuple(weight_of(w, f"weights[{k}]") for k, w in enumerate(shares))
    for k, (problem, weight) in enumerate(zip(given, working, strict=True)):
        largest = max(float(problem.arrays.rounded.B.max()), float(problem.arrays.rounded.E.max()), 1.0)
        if weight > 1 and EXACT.number(weight) * EXACT.number(largest) > 10**300:
            raise InputError(f"weights[{k}]", weight, "times the largest loss must be at most 1e300")
    return given, tuple(lam_of(problem, lam) for problem, lam in zip(given, prices, strict=True)), working


def prefixes(sizes: Sequence[int], tier: int) -> Array:
    """The number of the prefix (i_1..i_tier) of every tuple, counted from tier 0; the last tier changes fastest."""
    return np.arange(prod(sizes)) // prod(sizes[tier + 1 :])


def tier_audiences(problems: Sequence[Problem], demands: Sequence[Sequence[Any]]) -> list[Audience]:
    """Of exact tiers: tier k sees the decisions of the first k."""
    sizes, out = [problem.shape[1] for problem in problems], []
    for k, (problem, own) in enumerate(zip(problems, demands, strict=True)):
        signals = Signals(np.arange(prod(sizes[: k + 1])) % sizes[k], None, tuple(tier_names(problems[: k + 1])))
        out.append(Audience(problem.arrays, signals, prefixes(sizes, k), tuple(own)))
    return out


def tier_program(audiences: Sequence[Audience], lams: Sequence[Any], weights: Sequence[Any]) -> Program:
    """The sum of w_k R_A,k."""
    parts = [
        audience.program(w * lam, k) for k, (audience, lam, w) in enumerate(zip(audiences, lams, weights, strict=True))
    ]
    cost = sum((w * part.cost for w, part in zip(weights, parts, strict=True)), EXACT.zeros(parts[0].shape))
    return _joined(parts, cost)


def tier_names(problems: Sequence[Problem]) -> list[str]:
    return joints([one.bob_decisions for one in problems], " > ")


def tier_views(problems: Sequence[Problem]) -> dict[str, tuple[str, ...]]:
    """What every tier sees, by the signal of the last one: ("short", "short > surgery")."""
    out: dict[str, tuple[str, ...]] = {}
    names = [tier_names(problems[: k + 1]) for k in range(len(problems))]
    for s, last in enumerate(names[-1]):
        out.setdefault(last, tuple(own[s * len(own) // len(names[-1])] for own in names))
    return out


def each(value: Any, field: str, count: int, what: str) -> list[Any]:
    """One value for all, or a list with one for each."""
    found = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value] * count
    if len(found) != count:
        raise InputError(field, None, f"has {len(found)} entries, must have {count}, one per {what}")
    return found
