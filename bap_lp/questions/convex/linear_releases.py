"""Gaussian data, agents with squared losses, and the risks of any linear statistic with independent Gaussian noise.

X ~ N(0, Sigma). Release L X + N(0, N): the best estimates are linear, and with S = Cov(E[X|signal]) an agent who
estimates C X with weights W has the risk tr(C'WC (Sigma - S)), plus what remains when X is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bap_lp.support.arguments import real_numbers
from bap_lp.support.rational import Array, InputError
from bap_lp.support.risks import Risks

ZERO = 1e-12  # eigenvalues this small, relatively, are rounding: such a direction may be released or kept at no cost


@dataclass(frozen=True)
class Squared:
    """An agent who estimates target @ x (a row per quantity) with squared loss: weights per row, or a matrix.

    `residual` is the risk that remains when x is known, such as tr W Var(theta|x).
    """

    target: Any
    weight: Any = None
    residual: float = 0.0

    def matrix(self, dimension: int, field: str) -> Array:
        """M = C'WC."""
        C = np.atleast_2d(real_numbers(f"{field}.target", self.target))
        if C.ndim != 2 or C.shape[1] != dimension or not np.isfinite(C).all():
            raise InputError(f"{field}.target", None, f"has shape {C.shape}, must be finite with {dimension} columns")
        k = len(C)
        W = np.ones(k) if self.weight is None else real_numbers(f"{field}.weight", self.weight)
        W = np.diag(W) if W.ndim == 1 else W
        if (
            W.shape != (k, k)
            or not np.isfinite(W).all()
            or not np.allclose(W, W.T)
            or np.linalg.eigvalsh(W)[0] < -ZERO * abs(W).max()
        ):
            raise InputError(f"{field}.weight", None, f"must be {k} weights >= 0 or a positive semidefinite matrix")
        return C.T @ W @ C


class Quadratic(NamedTuple):
    """A Gaussian linear-quadratic problem: `quadratic(*problem, lam)` solves it."""

    covariance: Array
    bob: Squared
    eve: Squared


def posterior_covariance(covariance: Any, statistic: Array, noise: Array) -> Array:
    """S = Cov(E[X | statistic X + noise]) = Sigma L' (L Sigma L' + N)^-1 L Sigma."""
    sigma = checked_covariance(covariance)
    cross = np.asarray(statistic) @ sigma
    return cross.T @ np.linalg.pinv(cross @ np.asarray(statistic).T + noise, hermitian=True) @ cross


def linear_risks(covariance: Any, bob: Squared, eve: Squared, statistic: Array, noise: Array) -> Risks:
    """R_B and R_E of any linear statistic with independent Gaussian noise."""
    sigma = checked_covariance(covariance)
    left = sigma - posterior_covariance(sigma, statistic, noise)
    risks = [a.residual + float((a.matrix(len(sigma), f) * left).sum()) for a, f in ((bob, "bob"), (eve, "eve"))]
    return Risks(*risks)


def linear_information(covariance: Any, statistic: Array, noise: Array) -> float:
    """I(X; statistic X + noise) in nats; infinite if a direction is released without noise."""
    signal = np.asarray(statistic) @ checked_covariance(covariance) @ np.asarray(statistic).T
    if not len(signal):
        return 0.0
    spectrum, vectors = np.linalg.eigh(noise)
    clear = vectors[:, spectrum <= 0]
    if np.abs(clear.T @ signal @ clear).max(initial=0.0) > 0:
        return float("inf")
    frame = vectors[:, spectrum > 0] / np.sqrt(spectrum[spectrum > 0])
    return float(np.log1p(np.maximum(np.linalg.eigvalsh(frame.T @ signal @ frame), 0.0)).sum()) / 2


def checked_covariance(values: Any) -> Array:
    """A covariance as users write it."""
    sigma = np.atleast_2d(real_numbers("covariance", values))
    if sigma.ndim != 2 or sigma.shape[0] != sigma.shape[1] or not sigma.size or not np.isfinite(sigma).all():
        raise InputError("covariance", None, f"has shape {sigma.shape}, must be a finite square matrix")
    scale = float(np.abs(sigma).max())
    if scale == 0 or np.abs(sigma - sigma.T).max() > 1e-9 * scale or np.linalg.eigvalsh(sigma)[0] < -1e-9 * scale:
        raise InputError("covariance", None, "must be symmetric, positive semidefinite and not zero")
    return (sigma + sigma.T) / 2
