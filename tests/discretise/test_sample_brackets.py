"""Brackets with a level: the Gaussian optimum, exact conjugate models, posterior draws, coverage, and stored draws."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from gaussian_cases import draw_data
from numpy.typing import NDArray
from scipy import special, stats

from bap_lp import InputError, Problem, solve
from discretise import StoredDraws, bracket, model, sample, zero_one
from discretise.monte_carlo import confidence
from discretise.monte_carlo.confidence import bernstein_terms, largest_mean
from gaussian import MaxEve
from gaussian.paper import PAPER_MODEL as GAUSSIAN

Array = NDArray[np.float64]
TEST: dict[str, Any] = {"bob_decisions": [0, 1], "eve_decisions": [0, 1]}


def gaussian_draws(rng: np.random.Generator, size: int) -> tuple[Array, Array, Array]:
    theta, x = draw_data(GAUSSIAN, rng, size)
    return theta, x, x.mean(axis=1)


def chances(above: Array) -> Array:
    return np.stack([above, 1 - above], axis=1)


def gaussian_sample(size: int, **keywords: Any) -> Any:
    return sample(
        gaussian_draws, size, zero_one(0), zero_one(2), eve_target=lambda x: x.max(axis=-1), **TEST, **keywords
    )


KINDS: dict[str, Any] = {
    "closed form": {"posterior_loss": lambda xbar: chances(GAUSSIAN.bob_posterior(xbar))},
    "rows of draws": {
        "posterior_draws": lambda x, rng, K: x.mean(axis=1)[:, None] * 5 / 6 + rng.normal(size=(len(x), K)) / 6**0.5
    },
    "one data set": {"posterior_draws": lambda x, rng, K: rng.normal(np.mean(x) * 5 / 6, 6**-0.5, K)},
    "neighbours": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_gaussian_optimum_lies_in_the_bracket_of_its_draws(kind: str) -> None:
    proved = bracket(GAUSSIAN, MaxEve(2.0))
    size = 1500 if kind == "one data set" else 5000
    found = bracket(gaussian_sample(size, posterior_size=40, **KINDS[kind]), proved.lam, draws=4 * size)
    assert proved.lower <= found.upper
    assert found.lower <= proved.upper
    assert found.claims_lower == (kind != "neighbours")
    assert ("only the upper end is claimed" in found.rests_on) == (kind == "neighbours")
    assert found.upper < proved.upper + 0.2
    if found.claims_lower:
        # the two ends share their draws: their distance is known far better than either
        assert found.width < found.upper - found.lower


@pytest.mark.slow
def test_more_posterior_draws_raise_the_lower_end() -> None:
    lam = bracket(GAUSSIAN, MaxEve(2.0)).lam
    lows = [
        bracket(gaussian_sample(3000, posterior_size=K, **KINDS["rows of draws"]), lam, draws=20_000).estimates[0]
        for K in (2, 10, 100)
    ]
    assert lows == sorted(lows)


def test_a_logistic_regression_with_posterior_draws_contains_its_exact_optimum() -> None:
    """One slope on a grid of values: draws by weights on the grid, the optimum by sums over all 2^6 data sets."""
    slopes = np.linspace(-2, 2, 21)
    weights = stats.norm.pdf(slopes) / stats.norm.pdf(slopes).sum()
    z = np.array([-2.0, -1.0, -0.5, 0.5, 1.0, 2.0])
    chance = special.expit(np.outer(slopes, z))

    def simulator(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        k = rng.choice(21, size, p=weights)
        return slopes[k], (rng.random((size, 6)) < chance[k]).astype(float)

    def likelihoods(x: Array) -> Array:
        return np.exp(x @ np.log(chance).T + (1 - x) @ np.log1p(-chance).T) * weights

    def posterior_draws(x: Array, rng: np.random.Generator, K: int) -> Array:
        joint = likelihoods(np.atleast_2d(x))
        total = np.cumsum(joint / joint.sum(axis=1, keepdims=True), axis=1)
        place = (total[:, None, :-1] < rng.random((len(total), K))[:, :, None]).sum(axis=2)
        return slopes[place]

    tables = np.array(np.meshgrid(*[[0.0, 1.0]] * 6)).reshape(6, -1).T
    joint = likelihoods(tables)
    p, above = joint.sum(axis=1), joint[:, slopes > 0].sum(axis=1) / joint.sum(axis=1)
    E = np.stack([tables[:, 5] == 1, tables[:, 5] == 0], axis=1).astype(float)
    exact = float(solve(Problem(p, chances(above), E), 0.5).value)
    drawn = sample(
        simulator, 3000, zero_one(0), zero_one(0.5), eve_target=lambda x: x[:, 5], posterior_draws=posterior_draws,
        posterior_size=60, **TEST,
    )  # fmt: skip
    found = bracket(drawn, 0.5, draws=12_000)
    assert found.lower <= exact <= found.upper


def test_several_eves_have_targets_and_decisions_of_their_own() -> None:
    drawn = sample(
        gaussian_draws, 3000, zero_one(0), [zero_one(2), zero_one(0.5)], bob_decisions=[0, 1],
        eve_decisions=[[0, 1], [0, 1]], eve_target=[lambda x: x.max(axis=1), lambda x: x.mean(axis=1)],
        eve_weights=[1, 2], **KINDS["closed form"],
    )  # fmt: skip
    found = bracket(drawn, 0.3, draws=20_000)
    assert found.lower <= found.upper
    assert found.u.shape == (2, 4)
    assert found.u[:, 2:].sum(axis=1) == pytest.approx([0.3, 0.3])


@pytest.mark.slow
def test_the_stated_level_is_kept_over_a_thousand_seeds() -> None:
    """Gamma-Poisson with 60 draws: [lower, upper] contains the proved optimum at least as often as the level says."""
    exact = bracket(model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(2), **TEST), 0.7)

    def simulator(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        theta = rng.gamma(3, size=size)
        return theta, rng.poisson(theta).astype(float)

    def posterior_loss(x: Array) -> Array:
        return chances(special.gammaincc(3 + x, 4.0))

    hits = widths = 0
    for seed in range(1000):
        if seed % 10 == 0:
            drawn = sample(
                simulator, 40, zero_one(2), zero_one(2), posterior_loss=posterior_loss, seed=5000 + seed, **TEST
            )
        found = bracket(drawn, 0.7, level=0.9, draws=60, seed=seed)
        hits += found.lower <= exact.lower and exact.upper <= found.upper
        widths += found.width >= 0
    assert hits >= 900
    assert widths == 1000


def test_the_bound_for_the_largest_mean_covers_every_map() -> None:
    rng = np.random.default_rng(0)
    mean, second = rng.normal(size=(3, 4)), rng.random((3, 4))
    z, c = bernstein_terms(100, 0.01 / 64, 2.0)
    worst = max(
        mean[0, a] + mean[1, b] + mean[2, d] + c
        + z * math.sqrt((second[0, a] + second[1, b] + second[2, d]) * 100 / 99)
        for a in range(4) for b in range(4) for d in range(4)
    )  # fmt: skip
    found = largest_mean(mean, second, 100, 3 * math.log(4), 0.01, 2.0)
    assert worst <= found + 1e-12
    assert found < worst + 0.05


@pytest.mark.parametrize("span", [2.0, None])
def test_the_union_bound_covers_more_maps_than_floats_can_count(span: float | None) -> None:
    """With one map the failure probability 0.01 exp(-L) has the bound that 0.01 has with exp(L) maps, for every L."""
    n, mean, second = 400, np.array([[0.5]]), np.array([[0.04]])
    bounds = [largest_mean(mean, second, n, log_maps, 0.01, span) for log_maps in (590.0, 690.0, 900.0, 3000.0)]
    assert bounds == sorted(set(bounds))
    if span is None:
        # the normal tail is lighter than Student's: P(Z > z) <= exp(-z^2/2)/2
        for log_maps, bound in zip((590.0, 690.0, 900.0, 3000.0), bounds, strict=True):
            assert bound - 0.5 > math.sqrt(2 * 0.99 * log_maps) * math.sqrt(0.04 / n)
        assert largest_mean(mean, second, 10, 4000.0, 0.01, None) == math.inf
        return
    for log_maps, bound in zip((590.0, 690.0, 900.0, 3000.0), bounds, strict=True):
        log = math.log(200) + log_maps
        expected = 0.5 + math.sqrt(2 * log / n * 0.04 * n / (n - 1)) + 14 * log / (3 * (n - 1))
        assert bound == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n", [3, 60, 5000])
def test_quantiles_of_students_law_beyond_floats_are_bounded_from_above(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = [confidence.student_terms(n, 0.01, log_maps)[0] for log_maps in (0.0, 10.0, 100.0)]
    monkeypatch.setattr(confidence, "_LEAST_LOG", 0.0)
    bounds = [confidence.student_terms(n, 0.01, log_maps)[0] for log_maps in (0.0, 10.0, 100.0)]
    assert all(a < b for a, b in zip(exact, bounds, strict=True))


def test_a_posterior_that_is_not_the_simulators_is_found_out() -> None:
    wrong = gaussian_sample(3000, posterior_loss=lambda xbar: chances(0.9 * GAUSSIAN.bob_posterior(xbar)))
    with pytest.raises(InputError, match="contradicts the simulator"):
        bracket(wrong, 1.0, draws=20_000)


def test_unbounded_losses_rest_on_the_central_limit_theorem_unless_a_bound_is_given() -> None:
    def simulator(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
        theta = rng.random(size)
        return theta, rng.binomial(10, theta).astype(float)

    keywords: dict[str, Any] = {"bob_decisions": [0.2, 0.5, 0.8], "eve_decisions": [2, 5, 8]}
    free = bracket(sample(simulator, 2000, "squared", "absolute", **keywords), 0.01, draws=5000)
    assert "central limit theorem" in free.rests_on
    bound = bracket(
        sample(simulator, 2000, "squared", "absolute", bob_bound=1, eve_bound=10, **keywords), 0.01, draws=5000
    )
    assert "empirical Bernstein" in bound.rests_on
    assert bound.upper > free.upper
    with pytest.raises(InputError, match="eve_bound = 3 must bound every loss"):
        bracket(sample(simulator, 2000, "squared", "absolute", bob_bound=1, eve_bound=3, **keywords), 0.01, draws=5000)


def test_more_fresh_draws_make_the_bracket_narrower() -> None:
    drawn = gaussian_sample(500, **KINDS["closed form"])
    found = [bracket(drawn, 1.0, draws=draws) for draws in (1000, 10_000, 100_000)]
    wide = [one.upper - one.lower for one in found]
    assert wide[0] > 2 * wide[1] > 4 * wide[2]


def test_the_rule_for_new_data_is_random_only_if_posterior_draws_are() -> None:
    _, x, xbar = gaussian_draws(np.random.default_rng(77), 3000)
    sure = bracket(gaussian_sample(500, **KINDS["closed form"]), 1.0, draws=2000)
    assert (sure.rule(x, xbar) == sure.rule(x, xbar)).all()
    drawn = bracket(gaussian_sample(500, posterior_size=40, **KINDS["rows of draws"]), 1.0, draws=2000)
    calls = [drawn.rule(x, xbar) for _ in range(2)]
    assert 0 < (calls[0] != calls[1]).mean() < 0.1
    for found in (sure, drawn):
        clear = np.abs(xbar) > 2
        assert (found.release(x[clear], xbar[clear]) == (xbar[clear] > 0)).all()
        assert found.rule(x[clear], xbar[clear]).tolist() == (xbar[clear] > 0).astype(int).tolist()


def test_bad_arguments_are_refused_by_name() -> None:
    drawn = gaussian_sample(200, **KINDS["closed form"])
    for keywords, message in (
        ({"level": 1}, "level = 1 must be"),
        ({"draws": 3}, "draws = 3 must be"),
        ({"seed": 0}, "the draws must be fresh"),
        ({"eve_lipschitz": 1}, "is not an option for a sample"),
    ):
        with pytest.raises(InputError, match=message):
            bracket(drawn, 1.0, **keywords)
    with pytest.raises(InputError, match=r"lam = 1e\+200 makes losses of 1.0e\+200, whose squares are no floats"):
        bracket(drawn, 1e200)
    with pytest.raises(InputError, match="must not be given with posterior_loss"):
        gaussian_sample(200, **KINDS["closed form"], posterior_draws=lambda x, rng, K: np.zeros((len(x), K)))
    with pytest.raises(InputError, match="posterior_draws gave shape"):
        gaussian_sample(200, posterior_draws=lambda x, rng, K: np.zeros(3))


@pytest.mark.slow
def test_stored_draws_with_posterior_draws_give_a_bracket() -> None:
    """Gamma-Poisson as arrays of a probabilistic program: joint draws, and posterior draws for every data set."""
    rng = np.random.default_rng(5)
    rate = rng.gamma(3, size=3000)
    cases = rng.poisson(rate)
    runs = {int(x): rng.gamma(3 + x, 0.5, size=800) for x in np.unique(cases)}

    def posterior(x: Any, rng: np.random.Generator, K: int) -> Array:
        return rng.choice(runs[int(x)], K)

    stored = StoredDraws(rate, cases)
    drawn = sample(stored, 1000, zero_one(2), zero_one(2), posterior_draws=posterior, **TEST)
    found = bracket(drawn, 0.7, level=0.95, draws=2000)
    exact = bracket(model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(2), **TEST), 0.7)
    assert found.lower <= exact.lower
    assert exact.upper <= found.upper
    assert found.release(np.array([12.0])).tolist() == [1]
    # the fit has the first draws, and no draw is used twice
    assert (drawn.draws.theta == rate[:1000]).all()
    with pytest.raises(InputError, match="stored draws = 3000 are too few: 3001 are needed"):
        bracket(drawn, 0.7, draws=2001)


def test_stored_draws_and_simulators_that_are_none_are_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"^x has shape \(2, 1\), must have 3 rows, one per theta$"):
        StoredDraws([1.0, 2.0, 3.0], [[1.0], [2.0]])
    with pytest.raises(InputError, match=r"theta = .* must be finite numbers$"):
        StoredDraws([1.0, math.nan], [1.0, 2.0])
