"""The deterministic path against a Monte Carlo of the paper's size, written as its supplement describes.

Monte Carlo: M = 4e6 prior predictive draws; the noisy median by K = 200 bins with Jeffreys smoothing; D simulated once
for the noisy mean against the maximum, with Gauss-Hermite quadrature over the release; the one-bit release by counting.
Both compute Eve's risk on the maximum under these three releases, and Bob's under the noisy median; the accuracy of the
draws is their distance from the deterministic values, whose own errors are stated. Then the three tables are timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from gaussian import BothEves, GaussianModel, MaxEve, MeanEve, NoisyMean, NoisyMedian, OneBit, risks, table

DRAWS, BINS, REACH = 4_000_000, 200, 6.0
_SLICE = 20_000


def _timed(work: Callable[[], dict[str, float]]) -> tuple[dict[str, float], float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def _binned(signal: np.ndarray, state: np.ndarray, scale: float) -> float:
    """Histogram regression of a binary state on the release, averaged over the draws."""
    edges = np.linspace(-REACH * scale, REACH * scale, BINS + 1)
    place = np.clip(np.searchsorted(edges, signal) - 1, 0, BINS - 1)
    total, ones = np.bincount(place, minlength=BINS), np.bincount(place, weights=state, minlength=BINS)
    p = (ones + 0.5) / (total + 1.0)
    return float(np.sum(total * np.minimum(p, 1 - p)) / len(signal))


def monte_carlo(model: GaussianModel, eve: MaxEve, sigma: float, tau: float, seed: int) -> dict[str, float]:
    """Eve's risks under three releases, and Bob's under the noisy median, from M draws."""
    rng = np.random.default_rng(seed)
    theta = model.prior_sd * rng.standard_normal(DRAWS)
    x = theta[:, None] + rng.standard_normal((DRAWS, model.n))
    hit = x.max(axis=1) > eve.threshold
    signal = np.median(x, axis=1) + sigma * rng.standard_normal(DRAWS)
    scale = np.sqrt(model.prior_sd**2 + np.pi / (2 * model.n) + sigma**2)
    bit = model.bob_posterior(x.mean(axis=1)) > tau
    one_bit = sum(min(np.mean(hit & side), np.mean(~hit & side)) for side in (bit, ~bit))
    d = np.sort((x - x.mean(axis=1, keepdims=True)).max(axis=1))
    variance = model.xbar_sd**2
    gain = variance / (variance + sigma**2)
    z, w = np.polynomial.hermite_e.hermegauss(60)
    centre = gain * np.sqrt(variance + sigma**2) * z
    below = np.zeros(len(z))
    for part in np.array_split(d, DRAWS // _SLICE):
        below += ndtr((eve.threshold - part[:, None] - centre) / np.sqrt(variance * (1 - gain))).sum(0)
    below /= DRAWS
    return {
        "noisy median, Bob": _binned(signal, theta > model.bob_threshold, scale),
        "noisy median, Eve": _binned(signal, hit, scale),
        "noisy mean, Eve": float(np.minimum(below, 1 - below) @ w / w.sum()),
        "one-bit, Eve": float(one_bit),
    }


def deterministic(model: GaussianModel, eve: MaxEve, sigma: float, tau: float) -> tuple[dict[str, float], float]:
    """The same four numbers, and the largest of their error estimates."""
    median, mean, bit = (risks(model, eve, r) for r in (NoisyMedian(sigma), NoisyMean(sigma), OneBit(tau)))
    errors = (median.bob_error, median.eve_error, mean.eve_error, bit.eve_error)
    values = (median.bob, median.eve, mean.eve, bit.eve)
    names = ("noisy median, Bob", "noisy median, Eve", "noisy mean, Eve", "one-bit, Eve")
    return dict(zip(names, map(float, values), strict=True)), max(errors)


def main() -> None:
    """Print the accuracy of each path and the ratio of their times."""
    model, eve, sigma, tau = GaussianModel(5, 1.0, 0.0), MaxEve(2.0), 0.62, 0.5
    start = time.perf_counter()
    exact, error = deterministic(model, eve, sigma, tau)
    fast = time.perf_counter() - start
    drawn, slow = _timed(lambda: monte_carlo(model, eve, sigma, tau, 1))
    print(f"maximum adversary, n = 5, sigma = {sigma}, tau = {tau}")
    for name, value in exact.items():
        off = drawn[name] - value
        print(f"  {name:18s} deterministic {value:.10f}   Monte Carlo {drawn[name]:.6f}   difference {off:+.1e}")
    print(f"  deterministic: {fast:.3f} s, error below {error:.0e};  Monte Carlo, M = {DRAWS:.0e}: {slow:.2f} s")
    print(f"  time ratio Monte Carlo / deterministic: {slow / fast:.1f}")
    total = 0.0
    for name, adversary in (("mean", MeanEve(0.5)), ("max", MaxEve(2.0)), ("both", BothEves(0.5, 2.0))):
        start = time.perf_counter()
        found = table(model, adversary)
        spent = time.perf_counter() - start
        total += spent
        print(f"table, {name:4s}: {spent:5.2f} s, largest error of R_A {max(row.error for row in found.releases):.0e}")
    print(f"three tables with continuous optimisation: {total:.2f} s")


if __name__ == "__main__":
    main()
