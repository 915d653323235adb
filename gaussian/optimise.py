"""The best parameter of a family of releases: sigma* or tau*, continuous, and what kind of optimum it is.

One-bit. With masses m_k^-(t), m_k^+(t) of cell k on the two sides of the threshold t in xbar,
    R_A(t) = min_i b_i^- + min_i b_i^+ - lam (min_k m_k^- + min_k m_k^+).
Its kinks are the t at which two masses of a side tie (there Bob or Eve changes a decision: the edges of plateaus), and between
kinks its stationary points are the zeros of a combination of the sub-densities. All of them are roots of piecewise
polynomials, so the list is complete and the minimum is global.

Noisy releases. R_A is smooth in sigma; sigma = s u/(1 - u) maps [0, 1] to [0, inf], whose ends are the exact statistic and the
null release. Every local minimum of a scan is refined by Brent's method.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from bap_lp.risks import Risks
from gaussian import _checks
from gaussian.evaluate import bit_risks, calibrate, risks
from gaussian.mean_law import mean_bob_law, mean_eve_law
from gaussian.model import Eve, GaussianModel, MeanEve
from gaussian.noisy_full import FINAL, SEARCH
from gaussian.piecewise import Piecewise, fit
from gaussian.releases import NAMES, Family, NoisyFull, NoisyMean, NoisyMedian, Null, OneBit

Array = NDArray[np.float64]

_SCAN = 14
_TIE = 1e-12


@dataclass(frozen=True)
class Optimum:
    """The best member of a family. kind is "interior", "end point" or "plateau edge"; sigma = inf means the null release."""

    family: Family
    parameter: float
    risks: Risks
    lam: float
    kind: str

    @property
    def alice(self) -> float:
        """R_A at the optimum."""
        return float(self.risks.alice(self.lam))


def optimise(model: GaussianModel, eve: Eve, family: Family, lam: float | None = None) -> Optimum:
    """Minimise R_A over a family; lam is calibrated unless given."""
    if family not in (NoisyFull, NoisyMean, NoisyMedian, OneBit):
        raise ValueError(f"family = {family!r} must be one of NoisyFull, NoisyMean, NoisyMedian, OneBit")
    weight = calibrate(model, eve) if lam is None else _checks.non_negative("lam", lam)
    if family is OneBit:
        return _best_bit(model, eve, weight)
    return _best_noise(model, eve, family, weight)


def _best_noise(model: GaussianModel, eve: Eve, family: Family, lam: float) -> Optimum:
    scale = model.xbar_sd * (math.sqrt(model.n) if family is NoisyFull else 1.0)
    sampled = family is NoisyFull and not isinstance(eve, MeanEve) and model.n > 1

    def value(u: float) -> float:
        found = risks(model, eve, family(scale * u / (1 - u)), effort=SEARCH)
        return float(found.alice(lam))

    grid = np.linspace(0.0, 1.0, _SCAN + 1)[:-1]
    heights = [value(float(u)) for u in grid]
    null = risks(model, eve, Null())
    heights.append(float(null.alice(lam)))
    candidates = [_refine(value, grid, heights, index) for index in range(1, _SCAN) if _is_low(heights, index)]
    # Sampled risks are compared with a tolerance of their own noise; exact ones with rounding alone.
    slack = 1e-7 if sampled else _TIE
    best_u, best = min(candidates, key=lambda pair: pair[1], default=(0.0, math.inf))
    if heights[0] <= best + slack and heights[0] <= heights[-1] + slack:
        return Optimum(family, 0.0, risks(model, eve, family(0.0)), lam, "end point")
    if heights[-1] <= best + slack:
        return Optimum(family, math.inf, null, lam, "end point")
    sigma = scale * best_u / (1 - best_u)
    return Optimum(family, sigma, risks(model, eve, family(sigma), effort=FINAL), lam, "interior")


def _is_low(heights: list[float], index: int) -> bool:
    return heights[index] <= min(heights[index - 1], heights[index + 1])


def _refine(value: Callable[[float], float], grid: Array, heights: list[float], index: int) -> tuple[float, float]:
    """Brent's method between the neighbours of a low point of the scan."""
    right = grid[index + 1] if index + 1 < len(grid) else 1 - 1e-9
    found = minimize_scalar(value, bounds=(grid[index - 1], right), method="bounded", options={"xatol": 1e-7})
    return (float(found.x), float(found.fun)) if found.fun <= heights[index] else (float(grid[index]), heights[index])


def _ties(law: Piecewise) -> Array:
    """Every t at which two cells have the same mass below t, or the same mass above t."""
    found = []
    for i, j in combinations(range(len(law.coef)), 2):
        pair = law.select([i, j])
        # The difference of the masses below t is an antiderivative: refit it as a piecewise polynomial of its own.
        for side in (0.0, float(pair.mass[0] - pair.mass[1])):
            gap = fit(lambda t, pair=pair, side=side: (pair.below(t)[:1] - pair.below(t)[1:] - side), law.breaks, 1e-15)
            found.append(gap.roots([1.0]))
    return np.concatenate(found)


def _best_bit(model: GaussianModel, eve: Eve, lam: float) -> Optimum:
    bob_law, eve_law = mean_bob_law(model), mean_eve_law(model, eve)

    def value(t: Array) -> Array:
        return bit_risks(bob_law, t)[0] - lam * bit_risks(eve_law, t)[0]

    kinks = np.unique(np.concatenate([_ties(bob_law), _ties(eve_law)]))
    ends = (max(bob_law.breaks[0], eve_law.breaks[0]), min(bob_law.breaks[-1], eve_law.breaks[-1]))
    kinks = kinks[(kinks > ends[0]) & (kinks < ends[1])]
    stationary = _stationary(bob_law, eve_law, lam, np.concatenate([ends[:1], kinks, ends[1:]]))
    points = np.concatenate([kinks, stationary])
    null = risks(model, eve, Null())
    floor = float(null.alice(lam))
    if not points.size or value(points).min() >= floor - _TIE:
        return Optimum(OneBit, 0.0, risks(model, eve, OneBit(0.0)), lam, "end point")
    heights = value(points)
    # A kink next to a stationary point of the same height is the stationary point, met from both sides.
    low = np.flatnonzero(heights <= heights.min() + _TIE)
    smooth = low[low >= kinks.size]
    chosen = points[smooth[0]] if smooth.size else points[low[0]]
    tau = float(model.bob_posterior(chosen))
    return Optimum(OneBit, tau, risks(model, eve, OneBit(tau)), lam, "interior" if smooth.size else "plateau edge")


def _stationary(bob_law: Piecewise, eve_law: Piecewise, lam: float, edges: Array) -> Array:
    """Zeros of dR_A/dt in each interval between kinks, where the least masses of both sides keep their indices."""
    found = []
    for low, high in zip(edges[:-1], edges[1:], strict=True):
        middle = (low + high) / 2
        for law, weight in ((bob_law, 1.0), (eve_law, -lam)):
            below = law.below(middle)
            sides = np.zeros(len(law.coef))
            # d/dt of the mass below t is the density, of the mass above t its negative.
            sides[int(below.argmin())] += weight
            sides[int((law.mass - below).argmin())] -= weight
            if law is bob_law:
                bob_sides = sides
        if not bob_sides.any() and not sides.any():
            continue
        slope = fit(
            lambda t, b=bob_sides, e=sides: (b @ bob_law(t) + e @ eve_law(t))[None],
            np.union1d(np.concatenate([bob_law.breaks, eve_law.breaks]).clip(low, high), [low, high]),
            1e-15,
        )
        found.append(slope.roots([1.0]))
    return np.concatenate(found) if found else np.empty(0)


__all__ = ["NAMES", "Optimum", "optimise"]
