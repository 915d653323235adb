"""bracket: [lower, upper] around the least R_A over all mechanisms, for every kind of model.

The Gaussian model has its reduction (`gaussian.optimum`), a scalar model its integrals over the data
(`discretise.continuum`), and anything that can be simulated its draws (`discretise.monte_carlo`). All three use
one bound: any replies u of Eve bound R_A from below, any rule from above (docs/proofs/brackets.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bap_lp import InputError
from bap_lp.support.clock import time_limited
from discretise.continuum.scalar_brackets import model_bracket
from discretise.models import GriddedProblem, ScalarModel
from discretise.monte_carlo.sampled_brackets import sample_bracket
from discretise.pace import patient
from discretise.samples import SampledProblem, sample
from gaussian.eves import Eve, cell_index
from gaussian.laws.statistics import reducible
from gaussian.model import GaussianModel
from gaussian.optimum.gaussian_brackets import bracket as gaussian_bracket
from gaussian.simulator import eve_simulator

_DRAWS = 200_000
_OPTIONS = {
    "a Gaussian model": (),
    "a scalar model": ("bob_lipschitz", "eve_lipschitz"),
    "a sample": ("level", "draws", "seed"),
}


def bracket_of(
    model: Any,
    eve: Any = None,
    lam: Any = "calibrated",
    *,
    level: float | None = None,
    draws: int | None = None,
    seed: int | None = None,
    bob_lipschitz: Any = None,
    eve_lipschitz: Any = None,
    time_limit: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Any:
    """Bracket the least R_A over all mechanisms.

    Args:
        model: a `GaussianModel` (by draws if its Eves do not reduce to one statistic), or a problem of
            `discretise.model` or of `discretise.sample`.
        eve: what Eve tests, for a Gaussian model only: the other problems have their own Eves.
        lam: a non-negative number (float, integer, fraction, or a string such as "1/3"), or "calibrated".
        level: for a sample, the probability that the bracket holds; 0.999 by default.
        draws: for a sample, the number of fresh draws; as many as it has by default.
        seed: for a sample, the seed of the fresh draws; one more than that of the sample by default.
        bob_lipschitz: for a scalar model, a Lipschitz constant of Bob's loss in his decision, or "auto", if he may
            decide anything between his decisions.
        eve_lipschitz: the same for Eve; a list of one per Eve if there are several.
        time_limit: for a scalar model, seconds after which it gives up; without one, a law of which one table takes
            scipy.stats more than 20 seconds is refused, and a model that takes more than half a minute of computing.
        progress: for a scalar model, called with a few words now and then.

    Returns:
        A `Bracket`, `ModelBracket` or `SampleBracket`: the bounds, the rule that attains the upper one, and the dual
        solution that proves the lower one. Those of a sample hold with the stated level.

    Raises:
        InputError: an argument breaks one of these rules, or lam is "calibrated" and Eve learns nothing from the data.
        TimeoutError: the time is over.

    >>> from discretise import bracket
    >>> from gaussian import GaussianModel, MeanEve
    >>> bracket(GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0), MeanEve(0.5))
    <Bracket: -0.1854200 <= R_A <= -0.1854200 at lam = 1.12993, release 1 when xbar > -0.416415, else 0>

    >>> from scipy import stats
    >>> from discretise import model, zero_one
    >>> bracket(model(stats.beta(2, 3), lambda p: stats.binom(9, p), zero_one(0.5), zero_one(6),
    ...               bob_decisions=[0, 1], eve_decisions=[0, 1]))
    <ModelBracket: 0.0361328 <= R_A <= 0.0361328 at lam = 1.16237, release 1 when x > 4, else 0>
    """
    given = {
        "level": level, "draws": draws, "seed": seed, "bob_lipschitz": bob_lipschitz, "eve_lipschitz": eve_lipschitz
    }  # fmt: skip
    options = {name: value for name, value in given.items() if value is not None}
    if isinstance(model, GaussianModel):
        if eve is None:
            raise InputError("eve", None, "must be given for a Gaussian model, such as MeanEve(0.5)")
        if reducible(model.n, eve):
            _only("a Gaussian model", options)
            return gaussian_bracket(model, eve, lam)
        model, eve = gaussian_sample(model, eve), None
    if isinstance(model, GriddedProblem):
        model = model.scalar
    if not isinstance(model, (ScalarModel, SampledProblem)):
        kind = type(model).__name__
        rule = (
            "must be a GaussianModel, or a problem of discretise.model or discretise.sample; "
            "bap_lp.solve is for finite ones"
        )
        raise InputError("model", kind, rule)
    if eve is not None:
        # bracket(problem, lam) reads naturally, since such a problem has its own Eves
        if lam != "calibrated" or not isinstance(eve, (str, int, float)):
            raise InputError("eve", eve, "must not be given: the problem has its own Eves")
        lam = eve
    if isinstance(model, ScalarModel):
        _only("a scalar model", options)
        with time_limited(time_limit), patient():
            return model_bracket(model, lam, **options, progress=progress)
    _only("a sample", options)
    return sample_bracket(model, lam, **{"seed": model.seed + 1, **options})


def _only(kind: str, options: dict[str, Any]) -> None:
    for name, value in options.items():
        if name not in _OPTIONS[kind]:
            raise InputError(name, value, f"is not an option for {kind}")


def gaussian_sample(model: GaussianModel, eve: Eve, size: int = _DRAWS, seed: int = 0) -> SampledProblem:
    """A sampled problem for a Gaussian model and any list of Eves, for those that do not reduce to one statistic.

    Bob's posterior is known, so B is exact at every draw. What a separate Eve wants to know is the number of her cell.
    """
    drawn, (miss, alarm) = eve_simulator(model, eve), model.bob_loss

    def bob(theta: Any, decision: Any) -> Any:
        above = theta > model.bob_threshold
        return np.where(decision > 0.5, alarm * ~above, miss * above)

    def losses(table: Any) -> Any:
        return lambda cell, decision: table[np.asarray(cell, dtype=int), np.asarray(decision, dtype=int)]

    def target(group: Any) -> Any:
        return lambda x: cell_index(group, np.asarray(x, dtype=float))

    groups, largest = drawn.groups, max(miss, alarm)
    return sample(
        drawn.simulator,
        size,
        bob,
        [losses(table) for table in drawn.tables],
        bob_decisions=[0, 1],
        eve_decisions=[list(range(2 ** len(group))) for group in groups],
        eve_weights=list(drawn.weights),
        eve_target=[target(group) for group in groups],
        posterior_loss=drawn.posterior_loss,
        bob_bound=largest,
        eve_bound=max(max(q.loss) for group in groups for q in group),
        seed=seed,
        title="Gaussian model",
    )
