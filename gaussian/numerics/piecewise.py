"""Vector functions as piecewise polynomials of degree 11, and  integral of min_k f_k  with every crossing located.

A panel is accepted if its last two Chebyshev coefficients are below the tolerance; otherwise it is halved. On a panel
the roots of f_i - f_j are eigenvalues of its colleague matrix; if |c_0| > |c_1| + ... + |c_11|, there are none.
Between consecutive roots the minimum is one polynomial, and six Gauss-Legendre nodes integrate it exactly. The minimum
is 1-Lipschitz, so the error of the integral is at most the integral of the largest error of the f_k.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from numpy.typing import ArrayLike

from bap_lp.support.clock import check
from gaussian.real_arrays import Array

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

Function = Callable[[Array], Array]

DEGREE = 11
_NODES = chebyshev.chebpts1(DEGREE + 1)
_TO_CHEBYSHEV = np.linalg.inv(chebyshev.chebvander(_NODES, DEGREE))
_TOO_NARROW = 1e-13
_MAX_PANELS = 10_000


def _to_power() -> Array:
    """Chebyshev coefficients on [-1, 1] -> power coefficients in (x - left)/width, highest first."""
    columns = np.zeros((DEGREE + 1, DEGREE + 1))
    for degree in range(DEGREE + 1):
        power = chebyshev.cheb2poly(np.eye(DEGREE + 1)[degree])
        shifted = np.zeros(1)
        for coefficient in power[::-1]:
            shifted = polynomial.polyadd(polynomial.polymul(shifted, [-1.0, 2.0]), [coefficient])
        columns[: degree + 1, degree] = shifted[: degree + 1]
    return columns[::-1]


_TO_POWER = _to_power()


@dataclass(frozen=True)
class Piecewise:
    """Components f_k on consecutive panels: coef[k, panel, degree] in each panel's Chebyshev basis; zero outside."""

    breaks: Array
    coef: Array
    error: float

    @cached_property
    def poly(self) -> PPoly:
        """The same function in scipy's power form, components last."""
        from scipy.interpolate import PPoly

        width = np.diff(self.breaks)
        with np.errstate(over="raise"):
            scale = width[:, None] ** np.arange(DEGREE, -1, -1)
        power = np.einsum("dc,kpc->pkd", _TO_POWER, self.coef) / scale[:, None, :]
        return PPoly(np.moveaxis(power, 2, 0), self.breaks, extrapolate=False)

    @cached_property
    def _antiderivative(self) -> PPoly:
        return self.poly.antiderivative()

    def __call__(self, x: ArrayLike) -> Array:
        """Values, shape (components, *x.shape)."""
        return np.moveaxis(np.nan_to_num(self.poly(np.asarray(x, dtype=float)), nan=0.0), -1, 0)

    def below(self, x: ArrayLike) -> Array:
        """Integrals from the left end up to x, shape (components, *x.shape)."""
        inside = np.clip(np.asarray(x, dtype=float), self.breaks[0], self.breaks[-1])
        return np.moveaxis(self._antiderivative(inside), -1, 0)

    def sides(self, x: ArrayLike) -> Array:
        """Integrals over the points up to x and over those beyond it, shape (2, components, *x.shape)."""
        below = self.below(x)
        return np.stack([below, self.mass.reshape(-1, *[1] * (below.ndim - 1)) - below])

    @cached_property
    def mass(self) -> Array:
        """Integral of each component."""
        return self.below(self.breaks[-1])

    def select(self, components: Iterable[int]) -> Piecewise:
        """Some of the components."""
        return Piecewise(self.breaks, self.coef[list(components)], self.error)

    def scaled(self, weights: ArrayLike) -> Piecewise:
        """Each component times its weight."""
        factors = np.asarray(weights, dtype=float)
        return Piecewise(self.breaks, self.coef * factors[:, None, None], self.error * float(factors.max()))

    def __repr__(self) -> str:
        count, panels, _ = self.coef.shape
        ends = f"[{self.breaks[0]:.6g}, {self.breaks[-1]:.6g}]"
        return f"<Piecewise: {count} components on {panels} panels of {ends}, error {self.error:.0e}>"

    def crossings(self) -> Array:
        """Every point where two components are equal. A few points where they are nearly equal may be included."""
        pairs = combinations(range(len(self.coef)), 2)
        return np.unique(np.concatenate([self._roots(self.coef[i] - self.coef[j]) for i, j in pairs]))

    def roots(self, weights: ArrayLike) -> Array:
        """The zeros of a linear combination of the components."""
        return np.unique(self._roots(np.tensordot(np.asarray(weights, dtype=float), self.coef, 1)))

    def _roots(self, coef: Array) -> Array:
        size = np.abs(coef)
        open_panels = np.flatnonzero((size[:, 1:].sum(1) >= size[:, 0]) & (size.max(1) * np.diff(self.breaks) > 1e-18))
        if not open_panels.size:
            return np.empty(0)
        c = coef[open_panels]
        # The leading coefficient is a divisor. Raising it to 1e-17 of the largest moves no root inside [-1, 1].
        floor = 1e-17 * size[open_panels].max(1)
        lead = np.where(np.abs(c[:, -1]) < floor, floor, c[:, -1])
        colleague = np.zeros((len(c), DEGREE, DEGREE))
        inner = np.arange(DEGREE - 1)
        colleague[:, inner, inner + 1] = 0.5
        colleague[:, inner + 1, inner] = 0.5
        colleague[:, 0, 1] = 1.0
        colleague[:, -1, :] -= c[:, :-1] / (2 * lead[:, None])
        values = np.linalg.eigvals(colleague)
        real = (np.abs(values.imag) < 1e-4) & (np.abs(values.real) <= 1 + 1e-9)
        panel, which = np.nonzero(real)
        position = np.clip(values.real[panel, which], -1, 1)
        left, right = self.breaks[open_panels[panel]], self.breaks[open_panels[panel] + 1]
        return left + (right - left) * (position + 1) / 2


def fit(function: Function, breaks: ArrayLike, tol: float) -> Piecewise:
    """Piecewise polynomial of an array-valued function (components, points), smooth between the given breaks.

    tol bounds the integrated error of each panel; the attribute `error` is the sum of the errors that were reached.
    """
    knots = np.unique(np.asarray(breaks, dtype=float))
    span = knots[-1] - knots[0]
    keep = np.concatenate([[True], np.diff(knots) > _TOO_NARROW * span])
    knots = knots[keep]
    left, right = knots[:-1], knots[1:]
    done: list[tuple[Array, Array, Array, Array]] = []
    while left.size <= _MAX_PANELS:
        check()
        width = right - left
        nodes = left[:, None] + width[:, None] * (_NODES + 1) / 2
        values = function(nodes.ravel()).reshape(-1, *nodes.shape)
        coef = values @ _TO_CHEBYSHEV.T
        tail = np.abs(coef[..., -2:]).sum(-1).max(0) * width
        rounding = 4e-15 * np.abs(coef).max((0, 2)) * width
        good = (tail <= np.maximum(tol, rounding)) | (width <= _TOO_NARROW * span)
        done.append((left[good], right[good], coef[:, good], tail[good]))
        if good.all():
            break
        left, right = left[~good], right[~good]
        middle = (left + right) / 2
        left, right = np.concatenate([left, middle]), np.concatenate([middle, right])
    else:
        raise FloatingPointError(f"no piecewise polynomial within {tol} on {_MAX_PANELS} panels near {left[0]}")
    order = np.argsort(np.concatenate([d[0] for d in done]))
    ends = np.concatenate([d[1] for d in done])[order]
    all_coef = np.concatenate([d[2] for d in done], axis=1)[:, order]
    return Piecewise(np.concatenate([knots[:1], ends]), all_coef, float(sum(d[3].sum() for d in done)))


_GAUSS_X, _GAUSS_W = np.polynomial.legendre.leggauss(DEGREE // 2 + 1)


def min_integral(law: Piecewise) -> float:
    """Integral of the pointwise minimum of the components."""
    knots = np.union1d(law.breaks, law.crossings())
    half = np.diff(knots)[:, None] / 2
    nodes = knots[:-1, None] + half * (_GAUSS_X + 1)
    return float(np.sum(law(nodes).min(0) * half * _GAUSS_W))


@lru_cache(maxsize=32)
def _legendre(count: int) -> tuple[Array, Array]:
    """Gauss-Legendre on [-1, 1]; the arrays are shared, so callers must not write to them."""
    x, w = np.polynomial.legendre.leggauss(count)
    x.flags.writeable = w.flags.writeable = False
    return x, w


def gauss_nodes(low: ArrayLike, high: ArrayLike, count: int) -> tuple[Array, Array]:
    """Gauss-Legendre nodes and weights on each interval [low, high] (weight zero where it is empty), last axis."""
    x, w = _legendre(count)
    start = np.asarray(low, dtype=float)[..., None]
    half = np.maximum(np.asarray(high, dtype=float)[..., None] - start, 0.0) / 2
    return start + half * (x + 1), half * w


def composite_nodes(low: ArrayLike, high: ArrayLike, panels: int, count: int) -> tuple[Array, Array]:
    """Composite Gauss-Legendre on each interval [low, high], all nodes of an interval in the last axis."""
    start = np.asarray(low, dtype=float)[..., None]
    width = np.maximum(np.asarray(high, dtype=float)[..., None] - start, 0.0) / panels
    edges = start + width * np.arange(panels)
    x, w = gauss_nodes(edges, edges + width, count)
    return x.reshape(*x.shape[:-2], -1), w.reshape(*w.shape[:-2], -1)
