"""Solving the compact program: from numbers on merged states to rho, u and a bound, in floats or exactly.

Floats: a vertex by HiGHS on the whole program, or by the structured method when there are many states. The bound is the
dual function at u moved onto lam * simplex, so it holds whatever the solver did. Rationals: the vertex of the float
basis, by the program's structure where that applies, by exact pivots otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

import numpy as np
from flint import fmpq

from bap_lp.game.solver import solve_game
from bap_lp.linear import program
from bap_lp.linear.exact import optimise
from bap_lp.linear.highs import solve_lp
from bap_lp.model.merging import class_sums, merge_index
from bap_lp.model.problem import Problem
from bap_lp.programs.structured import Basis, exact_vertex
from bap_lp.proof.certificate import TOLERANCE
from bap_lp.rational import Array, floats, is_exact, lifted, tree_sum

Progress = Callable[[int, float, float], None]

_DIRECT = 1000  # below this many columns rho, simplex on the whole program beats the structured method
_MANY = 20_000  # float states from which merging is left to the structured method, which samples before it sorts
_BLOCK = 1 << 16


@dataclass(frozen=True)
class Data:
    """The program's numbers on merged states, and the way back."""

    p: Array
    B: Array
    E: Array
    groups: tuple[slice, ...]
    index: Array

    @property
    def exact(self) -> bool:
        return is_exact(self.p)

    def rounded(self) -> Data:
        return Data(floats(self.p), floats(self.B), floats(self.E), self.groups, self.index)


def merge(problem: Problem) -> Data:
    """The numbers of the compact program, states that nobody can tell apart taken together."""
    p, B, E = problem.p, problem.B, problem.E
    if not problem.exact and len(p) > _MANY:
        live = p > 0
        if live.all():
            return Data(p, B, E, problem.eve_groups, np.arange(len(p)))
        index = np.where(live, np.cumsum(live) - 1, -1)
        return Data(p[live], B[live], E[live], problem.eve_groups, index)
    index, count = merge_index(p, np.hstack([B, E]))
    if count == len(index):
        return Data(p, B, E, problem.eve_groups, index)
    first = np.flatnonzero(index >= 0)[np.unique(index[index >= 0], return_index=True)[1]]
    return Data(class_sums(p, index, count), B[first], E[first], problem.eve_groups, index)


def solve_float(data: Data, lam: float, progress: Progress | None) -> tuple[Array, Array, float, str]:
    """rho, u, the bound that u proves, and how they were found."""
    rho, u, basic, how = _float_basis(data, lam, progress, stoppable=True)
    u = _replies(u, lam, data.groups)
    rho = _obedient(normalised(rho, data, u), data.B)
    bound = _bound(data, u)
    size = max(float(data.B.max()), lam * float(data.E.max()))
    if basic is None or _value(data, rho, lam) - bound <= 0.1 * TOLERANCE * size:
        return rho, u, bound, how
    # floats are rationals too: where the data outrun the solver's tolerances, finish exactly and round the result
    N, b = data.B.shape
    exact_lam = fmpq(*lam.as_integer_ratio())
    lp = program.compact(lifted(data.p), lifted(data.B), lifted(data.E), data.groups, exact_lam)
    vertex = optimise(lp, basic)
    u = _replies(floats(-vertex.y[N:].reshape(b, -1)), lam, data.groups)
    rho = normalised(floats(vertex.z[: N * b].reshape(N, b)), data, u)
    return rho, u, _bound(data, u), f"{how}, finished in exact arithmetic"


def solve_exact(data: Data, lam: fmpq, progress: Progress | None) -> tuple[Array, Array, fmpq, str]:
    """rho, u and their common value, and how they were found."""
    (N, b), e, G = data.B.shape, data.E.shape[1], len(data.groups)
    rounded = data.rounded()
    _, _, basic, how = _float_basis(rounded, float(lam), progress, stoppable=False)
    arrays = (data.p, data.B, data.E, data.groups, lam)
    if basic is not None:
        found = exact_vertex(*arrays, Basis.of(basic, N, b, e, G), (rounded.p, rounded.B, rounded.E))
        if found is not None:
            return *found, f"{how}, exact basis"
    lp = program.compact(*arrays)
    start = np.arange(sum(lp.shape))[-lp.shape[0] :] if basic is None else basic
    vertex = optimise(lp, start, program.compact(rounded.p, rounded.B, rounded.E, data.groups, float(lam)))
    repaired = f", repaired in {vertex.repairs} exact steps" if vertex.repairs else ""
    rho, u = vertex.z[: N * b].reshape(N, b), -vertex.y[N:].reshape(b, e)
    return rho, u, tree_sum(lp.cost * vertex.z), f"{how}, exact basis{repaired}"


def _float_basis(
    data: Data, lam: float, progress: Progress | None, stoppable: bool
) -> tuple[Array, Array, Array | None, str]:
    """rho, u and the basis (variable numbers of the compact program; None if there is none), by the method of choice.

    Where `stoppable`, an interrupt leaves the best pair so far, without a basis.
    """
    N, b = data.B.shape
    e = data.E.shape[1]
    if N * b <= _DIRECT:
        # dividing the losses by their largest, and lam accordingly, changes no basis
        bob, eve = (float(a.max()) or 1.0 for a in (data.B, data.E))
        vertex = solve_lp(program.compact(data.p * N, data.B / bob, data.E / eve, data.groups, lam * eve / bob))
        rho, u = vertex.z[: N * b].reshape(N, b) / N, -vertex.y[N:].reshape(b, e) * (bob / eve)
        return rho, u, vertex.basic, "compact program, HiGHS simplex"
    game = solve_game(data.p, data.B, data.E, data.groups, lam, progress=progress, stoppable=stoppable)
    how = "compact program, structured interior point and simplex"
    if not game.vertex:
        return game.rho, game.u, None, f"{how}, stopped before the optimum" if game.interrupted else how
    flags = [game.basic_columns.ravel(), game.basic_t.ravel(), np.zeros(N, dtype=bool), game.basic_slack.ravel()]
    return game.rho, game.u, np.flatnonzero(np.concatenate(flags)), how


def blocks(count: int) -> Iterator[slice]:
    """Slices that cover range(count): passes over many states need no second copy of them."""
    return (slice(k, k + _BLOCK) for k in range(0, count, _BLOCK))


def _value(data: Data, rho: Array, lam: float) -> float:
    eve = rho.T @ data.E
    return float(np.vdot(data.B, rho)) - lam * sum(float(eve[:, g].min(axis=1).sum()) for g in data.groups)


def _bound(data: Data, u: Array) -> float:
    """The dual function at u, minus a bound on its rounding error."""
    total = 0.0
    for cut in blocks(len(data.p)):
        # one decision after the other: numpy is slow along short rows
        margins = (data.B[cut, i] - data.E[cut] @ reply for i, reply in enumerate(u))
        total += float(data.p[cut] @ reduce(np.minimum, margins))
    size = float(data.B.max()) + float((u @ data.E.max(axis=0)).max())  # of any margin; the prior sums to one
    return total - (data.E.shape[1] + 40) * float(np.finfo(float).eps) * size


def normalised(rho: Array, data: Data, u: Array | None = None) -> Array:
    """Float joint table with exact zeros and rows that sum to p; a row the solver lost follows the rule of u."""
    p = data.p
    rho[rho <= 1e-13 * p[:, None]] = 0.0
    total = rho.sum(axis=1)
    lost = np.flatnonzero(total < 1e-9 * p)
    if len(lost):
        margins = data.B[lost] if u is None else data.B[lost] - data.E[lost] @ u.T
        width = rho.shape[1] // data.B.shape[1]  # signals per Bob decision: 1 in the compact program
        rho[lost] = 0.0
        rho[lost, margins.argmin(axis=1) * width] = total[lost] = p[lost]
    rho *= (p / total)[:, None]
    return rho


def _obedient(rho: Array, B: Array) -> Array:
    """Relabel a float signal that Bob would disobey by more than rounding: pooling it with his choice lowers R_A."""
    losses = rho.T @ B
    own, least = losses.diagonal(), losses.min(axis=1)
    disobeyed = own > least + 1e-12 * losses.max(initial=0.0)
    if not disobeyed.any():
        return rho
    target = np.where(disobeyed, losses.argmin(axis=1), np.arange(len(own)))
    out = np.zeros_like(rho)
    np.add.at(out.T, target, rho.T)
    return out


def _replies(u: Array, lam: float, groups: tuple[slice, ...]) -> Array:
    """Float duals moved onto lam * simplex, so that the bound holds whatever the solver did."""
    u = np.maximum(u, 0.0)
    for g in groups:
        total = u[:, g].sum(axis=1, keepdims=True)
        width = g.stop - g.start
        u[:, g] = np.where(total > 0, u[:, g] * (lam / np.where(total > 0, total, 1.0)), lam / width)
    return u
