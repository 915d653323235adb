"""The sufficient part of the data: xbar and the cell s of Eve's events, and their joint law, in the standard form.

Eve's tests cut the data space into cells s: two for one test, four for two. Whatever she decides, she loses on exactly
one cell: she bets against it, and loses w_s there.  With phi the density of xbar and pi(x) = P(theta > c_B | xbar = x),
    A_s(x) = phi(x) P(s | xbar = x),      P(s, theta > c_B, xbar in dx) = A_s(x) pi(x) dx.
Both are smooth on panels that end at the thresholds and are narrow on every scale of phi, pi and P(s | x), out to 38
standard deviations of each. So Gauss-Legendre rules integrate them to rounding, relative to the mass of the cell
however rare it is. A second rule of higher order measures the error. Masses below a point are summed from the left end,
masses above it from the right end, so that both are sums of positive terms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from gaussian.eves import Eve, betting_weights, questions
from gaussian.laws.mean import normal_density
from gaussian.laws.statistics import cell_errors, cell_probabilities, cell_ranges, reducible, statistic_law
from gaussian.model import GaussianModel
from gaussian.numerics.piecewise import gauss_nodes
from gaussian.real_arrays import Array

# A sum of rounded positive products has an error of a few units in the last place.
ROUNDING = 1e-15
# Beyond this many standard deviations the normal density underflows.
_FAR = 38.0
_ORDERS = (14, 18)
# A mass this close to that of the whole cell is the whole cell: near the end of its support the density may vanish.
_WHOLE = 1 - 2e-15


@dataclass(frozen=True)
class CellLaw:
    """Joint masses of theta > c_B, cell and half-lines of xbar; arrays are indexed [theta > c_B, cell, point]."""

    model: GaussianModel
    eve: Eve
    order: int = _ORDERS[0]

    @cached_property
    def supports(self) -> tuple[tuple[float, float], ...]:
        return cell_ranges(self.model.n, self.eve)

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.supports)

    @cached_property
    def weights(self) -> Array:
        """w_s: what Eve loses in cell s if she bets against it."""
        return betting_weights(self.eve)

    @cached_property
    def centre(self) -> float:
        """t_B: Bob's decision on the full data is 1{xbar > t_B}."""
        return self.model.bob_cut

    @cached_property
    def breaks(self) -> Array:
        """Ends of the panels on which the integrands are smooth and resolved."""
        model, far = self.model, np.arange(-2 * _FAR, 2 * _FAR + 1) / 2
        reach = _FAR * model.xbar_sd
        cuts = [far * model.xbar_sd, model.score_threshold(far), [self.centre]]
        cuts += [statistic_law(model.n, question).knots for question in questions(self.eve)]
        points = np.concatenate([np.asarray(cut, dtype=float) for cut in cuts])
        return np.unique(np.clip(points, -reach, reach))

    def _values(self, nodes: Array) -> Array:
        """The integrands A_s (1 - pi) and A_s pi, shape (2, cells, nodes)."""
        density = normal_density(nodes, self.model.xbar_sd) * cell_probabilities(self.model.n, self.eve, nodes)
        # P(theta <= c_B | x) has its own digits: 1 - pi would cancel where pi is near 1
        return np.stack([density * self.model.bob_doubt(nodes), density * self.model.bob_posterior(nodes)])

    def _doubts(self, nodes: Array) -> Array:
        """A bound on the error of A_s, shape (1, cells, nodes): of P(s | x), and the rounding of the normal density."""
        z = nodes / self.model.xbar_sd
        rounding = 4e-16 * (1 + z**2) * cell_probabilities(self.model.n, self.eve, nodes)
        wrong = cell_errors(self.model.n, self.eve, nodes) + rounding
        return np.asarray((normal_density(nodes, self.model.xbar_sd) * wrong)[None])

    def _integrate(self, low: Array, high: Array, integrand: Callable[[Array], Array] | None = None) -> Array:
        """Integrals over panels [low, high] that have no break inside."""
        nodes, weight = gauss_nodes(low, high, self.order)
        values = (integrand or self._values)(nodes.ravel())
        return np.asarray((values.reshape(len(values), self.count, *nodes.shape) * weight).sum(-1))

    def _cumulated(self, integrand: Callable[[Array], Array] | None = None) -> tuple[Array, Array]:
        """Integrals from the left end up to each break, and from each break to the right end."""
        parts = self._integrate(self.breaks[:-1], self.breaks[1:], integrand)
        zero = np.zeros((*parts.shape[:2], 1))
        left = np.concatenate([zero, parts.cumsum(-1)], -1)
        right = np.concatenate([parts[..., ::-1].cumsum(-1)[..., ::-1], zero], -1)
        return left, right

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        return self._cumulated()

    @cached_property
    def _error_sums(self) -> tuple[Array, Array]:
        return self._cumulated(self._doubts)

    def below(self, t: Array) -> Array:
        """Masses on xbar <= t, shape (2, cells, *t.shape) for a one-dimensional t."""
        t, panel = self._locate(t)
        return np.asarray(self._sums[0][..., panel] + self._integrate(self.breaks[panel], t))

    def above(self, t: Array) -> Array:
        """Masses on xbar > t, in the same shape."""
        t, panel = self._locate(t)
        return np.asarray(self._sums[1][..., panel + 1] + self._integrate(t, self.breaks[panel + 1]))

    def split_errors(self, thresholds: Array) -> Array:
        """A bound on the error of the mass that each signal has of each cell, shape (signal, cell)."""
        t, panel = self._locate(thresholds)
        low = self._error_sums[0][..., panel] + self._integrate(self.breaks[panel], t, self._doubts)
        high = self._error_sums[1][..., panel + 1] + self._integrate(t, self.breaks[panel + 1], self._doubts)
        diagonal = np.arange(self.count)
        return np.stack([part[0, diagonal, diagonal] for part in (low, high)])

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

    def quantile(self, signal: int, cell: int, mass: float) -> float:
        """The t beyond which (signal 1) or up to which (0) a cell has this mass, an end of its support if 0 or all."""
        nothing, everything = self.supports[cell][:: -1 if signal else 1]
        steps, side = self._sums[signal][:, cell].sum(0), self.above if signal else self.below
        if mass <= 0:
            return nothing
        if mass >= _WHOLE * steps.max():
            return everything
        turned = -1.0 if signal else 1.0  # masses beyond t fall with t
        panel = int(np.searchsorted(turned * steps, turned * mass, "right")) - 1
        return self._root(panel, lambda t: float(side(np.array([t]))[:, cell].sum()) - mass)

    def _root(self, panel: int, gap: Callable[[float], float]) -> float:
        low, high = float(self.breaks[panel]), float(self.breaks[panel + 1])
        ends = gap(low), gap(high)
        if ends[0] * ends[1] >= 0:
            # by rounding there is no change of sign: the root is the end with the smaller residual
            return low if abs(ends[0]) <= abs(ends[1]) else high
        from scipy.optimize import brentq

        return float(brentq(gap, low, high, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=2000))

    @cached_property
    def masses(self) -> Array:
        """M_s, the probability of each cell."""
        return np.asarray(self._sums[0][..., -1].sum(0))

    @cached_property
    def errors(self) -> Array:
        """Per cell, a bound on the error of its mass on any set of xbar."""
        return np.asarray(self._error_sums[0][0, :, -1])

    def bob_gain(self) -> float:
        """R_B^null - R_B^full: what the data are worth to Bob, as an integral of a positive function."""
        miss, alarm = self.model.bob_loss
        nodes, weight = gauss_nodes(self.breaks[:-1], self.breaks[1:], self.order)
        wins = miss * self.model.bob_posterior(nodes) - alarm * self.model.bob_doubt(nodes)
        wins = wins * normal_density(nodes, self.model.xbar_sd)
        # without data Bob decides for the side on which he loses less; the data gain on the other side only
        silent = miss * float(ndtr(-self.model.bob_threshold / self.model.prior_sd))
        decides_yes = silent > alarm * float(ndtr(self.model.bob_threshold / self.model.prior_sd))
        return float((weight * np.maximum(-wins if decides_yes else wins, 0.0)).sum())

    @cached_property
    def finer(self) -> CellLaw:
        """The same law, integrated by the rule of higher order."""
        return cell_law(self.model, self.eve, _ORDERS[1])


@lru_cache(maxsize=64)
def cell_law(model: GaussianModel, eve: Eve, order: int = _ORDERS[0]) -> CellLaw:
    """The law for one model in standard form and one Eve; its panels are computed once."""
    if model.prior_mean != 0 or model.noise_sd != 1:
        raise ValueError(f"model = {model} must have the standard form: use gaussian.model.standard_form")
    if not reducible(model.n, eve):
        raise ValueError(
            f"eve = {eve} has no proved bracket: her events are not cells given the mean. "
            "bracket(sample(...)) of discretise works from draws, see gaussian.eve_simulator"
        )
    return CellLaw(model, eve, order)
