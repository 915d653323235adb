"""Bayes risks from masses, for an agent who is wrong on exactly one cell whatever she decides.

Let m[s, k] = P(signal s, cell k), times what the agent loses on the cell. Betting against cell k at signal s costs
m[s, k], so
    R = sum_s min_k m[s, k].
Bob's cells are theta <= c_B and theta > c_B: to decide for one is to bet against the other. Eve's cells are those of
`laws.mean.eve_cells`. A statistic with a density has the same risk with an integral in place of the sum
(`piecewise.min_integral`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gaussian.numerics.piecewise import Piecewise
from gaussian.real_arrays import Array

# Rounding of a sum of a few hundred products of probabilities.
ROUNDING = 1e-14


def bayes_risk(masses: Array) -> Array:
    """R from m[signal, cell], elementwise in any further axes."""
    return np.asarray(masses.min(1).sum(0))


def joint_risks(masses: Array, bob_loss: tuple[float, float], weights: Array) -> tuple[float, float]:
    """R_B and R_E from the joint masses P(signal, theta > c_B, cell), Bob's losses and Eve's losses by cell."""
    bob, eve = _stakes(masses, bob_loss, weights)
    return float(bayes_risk(bob)), float(bayes_risk(eve))


def joint_replies(
    masses: Array, bob_loss: tuple[float, float], weights: Array
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Bob's decision and the cell that Eve bets against, at each signal, from the same joint masses."""
    bob, eve = _stakes(masses, bob_loss, weights)
    return bob.argmax(1), eve.argmin(1)


def _stakes(masses: Array, bob_loss: tuple[float, float], weights: Array) -> tuple[Array, Array]:
    """What Bob loses by betting against each hypothesis, and Eve by betting against each cell."""
    miss, alarm = bob_loss
    return masses.sum(2) * np.array([alarm, miss]), masses.sum(1) * weights


def bit_risk(law: Piecewise, threshold: ArrayLike) -> tuple[Array, float]:
    """The risk when the bit 1{xbar > t} is released, elementwise in t, and its error."""
    # a mass is a difference of integrals and may be negative by rounding
    return bayes_risk(np.maximum(law.sides(threshold), 0.0)), law.error + ROUNDING
