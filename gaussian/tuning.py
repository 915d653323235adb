"""The best parameter of a family of releases, sigma* or tau*, and the kind of the optimum.

One-bit. With masses m_k^-(t), m_k^+(t) of cell k on the two sides of the threshold t in xbar,
    R_A(t) = min_i b_i^- + min_i b_i^+ - lam (min_k m_k^- + min_k m_k^+),
and several Eves who reply separately have a weighted term each.
Its kinks are the t at which two masses of a side are equal: there Bob or Eve changes a decision, and plateaus end.
Between kinks its stationary points are the zeros of a combination of the sub-densities. Kinks and stationary points are
roots of piecewise polynomials, so the list is complete and the minimum is global.

Noisy releases. R_A is smooth in sigma; sigma = s u/(1 - u) maps [0, 1] to [0, inf]; at the ends are the exact statistic
and the null release. Every local minimum of a scan is refined by Brent's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise

import numpy as np

from bap_lp.support.risks import Risks
from gaussian import _checks
from gaussian.evaluate import calibrate, risks
from gaussian.eves import separate
from gaussian.laws.mean import REACH, mean_bob_law, mean_eve_law
from gaussian.laws.noisy_full import FINAL, SEARCH
from gaussian.model import Eve, GaussianModel, MeanEve, standard_form
from gaussian.numerics.masses import bit_risk
from gaussian.numerics.piecewise import Piecewise, fit
from gaussian.real_arrays import Array
from gaussian.releases import NAMES, NoisyFull, NoisyMean, NoisyMedian, Null, OneBit, ReleaseFamily

_SCAN = 14
_TIE = 1e-12


@dataclass(frozen=True)
class TunedRelease:
    """The best member of a family.

    Attributes:
        family: the family of releases.
        parameter: the best parameter; sigma = inf is the null release.
        risks: R_B and R_E there.
        lam: the price of privacy.
        kind: "interior", "end point" or "plateau edge".
        threshold: for the one-bit release, the t of 1{xbar > t}. It was found, and tau = P(theta > c_B | xbar = t) is
            computed from it: tau alone does not tell the bit where it rounds to 0 or 1.

    >>> from gaussian import GaussianModel, MeanEve, OneBit, optimise
    >>> best = optimise(GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0), MeanEve(0.5), OneBit)
    >>> best.kind, round(best.alice, 6)
    ('plateau edge', -0.18542)
    """

    family: ReleaseFamily
    parameter: float
    risks: Risks
    lam: float
    kind: str
    threshold: float | None = None

    @property
    def alice(self) -> float:
        """R_A at the optimum."""
        return float(self.risks.alice(self.lam))


def optimise(
    model: GaussianModel,
    eve: Eve,
    family: ReleaseFamily,
    lam: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> TunedRelease:
    """Minimise R_A over a family of releases.

    Args:
        model: the Gaussian model.
        eve: what Eve tests.
        family: NoisyFull, NoisyMean, NoisyMedian or OneBit.
        lam: the weight of Eve's risk; the calibrated one if None.
        progress: called in words before each risk of a noisy release is computed.

    Returns:
        The best parameter with its risks, and the kind of the optimum.

    Raises:
        ValueError: family is none of the four, lam is negative, or lam is None and Eve's risk is 0 under every release.

    >>> from gaussian import GaussianModel, MeanEve, OneBit
    >>> best = optimise(GaussianModel(n=5), MeanEve(0.5), OneBit)
    >>> best.kind, round(best.parameter, 6), round(best.alice, 6)
    ('plateau edge', 0.197661, -0.18542)
    """
    if family not in (NoisyFull, NoisyMean, NoisyMedian, OneBit):
        raise ValueError(f"family = {family!r} must be one of NoisyFull, NoisyMean, NoisyMedian, OneBit")
    weight = calibrate(model, eve) if lam is None else _checks.non_negative("lam", lam)
    if family is OneBit:
        return _best_bit(model, eve, weight)
    return _best_noise(model, eve, family, weight, progress or (lambda words: None))


def _best_noise(
    model: GaussianModel, eve: Eve, family: ReleaseFamily, lam: float, progress: Callable[[str], None]
) -> TunedRelease:
    scale = model.xbar_sd * (math.sqrt(model.n) if family is NoisyFull else 1.0)
    sampled = family is NoisyFull and not isinstance(eve, MeanEve) and model.n > 1

    def value(u: float) -> float:
        sigma = scale * u / (1 - u)
        progress(f"{NAMES[family]}, sigma {sigma:.3g}")
        found = risks(model, eve, family(sigma), effort=SEARCH)
        return float(found.alice(lam))

    grid = np.linspace(0.0, 1.0, _SCAN + 1)[:-1]
    heights = [value(float(u)) for u in grid]
    null = risks(model, eve, Null())
    heights.append(float(null.alice(lam)))
    # Risks from Sobol points are compared and refined to their sampling error, the others to rounding.
    slack, xatol = (1e-7, 1e-4) if sampled else (_TIE, 1e-7)
    lows = [index for index in range(1, _SCAN) if _is_low(heights, index)]
    candidates = [_refine(value, grid, heights, index, xatol) for index in lows]
    best_u, best = min(candidates, key=lambda pair: pair[1], default=(0.0, math.inf))
    if heights[0] <= best + slack and heights[0] <= heights[-1] + slack:
        return TunedRelease(family, 0.0, risks(model, eve, family(0.0)), lam, "end point")
    if heights[-1] <= best + slack:
        return TunedRelease(family, math.inf, null, lam, "end point")
    sigma = scale * best_u / (1 - best_u)
    progress(f"{NAMES[family]}, to more digits at sigma {sigma:.3g}")
    return TunedRelease(family, sigma, risks(model, eve, family(sigma), effort=FINAL), lam, "interior")


def _is_low(heights: list[float], index: int) -> bool:
    return heights[index] <= min(heights[index - 1], heights[index + 1])


def _refine(
    value: Callable[[float], float], grid: Array, heights: list[float], index: int, xatol: float
) -> tuple[float, float]:
    """Brent's method between the neighbours of a low point of the scan."""
    from scipy.optimize import minimize_scalar

    right = grid[index + 1] if index + 1 < len(grid) else 1 - 1e-9
    found = minimize_scalar(value, bounds=(grid[index - 1], right), method="bounded", options={"xatol": xatol})
    return (float(found.x), float(found.fun)) if found.fun <= heights[index] else (float(grid[index]), heights[index])


def _ties(law: Piecewise) -> Array:
    """Every t at which two cells have the same mass below t, or the same mass above t."""
    found = []
    for i, j in combinations(range(len(law.coef)), 2):
        pair = law.select([i, j])
        # The differences of the masses are antiderivatives of degree 12: they are fitted anew, to their rounding.
        spread = np.ptp(law.breaks) / (2 * REACH)
        gaps = fit(partial(_gaps, pair), law.breaks, 1e-15 * max(1.0, spread) * max(1.0, law.mass.max()))
        found += [gaps.roots([1.0, 0.0]), gaps.roots([0.0, 1.0])]
    return np.concatenate(found)


def _gaps(pair: Piecewise, t: Array) -> Array:
    sides = pair.sides(t)
    return sides[:, 0] - sides[:, 1]


def _slope(laws: Sequence[Piecewise], sides: Sequence[Array], t: Array) -> Array:
    return np.sum([side @ law(t) for side, law in zip(sides, laws, strict=True)], axis=0)[None]


def _best_bit(model: GaussianModel, eve: Eve, lam: float) -> TunedRelease:
    form = standard_form(model, eve)
    apart = [(-lam * weight, mean_eve_law(form.model, one)) for one, weight in separate(form.eve)]
    laws = [(1.0, mean_bob_law(form.model)), *apart]

    def value(t: Array) -> Array:
        return np.sum([weight * bit_risk(law, t)[0] for weight, law in laws], axis=0)

    kinks = np.unique(np.concatenate([_ties(law) for _, law in laws]))
    ends = np.array([max(law.breaks[0] for _, law in laws), min(law.breaks[-1] for _, law in laws)])
    kinks = kinks[(kinks > ends[0]) & (kinks < ends[1])]
    stationary = _stationary(laws, np.concatenate([ends[:1], kinks, ends[1:]]))
    points = np.concatenate([kinks, stationary])
    null = risks(model, eve, Null())
    floor = float(null.alice(lam))
    if not points.size or value(points).min() >= floor - _TIE:
        return TunedRelease(OneBit, 0.0, risks(model, eve, OneBit(0.0)), lam, "end point", -math.inf)
    heights = value(points)
    # A kink and a stationary point of the same height are one point: it counts as stationary.
    low = np.flatnonzero(heights <= heights.min() + _TIE)
    smooth = low[low >= kinks.size]
    chosen = points[smooth[0]] if smooth.size else points[low[0]]
    tau, t = float(form.model.bob_posterior(chosen)), float(form.back(chosen))
    kind = "interior" if smooth.size else "plateau edge"
    return TunedRelease(OneBit, tau, risks(model, eve, OneBit(tau, t)), lam, kind, t)


def _stationary(laws: Sequence[tuple[float, Piecewise]], edges: Array) -> Array:
    """Zeros of dR_A/dt in each interval between kinks, where the least masses of both sides keep their indices.

    laws: what every agent loses, with the weight of the agent's risk in R_A.
    """
    found = []
    breaks = np.concatenate([law.breaks for _, law in laws])
    # the slope has a rounding error of about 1e-16 times the weights: a smaller tolerance cannot be reached
    tolerance = 1e-15 * max(1.0, sum(abs(weight) * max(1.0, law.mass.max()) for weight, law in laws[1:]))
    tolerance *= max(1.0, laws[0][1].mass.max())
    for low, high in pairwise(edges):
        sides = []
        for weight, law in laws:
            below, above = law.sides((low + high) / 2)
            side = np.zeros(len(law.coef))
            # d/dt of the mass below t is the density, of the mass above t its negative.
            side[int(below.argmin())] += weight
            side[int(above.argmin())] -= weight
            sides.append(side)
        if any(side.any() for side in sides):
            slope = fit(partial(_slope, [law for _, law in laws], sides), breaks.clip(low, high), tolerance)
            found.append(slope.roots([1.0]))
    return np.concatenate(found) if found else np.empty(0)
