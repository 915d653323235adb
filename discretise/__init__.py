"""From continuous models to finite problems and back, with proved bounds on the optimum over all mechanisms.

>>> from discretise import bracket
>>> from gaussian import BothEves, GaussianModel
>>> found = bracket(GaussianModel(n=5, prior_sd=1.0, bob_threshold=0.0), BothEves(0.5, 2.0))
>>> round(found.lower, 7), round(found.upper, 7), found.describe()
(-0.2298339, -0.2298339, 'release 1 when xbar > 0 or max > 2, else 0')
"""

from importlib import import_module
from typing import Any

from discretise.brackets import bracket_of as bracket
from discretise.continuum.scalar_brackets import ModelBracket
from discretise.continuum.scalar_rules import PlayedRule, ScalarRule
from discretise.extensions import CellRule
from discretise.losses import absolute, asymmetric, squared, zero_one
from discretise.model_files import load_model
from discretise.models import GriddedProblem, model
from discretise.monte_carlo.sampled_brackets import SampleBracket
from discretise.samples import OutOfSample, SampledProblem, StoredDraws, sample
from discretise.squared_loss.squared_brackets import SquaredBracket, max_bracket
from discretise.squared_loss.squared_grids import SquaredGrid, squared_form, squared_grid
from gaussian.optimum.closed_forms import ClosedForm, closed_form
from gaussian.optimum.gaussian_brackets import Bracket
from gaussian.optimum.grids import GridProblem, grid, grid_rule, refine
from gaussian.optimum.regions import DataRegion as Region
from gaussian.optimum.rules import BracketRule as Rule
from gaussian.optimum.rules import Simulation

__all__ = [
    "Bracket",
    "CellRule",
    "ClosedForm",
    "GridProblem",
    "GriddedProblem",
    "ModelBracket",
    "OutOfSample",
    "PlayedRule",
    "Region",
    "Rule",
    "SampleBracket",
    "SampledProblem",
    "ScalarRule",
    "Simulation",
    "SquaredBracket",
    "SquaredGrid",
    "StoredDraws",
    "absolute",
    "asymmetric",
    "bracket",
    "closed_form",
    "grid",
    "grid_rule",
    "load_model",
    "max_bracket",
    "model",
    "refine",
    "sample",
    "squared",
    "squared_form",
    "squared_grid",
    "zero_one",
]


def __getattr__(name: str) -> Any:
    """Tables of counts were once made here; `bap_sdc`, which makes them now, is imported only for them."""
    if name not in ("TableProblem", "counts"):
        raise AttributeError(f"module 'discretise' has no attribute {name!r}")
    return getattr(import_module("bap_sdc"), name)


def __dir__() -> list[str]:
    return list(__all__)
