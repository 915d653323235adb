"""Decide what to release about data: exact optimal mechanisms for Bayesian Adversarial Privacy, each with its proof."""

from bap_lp import releases
from bap_lp.blocks import array_blocks, parquet_blocks
from bap_lp.bridge import to_cvxpy
from bap_lp.calibration import calibrate
from bap_lp.certificate import Certificate, Verdict, verify
from bap_lp.chunks import solve_chunks
from bap_lp.conditions import Conditions
from bap_lp.evaluate import Evaluation, evaluate
from bap_lp.families import Family, randomised_response_family
from bap_lp.files import (
    load_certificate,
    load_mechanism,
    load_problem,
    save_certificate,
    save_mechanism,
    save_problem,
)
from bap_lp.frontier import corner, frontier, sdc
from bap_lp.mechanism import Mechanism
from bap_lp.path import chooses, excess, lambda_path
from bap_lp.problem import Agent, MergedProblem, Problem
from bap_lp.quadratic import quadratic
from bap_lp.rational import InputError
from bap_lp.releases import compare
from bap_lp.risks import Risks
from bap_lp.robust import rank_worst_case, robust
from bap_lp.sensitivity import sensitivity
from bap_lp.several import minimum_of
from bap_lp.solve import Solution, solve
from bap_lp.sweeps import sweep
from bap_lp.uniqueness import uniqueness
from bap_lp.worst_case import verify_robust

__all__ = [
    "Agent",
    "Certificate",
    "Conditions",
    "Evaluation",
    "Family",
    "InputError",
    "Mechanism",
    "MergedProblem",
    "Problem",
    "Risks",
    "Solution",
    "Verdict",
    "array_blocks",
    "calibrate",
    "chooses",
    "compare",
    "corner",
    "evaluate",
    "excess",
    "frontier",
    "lambda_path",
    "load_certificate",
    "load_mechanism",
    "load_problem",
    "minimum_of",
    "parquet_blocks",
    "quadratic",
    "randomised_response_family",
    "rank_worst_case",
    "releases",
    "robust",
    "save_certificate",
    "save_mechanism",
    "save_problem",
    "sdc",
    "sensitivity",
    "solve",
    "solve_chunks",
    "sweep",
    "to_cvxpy",
    "uniqueness",
    "verify",
    "verify_robust",
]
