"""Closed forms for the one-bit release: the corner, when publishing Bob's decision reaches it, and the plateaus in tau.

With pi = P(theta > c_B), p = P(Eve's event), beta = P(Bob decides 1 on the full data) and
kappa_j = P(Eve's event | decision j):
    R_A >= R_A* = 2 R_B^full - min(pi, 1 - pi)  for every release, at the calibrated lam;
    the decision reaches R_A* iff p is outside (1/2 - (1-beta) s, 1/2 + beta s),  s = kappa_1 - kappa_0;
    against the mean the lost band is (beta/2, (1+beta)/2),  beta = Phi(-c_B sqrt(vbar)/sigma_0^2), and R_E stays at
    its prior value for tau >= tau_min(p) if p > 1/2 and for tau <= tau_max(p) if p < 1/2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import ndtr, ndtri

from gaussian import _checks
from gaussian.mean_law import mean_eve_law
from gaussian.model import BothEves, Eve, GaussianModel
from gaussian.owen import gaussian_pair_risk, prior_risk


def corner(model: GaussianModel) -> float:
    """R_A*: Bob's full-data risk together with Eve's prior risk, at the calibrated lam."""
    full = float(gaussian_pair_risk(model.bob_threshold, model.prior_sd, model.n**-0.5))
    return 2 * full - prior_risk(model.bob_threshold, model.prior_sd)


def decision_rate(model: GaussianModel) -> float:
    """beta = P(Bob decides theta > c_B on the full data)."""
    return float(ndtr(-model.bob_threshold * model.xbar_sd / model.prior_sd**2))


def mean_lost_band(model: GaussianModel) -> tuple[float, float]:
    """The p between which the mean's adversary keeps Bob's decision from the corner: (beta/2, (1 + beta)/2)."""
    beta = decision_rate(model)
    return beta / 2, (1 + beta) / 2


def mean_plateau_edge(model: GaussianModel, p: float) -> float:
    """tau_min(p) for p > 1/2, tau_max(p) for p < 1/2: where R_E of the one-bit release leaves its prior value."""
    p = _checks.unit("p", p)
    if p == 0.5:
        raise ValueError("p = 0.5 must differ from 1/2: an undecided Eve has no plateau")
    share = 2 * (1 - p) if p > 0.5 else 1 - 2 * p
    shift = model.bob_threshold * math.sqrt(model.n * model.prior_sd**2 + 1) / model.prior_sd
    return float(ndtr(math.sqrt(model.n) * model.prior_sd * ndtri(share) - shift))


@dataclass(frozen=True)
class DecisionEffect:
    """What Bob's decision tells Eve: p, beta, kappa_0 and kappa_1, their difference s, the lost band of p."""

    p: float
    beta: float
    kappa: tuple[float, float]
    s: float
    lost_band: tuple[float, float]
    reaches_corner: bool


def decision_effect(model: GaussianModel, eve: Eve) -> DecisionEffect:
    """The condition for the one-bit release at tau = 1/2 to be optimal among all releases, for one test of Eve."""
    if isinstance(eve, BothEves):
        raise ValueError(f"eve = {eve} must be MeanEve or MaxEve: the band is about a single test")
    law = mean_eve_law(model, eve)
    below, above = law.sides(float(model.bit_threshold(0.5)))
    beta = decision_rate(model)
    kappa = (float(below[1] / (1 - beta)), float(above[1] / beta))
    p, s = float(law.mass[1]), kappa[1] - kappa[0]
    band = (0.5 - (1 - beta) * s, 0.5 + beta * s)
    return DecisionEffect(p, beta, kappa, s, band, not band[0] < p < band[1])
