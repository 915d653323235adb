"""From a problem of `discretise.model` to the law of its data: p, p B and p E on panels or at atoms, checked by sums.

The checks compare int p with 1 and int p B(.,i) with E[L_B(theta,i)], which need no data at all. What they miss, and
what lies beyond the last atom or quantile, is added to the errors.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bap_lp import InputError
from discretise.continuum.continuum_optimum import DataLaw
from discretise.continuum.mixtures import PriorMixture
from discretise.continuum.panels import INTEGRAL, Functions, PanelLaw, resolve
from discretise.laws import Likelihood, predictive
from discretise.losses import eve_slices, eve_table, loss_table
from discretise.models import ScalarModel
from discretise.tails import NEGLIGIBLE, check_reach
from gaussian.real_arrays import Array

_TAILS = 10.0 ** -np.arange(1, 17)
_QUANTILES = np.concatenate([_TAILS[::-1], np.linspace(0.2, 0.8, 7), 1 - _TAILS[:15]])
_MOST_ATOMS = 200_000
_MOST_DECISIONS = 300
_MOST_REPLIES = 6_000  # a game has a dense square matrix of this size: 0.3 GB, a few of them at once
_FADED = 1e-17
_LEAST_POWER = 1.05  # sums of k^-a with a this close to 1 cannot be told from infinite ones
_ROUGH = 1e-12  # an error of the mass of a panel that polynomials do not reach otherwise
_OFF = 1e-6  # a larger miss is not rounding: the likelihood is not what it claims to be; a far tail is known roughly


def law_of_data(model: ScalarModel, tell: Callable[[str], None] = lambda _: None) -> DataLaw:
    """The functions whose integrals are the risks, with their errors."""
    (loss, decisions), eves, (theta_breaks, breaks) = model.bob, model.eves, model.breaks
    count = len(decisions) + sum(len(eve.decisions) for eve in eves)
    if count > _MOST_DECISIONS:
        rule = f"must be at most {_MOST_DECISIONS}: take fewer, and bob_lipschitz and eve_lipschitz for those between"
        raise InputError("decisions of all agents", count, rule)
    replies = len(decisions) * (count - len(decisions))
    if replies > _MOST_REPLIES:
        rule = f"must be at most {_MOST_REPLIES}: take fewer, and bob_lipschitz and eve_lipschitz for those between"
        raise InputError("Bob's decisions times Eves' decisions", replies, rule)
    points = (model.points.values, model.points.weights) if model.points.exact else None

    def columns(thetas: Array) -> Array:
        return loss_table(loss, thetas, decisions, "bob_loss")

    mixture = PriorMixture(model.prior, points, model.likelihood.given, columns, theta_breaks, model.deep)

    def functions(x: Array) -> tuple[Array, Array]:
        tell(f"integrating over the prior at {len(x)} data points")
        beta, wrong = mixture.at(x)
        eta = eve_table(eves, x)
        return np.hstack([beta, beta[:, :1] * eta]), np.hstack([wrong, wrong[:, :1] * eta])

    expected = mixture.expectation(columns)
    weights, sizes = [eve.weight for eve in eves], [len(eve.decisions) for eve in eves]
    if mixture.discrete:
        atoms, values, wrong, beyond = _at_atoms(functions, mixture, model)
        law = DataLaw(None, atoms, values, wrong, len(decisions), eve_slices(eves))
        return _checked(law, expected, mixture.left_losses, np.repeat(weights, sizes), beyond)
    else:
        names = ["the predictive mass", *(f"E[bob_loss(theta, {d:.6g})]" for d in decisions)]
        names += [f"E[eve_loss(x, {d:.6g})]" for eve in eves for d in eve.decisions]
        edges, is_open = _first_edges(mixture, breaks)
        panels = resolve(functions, edges, is_open, names)
        if not model.deep:
            _capped(panels, mixture, np.append(np.ones(1 + len(decisions)), np.repeat(weights, sizes)))
        law = DataLaw(panels, np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0)), len(decisions), eve_slices(eves))
    return _checked(law, expected, mixture.left_losses, np.repeat(weights, sizes))


def _checked(law: DataLaw, expected: Array, left: Array, most: Array, beyond: float = 0.0) -> DataLaw:
    """The law with what the sums miss added to the errors of its first place.

    `most` is what each column of Eve is at most if her loss is bounded, `beyond` the mass outside the table of atoms.
    """
    totals, b = law.totals, law.decisions
    missed = np.abs(np.append(totals[0] - 1, totals[1 : 1 + b] - expected)) + np.append(0.0, left)
    if abs(totals[0] + beyond - 1) > _OFF + beyond / 2:
        rule = (
            f"cannot be integrated over the data: its densities sum to {totals[0]:.9g}, not 1, as with mass next to an "
            "infinite density or far out; use discretise.sample"
        )
        raise InputError("likelihood", None, rule)
    wrong = law.wrong if law.panels is None else law.panels.error
    wrong[0, : 1 + b] += missed
    wrong[0, 1 + b :] += missed[0] * np.maximum(totals[1 + b :], most)
    return law


def _capped(panels: PanelLaw, mixture: PriorMixture, most: Array) -> None:
    """Cap the error of a panel next to an infinite density, where no polynomial fits.

    The integrals over it are between 0 and `most` times its mass, which the distribution functions tell.
    """
    rough = np.flatnonzero(panels.error[:, 0] > _ROUGH)
    if len(rough):
        thetas, weights = mixture.nodes()
        law = Likelihood(mixture.likelihood, thetas, mixture.law)
        ends = np.stack([panels.low[rough], panels.high[rough]])
        low, high = (weights @ np.abs(law.table(name, ends[1]) - law.table(name, ends[0])) for name in ("cdf", "sf"))
        found = np.abs(panels.half[rough, None] * (panels.coefs[rough] @ INTEGRAL))
        cap = found + 2 * np.minimum(low, high)[:, None] * most
        panels.error[rough] = np.minimum(panels.error[rough], cap)


def _first_edges(mixture: PriorMixture, breaks: Array) -> tuple[Array, tuple[bool, bool]]:
    """Predictive quantiles, breaks and the ends of the support; and whether the line is open at either end."""
    thetas, weights = mixture.nodes()
    law = Likelihood(mixture.likelihood, thetas, mixture.law)
    scan = predictive(law, weights / weights.sum())
    x = scan.quantile(_QUANTILES)
    ends = np.array(
        [
            mixture.likelihood(float(t)).support()
            for t in thetas[np.unique(np.linspace(0, len(thetas) - 1, 41, dtype=int))]
        ]
    )
    low, high = float(ends[:, 0].min()), float(ends[:, 1].max())
    # the ends of a support that moves with theta are not exact at 41 thetas: this side stays open
    is_open = [not np.isfinite(low) or np.ptp(ends[:, 0]) > 0, not np.isfinite(high) or np.ptp(ends[:, 1]) > 0]
    inside = np.concatenate([x, breaks, *([[low]] if not is_open[0] else []), *([[high]] if not is_open[1] else [])])
    inside = inside[(inside >= (low if not is_open[0] else -np.inf)) & (inside <= (high if not is_open[1] else np.inf))]
    edges = np.unique(inside)
    spread = float(edges[-1] - edges[0])
    close = np.diff(edges) <= 1e-14 * np.maximum(np.abs(edges[1:]), 1e-3 * spread)
    keep = np.append(True, ~close) | np.isin(edges, breaks)
    edges = edges[keep]
    if len(edges) < 2:
        edges = np.array([edges[0] - 1.0, edges[0] + 1.0])
    return edges, (is_open[0], is_open[1])


def _at_atoms(functions: Functions, mixture: PriorMixture, model: ScalarModel) -> tuple[Array, Array, Array, float]:
    """Atoms, the functions there, their errors, and the probability of all other data."""
    thetas, weights = mixture.nodes()
    law = Likelihood(mixture.likelihood, thetas, mixture.law)
    atoms, beyond = law.atoms(weights, mixture.points is not None, model.deep)
    check_reach(model.eves, atoms, beyond)
    values, wrong = functions(atoms)
    step = float(np.diff(atoms).min()) if len(atoms) > 1 else 1.0
    support = [float(e) for e in mixture.likelihood(float(thetas[len(thetas) // 2])).support()]
    # unbounded losses may need atoms beyond the last quantiles; a table that ends before them has its rest in `beyond`
    for side in (0, 1):
        while np.isinf(support[side]) and beyond <= NEGLIGIBLE:
            totals = np.maximum(np.abs(values).sum(axis=0), 1e-290)
            end = np.abs(values[-1 if side else 0]) * len(atoms) / totals
            if (end < _FADED).all():
                break
            if len(atoms) > _MOST_ATOMS:
                wrong[0] += _rest(values if side else values[::-1])
                break
            reach = step * np.arange(1, max(len(atoms) // 4, 16))
            more = atoms[-1] + reach if side else atoms[0] - reach[::-1]
            found, off = functions(more)
            atoms = np.append(atoms, more) if side else np.append(more, atoms)
            pair = ((values, found), (wrong, off))
            values, wrong = (np.vstack(p if side else p[::-1]) for p in pair)
    live = values[:, 0] > 0
    return atoms[live], values[live], wrong[live], beyond


def _rest(values: Array) -> Array:
    """Twice the sum of each column beyond its last row n, if it goes on to fall like k^-a: n f(n) / (a - 1).

    a is measured between n/2 and n. A tail that falls faster than every power has a larger a farther out.
    """
    n = len(values)
    half, last = (np.maximum(np.abs(values[k]), 1e-300) for k in (n // 2, n - 1))
    power = np.log(half / last) / np.log((n - 1) / (n // 2))
    if (power < _LEAST_POWER).any():
        raise InputError("E[eve_loss(x, .)]", np.inf, "the risk is infinite: choose a bounded loss or a lighter tail")
    return np.asarray(2 * n * last / (power - 1))
