"""sample: simulated draws as states, each of weight 1/N; Alice's rule learned on them and judged on fresh ones.

    V_N = max_u phi_N(u),   phi_N(u) = (1/N) sum_s min_i [ B(x_s,i) - u_i . E(x_s,.) ]
and V = max_u E phi(u) is the optimum over all mechanisms. Only u, b*e numbers, is fitted: E V_N >= V, because a maximum
of means exceeds the mean at the best u. The in-sample value errs upwards, by Eve's replies fitting the draws; it does
not flatter Alice. On fresh draws, with u fixed,
    mean of phi(u)              estimates, without bias, a lower bound on R_A of every mechanism (if B is exact),
    R_B - lam R_E of the rule   is R_A of a real mechanism, so at least V: R_B is a mean of losses of Bob obeying the
                                signal, and R_E = sum_i min_j of means, whose bias is downwards, so R_A errs upwards.
B(x,i) = E[L_B(theta,i)|x] is `posterior_loss` where the model has it in closed form; else it is estimated from the
draws nearest in the statistic (module `neighbours`), with a standard error; the lower bound is then an estimate.
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
    """theta, Eve's target and the statistic (a row each) of simulated data sets."""

    theta: Array
    target: Array
    statistic: Array
    x: Array


@dataclass(frozen=True)
class OutOfSample:
    """The rule on fresh draws. Errors are standard errors; `risks` has them for R_B and R_E.

    lower -+ lower_error: the dual bound at the learned u. upper -+ upper_error: R_A of the rule. `in_sample` is the
    value on the draws it was learned on; `optimism` = in_sample - lower is what fitting u adds to it (not negative on
    average), plus the luck of the two samples, of standard error `optimism_error`.
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
        """B(x, .) and E(x, .) of data sets never seen, a row each."""
        data = np.asarray(x, dtype=float)
        target = _target(data, self.eve_target)
        B, _ = self._posterior(_rows(data if statistic is None else statistic))
        return B, loss_table(self.loss_functions[1], target, self.decision_grids[1], "eve_loss")

    def rule(self, solution: Solution, x: ArrayLike, statistic: ArrayLike | None = None) -> NDArray[np.intp]:
        """Bob's decision (its position) that Alice releases at each data set: argmin_i B(x,i) - u_i . E(x,.)."""
        return dual_choice(floats(solution.certificate.u), *self.losses(x, statistic))[0]

    def out_of_sample(self, solution: Solution, size: int, seed: int = 1) -> OutOfSample:
        """Risks of the rule, and the bound of its u, on fresh draws."""
        _count("size", size, 2)
        fresh = _draw(self.simulator, np.random.default_rng(seed), size, self.eve_target)
        B, _ = self._posterior(fresh.statistic)
        E = loss_table(self.loss_functions[1], fresh.target, self.decision_grids[1], "eve_loss")
        u, lam = floats(solution.certificate.u), float(solution.lam)
        value = B - E @ u.T
        chosen = value.argmin(axis=1)
        bound = value[np.arange(size), chosen]
        # where B is exact it is the mean of Bob's loss over theta, with less variance than the loss itself
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
    """Simulated draws as states: simulator(rng, size) -> (theta, x) or (theta, x, statistic), a row per draw.

    Bob loses bob_loss(theta, i), Eve eve_loss(eve_target(x), j); eve_target is x itself where x is one number. The
    statistic (x unless given) is what B is a function of: posterior_loss(statistic) -> a row of B per draw where it is
    known, else the mean over the `neighbours` nearest draws.
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
