"""Several Eves: with weights their risks are added, and one Eve's cells are refused where their law is not known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gaussian import (
    Full,
    GaussianEves,
    GaussianModel,
    MaxEve,
    MeanEve,
    MedianEve,
    NoisyMean,
    NoisyMedian,
    Null,
    OneBit,
    RecordEve,
    calibrate,
    eve_cells,
    eve_simulator,
    risks,
)

MODEL = GaussianModel(n=4, prior_sd=1.5, prior_mean=0.5, noise_sd=2.0, bob_loss=(1.0, 2.0))
TWO = GaussianEves((MeanEve(0.5, loss=(2.0, 1.0)), MaxEve(2.0)), weights=(1.0, 2.0))


@pytest.mark.slow
@pytest.mark.parametrize("release", [Full(), Null(), OneBit(0.3), NoisyMean(0.7), NoisyMedian(0.5)])
def test_the_risk_of_separate_eves_is_the_weighted_sum_of_theirs(release: Any) -> None:
    found, parts = risks(MODEL, TWO, release), [risks(MODEL, one, release) for one in TWO.members]
    assert found.eve == pytest.approx(parts[0].eve + 2 * parts[1].eve, rel=1e-14)
    assert found.bob == parts[0].bob == parts[1].bob


def test_separate_eves_lose_in_simulated_data_what_is_computed() -> None:
    eve = GaussianEves((RecordEve(-1.0, record=2), MaxEve(4.0)), weights=(3.0, 1.0))
    _, x = eve_simulator(MODEL, eve).simulator(np.random.default_rng(1), 200_000)
    sent, expected = x.mean(axis=1) > 0.5, risks(MODEL, eve, OneBit(0.5, 0.5)).eve
    total = 0.0
    for yes, weight in ((x[:, 1] > -1.0, 3.0), (x.max(axis=1) > 4.0, 1.0)):
        total += weight * sum(min((yes & at).mean(), (~yes & at).mean()) for at in (sent, ~sent))
    assert total == pytest.approx(expected, abs=5 * 4 / np.sqrt(len(x)))


def test_full_and_null_tie_at_the_calibrated_lambda_of_separate_eves() -> None:
    lam = calibrate(MODEL, TWO)
    assert risks(MODEL, TWO, Full()).alice(lam) == pytest.approx(risks(MODEL, TWO, Null()).alice(lam), rel=1e-12)


def test_two_questions_that_the_mean_leaves_open_are_refused() -> None:
    """The median above 1 implies the maximum above 0: the product of the two answers is not their joint law."""
    eve = GaussianEves((MedianEve(1.0), MaxEve(0.0)), either=True)
    for question in (lambda: eve_cells(5, eve, 0.3), lambda: risks(MODEL, eve, OneBit(0.5))):
        with pytest.raises(ValueError, match="must not ask two questions that the sample mean leaves open"):
            question()
