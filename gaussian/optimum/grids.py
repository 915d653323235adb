"""Finite problems inside the Gaussian model: states are intervals of xbar, cut by Eve's cells.

A mechanism that is constant on such states is a mechanism on the data. The mass p(k, s) of interval k and cell s is
exact, and so is the averaged loss B((k, s), 0) = P(theta > c_B | k, s). So the risks on the grid are the risks on the
data: the optimum of the finite problem is attained on real data and bounds the optimum over all mechanisms from above.
Splitting states can only lower it. It does so where the mechanism switches or randomises.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from bap_lp.model.problem import Problem
from bap_lp.support.arguments import whole_number
from bap_lp.support.rational import InputError
from gaussian.eves import betting_weights, cell_words, questions
from gaussian.model import Eve, GaussianModel, standard_form
from gaussian.optimum.cells import cell_law
from gaussian.optimum.rules import BracketRule
from gaussian.real_arrays import Array

if TYPE_CHECKING:
    from bap_lp import Solution


class GridProblem(Problem):
    """The Gaussian model on intervals of xbar.

    State x is the interval k = interval[x] of xbar, (edges[k], edges[k + 1]], in cell[x] of Eve's events.

    Args:
        model: the Gaussian model.
        eve: what Eve tests.
        edges: the ends of the intervals, increasing.

    >>> from discretise import grid
    >>> from gaussian import GaussianModel, MeanEve
    >>> problem = grid(GaussianModel(n=5), MeanEve(0.5), 8)
    >>> type(problem).__name__, problem.shape
    ('GridProblem', (9, 2, 2))
    """

    def __init__(self, model: GaussianModel, eve: Eve, edges: Array) -> None:
        form = standard_form(model, eve)
        law = cell_law(form.model, form.eve).finer
        masses = law.between(form.there(edges))  # theta > c_B, cell, interval
        totals = masses.sum(0).T
        interval, cell = np.nonzero(totals > 0)
        prior = totals[interval, cell]
        bob = (masses[:, cell, interval] / prior).T[:, ::-1]  # deciding 0 is wrong when theta > c_B
        bob = np.clip(bob, 0.0, 1.0) * np.array(model.bob_loss)
        names = cell_words(questions(eve))
        ends = [_ends(low, high, k) for k, (low, high) in enumerate(pairwise(edges.tolist()))]
        super().__init__(
            prior / prior.sum(),
            bob_loss=bob,
            eve_loss=eve_losses(eve)[cell],
            states=[f"{ends[k]}; {names[s]}" for k, s in zip(interval.tolist(), cell.tolist(), strict=True)],
            bob_decisions=["theta <= c_B", "theta > c_B"],
            eve_decisions=names,
            title=f"Gaussian, n = {model.n}, {len(edges) - 1} intervals of xbar",
        )
        self.model, self.eve, self.edges, self.interval, self.cell = model, eve, edges, interval, cell


def _ends(low: float, high: float, k: int) -> str:
    return f"{k}: xbar in ({low:.6g}, {high:.6g}{')' if high == math.inf else ']'}"


def eve_losses(eve: Eve) -> Array:
    """E(s, j), Eve's loss in cell s if she decides j.

    With one test she loses unless j = s. With several she loses only if j is wrong about all of them: decision 00 loses
    on cell 11, decision 01 on cell 10. What she loses there is the least of her losses.
    """
    # a decision answers every question; the wrong answers to all of them are the last cell minus the decision
    weights = betting_weights(eve)
    return np.diag(weights)[:, ::-1].copy()


def grid(model: GaussianModel, eve: Eve, cells: int = 200, edges: ArrayLike | None = None) -> GridProblem:
    """A finite problem whose states are intervals of xbar, cut by Eve's cells.

    Args:
        model: the Gaussian model.
        eve: what Eve tests.
        cells: number of equally likely intervals of xbar.
        edges: ends of the intervals, instead of cells. Bob's and Eve's thresholds are always edges too.

    Returns:
        The problem, with exact masses and exactly averaged losses.

    Raises:
        InputError: cells is not a positive integer, or an edge is not a number.

    >>> from gaussian import GaussianModel, MeanEve
    >>> grid(GaussianModel(n=5), MeanEve(0.5), cells=20)
    <GridProblem: 'Gaussian, n = 5, 21 intervals of xbar', float, (N, b, e) = (21, 2, 2)>
    """
    form = standard_form(model, eve)
    law = cell_law(form.model, form.eve)
    if edges is None:
        cells = whole_number("cells", cells, 1)
        points = model.prior_mean + model.xbar_sd * ndtri(np.arange(1, cells) / cells)
    else:
        points = np.asarray(edges, dtype=float).ravel()
        if np.isnan(points).any():
            raise InputError("edges", math.nan, "must be numbers")
    fixed = form.back([law.centre, *[end for support in law.supports for end in support]])
    return GridProblem(model, eve, _sorted(model, np.concatenate([points, fixed])))


def _sorted(model: GaussianModel, points: Array) -> Array:
    """Distinct edges from -inf to inf, without those in the tails, where there is no mass."""
    reach = 8.5 * model.xbar_sd
    inside = points[np.abs(points - model.prior_mean) < reach]
    return np.unique(np.concatenate([[-math.inf], inside, [math.inf]]))


def _channel(solution: Solution) -> tuple[GridProblem, Array]:
    problem = solution.problem
    if not isinstance(problem, GridProblem):
        raise InputError("solution", None, "must be of a problem made by discretise.grid")
    # a probability within 1e-9 of 0 or 1 is 0 or 1 but for the rounding of the joint table
    return problem, np.where(np.abs(_ones(solution) - 0.5) > 0.5 - 1e-9, np.round(_ones(solution)), _ones(solution))


def _ones(solution: Solution) -> Array:
    """P(Bob is told theta > c_B | state)."""
    mechanism, name = solution.mechanism, solution.problem.bob_decisions[1]
    q: Any = mechanism.as_float().q
    return q[:, mechanism.signals.index(name)] if name in mechanism.signals else np.zeros(len(q))


def refine(solution: Solution, parts: int = 16) -> GridProblem:
    """The grid of a solution, finer where its mechanism randomises or switches.

    Args:
        solution: the solution of a problem made by `grid` or `refine`.
        parts: number of equally likely parts into which each such interval is split.

    Returns:
        The finer problem. Its optimum is at most that of the coarser one.

    Raises:
        InputError: parts is not an integer >= 2, or the problem was not made by `grid`.

    >>> from bap_lp import solve
    >>> from gaussian import GaussianModel, MeanEve
    >>> coarse = solve(grid(GaussianModel(n=5), MeanEve(0.5), cells=20), 1, exact=False)
    >>> fine = solve(refine(coarse), 1, exact=False)
    >>> f"{coarse.value:.5f} {fine.value:.5f}"
    '-0.14315 -0.14331'
    """
    parts = whole_number("parts", parts, 2)
    problem, q = _channel(solution)
    marked = np.zeros(len(problem.edges) - 1, dtype=bool)
    for s in range(problem.cell.max() + 1):
        here = np.flatnonzero(problem.cell == s)
        k, share = problem.interval[here], q[here]
        marked[k[(share > 0) & (share < 1)]] = True
        turn = np.flatnonzero(share[1:] != share[:-1])
        marked[k[turn]] = marked[k[turn + 1]] = True
    mean, spread = problem.model.prior_mean, problem.model.xbar_sd
    z = (problem.edges - mean) / spread
    inner = mean + spread * equal_parts(z[:-1][marked], z[1:][marked], parts).ravel()
    return GridProblem(problem.model, problem.eve, _sorted(problem.model, np.concatenate([problem.edges, inner])))


def equal_parts(low: Array, high: Array, parts: int) -> Array:
    """The points that cut each interval of a N(0, 1) variable into equally likely parts, a row per interval."""
    # from the smaller tail: far on the right the distribution function is 1 in floats
    side = np.where(low + high > 0, -1.0, 1.0)[:, None]
    start, end = ndtr(side * low[:, None]), ndtr(side * high[:, None])
    return np.asarray(side * ndtri(start + (end - start) * np.arange(1, parts) / parts))


def grid_rule(solution: Solution) -> BracketRule:
    """The mechanism of a solved grid as a rule on data.

    Args:
        solution: the solution of a problem made by `grid` or `refine`.

    Returns:
        The rule: a function from data to the probability of releasing 1.

    Raises:
        InputError: the problem was not made by `grid`.

    >>> from bap_lp import solve
    >>> from gaussian import GaussianModel, MeanEve
    >>> rule = grid_rule(solve(grid(GaussianModel(n=2), MeanEve(0.5), cells=20), 1, exact=False))
    >>> rule([[1.2, 0.8], [-1.0, -1.5]]).tolist()
    [1.0, 0.0]
    """
    problem, q = _channel(solution)
    edges, probabilities = problem.edges[1:-1], []
    for s in range(len(cell_words(questions(problem.eve)))):
        row = np.zeros(len(edges) + 1)
        here = problem.cell == s
        row[problem.interval[here]] = q[here]
        probabilities.append(row)
    return BracketRule(problem.model, problem.eve, (edges,) * len(probabilities), tuple(probabilities))
