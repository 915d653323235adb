"""From nearly optimal replies u to an optimal vertex of the compact program, with its basis.

States whose margin at u is wide stay with their key decision and enter the program only through the constant
c_ij = sum of p E over them. The rest keep the columns that are nearly tied, and the program

    min  sum B rho - sum t   s.t.  sum_i rho[x,i] = p[x],   c_ij + sum_x E[x,j] rho[x,i] - t_ig >= 0,   rho >= 0

on those few columns goes to a simplex method (lam is folded into E). Its start is a vertex: keys basic, t basic, the
tightest row of every t non-basic; no marginal row ever has a basic slack.

Every basis has a core. An extra is a basic column besides the key of its state; T is the set of rows (i,j) whose slack
is non-basic. Then |T| = extras + basic t, and with the |T| x |T| matrix K, whose column for the extra (x,i) with key k
is +E[x,j] in rows (i,j) and -E[x,j] in rows (k,j), and for t_ig is -1 in its rows,

    K (rho_extra, t) = -(rows of the keys alone),      K' u = (B[x,i] - B[x,k], -1).

u depends on the core alone, so all other states may be priced, and given their best decision, in one pass.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np

from bap_lp.engines.game.pricing import Pricing, centred, pass_over, sum_by_key
from bap_lp.engines.linear.highs import PRIMAL, basic_flags, loaded, run, set_basis
from bap_lp.engines.linear.memory import require_square
from bap_lp.model.sums.arrays import Arrays
from bap_lp.rational import Array


@dataclass
class GameBasis:
    """key and extras of the states, basic t (b, G) and basic slacks (b, e); `near` states and their `open` columns."""

    key: Array
    near: Array
    open: Array
    basic: Array
    t: Array
    slack: Array
    pivots: int = 0


@dataclass(frozen=True)
class GameVertex:
    """u (rows sum to one over groups), weights rho (m, b) of the near states, the others at their key.

    settled: no column anywhere has a negative reduced cost.
    """

    basis: GameBasis
    u: Array
    rho: Array
    settled: bool


_BYTES = 40  # of an entry of K: itself, its parts while it is built, and its factor
_OPTIONS: dict[str, Any] = {
    "primal_feasibility_tolerance": 1e-10,
    "dual_feasibility_tolerance": 1e-10,
    "small_matrix_value": 1e-12,
    "simplex_strategy": PRIMAL,  # the start is a vertex
}


def _restricted(near: Arrays, fixed: Array, basis: GameBasis) -> tuple[Array, Array]:
    """Solve the program on the open columns of the near states: u and their weights."""
    p, B, E = near.p, near.B, near.E
    (m, b, e), G = near.shape, len(near.groups)
    state, decision = np.nonzero(basis.open)
    count = len(state)
    # In q = rho / p every marginal is one; dividing Eve's rows by the mean prior makes their coefficients of order one.
    unit = 1.0 / p.mean()
    weight = p * unit
    key = basis.key[basis.near]
    rows = fixed + sum_by_key(p, E, key, b)
    level = near.least_replies(rows)[:, near.group_of]
    index = np.empty((count, e + 1), dtype=np.int32)
    index[:, 0] = state
    index[:, 1:] = m + decision[:, None] * e + np.arange(e)
    entry = np.ones((count, e + 1))
    entry[:, 1:] = weight[state, None] * E[state]
    ends = count * (e + 1) + np.cumsum(np.tile([g.stop - g.start for g in near.groups], b))
    start = np.concatenate([np.arange(count + 1) * (e + 1), ends])
    inf = np.inf
    model = loaded(
        (
            np.concatenate([weight[state] * B[state, decision], -np.ones(b * G)]),
            np.concatenate([np.zeros(count), np.full(b * G, -inf)]),
            np.full(count + b * G, inf),
        ),
        (
            np.concatenate([np.ones(m), ((level - fixed) * unit).ravel()]),
            np.concatenate([np.ones(m), np.full(b * e, inf)]),
        ),
        (
            start,
            np.concatenate([index.ravel(), m + np.arange(b * e)]),
            np.concatenate([entry.ravel(), -np.ones(b * e)]),
        ),
        **_OPTIONS,
    )
    on = [basis.basic[state, decision], basis.t.ravel(), np.zeros(m, dtype=bool), basis.slack.ravel()]
    set_basis(model, np.concatenate(on))
    run(model)
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        raise ArithmeticError(f"the restricted program ended as {model.modelStatusToString(model.getModelStatus())}")
    basis.pivots += model.getInfo().simplex_iteration_count
    columns, slacks = np.split(basic_flags(model), [count + b * G])
    basis.basic = np.zeros_like(basis.open)
    basis.basic[state, decision] = columns[:count]
    basis.t = columns[count:].reshape(b, G)
    basis.slack = slacks[m:].reshape(b, e)
    q = np.full((m, b), -1.0)
    q[state, decision] = np.asarray(model.getSolution().col_value)[:count]
    # a basic slack of a marginal row is zero and redundant: the state's best non-basic column takes its place
    for x in np.flatnonzero(slacks[:m]):
        basis.basic[x, np.where(basis.basic[x], -2.0, q[x]).argmax()] = True
    basis.key[basis.near] = np.where(basis.basic, q, -2.0).argmax(axis=1)
    return np.asarray(model.getSolution().row_dual)[m:].reshape(b, e), np.maximum(q, 0.0) * p[:, None]


def _core(near: Arrays, fixed: Array, basis: GameBasis) -> tuple[Array, Array]:
    """u and the weights (m, b) of the near states, from the core."""
    B, E = near.B, near.E
    key = basis.key[basis.near]
    rows = fixed + sum_by_key(near.p, E, key, len(basis.slack))
    tight_i, tight_j = np.nonzero(~basis.slack)
    extra = basis.basic.copy()
    extra[np.arange(len(key)), key] = False
    x, i = np.nonzero(extra)
    t_i, t_g = np.nonzero(basis.t)
    if len(tight_i) != len(x) + len(t_i):
        raise np.linalg.LinAlgError("the basis has the wrong number of variables")
    require_square(len(tight_i), _BYTES)
    K = np.zeros((len(tight_i), len(tight_i)))
    loss = E[x].T[tight_j]
    K[:, : len(x)] = loss * ((tight_i[:, None] == i).astype(float) - (tight_i[:, None] == key[x]))
    K[:, len(x) :] = np.where((tight_i[:, None] == t_i) & (near.group_of[tight_j][:, None] == t_g), -1.0, 0.0)
    primal = np.linalg.solve(K, -rows[tight_i, tight_j])
    dual = np.linalg.solve(K.T, np.concatenate([B[x, i] - B[x, key[x]], -np.ones(len(t_i))]))
    u = np.zeros(basis.slack.shape)
    u[tight_i, tight_j] = dual
    rho = np.zeros(basis.open.shape)
    rho[x, i] = primal[: len(x)]
    rho[np.arange(len(key)), key] = near.p - rho.sum(axis=1)
    return u, rho


def to_vertex(
    arrays: Arrays,
    lam: float,
    scale: float,
    start: GameBasis,
    *,
    base: Array,
    pool: Executor | None,
    watch: Callable[[int, Array], None],
    solved: bool = False,
    limit: int = 60,
) -> GameVertex:
    """Column generation from a basis; `solved`: the basis may be optimal already, so it is priced before any pivot.

    `base` (b, e) holds Eve's rows of states that were decided elsewhere.
    """
    p, B, E = arrays.p, arrays.B, arrays.E
    b, e = start.slack.shape
    basis = start
    far = np.full(len(p), True)
    far[basis.near] = False
    fixed = base + sum_by_key(np.where(far, p, 0.0), E, basis.key, b)
    tol = 1e-11 * scale
    u, rho = np.zeros((b, e)), np.zeros((0, b))
    for round_ in range(limit):
        mine = basis.near
        losses = B[mine] / scale
        losses -= losses.min(axis=1, keepdims=True)
        near = Arrays(p[mine], losses, centred(E[mine] * (lam / scale), arrays.groups), arrays.groups)
        rest = centred(fixed * (lam / scale), arrays.groups)
        if len(mine) and not (solved and round_ == 0):
            u, rho = _restricted(near, rest, basis)
        try:
            u, rho = _core(near, rest, basis)
        except np.linalg.LinAlgError:
            if solved and round_ == 0:
                continue
        late = pass_over(arrays, lam * u, pool, basis.key, tol).late
        R = B[late] - lam * (E[late] @ u.T)
        place = np.minimum(np.searchsorted(mine, late), max(len(mine) - 1, 0))
        known = mine[place] == late if len(mine) else np.zeros(len(late), dtype=bool)
        opened = R[np.arange(len(late)), basis.key[late]][:, None] - tol > R
        opened[known] &= ~basis.open[place[known]]
        watch(round_, u)
        feasible = not (solved and round_ == 0) or _feasible(rho, u, near.p)
        if feasible and not opened.any():
            whole = known.copy()
            whole[known] = basis.basic[place[known]].sum(axis=1) == 1
            rho = _settle(near, rest, basis, place[whole], R[whole].argmin(axis=1), rho)
            return GameVertex(basis, u, rho, True)
        # the worst first: the program at most doubles in one round
        room = max(len(mine), 10 * b * e + 100)
        if len(late) > room:
            lead = R[np.arange(len(late)), basis.key[late]] - np.where(opened, R, np.inf).min(axis=1)
            some = np.sort(np.argpartition(-lead, room)[:room])
            late, opened, known, place = late[some], opened[some], known[some], place[some]
        fresh = late[~known]
        fixed -= sum_by_key(p[fresh], E[fresh], basis.key[fresh], b)
        basis = _extend(basis, late, opened, known, place)
    return GameVertex(basis, u, rho, False)


def _feasible(rho: Array, u: Array, p: Array) -> bool:
    return bool((rho >= -1e-9 * p[:, None]).all() and (u >= -1e-11).all())


def near_basis(arrays: Arrays, lam: float, u: Array, found: Pricing, width: float, base: Array) -> GameBasis:
    """The vertex of the rule at u (rows of u sum to one), with the columns within `width` of the minimum open."""
    b, e = u.shape
    near = np.flatnonzero(found.margin <= width)
    R = arrays.B[near] - lam * (arrays.E[near] @ u.T)
    opened = R - R.min(axis=1, keepdims=True) <= width
    basic = np.zeros((len(near), b), dtype=bool)
    basic[np.arange(len(near)), found.key[near]] = True
    slack = np.ones((b, e), dtype=bool)
    slack[np.arange(b)[:, None], arrays.reply_columns(found.rows + base)] = False
    t = np.ones((b, len(arrays.groups)), dtype=bool)
    return GameBasis(found.key.copy(), near, opened | basic, basic, t, slack)


def _settle(near: Arrays, fixed: Array, basis: GameBasis, states: Array, best: Array, rho: Array) -> Array:
    """Move whole states, whose prior is below the tolerance of the simplex method, to the decision that is best at u.

    u does not depend on them. The move is kept if all weights of the split states stay non-negative.
    """
    if not len(states):
        return rho
    key, basic = basis.key.copy(), basis.basic.copy()
    basis.basic[states] = False
    basis.basic[states, best] = True
    basis.key[basis.near[states]] = best
    try:
        moved = _core(near, fixed, basis)[1]
    except np.linalg.LinAlgError:
        moved = np.full(rho.shape, -1.0)
    if (moved >= -1e-9 * near.p[:, None]).all():
        return moved
    basis.key, basis.basic = key, basic
    return rho


def _extend(basis: GameBasis, late: Array, opened: Array, known: Array, place: Array) -> GameBasis:
    """Open the columns `opened` of the states `late`, of which the known ones are already near."""
    basis.open[place[known]] |= opened[known]
    fresh = late[~known]
    key = basis.key[fresh]
    near = np.concatenate([basis.near, fresh])
    order = np.argsort(near, kind="stable")
    open_ = opened[~known]
    open_[np.arange(len(fresh)), key] = True
    basic = np.zeros_like(open_)
    basic[np.arange(len(fresh)), key] = True
    opened, basic = (np.concatenate(pair)[order] for pair in ((basis.open, open_), (basis.basic, basic)))
    return replace(basis, near=near[order], open=opened, basic=basic)
