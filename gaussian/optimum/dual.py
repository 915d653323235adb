"""Weak duality on the continuous model: any u bounds the least R_A from below, and any rule bounds it from above.

For u_0, u_1 >= 0 on the cells with sum lam (lam times Eve's mixed replies to Bob's two signals),
    D(u) = sum_s  integral A_s(x) min( pi(x) - u_0(s),  1 - pi(x) - u_1(s) ) dx   <=   R_A(q)   for every mechanism q.
In cell s the minimum switches once, where pi(x) = (1 + u_0(s) - u_1(s))/2. A rule with masses m_i(s, theta) has
    R_A = sum_i min_d P(signal i, Bob's d wrong)  -  lam sum_i min_s m_i(s).
Both are evaluated by two quadrature rules. The error is the sum of their difference, of the error of the cells' law and
of rounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bap_lp.rational import InputError
from gaussian.arrays import Array
from gaussian.masses import joint_risks
from gaussian.optimum.cells import ROUNDING, CellLaw


@dataclass(frozen=True)
class DualBound:
    """A number and a bound on its error."""

    value: float
    error: float


@dataclass(frozen=True)
class SplitRisks:
    """R_B and R_E of a rule with one threshold per cell, and the error of R_A = bob - lam * eve."""

    bob: float
    eve: float
    error: float


def dual_value(law: CellLaw, u: ArrayLike, lam: float) -> DualBound:
    """D(u), a lower bound on R_A over all mechanisms once its error is subtracted."""
    prices = np.asarray(u, dtype=float)
    if prices.shape != (2, law.count):
        raise InputError("u", None, f"has shape {prices.shape}, must have {(2, law.count)}: a row per signal")
    if prices.min() < 0:
        raise InputError("u", float(prices.min()), "must not be negative")
    switch = law.model.bit_threshold(np.clip((1 + prices[0] - prices[1]) / 2, 0.0, 1.0))
    coarse, fine = law.split(switch), law.finer.split(switch)
    first, second = _dual(coarse, prices), _dual(fine, prices)
    # D decreases in u: a row with sum > lam is still a bound, and raising a row to sum lam costs at most what it lacks
    lacking = float(np.maximum(lam - prices.sum(1), 0.0).max())
    size = float(fine[0, 1].sum() + fine[1, 0].sum() + (prices * fine.sum(1)).sum())
    error = abs(second - first) + float(((1 + prices) @ law.errors).sum()) + ROUNDING * size + lacking
    return DualBound(second, error)


def _dual(masses: Array, prices: Array) -> float:
    bob = masses[0, 1].sum() + masses[1, 0].sum()
    return float(bob - (prices * masses.sum(1)).sum())


def split_risks(law: CellLaw, thresholds: Array, lam: float) -> SplitRisks:
    """The risks of the rule that releases 1{xbar > thresholds[s]} in cell s, under Bob's and Eve's best replies."""
    coarse, fine = law.split(thresholds), law.finer.split(thresholds)
    (bob, eve), (coarse_bob, coarse_eve) = joint_risks(fine), joint_risks(coarse)
    drift = abs(bob - coarse_bob) + lam * abs(eve - coarse_eve)
    # the true min_s m_s lies between min_s (m_s - e_s)+ and min_s (m_s + e_s), where e_s is the error of m_s
    least = [fine.sum(1).min(1)]
    for sign in (-1, 1):
        least.append(np.maximum(fine.sum(1) + sign * law.errors, 0.0).min(1))
    eve_error = float(max(abs(other - least[0]).sum() for other in least[1:]))
    error = drift + 2 * float(law.errors.sum()) + lam * eve_error + ROUNDING * (bob + lam * eve)
    return SplitRisks(bob, eve, error)
