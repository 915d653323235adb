"""An optimum of the program of `constrained`: the channel, and the multipliers as its proof wants them.

The basis comes from floats and is carried to the rationals when the numbers are exact. In floats the result is checked
like any certificate; where it fails (a likelihood ratio between tiny probabilities, say) the program is solved as the
rationals its floats are, and rounded at the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from flint import fmpq

from bap_lp.conditions.conditions import Conditions, Limits, Pairs
from bap_lp.linear.exact import optimise
from bap_lp.linear.highs import SolverError, solve_lp
from bap_lp.linear.program import LinearProgram
from bap_lp.model.arrays import signal_losses
from bap_lp.programs.constrained import Data, Rows, build, scaled
from bap_lp.proof.certificate import TOLERANCE, size_of
from bap_lp.proof.conditional import Proof, lagrangian
from bap_lp.proof.feasibility import check_conditions
from bap_lp.rational import Array, floats, lifted, zeros


class Infeasible(ArithmeticError):
    """No mechanism satisfies the conditions."""


@dataclass(frozen=True)
class Point:
    """An optimum of the program: channel on its states, and the multipliers."""

    q: Array
    u: Array
    v: Array | None
    floor_price: Any
    cap_price: Any
    dp: Array
    how: str


def optimum(data: Data, lam: Any, bob_weight: int = 1) -> Point:
    """The optimal channel and its multipliers; Infeasible if there is none."""
    small, small_lam, sizes = scaled(data, lam)
    rounded, rows = build(small, small_lam, bob_weight)
    try:
        vertex = solve_lp(rounded)
        basic, sure = vertex.basic, vertex.optimal
    except SolverError:
        basic, sure = np.arange(rounded.shape[1], sum(rounded.shape)), False
    if data.exact:
        return _exactly(data, lam, bob_weight, rows, basic)
    if sure:
        point = _rounded(data, rows, vertex.z, vertex.y, sizes)
        if _good(data, lam, bob_weight, point):
            return point
    point = _exactly(_lifted(data), fmpq(*float(lam).as_integer_ratio()), bob_weight, rows, basic)
    q = floats(point.q)
    q /= q.sum(axis=1, keepdims=True)
    v = None if point.v is None else floats(point.v)
    prices = (float(point.floor_price), float(point.cap_price))
    return Point(q, floats(point.u), v, *prices, floats(point.dp), "HiGHS simplex, finished in exact arithmetic")


def _exactly(data: Data, lam: Any, bob_weight: int, rows: Rows, basic: Array) -> Point:
    lp, _ = build(data, lam, bob_weight)
    try:
        vertex = optimise(lp, basic)
    except ArithmeticError as error:
        raise Infeasible(str(error)) from None
    repairs = f", repaired in {vertex.repairs} exact steps" if vertex.repairs else ""
    return _point(data, rows, vertex.z, -vertex.y, f"HiGHS simplex, exact basis{repairs}")


def _rounded(data: Data, rows: Rows, z: Array, y: Array, sizes: tuple[float, float]) -> Point:
    """Undo the scaling: objective and cap row by N/bob, Eve rows and floor by N/eve, DP rows not at all."""
    bob, eve = sizes
    prices = np.maximum(-y, 0.0)
    prices[rows.eve] *= bob / eve
    if rows.floor is not None:
        prices[rows.floor] *= bob / eve
    prices[rows.dp] *= bob / len(data.p)
    z = np.where(z > 1e-13, z, 0.0)
    point = _point(data, rows, z, prices, "HiGHS simplex")
    total = point.q.sum(axis=1, keepdims=True)
    return replace(point, q=point.q / np.where(total > 0, total, 1.0))


def _point(data: Data, rows: Rows, z: Array, prices: Array, how: str) -> Point:
    N, S = len(data.p), len(data.signals)
    zero = fmpq(0) if data.exact else 0.0
    v = None if data.margins is None else prices[rows.bob].reshape(S, -1)
    mu = zero if rows.floor is None else prices[rows.floor]
    nu = zero if rows.cap is None else prices[rows.cap]
    return Point(z[: N * S].reshape(N, S), prices[rows.eve].reshape(S, -1), v, mu, nu, prices[rows.dp], how)


def _lifted(data: Data) -> Data:
    limits, pairs = data.limits, data.limits.pairs

    def lift(value: Any) -> Any:
        return None if value is None else fmpq(*value.as_integer_ratio())

    raised = Limits(
        lift(limits.floor),
        lift(limits.cap),
        lift(limits.ratio),
        pairs and Pairs(pairs.x, pairs.other, lifted(pairs.ratio)),
        limits.deterministic,
        limits.max_signals,
        lift(limits.margin),
    )
    margins = None if data.margins is None else (lift(data.margins[0]), lift(data.margins[1]))
    return Data(lifted(data.p), lifted(data.B), lifted(data.E), data.groups, data.signals, raised, margins)


def _good(data: Data, lam: float, bob_weight: int, point: Point) -> bool:
    """Whether a float point meets its conditions and its gap is small; only then is it worth publishing."""
    if bob_weight != 1:
        return True
    problem = view(data)
    limits = replace(data.limits, deterministic=False, max_signals=None)
    if check_conditions(problem, limits, data.signals, point.q, 0.1 * TOLERANCE):
        return False
    bound, _ = bound_of(problem, data, lam, point, np.arange(len(data.p)))
    rho = data.p[:, None] * point.q
    eve = rho.T @ data.E
    bob = (data.B[:, data.signals.bob] * rho).sum()
    value = float(bob - lam * sum(eve[:, g].min(axis=1).sum() for g in data.groups))
    return bool(value - bound <= 0.1 * TOLERANCE * size_of(problem, lam))


def view(data: Data) -> Any:
    """What the checks need of a problem, on the program's states (their probabilities may sum to less than one)."""

    class _View:
        p, B, E, exact, eve_groups = data.p, data.B, data.E, data.exact, data.groups
        eves = tuple(type("Eve", (), {"name": f"Eve {k}"}) for k in range(len(data.groups)))
        shape = (*data.B.shape, data.E.shape[1])

    return _View


def bound_of(problem: Any, data: Data, lam: Any, point: Point, index: Array) -> tuple[Any, tuple[Array, Proof]]:
    """The Lagrangian bound on the problem, with u put on (lam + mu) * simplex, and (u, multipliers) behind it."""
    u = point.u
    if not data.exact and data.margins is None:
        u = u.copy()
        for g in data.groups:
            total = u[:, g].sum(axis=1, keepdims=True)
            width = g.stop - g.start
            goal = lam + point.floor_price
            u[:, g] = np.where(total > 0, u[:, g] * (goal / np.where(total > 0, total, 1.0)), goal / width)
    pairs, weights = _transport(problem, data, point, index)
    proof = Proof(Conditions(), point.q, 0.0, 0.0, pairs, weights, point.v)
    prices = (point.floor_price, point.cap_price)
    total, size = lagrangian(problem, data.limits, data.signals, lam, u, proof, prices)
    if not data.exact:
        total = float(total) - (len(data.E[0]) + len(data.B[0]) + len(data.p) + 40) * np.finfo(float).eps * float(size)
    return total, (u, proof)


def _transport(problem: Any, data: Data, point: Point, index: Array) -> tuple[Array, Array]:
    """DP multipliers as w[s,(x,x')] on the problem's states.

    For all pairs the program has alpha[x,s] on low <= q and beta[x,s] on q <= r low, with sum_x alpha = r sum_x beta at
    an optimum: any transport w from beta to alpha / r gives the same d(x,s). Members of a class share by probability.
    """
    limits, S = data.limits, len(data.signals)
    found: list[tuple[int, int, int]] = []
    weights: list[Any] = []
    if limits.pairs is not None:
        table = point.dp.reshape(-1, S)
        for k, s in np.argwhere(table > 0).tolist():
            found.append((s, int(limits.pairs.x[k]), int(limits.pairs.other[k])))
            weights.append(table[k, s])
    elif limits.ratio is not None:
        N = len(data.p)
        alpha, beta = point.dp[: N * S].reshape(N, S), point.dp[N * S :].reshape(N, S)
        live = np.flatnonzero(index >= 0)
        share = problem.p[live] / data.p[index[live]]
        for s in range(S):
            supply, demand = beta[index[live], s] * share, alpha[index[live], s] * share / limits.ratio
            sources = [[x, w] for x, w in zip(live.tolist(), supply, strict=True) if w > 0]
            sinks = [[x, w] for x, w in zip(live.tolist(), demand, strict=True) if w > 0]
            while sources and sinks:
                step = min(sources[-1][1], sinks[-1][1])
                if sources[-1][0] != sinks[-1][0]:
                    found.append((s, sources[-1][0], sinks[-1][0]))
                    weights.append(step)
                for ends in (sources, sinks):
                    ends[-1][1] -= step
                    if ends[-1][1] <= 0:
                        ends.pop()
    out = zeros(len(weights), data.exact)
    out[:] = weights
    return np.array(found, dtype=np.int64).reshape(-1, 3), out


def risk_pair(data: Data, q: Array) -> tuple[Any, Any]:
    rho = data.p[:, None] * q
    eve = signal_losses(rho, data.E)
    told = signal_losses(rho, data.B)[np.arange(len(data.signals)), data.signals.bob].sum()
    return told, sum((eve[:, g].min(axis=1).sum() for g in data.groups), start=0 * data.p[0])


def program_of(data: Data, lam: Any) -> tuple[LinearProgram, Rows]:
    """The float program for branch and bound, on the scale of `scaled`."""
    small, small_lam, _ = scaled(data, lam)
    return build(small, small_lam)
