"""Decide what to release about data: exact optimal mechanisms for Bayesian Adversarial Privacy, each with its proof."""

from bap_lp.calibration import calibrated_lam
from bap_lp.certificate import Certificate, Verdict, verify
from bap_lp.evaluate import Evaluation, evaluate
from bap_lp.mechanism import Mechanism
from bap_lp.problem import Agent, MergedProblem, Problem
from bap_lp.rational import InputError
from bap_lp.risks import Risks
from bap_lp.solve import Solution, solve

__all__ = [
    "Agent",
    "Certificate",
    "Evaluation",
    "InputError",
    "Mechanism",
    "MergedProblem",
    "Problem",
    "Risks",
    "Solution",
    "Verdict",
    "calibrated_lam",
    "evaluate",
    "solve",
    "verify",
]
