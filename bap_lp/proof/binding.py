"""What a certificate is about: whether a channel is the one that was proved, and the demands are those that were made.

A mechanism belongs to a certificate if its states are those of the problem, its signals have the names of the signals
of the proof, and its probabilities are those of the proof. Signals that are never sent may be left out. Without
conditions a signal may also name the decisions of Bob and all Eves (the paper's program): the signals with the same
decision of Bob are then pooled and compared, and R_A of the finer mechanism is computed too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.conditions.given import Conditions
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.program.lowering import signals_of
from bap_lp.program.prior_set import PriorSet
from bap_lp.program.several import profiles_of, tier_names, tiers_of
from bap_lp.proof.certificate import Certificate, Verdict, ends_of
from bap_lp.support.rational import EXACT, Array, InputError, is_exact, lifted, shown, text


def other_mechanism(problems: Sequence[Problem], mechanism: Mechanism, certificate: Certificate) -> tuple[str, Any]:
    """Why a mechanism is not the one that a certificate is about, or ""; and Bob's decisions at signals that are finer.

    Of tiers it is the last one, whose signals name what all tiers see.
    """
    if not problems or tuple(mechanism.states) != tuple(problems[0].states):
        return "the states of the mechanism are not those of the problem", None
    if certificate.channel is None:
        return "the certificate is about no mechanism", None
    names, finer = _names(problems, mechanism, certificate)
    where: dict[str, int] = {}
    for k, name in enumerate(names):
        where.setdefault(name, k)
    unknown = next((name for name in mechanism.signals if name not in where), None)
    if unknown is not None:
        return f"the proof has no signal {unknown[:60]!r}", None
    wrong = _other(problems[0], mechanism, certificate, [where[name] for name in mechanism.signals], finer)
    return (f"the mechanism is not the one that is proved: {wrong}" if wrong else ""), finer


def _names(problems: Sequence[Problem], mechanism: Mechanism, certificate: Certificate) -> tuple[Sequence[str], Any]:
    """The names of the signals of the proof, and Bob's decisions if the mechanism's signals are finer."""
    one = problems[0]
    if certificate.kind == "scenarios":
        return profiles_of([problem.exactly for problem in problems])[1], None
    if certificate.kind == "tiers":
        tiers_of(problems, 0, None)  # refuses too many tuples of decisions
        return tier_names(problems), None
    demands = certificate.conditions.demands(one.exactly)
    names = signals_of(one, any(demand.tuples for demand in demands)).names
    plain = not one.reporting and certificate.kind != "priors"
    if demands or not plain or set(mechanism.signals) <= set(names):
        return names, None
    pairs = signals_of(one, True)
    if not set(mechanism.signals) <= set(pairs.names):
        return names, None
    return pairs.names, {name: int(i) for name, i in zip(pairs.names, pairs.bob, strict=True)}


def _other(problem: Problem, mechanism: Mechanism, certificate: Certificate, places: Sequence[int], finer: Any) -> str:
    """Where the probabilities are others, or ""."""
    proved = certificate.channel
    assert proved is not None
    if len(proved) != len(mechanism.q):
        return f"the proof has {len(proved)} states"
    places = places if finer is None else [finer[name] for name in mechanism.signals]
    if max(places, default=0) >= proved.shape[1]:
        return f"the proof has {proved.shape[1]} signals"
    if is_exact(proved) or is_exact(mechanism.q):
        proved, own = EXACT.array(proved), EXACT.array(mechanism.q)
    else:
        own = mechanism.q
    q = proved * 0
    for s, place in enumerate(places):
        q[:, place] = q[:, place] + own[:, s]
    for x in (q != proved).any(axis=1).nonzero()[0].tolist():
        s = int((q[x] != proved[x]).argmax())
        there, said = (shown(EXACT.number(v), not certificate.exact) for v in (q[x, s], proved[x, s]))
        name = problem.bob_decisions[s] if proved.shape[1] == len(problem.bob_decisions) else f"signal {s}"
        return f"in state {problem.states[x]} it sends {name} with probability {there}, the proof says {said}"
    return ""


def finer_verdict(
    problem: Problem, mechanism: Mechanism, certificate: Certificate, finer: Any, verdict: Verdict
) -> Verdict:
    """A finer mechanism may tell Eve more than its pooled one: its own R_A counts."""
    problem = problem if certificate.exact else problem.as_float()
    assert certificate.channel is not None
    *_, bound = ends_of(problem, certificate.lam, certificate.channel, certificate.dual)  # not rounded
    arrays = problem.exactly.arrays
    q: Array = mechanism.q if is_exact(mechanism.q) else lifted(mechanism.q)
    joint = arrays.p[:, None] * q
    bob = arrays.told_risk(joint, np.array([finer[name] for name in mechanism.signals]))
    value = bob - EXACT.number(certificate.lam) * arrays.eve_risk(joint)
    if value - bound > EXACT.number(certificate.gap):
        return Verdict(False, "the mechanism has another R_A than the one that is proved", verdict.value)
    return verdict


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
