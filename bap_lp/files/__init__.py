"""Files: TOML or JSON text comes in; problems, mechanisms and certificates go out, and back."""

from bap_lp.files.certificates import certificate_document, load_certificate, save_certificate
from bap_lp.files.mechanisms import load_mechanism, mechanism_document, save_mechanism
from bap_lp.files.problems import ProblemFile, load_problem, problem_document, problem_from_dict, save_problem

__all__ = [
    "ProblemFile",
    "certificate_document",
    "load_certificate",
    "load_mechanism",
    "load_problem",
    "mechanism_document",
    "problem_document",
    "problem_from_dict",
    "save_certificate",
    "save_mechanism",
    "save_problem",
]
