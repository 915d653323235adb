"""Results as JSON documents: exact numbers are strings like "13/40", float ones JSON numbers, no bound is "inf"."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bap_lp.files.mechanisms import mechanism_document
from bap_lp.support.rational import text
from bap_lp.support.risks import Number, Risks

if TYPE_CHECKING:
    from bap_lp.model.evaluated import Evaluation
    from bap_lp.model.mechanism import Mechanism
    from bap_lp.model.problem import Problem
    from bap_lp.questions.optimum.conditioned import ConditionCost
    from bap_lp.questions.optimum.solution import Solution
    from bap_lp.releases import Comparison


def solution_document(
    solution: Solution, evaluation: Evaluation, costs: Sequence[ConditionCost] = ()
) -> dict[str, Any]:
    """What `bap solve --json` prints; under conditions also what they cost and the shadow prices of their numbers."""
    risks = _risks(solution.risks, solution.lam)
    if solution.priors is None:  # in floats R_A is the value, rounded up, and not the difference of two rounded risks
        risks["alice"] = text(solution.value)
    return (
        _conditions(solution, costs)
        | _priors(solution)
        | {
            "exact": solution.exact,
            "lambda": text(solution.lam),
            "risks": risks,
            "value": text(solution.value),
            "bound": text(solution.bound),
            "gap": text(solution.gap),
            **_information(evaluation),
            "mechanism": mechanism_document(solution.mechanism),
            "signals": _signals(evaluation),
            "method": solution.method,
            "zero_probability_states": list(solution.problem.null_states),
        }
    )


def _priors(solution: Solution) -> dict[str, Any]:
    """Over a set of priors: the set, the largest R_A, the prior that has it, which the risks are about."""
    if solution.priors is None or solution.worst_prior is None:
        return {}
    worst = dict(zip(solution.problem.states, map(text, solution.worst_prior.tolist()), strict=True))
    return {"priors": solution.priors.document(), "worst_prior": worst, "attained": solution.attained}


def _conditions(solution: Solution, each: Sequence[ConditionCost]) -> dict[str, Any]:
    proof = solution.certificate
    if solution.conditions is None:
        return {}
    costs = {"price_of_conditions": solution.price_of_conditions, "price_of_determinism": solution.price_of_determinism}
    document: dict[str, Any] = {"conditions": proof.conditions.written()}
    document |= {name: text(cost) for name, cost in costs.items() if cost is not None}
    prices = {"min_eve_risk": text(proof.floor_price), "max_bob_risk": text(proof.cap_price)}
    prices |= {label: text(price) for one in each for label, price in one.shadow_prices.items()}
    return document | {"prices": prices, "costs": {one.name: text(one.cost) for one in each}}


def evaluation_document(problem: Problem, mechanism: Mechanism, evaluation: Evaluation, lam: Number) -> dict[str, Any]:
    """What `bap evaluate --json` prints; `agents` has every agent's own unweighted risk."""
    return {
        "exact": problem.exact and mechanism.exact,
        "lambda": text(lam),
        "risks": _risks(evaluation, lam),
        "agents": {name: text(risk) for name, risk in evaluation.agents.items()},
        **_information(evaluation),
        "epsilon": _finite(mechanism.epsilon),
        "bob_invariant": evaluation.bob_invariant,
        "signals": _signals(evaluation),
        "zero_probability_states": list(problem.null_states),
    }


def _information(evaluation: Evaluation) -> dict[str, Any]:
    """I(A;S) of agents with the log loss, in nats, with an error that H(A|S) in `agents` has at most as well."""
    errors = evaluation.information_error
    told = {name: {"nats": v, "error": errors[name]} for name, v in evaluation.information.items()}
    return {"information": told} if told else {}


def comparison_document(comparison: Comparison) -> dict[str, Any]:
    """What `bap compare --json` prints: releases by increasing R_A."""
    asked = comparison.conditions
    return ({} if asked is None else {"conditions": asked.written()}) | {
        "exact": comparison.optimum.exact,
        "lambda": text(comparison.lam),
        "optimum": text(comparison.optimum.value),
        "releases": [
            {
                "name": row.name,
                "parameter": row.parameter,
                "risks": _risks(row.risks, comparison.lam),
                "excess": text(row.excess),
                "epsilon": _finite(row.epsilon),
                "bob_invariant": row.bob_invariant,
                **({} if asked is None else {"meets_conditions": row.meets_conditions, "breaks": row.breaks}),
            }
            for row in comparison.releases
        ],
        "omitted": [{"name": name, "reason": reason} for name, reason in comparison.omitted],
    }


def _risks(risks: Risks, lam: Number) -> dict[str, Any]:
    return {"bob": text(risks.bob), "eve": text(risks.eve), "alice": text(risks.alice(lam))}


def _signals(evaluation: Evaluation) -> list[dict[str, Any]]:
    out = []
    for s in evaluation.signals:
        entry = {
            "signal": s.signal,
            "probability": text(s.probability),
            "posterior": {state: text(v) for state, v in s.posterior.items()},
            "bob": s.bob,
            "eve": s.eve,
        }
        if s.theta_posterior is not None:
            entry["theta"] = {label: text(v) for label, v in s.theta_posterior.items()}
        out.append(entry)
    return out


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"
