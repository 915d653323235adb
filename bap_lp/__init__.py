"""Decide what to release about data: exact optimal mechanisms for Bayesian Adversarial Privacy, each with its proof.

A name is imported from its module when it is first used, so that `import bap_lp` costs nothing by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bap_lp import plots, releases
    from bap_lp.engines.game.blocks import array_blocks, parquet_blocks
    from bap_lp.engines.game.chunks import solve_chunks
    from bap_lp.files.bundles import load_bundle, save_bundle
    from bap_lp.files.certificates import load_certificate, save_certificate
    from bap_lp.files.mechanisms import load_mechanism, save_mechanism
    from bap_lp.files.problems import load_problem, save_problem
    from bap_lp.model.agents import Agent, minimum_of
    from bap_lp.model.calibration import calibrate
    from bap_lp.model.composition import composed
    from bap_lp.model.evaluated import Evaluation
    from bap_lp.model.evaluation import evaluate
    from bap_lp.model.informed import informed
    from bap_lp.model.mechanism import Mechanism
    from bap_lp.model.problem import MergedProblem, Problem
    from bap_lp.model.risks import Risks
    from bap_lp.notions.conditions import Conditions
    from bap_lp.program.prior_set import PriorSet
    from bap_lp.proof.binding import verify_mechanism
    from bap_lp.proof.certificate import Certificate, Verdict
    from bap_lp.proof.checking import verify, verify_robust, verify_tiers
    from bap_lp.proof.conflict import ConflictError
    from bap_lp.questions.convex.cvxpy_bridge import to_cvxpy
    from bap_lp.questions.convex.quadratic import quadratic
    from bap_lp.questions.optimum.costs import condition_costs
    from bap_lp.questions.optimum.solution import Solution
    from bap_lp.questions.optimum.solving import solve
    from bap_lp.questions.path.bracketed import BracketedPath, bracketed_path
    from bap_lp.questions.path.epsilon import EpsilonPath, epsilon_path
    from bap_lp.questions.path.frontier import chooses, corner, excess, frontier, sdc
    from bap_lp.questions.path.pieces import lambda_path
    from bap_lp.questions.robust import rank_worst_case, robust
    from bap_lp.questions.sensitivity import sensitivity
    from bap_lp.questions.sweeps import sweep
    from bap_lp.questions.tiers import tiers
    from bap_lp.questions.uniqueness import uniqueness
    from bap_lp.rational import InputError
    from bap_lp.releases import compare
    from bap_lp.releases.families import Family, randomised_response_family

__all__ = [
    "Agent",
    "BracketedPath",
    "Certificate",
    "Conditions",
    "ConflictError",
    "EpsilonPath",
    "Evaluation",
    "Family",
    "InputError",
    "Mechanism",
    "MergedProblem",
    "PriorSet",
    "Problem",
    "Risks",
    "Solution",
    "Verdict",
    "array_blocks",
    "bracketed_path",
    "calibrate",
    "chooses",
    "compare",
    "composed",
    "condition_costs",
    "corner",
    "epsilon_path",
    "evaluate",
    "excess",
    "frontier",
    "informed",
    "lambda_path",
    "load_bundle",
    "load_certificate",
    "load_mechanism",
    "load_problem",
    "minimum_of",
    "parquet_blocks",
    "plots",
    "quadratic",
    "randomised_response_family",
    "rank_worst_case",
    "releases",
    "robust",
    "save_bundle",
    "save_certificate",
    "save_mechanism",
    "save_problem",
    "sdc",
    "sensitivity",
    "solve",
    "solve_chunks",
    "sweep",
    "tiers",
    "to_cvxpy",
    "uniqueness",
    "verify",
    "verify_mechanism",
    "verify_robust",
    "verify_tiers",
]

_MODULES = {
    "notions.conditions": "Conditions",
    "questions.convex.cvxpy_bridge": "to_cvxpy",
    "questions.convex.quadratic": "quadratic",
    "files.bundles": "load_bundle save_bundle",
    "files.certificates": "load_certificate save_certificate",
    "files.mechanisms": "load_mechanism save_mechanism",
    "files.problems": "load_problem save_problem",
    "engines.game.blocks": "array_blocks parquet_blocks",
    "engines.game.chunks": "solve_chunks",
    "model.agents": "Agent minimum_of",
    "model.calibration": "calibrate",
    "model.composition": "composed",
    "model.evaluated": "Evaluation",
    "model.evaluation": "evaluate",
    "model.informed": "informed",
    "model.mechanism": "Mechanism",
    "model.problem": "MergedProblem Problem",
    "model.risks": "Risks",
    "questions.path.bracketed": "BracketedPath bracketed_path",
    "questions.path.epsilon": "EpsilonPath epsilon_path",
    "questions.path.frontier": "chooses corner excess frontier sdc",
    "questions.path.pieces": "lambda_path",
    "questions.optimum.costs": "condition_costs",
    "questions.robust": "rank_worst_case robust",
    "questions.optimum.solution": "Solution",
    "questions.optimum.solving": "solve",
    "questions.tiers": "tiers",
    "program.prior_set": "PriorSet",
    "proof.binding": "verify_mechanism",
    "proof.certificate": "Certificate Verdict",
    "proof.checking": "verify verify_robust verify_tiers",
    "proof.conflict": "ConflictError",
    "questions.sensitivity": "sensitivity",
    "questions.uniqueness": "uniqueness",
    "rational": "InputError",
    "releases": "compare",
    "releases.families": "Family randomised_response_family",
    "questions.sweeps": "sweep",
}
_HOMES = {name: f"bap_lp.{module}" for module, names in _MODULES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    if name in ("plots", "releases"):
        return import_module(f"bap_lp.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("bap-lp")
    if name not in _HOMES:
        raise AttributeError(f"module 'bap_lp' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
