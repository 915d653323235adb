"""A statistic S with sub-densities A_k, released with noise:  f_k(eta) = integral A_k(s) phi_sigma(eta - s) ds.

Two quadratures, both on the smooth panels of A_k:
  wide noise    panels are cut to at most 3/2 sigma and have 16 Gauss-Legendre nodes each, the same for all eta;
  narrow noise  around each eta the window of +-8.6 sigma is cut into equal parts and at every kink of A_k inside it.
The risk of the noisy release is then  integral of min_k f_k.
"""

from __future__ import annotations

import numpy as np

from gaussian.laws.mean import REACH, normal_density, panel_edges
from gaussian.numerics.piecewise import Function, Piecewise, fit, gauss_nodes
from gaussian.real_arrays import Array

_WIDE_PANELS = 160
_CHUNK = 4_000_000
SMOOTH_TOL = 1e-13


def _wide(law: Piecewise, sigma: float) -> Function:
    cuts = np.maximum(np.ceil(np.diff(law.breaks) / (1.5 * sigma)).astype(int), 1)
    start = np.repeat(law.breaks[:-1], cuts)
    width = np.repeat(np.diff(law.breaks) / cuts, cuts)
    index = np.arange(len(start)) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    x, w = gauss_nodes(start + index * width, start + (index + 1) * width, 16)
    nodes, weighted = x.ravel(), law(x.ravel()) * w.ravel()
    heavy = np.abs(weighted).max(0) > 1e-22
    nodes, weighted = nodes[heavy], weighted[:, heavy]

    def smoothed(eta: Array) -> Array:
        order = np.argsort(eta)
        result = np.empty((len(weighted), eta.size))
        for part in np.array_split(order, max(1, eta.size // 24)):
            first, last = np.searchsorted(nodes, [eta[part[0]] - REACH * sigma, eta[part[-1]] + REACH * sigma])
            kernel = normal_density(nodes[first:last, None] - eta[part], sigma)
            result[:, part] = weighted[:, first:last] @ kernel
        return result

    return smoothed


def _narrow(law: Piecewise, sigma: float, kinks: Array) -> Function:
    fine = np.diff(law.breaks) < 2 * sigma
    cuts = np.union1d(kinks, law.breaks[:-1][fine])
    window = np.linspace(-REACH, REACH, 11)

    def part_values(eta: Array) -> Array:
        # in units of sigma about eta: where sigma is far below eta, eta + sigma z has no digits of z
        inside = np.clip(cuts - eta[:, None], -REACH * sigma, REACH * sigma) / sigma
        edges = np.sort(np.concatenate([np.broadcast_to(window, (eta.size, window.size)), inside], axis=1), axis=1)
        z, w = gauss_nodes(edges[:, :-1], edges[:, 1:], 12)
        return np.sum(law(eta[:, None, None] + sigma * z) * w * normal_density(z, 1.0), axis=(2, 3))

    def smoothed(eta: Array) -> Array:
        chunks = np.array_split(eta, max(1, eta.size * (cuts.size + 11) * 12 // _CHUNK))
        return np.concatenate([part_values(part) for part in chunks], axis=1)

    return smoothed


def add_noise(law: Piecewise, sigma: float, kinks: list[float]) -> Piecewise:
    """Sub-densities of S + N(0, sigma^2), sigma > 0; kinks are the points where the law of S is not smooth."""
    low, high = float(law.breaks[0]), float(law.breaks[-1])
    wide = high - low <= _WIDE_PANELS * 1.5 * sigma
    function = _wide(law, sigma) if wide else _narrow(law, sigma, np.asarray(kinks))
    near = [kink + step * sigma for kink in kinks for step in (-6.0, -2.0, 0.0, 2.0, 6.0)]
    return fit(function, panel_edges(low - REACH * sigma, high + REACH * sigma, 16, near), SMOOTH_TOL)
