"""Every risk against brute-force simulation at random parameters.

A rule is learned on one half of the draws. On the other half its risk is at least the Bayes risk, on average. On its
own half it is at most the Bayes risk, up to the width of the bins, which are narrow and cut where an exact statistic
jumps.
"""

import numpy as np
import pytest
from gaussian_cases import draw_data
from scipy.special import ndtr

from gaussian import BothEves, GaussianModel, MaxEve, MeanEve, NoisyFull, NoisyMean, NoisyMedian, OneBit, risks

pytestmark = pytest.mark.slow

DRAWS = 160_000
BINS = 200


def cells(eve, x):
    mean = x.mean(axis=1) > getattr(eve, "mean_threshold", getattr(eve, "threshold", 0.0))
    top = x.max(axis=1) > getattr(eve, "max_threshold", getattr(eve, "threshold", 0.0))
    if isinstance(eve, MeanEve):
        return mean.astype(int), 2
    return (top.astype(int), 2) if isinstance(eve, MaxEve) else (2 * mean + top, 4)


def bracket(signal, cell, count, cuts):
    """Risk of the learned rule on its own half and on the other half; standard error of either."""
    edges = np.union1d(np.quantile(signal, np.linspace(0, 1, BINS + 1)[1:-1]), cuts)
    place = np.searchsorted(edges, signal)
    half = len(signal) // 2
    table = np.zeros((2, len(edges) + 1, count))
    for part, rows in enumerate((slice(0, half), slice(half, None))):
        np.add.at(table[part], (place[rows], cell[rows]), 1)
    rule = table[0].argmin(axis=1)
    own = np.take_along_axis(table[0], rule[:, None], 1).sum() / table[0].sum()
    other = np.take_along_axis(table[1], rule[:, None], 1).sum() / table[1].sum()
    return own, other, np.sqrt(max(other, 1e-4) / half)


def random_case(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.choice([1, 2, 3, 4, 5, 6, 7, 10]))
    model = GaussianModel(n, float(rng.uniform(0.4, 2.0)), float(rng.normal(0, 0.5)))
    low = float(rng.normal(0, 0.6))
    eve = [MeanEve(low), MaxEve(low + 0.7), BothEves(low, low + float(rng.uniform(0.4, 1.6)))][seed % 3]
    return rng, model, eve


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("family", [NoisyMean, NoisyMedian])
def test_the_risks_of_noisy_statistics_agree_with_simulation(seed, family):
    rng, model, eve = random_case(seed)
    sigma = float(rng.choice([0.0, rng.uniform(0.05, 1.5)]))
    theta, x = draw_data(model, rng, DRAWS)
    statistic = x.mean(axis=1) if family is NoisyMean else np.median(x, axis=1)
    signal = statistic + sigma * rng.standard_normal(len(x))
    found = risks(model, eve, family(sigma))
    cuts = list(vars(eve).values())
    bob = (theta > model.bob_threshold).astype(int), 2
    for ours, (cell, count) in ((found.bob, bob), (found.eve, cells(eve, x))):
        own, other, se = bracket(signal, cell, count, cuts)
        assert own - 4.5 * se <= ours <= other + 4.5 * se


@pytest.mark.parametrize("seed", range(6))
def test_the_risks_of_one_bit_agree_with_simulation(seed):
    rng, model, eve = random_case(seed)
    tau = float(rng.uniform(0.05, 0.95))
    theta, x = draw_data(model, rng, DRAWS)
    signal = model.bob_posterior(x.mean(axis=1)) > tau
    found = risks(model, eve, OneBit(tau))
    bob = (theta > model.bob_threshold).astype(int), 2
    for ours, (cell, count) in ((found.bob, bob), (found.eve, cells(eve, x))):
        drawn = sum(min(np.mean((signal == j) & (cell == k)) for k in range(count)) for j in (False, True))
        assert ours == pytest.approx(drawn, abs=4.5 * np.sqrt(0.5 / DRAWS))


@pytest.mark.parametrize(
    ("n", "sigma", "c", "loss"),
    [
        (3, 0.4, 1.0, (1, 1)),
        (5, 1.6, 2.0, (1, 1)),
        (6, 0.9, 0.3, (3, 1)),
        (2, 3.0, -0.5, (1, 4)),
        (2, 0.7, 0.8, (3, 1)),
    ],
)
def test_the_noisy_full_release_against_the_maximum_agrees_with_simulation(n, sigma, c, loss):
    model = GaussianModel(n, 1.1, 0.2)
    rng = np.random.default_rng(n)
    _, x = draw_data(model, rng, 24_000)
    y = x + sigma * rng.standard_normal(x.shape)
    variance = 1 / (model.prior_sd**-2 + n / (1 + sigma**2))
    centre = variance * n / (1 + sigma**2) * y.mean(axis=1)
    z, w = np.polynomial.hermite_e.hermegauss(40)
    theta = centre[:, None] + np.sqrt(variance) * z
    s = sigma / np.sqrt(1 + sigma**2)
    below = np.ones_like(theta)
    for i in range(n):
        below *= ndtr((c - (y[:, i, None] + sigma**2 * theta) / (1 + sigma**2)) / s)
    p = below @ w / w.sum()
    each = np.minimum(loss[0] * (1 - p), loss[1] * p)
    found = risks(model, MaxEve(c, loss), NoisyFull(sigma))
    assert found.eve == pytest.approx(each.mean(), abs=4.5 * each.std() / np.sqrt(len(each)) + found.eve_error)


@pytest.mark.parametrize(("n", "sigma"), [(3, 0.6), (5, 1.8)])
def test_the_noisy_full_release_against_both_eves_agrees_with_simulation(n, sigma):
    model, eve = GaussianModel(n, 1.0, 0.0), BothEves(0.5, 2.0)
    rng = np.random.default_rng(n)
    _, x = draw_data(model, rng, 2_000)
    y = x + sigma * rng.standard_normal(x.shape)
    variance = 1 / (model.prior_sd**-2 + n / (1 + sigma**2))
    centre = variance * n / (1 + sigma**2) * y.mean(axis=1)
    counts = np.zeros((2, len(y), 4))
    for half in range(2):
        for _ in range(300):
            theta = centre + np.sqrt(variance) * rng.standard_normal(len(y))
            mean = (y + sigma**2 * theta[:, None]) / (1 + sigma**2)
            again = mean + sigma / np.sqrt(1 + sigma**2) * rng.standard_normal(y.shape)
            cell, _ = cells(eve, again)
            counts[half, np.arange(len(y)), cell] += 1 / 300
    rule = counts[0].argmin(axis=1)[:, None]
    own, other = (np.take_along_axis(part, rule, 1)[:, 0] for part in counts)
    found = risks(model, eve, NoisyFull(sigma))
    assert own.mean() - 4.5 * own.std() / np.sqrt(len(y)) <= found.eve
    assert found.eve <= other.mean() + 4.5 * other.std() / np.sqrt(len(y))
