"""sample: simulated draws as states of weight 1/N each; Alice's rule is learned on them and evaluated on new draws.

    V_N = max_u phi_N(u),   phi_N(u) = (1/N) sum_s min_i [ B(x_s,i) - u_i . E(x_s,.) ]
and V = max_u E phi(u) is the optimum over all mechanisms. Only the b*e numbers u are fitted. E V_N >= V, because the
maximum of phi_N is at least phi_N at the best u. So the in-sample value is too high on average, because Eve's replies
are fitted to the draws; it does not make Alice look better than she is. On new draws, with u fixed,
    mean of phi(u)              is an unbiased estimate of a lower bound on R_A of every mechanism, if B is exact;
    R_B - lam R_E of the rule   estimates R_A of a mechanism, which is at least V. R_B is a mean of Bob's losses when he
                                obeys the signal. R_E = sum_i min_j of means is too low on average, so R_A is too high.
B(x,i) = E[L_B(theta,i)|x] is `posterior_loss` if the model has it in closed form. Otherwise it is estimated from the
draws with the nearest statistics (module `neighbours`), with a standard error; the lower bound is then an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bap_lp import InputError, Problem, Risks, Solution
from bap_lp.rational import floats
from discretise.extensions import dual_choice
from discretise.losses import Loss, decisions_of, loss_of, loss_table, names
from discretise.neighbours import Neighbours, default_neighbours
from gaussian.arrays import Array

Simulator = Callable[[np.random.Generator, int], tuple[Any, ...]]


@dataclass(frozen=True)
class Draws:
    """Simulated data sets: theta, Eve's target, the statistic and the data, with one row per data set."""

    theta: Array
    target: Array
    statistic: Array
    x: Array

    def __repr__(self) -> str:
        return f"<Draws: {len(self.theta)} data sets, statistic of dimension {self.statistic.shape[1]}>"


@dataclass(frozen=True)
class OutOfSample:
    """The rule on new draws. All errors are standard errors; those of R_B and R_E are in `risks`.

    lower +- lower_error is the dual bound at the learned u; upper +- upper_error is R_A of the rule. `in_sample` is the
    value on the draws on which the rule was learned. `optimism` = in_sample - lower estimates the bias of in_sample,
    which is not negative; its standard error is `optimism_error`.
    """

    size: int
    risks: Risks
    lam: float
    upper: float
    upper_error: float
    lower: float
    lower_error: float
    in_sample: float
    optimism_error: float

    @property
    def optimism(self) -> float:
        """in_sample - lower."""
        return self.in_sample - self.lower


class SampledProblem(Problem):
    """A Problem whose states are draws. `bob_error` is the mean standard error of the estimated B(x,i), 0 if exact."""

    def __init__(
        self,
        simulator: Simulator,
        draws: Draws,
        losses: tuple[Loss, Loss],
        decisions: tuple[Array, Array],
        eve_target: Callable[[Array], Array] | None,
        posterior_loss: Callable[[Array], Array] | None,
        neighbours: int,
        title: str,
    ) -> None:
        self.simulator, self.draws, self.loss_functions, self.decision_grids = simulator, draws, losses, decisions
        self.eve_target, self.posterior_loss, self.neighbours = eve_target, posterior_loss, neighbours
        bob = loss_table(losses[0], draws.theta, decisions[0], "bob_loss")
        self._near = None if posterior_loss is not None else Neighbours(draws.statistic, bob, neighbours)
        B, error = self._posterior(draws.statistic) if self._near is None else self._near.own()
        size = len(draws.theta)
        super().__init__(
            np.full(size, 1 / size),
            B,
            loss_table(losses[1], draws.target, decisions[1], "eve_loss"),
            bob_decisions=names(decisions[0]),
            eve_decisions=names(decisions[1]),
            title=title,
        )
        self.bob_error = float(error.mean())

    def _posterior(self, statistic: Array) -> tuple[Array, Array]:
        """B at each statistic, and the standard error of its estimate."""
        if self._near is not None:
            return self._near.at(statistic)
        assert self.posterior_loss is not None
        shape = (len(statistic), len(self.decision_grids[0]))
        B = np.asarray(self.posterior_loss(statistic[:, 0] if statistic.shape[1] == 1 else statistic), dtype=float)
        if B.shape != shape:
            raise InputError("posterior_loss", None, f"gave shape {B.shape}, must give {shape}")
        return B, np.zeros(shape)

    def losses(self, x: ArrayLike, statistic: ArrayLike | None = None) -> tuple[Array, Array]:
        """B(x, .) and E(x, .) of new data sets, a row each."""
        data = np.asarray(x, dtype=float)
        target = _target(data, self.eve_target)
        B, _ = self._posterior(_rows(data if statistic is None else statistic))
        return B, loss_table(self.loss_functions[1], target, self.decision_grids[1], "eve_loss")

    def rule(self, solution: Solution, x: ArrayLike, statistic: ArrayLike | None = None) -> NDArray[np.intp]:
        """The position of the decision that Alice releases at each data set: argmin_i B(x,i) - u_i . E(x,.)."""
        return dual_choice(floats(solution.certificate.u), *self.losses(x, statistic))[0]

    def out_of_sample(self, solution: Solution, size: int, seed: int = 1) -> OutOfSample:
        """The risks of the rule and the bound of its u, on `size` new draws."""
        _count("size", size, 2)
        fresh = _draw(self.simulator, np.random.default_rng(seed), size, self.eve_target)
        B, _ = self._posterior(fresh.statistic)
        E = loss_table(self.loss_functions[1], fresh.target, self.decision_grids[1], "eve_loss")
        u, lam = floats(solution.certificate.u), float(solution.lam)
        value = B - E @ u.T
        chosen = value.argmin(axis=1)
        bound = value[np.arange(size), chosen]
        # an exact B is the mean of Bob's loss over theta and has a smaller variance than the loss
        exact = self.posterior_loss is not None
        bob = (B if exact else loss_table(self.loss_functions[0], fresh.theta, self.decision_grids[0], "bob_loss"))[
            np.arange(size), chosen
        ]
        sums = np.zeros((B.shape[1], E.shape[1]))
        np.add.at(sums, chosen, E)
        eve = E[np.arange(size), sums.argmin(axis=1)[chosen]]
        root = math.sqrt(size)
        risks = Risks(float(bob.mean()), float(eve.mean()), float(bob.std()) / root, float(eve.std()) / root)
        alice = bob - lam * eve
        return OutOfSample(
            size,
            risks,
            lam,
            float(alice.mean()),
            float(alice.std()) / root,
            float(bound.mean()),
            float(bound.std()) / root,
            float(solution.value),
            float(bound.std()) * math.sqrt(1 / size + 1 / len(self.p)),
        )


def sample(
    simulator: Simulator,
    size: int,
    bob_loss: Any,
    eve_loss: Any,
    *,
    bob_decisions: ArrayLike,
    eve_decisions: ArrayLike,
    eve_target: Callable[[Array], Array] | None = None,
    posterior_loss: Callable[[Array], Array] | None = None,
    neighbours: int | None = None,
    seed: int = 0,
    title: str = "",
) -> SampledProblem:
    """A finite problem whose states are simulated draws.

    Args:
        simulator: a function (rng, size) -> (theta, x) or (theta, x, statistic), with one row per draw. B is a function
            of the statistic, which is x if it is not given.
        size: number of draws.
        bob_loss: a function of (theta, decision), or "0-1", "squared" or "absolute".
        eve_loss: the same for (Eve's target, decision).
        bob_decisions: the grid of Bob's decisions.
        eve_decisions: the grid of Eve's decisions.
        eve_target: a function from the rows of x to one number each; x itself if it is not given.
        posterior_loss: a function from statistics to rows of B, if it is known. Otherwise B is estimated.
        neighbours: number of nearest draws from which B is estimated.
        seed: seed of the random numbers.
        title: title of the problem.

    Returns:
        The problem, with a rule for new data and its evaluation on new draws.

    Raises:
        InputError: an argument or what a function returns breaks one of these rules.

    >>> from discretise import zero_one
    >>> def simulator(rng, size):
    ...     theta = rng.normal(size=size)
    ...     return theta, theta + rng.normal(size=size)
    >>> sample(simulator, 200, zero_one(0), zero_one(1), bob_decisions=[0, 1], eve_decisions=[0, 1], title="drawn")
    <SampledProblem 'drawn': float, (N, b, e) = (200, 2, 2)>
    """
    _count("size", size, 3)
    losses = loss_of(bob_loss, "bob_loss"), loss_of(eve_loss, "eve_loss")
    decisions = decisions_of(bob_decisions, "bob_decisions"), decisions_of(eve_decisions, "eve_decisions")
    draws = _draw(simulator, np.random.default_rng(seed), size, eve_target)
    dimension = draws.statistic.shape[1]
    k = default_neighbours(size, dimension) if neighbours is None else neighbours
    _count("neighbours", k, 1)
    if k >= size:
        raise InputError("neighbours", k, f"must be less than size = {size}")
    return SampledProblem(simulator, draws, losses, decisions, eve_target, posterior_loss, k, title)


def _draw(simulator: Simulator, rng: np.random.Generator, size: int, eve_target: Any) -> Draws:
    found = simulator(rng, size)
    if not isinstance(found, tuple) or len(found) not in (2, 3):
        raise InputError("simulator", None, "must return (theta, x) or (theta, x, statistic)")
    parts = [np.asarray(part, dtype=float) for part in found]
    for part, field in zip(parts, ("theta", "x", "statistic"), strict=False):
        if not part.ndim or len(part) != size or not np.isfinite(part).all():
            raise InputError(f"simulator's {field}", None, f"has shape {part.shape}, must be {size} finite rows")
    if parts[0].ndim != 1:
        raise InputError("simulator's theta", None, f"has shape {parts[0].shape}, must be one number per draw")
    return Draws(parts[0], _target(parts[1], eve_target), _rows(parts[-1]), parts[1])


def _target(x: Array, eve_target: Callable[[Array], Array] | None) -> Array:
    target = np.asarray(x if eve_target is None else eve_target(x), dtype=float)
    if target.shape != x.shape[:1]:
        raise InputError("eve_target", None, f"gives shape {target.shape}, must give one number per data set")
    return target


def _rows(values: ArrayLike) -> Array:
    rows = np.asarray(values, dtype=float)
    return rows.reshape(len(rows), -1)


def _count(field: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise InputError(field, value, f"must be an integer, at least {least}")
