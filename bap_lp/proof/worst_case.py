"""The worst case over scenarios, and the proof that a mechanism makes it as small as possible; no solver.

Scenario k has its own prior p_k, losses B_k, E_k and lam_k on the same states; its Bob and Eve know it. At a signal Bob
may decide differently in every scenario, so a signal recommends a profile s = (s_1..s_K) of decisions. Signals with the
same profile can be pooled: every R_B^k stays and every R_E^k can only rise. Scenarios with the same p_k and B_k share
their Bob, and a place in the profile. For weights w >= 0 summing to one (a mixture of scenarios) and u_k >= 0 whose
entries for signal s and Eve g sum to w_k lam_k, every mechanism has
    max_k R_A^k >= sum_k w_k R_A^k >= sum_x min_s sum_k p_k(x) (w_k B_k(x,s_k) - sum_j u_k[s,j] E_k(x,j)).
A mechanism that attains the bound is optimal, and w is a least favourable mixture.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np

from bap_lp.arguments import checked
from bap_lp.model.arrays import Arrays
from bap_lp.model.beliefs import shared
from bap_lp.model.calibration import lam_of
from bap_lp.model.display import Displayed, counted, equals, fraction, kind
from bap_lp.model.labels import joints
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.proof.certificate import Verdict
from bap_lp.proof.conditional import rounding
from bap_lp.proof.sums import on_sums
from bap_lp.rational import (
    EXACT,
    FLOAT,
    ROUNDING,
    TOLERANCE,
    Array,
    Field,
    InputError,
    ReadOnly,
    finite,
    is_exact,
    shown,
)

_MOST_SIGNALS = 4096


@dataclass(frozen=True, eq=False, repr=False)
class RobustCertificate(ReadOnly, Displayed):
    """channel (states x profiles), scenario weights and u_k (profiles x Eve's decisions): working arrays."""

    lams: tuple[Number, ...]
    value: Number
    channel: Array
    weights: Array
    replies: tuple[Array, ...]

    @property
    def exact(self) -> bool:
        return all(map(is_exact, (self.value, self.channel, self.weights, *self.replies, *self.lams)))

    def _headline(self) -> str:
        return (
            f": {kind(self.exact)}, {counted(len(self.lams), 'scenario')}, {equals('worst R_A', self.value, fraction)}"
        )


@dataclass(frozen=True, eq=False)
class Scenario:
    """The numbers of one scenario, its lam, and its Bob's decision at every profile."""

    arrays: Arrays
    lam: Any
    told: Array

    def lifted(self) -> Scenario:
        """Floats as the rationals they are."""
        return Scenario(self.arrays.lifted(), EXACT.number(self.lam), self.told)

    def alice(self, channel: Array) -> Any:
        """R_A of a channel, with Bob and Eve deciding for themselves."""
        return self.alice_and_size(channel)[0]

    def alice_and_size(self, channel: Array) -> tuple[Any, Any]:
        """The same, and the sum of the sizes of its terms, on which its rounding is judged."""
        bob, eve = self.arrays.risks(self.arrays.p[:, None] * channel)
        return bob - self.lam * eve, bob + self.lam * eve


@checked
def verify_robust(problems: Sequence[Problem], certificate: RobustCertificate, allow_float: bool = True) -> Verdict:
    """Check a worst-case certificate with arithmetic alone: exactly if it is exact, to a tolerance in floats.

    Args:
        problems: the scenarios, in the order of the certificate.
        certificate: what `robust` returned as `certificate`, or one read from elsewhere.
        allow_float: whether a float certificate is good enough for exact numbers.

    Returns:
        The verdict: true if the certificate proves its value, with the reason in words.

    Raises:
        InputError: the problems are not scenarios on the same states, or not as many as the certificate has.

    >>> from bap_lp import Problem, robust, verify_robust
    >>> bob = [["1/3", "2/3"], [1, 0]]
    >>> coins = [Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (4, 10)]
    >>> print(verify_robust(coins, robust(coins, "1/3").certificate).reason)
    the worst case 3/16 is optimal: the mixture of scenarios proves that none goes below
    """
    if not finite(*certificate.lams):
        return Verdict(False, "the lambdas must be finite")
    given, _ = scenarios_of(problems, list(certificate.lams))
    exact, able = certificate.exact, all(s.exact for s in given)
    if exact and not able:
        return Verdict(False, "the certificate is exact and the problems are not")
    if able and not exact and not allow_float:
        return Verdict(False, "the numbers of the problems are exact and those of the certificate are floats")
    losses = [t for s in given for t in (s.as_float().B, s.as_float().E)] if not exact else []
    tables = certificate.channel, certificate.weights, *certificate.replies
    if not finite(certificate.value, *tables, *losses):
        return Verdict(False, "channel, weights, replies, lambdas and value must be finite")
    scenarios = [s.lifted() for s in working_scenarios(given, certificate.lams, EXACT if exact else FLOAT)[0]]
    unit = EXACT.number(0.0 if exact else TOLERANCE)
    wrong, q, w, replies = _scaled(scenarios, certificate.channel, certificate.weights, certificate.replies, unit)
    if wrong:
        return Verdict(False, wrong)
    (worst, size), claimed = max(s.alice_and_size(q) for s in scenarios), EXACT.number(certificate.value)
    bound, slack = mixture_bound(scenarios, w, replies), _slack(scenarios, w, unit)
    if abs(worst - claimed) > slack + rounding(size, unit):
        return Verdict(
            False, f"the channel's worst case is {shown(worst, bool(unit))}, not {shown(claimed, bool(unit))}"
        )
    if worst - bound > slack:
        reason = f"the worst case is {shown(worst, bool(unit))} but the weights only prove {shown(bound, bool(unit))}"
        return Verdict(False, reason)
    words = f"{shown(worst, bool(unit))} is optimal" + (f" up to {max(float(worst - bound), 0.0):.2g}" if unit else "")
    return Verdict(True, f"the worst case {words}: the mixture of scenarios proves that none goes below")


def small_gap(scenarios: Sequence[Scenario], q: Array, weights: Array, replies: Sequence[Array]) -> bool:
    """Whether the gap of a float solution is half of what its certificate may have, computed in rationals."""
    lifted, unit = [s.lifted() for s in scenarios], EXACT.number(TOLERANCE)
    wrong, q, w, tables = _scaled(lifted, q, weights, replies, unit)
    gap = max(s.alice(q) for s in lifted) - mixture_bound(lifted, w, tables)
    return not wrong and bool(2 * gap <= _slack(lifted, w, unit))


def _slack(scenarios: Sequence[Scenario], weights: Array, unit: Any) -> Any:
    """The largest gap, judged on the spread of the mixture: a scenario that is never the worst counts for nothing."""
    if not unit:
        return unit
    pairs = zip(scenarios, weights, strict=True)
    spread = sum((w * s.arrays.spread(s.lam) for s, w in pairs), EXACT.zero)
    rounded = EXACT.number(ROUNDING) * max(s.arrays.range(s.lam) for s in scenarios)
    return unit * spread + (min(rounded, spread / 2**16) if spread > 0 else rounded)


def _scaled(
    scenarios: Sequence[Scenario], channel: Array, weights: Array, replies: Sequence[Array], unit: Any
) -> tuple[str, Array, Array, list[Array]]:
    """What is wrong, if anything; channel, weights and replies in rationals with rows that sum to one and to w_k lam_k.

    unit: by how much of its size a row may miss its sum.
    """
    q, w, out = EXACT.array(channel), EXACT.array(weights), [EXACT.array(u) for u in replies]
    signals = len(scenarios[0].told)
    if q.shape != (len(scenarios[0].arrays.p), signals) or not len(w) == len(out) == len(scenarios) or w.ndim != 1:
        return "channel, weights and replies do not have the shape of the scenarios", q, w, out
    if (q < 0).any():
        return "the channel must not be negative", q, w, out
    if (w < 0).any() or abs(w.sum() - 1) > unit:
        return "the weights are not a mixture of scenarios", q, w, out
    wrong, q = on_sums(q, EXACT.one, unit, ("channel", "a distribution to"))
    w = w / w.sum()
    for k, (s, u) in enumerate(zip(scenarios, out, strict=True)):
        if u.shape != (signals, s.arrays.shape[2]) or (u < 0).any():
            return f"the replies of scenario {k} have the wrong shape or sign", q, w, out
        words = f"replies[{k}]", "weight times lambda is"
        wrong_replies, out[k] = on_sums(u, w[k] * s.lam, unit * (1 + s.lam), words, s.arrays.groups)
        wrong = wrong or wrong_replies
    return wrong, q, w, out


def scenarios_of(problems: Sequence[Problem], lams: Any) -> tuple[tuple[Problem, ...], tuple[Any, ...]]:
    """The problems, checked to have the same states, and the working lam of each."""
    scenarios = tuple(problems)
    if not scenarios:
        raise InputError("problems", None, "must not be empty")
    for k, scenario in enumerate(scenarios):
        if scenario.states != scenarios[0].states:
            raise InputError(f"problems[{k}]", None, "must have the same states as problems[0]")
    given = list(lams) if isinstance(lams, (list, tuple, np.ndarray)) else [lams] * len(scenarios)
    if len(given) != len(scenarios):
        raise InputError("lams", None, f"has {len(given)} entries, must have {len(scenarios)}, one per scenario")
    return scenarios, tuple(lam_of(s, v) for s, v in zip(scenarios, given, strict=True))


def working_scenarios(
    problems: Sequence[Problem], lams: Sequence[Any], field: Field
) -> tuple[list[Scenario], Array, tuple[str, ...]]:
    """The scenarios in this field, the decisions of their Bobs (profiles x scenarios), and the profiles' names."""
    for k, problem in enumerate(problems):
        shared(problem, f"problems[{k}]")
    if not field.exact:
        problems = [s.as_float() for s in problems]
    heads: list[Problem] = []
    places: list[int] = []
    for s in problems:
        place = next((m for m, head in enumerate(heads) if _same_bob(head, s)), len(heads))
        heads += [s] if place == len(heads) else []
        places.append(place)
    sizes = [s.shape[1] for s in heads]
    if prod(sizes) > _MOST_SIGNALS:
        raise InputError("problems", None, f"have {prod(sizes)} profiles of decisions, more than {_MOST_SIGNALS}")
    profiles = np.array(list(product(*map(range, sizes))))[:, places]
    names = tuple(joints([s.bob_decisions for s in heads], " | "))
    scenarios = [
        Scenario(s.arrays, field.number(lam), profiles[:, k])
        for k, (s, lam) in enumerate(zip(problems, lams, strict=True))
    ]
    return scenarios, profiles, names


def _same_bob(a: Problem, b: Problem) -> bool:
    return a.B.shape == b.B.shape and bool((a.p == b.p).all() and (a.B == b.B).all())


def mixture_bound(scenarios: Sequence[Scenario], weights: Array, replies: Sequence[Array]) -> Any:
    """sum_x min_s sum_k p_k(x) (w_k B_k(x,s_k) - u_k[s].E_k(x)), in floats lowered by more than its rounding error."""
    total: Any = 0
    size = 0.0
    for s, w, u in zip(scenarios, weights, replies, strict=True):
        p, B, E = s.arrays.p, s.arrays.B, s.arrays.E
        total = total + p[:, None] * (w * B[:, s.told] - E.dot(u.T))
        if not s.arrays.exact:
            size += float(p @ (w * B.max(axis=1) + E @ u.max(axis=0)))
    bound = total.min(axis=1).sum()
    return bound if is_exact(total) else float(bound) - (len(total) + 60) * float(np.finfo(float).eps) * size
