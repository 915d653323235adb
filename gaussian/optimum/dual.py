"""Weak duality on the continuous model: any u bounds the least R_A from below, and any rule bounds it from above.

Bob loses a by a miss and b by a false alarm (a = b = 1 for 0-1 loss), Eve loses w_s in the cell s that she bets
against. For u_0, u_1 >= 0 on the cells with sum lam (lam times Eve's mixed replies to Bob's two signals),
    D(u) = sum_s  integral A_s(x) min( a pi(x) - w_s u_0(s),  b (1 - pi(x)) - w_s u_1(s) ) dx   <=   R_A(q)   for every
    q.
In cell s the minimum switches once, where pi(x) = (b + w_s (u_0(s) - u_1(s)))/(a + b). A rule with masses m_i(s, theta)
has
    R_A = sum_i min_d (Bob's loss by d at signal i)  -  lam sum_i min_s w_s m_i(s).
Both are evaluated by two quadrature rules. The error is the sum of their difference, of the error of the cells' law and
of rounding. The switch is known to a few units in the last place of pi, not of x: between the computed and the true
switch the two branches of the minimum differ by at most that much, times a + b, so D(u) by at most 1e-15 (a + b).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from bap_lp.support.rational import InputError
from gaussian.numerics.masses import joint_risks
from gaussian.optimum.cells import ROUNDING, CellLaw
from gaussian.real_arrays import Array


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
    miss, alarm = law.model.bob_loss
    # the smaller of tau and 1 - tau keeps its digits
    step = law.weights * (prices[0] - prices[1])
    tau, rest = (np.clip((loss + sign * step) / (miss + alarm), 0.0, 1.0) for loss, sign in ((alarm, 1), (miss, -1)))
    switch = law.model.score_threshold(np.where(tau <= rest, ndtri(tau), -ndtri(rest)))
    coarse, fine = law.split(switch), law.finer.split(switch)
    first, second = _dual(law, coarse, prices), _dual(law, fine, prices)
    # D decreases in u: a row with sum > lam is still a bound. What a row lacks may be added on any cell s, which costs
    # at most w_s M_s times it: the rarest cell is the cheapest.
    lacking = float(np.maximum(lam - prices.sum(1), 0.0).sum()) * float((law.weights * (law.masses + law.errors)).min())
    worth = law.weights * prices
    size = float(miss * fine[0, 1].sum() + alarm * fine[1, 0].sum() + (worth * fine.sum(1)).sum())
    wrong = law.split_errors(switch)
    error = abs(second - first) + float(((max(miss, alarm) + worth) * wrong).sum())
    return DualBound(second, error + ROUNDING * (size + miss + alarm) + lacking)


def _dual(law: CellLaw, masses: Array, prices: Array) -> float:
    miss, alarm = law.model.bob_loss
    bob = miss * masses[0, 1].sum() + alarm * masses[1, 0].sum()
    return float(bob - (law.weights * prices * masses.sum(1)).sum())


def split_risks(law: CellLaw, thresholds: Array, lam: float) -> SplitRisks:
    """The risks of the rule that releases 1{xbar > thresholds[s]} in cell s, under Bob's and Eve's best replies."""
    coarse, fine = law.split(thresholds), law.finer.split(thresholds)
    losses = law.model.bob_loss, law.weights
    (bob, eve), (coarse_bob, coarse_eve) = joint_risks(fine, *losses), joint_risks(coarse, *losses)
    drift = abs(bob - coarse_bob) + lam * abs(eve - coarse_eve)
    # the true min_s w_s m_s lies between min_s w_s (m_s - e_s)+ and min_s w_s (m_s + e_s), where e_s is the error of
    # m_s
    least, wrong = [(law.weights * fine.sum(1)).min(1)], law.split_errors(thresholds)
    for sign in (-1, 1):
        least.append((law.weights * np.maximum(fine.sum(1) + sign * wrong, 0.0)).min(1))
    eve_error = float(max(abs(other - least[0]).sum() for other in least[1:]))
    error = drift + max(law.model.bob_loss) * float(wrong.sum()) + lam * eve_error
    return SplitRisks(bob, eve, error + ROUNDING * (bob + lam * eve))
