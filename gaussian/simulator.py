"""Draws and exact losses for any list of Eves, also where no proved bracket exists.

    simulator(rng, size) -> (theta, x)      parameters, and a row of n observations each
    posterior_loss(x)    -> (size, 2)       B(x, i) = E[loss of Bob's decision i | x]: a P(theta > c_B | x) for "no",
                                            b P(theta <= c_B | x) for "yes", in closed form
    eve_losses(x)        -> one (size, e) array per Eve: what she loses by each of her decisions, in the order of her
    cells
A list with weights has one array per Eve, each times her weight; "either" has one array, the least of the losses. These
are what a bracket from draws needs: the lower end E[min_i (B(x,i) - sum_g u_gi . E_g(x,.))] holds for every u.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from gaussian.eves import Eve, GaussianEves, ThresholdEve, cell_index, cell_words, questions
from gaussian.model import GaussianModel, gaussian_draws
from gaussian.real_arrays import Array


@dataclass(frozen=True)
class EveSimulator:
    """The Gaussian model and any Eves as functions of draws; made by `eve_simulator`.

    Attributes:
        model: the Gaussian model.
        eve: what Eve tests.

    >>> from gaussian import EveSimulator, GaussianModel, MaxEve
    >>> EveSimulator(GaussianModel(n=5), MaxEve(2.0)).eve_decisions
    (('max <= 2', 'max > 2'),)
    """

    model: GaussianModel
    eve: Eve

    @property
    def bob_decisions(self) -> tuple[str, str]:
        """Bob's decisions, in the order of `posterior_loss`."""
        return "theta <= c_B", "theta > c_B"

    @property
    def groups(self) -> tuple[tuple[ThresholdEve, ...], ...]:
        """The questions of each separate Eve: one Eve with all of them, or one Eve for each."""
        separate = isinstance(self.eve, GaussianEves) and not self.eve.either
        return tuple((q,) for q in questions(self.eve)) if separate else (questions(self.eve),)

    @property
    def weights(self) -> tuple[float, ...]:
        """What the risk of each separate Eve counts."""
        given = self.eve.weights if isinstance(self.eve, GaussianEves) else None
        return given or (1.0,) * len(self.groups)

    @property
    def eve_decisions(self) -> tuple[tuple[str, ...], ...]:
        """The decisions of each separate Eve in words."""
        return tuple(cell_words(group) for group in self.groups)

    @property
    def tables(self) -> tuple[Array, ...]:
        """What each separate Eve loses in each of her cells (rows) by each decision (columns), before her weight."""
        return tuple(_cell_losses(group) for group in self.groups)

    def simulator(self, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        """theta, one number per draw, and x, one row of n observations per draw."""
        return gaussian_draws(self.model, rng, size)

    def posterior_loss(self, x: Array) -> Array:
        """Bob's expected loss by each decision given the data, a row per data set."""
        xbar, (miss, alarm) = np.asarray(x, dtype=float).mean(-1), self.model.bob_loss
        return np.stack([miss * self.model.bob_posterior(xbar), alarm * self.model.bob_doubt(xbar)], axis=-1)

    def eve_losses(self, x: Array) -> tuple[Array, ...]:
        """What each separate Eve loses by each decision, times her weight: one (data sets, decisions) array each."""
        data, parts = np.asarray(x, dtype=float), zip(self.groups, self.weights, self.tables, strict=True)
        return tuple(weight * table[cell_index(group, data)] for group, weight, table in parts)


def _cell_losses(group: tuple[ThresholdEve, ...]) -> Array:
    """A decision answers every question; it loses the least of the losses, which is 0 if one answer is right."""
    answers = list(product((0, 1), repeat=len(group)))

    def loss(told: tuple[int, ...], true: tuple[int, ...]) -> float:
        return min(q.loss[a] if a != t else 0.0 for q, a, t in zip(group, told, true, strict=True))

    return np.array([[loss(told, true) for told in answers] for true in answers])


def eve_simulator(model: GaussianModel, eve: Eve) -> EveSimulator:
    """The Gaussian model as draws with exact losses, for `discretise.sample`.

    Args:
        model: the Gaussian model.
        eve: any Eve or list of Eves.

    Returns:
        The functions `simulator`, `posterior_loss` and `eve_losses`.

    Raises:
        ValueError: Eve asks about a record that the model does not have.

    >>> import numpy as np
    >>> from gaussian import GaussianEves, GaussianModel, MaxEve, MeanEve
    >>> eves = GaussianEves((MeanEve(0.5), MaxEve(2.0)), weights=(1.0, 2.0))
    >>> drawn = eve_simulator(GaussianModel(n=5), eves)
    >>> theta, x = drawn.simulator(np.random.default_rng(0), 1000)
    >>> drawn.posterior_loss(x).shape, [losses.shape for losses in drawn.eve_losses(x)]
    ((1000, 2), [(1000, 2), (1000, 2)])
    """
    drawn = EveSimulator(model, eve)
    drawn.eve_losses(np.zeros((1, model.n)))
    return drawn
