"""Decide what to release about data: exact optimal mechanisms for Bayesian Adversarial Privacy, each with its proof.

A name is imported from its module when it is first used, so that `import bap_lp` costs nothing by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bap_lp import plots as plots
    from bap_lp import releases as releases
    from bap_lp.conditions.given import Conditions as Conditions
    from bap_lp.files.bundles import load_bundle as load_bundle
    from bap_lp.files.bundles import save_bundle as save_bundle
    from bap_lp.files.certificates import load_certificate as load_certificate
    from bap_lp.files.certificates import save_certificate as save_certificate
    from bap_lp.files.mechanisms import load_mechanism as load_mechanism
    from bap_lp.files.mechanisms import save_mechanism as save_mechanism
    from bap_lp.files.problems import load_problem as load_problem
    from bap_lp.files.problems import save_problem as save_problem
    from bap_lp.model.agents import Agent as Agent
    from bap_lp.model.agents import minimum_of as minimum_of
    from bap_lp.model.calibration import calibrate as calibrate
    from bap_lp.model.composition import composed as composed
    from bap_lp.model.evaluated import Evaluation as Evaluation
    from bap_lp.model.evaluation import evaluate as evaluate
    from bap_lp.model.informed import informed as informed
    from bap_lp.model.mechanism import Mechanism as Mechanism
    from bap_lp.model.problem import Problem as Problem
    from bap_lp.program.prior_set import PriorSet as PriorSet
    from bap_lp.proof.certificate import Certificate as Certificate
    from bap_lp.proof.certificate import ConflictError as ConflictError
    from bap_lp.proof.certificate import Verdict as Verdict
    from bap_lp.proof.checking import verify as verify
    from bap_lp.questions.convex.cvxpy_bridge import to_cvxpy as to_cvxpy
    from bap_lp.questions.convex.quadratic import quadratic as quadratic
    from bap_lp.questions.optimum.solution import Solution as Solution
    from bap_lp.questions.optimum.solving import solve as solve
    from bap_lp.questions.path.frontier import chooses as chooses
    from bap_lp.questions.path.frontier import corner as corner
    from bap_lp.questions.path.frontier import frontier as frontier
    from bap_lp.questions.path.frontier import sdc as sdc
    from bap_lp.questions.path.pieces import lambda_path as lambda_path
    from bap_lp.questions.robust import rank_worst_case as rank_worst_case
    from bap_lp.questions.robust import robust as robust
    from bap_lp.questions.sensitivity import sensitivity as sensitivity
    from bap_lp.questions.sweeps import sweep as sweep
    from bap_lp.questions.tiers import tiers as tiers
    from bap_lp.questions.uniqueness import uniqueness as uniqueness
    from bap_lp.releases import compare as compare
    from bap_lp.releases.families import Family as Family
    from bap_lp.releases.families import randomised_response_family as randomised_response_family
    from bap_lp.support.rational import InputError as InputError
    from bap_lp.support.risks import Risks as Risks

_MODULES = {
    "files.bundles": "load_bundle save_bundle",
    "files.certificates": "load_certificate save_certificate",
    "files.mechanisms": "load_mechanism save_mechanism",
    "files.problems": "load_problem save_problem",
    "model.agents": "Agent minimum_of",
    "model.calibration": "calibrate",
    "model.composition": "composed",
    "model.evaluated": "Evaluation",
    "model.evaluation": "evaluate",
    "model.informed": "informed",
    "model.mechanism": "Mechanism",
    "model.problem": "Problem",
    "support.risks": "Risks",
    "conditions.given": "Conditions",
    "program.prior_set": "PriorSet",
    "proof.certificate": "Certificate ConflictError Verdict",
    "proof.checking": "verify",
    "questions.convex.cvxpy_bridge": "to_cvxpy",
    "questions.convex.quadratic": "quadratic",
    "questions.optimum.solution": "Solution",
    "questions.optimum.solving": "solve",
    "questions.path.frontier": "chooses corner frontier sdc",
    "questions.path.pieces": "lambda_path",
    "questions.robust": "rank_worst_case robust",
    "questions.sensitivity": "sensitivity",
    "questions.sweeps": "sweep",
    "questions.tiers": "tiers",
    "questions.uniqueness": "uniqueness",
    "support.rational": "InputError",
    "releases": "compare",
    "releases.families": "Family randomised_response_family",
}
_HOMES = {name: f"bap_lp.{module}" for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted([*_HOMES, "plots", "releases"])


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
