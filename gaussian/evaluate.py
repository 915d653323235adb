"""R_B and R_E of a release, each with an error estimate, and the calibrated lambda.

    full          Bob 2 T(c_B/sigma_0, 1/(sigma_0 sqrt n)),  Eve 0
    null          the risks of the prior
    noisy full    Bob, and Eve on the mean: a noisy mean with sigma/sqrt n;  Eve on the maximum: module noisy_full
    noisy mean    Bob, and Eve on the mean: Owen's T;  Eve on the maximum: integral of min_k of the smoothed cells
    noisy median  integral of min_k of the smoothed cells of the median
    one-bit       sum over the two signals of min_k of the cell masses on each side of the threshold in xbar

Calibration makes the full and the null release equally good:  lam = (R_B^null - R_B^full) / R_E^null.
"""

from __future__ import annotations

import math
from functools import lru_cache

from bap_lp.support.clock import check
from bap_lp.support.risks import Risks
from gaussian.eves import betting_weights, separate
from gaussian.laws.mean import eve_kinks, mean_bob_law, mean_eve_law
from gaussian.laws.median import median_bob_law, median_eve_law, median_kinks
from gaussian.laws.median_max import median_support
from gaussian.laws.noisy_full import FINAL, Effort, noisy_full_risk
from gaussian.laws.owen import OWEN_ERROR, gaussian_pair_risk, prior_risk
from gaussian.laws.smoothing import add_noise
from gaussian.model import BothEves, Eve, GaussianModel, MaxEve, MeanEve, StandardForm, standard_form
from gaussian.numerics.masses import ROUNDING, bit_risk
from gaussian.numerics.piecewise import Piecewise, min_integral
from gaussian.optimum.cells import cell_law
from gaussian.releases import NAMES, Full, GaussianRelease, NoisyFull, NoisyMean, NoisyMedian, Null, OneBit

Estimate = tuple[float, float]
_HIDING = 1e18  # noise that is so much larger than the data changes no digit of the risks of the null release


def risks(model: GaussianModel, eve: Eve, release: GaussianRelease, effort: Effort = FINAL) -> Risks:
    """Bob's and Eve's integrated Bayes risks under one release.

    Args:
        model: the Gaussian model.
        eve: what Eve tests.
        release: the mechanism.
        effort: how much work to spend on the noisy full release against the maximum; other releases ignore it.

    Returns:
        R_B and R_E, each with a bound or an estimate of its error.

    Raises:
        ValueError: Eve tests a record after the n-th, or her risk under the noisy full release is not computed.

    >>> from gaussian import GaussianModel, MaxEve, NoisyMean
    >>> found = risks(GaussianModel(n=5), MaxEve(2.0), NoisyMean(0.5))
    >>> round(found.bob, 6), round(found.eve, 6)
    (0.188081, 0.14424)
    """
    check()
    if len(apart := separate(eve)) > 1:
        parts = [(weight, risks(model, member, release, effort)) for member, weight in apart]
        total, error = (sum(w * getattr(own, name) for w, own in parts) for name in ("eve", "eve_error"))
        return Risks(bob=parts[0][1].bob, eve=total, bob_error=parts[0][1].bob_error, eve_error=error)
    form, standard = standard_release(model, eve, release)
    bob, bob_error = _bob(form.model, standard)
    harmless = _harmless(form.model, form.eve)
    eve_risk, eve_error = (0.0, 0.0) if harmless else _eve(form.model, form.eve, standard, effort)
    return Risks(bob=bob, eve=eve_risk, bob_error=bob_error, eve_error=eve_error)


def standard_release(model: GaussianModel, eve: Eve, release: GaussianRelease) -> tuple[StandardForm, GaussianRelease]:
    """The standard form of all three."""
    form = standard_form(model, eve)
    match release:
        case NoisyFull(sigma=sigma) | NoisyMean(sigma=sigma) | NoisyMedian(sigma=sigma):
            release = _simplest(form, type(release), sigma / form.scale)
        case OneBit(tau=tau, cut=cut):
            t = float(form.model.bit_threshold(tau) if cut is None else form.there(cut))
            release = OneBit(tau, t if math.isfinite(t) else None)
    return form, release


def _simplest(form: StandardForm, kind: type, sigma: float) -> GaussianRelease:
    """The noisy release in the standard form, as a noisy mean or the null release if it tells both as much."""
    n = form.model.n
    if sigma > _HIDING * (1 + form.model.xbar_sd):
        return Null()
    # the mean of n noisy values is sufficient for theta and xbar
    if kind is NoisyFull and (n == 1 or isinstance(form.eve, MeanEve)):
        return NoisyMean(sigma / math.sqrt(n))
    found: GaussianRelease = NoisyMean(sigma) if kind is NoisyMedian and n <= 2 else kind(sigma)
    return found


def calibrate(model: GaussianModel, eve: Eve) -> float:
    """The lam at which the full and the null release have the same R_A.

    Args:
        model: the Gaussian model.
        eve: what Eve tests.

    Returns:
        The calibrated lam.

    Raises:
        ValueError: Eve's risk is 0 under every release.

    >>> from gaussian import GaussianModel, MaxEve
    >>> round(calibrate(GaussianModel(n=5), MaxEve(2.0)), 6)
    1.515803
    """
    silent = wrong = 0.0
    for member, weight in separate(eve):
        form = standard_form(model, member)
        law = cell_law(form.model, form.eve).finer
        silent += weight * float((law.weights * law.masses).min())
        wrong += weight * float((law.weights * law.errors)[(law.weights * law.masses).argmin()])
    if not silent > 0:
        raise ValueError(f"eve = {eve} must be able to err: her risk is 0 under every release, so no lam calibrates it")
    if silent <= 1e3 * wrong:
        raise ValueError(
            f"eve = {eve} must err more often without a release: her risk {silent:.1e} is known only to {wrong:.0e}, "
            "so no lam calibrates it"
        )
    lam = law.bob_gain() / silent
    if not lam < math.inf:
        raise ValueError(f"eve = {eve} must err more often than {silent:.1e} without a release: no lam calibrates it")
    return lam


def _harmless(model: GaussianModel, eve: Eve) -> bool:
    """Whether Eve never loses: if her events are nested, one of the cells 01 and 10 is impossible.

    Eve then bets against that cell and is never wrong about both events.
    """
    return isinstance(eve, BothEves) and (model.n == 1 or eve.mean_threshold >= eve.max_threshold)


def bit_cut(model: GaussianModel, release: OneBit) -> float:
    """The t of the bit 1{xbar > t}."""
    return float(model.bit_threshold(release.tau)) if release.cut is None else release.cut


def _bob(model: GaussianModel, release: GaussianRelease) -> Estimate:
    sampling = 1 / math.sqrt(model.n)
    size = OWEN_ERROR * max(1.0, *model.bob_loss)
    match release:
        case Null():
            return prior_risk(model.bob_threshold, model.prior_sd, model.bob_loss), size
        case OneBit():
            bob, error = bit_risk(mean_bob_law(model), bit_cut(model, release))
            return float(bob), error
        case NoisyMedian(sigma=sigma):
            return _noisy_median_bob(model, sigma)
        case Full():
            noise = sampling
        case NoisyFull(sigma=sigma):
            noise = math.hypot(sampling, sigma / math.sqrt(model.n))
        case NoisyMean(sigma=sigma):
            noise = math.hypot(sampling, sigma)
    return float(gaussian_pair_risk(model.bob_threshold, model.prior_sd, noise, model.bob_loss)), size


@lru_cache(maxsize=1024)
def _noisy_median_bob(model: GaussianModel, sigma: float) -> Estimate:
    c, width = model.bob_threshold, median_support(model.n)
    return _statistic_risk(median_bob_law(model), sigma, [c - width, c, c + width])


def _eve(model: GaussianModel, eve: Eve, release: GaussianRelease, effort: Effort) -> Estimate:
    match release:
        case Full():
            return 0.0, 0.0
        case Null():
            law = cell_law(model, eve).finer
            return float((law.weights * law.masses).min()), float((law.weights * law.errors).max())
        case OneBit():
            value, error = bit_risk(mean_eve_law(model, eve), bit_cut(model, release))
            return float(value), error
        case NoisyMean(sigma=sigma) if isinstance(eve, MeanEve):
            size = OWEN_ERROR * max(1.0, *eve.loss)
            return float(gaussian_pair_risk(eve.threshold, model.xbar_sd, sigma, eve.loss)), size
        case NoisyMean(sigma=sigma):
            return _statistic_risk(mean_eve_law(model, eve), sigma, eve_kinks(model.n, eve))
        case NoisyMedian(sigma=sigma) if isinstance(eve, (MeanEve, MaxEve, BothEves)):
            return _statistic_risk(median_eve_law(model, eve), sigma, median_kinks(model, eve))
        case NoisyFull(sigma=sigma) if isinstance(eve, (MaxEve, BothEves)):
            # taking y for x fails only if some x_i is within |sigma Z_i| of c, with a probability below n sigma
            most = model.n * sigma * float(betting_weights(eve).max())
            return (0.0, most) if most < ROUNDING else noisy_full_risk(model, eve, sigma, effort)
    raise ValueError(
        f"eve = {eve} must test the mean, the maximum or both mean and maximum for the "
        f"{NAMES[type(release)]} release: her risk under it is not computed"
    )


def _statistic_risk(law: Piecewise, sigma: float, kinks: list[float]) -> Estimate:
    """Integral of the least cell of a statistic released with N(0, sigma^2) noise."""
    released = law if sigma == 0 else add_noise(law, sigma, kinks)
    error = law.error + (0.0 if sigma == 0 else released.error) + ROUNDING
    return max(min_integral(released), 0.0), error
