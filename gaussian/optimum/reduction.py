"""The optimum over all mechanisms as two convex functions of one variable.

Two signals are enough, and in each cell s an optimal rule is 1{xbar > t_s}, because pi is increasing. Let a_s, b_s be
the masses of s on which Bob decides 1 and 0 on the full data, M_s = a_s + b_s, and P = min_s M_s, Eve's risk without a
release. Eve has risk nu_i at signal i if every cell has mass at least nu_i there. Cells with less get mass from the
other signal, at the lowest cost: the data on which Bob's losses differ least. No cell gets mass at both signals,
because nu_0 + nu_1 <= P <= a_s + b_s. So
(Bob's cost of the data at x is |1 - 2 pi(x)|, or |b - (a + b) pi(x)| if he loses a by a miss and b by a false alarm. If
Eve loses w_s in the cell s that she bets against, all masses of s are multiplied by w_s and its terms divided by it.)
    V = R_B^full + min { f_0(nu_0) + f_1(nu_1) - lam (nu_0 + nu_1) :  nu_0 + nu_1 <= P },
    f_1'(nu) = sum over {s: a_s < nu} of 1 - 2 pi(t),  t with mass nu of s above it,
    f_0'(nu) = sum over {s: b_s < nu} of 2 pi(t) - 1,  t with mass nu of s below it.
Both are increasing in nu, so one root gives the optimum; the marginal costs of the cells are the dual solution:
    u_i(s) = the term of s in f_i'(nu_i)  +  kappa 1{s = s*},     kappa = lam - f_i'(nu_i) >= 0,   M_{s*} = P.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gaussian.optimum.cells import CellLaw
from gaussian.real_arrays import Array

# Masses that differ by less than this share of P give the same risk in double precision.
_CLOSE = 1e-18
# Equal masses may differ by rounding: within this share of P of 0 or of P, a mass is 0 or P.
_ROUND = 4e-15


@dataclass(frozen=True)
class Allocation:
    """Eve's risk nu_i at each signal, its price f_i'(nu_i), the threshold of each cell and the dual u[signal, cell]."""

    nu: tuple[float, float]
    price: float
    thresholds: Array
    u: Array


@dataclass(frozen=True)
class _Costs:
    law: CellLaw
    free: tuple[Array, Array]  # w_s b_s and w_s a_s: what Bob's own decision leaves of the cells at signals 0 and 1

    def threshold(self, signal: int, cell: int, nu: float) -> float:
        mass = nu / float(self.law.weights[cell])
        return self.law.quantile(signal, cell, mass)

    def terms(self, signal: int, nu: float, jump: bool = True) -> Array:
        """The terms of f_i'(nu), or of f_i'(nu+) if jump: the term of a cell wholly beyond t_B jumps at nu = 0."""
        out = np.zeros(self.law.count)
        for s, own in enumerate(self.free[signal]):
            if nu > own or (jump and nu == own):
                out[s] = self._price(signal, self.threshold(signal, s, nu)) / float(self.law.weights[s])
        return out

    def _price(self, signal: int, t: float) -> float:
        miss, alarm = self.law.model.bob_loss
        wins = miss * float(self.law.model.bob_posterior(t)) - alarm * float(self.law.model.bob_doubt(t))
        return max(-wins if signal else wins, 0.0)

    def slope(self, signal: int, nu: float, jump: bool = True) -> float:
        return float(self.terms(signal, nu, jump).sum())

    def sides(self, signal: int, nu: float, total: float) -> tuple[Array, Array]:
        """The terms just below and above nu. They differ at a jump, and if a cell has nearly no mass on one side."""
        step = 2 * _ROUND * total
        below = self.terms(signal, nu - step, jump=False) if nu > step else np.zeros(self.law.count)
        return below, self.terms(signal, min(nu + step, total))

    def supply(self, signal: int, lam: float, total: float) -> float:
        """The largest nu <= total with f_i'(nu) <= lam, or 0."""
        return _root(lambda nu: self.slope(signal, nu) - lam, 0.0, total)


def _root(gap: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function is zero, or the end at which it is nearest to that."""
    from scipy.optimize import brentq

    if gap(low) >= 0:
        return low
    if gap(high) <= 0:
        return high
    return float(brentq(gap, low, high, xtol=_CLOSE * high, rtol=4 * np.finfo(float).eps, maxiter=1000))


def allocate(law: CellLaw, lam: float) -> Allocation:
    """The optimal split of the cells at one lam, with its dual solution."""
    costs = _Costs(law, (law.weights * law.own[0], law.weights * law.own[1]))
    totals = law.weights * law.own.sum(0)
    rare = int(totals.argmin())
    total = float(totals[rare])
    nu, price = _levels(costs, lam, total)
    thresholds = np.array([_threshold(costs, s, nu) for s in range(law.count)])
    sides = [costs.sides(i, nu[i], total) for i in (0, 1)]
    if price is None:
        # a price in the subdifferentials of f_0 at nu_0 and of f_1 at nu_1
        low, high = max(float(below.sum()) for below, _ in sides), min(float(above.sum()) for _, above in sides)
        price = min(lam, max(low, min(high, max(costs.slope(i, nu[i], jump=False) for i in (0, 1)))))
    u = np.stack([_reply(*pair, price, lam, rare) for pair in sides])
    return Allocation(nu, price, thresholds, u)


def _levels(costs: _Costs, lam: float, total: float) -> tuple[tuple[float, float], float | None]:
    """The minimising (nu_0, nu_1) and its price lam - kappa, or None if the terms at nu determine the price."""
    free = float(costs.free[0].min()), float(costs.free[1].min())
    if free[0] + free[1] >= total or lam == 0:
        # at Bob's own decision one cell is least at both signals: the corner, at no cost
        return free, 0.0
    wanted = costs.supply(0, lam, total), costs.supply(1, lam, total)
    if wanted[0] + wanted[1] < total:
        return wanted, lam
    low, high = max(total - wanted[0], 0.0), wanted[1]

    def gap(nu: float) -> float:
        return costs.slope(1, nu) - costs.slope(0, max(total - nu, 0.0))

    nu = _root(gap, low, high)
    nu = 0.0 if nu <= _ROUND * total else total if nu >= (1 - _ROUND) * total else nu
    return (max(total - nu, 0.0), nu), None


def _threshold(costs: _Costs, cell: int, nu: tuple[float, float]) -> float:
    for signal in (1, 0):
        if nu[signal] > costs.free[signal][cell]:
            return costs.threshold(signal, cell, nu[signal])
    return costs.law.centre


def _reply(below: Array, above: Array, price: float, lam: float, rare: int) -> Array:
    """Eve's mixed reply to one signal, times lam: terms with sum price, and the rest on the least likely cell."""
    low, high = float(below.sum()), float(above.sum())
    share = min(max((price - low) / (high - low), 0.0), 1.0) if high > low else 0.0
    u = below + share * (above - below)
    u[rare] += max(lam - float(u.sum()), 0.0)
    return np.asarray(u * (lam / u.sum()) if lam > 0 else np.zeros_like(u))
