"""Closed forms for the one-bit release: the corner, the condition under which it is reached, the plateaus in tau.

With pi = P(theta > c_B), p = P(Eve's event), beta = P(Bob decides 1 on the full data) and
kappa_j = P(Eve's event | decision j):
    R_A >= R_A* = 2 R_B^full - min(pi, 1 - pi)  for every release, at the calibrated lam;
    publishing Bob's decision reaches R_A* iff p is outside the lost band (1/2 - (1-beta) s, 1/2 + beta s),
    s = kappa_1 - kappa_0.
Against the mean the lost band is (beta/2, (1+beta)/2) with beta = Phi(-c_B sqrt(vbar)/sigma_0^2). There R_E keeps its
prior value for tau >= tau_min(p) if p > 1/2, and for tau <= tau_max(p) if p < 1/2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from scipy.special import ndtr, ndtri

from gaussian import _checks
from gaussian.eves import UNIT_LOSS, ThresholdEve
from gaussian.laws.mean import mean_eve_law
from gaussian.laws.owen import gaussian_pair_risk, prior_risk
from gaussian.model import Eve, GaussianModel, standard_form


def corner(model: GaussianModel) -> float:
    """R_A*: the R_A of Bob's full-data risk together with Eve's prior risk, at the calibrated lam.

    No release goes below it, against any Eve.

    Args:
        model: the Gaussian model.

    Returns:
        R_A* = 2 R_B^full - min(pi, 1 - pi).

    >>> from gaussian import GaussianModel
    >>> round(corner(GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0)), 7)
    -0.2322795
    """
    centred = model.bob_threshold - model.prior_mean
    full = float(gaussian_pair_risk(centred, model.prior_sd, model.noise_sd * model.n**-0.5, model.bob_loss))
    return 2 * full - prior_risk(centred, model.prior_sd, model.bob_loss)


def decision_rate(model: GaussianModel) -> float:
    """beta: how often Bob decides theta > c_B when he sees all the data.

    Args:
        model: the Gaussian model.

    Returns:
        The probability beta.

    >>> from gaussian import GaussianModel
    >>> decision_rate(GaussianModel(bob_threshold=0.0))
    0.5
    """
    return float(ndtr((model.prior_mean - model.bob_cut) / model.xbar_sd))


def mean_lost_band(model: GaussianModel) -> tuple[float, float]:
    """The p at which Bob's decision does not reach the corner against an Eve who tests the mean.

    Args:
        model: the Gaussian model.

    Returns:
        The ends (beta/2, (1 + beta)/2) of the open interval.

    >>> from gaussian import GaussianModel
    >>> mean_lost_band(GaussianModel(bob_threshold=0.0))
    (0.25, 0.75)
    """
    beta = decision_rate(model)
    return beta / 2, (1 + beta) / 2


def mean_plateau_edge(model: GaussianModel, p: float) -> float:
    """The tau at which R_E of the one-bit release leaves its prior value, against an Eve who tests the mean.

    Args:
        model: the Gaussian model.
        p: the prior probability of Eve's event.

    Returns:
        tau_min(p) for p > 1/2, tau_max(p) for p < 1/2.

    Raises:
        ValueError: p is not in [0, 1], or p = 1/2, where there is no plateau.

    >>> from gaussian import GaussianModel
    >>> round(mean_plateau_edge(GaussianModel(n=5), 0.324), 5)
    0.19779
    """
    p = _checks.unit("p", p)
    if p == 0.5:
        raise ValueError("p = 0.5 must differ from 1/2: an undecided Eve has no plateau")
    # P(xbar > t) = 2p, or P(xbar <= t) = 2 (1 - p): both are exact, while 1 - 2p has no digits of a small p
    z = ndtri(2 * (1 - p)) if p > 0.5 else -ndtri(2 * p)
    return float(model.bob_posterior(model.prior_mean + model.xbar_sd * z))


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
    """Whether Bob's own decision, the one-bit release at tau = 1/2, is optimal among all releases.

    Args:
        model: the Gaussian model.
        eve: a MeanEve or a MaxEve.

    Returns:
        What the decision tells Eve, and whether it reaches the corner.

    Raises:
        ValueError: eve is a BothEves.

    >>> from gaussian import GaussianModel, MaxEve
    >>> effect = decision_effect(GaussianModel(n=5), MaxEve(2.0))
    >>> round(effect.p, 4), effect.reaches_corner
    (0.2415, True)
    """
    form = standard_form(model, eve)
    if not isinstance(form.eve, ThresholdEve) or form.eve.loss[0] != form.eve.loss[1]:
        raise ValueError(f"eve = {eve} must be MeanEve or MaxEve: the band is defined for a single test under 0-1 loss")
    law = mean_eve_law(form.model, replace(form.eve, loss=UNIT_LOSS))
    below, above = law.sides(form.model.bob_cut)
    beta = decision_rate(model)
    p, rest = float(law.mass[1]), float(ndtr((model.bob_cut - model.prior_mean) / model.xbar_sd))
    # a decision that is never taken tells nothing
    kappa = (float(below[1] / rest) if rest > 0 else p, float(above[1] / beta) if beta > 0 else p)
    s = kappa[1] - kappa[0]
    band = (0.5 - (1 - beta) * s, 0.5 + beta * s)
    return DecisionEffect(p, beta, kappa, s, band, not band[0] < p < band[1])
