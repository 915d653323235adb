"""model: a scalar prior and likelihood of scipy.stats as a finite Problem with its cells.

With theta on points theta_t of weight w_t (module `laws`) and x in cells c,
    p(c) = sum_t w_t P(c|theta_t),      B(c,i) = sum_t w_t P(c|theta_t) L_B(theta_t, i) / p(c),
    E(c,j) = E[L_E(X, j) | X in c]  under the predictive density sum_t w_t f(x|theta_t).
Exact up to rounding: P(c|theta_t), always; p and B, for a finite or discrete prior; E, for a discrete likelihood.
Not exact: a continuous prior is replaced by points, and E(c,j) over a continuous cell is a Gauss-Legendre sum. Both
errors are estimated by comparison with p', B', E' from twice the cells of theta with two more points in each, and twice
the nodes in x. Because |min - min'| <= max |difference|, every mechanism on the cells has
    |R_B - R_B'| <= sum_c max_i |p(c) B(c,i) - p'(c) B'(c,i)|,      and the same with E for |R_E - R_E'|.
`bob_error` and `eve_error` are twice the right-hand sides, which covers a rule that converges only linearly.
Keeping the mechanism constant on cells is a choice, not an error: Alice is free to do so. It raises R_A; finer cells
raise it less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bap_lp import Agent, InputError, Problem
from bap_lp.model.problem import Theta
from bap_lp.support.arguments import whole_number
from discretise.laws import (
    Likelihood,
    Predictive,
    WeightedPoints,
    atom_edges,
    known_quantiles,
    predictive,
    prior_points,
)
from discretise.losses import (
    EveTask,
    Loss,
    ZeroOne,
    bends,
    decisions_of,
    eve_slices,
    eve_table,
    eve_tasks,
    jumps,
    loss_of,
    loss_table,
    names,
    numbers_of,
)
from discretise.pace import patient
from discretise.tails import check_finite, check_reach
from gaussian.numerics.piecewise import gauss_nodes
from gaussian.real_arrays import Array

_NODES = 8
_BLOCK = 1 << 22  # numbers tabulated at a time


@dataclass(frozen=True, eq=False)
class ScalarModel:
    """Prior, likelihood and losses of a scalar model, checked. `bracket` needs no more; `problem` has cells too."""

    prior: Any
    points: WeightedPoints
    likelihood: Likelihood
    bob: tuple[Loss, Array]
    eves: tuple[EveTask, ...]
    breaks: tuple[Array, Array]  # where losses jump or bend, in theta and in x
    cut: Array
    cells: tuple[int, int, int | None]
    title: str

    @property
    def deep(self) -> bool:
        """Whether far tails matter, as they do unless all losses are bounded."""
        return not (isinstance(self.bob[0], ZeroOne) and all(eve.bounded for eve in self.eves))

    @cached_property
    @patient()
    def problem(self) -> GriddedProblem:
        """The model on cells."""
        theta_cells, theta_nodes, data_cells = self.cells
        points, law, bob, eves = self.points, self.likelihood, self.bob, self.eves
        finer, finer_law = points, law
        if not points.exact:
            finer = prior_points(self.prior, 2 * theta_cells, theta_nodes + 2, self.breaks[0])
            finer_law = Likelihood(law.given, finer.values)
        pairs = [(points.weights, law), (finer.weights, finer_law)]
        beyond = 0.0
        if law.discrete:
            atoms, beyond = finer_law.atoms(finer.weights, finer.exact, self.deep)
            check_reach(eves, atoms, beyond)
            cut = atom_edges(atoms, law.mixture(points.weights, atoms), data_cells, self.cut)
            averages = [_atom_average(w, f, atoms, cut, eves) for w, f in pairs]
            eve, beyond = [average for average, _ in averages], max(beyond, *(left for _, left in averages))
        else:
            scan = predictive(law, points.weights, deep=not all(eve.bounded for eve in eves))
            cut = np.append(scan.quantile(np.linspace(0, 1, (data_cells or 100) + 1)[1:-1]), self.cut)
            cut = np.concatenate([[-np.inf], np.unique(cut), [np.inf]])
            eve = [
                _panel_average(w, f, scan, cut, eves, self.breaks[1], nodes)
                for (w, f), nodes in zip(pairs, (_NODES, 2 * _NODES), strict=True)
            ]
        tables = [
            _Tables(grid, f, cut, loss_table(bob[0], grid.values, bob[1], "bob_loss"), average, grid.exact)
            for grid, f, average in ((points, law, eve[0]), (finer, finer_law, eve[1]))
        ]
        bob_error, eve_error = (2 * d for d in tables[0].distance(tables[1], eve_slices(eves)))
        # Eve loses at most 1 at data that are not tabulated
        errors = bob_error, eve_error + beyond * sum(eve.weight for eve in eves)
        return GriddedProblem(tables[0], cut, self, errors)


class GriddedProblem(Problem):
    """A Problem whose states are the cells (edges[c], edges[c+1]] of a scalar statistic. `model` makes it.

    `bob_error` and `eve_error` are estimated bounds on the errors of R_B and R_E of any mechanism on the cells, which
    come from the points of theta and from the integration of E. `losses(x)` are B and E at any data points.

    Args:
        tables: p, B and E on the cells.
        edges: the ends of the cells.
        scalar: the model itself: prior, likelihood and losses.
        errors: of R_B and R_E.

    >>> from scipy import stats
    >>> from discretise import model, zero_one
    >>> found = model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(3), bob_decisions=[0, 1],
    ...               eve_decisions=[0, 1])
    >>> type(found).__name__, found.shape[1:]
    ('GriddedProblem', (2, 2))
    """

    def __init__(self, tables: _Tables, edges: Array, scalar: ScalarModel, errors: tuple[float, float]) -> None:
        points, bob, eves = scalar.points, scalar.bob, scalar.eves
        super().__init__(
            tables.p / tables.p.sum(),
            tables.B,
            states=_cell_names(edges),
            bob_decisions=names(bob[1]),
            eves=[
                Agent(tables.E[:, g] / eve.weight, names(eve.decisions), eve.name, eve.weight)
                for eve, g in zip(eves, eve_slices(eves), strict=True)
            ],
            title=scalar.title,
            theta=Theta(tuple(names(points.values)), tables.posterior) if points.exact else None,
        )
        self.edges, self.scalar, self.points, self.likelihood = edges, scalar, points, scalar.likelihood
        self.bob_task, self.eve_tasks, self.theta_prior, self.breaks = bob, eves, scalar.prior, scalar.breaks
        self.bob_error, self.eve_error = errors

    def cell(self, x: ArrayLike) -> NDArray[np.intp]:
        """The cell of each data point."""
        x = np.asarray(x, dtype=float)
        if np.isnan(x).any():
            raise InputError("x", float("nan"), "must be a number")
        return np.searchsorted(self.edges[1:-1], x, side="left")

    def losses(self, x: ArrayLike) -> tuple[Array, Array]:
        """B(x, .) and E(x, .) at data points, a row each; B is that of the cell where x has density 0 for all theta."""
        x = np.atleast_1d(np.asarray(x, dtype=float))
        loss, decisions = self.scalar.bob
        bob = loss_table(loss, self.points.values, decisions, "bob_loss")
        columns = self.points.weights[:, None] * np.hstack([np.ones((len(bob), 1)), bob])
        total, *sums = self.likelihood.mixture(columns, x)
        known = total > 0
        B = np.where(known, np.array(sums) / np.where(known, total, 1.0), self.B[self.cell(x)].T).T
        return B, eve_table(self.scalar.eves, x)


class _Tables:
    """p, B and E of the cells for one choice of the points of theta."""

    def __init__(
        self, points: WeightedPoints, likelihood: Likelihood, edges: Array, bob: Array, eve: Array, posterior: bool
    ) -> None:
        step = max(1, _BLOCK // len(points.values))
        parts = []
        for k in range(0, len(edges) - 1, step):
            joint = points.weights[:, None] * likelihood.masses(edges[k : k + step + 1])
            p = joint.sum(axis=0)
            safe = np.where(p > 0, p, 1.0)[:, None]
            parts.append((p, joint.T @ bob / safe, joint.T / safe if posterior else joint.T[:0]))
        self.p, self.B, self.posterior = (np.concatenate(rows) for rows in zip(*parts, strict=True))
        self.E = eve

    def distance(self, other: _Tables, groups: tuple[slice, ...]) -> tuple[float, float]:
        """sum_c max_i |p B - p' B'|, and the same for E, summed over the Eves."""
        bob, eve = (
            np.abs(self.p[:, None] * a - other.p[:, None] * b) for a, b in ((self.B, other.B), (self.E, other.E))
        )
        return float(bob.max(axis=1).sum()), sum(float(eve[:, g].max(axis=1).sum()) for g in groups)


def model(
    prior: Any,
    likelihood: Callable[[Any], Any],
    bob_loss: Any,
    eve_loss: Any,
    *,
    bob_decisions: ArrayLike,
    eve_decisions: Any,
    eve_weights: Sequence[float] | None = None,
    theta_cells: int = 100,
    theta_nodes: int = 4,
    data_cells: int | None = None,
    edges: Sequence[float] = (),
    theta_edges: Sequence[float] = (),
    title: str = "",
) -> GriddedProblem:
    """A finite problem from theta ~ prior, x | theta ~ likelihood(theta), and the losses of Bob and Eve.

    Args:
        prior: (values, weights), or a frozen scipy.stats distribution.
        likelihood: a function theta -> frozen scipy.stats distribution of the data, or of a sufficient statistic that
            also determines Eve's target.
        bob_loss: a function of (theta, decision), or "0-1", "squared" or "absolute".
        eve_loss: the same for (x, decision); a list of them for several Eves.
        bob_decisions: the grid of Bob's decisions.
        eve_decisions: the grid of Eve's decisions; a list of grids for several Eves.
        eve_weights: the weights of several Eves in R_E; 1 each by default.
        theta_cells: number of cells of a continuous prior.
        theta_nodes: points in each of them.
        data_cells: number of cells of x; by default 100 of equal predictive mass, or all atoms of a discrete law.
        edges: values of x at which to cut as well.
        theta_edges: values of theta at which bob_loss jumps or bends, if it is a function of your own.
        title: title of the problem.

    Returns:
        The problem, with its cells and the errors of both risks.

    Raises:
        InputError: an argument breaks one of these rules, a loss is negative or not finite, or a risk is infinite.

    >>> from scipy import stats
    >>> model(stats.beta(2, 3), lambda theta: stats.binom(4, theta), "squared", "0-1",
    ...       bob_decisions=[0.2, 0.4, 0.6], eve_decisions=range(5), title="a count")
    <GriddedProblem: 'a count', float, (N, b, e) = (5, 3, 5)>
    """
    return scalar_model(
        prior, likelihood, bob_loss, eve_loss, bob_decisions, eve_decisions, eve_weights,
        (theta_cells, theta_nodes, data_cells), edges, theta_edges, title,
    ).problem  # fmt: skip


@patient()
def scalar_model(
    prior: Any, likelihood: Callable[[Any], Any], bob_loss: Any, eve_loss: Any, bob_decisions: ArrayLike,
    eve_decisions: Any, eve_weights: Sequence[float] | None = None, cells: tuple[int, int, int | None] = (100, 4, None),
    edges: Sequence[float] = (), theta_edges: Sequence[float] = (), title: str = "",
) -> ScalarModel:  # fmt: skip
    """What `model` puts on cells; `cells` are those of theta, the points in each of them, and those of x."""
    for field, value in zip(("theta_cells", "theta_nodes", "data_cells"), cells, strict=True):
        if value is not None or field != "data_cells":
            whole_number(field, value, 1)
    bob = loss_of(bob_loss, "bob_loss"), decisions_of(bob_decisions, "bob_decisions")
    eves = eve_tasks(eve_loss, eve_decisions, eve_weights)
    given = numbers_of(edges, "edges")
    breaks = np.concatenate([bends(*bob), numbers_of(theta_edges, "theta_edges")])
    points = prior_points(prior, cells[0], cells[1], breaks)
    law = Likelihood(likelihood, points.values)
    law.check()
    eve_table(eves, np.zeros(1))  # a loss of the wrong shape is refused before it is integrated
    with known_quantiles():
        check_finite(prior, likelihood, bob, eves)
    bent = np.concatenate([given, *(bends(eve.loss, eve.decisions) for eve in eves)])
    cut = np.concatenate([given, *(jumps(eve.loss) for eve in eves)])
    return ScalarModel(prior, points, law, bob, eves, (breaks, bent), cut, cells, title)


def _atom_average(
    weights: Array, law: Likelihood, atoms: Array, edges: Array, eves: tuple[EveTask, ...]
) -> tuple[Array, float]:
    """E(c, j) as a sum over the atoms of the cell, and the probability of all other data."""
    mass = law.mixture(weights, atoms)
    beyond = float(weights @ (law.table("cdf", atoms[:1] - 1e-6) + law.table("sf", atoms[-1:]))[:, 0])
    total = float(mass.sum()) + beyond
    if abs(total - 1) > 1e-6:
        rule = f"has probabilities that sum to {total:.6g} over its atoms, must sum to 1"
        raise InputError("likelihood", None, rule)
    cell = np.searchsorted(edges[1:-1], atoms, side="left")
    return _weighted(mass, cell, len(edges) - 1, eve_table(eves, atoms)), beyond


def _panel_average(
    weights: Array,
    law: Likelihood,
    scan: Predictive,
    edges: Array,
    eves: tuple[EveTask, ...],
    bent: Array,
    nodes: int,
) -> Array:
    """E(c, j) by Gauss-Legendre on panels; dividing by the quadrature of the mass cancels most of the error."""
    low, high, cell = scan.panels(edges, bent)
    x, w = (values.ravel() for values in gauss_nodes(low, high, nodes))
    return _weighted(w * law.mixture(weights, x), np.repeat(cell, nodes), len(edges) - 1, eve_table(eves, x))


def _weighted(mass: Array, cell: NDArray[np.intp], count: int, losses: Array) -> Array:
    total = np.bincount(cell, mass, count)
    sums = np.stack([np.bincount(cell, mass * column, count) for column in losses.T], axis=1)
    return np.asarray(sums / np.where(total > 0, total, 1.0)[:, None])


def _cell_names(edges: Array) -> list[str]:
    for digits in (4, 6, 9, 17):
        found = [f"({low:.{digits}g}, {high:.{digits}g}]" for low, high in pairwise(edges.tolist())]
        if len(set(found)) == len(found):
            break
    return found
