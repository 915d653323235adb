"""The Gaussian model against any Eves as a sample: for Eves that do not reduce to one statistic.

Bob's posterior is known, so B is exact at every draw. A separate Eve with the questions q_1, ..., q_m answers all of
them. Which answers are right is one number, the truths read as binary digits. Her loss is the least of the losses of
her answers ("either is a breach").
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from discretise.samples import SampledProblem, sample
from gaussian.eves import Eve
from gaussian.model import GaussianModel
from gaussian.simulator import eve_simulator

_DRAWS = 200_000


def gaussian_sample(model: GaussianModel, eve: Eve, size: int = _DRAWS, seed: int = 0) -> SampledProblem:
    """A sampled problem for a Gaussian model and any list of Eves.

    Args:
        model: the Gaussian model.
        eve: any Eve or list of Eves.
        size: number of draws.
        seed: seed of the draws.

    Returns:
        The problem, for `bracket`.

    Raises:
        ValueError: Eve asks about a record that the model does not have.

    >>> from gaussian import GaussianEves, GaussianModel, MeanEve, RangeEve
    >>> eves = GaussianEves((MeanEve(0.5), RangeEve(3.0)))
    >>> gaussian_sample(GaussianModel(n=3), eves, size=1000).shape
    (1000, 2, 4)
    """
    drawn, (miss, alarm) = eve_simulator(model, eve), model.bob_loss

    def bob(theta: Any, decision: Any) -> Any:
        above = theta > model.bob_threshold
        return np.where(decision > 0.5, alarm * ~above, miss * above)

    def truths(group: Any) -> Any:
        def code(x: Any) -> Any:
            data = np.asarray(x, dtype=float)
            return sum((q.statistic(data) > q.threshold) * 2.0 ** (len(group) - 1 - k) for k, q in enumerate(group))

        return code

    def losses(group: Any) -> Any:
        answers = list(product((0, 1), repeat=len(group)))
        table = np.array(
            [
                [
                    min(q.loss[a] if a != t else 0.0 for q, a, t in zip(group, told, true, strict=True))
                    for told in answers
                ]
                for true in answers
            ]
        )
        return lambda code, decision: table[np.asarray(code, dtype=int), np.asarray(decision, dtype=int)]

    groups, largest = drawn.groups, max(miss, alarm)
    return sample(
        drawn.simulator,
        size,
        bob,
        [losses(group) for group in groups],
        bob_decisions=[0, 1],
        eve_decisions=[list(range(2 ** len(group))) for group in groups],
        eve_weights=list(drawn.weights),
        eve_target=[truths(group) for group in groups],
        posterior_loss=drawn.posterior_loss,
        bob_bound=largest,
        eve_bound=max(max(q.loss) for group in groups for q in group),
        seed=seed,
        title="Gaussian model",
    )
