"""Posterior means from simulated draws: E[f(theta)|s] estimated by the mean of f over the k nearest draws.

With N draws and a statistic s of dimension d the squared bias falls like (k/N)^(4/d) and the variance like 1/k, so
k of order N^(4/(4+d)) balances them. The standard error is that of a mean of k values; it does not include the bias.
In one dimension the neighbours are k consecutive draws in the order of s, and running sums give their means. In more
dimensions a k-d tree finds them, after s is standardised.
A draw is left out of its own mean, because its theta would carry information that its data do not have.
"""

from __future__ import annotations

import math

import numpy as np

from gaussian.real_arrays import Array

_BLOCK = 1 << 22  # neighbours held at a time


def default_neighbours(size: int, dimension: int) -> int:
    """N^(4/(4+d)) / 4, at least 1 and less than N."""
    return max(1, min(math.ceil(size ** (4 / (4 + dimension)) / 4), size - 1))


class Neighbours:
    """Means of the rows of `values` over the k draws nearest to a statistic."""

    def __init__(self, statistic: Array, values: Array, k: int) -> None:
        self.k, self.values, self.statistic = k, values, statistic
        spread = statistic.std(axis=0)
        self.scale = np.where(spread > 0, spread, 1.0)
        if statistic.shape[1] == 1:
            self.order = np.argsort(statistic[:, 0], kind="stable")
            self.sorted = statistic[self.order, 0]
            start = np.zeros((1, values.shape[1]))
            self.sums = np.vstack([start, np.cumsum(values[self.order], axis=0)])
            self.squares = np.vstack([start, np.cumsum(values[self.order] ** 2, axis=0)])
        else:
            from scipy.spatial import cKDTree

            self.tree = cKDTree(statistic / self.scale)

    def own(self) -> tuple[Array, Array]:
        """Mean and standard error at every draw, without the draw itself."""
        size = len(self.values)
        if self.statistic.shape[1] > 1:
            return self._tree(self.statistic, own=True)
        rank = np.empty(size, dtype=np.intp)
        rank[self.order] = np.arange(size)
        first = np.clip(rank - self.k // 2, 0, size - self.k - 1)
        total, square = (c[first + self.k + 1] - c[first] for c in (self.sums, self.squares))
        return self._moments(total - self.values, square - self.values**2)

    def at(self, statistic: Array) -> tuple[Array, Array]:
        """Mean and standard error at new statistics."""
        if self.statistic.shape[1] > 1:
            return self._tree(statistic, own=False)
        place = np.searchsorted(self.sorted, statistic[:, 0])
        first = np.clip(place - self.k // 2, 0, len(self.values) - self.k)
        total, square = (c[first + self.k] - c[first] for c in (self.sums, self.squares))
        return self._moments(total, square)

    def _tree(self, statistic: Array, own: bool) -> tuple[Array, Array]:
        parts = []
        step = max(1, _BLOCK // (self.k + 1) // self.values.shape[1])
        for start in range(0, len(statistic), step):
            rows = statistic[start : start + step] / self.scale
            near = self.tree.query(rows, self.k + own)[1].reshape(len(rows), -1)
            if own:  # drop the draw itself; if draws with the same statistic come before it, drop the last
                itself = near == np.arange(start, start + len(rows))[:, None]
                itself[~itself.any(axis=1), -1] = True
                near = near[~itself].reshape(len(rows), self.k)
            chosen = self.values[near]
            parts.append(self._moments(chosen.sum(axis=1), (chosen**2).sum(axis=1)))
        return np.vstack([p[0] for p in parts]), np.vstack([p[1] for p in parts])

    def _moments(self, total: Array, square: Array) -> tuple[Array, Array]:
        mean = np.maximum(
            total / self.k, 0.0
        )  # losses are not negative, but differences of running sums may be, by rounding
        return mean, np.sqrt(np.maximum(square / self.k - mean**2, 0.0) / max(self.k - 1, 1))
