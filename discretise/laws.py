"""Laws on grids: a prior as weighted points, a likelihood as a table, a predictive law cut into cells.

A continuous prior is cut into cells of equal probability, and at given breaks. In each cell the points are those of a
Gauss-Legendre rule in the probability q, with theta = ppf(q); one node is the median of the cell. Expectations of
functions that are smooth between the breaks converge like cells^(-2 nodes). In the two outermost cells ppf is not
smooth: they are cut again at their shares 1/4, 1/16, ... A finite or discrete prior is not changed.

The data space is cut at quantiles of the predictive law sum_t w_t F(x|theta_t) and at given edges; a discrete law is
cut between its atoms. A cell is (lower, upper], so that the event x > c is a union of cells if c is an edge.
P(cell|theta) is a difference of F, or of 1 - F where that is more accurate; no density is integrated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bap_lp import InputError
from bap_lp.support.labels import probability
from bap_lp.support.rational import floats
from discretise.losses import numbers_of
from discretise.pace import paced
from gaussian.numerics.piecewise import gauss_nodes
from gaussian.real_arrays import Array

_TAIL = 10.0 ** -np.arange(2, 17)
_LEVELS = np.concatenate([_TAIL[::-1], np.linspace(0.02, 0.5, 25)])
_DEEP: Array = 10.0 ** -np.arange(17.0, 131.0)  # levels that matter for unbounded losses under heavy tails
_SHARES = 4.0 ** -np.arange(1, 24)  # of the outermost cells of theta
_MOST_ATOMS = 200_000
_MOST_TERMS = 5e9  # minutes of summing; Zipf data and a prior with ten values take 2e8, a continuous prior 3e10
_FEWER_ATOMS = 5_000  # enough for a predictive law whose tail cannot be tabulated to the end
_BEYOND = 10.0 ** -np.append(17.0, np.arange(13.0, 2.5, -0.5))  # predictive mass that a table of atoms may leave out
_BLOCK = 1 << 20  # numbers tabulated at a time
_SCAN = 1500  # points at which the predictive law is tabulated to place the edges


@dataclass(frozen=True)
class WeightedPoints:
    """Points theta_t with weights w_t; `exact` if they are the prior itself and not an approximation."""

    values: Array
    weights: Array
    exact: bool

    def __repr__(self) -> str:
        kind = "exact" if self.exact else "approximate"
        return f"<WeightedPoints: {len(self.values)} points, {kind}>"


def prior_points(prior: Any, cells: int, nodes: int, breaks: Array) -> WeightedPoints:
    """A prior, given as (values, weights) or as a frozen scipy.stats distribution, as weighted points."""
    if isinstance(prior, tuple) and len(prior) == 2:
        values, weights = numbers_of(prior[0], "prior values"), floats(probability(prior[1], "prior weights"))
        if values.shape != weights.shape:
            raise InputError(
                "prior", None, f"has {values.size} values and {weights.size} weights, must have the same number of both"
            )
        return WeightedPoints(values, weights, True)
    scalar_law(prior, "prior", "must be (values, weights) or a frozen scipy.stats distribution")
    if hasattr(prior, "pmf"):
        values, beyond = Likelihood(lambda _: prior, np.zeros(1)).atoms(np.ones(1))
        if beyond > 2 * _BEYOND[0]:
            rule = f"has {beyond:.1e} of its mass beyond {len(values)} values: give (values, weights)"
            raise InputError("prior", None, rule)
        weights = np.asarray(prior.pmf(values), dtype=float)
        return WeightedPoints(values, weights / weights.sum(), True)
    halves: list[tuple[Array, Array]] = []
    # the lower half by cdf and ppf, the upper one by sf and isf: small probabilities are then accurate in both tails
    for cut, inverse in ((prior.cdf, prior.ppf), (prior.sf, prior.isf)):
        q = np.concatenate([np.arange(cells + 1) / cells, _SHARES / cells, np.ravel(cut(breaks)), [0.5]])
        q = np.unique(q[(q >= 0) & (q <= 0.5)])
        chances, w = gauss_nodes(q[:-1], q[1:], nodes)
        halves.append((np.asarray(inverse(chances.ravel()), dtype=float), w.ravel()))
    points, mass = (np.concatenate(parts) for parts in zip(*halves, strict=True))
    if not np.isfinite(points).all():
        raise InputError("prior", prior, "must have finite quantiles")
    return WeightedPoints(points, mass / mass.sum(), False)


_POINTER = (
    "must be one number with a quantile function, as the frozen distributions of scipy.stats have: for a vector, a "
    "mixture or anything else that can be simulated use discretise.sample(simulator, ...)"
)


def scalar_law(law: Any, field: str, rule: str) -> None:
    """Refuse what is not a distribution by `rule`, and a vector or a mixture with a pointer to `sample`."""
    if not any(hasattr(law, name) for name in ("pdf", "pmf", "logpdf", "logpmf", "rvs", "cdf")):
        raise InputError(field, law, rule)
    if not hasattr(law, "support") or not hasattr(law, "ppf"):
        kind = type(law).__name__.removesuffix("_frozen")
        raise InputError(field, kind, _POINTER)


@contextmanager
def known_quantiles() -> Iterator[None]:
    """Quantiles of invgauss, yulesimon and others, far out, end in errors of scipy.stats or of what it calls."""
    try:
        yield
    except InputError:
        raise
    except (OverflowError, RuntimeError, ValueError):
        rule = "has quantiles that scipy.stats cannot compute: use discretise.sample, which needs none"
        raise InputError("prior or likelihood", None, rule) from None


class Likelihood:
    """A function theta -> frozen distribution, tabulated at theta_1..theta_T (rows) and data points (columns).

    The function is called once if it accepts an array of thetas, and otherwise once for each theta.
    """

    def __init__(self, likelihood: Callable[[Any], Any], thetas: Array, alike: Likelihood | None = None) -> None:
        """`alike` is the same function at other thetas, which has been examined."""
        self.discrete: bool
        self.together: Any
        self.each: list[Any] | None
        if alike is not None:
            self.thetas, self.given, self.discrete, self.each = thetas, likelihood, alike.discrete, None
            self.together = likelihood(thetas[:, None]) if alike.together is not None else None
            if self.together is None:
                self.each = [likelihood(float(t)) for t in thetas]
            return
        self.thetas, self.given = thetas, likelihood
        probe = likelihood(float(thetas[0]))
        scalar_law(probe, f"likelihood({thetas[0]:.6g})", "must be a frozen scipy.stats distribution")
        self.discrete = hasattr(probe, "pmf")
        if self.discrete:
            _check_median(probe)
        self.together = self._together()
        self.each = None if self.together is not None else [likelihood(float(t)) for t in thetas]
        if any(hasattr(law, "pmf") != self.discrete for law in self.each or []):
            raise InputError("likelihood", None, "must have atoms for every theta or a density for every theta")

    def _together(self) -> Any:
        """One distribution with a row per theta, or None if it differs from the distributions of single thetas."""
        chosen = self.thetas[np.unique(np.linspace(0, len(self.thetas) - 1, 3).astype(int))]
        try:
            few = self.given(chosen[:, None])
            alone = [self.given(float(t)) for t in chosen]
            x = np.sort(np.array([float(d.ppf(q)) for d in alone for q in (0.2, 0.5, 0.9)]))[None, :]
            same = np.allclose(few.cdf(x), np.array([d.cdf(x[0]) for d in alone]), rtol=1e-12, atol=1e-15)
            return self.given(self.thetas[:, None]) if same else None
        except (TypeError, ValueError, ArithmeticError, RuntimeError, AttributeError, IndexError, Warning):
            return None

    def table(self, name: str, x: Array) -> Array:
        """cdf, sf, pdf, pmf or ppf at x, a row per theta."""
        found = self._evaluated(name, x)
        if self.discrete and name in ("cdf", "sf") and np.isnan(found).any():
            # laws of scipy.stats such as hypergeom have no cdf between the integers: there it is that of the floor
            return np.where(np.isnan(found), self._evaluated(name, np.floor(x)), found)
        return found

    def _evaluated(self, name: str, x: Array) -> Array:
        # scipy.stats divides by zero at extreme thetas, and gives the right limits
        with np.errstate(all="ignore"), known_quantiles():
            if self.together is not None:
                law = getattr(self.together, name)

                def columns(start: int, stop: int) -> Array:
                    return np.asarray(law(x[None, start:stop]), dtype=float)

                rows = paced(columns, len(x), len(self.thetas), self.together, axis=1)
                return np.broadcast_to(rows, (len(self.thetas), len(x)))  # one row if it does not depend on theta
            each = self.each or []

            def rows_of(start: int, stop: int) -> Array:
                return np.array([getattr(d, name)(x) for d in each[start:stop]], dtype=float)

            return paced(rows_of, len(each), len(x), each[0])

    def density(self, x: Array) -> Array:
        """f(x|theta), or P(x|theta) of a discrete law; 0 where it is infinite, such as at the end of a support."""
        found = self.table("pmf" if self.discrete else "pdf", x)
        return np.where(np.isfinite(found), found, 0.0)

    def mixture(self, weights: Array, x: Array) -> Array:
        """sum_t weights[t] f(x|theta_t), in blocks of data points; a row for each column of weights, if it has any."""
        step = max(1, _BLOCK // len(self.thetas))
        parts = [weights.T @ self.density(x[k : k + step]) for k in range(0, len(x), step)]
        return np.concatenate(parts, axis=-1) if parts else weights.T @ self.density(x)

    def masses(self, edges: Array) -> Array:
        """P(edges[c] < X <= edges[c+1] | theta)."""
        below, above = self.table("cdf", edges), self.table("sf", edges)
        mass = np.where(below[:, 1:] < 0.5, np.diff(below, axis=1), -np.diff(above, axis=1))
        unknown = self.thetas[np.isnan(mass).any(axis=1)]
        if len(unknown):
            raise _no_law(unknown[0])
        return np.maximum(mass, 0.0)

    def check(self) -> None:
        """Refuse parameters that scipy.stats does not allow at some theta, and a law on a circle (vonmises)."""
        far = self.table("cdf", np.array([np.inf] if self.discrete else [np.inf, 1e18]))
        unknown = self.thetas[np.isnan(far[:, 0])]
        if len(unknown):
            raise _no_law(unknown[0])
        if (far > 1 + 1e-9).any():
            rule = "has a distribution function above 1: it is no law on the line, use discretise.sample"
            raise InputError("likelihood", getattr(_bare(self.given(float(self.thetas[0]))), "name", None), rule)

    def atoms(self, weights: Array, exact: bool = True, deep: bool = True) -> tuple[Array, float]:
        """The values of a discrete law that are tabulated, and the predictive probability of all others.

        Laws of scipy.stats live on the integers, shifted by loc. If loc depends on theta, only a prior with finitely
        many values has countably many data (`exact`). How far the table reaches is a question about the predictive law
        with these weights: a heavy tail at a theta of little weight is light in the mixture. Unbounded losses need it
        `deep`.
        """
        few = self.thetas[_few(self.thetas)]
        every = self.each if self.each is not None else [self.given(float(t)) for t in few]
        if all(hasattr(_bare(d), "xk") for d in every):
            return _tabled(every), 0.0
        places = self.table("ppf", np.array([0.5]))[:, 0]
        known = np.isfinite(places)
        if not known.any():
            raise InputError("likelihood", None, "must have finite quantiles")
        places = np.where(known, places, places[known][0])
        shifts = np.unique(places - np.floor(places))
        if len(shifts) > 1 and not exact:
            rule = "moves its atoms with theta: with a continuous prior the data have no atoms, use discretise.sample"
            raise InputError("likelihood", None, rule)
        order = np.argsort(places)
        centre = float(places[order][np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)])
        reach: Array = np.unique(np.append(np.arange(64.0), np.round(np.geomspace(64.0, 2 * _MOST_ATOMS, 500))))
        _check_sums(every, len(self.thetas) * float(reach.sum()))
        mass = weights / weights.sum()
        below = mass @ self.table("cdf", centre - reach - 1e-6)
        above = mass @ self.table("sf", centre + reach)
        # the nearest places on either side beyond which the predictive law has a probability of at most q
        levels = _BEYOND if deep else _BEYOND[1:]
        sides = np.array([[_first(tail <= q) for tail in (below, above)] for q in levels])
        count = np.append(reach, np.inf)[sides].sum(axis=1) * len(shifts)
        limits = np.append(2 * _MOST_ATOMS if deep else _FEWER_ATOMS, np.full(len(levels) - 1, _FEWER_ATOMS))
        fits = [*np.flatnonzero(count < limits), *np.flatnonzero(count < _MOST_ATOMS)]
        if not fits:
            rule = f"must be fewer than {_MOST_ATOMS}: more than {_BEYOND[-1]:g} of the predictive mass lies beyond"
            raise InputError("atoms of the discrete law", None, rule)
        lower, upper = sides[fits[0]]
        low, high = centre - reach[lower], centre + reach[upper]
        ends = np.array([d.support() for d in every], dtype=float)
        low, high = max(low, float(ends[:, 0].min())), min(high, float(ends[:, 1].max()))
        lattice = (np.arange(np.floor(low) - 1, np.ceil(high) + 1.5)[:, None] + shifts).ravel()
        beyond = float(below[lower] + above[upper])
        return np.unique(lattice[(lattice >= low) & (lattice <= high)]), beyond


def _no_law(theta: float) -> InputError:
    rule = "is no distribution of scipy.stats: its parameters must be allowed for every value of the prior"
    return InputError(f"likelihood({theta:.6g})", None, rule)


def _check_sums(laws: list[Any], terms: float) -> None:
    """Refuse laws whose distribution function scipy.stats computes atom by atom, if these are too many terms."""
    for law in laws:
        if _summed(law) and terms > _MOST_TERMS and not np.isfinite(law.support()).all():
            rule = (
                "has no closed distribution function in scipy.stats: give a prior with few values, or use "
                "discretise.sample"
            )
            raise InputError("likelihood", getattr(_bare(law), "name", None), rule)


def _check_median(law: Any) -> None:
    """Refuse a law whose quantiles scipy.stats would search by summing more atoms than can be tabulated."""
    low, high = law.support()
    if _summed(law) and np.isfinite(low) and not np.isfinite(high):
        mass = float(np.sum(law.pmf(low + np.arange(_MOST_ATOMS))))
        if mass < 0.95:
            rule = f"must be fewer than {_MOST_ATOMS}: {1 - mass:.3g} of the mass lies beyond"
            raise InputError("atoms of the discrete law", getattr(_bare(law), "name", None), rule)


def _summed(law: Any) -> bool:
    """Whether scipy.stats computes the distribution function atom by atom."""
    from scipy.stats import rv_discrete

    return getattr(type(_bare(law)), "_cdf", None) is rv_discrete._cdf


def _bare(law: Any) -> Any:
    return getattr(law, "dist", law)


def _few(values: Array, count: int = 65) -> NDArray[np.intp]:
    """At most `count` positions, from the smallest value to the largest."""
    return np.argsort(values)[np.unique(np.linspace(0, len(values) - 1, count).astype(int))]


def _first(found: NDArray[np.bool_]) -> int:
    """The position of the first True, or the length."""
    return int(found.argmax()) if found.any() else len(found)


def _tabled(laws: list[Any]) -> Array:
    """The atoms of laws that are tables; the support of a shifted table tells by how much it was shifted."""
    shifted = [np.ravel(_bare(d).xk) + (float(d.support()[0]) - np.min(_bare(d).xk)) for d in laws]
    return np.unique(np.concatenate(shifted).astype(float))


@dataclass(frozen=True)
class Predictive:
    """The predictive law of the data, tabulated: x, P(X <= x) and P(X > x)."""

    x: Array
    below: Array
    above: Array

    def quantile(self, q: Array) -> Array:
        """The q quantile by linear interpolation, which is accurate enough to place an edge."""
        lower = np.interp(q, self.below, self.x)
        upper = np.interp(q - 1, -self.above, self.x)
        return np.where(q < 0.5, lower, upper)

    def panels(self, edges: Array, breaks: Array) -> tuple[Array, Array, NDArray[np.intp]]:
        """The intervals (low, high, cell) of a quadrature: cells cut at breaks, tails also where P falls tenfold."""
        first, last = (float(np.interp(e, self.x, p)) for e, p in ((edges[1], self.below), (edges[-2], self.above)))
        levels = np.concatenate([_TAIL * 10, _DEEP * 10])
        tails = [np.interp(first * levels, self.below, self.x)[::-1]]
        tails.append(np.interp(-last * levels, -self.above, self.x))
        inner = np.concatenate([edges[1:-1], breaks, *tails, self.x[[0, -1]]])
        cuts = np.unique(np.clip(inner, self.x[0], self.x[-1]))
        low, high = cuts[:-1], cuts[1:]
        return low, high, np.searchsorted(edges[1:-1], (low + high) / 2, side="left")


def predictive(likelihood: Likelihood, weights: Array, deep: bool = False) -> Predictive:
    """Tabulate sum_t w_t F(x|theta_t) at quantiles of the laws themselves; `deep` goes out to levels of 1e-130."""
    few = Likelihood(likelihood.given, likelihood.thetas[_few(likelihood.thetas)], likelihood)
    x = np.unique([few.table(name, _LEVELS) for name in ("ppf", "isf")])
    x = x[np.isfinite(x)]
    if not len(x):
        raise _no_law(few.thetas[0])
    x = x[np.unique(np.linspace(0, len(x) - 1, _SCAN).astype(int))]
    if deep:
        far = np.ravel([few.table(name, _DEEP) for name in ("ppf", "isf")])
        x = np.unique(np.concatenate([x, far[np.isfinite(far)][:: max(1, len(few.thetas) // 9)]]))
    below, above = weights @ likelihood.table("cdf", x), weights @ likelihood.table("sf", x)
    return Predictive(x, np.maximum.accumulate(below), np.minimum.accumulate(above))


def atom_edges(atoms: Array, mass: Array, cells: int | None, given: Array) -> Array:
    """Edges between all atoms, or only where the cumulative predictive mass passes 1/cells, 2/cells, ..."""
    between = (atoms[:-1] + atoms[1:]) / 2
    if cells is not None and cells < len(atoms):
        part = np.floor(np.cumsum(mass)[:-1] * cells * (1 - 1e-12))
        cut = np.append(part[0] > 0, np.diff(part) > 0) | np.isin(between, _gaps(atoms, given))
        between = between[cut]
    return np.concatenate([[-np.inf], between, [np.inf]])


def _gaps(atoms: Array, given: Array) -> Array:
    """The middle of the gap between atoms in which each given edge c lies: x > c is then x > that middle."""
    k = np.searchsorted(atoms, given, side="right")
    k = k[(k > 0) & (k < len(atoms))]
    return (atoms[k - 1] + atoms[k]) / 2
