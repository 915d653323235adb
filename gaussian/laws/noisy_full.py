"""Eve on the maximum under Y = X + sigma N(0, I): her risk given the residuals of Y, averaged over the residuals.

Split Y into ybar and residuals w = Y - ybar, independent of each other; w is sqrt(1 + sigma^2) times the residuals of n
independent N(0, 1) values. With s^2 = sigma^2/(1 + sigma^2) and W = w/(1 + sigma^2),
    X_i | theta, Y  ~  N(u + W_i, s^2) independent,     u = (ybar + sigma^2 theta)/(1 + sigma^2),
    P(max <= c | u, w) = H(u) = prod_i Phi((c - u - W_i)/s),          u | ybar ~ N(alpha ybar, b^2),
so Eve's posterior p(ybar) = E[1 - H(u) | ybar] is increasing in ybar and crosses 1/2 once, at y*(w): her risk given w
is one integral with one kink. With both tests the four cells follow from
    xbar | ybar normal,     P(max <= c | xbar = x, w) = G(c - x),
where G is the law of max_i (W_i + s (Z_i - Zbar)) (module shifted).
Both risks are smooth in w. They are averaged by rules for expectations over the ordered residuals of n independent
N(0, 1) values. The recursion of module residual gives their density: with d_n the largest residual and d_{m-1} the
largest among the remaining m - 1 about their own mean,
    prod_{m=n}^{2}  m sqrt(m/(m-1)) phi(d_m sqrt(m/(m-1)))     on  0 <= d_{m-1} <= d_m m/(m-1).
For n <= 5 the rule is a product of Gauss-Legendre rules in (d_n, ..., d_2), finer in the first coordinates; a coarser
product measures its error. For n > 5 it is scrambled Sobol points, mapped by the conditional quantiles; the spread of
independent scramblings measures its error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import log_ndtr, ndtr, ndtri, stdtrit

from bap_lp.support.clock import check
from gaussian.eves import betting_weights
from gaussian.laws.mean import mean_eve_law, normal_density
from gaussian.laws.residual import ordered_residuals
from gaussian.laws.shifted import REACH as SHIFTED_REACH
from gaussian.laws.shifted import shifted_max_cdf, shifted_max_range
from gaussian.model import BothEves, GaussianModel, MaxEve
from gaussian.numerics.piecewise import composite_nodes, gauss_nodes
from gaussian.real_arrays import Array

_SEED = 20240229
_TAIL = 1e-9
_LIGHT = 1e-9
# Nodes per coordinate (of the first coordinate: per panel), for the fine and the coarse rule.
PRODUCT_COUNTS: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {
    2: ((32,), (24,)),
    3: ((18, 16), (14, 12)),
    4: ((12, 12, 8), (10, 9, 6)),
    5: ((10, 9, 6, 4), (8, 7, 5, 4)),
}


def product_rule(n: int, counts: tuple[int, ...], cuts: list[float]) -> tuple[Array, Array]:
    """Residuals (points, n), largest first, and their weights; the range of the first is cut at the given points."""
    residuals: list[Array] = []
    centre, cap, weight = np.zeros(1), np.full(1, math.inf), np.ones(1)
    for m, count in zip(range(n, 1, -1), counts, strict=True):
        root = math.sqrt(m / (m - 1))
        reach = float(-ndtri(_TAIL / m)) / root
        edges = np.stack([np.zeros_like(cap), np.minimum(cap, reach)], axis=1)
        if m == n:
            edges = np.unique(np.clip([0.0, *cuts, reach], 0.0, reach))[None]
        d, w = gauss_nodes(edges[:, :-1], edges[:, 1:], count)
        d, w = d.reshape(len(cap), -1), w.reshape(len(cap), -1)
        density = m * root * np.exp(-0.5 * (d * root) ** 2) / math.sqrt(2 * math.pi)
        residuals = [np.repeat(r, d.shape[1]) for r in residuals] + [(centre[:, None] + d).ravel()]
        weight = (weight[:, None] * w * density).ravel()
        centre, cap = (centre[:, None] - d / (m - 1)).ravel(), (d * m / (m - 1)).ravel()
    heavy = weight > _LIGHT
    # with weights of sum 1 a constant is integrated exactly
    return np.stack([*residuals, centre], axis=1)[heavy], weight[heavy] / weight[heavy].sum()


@lru_cache(maxsize=16)
def sobol_residuals(n: int, log2_points: int, replicates: int) -> Array:
    """Equally weighted residuals, largest first, shape (replicates, points, n)."""
    from scipy.stats import qmc

    blocks = []
    for replicate in range(replicates):
        points = qmc.Sobol(n - 1, rng=np.random.default_rng([_SEED, replicate])).random_base2(log2_points)
        blocks.append(ordered_residuals(points))
    return np.stack(blocks)


@dataclass(frozen=True)
class Effort:
    """How the average over the residuals and the law G are computed.

    product: use the product rule if there is one for n, else `replicates` scramblings of 2^log2_points Sobol points, or
        of fewer for n > 20 (see `sobol_points`).
    cdf_nodes: nodes at which G is computed; path_points: points on the path of its integral.
    """

    product: bool = True
    log2_points: int = 10
    replicates: int = 8
    cdf_nodes: int = 44
    path_points: int = 20

    def sobol_points(self, n: int) -> int:
        """log2 of the points per scrambling: from n = 20 on fewer, so that the work does not grow with n.

        The risk given the residuals varies less as n grows. For both tests and sigma = 1.8, FINAL had the error 6e-7 at
        n = 20; from 2^10 to 2^8 points its error rose from 3.6e-8 to 5.8e-8 at n = 50, and to 2^7 points from 3.3e-8 to
        4.1e-8 at n = 100.
        """
        return min(self.log2_points, max(5, (20 * 2**10 // n).bit_length() - 1))


FINAL = Effort()
SEARCH = Effort(product=False, log2_points=7, replicates=1, cdf_nodes=28, path_points=14)
CURVE = Effort(product=False, log2_points=8, replicates=4, cdf_nodes=36, path_points=14)
# The level of the interval that is stated as the error of a sampled risk.
LEVEL = 0.999
_FLOOR = 3e-8
_REACH = 8.0
_HERMITE_NODES = 12
_FALL_NODES = 64
_SIDE_NODES = 32
_Y_NODES = 192
_ROWS = 256


def noisy_full_risk(model: GaussianModel, eve: MaxEve | BothEves, sigma: float, effort: Effort) -> tuple[float, float]:
    """Eve's risk under the noisy full release, n >= 2 and sigma > 0, and its error.

    The error is the difference of two product rules, an estimate that was never exceeded in the tests, or the
    half-width of Student's 99.9% interval for the mean of independent scramblings of Sobol points. It is nan if there
    is only one scrambling, as in a search.
    """
    null = float(mean_eve_law(model, eve).mass.min())  # no release leaves her more than no release does
    if effort.product and model.n in PRODUCT_COUNTS:
        fine, coarse = (_product_risk(model, eve, sigma, counts, effort) for counts in PRODUCT_COUNTS[model.n])
        return min(max(fine, 0.0), null), abs(fine - coarse) + _FLOOR
    residuals = sobol_residuals(model.n, effort.sobol_points(model.n), effort.replicates)
    weight = np.full(residuals.shape[:2], 1 / residuals.shape[1])
    means = _average(model, eve, sigma, residuals, weight, effort)
    if effort.replicates == 1:
        return min(max(float(means[0]), 0.0), null), math.nan
    quantile = float(stdtrit(effort.replicates - 1, 1 - (1 - LEVEL) / 2))
    spread = quantile * float(means.std(ddof=1)) / math.sqrt(effort.replicates)
    return min(max(float(means.mean()), 0.0), null), spread + _FLOOR


def _product_risk(
    model: GaussianModel, eve: MaxEve | BothEves, sigma: float, counts: tuple[int, ...], effort: Effort
) -> float:
    cuts = [2.0]
    if isinstance(eve, BothEves):
        # Which of the cells 01 and 10 is smaller changes at c - c_1 = max W, within a few standard deviations sigma.
        centre = (eve.max_threshold - eve.mean_threshold) * math.sqrt(1 + sigma**2)
        near = [centre - 4 * sigma, centre, centre + 4 * sigma]
        cuts = near if any(0.8 < cut < 4 for cut in near) else [2.0]
    residuals, weight = product_rule(model.n, counts, cuts)
    return float(_average(model, eve, sigma, residuals[None], weight[None], effort)[0])


def _average(
    model: GaussianModel, eve: MaxEve | BothEves, sigma: float, residuals: Array, weight: Array, effort: Effort
) -> Array:
    """Weighted mean of the risk given the residuals, one per replicate."""

    def given(block: Array) -> tuple[Array, Array]:
        if isinstance(eve, BothEves):
            return _both_risk(model, eve, sigma, block, effort)
        return _max_risk(model, eve, sigma, block)

    scaled = residuals.reshape(-1, model.n) / math.sqrt(1 + sigma**2)
    # scipy's special functions release the interpreter lock, so that two threads use two cores; map keeps the order.
    blocks = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        try:
            for block in pool.map(given, np.array_split(scaled, max(1, len(scaled) // _ROWS))):
                check()
                blocks.append(block)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    risk = np.concatenate([block[0] for block in blocks]).reshape(weight.shape)
    controls = np.concatenate([block[1] for block in blocks], axis=1).reshape(-1, *weight.shape)
    # The average of P(cell | w) is P(cell), which is known: P(cell | w) is a control variate.
    mass = mean_eve_law(model, eve).mass / betting_weights(eve)
    known = mass[[1, 2]] if isinstance(eve, BothEves) else mass[[1]]
    excess = controls - known[:, None, None]
    raw = np.sum(risk * weight, axis=1)
    root = np.sqrt(weight).ravel()
    centred = (risk.ravel() - raw.mean()) * root
    slope = np.linalg.lstsq((excess.reshape(len(known), -1) * root).T, centred, rcond=None)[0]
    return raw - slope @ np.sum(excess * weight, axis=2)


def _max_risk(model: GaussianModel, eve: MaxEve, sigma: float, w: Array) -> tuple[Array, Array]:
    """The risk given each row of W, and P(max > c) given it, which is the only control variate."""
    noise = 1 + sigma**2
    s = sigma / math.sqrt(noise)
    theta_var = 1 / (model.prior_sd**-2 + model.n / noise)
    alpha = (1 + sigma**2 * theta_var * model.n / noise) / noise
    b = s**2 * math.sqrt(theta_var)
    y_sd = math.hypot(model.prior_sd, math.sqrt(noise / model.n))
    top = eve.threshold - w.max(axis=1)

    def conditional(u: Array) -> Array:
        """H(u), u of shape (rows, points)."""
        value = np.ones_like(u)
        for i in range(model.n):
            value *= ndtr((eve.threshold - w[:, i, None] - u) / s)
        return value

    if b <= s / 4:
        # H varies on a scale above b: Gauss-Hermite in u | ybar converges geometrically.
        z, z_weight = np.polynomial.hermite_e.hermegauss(_HERMITE_NODES)
        z_weight = z_weight / z_weight.sum()

        def below(y: Array) -> Array:
            u = alpha * y[..., None] + b * z
            return conditional(u.reshape(len(y), -1)).reshape(u.shape) @ z_weight
    else:
        # H is 1 below c - max W - 8 s, and falls to 0 within 16 s, the sooner the larger n is: nodes cover the fall.
        start = top - _REACH * s
        nodes, weight = gauss_nodes(start, _end_of_fall(eve.threshold - w, s), _FALL_NODES)
        mass = conditional(nodes) * weight / (b * math.sqrt(2 * math.pi))

        def below(y: Array) -> Array:
            distance = (nodes[:, None, :] - alpha * y[..., None]) / b
            inside = np.sum(mass[:, None, :] * np.exp(-0.5 * distance**2), axis=2)
            return ndtr((start[:, None] - alpha * y) / b) + inside

    width, reach = math.hypot(s, b) / alpha, _REACH * y_sd
    miss, alarm = eve.loss
    kink = _crossing(below, top / alpha, width, model.n, miss / (miss + alarm))
    parts = []
    for sign in (-1.0, 1.0):
        # Eight widths beyond the kink the smaller posterior is negligible.
        ends = np.clip(np.stack([kink, kink + sign * _REACH * width]), -reach, reach)
        y, weight = gauss_nodes(ends.min(0), ends.max(0), _SIDE_NODES)
        smaller = below(y) if sign > 0 else 1 - below(y)
        parts.append(np.sum(weight * smaller * normal_density(y, y_sd), axis=1))
    return miss * parts[0] + alarm * parts[1], (parts[0] + ndtr(-kink / y_sd) - parts[1])[None]


def _end_of_fall(room: Array, s: float) -> Array:
    """For each row of room = c - W, a u at which H(u) = prod_i Phi((room_i - u)/s) is below 1e-15."""
    low, high = room.min(axis=1) - _REACH * s, room.min(axis=1) + _REACH * s
    for _ in range(7):
        middle = (low + high) / 2
        ended = log_ndtr((room - middle[:, None]) / s).sum(axis=1) < -35
        low, high = np.where(ended, low, middle), np.where(ended, middle, high)
    return high


def _crossing(below: Callable[[Array], Array], top: Array, width: float, n: int, level: float) -> Array:
    """The ybar at which Eve is undecided, P(max <= c | ybar) = level, by regula falsi between two bounds.

    H(u) <= Phi((c - max W - u)/s) and 1 - H(u) <= n (1 - Phi(...)), so below = level lies between the two points at
    which these bounds are the level. The risk is stationary in the kink: an error e of the kink costs O(e^2).
    """
    low, high = top + width * float(ndtri((1 - level) / n)), top - width * float(ndtri(level))
    f_low, f_high = below(low[:, None])[:, 0] - level, below(high[:, None])[:, 0] - level
    point = (low + high) / 2
    for _ in range(6):
        gap = f_low - f_high
        point = np.where(gap > 0, low + (high - low) * f_low / np.where(gap > 0, gap, 1.0), (low + high) / 2)
        value = below(point[:, None])[:, 0] - level
        left = value > 0
        # The value at the end that does not move is halved (Illinois), which restores superlinear convergence.
        f_low, f_high = np.where(left, value, f_low / 2), np.where(left, f_high / 2, value)
        low, high = np.where(left, point, low), np.where(left, high, point)
    return point


def _both_risk(model: GaussianModel, eve: BothEves, sigma: float, w: Array, effort: Effort) -> tuple[Array, Array]:
    """The risk given each row of W, and the probabilities of the cells 01 and 10 given it, the control variates."""
    s = sigma / math.sqrt(1 + sigma**2)
    noise_sd = sigma / math.sqrt(model.n)
    y_sd = math.hypot(model.xbar_sd, noise_sd)
    a, b = (model.xbar_sd / y_sd) ** 2, model.xbar_sd * noise_sd / y_sd
    # The least cell is at most min P(xbar > c_1 | ybar), P(xbar <= c_1 | ybar): beyond 7 b of c_1 it is negligible.
    ends = np.clip(eve.mean_threshold / a + np.array([-7.0, 7.0]) * b / a, -_REACH * y_sd, _REACH * y_sd)
    y = np.linspace(ends[0], ends[1], _Y_NODES)
    # The last column is xbar ~ N(0, xbar_sd^2), without ybar: the control variates.
    centre, sd = np.append(a * y, 0.0), np.append(np.full_like(y, b), model.xbar_sd)
    everything = _four_cells(model, eve, s, centre, sd, w, effort)
    weights = betting_weights(eve)[:, None, None]
    cells, controls = weights * everything[..., :-1] * normal_density(y, y_sd), everything[1:3, :, -1]
    step = y[1] - y[0]
    which = cells.argmin(axis=0)
    least = np.take_along_axis(cells, which[None], 0)[0]
    # Where the least cell changes between neighbours the slope drops by |f'| at a share k of the step. The trapezoid
    # rule, exact on smooth decaying functions, then errs by h^2 |f'| (1/6 - k(1-k))/2 (Euler-Maclaurin at a kink).
    at_left = np.take_along_axis(cells[..., :-1], which[None, :, 1:], 0)[0] - least[:, :-1]
    at_right = np.take_along_axis(cells[..., 1:], which[None, :, :-1], 0)[0] - least[:, 1:]
    both = at_left + at_right
    cut = np.where(both > 0, at_left * at_right / np.where(both > 0, both, 1.0) - both / 6, 0.0)
    return step * (least.sum(1) - (least[:, 0] + least[:, -1]) / 2 + cut.sum(1) / 2), controls


def _four_cells(
    model: GaussianModel, eve: BothEves, s: float, centre: Array, b: Array, w: Array, effort: Effort
) -> Array:
    """P(cell | ybar, W) for xbar | ybar ~ N(centre, b^2): shape (4, rows, len(centre)), cells 00, 01, 10, 11."""
    c, top = eve.mean_threshold, eve.max_threshold
    low_d, high_d = shifted_max_range(w, s)
    nodes = effort.cdf_nodes
    points = chebyshev.chebpts1(nodes)
    to_coef = np.linalg.inv(chebyshev.chebvander(points, nodes - 1))
    half = (high_d - low_d)[:, None] / 2
    values = shifted_max_cdf(low_d[:, None] + half * (points + 1), w, s, effort.path_points)
    coef = values @ to_coef.T
    # With x = c - d, the maximum is below c with probability 1 for x < first and 0 for x > last.
    first, last = top - high_d, top - low_d
    reach = _REACH * model.xbar_sd
    panels = int(np.clip(math.ceil(2 * SHIFTED_REACH * s / (8 * b.min())), 1, 24))

    def tail(x: Array) -> Array:
        return ndtr((x[:, None] - centre) / b)

    def part(low: Array, high: Array) -> tuple[Array, ...]:
        """Integrals of G(c - x) N(x) and (1 - G(c - x)) N(x) over low < x < high."""
        x, weight = composite_nodes(np.clip(low, -reach, reach), np.clip(high, -reach, reach), panels, 12)
        t = np.clip((top - x - low_d[:, None]) / half - 1, -1, 1)
        g = np.einsum("rxk,rk->rx", chebyshev.chebvander(t, nodes - 1), coef)
        kernel = np.exp(-0.5 * ((x[:, :, None] - centre) / b) ** 2)
        scale = b * math.sqrt(2 * math.pi)
        shares = np.stack([g * weight, (1 - g) * weight], axis=1)
        return tuple(np.moveaxis(shares @ kernel / scale, 1, 0))

    cut = np.full_like(first, c)
    below_g, below_not = part(first, np.minimum(cut, last))
    above_g, above_not = part(np.maximum(cut, first), last)
    return np.stack(
        [
            tail(np.minimum(cut, first)) + below_g,
            np.maximum(tail(cut) - tail(np.minimum(cut, last)), 0.0) + below_not,
            np.maximum(tail(np.maximum(cut, first)) - tail(cut), 0.0) + above_g,
            1 - tail(np.maximum(cut, last)) + above_not,
        ]
    )
