"""Closed-form optima with their dual solutions, under simple conditions (docs/brackets.md has the proofs).

With t_B Bob's threshold in xbar, a_s and b_s the masses of cell s above and below t_B, M_s = a_s + b_s, and
P = min_s M_s = M_{s*} Eve's risk without a release:
    corner      a_{s*} = min a and b_{s*} = min b:   V = R_B^full - lam P,  u_0 = u_1 = lam e_{s*},  Bob's own decision;
    edge        the mean, c >= t_B, p <= 1/2, mu = 1 - 2 tau_max(p) > 0:
                lam >= mu and mu <= 2 pi(c) - 1:     V = R_B(tau_max) - lam p,  u_0 = (0, lam),  u_1 = (mu, lam - mu);
    price       the same, lam <= mu, lam <= 2 pi(c) - 1:  the bit at tau = (1 - lam)/2,  u_0 = (0, lam), u_1 = (lam, 0);
    rare cell   both Eves, s* = (xbar <= c_1, max > c_2), c_1 >= t_B, lam >= 1, pi(c_1) >= 3/4, a_s >= P for s != s*:
                V = R_B^full + E[(1 - 2 pi) 1{s*, xbar <= t_B}] - lam P,  u_1 = lam e_{s*},
                u_0 = (lam - 1) e_{s*} + (e_10 + e_11)/2:  release 1 when xbar > t_B or the data lie in s*.
At lam = 0 the corner is optimal without conditions. The other three have mirror images with the signals exchanged
(against the mean xbar -> -xbar, theta -> -theta).
R_B of the bit 1{xbar > t} is  2 T(h, (k - rho h)/(h r)) + 2 T(k, (h - rho k)/(k r)) + 1{hk < 0 or hk = 0, h + k < 0}
with Owen's T, h = c_B/sigma_0, k = t/sd(xbar), rho = sigma_0/sd(xbar), r = sqrt(1 - rho^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, owens_t

from bap_lp.rational import InputError
from gaussian.arrays import Array
from gaussian.corners import corner, mean_plateau_edge
from gaussian.evaluate import risks
from gaussian.masses import bayes_risk
from gaussian.model import BothEves, Eve, GaussianModel, MaxEve, MeanEve
from gaussian.optimum.cells import ROUNDING, CellLaw, cell_law
from gaussian.owen import prior_risk
from gaussian.releases import Full


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """A theorem that applies: the optimal R_A, the error of its evaluation, the thresholds and the dual solution."""

    theorem: str
    value: float
    error: float
    thresholds: Array
    u: Array

    def __repr__(self) -> str:
        cuts = ", ".join(f"{t:.6g}" for t in self.thresholds)
        return f"<ClosedForm: {self.theorem}, R_A = {self.value:.7f}, thresholds {cuts}>"


def bit_bob_risk(model: GaussianModel, t: float) -> float:
    """R_B of the bit 1{xbar > t}, finite t, when Bob's decision is the bit."""
    h, k = model.bob_threshold / model.prior_sd, t / model.xbar_sd
    rho = model.prior_sd / model.xbar_sd
    r = 1 / (math.sqrt(model.n) * model.xbar_sd)
    total = 2 * _owen(h, k - rho * h, r) + 2 * _owen(k, h - rho * k, r)
    apart = h * k < 0 or (h * k == 0 and h + k < 0)
    return total + (1.0 if apart else 0.0)


def _owen(h: float, gap: float, r: float) -> float:
    """T(h, gap/(h r)), whose limit at h = 0 is T(0, +-inf) = +-1/4."""
    if h == 0:
        return 0.25 * float(np.sign(gap))
    return float(owens_t(h, gap / (h * r)))


def closed_form(model: GaussianModel, eve: Eve, lam: float, calibrated: bool = False) -> ClosedForm:
    """The theorem that gives the optimum at this lam.

    Args:
        model: the Gaussian model.
        eve: what Eve tests.
        lam: the weight of Eve's risk.
        calibrated: lam stands for the exact calibrated value; the value of the corner then does not need Eve's law.

    Returns:
        The name of the theorem, the optimal R_A with its error, the thresholds and the dual solution.

    Raises:
        InputError: the conditions of no theorem hold.

    >>> from gaussian import GaussianModel, MaxEve
    >>> closed_form(GaussianModel(n=5), MaxEve(2.0), 1.5)
    <ClosedForm: corner, R_A = -0.2284624, thresholds 0, 0>
    """
    found = applicable_theorem(model, eve, lam, calibrated)
    if found is None:
        raise InputError("lam", lam, f"with eve = {eve} meets the conditions of no closed form")
    return found


def applicable_theorem(model: GaussianModel, eve: Eve, lam: float, calibrated: bool) -> ClosedForm | None:
    """What `closed_form` returns, or None if the conditions of no theorem hold."""
    law = cell_law(model, eve)
    return _corner(law, lam, calibrated) or _edge(law, lam) or _rare_cell(law, lam)


def _corner(law: CellLaw, lam: float, calibrated: bool) -> ClosedForm | None:
    total = law.own.sum(0)
    rare = int(total.argmin())
    if lam > 0 and bayes_risk(law.own) < total[rare]:
        return None
    u = np.zeros((2, law.count))
    u[:, rare] = lam
    full = float(risks(law.model, law.eve, Full()).bob)
    if calibrated:
        value, error = corner(law.model), 3 * ROUNDING
    elif isinstance(law.eve, MeanEve):
        p = prior_risk(law.eve.threshold, law.model.xbar_sd)
        value, error = full - lam * p, ROUNDING * (1 + lam * p)
    else:
        p = float(total[rare])
        value, error = full - lam * p, ROUNDING * (1 + lam * p) + lam * float(law.errors[rare])
    return ClosedForm("corner", value, error, np.full(law.count, law.centre), u)


def _edge(law: CellLaw, lam: float) -> ClosedForm | None:
    eve, model = law.eve, law.model
    if isinstance(eve, BothEves) or (isinstance(eve, MaxEve) and model.n > 1):
        return None
    upper = float(ndtr(-eve.threshold / model.xbar_sd))
    mirrored = upper > 0.5
    if upper == 0.5 or (eve.threshold < law.centre) != mirrored:
        return None
    p = prior_risk(eve.threshold, model.xbar_sd)
    sign = -1 if mirrored else 1
    # |1 - 2 pi| at the edge of the plateau and at Eve's threshold, signed: positive if Theorem 3 may apply
    mu = sign * (1 - 2 * mean_plateau_edge(model, upper))
    delta = sign * (2 * float(model.bob_posterior(eve.threshold)) - 1)
    price = min(lam, mu)
    if not 0 < price <= delta:
        return None
    if lam >= mu:
        t, gained = float(model.bit_threshold((1 - sign * mu) / 2)), p
    else:
        t = float(model.bit_threshold((1 - sign * lam) / 2))
        ends = sorted((t / model.xbar_sd, eve.threshold / model.xbar_sd))
        gained = float(ndtr(ends[1]) - ndtr(ends[0]))
    if not math.isfinite(t):
        return None
    bob = bit_bob_risk(model, t)
    u = np.array([[0.0, lam], [price, lam - price]])
    u = u[::-1, ::-1].copy() if mirrored else u
    error = 4 * ROUNDING * (1 + lam * gained)
    name = "plateau edge" if lam >= mu else "price"
    return ClosedForm(name, bob - lam * gained, error, np.full(2, t), u)


def _rare_cell(law: CellLaw, lam: float) -> ClosedForm | None:
    eve, model = law.eve, law.model
    if not isinstance(eve, BothEves) or lam < 1:
        return None
    (b, a), total = law.own, law.own.sum(0)
    rare = int(total.argmin())
    up = rare == 1  # cell (xbar <= c_1, max > c_2) moves to signal 1; its mirror (xbar > c_1, max <= c_2) to signal 0
    if rare not in (1, 2) or (eve.mean_threshold >= law.centre) != up:
        return None
    pi = float(model.bob_posterior(eve.mean_threshold))
    others = np.arange(4) != rare
    if (pi if up else 1 - pi) < 0.75 or (a if up else b)[others].min() < total[rare]:
        return None
    u = np.zeros((2, 4))
    signal = int(up)
    u[signal, rare], u[1 - signal, rare] = lam, lam - 1
    u[1 - signal, [2, 3] if up else [0, 1]] = 0.5
    thresholds = np.full(4, law.centre)
    thresholds[rare] = -math.inf if up else math.inf
    moved = law.finer.split(np.full(4, law.centre))[1 - signal, :, rare]
    full = float(risks(model, eve, Full()).bob)
    cost = float(moved[0] - moved[1]) * (1 if up else -1)
    error = (1 + lam) * float(law.errors[rare]) + 4 * ROUNDING * (1 + lam * float(total[rare]))
    return ClosedForm("rare cell", full + cost - lam * float(total[rare]), error, thresholds, u)
