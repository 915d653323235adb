"""Alice's rule on a scalar statistic: P(signal | x), constant on intervals or given at atoms, in words and on data.

Between edges the intervals are (low, high], so that x > c and x <= c are separated by the edge c. At an atom the rule
may mix two signals; between atoms there are no data, and an x that is not an atom is refused. Signals are Bob's
decisions. Bob and Eve reply to a signal with their Bayes decisions, which are computed from the integrals over the
data that send it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bap_lp import InputError
from bap_lp.support.arguments import whole_number
from bap_lp.support.display import Displayed
from discretise.losses import eve_slices, names
from discretise.models import GriddedProblem, ScalarModel
from gaussian.numerics.uniforms import uniforms
from gaussian.optimum.regions import interval_words
from gaussian.optimum.rules import SimulatedRisks
from gaussian.real_arrays import Array

_BLOCK = 200_000
_LISTED = 6
_where = partial(interval_words, "x")


@dataclass(frozen=True, eq=False, repr=False)
class ScalarRule(Displayed):
    """P(signal | x): row k of `rows` for x in (edges[k-1], edges[k]], or for x = edges[k] if the data have atoms.

    Attributes:
        model: prior, likelihood and losses.
        edges: the ends of the intervals, or the atoms.
        probabilities: of the signals.
        discrete: whether the data have atoms.
        sent: sent[signal, function], the integrals of p, p B and p E over the data that send each signal.

    >>> from scipy import stats
    >>> from discretise import bracket, model, zero_one
    >>> cases = model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(3), bob_decisions=[0, 1],
    ...               eve_decisions=[0, 1])
    >>> bracket(cases).rule([1, 2]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    model: ScalarModel
    edges: Array
    probabilities: Array
    discrete: bool
    sent: Array

    @property
    def problem(self) -> GriddedProblem:
        """The model on cells."""
        return self.model.problem

    @property
    def decisions(self) -> Array:
        """Bob's decisions, which are the signals."""
        return self.model.bob[1]

    @property
    def signals(self) -> tuple[str, ...]:
        """The signals as labels."""
        return tuple(names(self.decisions))

    def _lines(self) -> Iterator[str]:
        places = f"{len(self.probabilities)} atoms" if self.discrete else f"{len(self.probabilities)} intervals"
        yield f"{places}, {len(self.used)} signals"

    @property
    def used(self) -> list[int]:
        """The positions of the signals that are sent."""
        return np.flatnonzero(self.probabilities.max(axis=0, initial=0.0) > 0).tolist()

    def rows(self, most: int | None = None) -> list[dict[str, Any]]:
        """The atoms or intervals, and the probability of every signal."""
        labels = [f"{x:.6g}" for x in self.edges] if self.discrete else [_where(*pair) for pair in self._pairs()]
        table = zip(labels[:most], self.probabilities[:most].tolist(), strict=True)
        return [{"data": label, **dict(zip(self.signals, row, strict=True))} for label, row in table]

    def _pairs(self) -> list[tuple[float, float]]:
        ends = [-math.inf, *self.edges.tolist(), math.inf]
        return list(pairwise(ends))

    def __call__(self, x: ArrayLike) -> Array:
        """P(signal | x), with an axis of signals added at the end."""
        data = _numbers(x)
        if not self.discrete:
            return np.asarray(self.probabilities[np.searchsorted(self.edges, data, side="left")])
        place = np.clip(np.searchsorted(self.edges, data), 0, len(self.edges) - 1)
        near = np.where(
            np.abs(self.edges[np.maximum(place - 1, 0)] - data) < np.abs(self.edges[place] - data), place - 1, place
        )
        off = np.abs(self.edges[near] - data) > 1e-9 * np.maximum(1.0, np.abs(data))
        beyond = (data > self.edges[-1]) | (data < self.edges[0])  # atoms too rare to be tabulated: as the nearest one
        if (off & ~beyond).any():
            value = float(data[off & ~beyond].ravel()[0])
            raise InputError("x", value, "is not a value that the data can have")
        return np.asarray(self.probabilities[near])

    def release(self, x: ArrayLike, generator: Any = None) -> NDArray[Any]:
        """The decision that is released for each x.

        Draws come from the operating system's secure source unless `generator` is a seed or a generator, which makes
        them reproducible: for rehearsals only.
        """
        rows = self(x)
        draw = uniforms(rows.shape[:-1], generator)
        place = (np.cumsum(rows, axis=-1)[..., :-1] <= draw[..., None]).sum(axis=-1)
        found = self.decisions[place]
        return found.astype(np.int64) if (self.decisions == np.round(self.decisions)).all() else found

    def replies(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The position of Bob's Bayes decision at each signal, and of each Eve's (a column per Eve)."""
        b = len(self.decisions)
        groups = [slice(1 + b + g.start, 1 + b + g.stop) for g in eve_slices(self.model.eves)]
        eve = np.stack([self.sent[:, g].argmin(axis=1) for g in groups], axis=1)
        return self.sent[:, 1 : 1 + b].argmin(axis=1), eve

    def describe(self) -> str:
        """The rule in one sentence."""
        if len(self.used) == 1:
            return "release the same signal whatever the data"
        parts, mixed = self._words()
        shown = [f"{name} when {' or '.join(where)}" for name, where in parts]
        text = (
            "release " + ", ".join(shown[:-1]) + f", else {parts[-1][0]}" if len(shown) > 1 else f"release {shown[0]}"
        )
        return text + (f"; {'; '.join(mixed)}" if mixed else "")

    def _words(self) -> tuple[list[tuple[str, list[str]]], list[str]]:
        sure = self.probabilities.max(axis=1) > 1 - 1e-12
        choice = self.probabilities.argmax(axis=1)
        where: dict[int, list[str]] = {}
        spans = self._spans(sure, choice)
        for signal, low, high in spans:
            where.setdefault(signal, []).append(_where(low, high))
        # the signal with the last interval is the rest
        last = spans[-1][0] if spans else int(choice[-1])
        order = [*(s for s in sorted(where, reverse=True) if s != last), last]
        if len(self.used) == 2 and set(self.used) <= set(where):
            order = [max(self.used), min(self.used)]
        parts = [(self.signals[s], _shortened(where.get(s, []))) for s in order]
        mixed = []
        for k in np.flatnonzero(~sure):
            chances = " or ".join(
                f"{self.signals[s]} with probability {q:.6g}" for s, q in enumerate(self.probabilities[k]) if q > 0
            )
            place = f"at x = {self.edges[k]:.6g}" if self.discrete else f"when {_where(*self._pairs()[k])}"
            mixed.append(f"{place} release {chances}")
        return parts, _shortened(mixed)

    def _spans(self, sure: NDArray[np.bool_], choice: NDArray[np.intp]) -> list[tuple[int, float, float]]:
        """Consecutive places that send the same signal, as (signal, low, high)."""
        spans: list[tuple[int, float, float]] = []
        pairs = self._pairs() if not self.discrete else []
        for k in range(len(self.probabilities)):
            if not sure[k]:
                continue
            if self.discrete:
                low = -math.inf if k == 0 else float(self.edges[k - 1])
                high = math.inf if k == len(self.probabilities) - 1 else float(self.edges[k])
            else:
                low, high = pairs[k]
            if spans and spans[-1][0] == choice[k] and spans[-1][2] == low:
                spans[-1] = spans[-1][0], spans[-1][1], high
            else:
                spans.append((int(choice[k]), low, high))
        return spans

    def simulate(self, size: int, seed: int = 0) -> PlayedRule:
        """Draw parameters, data and signals, and average the losses of Bob's and Eve's replies."""
        size = whole_number("size", size, 2)
        generator = np.random.default_rng(seed)
        bob_reply, eve_reply = self.replies()
        (loss, grid), eves = self.model.bob, self.model.eves
        sums = np.zeros(5)
        for start in range(0, size, _BLOCK):
            count = min(_BLOCK, size - start)
            theta, x = self._draw(generator, count)
            rows = np.cumsum(self(x), axis=-1)
            signal = (rows[:, :-1] <= generator.random(count)[:, None]).sum(axis=1)
            bob = np.asarray(loss(theta, grid[bob_reply[signal]]), dtype=float)
            eve = np.zeros(count)
            for k, one in enumerate(eves):
                eve += one.weight * np.asarray(one.loss(x, one.decisions[eve_reply[signal, k]]), dtype=float)
            sums += [bob.sum(), eve.sum(), bob @ bob, eve @ eve, bob @ eve]
        return PlayedRule(size, seed, sums / size)

    def _draw(self, generator: np.random.Generator, count: int) -> tuple[Array, Array]:
        prior, law, points = self.model.prior, self.model.likelihood, self.model.points
        given = law.given
        if points.exact:
            theta = generator.choice(points.values, count, p=points.weights / points.weights.sum())
        else:
            theta = np.asarray(prior.rvs(count, random_state=generator), dtype=float)
        if law.together is not None:
            if self.discrete:  # rvs of scipy.stats would round atoms off the integers
                return theta, np.asarray(given(theta).ppf(generator.random(count)), dtype=float)
            return theta, np.asarray(given(theta).rvs(count, random_state=generator), dtype=float)
        values, place = np.unique(theta, return_inverse=True)
        uniform = generator.random(count)
        x = np.empty(count)
        for k, t in enumerate(values):
            x[place == k] = given(float(t)).ppf(uniform[place == k])
        return theta, x


@dataclass(frozen=True, eq=False, repr=False)
class PlayedRule(SimulatedRisks):
    """Means of Bob's and Eve's losses in simulated data, and of their squares and product.

    Attributes:
        size: the number of simulated data sets.
        seed: of the simulation.
        moments: the means.

    >>> import numpy as np
    >>> from discretise import PlayedRule
    >>> PlayedRule(100, 0, np.array([0.2, 0.3, 0.2, 0.3, 0.1]))
    <PlayedRule: 100 samples, R_B = 0.200000 +- 0.040000, R_E = 0.300000 +- 0.045826>
    """

    size: int
    seed: int
    moments: Array

    def _second(self) -> Array:
        bob, eve, bob_square, eve_square, product = self.moments.tolist()
        return np.array([[1.0, bob, eve], [bob, bob_square, product], [eve, product, eve_square]])


def _shortened(parts: list[str]) -> list[str]:
    return parts if len(parts) <= _LISTED else [*parts[:_LISTED], f"{len(parts) - _LISTED} more"]


def _numbers(x: ArrayLike) -> Array:
    try:
        data = np.asarray(x, dtype=float)
    except (TypeError, ValueError):
        raise InputError("x", None, "must be numbers") from None
    if np.isnan(data).any():
        raise InputError("x", math.nan, "must be a number")
    return data
