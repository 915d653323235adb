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
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from bap_lp.model.beliefs import shared
from bap_lp.model.calibration import lam_of
from bap_lp.model.labels import joints, weight_of
from bap_lp.model.problem import Problem
from bap_lp.program.bound import Observer, Program, Rows
from bap_lp.rational import EXACT, Array, InputError, floats

_MOST_PROFILES = 4096
_MOST_TUPLES = 100_000


def scenarios_of(problems: Sequence[Problem], lams: Any) -> tuple[tuple[Problem, ...], tuple[Any, ...]]:
    """The problems, checked to have the same states, and the working lam of each."""
    scenarios = tuple(problems)
    if not scenarios:
        raise InputError("problems", None, "must not be empty")
    for k, scenario in enumerate(scenarios):
        if scenario.states != scenarios[0].states:
            raise InputError(f"problems[{k}]", None, "must have the same states as problems[0]")
    given = each(lams, "lams", len(scenarios), "scenario")
    return scenarios, tuple(lam_of(s, v) for s, v in zip(scenarios, given, strict=True))


def profiles_of(problems: Sequence[Problem]) -> tuple[Array, tuple[str, ...]]:
    """What every scenario's Bob decides (profiles x scenarios), and the profiles' names; refuses beliefs."""
    heads: list[Problem] = []
    places: list[int] = []
    for k, one in enumerate(problems):
        shared(one, f"problems[{k}]")
        place = next((m for m, head in enumerate(heads) if _same_bob(head, one)), len(heads))
        heads += [one] if place == len(heads) else []
        places.append(place)
    sizes = [one.shape[1] for one in heads]
    if prod(sizes) > _MOST_PROFILES:
        raise InputError("problems", None, f"have {prod(sizes)} profiles of decisions, more than {_MOST_PROFILES}")
    profiles = np.array(list(product(*map(range, sizes))))[:, places]
    return profiles, tuple(joints([one.bob_decisions for one in heads], " | "))


def _same_bob(a: Problem, b: Problem) -> bool:
    return a.B.shape == b.B.shape and bool((a.p == b.p).all() and (a.B == b.B).all())


def scenario_program(problems: Sequence[Problem], lams: Sequence[Any], profiles: Array, states: Any = None) -> Program:
    """The program of exact scenarios, on some of their states."""
    every = slice(None) if states is None else states
    S, count = len(profiles), len(problems[0].p[every])
    observers, costs, terms = [], [], []
    for k, (problem, lam) in enumerate(zip(problems, lams, strict=True)):
        a = problem.arrays
        p = a.p[every][:, None]
        starts = np.array([g.start for g in a.groups])
        observers.append(Observer(f"eve {k}", np.arange(S), p * a.E[every], starts, EXACT.zero))
        costs.append(p * a.B[every][:, profiles[:, k]])
        s, g = np.indices((S, len(starts))).reshape(2, -1)
        terms.append((f"eve {k}", np.full(len(s), k), s, g, EXACT.full(len(s), lam)))
    row, x, s = np.indices((len(problems), count, S)).reshape(3, -1)
    entries = row, x, s, np.concatenate([cost.ravel() for cost in costs])
    rows = Rows("scenarios", EXACT.zeros(len(problems)), entries, tuple(terms), worst=True)
    return Program(EXACT.full(count, 1), EXACT.zeros((count, S)), tuple(observers), (rows,))


def tiers_of(
    problems: Sequence[Problem], lams: Any, weights: Any
) -> tuple[tuple[Problem, ...], tuple[Any, ...], tuple[Any, ...]]:
    """The problems, checked to have the same states and prior, with the working lam and weight of each tier."""
    given = tuple(problems)
    if not given:
        raise InputError("problems", None, "must not be empty")
    for k, problem in enumerate(given):
        shared(problem, f"problems[{k}]")
        if problem.states != given[0].states:
            raise InputError(f"problems[{k}]", None, "must have the same states as problems[0]")
        if not _same_prior(problem, given[0]):
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


def _same_prior(one: Problem, other: Problem) -> bool:
    if one.exact and other.exact:
        return bool((one.p == other.p).all())
    return bool(np.allclose(floats(one.p), floats(other.p), rtol=1e-9, atol=0))


def prefixes(sizes: Sequence[int], tier: int) -> Array:
    """The number of the prefix (i_1..i_tier) of every tuple, counted from tier 0; the last tier changes fastest."""
    return np.arange(prod(sizes)) // prod(sizes[tier + 1 :])


def tier_program(problems: Sequence[Problem], lams: Sequence[Any], weights: Sequence[Any]) -> Program:
    """The program of exact tiers."""
    sizes = [problem.shape[1] for problem in problems]
    tuples = np.array(list(product(*map(range, sizes))))
    cost = EXACT.zeros((len(problems[0].p), len(tuples)))
    observers = []
    for k, (problem, lam, w) in enumerate(zip(problems, lams, weights, strict=True)):
        a = problem.arrays
        cost = cost + w * a.B[:, tuples[:, k]]
        starts = np.array([g.start for g in a.groups])
        observers.append(Observer(f"eve {k}", prefixes(sizes, k), a.E, starts, w * lam))
    return Program(problems[0].p, cost, tuple(observers))


def tier_names(problems: Sequence[Problem]) -> list[str]:
    """The signals of the last tier."""
    return joints([one.bob_decisions for one in problems], " > ")


def tier_views(problems: Sequence[Problem]) -> dict[str, tuple[str, ...]]:
    """What every tier sees, by the signal of the last one: ("short", "short > surgery")."""
    out: dict[str, tuple[str, ...]] = {}
    names = [joints([one.bob_decisions for one in problems[: k + 1]], " > ") for k in range(len(problems))]
    for s, last in enumerate(names[-1]):
        out.setdefault(last, tuple(own[s * len(own) // len(names[-1])] for own in names))
    return out


def each(value: Any, field: str, count: int, what: str) -> list[Any]:
    """One value for all, or a list with one for each."""
    found = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value] * count
    if len(found) != count:
        raise InputError(field, None, f"has {len(found)} entries, must have {count}, one per {what}")
    return found
