"""One mechanism for several scenarios: minimise the largest R_A^k over k = 1..K.

Over channels q[x,s] to profiles s = (s_1..s_K) of Bob's decisions (see worst_case for why they are enough)
    min v   s.t.  sum_s q[x,s] = 1,  sum p_k(x) B_k(x,s_k) q[x,s] - lam_k sum_sg t_k[s,g] <= v,
                  t_k[s,g] <= sum_x p_k(x) E_k(x,j) q[x,s]  for j in group g.
The multipliers of the K rows are the weights of a least favourable mixture of scenarios, those of Eve's rows the
replies that prove the optimum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.linear.exact import optimise
from bap_lp.linear.highs import SolverError, solve_lp
from bap_lp.linear.program import LinearProgram, from_entries
from bap_lp.model.arrays import signal_losses
from bap_lp.model.display import Displayed, clean, counted, equals, fraction, kind
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.mechanism import Mechanism, without_unused
from bap_lp.model.problem import Problem
from bap_lp.model.risks import Number, Risks
from bap_lp.proof.certificate import TOLERANCE
from bap_lp.proof.worst_case import Data, RobustCertificate, alice_of, bound_of, lower_bound, profiles_of, scenarios_of
from bap_lp.rational import Array, InputError, field_of, floats, is_exact, lifted, public, zeros

_MOST_ENTRIES = 200_000


@dataclass(frozen=True, repr=False)
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


def robust(problems: Sequence[Problem], lams: Any = "calibrated", exact: bool | None = None) -> RobustSolution:
    """Minimise max_k R_A^k. lams: one for all scenarios, or a list; "calibrated" is calibrated scenario by scenario."""
    scenarios, prices = scenarios_of(problems, lams)
    able = all(s.exact for s in scenarios) and all(is_exact(v) for v in prices)
    exact = able if exact is None else exact
    if exact and not able:
        raise InputError("problems", None, 'and lams must be exact, such as "1/3", for an exact solution')
    if not exact:
        scenarios, prices = tuple(s.as_float() for s in scenarios), tuple(float(v) for v in prices)
    profiles, names = profiles_of(scenarios)
    live = np.array([any(s.p[x] > 0 for s in scenarios) for x in range(len(scenarios[0].p))])
    if int(live.sum()) * len(profiles) > _MOST_ENTRIES:
        size = f"{int(live.sum())} x {len(profiles)}"
        raise InputError("problems", None, f"need {size} probabilities (states x profiles), more than {_MOST_ENTRIES}")
    data = [(s.p[live], s.B[live], s.E[live], s.eve_groups) for s in scenarios]
    q, weights, replies, how = _solve(data, prices, profiles)
    q = _obedient(data, profiles, q)
    rows = zeros((len(live), len(profiles)), exact)
    rows[live] = q
    rows[~live] = data[0][0].dot(q)
    bound = public(lower_bound(scenarios, profiles, weights, replies, exact))
    shown, signals = without_unused(rows, names, zeros(len(rows), exact) + 1)
    mechanism = Mechanism(shown, signals=signals, states=scenarios[0].states, name="smallest worst case")
    risks = tuple(risks_of(s, mechanism) for s in scenarios)
    value = max(r.alice(public(lam)) for r, lam in zip(risks, prices, strict=True))
    if exact and value != bound:
        raise ArithmeticError(f"the exact optimum does not verify: value {value}, bound {bound}")
    certificate = RobustCertificate(tuple(map(public, prices)), value, rows, weights, replies)
    return RobustSolution(
        scenarios,
        certificate.lams,
        value,
        mechanism,
        risks,
        tuple(public(weights).tolist()),
        bound,
        value - bound,
        f"worst-case program, {how}",
        certificate,
    )


def rank_worst_case(
    problems: Sequence[Problem], mechanisms: Sequence[Mechanism], lams: Any = "calibrated"
) -> tuple[WorstCase, ...]:
    """Mechanisms by their largest R_A over the scenarios, the best first."""
    scenarios, prices = scenarios_of(problems, lams)
    out = []
    for mechanism in mechanisms:
        found = tuple(risks_of(s, mechanism) for s in scenarios)
        values = tuple(r.alice(public(lam)) for r, lam in zip(found, prices, strict=True))
        worst = max(values)
        out.append(WorstCase(mechanism, worst, values.index(worst), values, found))
    return tuple(sorted(out, key=lambda row: row.worst))


def _program(data: Data, lams: Sequence[Any], profiles: Array) -> tuple[LinearProgram, list[slice]]:
    """Columns q[x,s] at x*S + s, t_k[s,g], v. Rows: marginals, per scenario its Eve rows, the K scenario rows."""
    N, S, K = len(data[0][0]), len(profiles), len(data)
    exact = is_exact(data[0][0])
    unit = field_of(data[0][0]).one
    x, s = np.arange(N)[:, None], np.arange(S)[None, :]
    q = x * S + s
    entries: list[tuple[Any, Any, Any]] = [(x + 0 * s, q, unit)]
    column, row, slices, ts = N * S, N, [], []
    for p, _, E, groups in data:
        e, G = E.shape[1], len(groups)
        t = column + np.arange(S)[:, None] * G + np.arange(G)
        group = np.concatenate([np.full(g.stop - g.start, m) for m, g in enumerate(groups)])
        rows = row + np.arange(S)[:, None] * e + np.arange(e)
        entries.append((rows, t[:, group], unit))
        entries.append((rows[None, :, :] + 0 * x[:, :, None], q[:, :, None], -(p[:, None] * E)[:, None, :]))
        slices.append(slice(row, row + S * e))
        ts.append(t)
        row, column = row + S * e, column + S * G
    for k, (p, B, _, _) in enumerate(data):
        entries.append((row + k + 0 * q, q, p[:, None] * B[:, profiles[:, k]]))
        entries.append((row + k + 0 * ts[k], ts[k], -lams[k]))
        entries.append((np.array([row + k]), np.array([column]), -unit))
    parts = [[a.ravel() for a in np.broadcast_arrays(*entry, subok=False)] for entry in entries]
    rows, columns, values = (np.concatenate([part[m] for part in parts]) for m in range(3))
    cost = zeros(column + 1, exact)
    cost[column] = unit
    rhs = zeros(row + K, exact)
    rhs[:N] = unit
    slices.append(slice(row, row + K))
    equality = np.arange(row + K) < N
    return from_entries(cost, rows, columns, values, rhs, equality, np.arange(column + 1) >= N * S), slices


def _solve(data: Data, lams: Sequence[Any], profiles: Array) -> tuple[Array, Array, tuple[Array, ...], str]:
    """Channel, scenario weights, replies and how they were found."""
    N, S = len(data[0][0]), len(profiles)
    exact = is_exact(data[0][0])
    sizes = [max(float(B.max()), float(lam) * float(E.max())) for (_, B, E, _), lam in zip(data, lams, strict=True)]
    size = max(sizes) or 1.0
    small = [(floats(p) * N, floats(B) / size, floats(E) / size, g) for p, B, E, g in data]
    rounded, slices = _program(small, [float(v) for v in lams], profiles)
    try:
        vertex = solve_lp(rounded)
        basic, sure = vertex.basic, vertex.optimal
    except SolverError:
        basic, sure = np.arange(rounded.shape[1], sum(rounded.shape)), False
    if not exact and sure and vertex.z[: N * S].reshape(N, S).sum(axis=1).min() > 0.5:
        q = np.where(vertex.z[: N * S] > 1e-13, vertex.z[: N * S], 0.0).reshape(N, S)
        q /= q.sum(axis=1, keepdims=True)
        weights, replies = _on_simplex(data, lams, np.maximum(-vertex.y, 0.0), slices, S)
        value = max(alice_of(p, B, E, g, q, lam) for (p, B, E, g), lam in zip(data, lams, strict=True))
        if value - bound_of(data, profiles, weights, replies) <= 0.1 * TOLERANCE * size:
            return q, weights, replies, "HiGHS simplex"
    numbers: Data = data if exact else [(lifted(p), lifted(B), lifted(E), g) for p, B, E, g in data]
    prices = lams if exact else [fmpq(*float(v).as_integer_ratio()) for v in lams]
    lp, slices = _program(numbers, prices, profiles)
    best = optimise(lp, basic)
    q, duals = best.z[: N * S].reshape(N, S), -best.y
    how = "HiGHS simplex, exact basis" + (f", repaired in {best.repairs} exact steps" if best.repairs else "")
    if exact:
        return q, duals[slices[-1]], tuple(duals[at].reshape(S, -1) for at in slices[:-1]), how
    q = floats(q)
    weights, replies = _on_simplex(data, lams, floats(duals), slices, S)
    return q / q.sum(axis=1, keepdims=True), weights, replies, "HiGHS simplex, finished in exact arithmetic"


def _on_simplex(
    data: Data, lams: Sequence[Any], duals: Array, slices: list[slice], S: int
) -> tuple[Array, tuple[Array, ...]]:
    """Float multipliers moved onto their simplices, so that the bound holds whatever the solver did."""
    weights = np.maximum(duals[slices[-1]], 0.0)
    weights = weights / weights.sum() if weights.sum() > 0 else np.full(len(weights), 1 / len(weights))
    replies = []
    for k, (_, _, E, groups) in enumerate(data):
        u = np.maximum(duals[slices[k]], 0.0).reshape(S, E.shape[1])
        for g in groups:
            total = u[:, g].sum(axis=1, keepdims=True)
            goal = weights[k] * lams[k]
            u[:, g] = np.where(total > 0, u[:, g] * (goal / np.where(total > 0, total, 1.0)), goal / (g.stop - g.start))
        replies.append(u)
    return weights, tuple(replies)


def _obedient(data: Data, profiles: Array, q: Array) -> Array:
    """Give each signal the profile that its Bobs follow (their own on ties); pooling equal profiles raises no R_A^k."""
    index = {tuple(row): s for s, row in enumerate(profiles.tolist())}
    target = profiles.copy()
    for k, (p, B, _, _) in enumerate(data):
        losses = signal_losses(p[:, None] * q, B)
        slack = 0 if is_exact(q) else 1e-12 * losses.max(initial=0.0)
        for s, row in enumerate(losses):
            if row[profiles[s, k]] > row.min() + slack:
                target[s, k] = int(row.argmin())
    out = 0 * q
    for s, row in enumerate(target.tolist()):
        out[:, index[tuple(row)]] += q[:, s]
    return out
