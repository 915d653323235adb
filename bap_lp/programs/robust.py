"""One mechanism for several scenarios: minimise the largest R_A^k over k = 1..K.

Over channels to profiles s = (s_1..s_K) of Bob's decisions (see worst_case for why they are enough). With m the mean of
the priors, rho[x,s] = m(x) q(s|x) and r_k = p_k / m, scenario k has the losses r_k B_k and r_k E_k under the prior m:
    min v   s.t.  sum_s rho[x,s] = m(x),  sum r_k(x) B_k(x,s_k) rho[x,s] - lam_k sum_sg t_k[s,g] <= v,
                  t_k[s,g] <= sum_x r_k(x) E_k(x,j) rho[x,s]  for j in group g.
The multipliers of the K rows are the weights of a least favourable mixture of scenarios, those of Eve's rows the
replies that prove the optimum. Among several optima the one with the largest sum of R_E^k is chosen, then one vertex.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.arguments import checked
from bap_lp.linear.optimum import optimum
from bap_lp.linear.program import LinearProgram, ProgramBuilder
from bap_lp.model.display import Displayed, clean, counted, equals, fraction, kind
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism, without_unused
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number, Risks
from bap_lp.model.signal_sums import signal_losses
from bap_lp.programs.ties import tie_costs
from bap_lp.proof.worst_case import (
    RobustCertificate,
    Scenario,
    mixture_bound,
    scenarios_of,
    small_gap,
    working_scenarios,
)
from bap_lp.rational import EXACT, FLOAT, Array, InputError, is_exact, public

_MOST_ENTRIES = 200_000


@dataclass(frozen=True, eq=False, repr=False)
class RobustSolution(Displayed):
    """The mechanism with the smallest worst case; `risks[k]` under scenario k, `weights` a least favourable mixture."""

    problems: tuple[Problem, ...]
    lams: tuple[Number, ...]
    value: Number
    mechanism: Mechanism
    risks: tuple[Risks, ...]
    weights: tuple[Number, ...]
    bound: Number
    gap: Number
    method: str
    certificate: RobustCertificate

    @property
    def exact(self) -> bool:
        return self.certificate.exact

    def _headline(self) -> str:
        worst, signals = equals("worst R_A", self.value, fraction), counted(len(self.mechanism.signals), "signal")
        return f": {kind(self.exact)}, {counted(len(self.lams), 'scenario')}, {worst}, {signals}"


@dataclass(frozen=True, repr=False)
class WorstCase(Displayed):
    """A mechanism under all scenarios: R_A in each, the largest of them and where it occurs."""

    mechanism: Mechanism
    worst: Number
    scenario: int
    values: tuple[Number, ...]
    risks: tuple[Risks, ...]

    def _headline(self) -> str:
        return f"{clean(self.mechanism.name, 40)!r}: {equals('R_A', self.worst, fraction)} in scenario {self.scenario}"


@checked
def robust(problems: Sequence[Problem], lams: Any = "calibrated", exact: bool | None = None) -> RobustSolution:
    """Minimise the largest R_A over several scenarios: problems with the same states and their own priors and losses.

    Args:
        problems: the scenarios.
        lams: one lam for all scenarios, or one for each; "calibrated" is calibrated scenario by scenario.
        exact: True insists on rationals, False works in floats, None follows the numbers given.

    Returns:
        The mechanism with the smallest worst case, the least favourable mixture of scenarios and a certificate.

    Raises:
        InputError: there is no scenario, their states differ, a lam is negative, the program would be too large, or
            exact numbers are demanded and not given.

    >>> from bap_lp import Problem, robust
    >>> bob = [["1/3", "2/3"], [1, 0]]
    >>> coins = [Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (4, 10)]
    >>> best = robust(coins, "1/3")
    >>> print(best.value, best.gap, *best.weights)
    3/16 0 1 0
    """
    given, prices = scenarios_of(problems, lams)
    able = all(s.exact for s in given) and all(is_exact(v) for v in prices)
    if exact and not able:
        raise InputError("problems", None, 'and lams must be exact, such as "1/3", for an exact solution')
    field = EXACT if exact or (exact is None and able) else FLOAT
    given = given if field.exact else tuple(s.as_float() for s in given)
    scenarios, profiles, names = working_scenarios(given, prices, field)
    live = np.any([s.arrays.p > 0 for s in scenarios], axis=0)
    if int(live.sum()) * len(profiles) > _MOST_ENTRIES:
        size = f"{int(live.sum())} x {len(profiles)}"
        raise InputError("problems", None, f"need {size} probabilities (states x profiles), more than {_MOST_ENTRIES}")
    possible = [Scenario(s.arrays.states(live), s.lam, s.told) for s in scenarios]
    q, weights, replies, how = _solve(possible)
    q = _obedient(possible, profiles, q)
    rows = field.zeros((len(live), len(profiles)))
    rows[live], rows[~live] = q, possible[0].arrays.p.dot(q)
    bound = public(mixture_bound(scenarios, weights, replies))
    shown, signals = without_unused(rows, names)
    mechanism = Mechanism(shown, signals=signals, states=given[0].states, name="smallest worst case")
    risks = tuple(risks_of(s, mechanism) for s in given)
    shared = tuple(public(s.lam) for s in scenarios)
    value = max(r.alice(lam) for r, lam in zip(risks, shared, strict=True))
    if field.exact and value != bound:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {bound}")
    return RobustSolution(
        problems=given,
        lams=shared,
        value=value,
        mechanism=mechanism,
        risks=risks,
        weights=tuple(public(weights).tolist()),
        bound=bound,
        gap=value - bound,
        method=f"worst-case program, {how}",
        certificate=RobustCertificate(shared, value, rows, weights, replies),
    )


@checked
def rank_worst_case(
    problems: Sequence[Problem], mechanisms: Sequence[Mechanism], lams: Any = "calibrated"
) -> tuple[WorstCase, ...]:
    """Mechanisms by their largest R_A over the scenarios, the best first.

    Args:
        problems: the scenarios.
        mechanisms: channels on the states of the scenarios.
        lams: one lam for all scenarios, or one for each; "calibrated" is calibrated scenario by scenario.

    Returns:
        One row per mechanism: its R_A in each scenario, the largest of them and where it occurs.

    Raises:
        InputError: there is no scenario, their states differ, a lam is negative, or a mechanism has other states.

    >>> from bap_lp import Problem, rank_worst_case, releases
    >>> bob = [["1/3", "2/3"], [1, 0]]
    >>> coins = [Problem(["3/4", "1/4"], bob, [[0, 1], [k, 0]]) for k in (4, 10)]
    >>> ranked = rank_worst_case(coins, [releases.full(coins[0]), releases.null(coins[0])], lams="1/2")
    >>> [(row.mechanism.name, str(row.worst), row.scenario) for row in ranked]
    [('null', '1/8', 0), ('full', '1/4', 0)]
    """
    scenarios, prices = scenarios_of(problems, lams)
    out = []
    for mechanism in mechanisms:
        found = tuple(risks_of(s, mechanism) for s in scenarios)
        values = tuple(r.alice(public(lam)) for r, lam in zip(found, prices, strict=True))
        worst = max(values)
        out.append(WorstCase(mechanism, worst, values.index(worst), values, found))
    return tuple(sorted(out, key=lambda row: row.worst))


@dataclass(frozen=True, eq=False)
class _WorstCaseProgram:
    """The program, its mean prior m, the columns rho and t_k, the Eve rows of each scenario and the scenario rows."""

    lp: LinearProgram
    mean: Array
    rho: Array
    t: list[Array]
    eve: list[slice]
    top: slice


def _program(scenarios: Sequence[Scenario]) -> _WorstCaseProgram:
    arrays = [s.arrays for s in scenarios]
    field, (N, S) = arrays[0].field, (len(arrays[0].p), len(scenarios[0].told))
    mean = sum((a.p for a in arrays[1:]), start=arrays[0].p) / len(arrays)
    make = ProgramBuilder(field)
    rho, v = make.columns((N, S)), make.columns(1, field.one, free=True)
    make.rows(N, [(np.arange(N)[:, None], rho, field.one)], mean, equality=True)
    t, eve, top = [], [], []
    for s, a in zip(scenarios, arrays, strict=True):
        ratio = (a.p / mean)[:, None]
        t.append(make.columns((S, len(a.groups)), free=True))
        rows = np.arange(S * a.shape[2]).reshape(S, -1)
        entries = [(rows, t[-1][:, a.group_of], field.one), (rows, rho[:, :, None], -(ratio * a.E)[:, None, :])]
        eve.append(make.rows(rows.size, entries))
        top.append([(0, rho, ratio * a.B[:, s.told]), (0, t[-1], -s.lam), (0, v, -field.one)])
    last = [make.rows(1, entries) for entries in top]
    return _WorstCaseProgram(make.build(), mean, rho, t, eve, slice(last[0].start, last[-1].stop))


def _solve(scenarios: Sequence[Scenario]) -> tuple[Array, Array, tuple[Array, ...], str]:
    """Channel, scenario weights, replies and how they were found."""
    program, field = _program(scenarios), scenarios[0].arrays.field
    S = len(scenarios[0].told)

    def read(z: Array, y: Array) -> tuple[Array, Array, tuple[Array, ...]]:
        q, weights = z[program.rho] / program.mean[:, None], -y[program.top]
        replies = [-y[at].reshape(S, -1) for at in program.eve]
        if not field.exact:  # onto the simplices, so that value and bound hold whatever the solver did
            q = np.where(q > 1e-13, q, 0.0)
            total = q.sum(axis=1, keepdims=True)
            q = np.where(total > 0, q / np.where(total > 0, total, 1.0), 1 / S)
            weights = np.maximum(weights, 0.0)
            weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))
            replies = [s.arrays.on_simplex(u, w * s.lam) for s, u, w in zip(scenarios, replies, weights, strict=True)]
        return q, weights, tuple(replies)

    def accept(z: Array, y: Array) -> bool:
        q, weights, replies = read(z, y)
        gap = max(s.alice(q) for s in scenarios) - mixture_bound(scenarios, weights, replies)
        spread = sum(w * s.arrays.spread(s.lam) for s, w in zip(scenarios, weights.tolist(), strict=True))
        if gap <= 0.1 * field.tolerance * spread:
            return True
        near = gap <= 0.1 * field.tolerance * max(s.arrays.size(s.lam) for s in scenarios)
        return near and small_gap(scenarios, q, weights, replies)

    risks = np.concatenate([t.ravel() for t in program.t])
    found = optimum(
        program.lp,
        ties=tie_costs(program.rho, risks, program.lp.shape[1], field),
        accept=None if field.exact else accept,
    )
    return *read(found.z, found.y), found.how


def _obedient(scenarios: Sequence[Scenario], profiles: Array, q: Array) -> Array:
    """Give each signal the profile that its Bobs follow (their own on ties); pooling equal profiles raises no R_A^k."""
    target = profiles.copy()
    for k, s in enumerate(scenarios):
        losses = signal_losses(s.arrays.p[:, None] * q, s.arrays.B)
        own = losses[np.arange(len(losses)), s.told]
        slack = 0 if s.arrays.exact else 1e-12 * losses.max(initial=0.0)
        target[:, k] = np.where(own > losses.min(axis=1) + slack, losses.argmin(axis=1), s.told)
    place = {tuple(row): signal for signal, row in enumerate(profiles.tolist())}
    out = 0 * q
    for signal, row in enumerate(target.tolist()):
        out[:, place[tuple(row)]] += q[:, signal]
    return out
