"""Rules for expectations over the ordered residuals of n independent N(0, 1) values.

The recursion of module residual gives their density: with d_n the largest residual and d_{m-1} the largest among
the remaining m - 1 about their own mean,
    prod_{m=n}^{2}  m sqrt(m/(m-1)) phi(d_m sqrt(m/(m-1)))     on  0 <= d_{m-1} <= d_m m/(m-1).
For n <= 5 the rule is a product of Gauss-Legendre rules in (d_n, ..., d_2), finer in the first coordinates; a coarser
product measures its error. For n > 5 it is scrambled Sobol points, mapped by the conditional quantiles; the spread of
independent scramblings measures its error.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from scipy.special import ndtri

from gaussian.arrays import Array
from gaussian.piecewise import gauss_nodes
from gaussian.residual import ordered_residuals

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
