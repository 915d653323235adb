"""Brackets of models: time and width for scalar models, and width against draws for samples.

    python -m benchmarks models

Scalar models: four conjugate pairs, seconds for the grid and for the bracket, and the width. Samples: the Gaussian
example through its simulator, seconds, the bracket and its paired width for 10^3 to 10^6 fresh draws; then a million
draws with ten decisions each for Bob and Eve.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy import stats

from discretise import bracket, model, sample, zero_one
from gaussian import GaussianModel, MaxEve

GAUSSIAN = GaussianModel(5, 1.0, 0.0)
TEST: dict[str, Any] = {"bob_decisions": [0, 1], "eve_decisions": [0, 1]}
PAIRS: dict[str, Any] = {
    "Gamma-Poisson": lambda: model(stats.gamma(3), stats.poisson, zero_one(2), zero_one(2), **TEST),
    "Beta-Binomial": lambda: model(
        stats.beta(2, 3),
        lambda q: stats.binom(20, q),
        zero_one(0.4),
        "0-1",
        bob_decisions=[0, 1],
        eve_decisions=range(21),
    ),
    "Gamma-exponential": lambda: model(
        stats.gamma(3), lambda r: stats.expon(scale=1 / r), zero_one(2), zero_one(0.5), **TEST
    ),
    "normal-normal": lambda: model(stats.norm(), lambda t: stats.norm(t, 5**-0.5), zero_one(0), zero_one(0.5), **TEST),
}


def simulator(rng: np.random.Generator, size: int) -> tuple[Any, Any, Any]:
    """theta, five values and their mean."""
    theta = rng.normal(size=size)
    x = theta[:, None] + rng.normal(size=(size, 5))
    return theta, x, x.mean(axis=1)


def posterior_loss(xbar: Any) -> Any:
    """Bob's two losses."""
    chance = GAUSSIAN.bob_posterior(xbar)
    return np.stack([chance, 1 - chance], axis=1)


def largest(x: Any) -> Any:
    """Eve's target."""
    return x.max(axis=1)


def main() -> None:
    """Print times and widths."""
    for name, make in PAIRS.items():
        start = time.perf_counter()
        problem = make()
        middle = time.perf_counter()
        found = bracket(problem)
        end = time.perf_counter()
        print(f"{name:18s} grid {middle - start:5.2f} s, bracket {end - middle:5.2f} s, width {found.width:.0e}")
    proved = bracket(GAUSSIAN, MaxEve(2.0))
    drawn = sample(
        simulator, 20_000, zero_one(0), zero_one(2), eve_target=largest, posterior_loss=posterior_loss, **TEST
    )
    for draws in (1_000, 10_000, 100_000, 1_000_000):
        start = time.perf_counter()
        found = bracket(drawn, proved.lam, draws=draws)
        spent = time.perf_counter() - start
        ends = f"[{found.lower:.5f}, {found.upper:.5f}]"
        print(f"{draws:9d} draws: {spent:5.2f} s, {ends} around {proved.upper:.5f}, paired width {found.width:.5f}")
    grid = np.linspace(-2, 2, 10)

    def squares(xbar: Any) -> Any:
        return (grid - 5 / 6 * xbar[:, None]) ** 2 + 1 / 6

    start = time.perf_counter()
    drawn = sample(
        simulator, 1_000_000, "squared", "absolute", bob_decisions=grid, eve_decisions=grid, eve_target=largest,
        posterior_loss=squares,
    )  # fmt: skip
    found = bracket(drawn)
    spent = time.perf_counter() - start
    print(f"a million draws for the fit and a million fresh ones, (b, e) = (10, 10): {spent:.1f} s, {found!r}")


if __name__ == "__main__":
    main()
