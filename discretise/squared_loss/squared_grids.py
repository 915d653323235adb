"""Squared losses in the Gaussian example: Bob estimates theta; Eve estimates xbar, or the maximum.

theta ~ N(0, v), X_i | theta ~ N(theta, 1).  With w = v + 1/n and k = v/w:  E[theta|x] = k xbar, so for every signal s
    R_B = r + k^2 E Var(xbar|s),   r = v/(1 + n v) = Var(theta|x).
Eve on xbar: R_E = E Var(xbar|s).  The calibrated lam is k^2, and then R_A = r for every mechanism.

Eve on the maximum M = xbar + D.  D = max_i (X_i - Xbar) is independent of (theta, xbar); write d = Var D and
S = Cov(E[xbar|s], E[D|s]), so that 0 <= S <= diag(w, d) in the order of positive semidefinite matrices and
    R_A = v - lam (w + d) - [ k^2 S_xx - lam (S_xx + 2 S_xD + S_DD) ].
The maximum of the bracket over that interval of matrices is the closed form of `bap_lp.quadratic`. It gives a lower
bound, which would be attained if D were normal. At the calibrated lam = k^2 w/(w + d) it is r - lam sqrt(d (d + w)).

On cells of (xbar, D) with decisions on grids the study is a finite problem. The losses averaged over a cell are exact,
(g - E[target|cell])^2 + Var(target|cell), so that a mechanism on the cells is a mechanism on the data. If the agents
may choose any real number, its risks follow from its posterior means: they are `real_risks`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from bap_lp import InputError, Mechanism, Problem, Risks
from bap_lp.questions.convex.linear_releases import Quadratic, Squared
from bap_lp.questions.convex.quadratic import quadratic
from gaussian import GaussianModel, max_residual_cdf, max_residual_support
from gaussian.numerics.piecewise import gauss_nodes
from gaussian.real_arrays import Array

_FAR = 12.0  # standard deviations of xbar; beyond them lies less than 1e-32
_DEAD = 1e-14  # cells of less mass are left out


@dataclass(frozen=True)
class Cells:
    """Consecutive intervals of one variable: mass, mean and variance in each."""

    edges: Array
    mass: Array
    mean: Array
    variance: Array


def require_standard(model: GaussianModel) -> None:
    """Refuse a model that is not in standard form: the study is stated for prior mean 0 and noise 1."""
    for field, value, plain in (("prior_mean", model.prior_mean, 0.0), ("noise_sd", model.noise_sd, 1.0)):
        if value != plain:
            rule = f"must be {plain:g} for squared losses: standardise the data, and multiply the risks by noise_sd^2"
            raise InputError(f"model.{field}", value, rule)


def mean_cells(model: GaussianModel, count: int) -> Cells:
    """xbar, cut uniformly between -6.5 and 6.5 standard deviations; the outermost cells end at 12."""
    z = np.concatenate([[-_FAR], np.linspace(-6.5, 6.5, count - 1), [_FAR]])
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    mass = np.where(z[1:] <= 0, np.diff(ndtr(z)), -np.diff(ndtr(-z)))
    first, second = -np.diff(density), mass - np.diff(z * density)
    mean = np.clip(first / mass, z[:-1], z[1:])
    variance = np.maximum(second / mass - mean**2, 0.0)
    return Cells(z * model.xbar_sd, mass, mean * model.xbar_sd, variance * model.xbar_sd**2)


def residual_cells(n: int, count: int) -> Cells:
    """D - E D, cut uniformly on its support; integral of d^j dF by parts from the distribution function F."""
    cdf, top = max_residual_cdf(n), max_residual_support(n)
    edges = np.concatenate([np.linspace(0.0, 0.7 * top, count), [1.5 * top]])
    stop = np.minimum(edges, top)
    F = cdf(stop)
    x, weight = gauss_nodes(stop[:-1], stop[1:], 24)
    inside = weight * cdf(x)
    mass = np.diff(F)
    first = np.diff(stop * F) - inside.sum(axis=1)
    second = np.diff(stop**2 * F) - 2 * (x * inside).sum(axis=1)
    # where the mass is below rounding the differences are not accurate: there the mean is set to the middle of the cell
    live = mass > 1e-13
    safe = np.where(live, mass, 1.0)
    mean = np.clip(np.where(live, first / safe, (edges[:-1] + edges[1:]) / 2), edges[:-1], edges[1:])
    variance = np.where(live, np.maximum(second / safe - mean**2, 0.0), 0.0)
    centre = float(mass @ mean / mass.sum())
    return Cells(edges - centre, mass / mass.sum(), mean - centre, variance)


def residual_variance(n: int) -> float:
    """d = Var D."""
    cells = residual_cells(n, 64)
    return float(cells.mass @ (cells.mean**2 + cells.variance))


def squared_form(model: GaussianModel, eve: str) -> Quadratic:
    """The linear-quadratic problem in (xbar, D), as if D were normal.

    Args:
        model: the Gaussian model.
        eve: "mean" or "max". Against the mean the form is exact; against the maximum it is a relaxation.

    Returns:
        The arguments of `bap_lp.quadratic`.

    Raises:
        InputError: eve is neither, or the model has a prior mean or a noise_sd other than 0 and 1.

    >>> from bap_lp import quadratic
    >>> from gaussian import GaussianModel
    >>> round(quadratic(*squared_form(GaussianModel(n=5), "max"), "calibrated").value, 7)
    -0.1779385
    """
    require_standard(model)
    w, v = model.xbar_sd**2, model.prior_sd**2
    target = {"mean": [1.0, 0.0], "max": [1.0, 1.0]}.get(eve)
    if target is None:
        raise InputError("eve", eve, 'must be "mean" or "max"')
    bob = Squared([v / w, 0.0], residual=model.posterior_sd**2)
    return Quadratic(np.diag([w, residual_variance(model.n)]), bob, Squared(target))


@dataclass(frozen=True)
class SquaredGrid:
    """The study on cells: the finite problem, the grids of decisions, mean and variance of (xbar, D) in each cell.

    Attributes:
        problem: the finite problem.
        closed_form: the quadratic problem with its closed form.
        lam: the price of privacy.
        bob_grid: Bob's decisions.
        eve_grid: Eve's decisions.
        mean: the mean of (xbar, D) in each cell.
        variance: its variance.

    >>> from discretise import squared_grid
    >>> from gaussian import GaussianModel
    >>> found = squared_grid(GaussianModel(n=5), "max", mean_count=6, residual_count=4, decisions=5)
    >>> found.problem.shape
    (20, 5, 5)
    """

    problem: Problem
    closed_form: Quadratic
    lam: float
    bob_grid: Array
    eve_grid: Array
    mean: Array
    variance: Array

    def __repr__(self) -> str:
        return f"<SquaredGrid: (N, b, e) = {self.problem.shape}, lam = {self.lam:.6g}>"

    def real_risks(self, mechanism: Mechanism) -> Risks:
        """R_B and R_E of a mechanism on the cells when both agents may decide any real number."""
        rho = self.problem.p[:, None] * np.asarray(mechanism.q, dtype=float)
        out = []
        for agent in (self.closed_form.bob, self.closed_form.eve):
            target = np.ravel(agent.target)
            centre, mass = self.mean @ target, rho.sum(axis=0)
            second = float(self.problem.p @ (centre**2 + self.variance @ target**2))
            first = (rho.T @ centre)[mass > 0]
            out.append(agent.residual + second - float((first**2 / mass[mass > 0]).sum()))
        return Risks(*out)


def squared_grid(
    model: GaussianModel,
    eve: str,
    *,
    mean_count: int = 40,
    residual_count: int = 24,
    decisions: int = 21,
    reach: float = 3.5,
) -> SquaredGrid:
    """The study at the calibrated lam as a finite problem.

    Args:
        model: the Gaussian model.
        eve: "mean" or "max". Against the mean D carries no information, and only xbar is cut into cells.
        mean_count: number of cells of xbar.
        residual_count: number of cells of D.
        decisions: number of equally spaced decisions of each agent.
        reach: half-width of the grids of decisions, in standard deviations of the posterior means. These are of the
            closed-form optimum, or of the full release if every mechanism is optimal.

    Returns:
        The problem with its grids and lam.

    Raises:
        InputError: eve is neither "mean" nor "max", a count is below 2, or reach is not positive.

    >>> from gaussian import GaussianModel
    >>> squared_grid(GaussianModel(n=5), "mean", mean_count=10, decisions=5)
    <SquaredGrid: (N, b, e) = (10, 5, 5), lam = 0.694444>
    """
    if decisions < 2 or mean_count < 2 or residual_count < 2 or not reach > 0:
        rule = "must be at least (2, 2, 2) and reach positive"
        raise InputError("decisions, mean_count, residual_count", (decisions, mean_count, residual_count), rule)
    form = squared_form(model, eve)
    best = quadratic(*form, "calibrated")
    S = form.covariance if best.ties else best.posterior_covariance
    x = mean_cells(model, mean_count)
    one = Cells(np.zeros(2), np.ones(1), np.zeros(1), np.zeros(1))
    d = residual_cells(model.n, residual_count) if eve == "max" else one
    mass = np.outer(x.mass, d.mass).ravel()
    live = mass > _DEAD
    mean, variance = (
        np.stack(np.meshgrid(*pair, indexing="ij"), -1).reshape(-1, 2)[live]
        for pair in ((x.mean, d.mean), (x.variance, d.variance))
    )
    tables, grids = [], []
    for agent in (form.bob, form.eve):
        target = np.ravel(agent.target)
        grid = reach * math.sqrt(target @ S @ target) * np.linspace(-1, 1, decisions)
        loss = (grid - (mean @ target)[:, None]) ** 2 + (variance @ target**2)[:, None] + agent.residual
        tables.append(loss)
        grids.append(grid)
    problem = Problem(
        mass[live] / mass[live].sum(),
        *tables,
        bob_decisions=[f"{g:.6g}" for g in grids[0]],
        eve_decisions=[f"{g:.6g}" for g in grids[1]],
        title=f"squared losses, Eve on the {eve}",
    )
    return SquaredGrid(problem, form, best.lam, grids[0], grids[1], mean, variance)
