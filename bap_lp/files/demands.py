"""Whether a certificate is about the lambda, the weights and the conditions that a file asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bap_lp.model.problem import Problem
from bap_lp.notions.conditions import Conditions
from bap_lp.program.prior_set import PriorSet
from bap_lp.proof.certificate import Certificate
from bap_lp.rational import EXACT, InputError, text


def other_lambda(asked: Any, proved: Any) -> str:
    """How the lambda of a certificate differs from the one asked for, or ""."""
    same = float(asked) == proved if isinstance(proved, float) else EXACT.number(asked) == EXACT.number(proved)
    return "" if same else f"it is about lambda = {text(proved)}, not {text(asked)}"


def other_several(
    problems: Sequence[Problem],
    lams: Sequence[Any],
    weights: Sequence[Any],
    conditions: Sequence[Conditions | None],
    certificate: Certificate,
) -> str:
    """How the demands of a certificate of scenarios or tiers differ from these, or ""."""
    if len(lams) != len(certificate.lams) or len(weights) != len(certificate.tier_weights):
        return f"the certificate is about another number of {certificate.kind}"
    wrong = []
    supposed = certificate.conditions_of or [Conditions()] * len(problems)
    for problem, lam, asked, price, own in zip(problems, lams, conditions, certificate.lams, supposed, strict=True):
        wrong.append(other_demands(problem, lam, asked, replace(certificate, lams=(price,), conditions=own)))
    for asked, proved in zip(weights, certificate.tier_weights, strict=True):
        wrong.append(other_lambda(asked, proved).replace("lambda", "weight"))
    return "; ".join(filter(None, wrong))


def other_demands(problem: Problem, lam: Any, conditions: Conditions | None, certificate: Certificate) -> str:
    """How the demands of a certificate differ from these, or ""."""
    wrong = [other_lambda(lam, certificate.lam)]
    try:
        certificate.conditions.demands(problem.exactly)
    except InputError as error:
        return f"its conditions do not fit the problem: {error}"
    asked, supposed = _stated(problem, conditions), _stated(problem, certificate.conditions)
    for name in sorted(asked.keys() | supposed.keys()):
        if asked.get(name) != supposed.get(name):
            theirs = "does not keep" if name not in supposed else "supposes another"
            wrong.append(f"it {theirs} {name}" if name in asked else f"it supposes {name}, which is not demanded")
    return "; ".join(filter(None, wrong))


def other_priors(asked: PriorSet | None, certificate: Certificate) -> str:
    """How the set of priors of a certificate differs from the one asked for, or ""."""
    if asked is None or certificate.priors is None:
        same = asked is None and certificate.priors is None
        return "" if same else f"it is about {'one prior' if asked is not None else 'a set of priors'}"
    return "" if asked == certificate.priors else "it is about another set of priors"


def not_demanded(problem: Problem, asked: Conditions | None, supposed: Conditions) -> str:
    """What some conditions suppose beyond those that are demanded, or ""; a list may suppose some of its entries."""
    try:
        supposed.demands(problem.exactly)
    except InputError as error:
        return f"its conditions do not fit the problem: {error}"
    demanded, wrong = _stated(problem, asked), []
    for name, value in _stated(problem, supposed).items():
        known: Any = demanded.get(name)
        lists = isinstance(value, (list, tuple)) and isinstance(known, (list, tuple))
        if not (known == value or (lists and all(part in known for part in value))):
            wrong.append(f"it supposes {name}, which is not demanded")
    return "; ".join(wrong)


def _stated(problem: Problem, conditions: Conditions | None) -> dict[str, Any]:
    """The conditions that are set, whatever way they are written."""
    given = {} if conditions is None else conditions.given()
    if "neighbours" in given:
        places = {name: k for k, name in enumerate(problem.states)}
        pairs = (tuple(places.get(x, x) for x in pair) for pair in given["neighbours"])
        given["neighbours"] = sorted({(min(x, y), max(x, y)) for x, y in pairs if x != y})
    if "metric" in given:
        given["metric"] = {(x, y): d for x, row in enumerate(given["metric"]) for y, d in enumerate(row) if x != y}
    return given
