"""The path under conditions, where the library can compute it: one place that decides and says so."""

from __future__ import annotations

from inspect import signature
from typing import Any

from bap_lp.conditions.conditions import Conditions
from bap_lp.model.problem import Problem
from bap_lp.path.pieces import Path, PathProgress, lambda_path
from bap_lp.rational import InputError


def path_under(
    problem: Problem,
    conditions: Conditions | None = None,
    exact: bool | None = None,
    progress: PathProgress | None = None,
) -> Path:
    """V(lam) over all mechanisms, or over those that meet the conditions; InputError if that cannot be computed."""
    if conditions is None or conditions.empty:
        return lambda_path(problem, exact, progress)
    if "conditions" not in signature(lambda_path).parameters:
        rule = "cannot be kept for every lambda at once; `bap solve` and `bap compare` keep them at one lambda"
        raise InputError("conditions", None, rule)
    keywords: dict[str, Any] = {"conditions": conditions}
    return lambda_path(problem, exact, progress, **keywords)
