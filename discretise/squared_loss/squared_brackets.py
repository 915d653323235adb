"""The best R_A over all mechanisms when Bob estimates theta and Eve the maximum, squared losses, any real decisions.

Notation of module grids: k xbar = E[theta|x], M = xbar + D centred, r = Var(theta|x).

Lower bound. For any reply function m(a) of Eve to Bob's estimate a, weak duality says
    R_A >= r + E min_a [ (k xbar - a)^2 - lam (M - m(a))^2 ] = r + k^2 w - lam E M^2 + E C(xbar, M).
The bound is concave in m. A linear m gives the closed form; a piecewise linear m gives more, because D is not normal.
C is a minimum of affine functions of (xbar, M), hence concave. On a rectangle of (xbar, D) the law is a product and C
is concave in each variable. So E C is at least the mean of C over the corners, with the weights that keep the means of
xbar and of D. No quadrature is needed.

Upper bound. The minimum over a is stationary along a straight line of the (xbar, D) plane,
    (k - lam m') xbar - lam m' D = a - lam m m',   m = m(a),
so the mechanism releases the strip between consecutive lines in which the data lie. D is rounded to its cell, so that
the masses and means of the strips are exact.

Why the closed form is not attained. With Z_1, Z_2 the eigenvectors of the whitened problem, equality needs
E[Z_2|s] = 0 and Z_1 a function of s, hence E[Z_2|Z_1] = 0 with Z_1 = alpha X' - beta D', Z_2 = beta X' + alpha D',
alpha beta != 0, where X', D' are xbar and D standardised. So 0 = E[Z_2 exp(i t Z_1)], that is
beta f'(alpha t) + alpha g'(-beta t) = 0 with f, g the log characteristic functions of X' and D'. As f'(t) = -t, also
g'(t) = -t wherever the characteristic function has no zero, hence everywhere: D would be normal, but D > 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from bap_lp import InputError, Risks
from bap_lp.support.rational import number
from discretise.squared_loss.squared_grids import Cells, mean_cells, residual_cells, squared_form
from gaussian import GaussianModel
from gaussian.real_arrays import Array

_RESIDUAL_CELLS = 1500  # cells of D in the strips; at n = 5 they raise the upper bound by about 1e-6
_ROUNDING = 1e-11
_BLOCK = 1 << 21  # thresholds compared at a time


@dataclass(frozen=True)
class SquaredBracket:
    """lower <= R_A of every mechanism; releasing the strip attains upper.

    Attributes:
        lam: the price of privacy.
        lower: no mechanism has a smaller R_A.
        upper: R_A of releasing the strip.
        risks: R_B and R_E of that.
        relaxation: the closed form for a normal D.
        mean: R_A of releasing xbar.
        null: R_A of releasing nothing.
        knots: where Eve's m(a), the proof of lower, is given.
        replies: m(a) there.
        strips: the number of strips.
        release: gives the strip, from 0 to strips - 1, of each row of data.

    >>> from discretise import max_bracket
    >>> from gaussian import GaussianModel
    >>> found = max_bracket(GaussianModel(n=5, prior_sd=1.0), cells=200, knots=21, strips=200)
    >>> found.relaxation < found.lower <= found.upper < found.mean < found.null
    True
    """

    lam: float
    lower: float
    upper: float
    risks: Risks
    relaxation: float
    mean: float
    null: float
    knots: Array
    replies: Array
    strips: int
    release: Callable[[ArrayLike], NDArray[np.intp]]

    def __repr__(self) -> str:
        return f"<SquaredBracket: {self.lower:.6f} <= R_A <= {self.upper:.6f} at lam = {self.lam:.6g}>"


def max_bracket(
    model: GaussianModel, lam: float | str = "calibrated", *, cells: int = 600, strips: int = 1500, knots: int = 41
) -> SquaredBracket:
    """Bracket the least R_A over all mechanisms against an Eve who estimates the maximum, both losses squared.

    Args:
        model: the Gaussian model, n >= 2.
        lam: a positive number, or "calibrated".
        cells: number of cells of xbar in the lower bound; D has half as many. The slack falls like cells^-2.
        strips: number of signals of the mechanism that attains the upper bound.
        knots: knots of Eve's reply m(a), which proves the lower bound.

    Returns:
        The bounds, the mechanism, and the R_A of simple releases for comparison.

    Raises:
        InputError: n = 1, lam is not positive, or a count is below (20, 2, 3).

    >>> from gaussian import GaussianModel
    >>> found = max_bracket(GaussianModel(n=5), cells=100, strips=100)
    >>> f"{found.lower:.3f} <= R_A <= {found.upper:.3f}"
    '-0.178 <= R_A <= -0.176'
    """
    if model.n < 2:
        raise InputError("model.n", model.n, "must be at least 2: with one observation the maximum is the mean")
    if cells < 20 or strips < 2 or knots < 3:
        raise InputError("cells, strips, knots", (cells, strips, knots), "must be at least (20, 2, 3)")
    problem = squared_form(model, "max")
    w, d = np.diag(problem.covariance).tolist()
    v = model.prior_sd**2
    k = v / w
    price = k * k * w / (w + d) if lam == "calibrated" else float(number(lam, "lam"))
    if not 0 < price < math.inf:
        raise InputError("lam", lam, 'must be positive, or "calibrated"')
    H = np.array([[(k * k - price) * w, -price * math.sqrt(w * d)], [-price * math.sqrt(w * d), -price * d]])
    spectrum, vectors = np.linalg.eigh(H)
    null = v - price * (w + d)
    # the Gaussian optimum: E[xbar|s] and E[D|s] are multiples of one signal, so Eve's m(a) is slope * a
    x1, d1 = vectors[:, 1] * np.sqrt([w, d])
    spread, slope = float(k * abs(x1)), (x1 + d1) / (k * x1)
    a = np.linspace(-5 * spread, 5 * spread, knots)
    reply = _best_replies(model, k, price, 5 * spread, knots, float(slope))
    m = reply(a)
    relaxation = null - max(float(spectrum[1]), 0.0)
    lower = max(relaxation, null + _concave_mean(model, k, price, a, m, cells))
    thresholds = _lines(k, price, reply, 5 * spread, strips)
    fine = residual_cells(model.n, _RESIDUAL_CELLS)
    risks = _strip_risks(model, thresholds(fine.mean), fine, k, w, d)

    def release(x: ArrayLike) -> NDArray[np.intp]:
        x = np.atleast_2d(np.asarray(x, dtype=float))
        if x.shape[1] != model.n or not len(x) or not np.isfinite(x).all():
            raise InputError("x", None, f"has shape {x.shape}, must be rows of {model.n} finite numbers")
        mean = x.mean(axis=1)
        residual = x.max(axis=1) - mean + fine.edges[0]  # the first edge is D = 0, centred
        cell = np.clip(np.searchsorted(fine.edges, residual) - 1, 0, len(fine.mean) - 1)
        step = max(1, _BLOCK // strips)
        parts = (slice(start, start + step) for start in range(0, len(mean), step))
        return np.concatenate([(thresholds(fine.mean[cell[part]]) < mean[part]).sum(axis=0) for part in parts])

    return SquaredBracket(
        lam=price,
        lower=lower,
        upper=float(risks.alice(price)),
        risks=risks,
        relaxation=relaxation,
        mean=null - float(H[0, 0]),
        null=null,
        knots=a,
        replies=m,
        strips=strips,
        release=release,
    )


def _minimum(k: float, lam: float, knots: Array, m: Array, x: Array, M: Array) -> tuple[Array, Array]:
    """min_a of a^2 - 2 a k x + lam (2 M m(a) - m(a)^2), elementwise, and the minimiser.

    Outside the knots m continues linearly, with slopes below 1/sqrt(lam) so that the minimum is finite.
    """
    steps = np.diff(m) / np.diff(knots)
    first, last = np.clip(steps[[0, -1]], -0.99 / math.sqrt(lam), 0.99 / math.sqrt(lam))
    slopes, starts = np.concatenate([[first], steps, [last]]), np.append(0, np.arange(len(knots)))
    ends = np.concatenate([[-np.inf], knots, [np.inf]])
    best, at = np.full(x.shape, np.inf), np.zeros(x.shape)
    for s, i, low, high in zip(slopes.tolist(), starts.tolist(), ends[:-1].tolist(), ends[1:].tolist(), strict=True):
        c = float(m[i] - s * knots[i])
        curve = 1 - lam * s * s
        linear = k * x - lam * s * (M - c)  # the objective is curve a^2 - 2 linear a + lam (2 M c - c^2)
        a = _vertex(curve, linear, low, high)
        value = (curve * a - 2 * linear) * a + lam * c * (2 * M - c)
        np.copyto(at, a, where=value < best)
        np.minimum(best, value, out=best)
    return best, at


def _vertex(curve: float, linear: Array, low: float, high: float) -> Array:
    """The minimiser of curve a^2 - 2 linear a on [low, high]; where it is concave, one of the ends."""
    if curve > 0:
        return np.clip(linear / curve, low, high)
    return np.where(curve * (low + high) > 2 * linear, low, high)


@lru_cache(maxsize=64)
def _best_replies(model: GaussianModel, k: float, lam: float, reach: float, count: int, slope: float) -> Polynomial:
    """The polynomial m of degree 6 that maximises the (concave) bound on a coarse grid of cells, from m = slope a."""
    from scipy.optimize import minimize

    x, d = mean_cells(model, 120), residual_cells(model.n, 60)
    mass = np.outer(x.mass, d.mass).ravel()
    xbar = np.repeat(x.mean, len(d.mean))
    M = xbar + np.tile(d.mean, len(x.mean))
    knots = np.linspace(-reach, reach, count)
    basis = np.polynomial.polynomial.polyvander(knots / reach, 6)

    def objective(c: Array) -> tuple[float, Array]:
        m = basis @ c
        best, a = _minimum(k, lam, knots, m, xbar, M)
        i = np.clip(np.searchsorted(knots, a) - 1, 0, len(knots) - 2)
        t = (a - knots[i]) / (knots[i + 1] - knots[i])
        force = 2 * lam * mass * (M - (1 - t) * m[i] - t * m[i + 1])
        slopes = np.bincount(i, force * (1 - t), len(knots)) + np.bincount(i + 1, force * t, len(knots))
        return -float(mass @ best), -basis.T @ slopes

    start = np.array([0.0, slope * reach, 0, 0, 0, 0, 0])
    found = minimize(objective, start, jac=True, method="BFGS", options={"maxiter": 200, "gtol": 1e-8})
    return Polynomial(found.x, domain=[-reach, reach], window=[-1, 1])


def _concave_mean(model: GaussianModel, k: float, lam: float, knots: Array, m: Array, cells: int) -> float:
    """A lower bound on E C: on each rectangle, the mean over the corners with the weights that keep the means."""
    x, d = mean_cells(model, cells), residual_cells(model.n, cells // 2)

    def corners(c: Cells) -> Array:
        share = c.mass * (c.mean - c.edges[:-1]) / np.diff(c.edges)
        return np.append(c.mass - share, 0.0) + np.append(0.0, share)

    X, D = np.meshgrid(x.edges, d.edges, indexing="ij")
    best, _ = _minimum(k, lam, knots, m, X, X + D)
    # |C| grows like a quadratic form, so what lies beyond the outermost edges (mass < 1e-32) is far below rounding
    return float(corners(x) @ best @ corners(d)) - _ROUNDING * float(np.abs(best[1:-1, 1:-1]).max())


def _lines(k: float, lam: float, m: Polynomial, reach: float, strips: int) -> Callable[[Array], Array]:
    """Thresholds t_i(D) in xbar, a row per line, increasing in i: after two lines cross, the earlier one is kept."""
    a = np.linspace(-reach, reach, strips - 1)
    slope = np.minimum(m.deriv()(a), 0.999 * k / lam)
    across, offset = k - lam * slope, a - lam * m(a) * slope

    def thresholds(residual: Array) -> Array:
        t = (offset[:, None] + lam * slope[:, None] * np.asarray(residual)[None, :]) / across[:, None]
        return np.maximum.accumulate(t, axis=0)

    return thresholds


def _strip_risks(model: GaussianModel, thresholds: Array, cells: Cells, k: float, w: float, d: float) -> Risks:
    """R_B and R_E of releasing the strip: S from the exact masses and first moments of (xbar, D) on each strip."""
    z = thresholds / model.xbar_sd
    end = np.ones((1, z.shape[1]))
    mass = np.diff(ndtr(z), axis=0, prepend=0 * end, append=end) * cells.mass
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    first = -model.xbar_sd * np.diff(density, axis=0, prepend=0 * end, append=0 * end) * cells.mass
    p, x, D = mass.sum(axis=1), first.sum(axis=1), mass @ cells.mean
    live = p > 1e-15
    p, x, M = p[live], x[live], (x + D)[live]
    bob = model.posterior_sd**2 + k * k * (w - float((x**2 / p).sum()))
    return Risks(float(bob), float(w + d - (M**2 / p).sum()), _ROUNDING, _ROUNDING)
