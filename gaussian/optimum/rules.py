"""Alice's rule on data: release 1 with a probability that depends on xbar and on the cell of Eve's events.

In cell s the probability is constant between consecutive edges in xbar. The rule of the continuous optimum has one edge
t_s and the probabilities 0 and 1. Bob and Eve reply to a signal with their Bayes decisions: Bob decides for the more
likely hypothesis, Eve bets against the least likely cell. Simulated data give the out-of-sample risks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bap_lp.support.arguments import whole_number
from bap_lp.support.rational import InputError
from bap_lp.support.risks import Risks
from gaussian.eves import cell_index, questions
from gaussian.model import Eve, GaussianModel, StandardForm, gaussian_draws, standard_form
from gaussian.numerics.masses import joint_replies, joint_risks
from gaussian.numerics.uniforms import uniforms
from gaussian.optimum.cells import CellLaw, cell_law
from gaussian.real_arrays import Array

_BLOCK = 200_000


@dataclass(frozen=True, eq=False)
class BracketRule:
    """P(release 1 | data): in cell s, `probabilities[s]` on the intervals of xbar between consecutive `edges[s]`.

    Args:
        model: the Gaussian model.
        eve: what Eve tests.
        edges: by cell, the points where the probability changes.
        probabilities: by cell, the probability on each interval.

    >>> from discretise import Rule
    >>> from gaussian import GaussianModel, MeanEve
    >>> rule = Rule.from_thresholds(GaussianModel(n=2), MeanEve(0.5), [-0.4, -0.4])
    >>> rule([[0.1, 0.3], [-1.0, 0.1]]).tolist()
    [1.0, 0.0]
    """

    model: GaussianModel
    eve: Eve
    edges: tuple[Array, ...]
    probabilities: tuple[Array, ...]

    @classmethod
    def from_thresholds(cls, model: GaussianModel, eve: Eve, thresholds: ArrayLike) -> BracketRule:
        """The rule that releases 1{xbar > thresholds[s]} in cell s."""
        values = np.asarray(thresholds, dtype=float)
        return cls(model, eve, tuple(values[:, None]), tuple(np.array([0.0, 1.0]) for _ in values))

    def __repr__(self) -> str:
        edges = sum(len(cuts) for cuts in self.edges)
        return f"<BracketRule: {len(self.edges)} cells, {edges} edges in xbar, {self.model!r}, {self.eve!r}>"

    def __call__(self, x: ArrayLike) -> Array:
        """The probability of releasing 1 for each data set; the last axis of x holds the n values of a data set."""
        data = _data(x, self.model.n)
        xbar, cell = data.mean(-1), cell_index(questions(self.eve), data)
        out = np.empty(xbar.shape)
        for s, (edges, probabilities) in enumerate(zip(self.edges, self.probabilities, strict=True)):
            here = cell == s
            # intervals are (low, high]: data at an edge belong to the interval below it
            out[here] = probabilities[np.searchsorted(edges, xbar[here], "left")]
        return out

    def release(self, x: ArrayLike, generator: np.random.Generator | int | None = None) -> NDArray[np.int64]:
        """Draw the signal, 0 or 1, for each data set, from the secure source unless a generator or a seed is given."""
        probability = self(x)
        return (uniforms(probability.shape, generator) < probability).astype(np.int64)

    @cached_property
    def _form(self) -> StandardForm:
        return standard_form(self.model, self.eve)

    @cached_property
    def _law(self) -> CellLaw:
        return cell_law(self._form.model, self._form.eve)

    @cached_property
    def masses(self) -> Array:
        """P(signal, theta > c_B, cell), shape (2, 2, cells)."""
        form, law = self._form, self._law.finer
        out = np.zeros((2, 2, law.count))
        for s, (edges, probabilities) in enumerate(zip(self.edges, self.probabilities, strict=True)):
            inside = law.between(np.concatenate([[-math.inf], form.there(edges), [math.inf]]))[:, s]
            out[1, :, s], out[0, :, s] = inside @ probabilities, inside @ (1 - probabilities)
        return out

    def risks(self) -> Risks:
        """R_B and R_E by quadrature."""
        bob, eve = joint_risks(self.masses, self.model.bob_loss, self._law.weights)
        errors = 2 * float(self._law.errors.sum()) + 1e-15
        sizes = max(self.model.bob_loss), float(self._law.weights.max())
        return Risks(bob=bob, eve=eve, bob_error=sizes[0] * errors, eve_error=sizes[1] * errors)

    def replies(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Bob's Bayes decision and the cell that Eve bets against, at each signal."""
        return joint_replies(self.masses, self.model.bob_loss, self._law.weights)

    def simulate(self, size: int, seed: int = 0) -> Simulation:
        """Draw parameters, data and signals, and count how often Bob's and Eve's replies are wrong."""
        size = whole_number("size", size, 2)
        generator = np.random.default_rng(seed)
        bob_reply, eve_bet = self.replies()
        miss, alarm = self.model.bob_loss
        weights = self._law.weights
        moments = np.zeros((3, 3))  # sums of (1, Bob's loss, Eve's loss) times each other
        counts = np.zeros((2, 2))  # [Bob wrong, Eve wrong]
        for start in range(0, size, _BLOCK):
            draws = min(_BLOCK, size - start)
            theta, x = gaussian_draws(self.model, generator, draws)
            signal = self.release(x, generator)
            true, cell = theta > self.model.bob_threshold, cell_index(questions(self.eve), x)
            bob_wrong, eve_wrong = bob_reply[signal] != true, eve_bet[signal] == cell
            np.add.at(counts, (bob_wrong.astype(int), eve_wrong.astype(int)), 1)
            losses = np.stack([np.ones(draws), bob_wrong * np.where(true, miss, alarm), eve_wrong * weights[cell]])
            moments += losses @ losses.T
        return Simulation(size, seed, counts / size, moments / size)


class SimulatedRisks:
    """Risks of a simulation of `size` data sets, from the second moments of (1, Bob's loss, Eve's loss)."""

    size: int
    moments: Array

    def _second(self) -> Array:
        return self.moments

    def __repr__(self) -> str:
        risks = f"R_B = {self.bob:.6f} +- {self.bob_error:.6f}, R_E = {self.eve:.6f} +- {self.eve_error:.6f}"
        return f"<{type(self).__name__}: {self.size} samples, {risks}>"

    @property
    def bob(self) -> float:
        """R_B in the sample."""
        return float(self._second()[0, 1])

    @property
    def eve(self) -> float:
        """R_E in the sample."""
        return float(self._second()[0, 2])

    def alice(self, lam: float) -> float:
        """R_A = R_B - lam R_E in the sample."""
        return self.bob - lam * self.eve

    def _error(self, bob: float, eve: float) -> float:
        """Standard error of the mean of bob times Bob's loss plus eve times Eve's loss."""
        direction, moments = np.array([0.0, bob, eve]), self._second()
        variance = float(direction @ moments @ direction) - float(moments[0] @ direction) ** 2
        return math.sqrt(max(variance, 0.0) / self.size)

    @property
    def bob_error(self) -> float:
        """Standard error of R_B."""
        return self._error(1.0, 0.0)

    @property
    def eve_error(self) -> float:
        """Standard error of R_E."""
        return self._error(0.0, 1.0)

    def alice_error(self, lam: float) -> float:
        """Standard error of R_A, from the joint moments of the two losses."""
        return self._error(1.0, -lam)


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(SimulatedRisks):
    """Frequencies of (Bob wrong, Eve wrong) in simulated data, and second moments of (1, Bob's loss, Eve's loss).

    Attributes:
        size: the number of simulated data sets.
        seed: of the simulation.
        frequencies: how often each pair occurred.
        moments: the second moments.

    >>> from discretise import bracket
    >>> from gaussian import GaussianModel, MeanEve
    >>> found = bracket(GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0), MeanEve(0.5))
    >>> drawn = found.simulate(100_000, seed=1)
    >>> abs(drawn.alice(found.lam) - found.upper) < 5 * drawn.alice_error(found.lam)
    True
    """

    size: int
    seed: int
    frequencies: Array
    moments: Array


def _data(x: ArrayLike, n: int) -> Array:
    try:
        data = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise InputError("x", None, "must be an array of numbers") from None
    if data.ndim == 0 or data.shape[-1] != n:
        raise InputError("x", None, f"has shape {data.shape}, its last axis must hold the n = {n} values of a data set")
    if not np.isfinite(data).all():
        raise InputError("x", float(data[~np.isfinite(data)][0]), "must be finite")
    return data
