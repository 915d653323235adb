"""The functions of the data whose integrals are the risks, as polynomials on panels or as values at atoms.

With beta_0 = p the predictive density, beta_i(x) = p(x) B(x,i) and eta_j(x) = p(x) E(x,j), E weighted, every risk is an
integral of one of them over the data that send a signal. If the data have a density, the line is cut at predictive
quantiles and at the given breaks, and panels are halved until Chebyshev polynomials of degree 15 represent all the
functions: the last coefficients and the miss at two points next to the ends are the error. A panel outside the last
quantile is twice as wide as the one before, until the functions have no mass left; a risk whose panels do not fade is
infinite. If the data have atoms, the functions are their values there. Two sums that are known without the panels check
the result: int p = 1 and int beta_i = E[L_B(theta, i)]; what they miss is added to the error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bap_lp import InputError
from gaussian.real_arrays import Array

Functions = Callable[[Array], tuple[Array, Array]]

NODES = 16
_K = np.arange(NODES)
_T = np.cos(np.pi * (_K + 0.5) / NODES)
_EDGE = 1 - 1e-9
_POINTS = np.concatenate([_T, [-_EDGE, _EDGE]])
_TO_COEFS = np.cos(np.pi * np.outer(_K, _K + 0.5) / NODES) * 2 / NODES
_TO_COEFS[0] /= 2
_AT_EDGES = np.cos(np.outer(np.arccos([-_EDGE, _EDGE]), _K))
INTEGRAL = np.where(_K % 2 == 0, 2 / (1 - np.where(_K % 2 == 0, _K, 0.0) ** 2.0), 0.0)
_TOLERANCE = 1e-14  # of one panel, relative to the integral of the function
_DEEPEST = 45
_NARROW = 1e-12  # of x: rounding in the nodes of narrower panels is as large as what halving would resolve
_MOST = 20_000
_FADED = 1e-17
_BATCH = 6  # panels of a tail that are treated together
_FARTHEST = 1e290


@dataclass(frozen=True, eq=False)
class PanelLaw:
    """Functions on panels: coefs[panel, function, degree] in the local coordinate -1..1; errors of their integrals."""

    low: Array
    high: Array
    coefs: Array
    error: Array

    @cached_property
    def half(self) -> Array:
        """Half the width of each panel."""
        return np.asarray((self.high - self.low) / 2)

    @cached_property
    def totals(self) -> Array:
        """The integral of each function."""
        return np.asarray(self.half @ (self.coefs @ INTEGRAL))

    def local(self, x: Array, panel: NDArray[np.intp]) -> Array:
        """The coordinate -1..1 in the panel."""
        return np.asarray(np.clip((x - (self.low[panel] + self.high[panel]) / 2) / self.half[panel], -1, 1))

    def at(self, panel: NDArray[np.intp], t: Array) -> Array:
        """The functions at local coordinates, a row each."""
        basis = np.cos(np.arccos(t)[:, None] * _K)
        return np.asarray(np.einsum("pk,pmk->pm", basis, self.coefs[panel]))

    def integrals(self, panel: NDArray[np.intp], left: Array, right: Array) -> Array:
        """The integrals over parts [left, right] of panels, in local coordinates: a row per part."""
        z, w = np.polynomial.legendre.leggauss(NODES // 2 + 1)
        width = (right - left) / 2
        out = np.zeros((len(panel), self.coefs.shape[1]))
        for node, weight in zip(z, w, strict=True):
            out += weight * self.at(panel, (left + right) / 2 + width * node)
        return np.asarray(out * (width * self.half[panel])[:, None])


def resolve(functions: Functions, edges: Array, open_ends: tuple[bool, bool], names: list[str]) -> PanelLaw:
    """Panels on which the functions are polynomials, from `edges` outwards where an end is open."""
    law = _refined(functions, edges)
    parts = [law]
    for side, is_open in enumerate(open_ends):
        if is_open:
            parts += _tail(functions, edges, side, np.abs(law.totals) + 1e-290, names)
    fields = [np.concatenate([getattr(part, name) for part in parts]) for name in ("low", "high", "coefs", "error")]
    order = np.argsort(fields[0], kind="stable")
    return PanelLaw(*(field[order] for field in fields))


def _measure(functions: Functions, low: Array, high: Array) -> tuple[PanelLaw, Array]:
    """Panels as they are, and the part of their error that halving would lower, panel by panel and function."""
    middle, half = (low + high) / 2, (high - low) / 2
    x = np.clip(middle[:, None] + half[:, None] * _POINTS, low[:, None], high[:, None])
    values, wrong = (table.reshape(*x.shape, -1) for table in functions(x.ravel()))
    coefs = np.einsum("kn,pnm->pmk", _TO_COEFS, values[:, :NODES])
    miss = np.abs(np.einsum("ek,pmk->pme", _AT_EDGES, coefs) - values[:, NODES:].transpose(0, 2, 1)).max(axis=2)
    width = 2 * half[:, None]
    rule = width * (np.abs(coefs[:, :, -3:]).max(axis=2) + 0.01 * miss)
    given = width * wrong[:, :NODES].mean(axis=1)
    # coefficients that are no larger than what the values are known to cannot be lowered
    noise = width * (2 * wrong[:, :NODES].max(axis=1) + 1e-15 * np.abs(values).max(axis=1))
    return PanelLaw(low, high, coefs, rule + given), np.maximum(rule - noise, 0.0)


def _refined(functions: Functions, edges: Array, scale: Array | float = 1e-290) -> PanelLaw:
    """Panels halved until their errors are small against the integrals over them or `scale`."""
    low, high = edges[:-1], edges[1:]
    depth = np.zeros(len(low), dtype=int)
    done: list[PanelLaw] = []
    while len(low):
        law, excess = _measure(functions, low, high)
        found = np.abs(law.half[:, None] * (law.coefs @ INTEGRAL))
        settled = sum((np.abs(part.totals) for part in done), np.zeros(found.shape[1]))
        size = np.maximum(settled + found.sum(axis=0), scale)
        split = (excess > _TOLERANCE * size).any(axis=1) & (depth < _DEEPEST)
        split &= high - low > _NARROW * np.abs(low + high)
        if len(low) + sum(len(part.low) for part in done) > _MOST:
            split &= False
        keep = ~split
        done.append(PanelLaw(low[keep], high[keep], law.coefs[keep], law.error[keep]))
        middle = (low + high)[split] / 2
        low, high = (np.concatenate(pair) for pair in ((low[split], middle), (middle, high[split])))
        depth = np.tile(depth[split] + 1, 2)
    fields = [np.concatenate([getattr(part, name) for part in done]) for name in ("low", "high", "coefs", "error")]
    return PanelLaw(*fields)


def _tail(functions: Functions, edges: Array, side: int, scale: Array, names: list[str]) -> list[PanelLaw]:
    """Panels outside the first (side 0) or last edge, each twice as wide as the one before."""
    end = float(edges[-1 if side else 0])
    step = float(edges[-1] - edges[-2] if side else edges[1] - edges[0])
    parts: list[PanelLaw] = []
    shares: list[Array] = []
    while True:
        reach = end + (1 if side else -1) * step * (2.0 ** np.arange(_BATCH + 1) - 1)
        if not np.abs(reach[-1]) < _FARTHEST:
            raise InputError(names[int(shares[-1].argmax())] if shares else names[0], None, _INFINITE)
        part = _refined(functions, np.sort(reach), scale)
        parts.append(part)
        # the integrals over each of the panels, from the inside outwards
        place = np.searchsorted(np.abs(reach - end), np.abs((part.low + part.high) / 2 - end)) - 1
        whole = part.half[:, None] * (part.coefs @ INTEGRAL)
        for k in range(_BATCH):
            shares.append(np.abs(whole[place == k].sum(axis=0)) / scale)
        scale = scale + np.abs(part.totals)
        if (np.maximum(shares[-1], shares[-2]) < _FADED).all():
            # what lies farther out fades at least as fast as the last two panels
            part.error[-1 if side else 0] += 2 * (shares[-1] + shares[-2]) * scale
            return parts
        if len(shares) > 90:
            slow = (shares[-1] > 0.3 * shares[-30]) & (shares[-1] > 1e-14)
            if slow.any():
                raise InputError(names[int(np.flatnonzero(slow)[0])], None, _INFINITE)
        end, step = float(reach[-1]), step * 2.0**_BATCH


_INFINITE = (
    "is infinite, or nearly so: the tails of the data are heavier than can be integrated; choose a bounded loss, or "
    "use discretise.sample"
)
