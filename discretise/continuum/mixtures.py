"""Integrals over the prior at given data: beta_k(x) = int f(x|theta) L_k(theta) prior(dtheta), each with its error.

A continuous prior is integrated in v = -log of a tail probability, theta = ppf(exp(-v)) in the lower half and
isf(exp(-v)) in the upper one, so that dprior = exp(-v) dv, no density of the prior is needed, and heavy and light tails
are both smooth in v. A panel of v has a Gauss-Legendre rule with n nodes. If the Legendre coefficients of the integrand
fall like r^k, those of order n give r^n = delta, and the rule is off by about r^(2n) = delta^2. The stated error is
min(delta, 100 delta^1.5) times the largest value of the integrand times the width, with rounding. Each x has panels of
its own: those whose error is too large at x are halved. Two things could hide from the nodes. A jump next to the end of
a panel shows at two more points, where the polynomial through the nodes must agree with the integrand. The narrow peak
of a posterior shows in F(x|theta): if most of its fall over the panel, or a third of all, lies between two nodes, the
panel is halved. A finite prior is summed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bap_lp import InputError
from discretise.laws import Likelihood
from discretise.pace import paced, wait
from gaussian.real_arrays import Array

_NODES = 16
_X, _W = np.polynomial.legendre.leggauss(_NODES)
_ORDERS = (_NODES - 3, _NODES - 2, _NODES - 1)
_BASES = [(2 * k + 1) * np.polynomial.legendre.Legendre.basis(k)(_X) * _W for k in _ORDERS]
_RULES = np.stack([*_BASES, _W])  # twice the last coefficients, and the integral
_EDGE = 1 - 1e-9  # the two points at which the polynomial is checked
_POINTS = np.concatenate([[-_EDGE], _X, [_EDGE]])
_AT_EDGES = np.array(
    [[np.prod((t - np.delete(_X, k)) / (_X[k] - np.delete(_X, k))) for k in range(_NODES)] for t in (-_EDGE, _EDGE)]
)
_RELATIVE = 1e-12  # error of a panel that is accepted, relative to the integral
_NOISE = 3e-12  # last coefficients this small, relative to the integrand, are rounding in the density
_POOR = 1e-7, 6  # and after so many halvings even these: some densities of scipy.stats are themselves integrals
_CROWD = 24  # panels of one x
_ROUNDING = 4e-15  # of a density of scipy.stats and of the sum over a panel
_DEEPEST = 40  # halvings of a panel
_STEEP = 0.34  # a fall of F between two nodes that may hide a peak, and the share of the panel's fall that may
_SHARE = 0.6
_SEEN = 1e-12  # falls of F below this hide nothing that matters
_CUTS = (0.7, 0.85, 1.1, 1.6, 2.4, 4.0, 7.0, 12.0, 20.0, 40.0)  # v at the ends of the first panels
_FAR = (80.0, 160.0, 320.0)  # quantiles of scipy.stats are not reliable much farther out
_LAWS = 20_000  # distributions kept
_CHUNK = 1 << 21  # numbers held at a time
_BLOCK = 4096  # points treated together


class PriorMixture:
    """The functions beta_k of x for the losses L_k, a column each; column 0 is the predictive density, L_0 = 1.

    Args of the constructor: the frozen prior, or its points (values, weights); the likelihood; `columns`, which maps
    thetas to a table with a row per theta and a column per loss, without the first; the thetas at which a loss jumps or
    bends; whether the far tails of the prior matter, as they do for unbounded losses.
    """

    def __init__(
        self,
        prior: Any,
        points: tuple[Array, Array] | None,
        likelihood: Callable[[Any], Any],
        columns: Callable[[Array], Array],
        breaks: Array,
        far: bool,
    ) -> None:
        self.likelihood, self.columns, self.prior, self.points = likelihood, columns, prior, points
        self._laws: dict[float, Any] = {}
        if points is not None:
            thetas, weights = points[0][points[1] > 0], points[1][points[1] > 0]
            self.law, self._weights = Likelihood(likelihood, thetas), weights[:, None] * self._with_one(thetas)
            self.left_out, self.left_losses = 0.0, np.zeros(self._weights.shape[1] - 1)
            return
        self.law = Likelihood(likelihood, np.asarray(prior.ppf([0.25, 0.5, 0.75]), dtype=float))
        self._low, self._high = np.zeros(0), np.zeros(0)
        self._upper, self._depth, self._child = (np.zeros(0, dtype=np.intp) for _ in range(3))
        self._thetas = np.zeros((0, len(_POINTS)))
        self._first_panels(breaks, _FAR if far else ())
        self._roots = np.arange(len(self._low))
        # the prior mass beyond the last panel of either half
        self.left_out = sum(float(np.exp(-self._high[self._upper == half].max())) for half in (0, 1))
        self.left_losses = self._left_losses()

    @property
    def discrete(self) -> bool:
        """Whether the data have atoms."""
        return self.law.discrete

    def _with_one(self, thetas: Array) -> Array:
        return np.hstack([np.ones((len(thetas), 1)), self.columns(thetas)])

    def _first_panels(self, breaks: Array, far: tuple[float, ...]) -> None:
        for upper in (0, 1):
            tail = np.asarray((self.prior.sf if upper else self.prior.cdf)(breaks), dtype=float)
            cuts = -np.log(tail[(tail > 0) & (tail < 0.5)])
            v = np.unique(np.concatenate([[np.log(2.0)], _CUTS, far, cuts]))
            v = v[v <= (*_CUTS, *far)[-1]]
            v = v[np.append(True, np.diff(v) > 1e-14)]
            self._add(np.full(len(v) - 1, upper), v[:-1], v[1:], np.zeros(len(v) - 1, dtype=np.intp))

    def _add(self, upper: Array, low: Array, high: Array, depth: Array) -> None:
        v = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * _POINTS
        theta = np.empty_like(v)
        with warnings.catch_warnings():  # a quantile that scipy.stats misses is caught by the sums that need no data
            warnings.simplefilter("ignore", RuntimeWarning)
            for half, inverse in ((0, self.prior.ppf), (1, self.prior.isf)):
                theta[upper == half] = inverse(np.exp(-v[upper == half]))
        finite = np.isfinite(theta).all(axis=1)
        if not finite[low < _CUTS[-2]].all():
            raise InputError("prior", self.prior, "must have finite quantiles")
        self._thetas = np.vstack([self._thetas, theta[finite]])
        self._low, self._high = np.append(self._low, low[finite]), np.append(self._high, high[finite])
        self._upper, self._depth = np.append(self._upper, upper[finite]), np.append(self._depth, depth[finite])
        self._child = np.append(self._child, np.full(int(finite.sum()), -1))

    def _left_losses(self) -> Array:
        """What the prior beyond the last panels adds to E[L_k(theta)]; w(v) = exp(-v) L_k falls like exp(-a v)."""
        total = 0.0
        for half, inverse in ((0, self.prior.ppf), (1, self.prior.isf)):
            last = float(self._high[self._upper == half].max())
            v = np.array([last / 2, last])
            near, far = np.exp(-v)[:, None] * self.columns(np.asarray(inverse(np.exp(-v)), dtype=float))
            rate = np.maximum(np.log(np.maximum(near, 1e-300) / np.maximum(far, 1e-300)) / (last / 2), 1e-3)
            total = total + far / rate
        return np.asarray(total)

    def _halves(self, panels: NDArray[np.intp]) -> NDArray[np.intp]:
        """The first half of each panel; the second one follows it."""
        new = np.unique(panels[self._child[panels] < 0])
        if len(new):
            middle = (self._low[new] + self._high[new]) / 2
            first = len(self._low)
            low = np.stack([self._low[new], middle], axis=1).ravel()
            high = np.stack([middle, self._high[new]], axis=1).ravel()
            self._add(np.repeat(self._upper[new], 2), low, high, np.repeat(self._depth[new] + 1, 2))
            assert len(self._low) == first + len(low)
            self._child[new] = first + 2 * np.arange(len(new))
        return self._child[panels]

    def _table(self, name: str, thetas: Array, x: Array) -> Array:
        """cdf, sf, pdf or pmf at thetas (pairs x nodes) and x (pairs)."""
        with np.errstate(all="ignore"):  # as in Likelihood.table
            return self._evaluated(name, thetas, x)

    def _evaluated(self, name: str, thetas: Array, x: Array) -> Array:
        if self.law.together is not None:

            def rows(start: int, stop: int) -> Array:
                some = thetas[start:stop]
                found = np.asarray(getattr(self.likelihood(some), name)(x[start:stop, None]), dtype=float)
                return np.broadcast_to(found, some.shape)

            return paced(rows, len(thetas), thetas.shape[1], self.law.together)
        out = np.empty(thetas.shape)
        values, place = np.unique(thetas, return_inverse=True)
        order = np.argsort(place.ravel(), kind="stable")
        data = np.repeat(x, thetas.shape[1])[order]
        ends = np.append(np.searchsorted(place.ravel()[order], np.arange(len(values))), len(order))
        parts = []
        for t, a, b in zip(values, ends[:-1], ends[1:], strict=True):
            wait()
            parts.append(np.asarray(getattr(self._law(float(t)), name)(data[a:b]), dtype=float))
        out.ravel()[order] = np.concatenate(parts)
        return out

    def _law(self, theta: float) -> Any:
        """The law of the data at one theta; a frozen distribution takes longer to make than to evaluate."""
        if len(self._laws) > _LAWS:
            self._laws.clear()
        if theta not in self._laws:
            self._laws[theta] = self.likelihood(theta)
        return self._laws[theta]

    def expectation(self, values: Callable[[Array], Array]) -> Array:
        """The integral over the prior of functions of theta, by the first panels halved twice."""
        if self.points is not None:
            return np.asarray((self._weights[:, :1] * values(self.law.thetas)).sum(axis=0))
        panels = self._roots
        for _ in range(2):
            first = self._halves(panels)
            panels = np.concatenate([first, first + 1])
        weights = self._node_weights(panels)[:, 1:-1] * _W
        return np.asarray((weights.ravel()[:, None] * values(self._thetas[panels, 1:-1].ravel())).sum(axis=0))

    def _node_weights(self, panels: NDArray[np.intp]) -> Array:
        low, high = self._low[panels, None], self._high[panels, None]
        return np.asarray(np.exp(-((low + high) / 2 + (high - low) / 2 * _POINTS)) * (high - low) / 2)

    def nodes(self) -> tuple[Array, Array]:
        """Thetas in increasing order that represent the prior out to tails of exp(-40), with their weights."""
        if self.points is not None:
            order = np.argsort(self.law.thetas)
            return self.law.thetas[order], self._weights[order, 0]
        near = self._roots[self._high[self._roots] <= _CUTS[-1]]
        weights = (self._node_weights(near)[:, 1:-1] * _W).ravel()
        thetas = self._thetas[near, 1:-1].ravel()
        order = np.argsort(thetas)
        return thetas[order], weights[order]

    def at(self, x: Array) -> tuple[Array, Array]:
        """beta (points x columns) and its error, elementwise."""
        law = self.law.together or (self.law.each or [None])[0]
        values, wrong = paced(lambda a, b: np.stack(self._block(x[a:b])), len(x), 1, law, axis=1, most=_BLOCK)
        return values, wrong

    def _block(self, x: Array) -> tuple[Array, Array]:
        if self.points is not None:
            total = self.law.density(x).T @ self._weights
            return total, _ROUNDING * np.abs(total)
        panel, who = (a.ravel() for a in np.meshgrid(self._roots, np.arange(len(x)), indexing="ij"))
        done = wrong = np.zeros((len(x), 0))
        while len(panel):
            value, error, delta, steep = self._integrate(panel, x[who])
            if not done.shape[1]:
                done, wrong = np.zeros((len(x), value.shape[1])), np.zeros((len(x), value.shape[1]))
            scale = np.abs(done)
            np.add.at(scale, who, np.abs(value))
            excess = (error / np.maximum(scale[who], 1e-290)).max(axis=1)
            poor = (delta < _POOR[0]) & (self._depth[panel] >= _POOR[1])
            split = (((excess > _RELATIVE) & (delta > _NOISE) & ~poor) | steep) & (self._depth[panel] < _DEEPEST)
            # a resolved peak needs few panels: many that stay rough are rounding in the thetas, and more would not help
            crowded = np.bincount(who[split], minlength=len(x)) > _CROWD
            split &= ~(crowded[who] & (self._depth[panel] >= _POOR[1]))
            np.add.at(done, who[~split], value[~split])
            np.add.at(wrong, who[~split], error[~split])
            first = self._halves(panel[split])
            panel, who = np.concatenate([first, first + 1]), np.tile(who[split], 2)
        return done, wrong + _ROUNDING * np.abs(done)

    def _integrate(self, panel: NDArray[np.intp], x: Array) -> tuple[Array, Array, Array, NDArray[np.bool_]]:
        """Integrals over panels at points, pair by pair: value, error, relative last coefficients, hidden peak."""
        used, place = np.unique(panel, return_inverse=True)
        columns = self._with_one(self._thetas[used].ravel()).reshape(len(used), len(_POINTS), -1)
        columns = columns * self._node_weights(used)[:, :, None]
        step = max(1, _CHUNK // (len(_POINTS) * columns.shape[2]))
        parts = []
        for k in range(0, len(panel), step):
            cut = slice(k, k + step)
            thetas = self._thetas[panel[cut]]
            density = _finite(self._table("pmf" if self.discrete else "pdf", thetas, x[cut]))
            terms = density[:, :, None] * columns[place[cut]]
            inner = terms[:, 1:-1]
            rows = np.tensordot(inner, _RULES, axes=(1, 1))  # pairs x columns x rules
            top = 2 * np.abs(terms).max(axis=1) + 1e-300
            miss = np.abs(np.tensordot(inner, _AT_EDGES, axes=(1, 1)) - terms[:, [0, -1]].transpose(0, 2, 1)).max(
                axis=2
            )
            delta = np.maximum(np.abs(rows[:, :, :3]).max(axis=2), 0.01 * miss) / top
            error = top * np.minimum(delta, 100 * delta**1.5)
            parts.append((rows[:, :, 3], error, delta.max(axis=1), self._steep(thetas, x[cut])))
        value, error, delta, steep = (np.concatenate([part[k] for part in parts]) for k in range(4))
        return value, error, delta, steep

    def _steep(self, thetas: Array, x: Array) -> NDArray[np.bool_]:
        ends = self._table("cdf", thetas[:, [0, -1]], x)
        fall = np.abs(ends[:, 0] - ends[:, 1])
        steep = np.asarray(fall > _SEEN)
        if steep.any():
            steps = np.abs(np.diff(self._table("cdf", thetas[steep], x[steep]), axis=1)).max(axis=1)
            steep[steep] = steps > np.minimum(_STEEP, _SHARE * fall[steep])
        return steep


def _finite(density: Array) -> Array:
    """A density may be infinite at a single point, such as the end of a support: that point has no mass."""
    return np.where(np.isfinite(density), density, 0.0)
