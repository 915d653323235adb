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
from flint import fmpq

from bap_lp.model.arrays import signal_losses
from bap_lp.model.calibration import lam_of
from bap_lp.model.display import Displayed, counted, equals, fraction, kind
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number
from bap_lp.proof.certificate import TOLERANCE, Verdict, size_of
from bap_lp.rational import Array, InputError, ReadOnly, is_exact, number

_MOST_SIGNALS = 4096

Data = list[tuple[Array, Array, Array, tuple[slice, ...]]]


@dataclass(frozen=True, repr=False)
class RobustCertificate(ReadOnly, Displayed):
    """channel (states x profiles), scenario weights and u_k (profiles x Eve's decisions): working arrays."""

    lams: tuple[Number, ...]
    value: Number
    channel: Array
    weights: Array
    replies: tuple[Array, ...]

    @property
    def exact(self) -> bool:
        return is_exact(self.channel)

    def _headline(self) -> str:
        return (
            f": {kind(self.exact)}, {counted(len(self.lams), 'scenario')}, {equals('worst R_A', self.value, fraction)}"
        )


def verify_robust(problems: Sequence[Problem], certificate: RobustCertificate) -> Verdict:
    """Check a worst-case certificate with arithmetic alone."""
    scenarios, _ = scenarios_of(problems, list(certificate.lams))
    exact = certificate.exact
    if exact and not all(s.exact for s in scenarios):
        return Verdict(False, "the certificate is exact and the problems are not")
    scenarios = scenarios if exact else tuple(s.as_float() for s in scenarios)
    profiles, _ = profiles_of(scenarios)
    q, w = certificate.channel, certificate.weights
    unit = fmpq(0) if exact else TOLERANCE
    lams = [number(v, "lams") if exact else float(v) for v in certificate.lams]
    if q.shape != (len(scenarios[0].p), len(profiles)) or len(w) != len(scenarios):
        return Verdict(False, "channel and weights do not have the shape of the scenarios")
    if (q < 0).any() or any(abs(row.sum() - 1) > unit for row in q):
        return Verdict(False, "a row of the channel is not a distribution")
    if (w < 0).any() or abs(w.sum() - 1) > unit:
        return Verdict(False, "the weights are not a mixture of scenarios")
    for k, (s, u) in enumerate(zip(scenarios, certificate.replies, strict=True)):
        if u.shape != (len(profiles), s.shape[2]) or (u < 0).any():
            return Verdict(False, f"the replies of scenario {k} have the wrong shape or sign")
        for g in s.eve_groups:
            if any(abs(row.sum() - w[k] * lams[k]) > unit * (1 + lams[k]) for row in u[:, g]):
                return Verdict(False, f"the replies of scenario {k} do not sum to weight times lambda")
    values = [alice_of(s.p, s.B, s.E, s.eve_groups, q, lam) for s, lam in zip(scenarios, lams, strict=True)]
    bound = lower_bound(scenarios, profiles, w, certificate.replies, True)
    claimed = number(certificate.value, "value") if exact else float(certificate.value)
    slack = unit * max(fmpq(1) if exact else size_of(s, float(lam)) for s, lam in zip(scenarios, lams, strict=True))
    if abs(max(values) - claimed) > slack:
        return Verdict(False, f"the channel's worst case is {max(values)}, the certificate claims {claimed}")
    if claimed - bound > slack:
        return Verdict(False, f"the worst case is {claimed} but the weights only prove {bound}")
    return Verdict(True, f"the worst case {claimed} is optimal: the mixture of scenarios proves that none goes below")


def scenarios_of(problems: Sequence[Problem], lams: Any) -> tuple[tuple[Problem, ...], tuple[Any, ...]]:
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


def profiles_of(scenarios: Sequence[Problem]) -> tuple[Array, tuple[str, ...]]:
    """Decision of scenario k's Bob at every profile (profiles x scenarios), and the profiles' names."""
    places: list[int] = []
    heads: list[int] = []
    for k, s in enumerate(scenarios):
        same = [m for m, h in enumerate(heads) if _same_bob(scenarios[h], s)]
        places.append(same[0] if same else len(heads))
        heads += [] if same else [k]
    sizes = [scenarios[h].shape[1] for h in heads]
    if prod(sizes) > _MOST_SIGNALS:
        raise InputError("problems", None, f"have {prod(sizes)} profiles of decisions, more than {_MOST_SIGNALS}")
    table = np.array(list(product(*map(range, sizes))))
    names = tuple(" | ".join(n) for n in product(*(scenarios[h].bob_decisions for h in heads)))
    return table[:, places], names


def _same_bob(a: Problem, b: Problem) -> bool:
    return a.B.shape == b.B.shape and bool((a.p == b.p).all() and (a.B == b.B).all())


def alice_of(p: Array, B: Array, E: Array, groups: Sequence[slice], q: Array, lam: Any) -> Any:
    rho = p[:, None] * q
    eve = signal_losses(rho, E)
    bob = signal_losses(rho, B).min(axis=1).sum()
    return bob - lam * sum((eve[:, g].min(axis=1).sum() for g in groups), start=0 * bob)


def bound_of(data: Data, profiles: Array, weights: Array, replies: Sequence[Array]) -> Any:
    total = 0 * (data[0][0][:, None] * data[0][1][:, profiles[:, 0]])
    for k, (p, B, E, _) in enumerate(data):
        total = total + p[:, None] * (weights[k] * B[:, profiles[:, k]] - E.dot(replies[k].T))
    return total.min(axis=1).sum()


def lower_bound(
    scenarios: Sequence[Problem], profiles: Array, weights: Array, replies: Sequence[Array], exact: bool
) -> Any:
    """The bound; in floats minus what rounding may have added."""
    data = [(s.p, s.B, s.E, s.eve_groups) for s in scenarios]
    bound = bound_of(data, profiles, weights, replies)
    if exact:
        return bound
    size = sum(
        float(p @ (B.max(axis=1) * w + E @ u.max(axis=0)))
        for (p, B, E, _), w, u in zip(data, weights, replies, strict=True)
    )
    return float(bound) - (len(data[0][0]) + 60) * np.finfo(float).eps * size
