"""Squared losses and Gaussian data: the optimal release is a linear statistic, found by eigenvalues.

X ~ N(0, Sigma) (subtract the mean first). An agent estimates C X with loss (a - C X)' W (a - C X). Bob's theta is of
this kind: if (theta, X) are jointly Gaussian, E[theta|X] = K X and the signal depends on theta through X only, so
E[theta|signal] = K E[X|signal] and his risk is that of estimating K X plus the residual tr W Var(theta|X).

Linear in S. The best estimate is C E[X|signal]. With S = Cov(E[X|signal]) and M = C'WC,
    R_B = c_B - tr(M_B S),   R_E = c_E - tr(M_E S),   c = residual + tr(M Sigma), the risk of the null release.

All mechanisms. Sigma = S + E Var(X|signal) for every signal, Gaussian or not, linear or not: 0 <= S <= Sigma in the
order of positive semidefinite matrices. Conversely each such S is attained. Write Sigma = A A' and X = A Z with Z
standard, so that S = A T A' with 0 <= T <= 1 and T = sum tau_k v_k v_k'. Release, for tau_k > 0,
    v_k'Z + noise of variance (1 - tau_k) / tau_k:      E[v_k'Z | signal] = tau_k signal_k has variance tau_k.
Hence, with H_lam = A'(M_B - lam M_E)A, optimising over all mechanisms is
    V = c_B - lam c_E - max { tr(H_lam T) : 0 <= T <= 1 } = c_B - lam c_E - (sum of the positive eigenvalues of H_lam):
release the eigenvectors of positive eigenvalue without noise, and nothing else.

Leakage. I(X; signal) >= -1/2 log det(1 - T), with equality for the release above: h(X|signal) is at most that of
Gaussians of covariance Var(X|signal), and log det is concave. So I <= cap is a convex constraint on T, and
tr(H T) is largest at tau_k = 1 - l/d_k for the eigenvalues d_k > l, where sum_k log(d_k / l) = 2 cap fixes the level l.
A floor. R_E of the optimum grows with lam, so R_E >= f costs a price n >= 0: bisect lam + n until R_E meets f. Where
R_E jumps across f an eigenvalue of H changes sign, and the two optima on either side, mixed in T so that R_E = f, are
optimal: T then has a fractional eigenvalue, and the release needs noise.

Certificate. For any n, l >= 0 and any Q >= H_{lam+n} with Q >= 0, from tr(HT) <= tr(QT) and
l log det Y - tr(QY) <= l log det(l/Q) - l r at Y = 1 - T (r the dimension), every mechanism that meets both has
    R_A >= c_B - (lam + n) c_E + n f - 2 l cap - [ tr Q - l r - l log det(Q/l) ],
where the bracket is tr Q at l = 0. Q = max(H, l), eigenvalue by eigenvalue, makes it tight. A floor equal to c_E, where
n would be infinite, forces tr(A'M_E A T) = 0: then T lives on the kernel of A'M_E A, and Q with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bap_lp.proof.certificate import Verdict
from bap_lp.questions.convex.linear_releases import (
    ZERO,
    Quadratic,
    Squared,
    checked_covariance,
    linear_information,
    linear_risks,
    posterior_covariance,
)
from bap_lp.support.rational import TOLERANCE, Array, InputError, sized_number
from bap_lp.support.risks import Risks


@dataclass(frozen=True)
class QuadraticCertificate:
    """price n of the floor, level l of the leakage cap, and Q on the span of `basis` (the identity unless the floor is
    the null release's R_E), all in the coordinates Z."""

    price: float
    level: float
    Q: Array
    basis: Array


@dataclass(frozen=True)
class QuadraticSolution:
    """Release statistic @ x + N(0, noise). `risks` are recomputed from these two; `posterior_covariance` is S.

    `ties` counts the directions that may be released or kept at no cost; the solution keeps them.
    """

    problem: Quadratic
    lam: float
    min_eve_risk: float | None
    max_information: float | None
    statistic: Array
    noise: Array
    risks: Risks
    value: float
    posterior_covariance: Array
    bound: float
    ties: int
    certificate: QuadraticCertificate

    @property
    def gap(self) -> float:
        return self.value - self.bound

    def verify(self) -> Verdict:
        """Recompute value and bound from the statistic, the noise and the certificate, with eigenvalues only."""
        white = _Whitened(self.problem)
        risks = linear_risks(*self.problem, self.statistic, self.noise)
        size = max(white.bob_null, (self.lam + self.certificate.price) * white.eve_null, 1e-300)
        floor, cap = self.min_eve_risk, self.max_information
        if floor is not None and risks.eve < floor - TOLERANCE * white.eve_null:
            return Verdict(False, f"R_E = {risks.eve:.12g} is below the floor {floor:.12g}")
        leak = linear_information(self.problem.covariance, self.statistic, self.noise)
        if cap is not None and leak > cap + TOLERANCE:
            return Verdict(False, f"the release leaks {leak:.12g} nats, the cap is {cap:.12g}")
        if self.certificate.basis.shape[1] < white.rank and (floor is None or not white.is_ceiling(floor)):
            return Verdict(False, "a certificate on a subspace needs a floor equal to R_E of the null release")
        if self.certificate.price < 0 or self.certificate.level < 0 or (self.certificate.price > 0 and floor is None):
            return Verdict(False, "price and level must not be negative, and a price needs a floor")
        bound = white.bound(self.lam, floor, cap, self.certificate)
        value = float(risks.alice(self.lam))
        gap = value - bound
        if abs(value - self.value) > TOLERANCE * size or gap > TOLERANCE * size:
            return Verdict(False, f"R_A = {self.value:.12g} claimed, {value:.12g} attained, {bound:.12g} proved")
        return Verdict(True, f"R_A = {self.value:.12g} is within {max(gap, 0.0):.2g} of optimal over all mechanisms")


class _Whitened:
    """The problem in the coordinates X = A Z."""

    def __init__(self, problem: Quadratic) -> None:
        sigma = checked_covariance(problem.covariance)
        spectrum, vectors = np.linalg.eigh(sigma)
        live = spectrum > ZERO * spectrum[-1]
        self.A = vectors[:, live] * np.sqrt(spectrum[live])
        self.inverse = (vectors[:, live] / np.sqrt(spectrum[live])).T  # Z = inverse @ X
        self.rank = int(live.sum())
        self.HB = self.A.T @ problem.bob.matrix(len(sigma), "bob") @ self.A
        self.HE = self.A.T @ problem.eve.matrix(len(sigma), "eve") @ self.A
        self.bob_null = problem.bob.residual + float(np.trace(self.HB))
        self.eve_null = problem.eve.residual + float(np.trace(self.HE))
        self.eve_full = problem.eve.residual

    def H(self, lam: float, basis: Array) -> Array:
        return basis.T @ (self.HB - lam * self.HE) @ basis

    def is_ceiling(self, floor: float) -> bool:
        return abs(floor - self.eve_null) <= 16 * float(np.finfo(float).eps) * self.eve_null

    def eve(self, T: Array) -> float:
        return self.eve_null - float((self.HE * T).sum())

    def bound(self, lam: float, floor: float | None, cap: float | None, given: QuadraticCertificate) -> float:
        """The certificate's lower bound; Q is raised until Q >= 0 and Q >= H hold despite rounding."""
        n, level, Q = given.price, given.level, given.Q
        H = self.H(lam + n, given.basis)
        ulp = 4 * float(np.finfo(float).eps)
        base = self.bob_null - (lam + n) * self.eve_null + n * (floor or 0.0) - 2 * level * (cap or 0.0)
        base -= ulp * (self.bob_null + (lam + n) * self.eve_null + 2 * level * (cap or 0.0))
        if not len(Q):
            return base
        spectrum = np.linalg.eigvalsh(Q)
        rounding = ulp * float(np.abs(np.linalg.eigvalsh(H)).sum() + spectrum.sum())
        spectrum += max(-spectrum[0], np.linalg.eigvalsh(H - Q)[-1], 0.0) + rounding
        if level > 0:
            return base - float((spectrum - level - level * np.log(spectrum / level)).sum())
        return base - float(spectrum.sum())


def quadratic(
    covariance: Any, bob: Any, eve: Any, lam: Any, *, min_eve_risk: Any = None, max_information: Any = None
) -> QuadraticSolution:
    """The best release of Gaussian data under squared losses: a linear statistic plus independent Gaussian noise.

    It is optimal over all mechanisms, not only over linear ones.

    Args:
        covariance: of X, which has mean zero.
        bob: what Bob estimates: a `Squared`, or just its target, rows of coefficients of X.
        eve: what Eve estimates, likewise.
        lam: a non-negative number, or "calibrated".
        min_eve_risk: R_E is at least this.
        max_information: I(X; signal) is at most this, in nats.

    Returns:
        The statistic, the noise covariance, the risks, and a certificate with its bound.

    Raises:
        InputError: the covariance is not symmetric positive semidefinite, a target or weight has the wrong shape, lam
            or max_information is negative, lam is undefined, or min_eve_risk is out of reach.

    >>> from bap_lp import quadratic
    >>> found = quadratic([[2, 1], [1, 2]], bob=[1, 1], eve=[1, -1], lam=1)
    >>> found.statistic.round(4).tolist(), round(found.value, 9), found.verify().ok
    ([[0.4082, 0.4082]], -2.0, True)
    """
    bob, eve = (a if isinstance(a, Squared) else Squared(a) for a in (bob, eve))
    problem = Quadratic(checked_covariance(covariance), bob, eve)
    white = _Whitened(problem)
    price = _lam(white, lam)
    floor = None if min_eve_risk is None else float(sized_number(min_eve_risk, "min_eve_risk", signed=True))
    cap = None if max_information is None else float(sized_number(max_information, "max_information"))
    if floor is not None and floor > white.eve_null and not white.is_ceiling(floor):
        reach = f"{white.eve_full:.6g} (full release) and {white.eve_null:.6g} (null release, the most private)"
        raise InputError("min_eve_risk", floor, f"is out of reach: R_E lies between {reach}")
    T, certificate = _optimise(white, price, floor, cap)
    statistic, noise = _release(white, T, cap)
    risks = linear_risks(problem.covariance, bob, eve, statistic, noise)
    H, scale = white.H(price + certificate.price, certificate.basis), max(float(np.trace(white.HB)), 1e-300)
    ties = int((np.abs(np.linalg.eigvalsh(H)) <= ZERO * scale).sum()) if len(H) else 0
    return QuadraticSolution(
        problem, price, floor, cap, statistic, noise, risks, float(risks.alice(price)),
        posterior_covariance(problem.covariance, statistic, noise), white.bound(price, floor, cap, certificate),
        ties, certificate,
    )  # fmt: skip


def _optimise(
    white: _Whitened, lam: float, floor: float | None, cap: float | None
) -> tuple[Array, QuadraticCertificate]:
    basis = np.eye(white.rank)
    if floor is not None and white.is_ceiling(floor):
        spectrum, vectors = np.linalg.eigh(white.HE)
        basis = vectors[:, spectrum <= ZERO * spectrum[-1]]
        return _best(white, lam, 0.0, cap, basis)
    T, certificate = _best(white, lam, 0.0, cap, basis)
    if floor is None or white.eve(T) >= floor:
        return T, certificate
    low, high = 0.0, max(lam, np.trace(white.HB) / np.trace(white.HE), 1e-300)
    while white.eve(_best(white, lam, high, cap, basis)[0]) < floor:
        low, high = high, 2 * high
    while high - low > 4 * float(np.finfo(float).eps) * (lam + high):
        middle = (low + high) / 2
        enough = white.eve(_best(white, lam, middle, cap, basis)[0]) >= floor
        low, high = (low, middle) if enough else (middle, high)
    (below, _), (above, certificate) = (_best(white, lam, n, cap, basis) for n in (low, high))
    share = (white.eve(above) - floor) / (white.eve(above) - white.eve(below))
    return (1 - share) * above + share * below, certificate


def _best(
    white: _Whitened, lam: float, n: float, cap: float | None, basis: Array
) -> tuple[Array, QuadraticCertificate]:
    """The T that maximises tr(H_{lam+n} T) within the leakage cap, and the Q that proves it."""
    d, vectors = np.linalg.eigh(white.H(lam + n, basis))
    positive = d > ZERO * float(np.trace(white.HB) + (lam + n) * np.trace(white.HE))
    tau, level = np.where(positive, 1.0, 0.0), 0.0
    if cap is not None and positive.any():
        level = _water_level(d[positive], cap)
        tau[positive] = np.maximum(1 - level / d[positive], 0.0)
    Q = (vectors * np.maximum(d, level)) @ vectors.T
    frame = basis @ vectors
    return (frame * tau) @ frame.T, QuadraticCertificate(n, level, Q, basis)


def _water_level(d: Array, cap: float) -> float:
    """The l with sum over d_k > l of log(d_k / l) = 2 cap: with m terms, log l is their mean log minus 2 cap / m."""
    logs = np.sort(np.log(d))[::-1]
    levels = (np.cumsum(logs) - 2 * cap) / np.arange(1, len(d) + 1)
    return float(np.exp(levels.max()))  # a further term raises the level exactly if it exceeds the level


def _release(white: _Whitened, T: Array, cap: float | None) -> tuple[Array, Array]:
    """v_k'Z + noise of variance (1 - tau_k) / tau_k, the largest coefficient of each row positive."""
    tau, vectors = np.linalg.eigh(T)
    used = tau > ZERO
    tau = tau[used][::-1]
    statistic = (vectors[:, used].T @ white.inverse)[::-1]
    for row in statistic:
        row *= np.sign(row[np.abs(row).argmax()])
    if cap is None:
        tau = np.where(tau > 1 - ZERO, 1.0, tau)
        return statistic, np.diag((1 - tau) / tau)
    noise = np.maximum(1 - tau, float(np.finfo(float).eps)) / tau
    for _ in range(50):  # where 1 - tau is small, the difference has lost digits that the leakage needs
        excess = float(np.log1p(1 / noise).sum()) / 2 - cap
        if excess <= 0:
            break
        noise *= np.exp(2 * excess)
    return statistic, np.diag(noise)


def _lam(white: _Whitened, lam: Any) -> float:
    if isinstance(lam, str) and lam.strip().lower() == "calibrated":
        if np.trace(white.HE) <= 0:
            raise InputError("lam", "calibrated", "is undefined: Eve does no better with the data than without")
        return float(np.trace(white.HB) / np.trace(white.HE))
    return float(sized_number(lam, "lam"))
