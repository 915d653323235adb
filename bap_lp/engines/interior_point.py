"""A primal-dual interior point for the game of Alice and Eve, in b*e unknowns whatever the number of states.

With q[i,x] = rho[i,x]/p[x], losses of order one and lam folded into E, the pair of programs is

    min  sum_x p B q - sum_ig t_ig   s.t.  sum_i q[i,x] = 1,   s_ij = c_ij + sum_x p E[j,x] q[i,x] - t_ig >= 0,   q >= 0
    max  sum_x p y_x - sum_ij u_ij c_ij  s.t.  z[i,x] = B[i,x] - u_i . E[:,x] - y_x >= 0,  sum_{j in g} u_ij = 1, u >= 0

where c collects the states decided elsewhere. The path q z = mu, s u = mu w is followed by Mehrotra's method. A step
has dz = -(du E + dy), and with d = q/z and g = (right side of q z) / z - q,

    dq = g + d (du E + dy),    sum_i dq = 1 - sum_i q,    H du - A' dt = r,    A du = 1 - A u,
    H = sum_x p W_x (x) E_x E_x' + diag(s/u),    W_x = diag(d) - d d' / sum(d).

W_x is a graph Laplacian: its off-diagonal entries -d_i d_k / sum(d) are products of positive numbers, and the diagonal
blocks of H are minus the sums of the off-diagonal ones, so H loses no digits by cancellation when d spans many decades.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bap_lp.engines.linear.memory import require_square
from bap_lp.support.rational import Array

_BYTES = 48  # of an entry of H: as blocks and as a square, with the sum and its transpose, the factor and its copy
_KEPT = 1_000_000  # products E_j E_l are kept between iterations up to this many numbers
_LIFTS = (0.0, 1e-14, 1e-12, 1e-10, 1e-8)  # of the diagonal of H, until it is positive definite in floats
_BACK = 0.995  # of the way to the boundary


def interior_point(
    states: tuple[Array, Array, Array],
    groups: Sequence[slice],
    fixed: Array,
    start: tuple[Array, float],
    tol: float,
    watch: Callable[[Array], None],
    limit: int = 100,
) -> tuple[Array, float]:
    """Replies u (b, e), rows on unit simplices, and the gap of the pair, followed from (u, mu) until it is below tol.

    States are (p (n), B (b, n), E (e, n)), a column each.
    """
    path = _Path(*states, groups, fixed, *start)
    gaps = [path.gap(0.0, 0.0)]
    for iteration in range(1, limit + 1):
        if not path.factored():
            break
        path.direct(0.0, 0.0, 0.0)
        affine = path.gap(*path.longest(1.0))
        target = max(affine / gaps[-1], 0.0) ** 3 * gaps[-1] / path.weight
        path.direct(target, path.dq * path.dz, path.du * path.ds)
        steps = path.longest(_BACK)
        path.advance(*steps)
        gaps.append(path.gap(0.0, 0.0))
        watch(path.u)
        if gaps[-1] <= tol or max(steps) < 1e-4 or (iteration > 15 and gaps[-1] > 0.5 * gaps[-10]):
            break
    return path.u, gaps[-1]


class _Path:
    """The iterates q, z (b, n) of the states, s, u (b, e) and t (b, G) of the game, and a step d* of each."""

    dq: Array
    dz: Array
    du: Array
    ds: Array
    dt: Array

    def __init__(self, p: Array, B: Array, E: Array, groups: Sequence[slice], fixed: Array, u: Array, mu: float):
        (b, n), e = B.shape, len(E)
        require_square(b * e, _BYTES)
        self.p, self.E, self.fixed, self.u = p, E, fixed, u
        self.pairs = np.triu_indices(e)
        self.products = self._products() if n * len(self.pairs[0]) <= _KEPT else None
        self.A = np.array([np.isin(np.arange(e), np.arange(e)[g]) for g in groups], dtype=float)
        self.wide = np.kron(np.eye(b), self.A)
        self.z = _centre(B - u @ E, mu)
        self.q = mu / self.z
        self.q /= self.q.sum(axis=0)
        # mass^2 / sum p^2 is the number n of states if all have the same prior; w e lies between mass / n and mass
        mass = float(p.sum())
        self.w = mass / (e * (mass * mass / float(p @ p)) ** 0.75)
        self.weight = mass * b + self.w * b * e
        rows = fixed + (p * self.q) @ E.T
        self.t = np.stack([rows[:, g].min(axis=1) for g in groups], axis=1) - mu * self.w
        self.s = np.maximum(rows - self.t @ self.A, mu * self.w / u)

    def _products(self) -> Array:
        return self.E[self.pairs[0]] * self.E[self.pairs[1]]

    def factored(self) -> bool:
        """Factor H, and what is left of it for dt; whether it is positive definite."""
        self.d = self.q / self.z
        self.total = self.d.sum(axis=0)
        H = self._matrix()
        for lift in _LIFTS:
            # LAPACK itself: on matrices of this size the wrappers of scipy cost as much as the algebra
            self.factor, bad = _lapack().dpotrf(H + np.diag(lift * np.diag(H)) if lift else H, lower=1)
            if not bad:
                self.bordered = _lapack().dpotrs(self.factor, self.wide.T, lower=1)[0]
                self.schur, bad = _lapack().dpotrf(self.wide @ self.bordered, lower=1)
                if not bad:
                    return True
        return False

    def _matrix(self) -> Array:
        (b, e), (j, k) = self.u.shape, self.pairs
        H = np.zeros((b, b, e, e))
        share = self.p * self.d / self.total
        products = self._products() if self.products is None else self.products
        for i in range(b - 1):
            blocks = (share[i] * self.d[i + 1 :]) @ products.T
            H[i, i + 1 :, j, k] = H[i, i + 1 :, k, j] = -blocks.T
        H += H.transpose(1, 0, 3, 2)
        H[np.arange(b), np.arange(b)] = -H.sum(axis=1)
        square = H.transpose(0, 2, 1, 3).reshape(b * e, b * e)
        square[np.diag_indices(b * e)] += (self.s / self.u).ravel()
        return square

    def direct(self, target: float, qz: Any, su: Any) -> None:
        """The step on which q z + q dz + z dq = target - qz, s u + s du + u ds = target w - su, all else as it must."""
        g = (target - qz) / self.z - self.q
        lift = (1.0 - self.q.sum(axis=0) - g.sum(axis=0)) / self.total  # of dy where du = 0
        g += self.d * lift
        own = (target * self.w - su) / self.u - self.s  # of ds where du = 0
        away = self.fixed + (self.p * (self.q + g)) @ self.E.T - self.t @ self.A - self.s
        v = _lapack().dpotrs(self.factor, (own - away).ravel(), lower=1)[0]
        behind = 1.0 - (self.u @ self.A.T).ravel()
        dt = _lapack().dpotrs(self.schur, behind - self.wide @ v, lower=1)[0]
        self.du, self.dt = (v + self.bordered @ dt).reshape(self.u.shape), dt.reshape(self.t.shape)
        self.ds = own - self.s * self.du / self.u
        h = self.du @ self.E
        h -= (self.d * h).sum(axis=0) / self.total
        self.dq = g + self.d * h
        self.dz = -(h + lift)

    def longest(self, share: float) -> tuple[float, float]:
        """Shares of the steps of (q, s, t) and of (z, u) after which all are still positive, at most one."""
        primal = min(_longest(self.q, self.dq), _longest(self.s, self.ds))
        dual = min(_longest(self.z, self.dz), _longest(self.u, self.du))
        return min(1.0, share * primal), min(1.0, share * dual)

    def gap(self, primal: float, dual: float) -> float:
        """The gap after such steps; of the pair itself after none."""
        if not primal and not dual:
            return float(self.p @ (self.q * self.z).sum(axis=0)) + float((self.s * self.u).sum())
        states = (self.q + primal * self.dq) * (self.z + dual * self.dz)
        return float(self.p @ states.sum(axis=0)) + float(
            ((self.s + primal * self.ds) * (self.u + dual * self.du)).sum()
        )

    def advance(self, primal: float, dual: float) -> None:
        self.q += primal * self.dq
        self.z += dual * self.dz
        self.s, self.t, self.u = self.s + primal * self.ds, self.t + primal * self.dt, self.u + dual * self.du


def _lapack() -> Any:
    from scipy.linalg import lapack  # a heavy import, needed by large problems only

    return lapack


def _centre(R: Array, mu: float) -> Array:
    """z = R - y for the y < min_i R[i] with sum_i mu / (R[i] - y) = 1, column by column.

    In delta = min R - y in [mu, b mu] the left side is convex and decreasing, so Newton from delta = mu is monotone.
    """
    D = R - R.min(axis=0)
    delta = np.full(R.shape[1], mu)
    for _ in range(8):
        inverse = 1.0 / (D + delta)
        delta += (mu * inverse.sum(axis=0) - 1.0) / (mu * (inverse * inverse).sum(axis=0))
    return D + delta


def _longest(value: Array, step: Array) -> float:
    """The largest a with value + a step >= 0."""
    worst = float(np.min(step / value))
    return -1.0 / worst if worst < 0 else np.inf
