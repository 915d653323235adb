"""Every bad number is refused with its field, its value and the rule."""

import math

import numpy as np
import pytest

from gaussian import (
    BothEves,
    GaussianModel,
    MaxEve,
    MeanEve,
    NoisyFull,
    NoisyMean,
    NoisyMedian,
    Null,
    OneBit,
    calibrate,
    curve,
    decision_effect,
    mean_plateau_edge,
    optimise,
)


@pytest.mark.parametrize("n", [0, -1, 2.0, 2.5, True, math.nan, "5", None, 10**16])
def test_n_must_be_a_positive_integer_that_floats_can_tell(n):
    with pytest.raises(ValueError, match=r"^n = .* must be"):
        GaussianModel(n, 1.0, 0.0)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf, True, "1", None, 1j, 1e-101, 1e101])
def test_prior_sd_must_be_positive(value):
    with pytest.raises(ValueError, match=r"^prior_sd = .* must be"):
        GaussianModel(5, value, 0.0)


@pytest.mark.parametrize("value", [math.nan, -math.inf, False, "0", None])
@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda v: GaussianModel(5, 1.0, v), "bob_threshold"),
        (MeanEve, "threshold"),
        (MaxEve, "threshold"),
        (lambda v: BothEves(v, 1.0), "mean_threshold"),
        (lambda v: BothEves(1.0, v), "max_threshold"),
    ],
)
def test_thresholds_must_be_finite(make, field, value):
    with pytest.raises(ValueError, match=rf"^{field} = .* must be"):
        make(value)


@pytest.mark.parametrize("release", [NoisyFull, NoisyMean, NoisyMedian])
@pytest.mark.parametrize("value", [-1, -1e-300, math.nan, math.inf, True, "1"])
def test_sigma_must_not_be_negative(release, value):
    with pytest.raises(ValueError, match=r"^sigma = .* must be"):
        release(value)


def test_the_message_names_field_value_and_rule():
    with pytest.raises(ValueError, match=r"^sigma = -1 must be >= 0$"):
        NoisyMean(-1)


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, True])
def test_tau_must_lie_in_the_unit_interval(value):
    with pytest.raises(ValueError, match=r"^tau = .* must"):
        OneBit(value)


def test_numpy_numbers_are_accepted():
    assert GaussianModel(np.int64(3), np.float32(0.5), np.float64(1)) == GaussianModel(3, 0.5, 1.0)


@pytest.mark.parametrize(("n", "eve"), [(5, BothEves(2.0, 2.0)), (5, BothEves(1.0, -1.0)), (1, BothEves(0.0, 1.0))])
def test_nested_events_cannot_be_calibrated(n, eve):
    with pytest.raises(ValueError, match="no lam calibrates"):
        calibrate(GaussianModel(n, 1.0, 0.0), eve)


def test_arguments_of_functions_are_checked():
    model, eve = GaussianModel(5, 1.0, 0.0), MeanEve(0.5)
    with pytest.raises(ValueError, match="family"):
        optimise(model, eve, Null)
    with pytest.raises(ValueError, match="lam = -1"):
        optimise(model, eve, OneBit, lam=-1)
    with pytest.raises(ValueError, match="tau = 2"):
        curve(model, eve, OneBit, [0.5, 2.0])
    with pytest.raises(ValueError, match=r"^p = 0\.5"):
        mean_plateau_edge(model, 0.5)
    with pytest.raises(ValueError, match="single test"):
        decision_effect(model, BothEves(0.5, 2.0))
