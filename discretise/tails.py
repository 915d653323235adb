"""Whether a risk is finite: how a loss grows in the tails of a law.

With s = exp(-v) a tail probability and theta(v) its quantile, E[L(theta)] is the integral of w(v) = exp(-v) L(theta(v))
over both tails, and is finite if w falls like exp(-a v) with a > 0. The test compares w at v and at v / 2, with v as
far out as quantiles of scipy.stats can be trusted (v = 345): a ratio of at least one half means a < 0.004, and the risk
is called infinite. For a power tail P(|theta| > t) ~ t^-k and squared loss, a = 1 - 2/k: k <= 2 is refused. For
atoms on the integers the same is done with x P(x) L(x) at x = 2^20 and 2^40.
Eve's risk has two tails: those of the data given theta, and those of m(theta) = E[L(X)|theta] under the prior.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from bap_lp import InputError
from discretise.losses import EveTask, Loss, ZeroOne
from gaussian.numerics.piecewise import gauss_nodes
from gaussian.real_arrays import Array

_LEVELS = np.array([21.5625, 43.125, 86.25, 172.5, 345.0])
_CUTS = np.array([np.log(2.0), 1.5, 4.0, 9.0, 18.0, 36.0, 80.0, 170.0, 345.0])
_V, _S = (values.ravel() for values in gauss_nodes(_CUTS[:-1], _CUTS[1:], 12))
_S = _S * np.exp(-_V)
NEGLIGIBLE = 1e-15  # a tail of the predictive law, of two sides and a few rounding errors
_INFINITE = "the risk is infinite: choose a bounded loss or a lighter tail"


def check_finite(
    prior: Any, likelihood: Callable[[Any], Any], bob: tuple[Loss, Array], eves: tuple[EveTask, ...]
) -> None:
    """Refuse losses whose expectation is infinite; finite priors and 0-1 losses need no test."""
    continuous = hasattr(prior, "ppf") and not hasattr(prior, "pmf")
    loss, decisions = bob
    if continuous and not isinstance(loss, ZeroOne):
        for d in decisions:

            def lost(theta: Array, d: float = d) -> Any:
                return loss(theta, np.asarray(d))

            if _diverges(prior, lost):
                raise InputError(f"E[bob_loss(theta, {d:.6g})]", np.inf, _INFINITE)
    middle = np.asarray(prior.ppf([0.1, 0.5, 0.9]) if hasattr(prior, "ppf") else prior[0], dtype=float)[:9]
    for eve in eves:
        if isinstance(eve.loss, ZeroOne):
            continue
        for d in eve.decisions[[0, -1]]:
            field = f"E[eve_loss(x, {d:.6g})]"

            def given(x: Array, eve: EveTask = eve, d: float = d) -> Array:
                return np.asarray(eve.loss(x, np.asarray(d)), dtype=float)

            if any(_diverges(likelihood(float(theta)), given) for theta in middle):
                raise InputError(field, np.inf, _INFINITE)
            if continuous and not hasattr(likelihood(float(middle[0])), "pmf"):
                means = _conditional_mean(likelihood, given)
                if _diverges(prior, means):
                    raise InputError(field, np.inf, _INFINITE)


def check_reach(eves: tuple[EveTask, ...], atoms: Array, beyond: float) -> None:
    """Refuse a loss of Eve that is not bounded if the predictive tail beyond the tabulated atoms is not negligible."""
    if beyond > NEGLIGIBLE and not all(eve.bounded for eve in eves):
        rule = (
            f"must be 0-1 loss: X has {beyond:.1e} of its probability outside the {len(atoms)} values from "
            f"{atoms[0]:g} to {atoms[-1]:g}, where no other loss is known to be bounded"
        )
        raise InputError("eve_loss", None, rule)


def _diverges(law: Any, loss: Callable[[Array], Any]) -> bool:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # quantiles that scipy.stats cannot find are not used
        if hasattr(law, "pmf"):
            return _atoms_diverge(law, loss)
        for inverse, tail in ((law.ppf, law.cdf), (law.isf, law.sf)):
            v = _LEVELS
            theta = np.asarray(inverse(np.exp(-v)), dtype=float)
            size = -v + np.log(np.asarray(loss(theta), dtype=float))
            known = np.flatnonzero(np.isfinite(size) & np.isfinite(theta))
            # a loss that overflows where the quantile does not grows faster than any tail of floats can fall
            overflows = np.isposinf(size[np.isfinite(theta)]).any() and (not len(known) or known[-1] < 3)
            if overflows or (len(known) > 1 and size[known[-1]] - size[known[-2]] > np.log(0.5)):
                agrees = np.abs(np.log(np.asarray(tail(theta), dtype=float)) + v) < 1.0
                if agrees[1] and not agrees[np.isfinite(theta)].all():
                    raise OverflowError("the quantiles of the law contradict its tail, which is accurate at 2e-19")
                return True
    return False


def _atoms_diverge(law: Any, loss: Callable[[Array], Any]) -> bool:
    if not np.isinf(law.support()).any():
        return False
    start = float(law.ppf(0.5))
    for sign in (1.0, -1.0):
        x = start + sign * 2.0 ** np.array([20, 40])
        size = x * sign * np.asarray(law.pmf(x), dtype=float) * np.asarray(loss(x), dtype=float)
        if size[0] > 0 and size[1] >= 0.5 * size[0]:
            return True
    return False


def _conditional_mean(likelihood: Callable[[Any], Any], loss: Callable[[Array], Any]) -> Callable[[Array], Array]:
    def means(thetas: Array) -> Array:
        out = np.full(len(thetas), np.nan)
        for k, theta in enumerate(thetas):
            if np.isfinite(theta):
                law = likelihood(float(theta))
                parts = [
                    np.asarray(loss(np.asarray(inverse(np.exp(-_V)))), dtype=float) for inverse in (law.ppf, law.isf)
                ]
                # overflow at the farthest nodes has no weight in a conditional mean that is finite
                out[k] = sum(float(np.where(np.isfinite(p), p, 0.0) @ _S) for p in parts)
        return out

    return means
