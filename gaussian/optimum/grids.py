"""Finite problems inside the Gaussian model: states are intervals of xbar, cut by Eve's cells.

A mechanism that is constant on such states is a mechanism on the data. With the exact mass p(k, s) of interval k and
cell s and the averaged loss B((k, s), 0) = P(theta > c_B | k, s), its risks on the grid are its risks on the data: the
optimum of the finite problem is attained on the real data and bounds the optimum over all mechanisms from above.
Splitting states can only lower it, and pays where the mechanism switches or randomises.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri

from bap_lp.model.problem import Problem
from bap_lp.rational import InputError
from gaussian.arrays import Array
from gaussian.model import BothEves, Eve, GaussianModel
from gaussian.optimum.cells import cell_law, cell_names
from gaussian.optimum.rules import BracketRule

if TYPE_CHECKING:
    from bap_lp import Solution


class GridProblem(Problem):
    """State x is the interval k = interval[x] of xbar, (edges[k], edges[k + 1]], in cell[x] of Eve's events."""

    def __init__(self, model: GaussianModel, eve: Eve, edges: Array) -> None:
        law = cell_law(model, eve).finer
        masses = law.between(edges)  # theta > c_B, cell, interval
        totals = masses.sum(0).T
        interval, cell = np.nonzero(totals > 0)
        prior = totals[interval, cell]
        bob = (masses[:, cell, interval] / prior).T[:, ::-1]  # deciding 0 is wrong when theta > c_B
        names = cell_names(eve)
        ends = [_ends(low, high, k) for k, (low, high) in enumerate(pairwise(edges.tolist()))]
        super().__init__(
            prior / prior.sum(),
            bob_loss=np.clip(bob, 0.0, 1.0),
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
    """E(s, j): one test errs unless j = s; with both, j loses only on the cell that differs from it in both tests."""
    if isinstance(eve, BothEves):
        return np.eye(4)[::-1].copy()
    return 1.0 - np.eye(2)


def grid(model: GaussianModel, eve: Eve, cells: int = 200, edges: ArrayLike | None = None) -> GridProblem:
    """A grid of equally likely intervals of xbar, or of the given edges; all thresholds are edges too."""
    law = cell_law(model, eve)
    if edges is None:
        if isinstance(cells, bool) or not isinstance(cells, (int, np.integer)) or cells < 1:
            raise InputError("cells", cells, "must be an integer >= 1")
        points = model.xbar_sd * ndtri(np.arange(1, cells) / cells)
    else:
        points = np.asarray(edges, dtype=float).ravel()
        if np.isnan(points).any():
            raise InputError("edges", math.nan, "must be numbers")
    fixed = [law.centre, *[end for support in law.supports for end in support]]
    return GridProblem(model, eve, _sorted(model, np.concatenate([points, fixed])))


def _sorted(model: GaussianModel, points: Array) -> Array:
    """Distinct edges from -inf to inf, without those beyond all mass."""
    reach = 8.5 * model.xbar_sd
    inside = points[np.abs(points) < reach]
    return np.unique(np.concatenate([[-math.inf], inside, [math.inf]]))


def _channel(solution: Solution) -> tuple[GridProblem, Array]:
    problem = solution.problem
    if not isinstance(problem, GridProblem):
        raise InputError("solution", None, "must be of a problem made by discretise.grid")
    # rounding in the last digits of a joint table is not randomisation
    return problem, np.where(np.abs(_ones(solution) - 0.5) > 0.5 - 1e-9, np.round(_ones(solution)), _ones(solution))


def _ones(solution: Solution) -> Array:
    """P(Bob is told theta > c_B | state)."""
    mechanism, name = solution.mechanism, solution.problem.bob_decisions[1]
    q: Any = mechanism.as_float().q
    return q[:, mechanism.signals.index(name)] if name in mechanism.signals else np.zeros(len(q))


def refine(solution: Solution, parts: int = 16) -> GridProblem:
    """Split into equally likely parts the intervals in which some cell randomises or next to which it switches."""
    if isinstance(parts, bool) or not isinstance(parts, int) or parts < 2:
        raise InputError("parts", parts, "must be an integer >= 2")
    problem, q = _channel(solution)
    marked = np.zeros(len(problem.edges) - 1, dtype=bool)
    for s in range(problem.cell.max() + 1):
        here = np.flatnonzero(problem.cell == s)
        k, share = problem.interval[here], q[here]
        marked[k[(share > 0) & (share < 1)]] = True
        turn = np.flatnonzero(share[1:] != share[:-1])
        marked[k[turn]] = marked[k[turn + 1]] = True
    levels = ndtr(problem.edges / problem.model.xbar_sd)
    low, high = levels[:-1][marked], levels[1:][marked]
    steps = np.arange(1, parts) / parts
    inner = problem.model.xbar_sd * ndtri((low[:, None] + (high - low)[:, None] * steps).ravel())
    return GridProblem(problem.model, problem.eve, _sorted(problem.model, np.concatenate([problem.edges, inner])))


def grid_rule(solution: Solution) -> BracketRule:
    """The mechanism of a solved grid as a rule on actual data."""
    problem, q = _channel(solution)
    edges, probabilities = problem.edges[1:-1], []
    for s in range(len(cell_names(problem.eve))):
        row = np.zeros(len(edges) + 1)
        here = problem.cell == s
        row[problem.interval[here]] = q[here]
        probabilities.append(row)
    return BracketRule(problem.model, problem.eve, (edges,) * len(probabilities), tuple(probabilities))
