"""Brackets of scalar models against exact sums, fine grids and the Gaussian optimum, none of which share their code."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import optimize, special, stats

from bap_lp import Conditions, InputError, Problem, compare, lambda_path, solve
from discretise import Bracket, absolute, bracket, model, squared, zero_one
from discretise.continuum.densities import _rest, law_of_data
from discretise.continuum.scalar_brackets import ModelBracket
from discretise.model_files import model_from_dict
from gaussian import GaussianModel, MeanEve

TEST: dict[str, Any] = {"bob_decisions": [0, 1], "eve_decisions": [0, 1]}


def finite_optimum(p: Any, B: Any, E: Any, lam: float) -> float:
    """The compact program by scipy's HiGHS: rho and one t per signal."""
    (n, b), e = B.shape, E.shape[1]
    cost = np.concatenate([(p[:, None] * B).ravel(), -lam * np.ones(b)])
    rows = np.zeros((b * e, n * b + b))
    for i in range(b):
        for j in range(e):
            rows[i * e + j, i : n * b : b] = -p * E[:, j]
            rows[i * e + j, n * b + i] = 1
    sums = np.hstack([np.kron(np.eye(n), np.ones((1, b))), np.zeros((n, b))])
    bounds = [(0, None)] * (n * b) + [(None, None)] * b
    found = optimize.linprog(
        cost, rows, np.zeros(b * e), sums, np.ones(n), bounds, options={"dual_feasibility_tolerance": 1e-10}
    )
    return float(found.fun)


def asks(target: Any, *thresholds: float) -> Any:
    """0-1 losses: a row for each target, a column for each claim how many of the thresholds lie below it."""
    return (np.searchsorted(thresholds, target)[:, None] != np.arange(len(thresholds) + 1)).astype(float)


def chances(above: Any) -> Any:
    return np.stack([above, 1 - above], axis=1)


def gamma_poisson(x: Any) -> Any:
    """P(x) of Gamma(3, 1) and Poisson; theta | x is Gamma(3 + x, rate 2)."""
    return np.exp(special.gammaln(3 + x) - special.gammaln(3) - special.gammaln(x + 1) - (3 + x) * math.log(2))


def counts_and_squares() -> tuple[Any, ...]:
    grid, eve, x = np.linspace(0, 8, 5), np.arange(5), np.arange(90)
    made = model(stats.gamma(3), stats.poisson, squared, absolute, bob_decisions=grid, eve_decisions=eve)
    B = (grid - (3 + x)[:, None] / 2) ** 2 + (3 + x)[:, None] / 4
    return made, 0.7, gamma_poisson(x), B, np.abs(x[:, None] - eve), 1e-6


def several_thresholds() -> tuple[Any, ...]:
    """Both ask which of three intervals holds a number."""
    given: dict[str, Any] = {"bob_decisions": [0, 1, 2], "eve_decisions": [0, 1, 2]}
    x = np.arange(90)
    below = [special.gammainc(3 + x, 2 * c) for c in (1, 2.5)]
    inside = np.stack([below[0], below[1] - below[0], 1 - below[1]], axis=1)
    made = model(stats.gamma(3), stats.poisson, zero_one(1, 2.5), zero_one(1, 3), **given)
    return made, 0.6, gamma_poisson(x), 1 - inside, asks(x, 1, 3), 1e-9


def beta_binomial() -> tuple[Any, ...]:
    a, b, n, c, x = 2, 3, 12, 0.4, np.arange(13)
    made = model(stats.beta(a, b), lambda q: stats.binom(n, q), zero_one(c), "0-1", bob_decisions=[0, 1],
                 eve_decisions=x)  # fmt: skip
    p = special.comb(n, x) * special.beta(a + x, b + n - x) / special.beta(a, b)
    B, E = chances(special.betaincc(a + x, b + n - x, c)), 1.0 - np.eye(n + 1)
    calibrated = ((p @ B).min() - p @ B.min(1)) / (p @ E).min()
    assert bracket(made).lam == pytest.approx(calibrated, abs=1e-11)
    return made, calibrated, p, B, E, 1e-9


def beta_negative_binomial() -> tuple[Any, ...]:
    """The data have a heavy tail at rare thetas only: P(X = x) = 5 C(x+2, 2) B(8, x+1), theta | x is Beta(8, x + 1)."""
    x = np.arange(401)
    p, above = 5 * (x + 1) * (x + 2) / 2 * special.beta(8, x + 1), special.betaincc(8, x + 1, 0.8)
    # beyond 399 theta > c has a probability below 1e-200 and nobody's decision changes: one state for all
    p[-1], above[-1] = 1 - p[:-1].sum(), 0.0
    made = model(stats.beta(5, 1), lambda q: stats.nbinom(3, q), zero_one(0.8), zero_one(1), **TEST)
    return made, 0.5, p, chances(above), asks(x, 1), 1e-9


def uniform_geometric() -> tuple[Any, ...]:
    """P(X > x) = 1 / (x + 1), so that no table holds all of the data; theta | x is Beta(2, x)."""
    x = np.arange(1, 402)  # the last state stands for all data from 401 on
    p, above = np.where(x > 400, 1 / x, 1 / (x * (x + 1))), np.where(x > 400, 0.0, special.betaincc(2, x, 0.5))
    return (
        model(stats.uniform(), stats.geom, zero_one(0.5), zero_one(2), **TEST),
        0.5,
        p,
        chances(above),
        asks(x, 2),
        5e-3,
    )


def urn() -> tuple[Any, ...]:
    """20 balls, t of them red, all t equally likely; 5 are drawn. scipy.stats has no cdf between the integers."""
    t, x = np.arange(21), np.arange(6)
    law = np.array([[math.comb(k, j) * math.comb(20 - k, 5 - j) / math.comb(20, 5) for j in x] for k in t])
    p = law.mean(axis=0)
    made = model((t, [1 / 21] * 21), lambda k: stats.hypergeom(20, int(k), 5), zero_one(10), zero_one(2), **TEST)
    return made, 0.5, p, chances(law[t > 10].sum(axis=0) / 21 / p), asks(x, 2), 1e-9


LARGE = (beta_binomial, beta_negative_binomial, uniform_geometric)
SLOW = [pytest.param(case, marks=pytest.mark.slow) for case in LARGE]


@pytest.mark.parametrize("case", [counts_and_squares, several_thresholds, urn, *SLOW])
def test_a_model_with_atoms_is_the_optimum_of_its_exact_sums(case: Any) -> None:
    made, lam, p, B, E, width = case()
    found = bracket(made, lam)
    assert found.width < width
    assert found.lower - 1e-7 <= finite_optimum(p, B, E, lam) <= found.upper + 1e-7


@pytest.mark.slow
def test_data_beyond_the_table_of_atoms_are_released_as_the_nearest_one() -> None:
    found = bracket(uniform_geometric()[0], 0.5)
    assert found.width > 1e-5
    assert found.rule([1e9]).tolist() == found.rule([1000]).tolist()


@pytest.mark.slow
def test_gamma_exponential_agrees_with_a_fine_grid_of_its_lomax_law() -> None:
    """Predictive Lomax(3), theta | x ~ Gamma(4, rate 1 + x): 4,000 cells of equal mass give the optimum from above."""
    found = bracket(model(stats.gamma(3), lambda r: stats.expon(scale=1 / r), zero_one(2), zero_one(0.5), **TEST))
    cells = 4000
    edges = np.unique(np.append(stats.lomax(3).ppf(np.arange(cells + 1) / cells), 0.5))
    middle = np.append((edges[1:-1] + edges[:-2]) / 2, edges[-2] * 2)
    p = np.diff(stats.lomax(3).cdf(edges))
    above = special.gammaincc(4, 2 * (1 + middle))
    B = np.stack([above, 1 - above], 1)
    E = np.stack([middle > 0.5, middle <= 0.5], 1).astype(float)
    value = float(solve(Problem(p, B, E), found.lam).value)
    assert found.width < 1e-9
    assert value == pytest.approx(found.upper, abs=2e-6)


@pytest.mark.slow
def test_the_normal_model_has_the_gaussian_bracket() -> None:
    gauss = bracket(GaussianModel(5, 1.0, 0.0), MeanEve(0.5))
    found = bracket(model(stats.norm(), lambda t: stats.norm(t, 5**-0.5), zero_one(0), zero_one(0.5), **TEST))
    assert isinstance(gauss, Bracket)
    assert isinstance(found, ModelBracket)
    assert found.lower <= gauss.upper
    assert gauss.lower <= found.upper
    assert found.width < 1e-9
    assert found.lam == pytest.approx(gauss.lam, abs=1e-11)
    assert found.describe() == "release 1 when x > -0.416415, else 0"
    assert found.rule.edges[0] == pytest.approx(gauss.thresholds[0], abs=1e-6)


@pytest.mark.slow
def test_several_eves_are_bracketed_together() -> None:
    prior, losses = stats.norm(), [zero_one(0.5), absolute]
    problem = model(
        prior, lambda t: stats.norm(t, 5**-0.5), zero_one(0), losses, bob_decisions=[0, 1],
        eve_decisions=[[0, 1], [-1, 0, 1]], eve_weights=[1, 0.5],
    )  # fmt: skip
    found = bracket(problem)
    assert found.width < 1e-8
    # a finer and finer grid of cells is a mechanism: its optimum comes down to the bracket, and never below
    value = float(solve(problem, found.lam).value)
    assert found.lower - 1e-9 <= value <= found.upper + 2e-3
    played = found.simulate(100_000)
    assert played.alice(found.lam) == pytest.approx(found.upper, abs=5 * played.alice_error(found.lam))


def test_an_atom_at_a_threshold_is_split() -> None:
    problem = model(stats.beta(2, 3), lambda q: stats.binom(20, q), zero_one(0.4), "0-1", bob_decisions=[0, 1],
                    eve_decisions=range(21))  # fmt: skip
    found = bracket(problem)
    mixed = found.rule.probabilities[found.rule.probabilities.max(axis=1) < 1]
    assert len(mixed) == 1
    assert "with probability" in found.describe()
    assert found.rule(9).sum() == pytest.approx(1)
    assert found.release(np.full(50, 15), 3).tolist() == [1] * 50
    assert set(found.release(np.full(400, 9), 3).tolist()) == {0, 1}
    assert set(found.release(np.full(400, 9)).tolist()) == {0, 1}  # from the secure source
    with pytest.raises(InputError, match=r"x = 2\.5 is not a value"):
        found.release(2.5)


def test_the_prior_may_have_atoms_and_the_likelihood_take_one_theta_at_a_time() -> None:
    def likelihood(theta: float) -> Any:
        return stats.norm(0.0 if theta < 0 else 1.5, 1)

    found = bracket(
        model(([-1, 2], [0.4, 0.6]), likelihood, "0-1", zero_one(1), bob_decisions=[-1, 2], eve_decisions=[0, 1]), 0.5
    )

    # cells of two normal laws: a mechanism on them is one on the line
    edges = np.unique(np.concatenate([[-np.inf], np.linspace(-5, 6, 501), [1.0, np.inf]]))
    law = np.array([[0.4], [0.6]]) * np.diff(special.ndtr(edges - np.array([[0.0], [1.5]])))
    p = law.sum(axis=0)
    exact = finite_optimum(p, chances(law[1] / p), asks((edges[:-1] >= 1).astype(float), 0.5), 0.5)
    assert found.width < 1e-9
    assert found.lower - 1e-9 <= exact <= found.upper + 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0, 1e-9, 1e6])
def test_extreme_prices_keep_the_order_of_the_ends(lam: float) -> None:
    found = bracket(model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(2), **TEST), lam)
    assert found.lower <= found.upper
    assert found.width <= 1e-9 * max(1, lam)
    if lam == 0:
        assert found.bob == pytest.approx(float(found.full.bob), abs=1e-12)
    if lam > 1e3:
        assert found.eve == pytest.approx(float(found.null.eve), abs=1e-9)


@pytest.mark.slow
def test_eves_that_learn_nothing_make_calibration_impossible() -> None:
    outside = model(stats.gamma(3), lambda r: stats.expon(scale=1 / r), zero_one(2), zero_one(-1), **TEST)
    with pytest.raises(InputError, match=r"lam = 'calibrated' is undefined"):
        bracket(outside)
    found = bracket(outside, 1)
    assert found.upper == pytest.approx(float(found.full.bob), abs=1e-9)


@pytest.mark.slow
def test_a_support_that_depends_on_theta_is_integrated_to_its_end() -> None:
    """x ~ U(0, theta), theta ~ Gamma(3): p(x) = P(Gamma(2) > x) / 2, and theta | x is Gamma(2) above x."""
    found = bracket(model(stats.gamma(3), lambda r: stats.uniform(0, r), zero_one(2), zero_one(1), **TEST), 0.5)
    edges = np.unique(np.append(np.linspace(0, 30, 6001), [1.0, 2.0]))
    middle = (edges[1:] + edges[:-1]) / 2
    tail = stats.gamma(2).sf
    p = np.diff(edges) * tail(middle) / 2
    above = tail(np.maximum(middle, 2)) / tail(middle)
    B, E = np.stack([above, 1 - above], 1), np.stack([middle > 1, middle <= 1], 1).astype(float)
    assert float(solve(Problem(p / p.sum(), B, E), 0.5).value) == pytest.approx(found.upper, abs=1e-5)
    assert found.width < 1e-8


@pytest.mark.slow
def test_heavy_tails_are_integrated_as_long_as_the_risk_is_finite() -> None:
    """E[X^2] = 1 + nu/(nu - 2) = 4 for nu = 3: Eve's squared loss at 0 without a release."""
    problem = model(
        stats.norm(),
        lambda m: stats.t(3, loc=m),
        zero_one(0),
        squared,
        bob_decisions=[0, 1],
        eve_decisions=[0],
        theta_cells=10,
    )
    law = law_of_data(problem.scalar)
    assert law.totals[3] == pytest.approx(4, abs=1e-9)
    assert law.errors(0.1) < 1e-9


@pytest.mark.parametrize(
    ("prior", "likelihood", "bob", "eve"),
    [
        (stats.norm(), lambda m: stats.t(1.5, loc=m), zero_one(0), "squared"),
        (stats.norm(), lambda m: stats.t(2, loc=m), zero_one(0), "squared"),
        (stats.cauchy(), lambda m: stats.norm(m, 1), "squared", zero_one(0)),
        (stats.cauchy(), lambda m: stats.norm(m, 1), zero_one(0), "absolute"),
        (stats.gamma(3), lambda a: stats.zipf(2.5), zero_one(2), "squared"),
    ],
)
def test_an_infinite_risk_is_said_to_be_infinite(prior: Any, likelihood: Any, bob: Any, eve: Any) -> None:
    with pytest.raises(InputError, match="the risk is infinite"):
        model(prior, likelihood, bob, eve, **TEST)


def test_atoms_off_the_integers_are_counted() -> None:
    """X = theta + Poisson(3) with theta 0 or 1/2: E(X - 3)^2 = 3 + 1/8."""
    problem = model(
        ([0, 0.5], [0.5, 0.5]),
        lambda t: stats.poisson(3, loc=t),
        "0-1",
        "squared",
        bob_decisions=[0, 0.5],
        eve_decisions=[3],
    )
    assert float(problem.p @ problem.E[:, 0]) == pytest.approx(3.125, abs=1e-12)
    found = bracket(problem, 0.1)
    assert float(found.null.eve) == pytest.approx(3.125, abs=1e-9)
    assert found.bob == pytest.approx(0, abs=1e-9)  # the lattice tells theta
    played = found.simulate(20_000)
    assert played.eve == pytest.approx(found.eve, abs=6 * played.eve_error)
    with pytest.raises(InputError, match="moves its atoms with theta"):
        model(stats.norm(), lambda t: stats.poisson(3, loc=t), zero_one(0), "squared", **TEST)


@pytest.mark.parametrize(
    "prior",
    [
        stats.multivariate_normal([0, 0]),
        stats.multinomial(3, [0.5, 0.5]),
        stats.Mixture([stats.Normal(), stats.Normal(mu=3)]),
    ],
)
def test_vectors_and_mixtures_are_pointed_to_sample(prior: Any) -> None:
    with pytest.raises(InputError, match=r"discretise\.sample"):
        model(prior, lambda t: stats.norm(t, 1), zero_one(0), zero_one(0), **TEST)


@pytest.mark.slow
def test_decisions_between_those_of_the_grid_widen_the_bracket_by_the_lipschitz_constant() -> None:
    problem = model(stats.gamma(3), stats.poisson, absolute, absolute, bob_decisions=[1, 2, 4], eve_decisions=[0, 2, 6])
    plain, eve, both = (
        bracket(problem, 0.5),
        bracket(problem, 0.5, eve_lipschitz="auto"),
        bracket(problem, 0.5, eve_lipschitz=1, bob_lipschitz="auto"),
    )
    assert eve.lower == plain.lower
    assert eve.upper == pytest.approx(plain.upper + 0.5 * 2)
    assert both.lower == pytest.approx(plain.lower - 1)
    # a finer grid for Eve is one of the continua that the wide bracket covers
    finer = model(
        stats.gamma(3), stats.poisson, absolute, absolute, bob_decisions=[1, 2, 4], eve_decisions=np.linspace(0, 6, 13)
    )
    found = bracket(finer, 0.5)
    assert eve.lower <= found.upper
    assert found.lower <= eve.upper
    with pytest.raises(InputError, match="auto"):
        bracket(model(stats.gamma(3), stats.poisson, squared, squared, **TEST), 0.5, eve_lipschitz="auto")


@pytest.mark.slow
def test_bracket_says_what_it_takes() -> None:
    problem = model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(2), **TEST)
    for arguments, keywords, message in (
        ((3,), {}, "model = 'int' must be"),
        ((Problem([1], [[0, 1]], [[0, 1]]),), {}, "bap_lp.solve is for finite ones"),
        ((problem, MeanEve(0.0)), {}, "the problem has its own Eves"),
        ((problem,), {"level": 0.9}, "is not an option for a scalar model"),
        ((problem, -1), {}, "must not be negative"),
        ((GaussianModel(5, 1.0, 0.0),), {}, "must be given for a Gaussian model"),
    ):
        with pytest.raises(InputError, match=message):
            bracket(*arguments, **keywords)
    assert bracket(problem, 0.5).lower == bracket(problem, lam=0.5).lower


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1.0, 8.0])
def test_the_left_out_mass_counts_with_the_weight_of_each_eve(weight: float) -> None:
    given: dict[str, Any] = {"bob_decisions": [0, 1], "eve_decisions": [[0, 1]], "eve_weights": [weight]}
    found = bracket(model(stats.uniform(), stats.geom, zero_one(0.5), [zero_one(2)], **given), 1.0)
    assert found.error >= (1 + weight) / (found.rule.edges[-1] + 1) * (1 - 1e-9)


def test_an_unbounded_loss_is_refused_with_the_tail_of_the_data_not_of_one_theta() -> None:
    with pytest.raises(InputError, match=r"eve_loss must be 0-1 loss: X has \d\.\de-0\d of its probability outside"):
        model(stats.beta(2, 5), lambda q: stats.nbinom(3, q), "absolute", "absolute", bob_decisions=[0.3],
              eve_decisions=[1])  # fmt: skip


@pytest.mark.parametrize("power", [1.5, 2.0, 6.0])
def test_the_rest_of_a_power_tail_is_covered_and_not_by_much(power: float) -> None:
    k = np.arange(1, 200_001.0)
    rest = float(_rest(k[:, None] ** -power)[0])
    exact = float(special.zeta(power, 200_001))
    assert exact < rest < 2.1 * exact


def test_the_rest_of_a_harmonic_tail_is_infinite() -> None:
    with pytest.raises(InputError, match="the risk is infinite"):
        _rest(1 / np.arange(1, 200_001.0)[:, None])


@pytest.mark.slow
def test_a_function_with_its_jumps_is_as_good_as_a_named_loss() -> None:
    def above(c: float) -> Any:
        return lambda target, decision: ((target > c) != decision).astype(float)

    likelihood = lambda t: stats.norm(t, 0.5)  # noqa: E731
    named = bracket(model(stats.norm(), likelihood, zero_one(0.3), zero_one(1), **TEST), 0.8)
    own = bracket(model(stats.norm(), likelihood, above(0.3), above(1), theta_edges=[0.3], edges=[1], **TEST), 0.8)
    assert own.width < 1e-9
    assert own.lower <= named.upper
    assert named.lower <= own.upper


def test_the_certificate_is_a_table_of_decisions_and_both_ends_include_the_error() -> None:
    found = bracket(model(stats.gamma(3), stats.poisson, zero_one(2), [zero_one(3), absolute], bob_decisions=[0, 1],
                          eve_decisions=[[0, 1], [0, 2, 5]]), 0.4)  # fmt: skip
    assert np.shape(found.u) == (2, 2 + 3)
    assert found.error > 0
    assert found.upper == pytest.approx(found.bob - found.lam * found.eve + found.error, abs=1e-15)
    assert found.width >= 2 * found.error * (1 - 1e-3)


def test_a_model_is_an_ordinary_problem_for_every_question() -> None:
    cases = model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(3), **TEST)
    assert isinstance(cases, Problem)
    best = solve(cases)
    assert compare(cases).releases[0].alice == pytest.approx(best.value, abs=1e-9)
    assert lambda_path(cases).value(best.lam) == pytest.approx(best.value, abs=1e-9)
    private = solve(cases, conditions=Conditions(max_leakage=1.5))
    assert private.value > best.value
    assert np.asarray(private.mechanism.channel, dtype=float).max(axis=0).sum() <= 1.5 + 1e-9


def test_a_bracket_needs_no_cells(monkeypatch):
    """Cells take most of the time of a law with many atoms, and a bracket does not use them."""
    monkeypatch.setattr("discretise.models._Tables", None)
    agent = {"loss": "0-1", "thresholds": [0.5]}
    count = {"loss": "0-1", "thresholds": [400]}
    laws = {"prior": {"name": "beta", "a": 2, "b": 3}, "likelihood": {"name": "binom", "n": 1000, "p": "theta"}}
    loaded = model_from_dict({**laws, "bob": agent, "eve": count})
    found = bracket(loaded.model, loaded.lam)
    assert found.width < 1e-10


def test_a_game_that_is_large_is_not_refined_to_the_last_digit(monkeypatch):
    """A bracket of width 1e-6 is an answer; the next game would have taken minutes, and the model was refused."""
    grid = np.linspace(-2, 2, 5).tolist()
    problem = model(stats.norm(), stats.norm, "squared", "squared", bob_decisions=grid, eve_decisions=grid)
    fine = bracket(problem, 0.3)
    monkeypatch.setattr("discretise.continuum.continuum_optimum._WORK", 1e4)
    rough = bracket(problem, 0.3)
    assert fine.width < 1e-9 < rough.width < 1e-4
    assert rough.lower <= fine.lower <= fine.upper <= rough.upper


@pytest.mark.parametrize(
    ("prior", "likelihood", "bob", "eve"),
    [
        (stats.gamma(4), lambda t: stats.beta(t, 2), 3, 0.6),
        (stats.gamma(2), lambda t: stats.weibull_min(0.3, scale=t), 2, 1),
    ],
    ids=["beta", "weibull"],
)
def test_an_infinite_density_at_an_end_costs_no_more_than_its_mass(prior, likelihood, bob, eve):
    """The panel at 0 had the error of a polynomial that cannot follow the density: widths of 0.05 and 0.001."""
    made = model(prior, likelihood, zero_one(bob), zero_one(eve), **TEST)
    found = bracket(made)
    assert found.width < 1e-6
    assert found.lower <= solve(made, found.lam).value <= found.upper + 1e-3
