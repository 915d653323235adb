"""The sufficient part of the data: xbar and the cell s of Eve's events, and their joint law.

Eve's tests cut the data space into cells s: two for one test, four for both. Whatever she decides, she loses on exactly
one cell: she bets against it.  With phi the density of xbar and pi(x) = P(theta > c_B | xbar = x),
    A_s(x) = phi(x) P(s | xbar = x),      P(s, theta > c_B, xbar in dx) = A_s(x) pi(x) dx.
Both are smooth on panels that end at the thresholds, so Gauss-Legendre rules integrate them to rounding. A second rule
of higher order measures the error. Masses below a point are summed from the left end, masses above it from the right
end, so that both are sums of positive terms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gaussian.arrays import Array
from gaussian.mean_law import eve_cells, mean_bob_law, mean_eve_law, normal_density
from gaussian.model import BothEves, Eve, GaussianModel, MaxEve, MeanEve

# The error of the residual's distribution function F is at most 1e-14, and at most 1e-12 F near 0, where the density is
# summed from 0. The normal tails that are left out have mass 2e-17. A sum of rounded positive products has an error of
# a few units in the last place.
CDF_ERROR = 1e-14
CDF_RELATIVE_ERROR = 1e-12
TAILS = 2e-17
ROUNDING = 1e-15
_ORDERS = (14, 18)
# A mass this close to that of the whole cell is the whole cell: near the end of its support the density may vanish.
_WHOLE = 1 - 2e-15


def cell_names(eve: Eve) -> tuple[str, ...]:
    """The cells in words, in the order of `gaussian.eve_cells`."""
    if isinstance(eve, BothEves):
        means = (f"xbar <= {eve.mean_threshold:.6g}", f"xbar > {eve.mean_threshold:.6g}")
        tops = (f"max <= {eve.max_threshold:.6g}", f"max > {eve.max_threshold:.6g}")
        return tuple(f"{mean}, {top}" for mean in means for top in tops)
    what = "xbar" if isinstance(eve, MeanEve) else "max"
    return f"{what} <= {eve.threshold:.6g}", f"{what} > {eve.threshold:.6g}"


def cell_supports(n: int, eve: Eve) -> tuple[tuple[float, float], ...]:
    """The interval of xbar on which each cell has a density: the maximum is at least the mean, equal to it if n = 1."""
    inf = math.inf
    if isinstance(eve, MeanEve):
        return (-inf, eve.threshold), (eve.threshold, inf)
    if isinstance(eve, MaxEve):
        return (-inf, eve.threshold), (eve.threshold if n == 1 else -inf, inf)
    mean, top = eve.mean_threshold, eve.max_threshold
    reached = top if n == 1 else -inf
    return (-inf, min(mean, top)), (reached, mean), (mean, top), (max(mean, reached), inf)


def cells_of(eve: Eve, xbar: Array, maximum: Array) -> NDArray[np.intp]:
    """The cell of each data set, from its mean and its maximum."""
    if isinstance(eve, BothEves):
        return 2 * (xbar > eve.mean_threshold).astype(np.intp) + (maximum > eve.max_threshold)
    return ((xbar if isinstance(eve, MeanEve) else maximum) > eve.threshold).astype(np.intp)


@dataclass(frozen=True)
class CellLaw:
    """Joint masses of theta > c_B, cell and half-lines of xbar; arrays are indexed [theta > c_B, cell, point]."""

    model: GaussianModel
    eve: Eve
    order: int = _ORDERS[0]

    @cached_property
    def supports(self) -> tuple[tuple[float, float], ...]:
        return cell_supports(self.model.n, self.eve)

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.supports)

    @cached_property
    def centre(self) -> float:
        """t_B: Bob's decision on the full data is 1{xbar > t_B}."""
        return float(self.model.bit_threshold(0.5))

    @cached_property
    def breaks(self) -> Array:
        """Ends of the panels on which the integrands are smooth and resolved."""
        laws = mean_eve_law(self.model, self.eve).breaks, mean_bob_law(self.model).breaks
        low, high = max(law[0] for law in laws), min(law[-1] for law in laws)
        cuts = [end for support in self.supports for end in support if low < end < high]
        return np.unique(np.concatenate([*laws, cuts]))

    @cached_property
    def _rule(self) -> tuple[Array, Array]:
        x, w = np.polynomial.legendre.leggauss(self.order)
        return (x + 1) / 2, w / 2

    def _integrate(self, low: Array, high: Array) -> Array:
        """Integrals over panels [low, high] that have no break inside."""
        x, w = self._rule
        width = high - low
        nodes = (low[:, None] + width[:, None] * x).ravel()
        density = normal_density(nodes, self.model.xbar_sd) * eve_cells(self.model.n, self.eve, nodes)
        # P(theta <= c_B | x) is the posterior of the reflected model: 1 - pi would cancel where pi is near 1.
        against = self._against(nodes)
        values = np.stack([density * against, density * self.model.bob_posterior(nodes)])
        weighted = values.reshape(2, self.count, len(low), self.order) @ w
        return np.asarray(weighted * width)

    def _against(self, xbar: Array) -> Array:
        return GaussianModel(self.model.n, self.model.prior_sd, -self.model.bob_threshold).bob_posterior(-xbar)

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        parts = self._integrate(self.breaks[:-1], self.breaks[1:])
        zero = np.zeros((2, self.count, 1))
        left = np.concatenate([zero, parts.cumsum(-1)], -1)
        right = np.concatenate([parts[..., ::-1].cumsum(-1)[..., ::-1], zero], -1)
        return left, right

    def below(self, t: Array) -> Array:
        """Masses on xbar <= t, shape (2, cells, *t.shape) for a one-dimensional t."""
        t, panel = self._locate(t)
        return np.asarray(self._sums[0][..., panel] + self._integrate(self.breaks[panel], t))

    def above(self, t: Array) -> Array:
        """Masses on xbar > t, in the same shape."""
        t, panel = self._locate(t)
        return np.asarray(self._sums[1][..., panel + 1] + self._integrate(t, self.breaks[panel + 1]))

    def _locate(self, t: Array) -> tuple[Array, NDArray[np.intp]]:
        inside = np.clip(np.asarray(t, dtype=float), self.breaks[0], self.breaks[-1])
        return inside, np.clip(np.searchsorted(self.breaks, inside, "right") - 1, 0, len(self.breaks) - 2)

    def between(self, edges: Array) -> Array:
        """Masses between consecutive edges (increasing, the ends may be infinite)."""
        inside, _ = self._locate(edges)
        cuts = np.union1d(self.breaks, inside)
        parts = self._integrate(cuts[:-1], cuts[1:])
        owner = np.clip(np.searchsorted(inside, cuts[:-1], "right") - 1, 0, len(edges) - 2)
        sums = np.zeros((len(edges) - 1, 2, self.count))
        np.add.at(sums, owner, np.moveaxis(parts, -1, 0))
        return np.moveaxis(sums, 0, -1)

    def split(self, thresholds: Array) -> Array:
        """Masses when cell s releases 1{xbar > thresholds[s]}, shape (signal, theta > c_B, cell)."""
        diagonal = np.arange(self.count)
        parts = self.below(thresholds), self.above(thresholds)
        return np.stack([part[:, diagonal, diagonal] for part in parts])

    @cached_property
    def own(self) -> Array:
        """b_s and a_s, shape (signal, cell): the masses of each cell at Bob's two decisions on the full data."""
        return self.split(np.full(self.count, self.centre)).sum(1)

    def quantile_above(self, cell: int, mass: float) -> float:
        """The t beyond which the cell has the given mass: an end of its support if that is nothing or everything."""
        low, high = self.supports[cell]
        steps = self._sums[1][:, cell].sum(0)
        if mass <= 0:
            return high
        if mass >= _WHOLE * steps[0]:
            return low
        panel = int(np.searchsorted(-steps, -mass, "right")) - 1
        return self._root(panel, lambda t: float(self.above(np.array([t]))[:, cell].sum()) - mass)

    def quantile_below(self, cell: int, mass: float) -> float:
        """The t up to which the cell has the given mass."""
        low, high = self.supports[cell]
        steps = self._sums[0][:, cell].sum(0)
        if mass <= 0:
            return low
        if mass >= _WHOLE * steps[-1]:
            return high
        panel = int(np.searchsorted(steps, mass, "right")) - 1
        return self._root(panel, lambda t: float(self.below(np.array([t]))[:, cell].sum()) - mass)

    def _root(self, panel: int, gap: Callable[[float], float]) -> float:
        low, high = float(self.breaks[panel]), float(self.breaks[panel + 1])
        ends = gap(low), gap(high)
        if ends[0] * ends[1] >= 0:
            # by rounding there is no change of sign: the root is the end with the smaller residual
            return low if abs(ends[0]) <= abs(ends[1]) else high
        from scipy.optimize import brentq

        return float(brentq(gap, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps))

    @cached_property
    def errors(self) -> Array:
        """Per cell, a bound on the error of its mass on any set of xbar: only the tails if xbar decides the cell."""
        if isinstance(self.eve, MeanEve) or self.model.n == 1:
            return np.full(self.count, TAILS)
        # |error| <= integral of phi |F - F^| over the support of the cell
        reach = [float(ndtr(high / self.model.xbar_sd) - ndtr(low / self.model.xbar_sd)) for low, high in self.supports]
        errors = CDF_ERROR * np.maximum(reach, 0.0)
        below = np.arange(self.count) % 2 == 0  # cells with max <= c: their probability is F itself
        masses = self._sums[0][..., -1].sum(0)
        return TAILS + np.where(below, np.minimum(errors, CDF_RELATIVE_ERROR * masses), errors)

    @cached_property
    def finer(self) -> CellLaw:
        """The same law, integrated by the rule of higher order."""
        return cell_law(self.model, self.eve, _ORDERS[1])


@lru_cache(maxsize=64)
def cell_law(model: GaussianModel, eve: Eve, order: int = _ORDERS[0]) -> CellLaw:
    """The law for one model and one Eve; its panels are computed once."""
    return CellLaw(model, eve, order)
