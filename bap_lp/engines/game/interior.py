"""A primal-dual interior point for the game, in b*e dimensions whatever the number of states.

With q[i,x] = rho[i,x]/p[x], losses scaled to order one and lam folded into E, the pair of programs is

    min  sum_x p B q - sum_ig t_ig   s.t.  sum_i q[i,x] = 1,   s_ij = c_ij + sum_x p E[j,x] q[i,x] - t_ig >= 0,   q >= 0
    max  sum_x p y_x - sum_ij u_ij c_ij  s.t.  z[i,x] = B[i,x] - u_i . E[:,x] - y_x >= 0,  sum_{j in g} u_ij = 1, u >= 0

where c collects the states already decided. The path q z = mu, s u = mu w is followed by Mehrotra's method. With
d = p q / z, eliminating q, z and y_x state by state leaves, in the b*e unknowns du,

    H du - A' dt = r,   A du = 0,   H = sum_x W_x (x) E_x E_x' + diag(s/u),   W_x = diag(d) - d d' / sum(d).

W_x is a graph Laplacian: its off-diagonal entries -d_i d_k / sum(d) are products of positive numbers, and the diagonal
blocks of H are minus the sums of the off-diagonal ones, so H loses no digits by cancellation when d spans many
decades.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.engines.linear.memory import require_square
from bap_lp.model.sums.arrays import Arrays
from bap_lp.rational import Array

_BLOCK = 8192  # states whose iterates stay in a core's cache
_BYTES = 48  # of an entry of H: as blocks and as a square, with the sum and its transpose, the factor and its copy
_KEPT = 1_000_000  # products E_j E_l are kept between iterations up to this many numbers


@dataclass
class _Block:
    """The iterates of some consecutive states, one column per state."""

    p: Array
    B: Array
    E: Array
    y: Array
    q: Array
    z: Array
    dq: Array
    dz: Array
    d: Array
    total: Array
    products: Array | None


@dataclass(frozen=True)
class CentralPoint:
    """Where the path was left: replies u (rows on unit simplices), channel q (b, n), gap of the pair, iterations."""

    u: Array
    q: Array
    gap: float
    iterations: int


def centre(R: Array, mu: float) -> tuple[Array, Array]:
    """The y < min_i R[i] with sum_i mu / (R[i] - y) = 1, column by column, and z = R - y.

    In delta = min R - y in [mu, b mu] the left side is convex and decreasing, so Newton from delta = mu is monotone.
    """
    low = R.min(axis=0)
    D = R - low
    delta = np.full(low.shape, mu)
    for _ in range(8):
        inverse = 1.0 / (D + delta)
        first = mu * inverse.sum(axis=0)
        inverse *= inverse
        delta += (first - 1.0) / (mu * inverse.sum(axis=0))
    return low - delta, D + delta


def _start(block: _Block, u: Array, mu: float) -> Array:
    block.y, block.z = centre(block.B - u @ block.E, mu)
    block.q = mu / block.z
    block.q /= block.q.sum(axis=0)
    return (block.p * block.q) @ block.E.T


def _assemble(block: _Block, pairs: tuple[Array, Array]) -> tuple[Array, Array, Array]:
    """Off-diagonal blocks of -H, the rows sum_x p E q, and the affine right side sum_x E (d p / sum(d) - p q)."""
    b = block.q.shape[0]
    pq = block.p * block.q
    d = np.divide(pq, block.z, out=block.d)
    np.sum(d, axis=0, out=block.total)
    scaled = d / block.total
    weights = [d[i] * scaled[i + 1 :] for i in range(b - 1)]
    products = block.products if block.products is not None else block.E[pairs[0]] * block.E[pairs[1]]
    off = np.concatenate(weights) @ products.T if weights else np.zeros((0, len(pairs[0])))
    scaled *= block.p
    return off, pq @ block.E.T, scaled @ block.E.T


def _project_out(block: _Block, g: Array) -> Array:
    """p g - d sum(p g) / sum(d): a change of q with the marginals kept."""
    g *= block.p
    g -= block.d * (g.sum(axis=0) / block.total)
    return g


def _longest(value: Array, step: Array) -> float:
    """The largest a with value + a step >= 0."""
    worst = float(np.min(step / value))
    return -1.0 / worst if worst < 0 else np.inf


def _affine(block: _Block, du: Array) -> tuple[float, float, Array, Array, Array]:
    h = du @ block.E
    dy = (block.p - (block.d * h).sum(axis=0)) / block.total
    h += dy
    dq = block.d * h / block.p - block.q
    dz = np.negative(h, out=h)
    longest = _longest(block.q, dq), _longest(block.z, dz)
    cross = dq * dz
    sums = np.array([(v @ block.p).sum() for v in (dq * block.z, block.q * dz, cross)])
    inverse = 1.0 / block.z
    block.dq = np.multiply(cross, inverse, out=cross)
    first = _project_out(block, inverse) @ block.E.T
    second = _project_out(block, cross.copy()) @ block.E.T
    return (*longest, sums, first, second)


def _direction(block: _Block, du: Array, target: float) -> tuple[float, float]:
    """z dq + q dz = target - q z - cross, sum_i dq = 1 - sum_i q; block.dq holds cross / z."""
    g = target / block.z
    g -= block.dq
    g *= block.p
    h = du @ block.E
    h *= block.d
    residual = block.p - h.sum(axis=0) - g.sum(axis=0)
    dy = residual / block.total
    h += block.d * dy
    h += g
    h /= block.p
    dq = np.subtract(h, block.q, out=h)
    dz = -(du @ block.E)
    dz -= dy
    block.dq, block.dz = dq, dz
    return _longest(block.q, dq), _longest(block.z, dz)


def _advance(block: _Block, primal: float, dual: float) -> tuple[float, float]:
    block.dq *= primal
    block.q += block.dq
    block.dz *= dual
    block.z += block.dz
    return float(block.p @ (block.q * block.z).sum(axis=0)), 0.0


def interior_point(
    arrays: Arrays,
    fixed: Array,
    u: Array,
    mu: float,
    tol: float,
    *,
    pool: Executor | None,
    watch: Callable[[int, Array], None],
    limit: int = 100,
) -> CentralPoint:
    """Follow the path from (u, mu) until the gap is below tol; fixed and u are (b, e)."""
    p, B, E = arrays.p, arrays.B.T, arrays.E.T
    n, b, e = arrays.shape
    require_square(b * e, _BYTES)
    A = (np.arange(len(arrays.groups))[:, None] == arrays.group_of).astype(float)
    wide = np.kron(np.eye(b), A)
    pairs = np.triu_indices(e)
    run: Callable[..., Any] = map if pool is None or n < 4 * _BLOCK else pool.map
    blocks = []
    for k in range(0, n, _BLOCK):
        cut = slice(k, min(k + _BLOCK, n))
        width = cut.stop - cut.start
        y, q, z, dq, dz = (np.empty(0) for _ in range(5))
        losses = np.ascontiguousarray(B[:, cut]), np.ascontiguousarray(E[:, cut])
        products = losses[1][pairs[0]] * losses[1][pairs[1]] if n * len(pairs[0]) <= _KEPT else None
        blocks.append(_Block(p[cut], *losses, y, q, z, dq, dz, np.empty((b, width)), np.empty(width), products))
    rows = fixed + sum(run(lambda block: _start(block, u, mu), blocks))
    mass = float(p.sum())
    # mass^2 / sum p^2 is the number n of states if all have the same prior; w e lies between mass / n and mass
    w = mass / (e * (mass * mass / float(p @ p)) ** 0.75)
    weight = mass * b + w * b * e
    t = arrays.least_replies(rows) - mu * w
    s = np.maximum(rows - t @ A, mu * w / u)
    gap = mu * mass * b + float((s * u).sum())
    first, second = np.triu_indices(b, 1)
    diagonal = np.arange(b)
    iteration, gaps = 0, [gap]
    for iteration in range(1, limit + 1):
        off, rows, spread = (sum(parts) for parts in zip(*run(lambda k: _assemble(k, pairs), blocks), strict=True))
        H = np.zeros((b, b, e, e))
        H[first[:, None], second[:, None], pairs[0], pairs[1]] = -off
        H[first[:, None], second[:, None], pairs[1], pairs[0]] = -off
        H += H.transpose(1, 0, 3, 2)
        H[diagonal, diagonal] = -H.sum(axis=1)
        square = H.transpose(0, 2, 1, 3).reshape(b * e, b * e)
        square[np.diag_indices(b * e)] += (s / u).ravel()
        try:
            solve = _newton(square, wide)
        except np.linalg.LinAlgError:
            break
        rs = s + t @ A - rows - fixed
        rt = 1.0 - u @ A.T
        # g enters with opposite sign on the right: for the affine step g = d p / sum(d) - p q and rcs / u = -s.
        base = rs - (spread - rows) - s
        du, dt = solve(base, rt)
        ds = -s - s * du / u
        parts = list(run(lambda k, du=du: _affine(k, du), blocks))
        primal = min(1.0, _longest(s, ds), min(part[0] for part in parts))
        dual = min(1.0, _longest(u, du), min(part[1] for part in parts))
        dqz, qdz, cross = sum(part[2] for part in parts)
        su_cross = ds * du
        affine = (
            gap + primal * (dqz + float((ds * u).sum())) + dual * (qdz + float((s * du).sum()))
            + primal * dual * (cross + float(su_cross.sum()))
        )  # fmt: skip
        mu = gap / weight
        target = max(affine / gap, 0.0) ** 3 * mu
        right = base - target * sum(part[3] for part in parts) + sum(part[4] for part in parts)
        right += (target * w - su_cross) / u
        du, dt = solve(right, rt)
        ds = (target * w - su_cross) / u - s - s * du / u
        parts = list(run(lambda k, du=du, target=target: _direction(k, du, target), blocks))
        primal = min(1.0, 0.995 * min(_longest(s, ds), min(part[0] for part in parts)))
        dual = min(1.0, 0.995 * min(_longest(u, du), min(part[1] for part in parts)))
        s += primal * ds
        t += primal * dt
        u = u + dual * du
        gap = float((s * u).sum())
        gap += sum(part[0] for part in run(lambda k, a=primal, c=dual: _advance(k, a, c), blocks))
        watch(iteration, u)
        gaps.append(gap)
        if gap <= tol or max(primal, dual) < 1e-4 or (iteration > 15 and gap > 0.5 * gaps[-10]):
            break
    return CentralPoint(u, np.concatenate([block.q for block in blocks], axis=1), gap, iteration)


def _newton(H: Array, wide: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Solve H du - A' dt = r, A du = rt by Cholesky; wide is A acting on every row of du."""
    from scipy.linalg.lapack import dpotrf, dpotrs  # a heavy import, needed by large problems only

    for lift in (0.0, 1e-14, 1e-12, 1e-10, 1e-8):
        # LAPACK itself: on matrices of this size the wrappers of scipy cost as much as the algebra
        factor, bad = dpotrf(H + np.diag(lift * np.diag(H)) if lift else H, lower=1)
        if bad:
            continue
        bordered = dpotrs(factor, wide.T, lower=1)[0]
        schur, bad = dpotrf(wide @ bordered, lower=1)
        if not bad:
            break
    else:
        raise np.linalg.LinAlgError("the Newton matrix is not positive definite")

    def solve(r: Array, rt: Array) -> tuple[Array, Array]:
        v = dpotrs(factor, r.ravel(), lower=1)[0]
        dt = dpotrs(schur, rt.ravel() - wide @ v, lower=1)[0]
        return (v + bordered @ dt).reshape(r.shape), dt.reshape(rt.shape)

    return solve
