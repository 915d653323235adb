"""The Gaussian example, deterministic: theta ~ N(m, sigma_0^2), X_i | theta ~ N(theta, s^2), six releases, any Eves.

>>> from gaussian import GaussianModel, MaxEve, OneBit, calibrate, risks
>>> model, eve = GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0), MaxEve(2.0)
>>> found = risks(model, eve, OneBit(0.5))
>>> round(found.bob, 6), round(found.eve, 6), round(found.alice(calibrate(model, eve)), 6)
(0.13386, 0.241548, -0.23228)
"""

from gaussian.corners import corner, decision_effect, decision_rate, mean_lost_band, mean_plateau_edge
from gaussian.evaluate import calibrate, risks
from gaussian.eves import GaussianEves, MaxEve, MeanEve, MedianEve, RecordEve
from gaussian.laws.mean import eve_cells, eve_kinks
from gaussian.laws.residual import max_exceedance, max_residual_cdf, max_residual_sf, max_residual_support
from gaussian.model import BothEves, Eve, GaussianModel
from gaussian.releases import Full, NoisyFull, NoisyMean, NoisyMedian, Null, OneBit
from gaussian.releases import GaussianRelease as Release
from gaussian.risk_tables import Curve, Table, curve, table
from gaussian.risk_tables import TableRow as Row
from gaussian.simulator import EveSimulator, eve_simulator
from gaussian.tuning import TunedRelease as Optimum
from gaussian.tuning import optimise

__all__ = [
    "BothEves",
    "Curve",
    "Eve",
    "EveSimulator",
    "Full",
    "GaussianEves",
    "GaussianModel",
    "MaxEve",
    "MeanEve",
    "MedianEve",
    "NoisyFull",
    "NoisyMean",
    "NoisyMedian",
    "Null",
    "OneBit",
    "Optimum",
    "RecordEve",
    "Release",
    "Row",
    "Table",
    "calibrate",
    "corner",
    "curve",
    "decision_effect",
    "decision_rate",
    "eve_cells",
    "eve_kinks",
    "eve_simulator",
    "max_exceedance",
    "max_residual_cdf",
    "max_residual_sf",
    "max_residual_support",
    "mean_lost_band",
    "mean_plateau_edge",
    "optimise",
    "risks",
    "table",
]


def __dir__() -> list[str]:
    return list(__all__)
