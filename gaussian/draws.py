"""Parameters and data drawn from the Gaussian model."""

from __future__ import annotations

import numpy as np

from gaussian.arrays import Array
from gaussian.model import GaussianModel


def gaussian_draws(model: GaussianModel, rng: np.random.Generator, size: int) -> tuple[Array, Array]:
    """theta, one number per draw, and x, one row of n observations per draw."""
    theta = model.prior_mean + model.prior_sd * rng.standard_normal(size)
    return theta, theta[:, None] + model.noise_sd * rng.standard_normal((size, model.n))
