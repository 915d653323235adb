"""sum_x rho[x,s] loss[x,d]: what decision d costs at signal s, and the sum over signals of the least of them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
from flint import fmpq_mat, fmpz

from bap_lp.support.rational import EXACT, FEW, UNIT, Array, common_denominator, floats, is_exact, objects, tree_sum

_DENOMINATOR = attrgetter("q")
_LONG = 200  # bits
# one product of whole tables is faster than one per signal, up to 25 times where all signals are sent in all states, if
# the common denominator has at most so many bits and one probability of so many is not zero
_ALIKE, _SPARSE = 400, 32
_TINY, _LEAST = 1e-290, 5e-324  # covers underflow in a float filter; the smallest float


def signal_losses(rho: Array, loss: Array) -> Array:
    """sum_x rho[x,s] loss[x,d]: signals x decisions. Exact channels are mostly zeros: skip them."""
    if not is_exact(rho):
        return rho.T @ floats(loss)
    if rho.size <= FEW:
        return rho.T.dot(loss)
    if rho.size <= _SPARSE * np.count_nonzero(rho) and _alike(rho) and _alike(loss):
        return objects(_product(rho.T, loss).entries()).reshape(rho.shape[1], loss.shape[1])
    sums, every = _SignalSums(rho, loss), np.arange(loss.shape[1])
    out = EXACT.zeros((rho.shape[1], loss.shape[1]))
    for s in np.flatnonzero(sums.sent.any(axis=0)).tolist():
        short, long = sums.parts(s, every)
        out[s] = (short + long / sums.scale).entries()
    return out


class _SignalSums:
    """sum_x rho[x,s] loss[x,d] in rationals.

    The long probabilities of split states mostly have one denominator, that of the vertex: they are multiplied by it,
    `scale`, and summed apart. If they have little in common, scale is one.
    """

    def __init__(self, rho: Array, loss: Array) -> None:
        self.rho, self.loss, self.sent = rho, loss, rho.astype(bool)
        bits = [v.height_bits() for v in rho[self.sent].tolist()]
        self.long = np.zeros(rho.shape, dtype=bool)
        self.long[self.sent] = [size > _LONG for size in bits]
        scale = common_denominator(rho[self.long])
        self.scale = scale.p if scale.height_bits() <= 2 * max(bits, default=0) else fmpz(1)

    def parts(self, s: int, decisions: Array) -> list[fmpq_mat]:
        """The sums for some decisions over the states with short probabilities, and scale times those over others."""
        short, long = np.flatnonzero(self.sent[:, s] & ~self.long[:, s]), np.flatnonzero(self.long[:, s])
        amounts = (short, self.rho[short, s]), (long, self.rho[long, s] * self.scale)
        return [_product(weights[None], self.loss[np.ix_(x, decisions)]) for x, weights in amounts]


def weighted_sums(weights: Array, table: Array) -> Array:
    """sum_x weights[x] table[x,d] in rationals; flint takes common denominators out before it adds."""
    return objects(_product(weights[None], table).entries())


def product_sum(left: Array, right: Array) -> Any:
    """sum_k left[k] right[k] in rationals."""
    if not (is_exact(left) and _alike(left) and _alike(right)):
        return tree_sum(left * right)
    return _product(left[None], right[:, None])[0, 0]


def _product(left: Array, right: Array) -> fmpq_mat:
    first, second = (fmpq_mat(*table.shape, table.ravel().tolist()) for table in (left, right))
    return first * second


def _alike(values: Array) -> bool:
    """Whether the numbers have a short common denominator, as those of floats do: then they are integers to flint."""
    common = fmpz(1)
    for q in set(map(_DENOMINATOR, values.ravel().tolist())):
        common = common.lcm(q)
        if common.bit_length() > _ALIKE:
            return False
    return True


def near_least(rho: Array, loss: Array, group_of: Array) -> Array:
    """Which decisions may be the least of their group at each signal, by float sums: signals x decisions.

    A float sum of n products is off by at most n + 4 ulp of the sum of their sizes, the rounding of the data included;
    the doubled count covers the rounding of the bound itself, and the last two terms underflow.
    """
    starts = np.flatnonzero(np.diff(group_of, prepend=-1))
    with np.errstate(over="ignore", invalid="ignore"):
        found, size = rho.T @ loss, np.abs(rho).T @ np.abs(loss)
        error = 2 * (len(rho) + 4) * UNIT * size + _TINY + _LEAST * np.abs(loss).sum(axis=0)
        top = np.minimum.reduceat(found + error, starts, axis=1)
        return ~(found - error > top[:, group_of])


def least_sums(rho: Array, loss: Array, rounded: Array, group_of: Array) -> Array:
    """sum_s min_{d in g} sum_x rho[x,s] loss[x,d] per group, in rationals where floats do not exclude d."""
    small, sums = np.zeros(rho.shape), _SignalSums(rho, loss)
    small[sums.sent] = floats(rho[sums.sent])
    least = EXACT.zeros((rho.shape[1], 2, group_of[-1] + 1))  # short and long parts
    for s, near in enumerate(near_least(small, rounded, group_of)):
        open_ = np.flatnonzero(near)
        short, long = sums.parts(s, open_)
        (first, unit), (second, other) = short.numer_denom(), long.numer_denom()
        whole = (first * (other * sums.scale) + second * unit).entries()  # integers are faster to compare
        best: dict[int, int] = {}
        for d, g in enumerate(group_of[open_].tolist()):
            best[g] = min(best.get(g, d), d, key=whole.__getitem__)
        for g, d in best.items():
            least[s, :, g] = short[0, d], long[0, d]
    total = tree_sum(least)
    return total[0] + total[1] / sums.scale
