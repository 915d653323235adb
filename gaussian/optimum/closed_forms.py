"""Closed-form optima with their dual solutions, under simple conditions (docs/proofs/brackets.md has the proofs).

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
They are stated for 0-1 losses. Thresholds are found in t, never through tau = pi(t), which loses all digits of t where
it rounds to 0 or 1: the edge of the plateau is t_e = sd(xbar) Phi^-1(1 - 2p), and the price (1 - lam)/2 = pi(t) is
solved from the smaller of pi and 1 - pi. R_B of the bit 1{xbar > t} is  2 T(h, (k - rho h)/(h r)) + 2 T(k, (h - rho
k)/(k r)) + 1{hk < 0 or hk = 0, h + k < 0} with Owen's T, h = c_B/sigma_0, k = t/sd(xbar), rho = sigma_0/sd(xbar), r =
sqrt(1 - rho^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from bap_lp.support.rational import InputError
from gaussian.corners import corner
from gaussian.evaluate import risks
from gaussian.eves import UNIT_LOSS, betting_weights, questions
from gaussian.laws.owen import prior_risk, wedges
from gaussian.laws.statistics import statistic_law
from gaussian.model import BothEves, Eve, GaussianModel, standard_form
from gaussian.optimum.cells import ROUNDING, CellLaw, cell_law
from gaussian.real_arrays import Array
from gaussian.releases import Full


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """A theorem that applies, with its optimum.

    Attributes:
        theorem: its name.
        value: the optimal R_A.
        error: the error of its evaluation.
        thresholds: the t of 1{xbar > t} in every cell of Eve's events.
        u: the dual solution.

    >>> from discretise import closed_form
    >>> from gaussian import GaussianModel, MaxEve, calibrate
    >>> model, eve = GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0), MaxEve(2.0)
    >>> found = closed_form(model, eve, calibrate(model, eve))
    >>> found.theorem, round(found.value, 7)
    ('corner', -0.2322795)
    """

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
    return float(wedges(np.array(h), np.array(k), rho, r))


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
    """What `closed_form` returns, or None if the conditions of no theorem hold; in the units of the data."""
    form = standard_form(model, eve)
    if form.model.bob_loss != UNIT_LOSS or (betting_weights(form.eve) != 1).any():
        return None
    law = cell_law(form.model, form.eve)
    found = _corner(law, lam, calibrated) or _edge(law, lam) or _rare_cell(law, lam)
    return found if found is None else replace(found, thresholds=form.back(found.thresholds))


def _corner(law: CellLaw, lam: float, calibrated: bool) -> ClosedForm | None:
    total = law.own.sum(0)
    rare = int(total.argmin())
    # the rare cell must be the least on both sides for sure, whatever the errors of the masses
    others = np.arange(law.count) != rare
    surely = (law.own[:, rare] + law.errors[rare])[:, None] <= (law.own - law.errors)[:, others]
    same = law.own[:, rare, None] == law.own[:, others]  # masses that are 0 are exact
    if lam > 0 and not (surely | same & (law.own[:, others] == 0)).all():
        return None
    u = np.zeros((2, law.count))
    u[:, rare] = lam
    full = float(risks(law.model, law.eve, Full()).bob)
    p, error = float(total[rare]), float(law.errors[rare])
    if _tests_mean(law):
        p = prior_risk(questions(law.eve)[0].threshold, law.model.xbar_sd)
        error = _tail_error(questions(law.eve)[0].threshold / law.model.xbar_sd) * p
    value, error = full - lam * p, ROUNDING * (1 + lam * p) + lam * error
    if calibrated:
        # the calibrated lam is rounded: its exact value has the corner as its optimum
        exact = corner(law.model)
        value, error = exact, 3 * ROUNDING + abs(value - exact)
    return ClosedForm("corner", value, error, np.full(law.count, law.centre), u)


def _tests_mean(law: CellLaw) -> bool:
    """Whether Eve has one question, and xbar decides it."""
    asked = questions(law.eve)
    return len(asked) == 1 and statistic_law(law.model.n, asked[0]).decided


def _tail_error(z: float) -> float:
    """Relative error of the smaller normal tail at a z that is rounded: d log Phi = z^2 per relative change of z."""
    return 4e-16 * (1 + z * z)


def _edge(law: CellLaw, lam: float) -> ClosedForm | None:
    model = law.model
    if not _tests_mean(law):
        return None
    c, sd = questions(law.eve)[0].threshold, model.xbar_sd
    if c == 0 or (c < law.centre) != (c < 0):
        return None
    sign = 1 if c > 0 else -1  # c < 0 is the mirror image
    p = prior_risk(c, sd)
    # P(t_e < xbar <= c) = p, so P(xbar > t_e) = 2p. 2p is exact, while 1 - 2p has no digits of a small p
    edge = -sign * sd * float(ndtri(2 * p))
    mu, delta = (_advantage(model, t) for t in (edge, c))
    mu, delta = -sign * mu, sign * delta
    price = min(lam, mu)
    if not 0 < price <= delta:
        return None
    if lam >= mu:
        t, gained, wrong = edge, p, _tail_error(c / sd) * p
    else:
        # pi(t) = (1 - lam)/2, or 1 - pi(t) = (1 - lam)/2 in the mirror image
        t = float(model.score_threshold(sign * ndtri((1 - lam) / 2)))
        ends = sorted((t / sd, c / sd))
        gained = float(ndtr(ends[1]) - ndtr(ends[0]))
        # an error e of pi(t) moves t to where the price changes by 2 e: R_A is stationary, masses are right to rounding
        wrong = 4 * ROUNDING
    if not math.isfinite(t):
        return None
    bob = bit_bob_risk(model, t)
    u = np.array([[0.0, lam], [price, lam - price]])
    u = u[::-1, ::-1].copy() if sign < 0 else u
    # the value is R_B(t) - lam (mass): where t is found from a mass, an error of 2e-16 in it is one of 2e-16 in R_B
    error = 4 * ROUNDING + lam * (wrong + 4 * ROUNDING * gained)
    name = "plateau edge" if lam >= mu else "price"
    return ClosedForm(name, bob - lam * gained, error, np.full(2, t), u)


def _advantage(model: GaussianModel, t: float) -> float:
    """2 pi(t) - 1."""
    return float(model.bob_posterior(t)) - float(model.bob_doubt(t))


def _rare_cell(law: CellLaw, lam: float) -> ClosedForm | None:
    eve, model = law.eve, law.model
    if not isinstance(eve, BothEves) or lam < 1:
        return None
    slack = 2 * float(law.errors.max())
    (b, a), total = law.own, law.own.sum(0)
    rare = int(total.argmin())
    up = rare == 1  # cell (xbar <= c_1, max > c_2) moves to signal 1; its mirror (xbar > c_1, max <= c_2) to signal 0
    if rare not in (1, 2) or (eve.mean_threshold >= law.centre) != up:
        return None
    pi = float(model.bob_posterior(eve.mean_threshold))
    others = np.arange(4) != rare
    if (pi if up else 1 - pi) < 0.75 or (a if up else b)[others].min() < total[rare] + slack:
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
