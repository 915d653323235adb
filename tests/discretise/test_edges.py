"""Models at the edge of what can be integrated: solved, or refused in one line before they take long."""

import math
import time

import numpy as np
import pytest
from scipy import stats

from bap_cli.main import main
from bap_lp import InputError
from discretise import bracket, model, zero_one
from discretise.model_files import model_from_dict
from discretise.pace import paced

TESTS = {"bob_decisions": [0, 1], "eve_decisions": [0, 1]}


def test_a_density_that_is_infinite_at_the_ends_is_integrated():
    # the arcsine law against the uniform one: the densities cross at c and 1 - c
    made = model(([0.5, 1.0], [0.5, 0.5]), lambda t: stats.beta(t, t), zero_one(0.75), zero_one(0.5), **TESTS)
    found = bracket(made)
    c = (1 - math.sqrt(1 - 4 / math.pi**2)) / 2
    distance = 2 * (2 / math.pi * math.asin(math.sqrt(c)) - c)
    assert abs(found.full.bob - (1 - distance) / 2) <= found.error
    assert found.width < 1e-5


def test_a_quantile_that_takes_scipy_too_many_steps_is_no_news_to_the_user():
    # warnings are errors here, and beta(2, 20) gives one far out in its lower tail
    assert (
        bracket(model(stats.beta(2, 20), lambda p: stats.binom(30, p), zero_one(0.1), zero_one(3), **TESTS)).width
        < 1e-11
    )


def test_a_heavy_tail_of_a_continuous_prior_is_part_of_the_bracket():
    made = model(stats.pareto(1), stats.poisson, zero_one(2), zero_one(3), **TESTS)
    found = bracket(made)
    assert 0 < found.width < 0.01
    played = found.simulate(20_000, seed=2)
    assert abs(played.alice(found.lam) - found.upper) < 5 * played.alice_error(found.lam) + found.width


@pytest.mark.parametrize("prior", [([1.0001, 2.0], [0.5, 0.5]), stats.uniform(1.0001, 2)])
def test_a_law_whose_median_nobody_can_sum_is_refused(prior):
    with pytest.raises(InputError, match="of the mass lies beyond"):
        model(prior, stats.zipf, zero_one(1.5), zero_one(3), **TESTS)


def test_a_thousand_decisions_are_refused_before_anything_is_integrated():
    grid = np.linspace(-3, 3, 1000)
    made = model(stats.norm(), stats.norm, "squared", zero_one(0.5), bob_decisions=grid, eve_decisions=[0, 1])
    with pytest.raises(InputError, match="decisions of all agents = 1002 must be at most 300"):
        bracket(made)


def test_a_table_that_would_take_long_is_refused_unless_a_time_limit_is_set():
    def slow(start, stop):
        end = time.thread_time() + 0.01 * (stop - start)
        while time.thread_time() < end:
            pass
        return np.zeros((stop - start, 10))

    with pytest.raises(InputError, match=r"takes scipy\.stats about"):
        paced(slow, 5000, 10, stats.norm())
    made = model(stats.norm(), stats.norm, zero_one(0), zero_one(0.5), **TESTS)
    with pytest.raises(TimeoutError):
        bracket(made, time_limit=0)


def test_a_model_that_takes_long_is_refused_unless_a_time_limit_is_set(monkeypatch):
    made = model(stats.norm(), stats.norm, zero_one(0), zero_one(0.5), **TESTS)
    monkeypatch.setattr("discretise.pace._LONGEST", 0.0)
    with pytest.raises(InputError, match="model takes more than 0 s of computing: set a time limit"):
        bracket(made)
    assert bracket(made, time_limit=600).width < 1e-9


def test_a_parameter_that_scipy_does_not_allow_is_named():
    with pytest.raises(InputError, match=r"likelihood\(\S+\) is no distribution of scipy.stats"):
        model(stats.uniform(5, 20), stats.ksone, zero_one(10), zero_one(0.1), **TESTS)


def test_mass_next_to_an_infinite_density_is_refused_with_a_way_out():
    made = model(stats.gamma(0.3), stats.gamma, zero_one(0.2), zero_one(0.1), **TESTS)
    with pytest.raises(InputError, match=r"cannot be integrated over the data.*use discretise.sample"):
        bracket(made)


@pytest.mark.parametrize(("pairs", "code"), [(40, 0), (60, 2), (490, 2), (20_000, 2)])
def test_an_expression_may_not_be_nested_without_end(tmp_path, capsys, pairs, code):
    file = tmp_path / "model.toml"
    file.write_text(
        '[prior]\nname = "gamma"\na = 3\n[likelihood]\nname = "poisson"\nmu = "' + "--" * pairs + 'theta"\n'
        '[bob]\nloss = "0-1"\nthresholds = [2]\n[eve]\nloss = "0-1"\nthresholds = [3]\n'
    )
    assert main(["model", str(file)]) == code
    assert code == 0 or len(capsys.readouterr().err.splitlines()) == 1


def test_a_rule_has_no_region_that_nobody_will_ever_see():
    made = model(
        stats.gamma(3), lambda t: stats.beta(1 + t, 1), "squared", "absolute",
        bob_decisions=[0.5, 1, 2, 4], eve_decisions=[0.2, 0.5, 1],
    )  # fmt: skip
    found = bracket(made)
    assert found.width < 1e-9
    assert found.describe() == "release 4 when x > 0.948888, else 2"


def test_a_game_that_would_fill_the_memory_is_refused_before_anything_is_integrated():
    grid = np.linspace(-3, 3, 149)
    made = model(stats.norm(), stats.norm, "squared", "squared", bob_decisions=grid, eve_decisions=grid)
    with pytest.raises(InputError, match="Bob's decisions times Eves' decisions = 22201 must be at most 6000"):
        bracket(made)


def test_reading_a_model_that_takes_long_is_refused_too(monkeypatch):
    monkeypatch.setattr("discretise.pace._LONGEST", 0.0)
    with pytest.raises(InputError, match="model takes more than 0 s of computing"):
        model(stats.norm(), stats.norm, zero_one(0), zero_one(0.5), **TESTS)


@pytest.mark.parametrize("law", [stats.yulesimon, stats.recipinvgauss])
def test_quantiles_that_scipy_cannot_find_are_refused(law):
    with pytest.raises(InputError, match=r"quantiles that scipy\.stats cannot compute"):
        model(stats.gamma(2), law, zero_one(2), zero_one(2), **TESTS)


@pytest.mark.parametrize("loc", ["theta ** 0.5", "1 / (theta - theta)", "sqrt(theta)", "exp(exp(100 * theta))"])
def test_a_parameter_that_is_no_number_is_refused_without_a_warning(loc):
    agent = {"loss": "0-1", "thresholds": [0]}
    document = {"prior": {"name": "norm"}, "likelihood": {"name": "norm", "loc": loc}, "bob": agent, "eve": agent}
    with pytest.raises(InputError, match=r"likelihood\(.*\) is no distribution of scipy\.stats"):
        model_from_dict(document)


def test_a_law_on_a_circle_is_refused_at_once():
    with pytest.raises(InputError, match="likelihood = 'vonmises' has a distribution function above 1"):
        model(stats.uniform(-1, 2), lambda t: stats.vonmises(2.0, loc=t), zero_one(0), zero_one(1), **TESTS)
