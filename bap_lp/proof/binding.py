"""The mechanism that a certificate is about: whether a channel is the one that was proved optimal.

A certificate has the joint table rho of states and signals told to Bob, or the channel itself. A mechanism belongs to
it if its states are those of the problem, its signals have the names of the signals of the proof, and its
probabilities are those of the proof: equal, or in floats within 1e-9. Signals that are never sent may be left out.
Without conditions a signal may also name the decisions of Bob and all Eves (the paper's program); the signals with
the same decision of Bob are then pooled and compared, and R_A of the finer mechanism is compared too. A state of
probability zero must have the null row. What is checked afterwards is the proof with the mechanism's own
probabilities in the place of its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.arguments import checked
from bap_lp.conditions.signals import Signals, signals_of
from bap_lp.model.labels import joints
from bap_lp.model.mechanism import Mechanism
from bap_lp.model.problem import Problem
from bap_lp.proof.certificate import Certificate, Verdict, verify
from bap_lp.proof.conditional import allowance, rounding
from bap_lp.proof.nested import TierCertificate, tiers_of, verify_tiers
from bap_lp.proof.worst_case import RobustCertificate, verify_robust, working_scenarios
from bap_lp.rational import EXACT, FLOAT, TOLERANCE, Array, InputError, shown


@checked
def verify_mechanism(
    problem: Problem, mechanism: Mechanism, certificate: Certificate, allow_float: bool = True
) -> Verdict:
    """Whether the certificate proves that this mechanism is optimal.

    Args:
        problem: the problem.
        mechanism: the channel that is to be used.
        certificate: the proof.
        allow_float: whether a float certificate is good enough for exact numbers.

    Returns:
        The verdict, with the reason in words.

    >>> from bap_lp import Mechanism, Problem, solve, verify_mechanism
    >>> coin = Problem(["3/4", "1/4"], [["1/3", "2/3"], [1, 0]], [[0, 1], [10, 0]])
    >>> best = solve(coin)
    >>> verify_mechanism(coin, best.mechanism, best.certificate).ok
    True
    >>> other = verify_mechanism(coin, Mechanism([[1, 0], [0, 1]]), best.certificate)
    >>> print(*other.reason.split(": "), sep="\\n")
    the mechanism is not the one that is proved
    in state 1 it sends 0 with probability 0, the proof says 3/10
    """
    wrong, own, finer = _bound(problem, mechanism, certificate)
    if wrong:
        return Verdict(False, wrong)
    verdict = verify(problem, own, allow_float)
    if not verdict or finer is None:
        return verdict
    exact = certificate.exact
    arrays, unit = (problem if exact else problem.as_float()).arrays.lifted(), EXACT.number(0.0 if exact else TOLERANCE)
    q, lam = EXACT.array(mechanism.q), EXACT.number(certificate.lam)
    joint = arrays.p[:, None] * (q / q.sum(axis=1)[:, None])
    told, eve = arrays.told_risk(joint, finer), arrays.eve_risk(joint)
    near = allowance(arrays, lam, unit) + rounding(told + lam * eve, unit)
    if abs(told - lam * eve - EXACT.number(certificate.value)) > near:
        return Verdict(False, "the mechanism has another R_A than the one that is proved")
    return verdict


def _bound(problem: Problem, mechanism: Mechanism, certificate: Certificate) -> tuple[str, Certificate, Array | None]:
    """What is wrong, the certificate with the mechanism's own table, and Bob's decisions if its signals are finer."""
    proof, exact = certificate.proof, certificate.exact
    if tuple(mechanism.states) != tuple(problem.states):
        return "the states of the mechanism are not those of the problem", certificate, None
    if mechanism.exact != exact:
        kinds = ("exact", "floats") if mechanism.exact else ("floats", "exact")
        return f"the numbers of the mechanism are {kinds[0]}, those of the certificate {kinds[1]}", certificate, None
    if exact and not problem.exact:
        return "the certificate is exact and the problem is not", certificate, None
    finer = None
    try:
        signals = signals_of(problem, proof is not None and any(d.tuples for d in proof.conditions.demands(problem)))
        places = _places(mechanism.signals, signals.names)
        if isinstance(places, str) and proof is None:
            pairs: Signals = signals_of(problem, True)
            among = _places(mechanism.signals, pairs.names)
            if not isinstance(among, str):
                finer = pairs.bob[among]
                places = finer.tolist()
    except InputError as error:
        return f"its conditions do not fit the problem: {error}", certificate, None
    if isinstance(places, str):
        return places, certificate, None
    field, unit = EXACT if exact else FLOAT, EXACT.number(0.0 if exact else TOLERANCE)
    q = field.zeros((len(problem.p), len(signals)))
    for s, place in enumerate(places):
        q[:, place] = q[:, place] + mechanism.q[:, s]
    arrays, table = (problem if exact else problem.as_float()).arrays.lifted(), EXACT.array(q)
    if certificate.rho.shape != q.shape or (proof is not None and proof.channel.shape != q.shape):
        return f"the tables of the proof must have shape {q.shape}", certificate, None
    if proof is not None:
        wanted, size = EXACT.array(proof.channel), EXACT.full(len(q), 1)
    else:
        if any(v != 0 for row in certificate.rho[arrays.p == 0] for v in row):
            return "rho is not zero in a state of probability zero", certificate, None
        # where p(x) = 0 the mechanism must have the null row, sum_x p(x) q(.|x)
        wanted, size, null = EXACT.array(certificate.rho).copy(), arrays.p.copy(), arrays.p == 0
        wanted[null], size[null] = arrays.p.dot(table) / arrays.p.sum(), EXACT.one
        table = table * size[:, None]
    if proof is not None:
        rho = EXACT.array(certificate.rho)
        if (abs(rho - arrays.p[:, None] * table) > unit * arrays.p[:, None]).any():
            return "rho is not p(x) q(s|x)", certificate, None
    off = np.argwhere(abs(table - wanted) > unit * size[:, None])
    if len(off):
        x, s = off[0].tolist()
        there, said = (shown(v[x, s] / size[x], not exact) for v in (table, wanted))
        words = (
            f"in state {problem.states[x]} it sends {signals.names[s]} with probability {there}, the proof says {said}"
        )
        return f"the mechanism is not the one that is proved: {words}", certificate, None
    rho = (problem if exact else problem.as_float()).p[:, None] * q
    return "", replace(certificate, rho=rho, proof=proof and replace(proof, channel=q)), finer


def _places(own: Sequence[str], names: Sequence[str]) -> list[int] | str:
    """Where each signal of a mechanism is among those of the proof; if it is not, why not."""
    where: dict[str, int] = {}
    for k, name in enumerate(names):
        where.setdefault(name, k)
    unknown = next((name for name in own if name not in where), None)
    return [where[name] for name in own] if unknown is None else f"the proof has no signal {unknown[:60]!r}"


def verify_robust_mechanism(
    problems: Sequence[Problem], mechanism: Mechanism, certificate: RobustCertificate, allow_float: bool = True
) -> Verdict:
    """Whether the certificate proves that this mechanism has the smallest worst case."""
    exact = certificate.exact
    if tuple(mechanism.states) != tuple(problems[0].states):
        return Verdict(False, "the states of the mechanism are not those of the problem")
    if mechanism.exact != exact:
        return Verdict(False, "the mechanism and the certificate must both be exact or both be floats")
    _, profiles, names = working_scenarios(problems, certificate.lams, EXACT if exact and _all(problems) else FLOAT)
    places = _places(mechanism.signals, names)
    if isinstance(places, str):
        return Verdict(False, places)
    q: Array = (EXACT if exact else FLOAT).zeros((len(problems[0].p), len(profiles)))
    q[:, places] = mechanism.q
    unit: Any = 0 if exact else TOLERANCE
    if certificate.channel.shape != q.shape or (abs(q - certificate.channel) > unit).any():
        return Verdict(False, "the mechanism is not the one that is proved")
    return verify_robust(problems, replace(certificate, channel=q), allow_float)


def verify_tier_mechanism(
    problems: Sequence[Problem], mechanism: Mechanism, certificate: TierCertificate, allow_float: bool = True
) -> Verdict:
    """Whether the certificate proves that nested releases are optimal, and this mechanism is that of their last tier.

    A signal of the last tier names the decisions of all Bobs, so what an earlier tier sees is a part of it.
    """
    exact = certificate.exact
    if tuple(mechanism.states) != tuple(problems[0].states):
        return Verdict(False, "the states of the mechanism are not those of the problem")
    if mechanism.exact != exact:
        return Verdict(False, "the mechanism and the certificate must both be exact or both be floats")
    if exact and not _all(problems):
        return Verdict(False, "the certificate is exact and a problem is not")
    tiers_of(problems, 0, None)  # refuses too many tuples of decisions
    names = joints([one.bob_decisions for one in problems], " > ")
    places = _places(mechanism.signals, names)
    if isinstance(places, str):
        return Verdict(False, places)
    q: Array = (EXACT if exact else FLOAT).zeros((len(problems[0].p), len(names)))
    q[:, places] = mechanism.q
    prior = (problems[0] if exact else problems[0].as_float()).p
    arrays = EXACT.array(prior), EXACT.array(q), EXACT.array(certificate.rho)
    if certificate.rho.shape != q.shape or _other_table(*arrays, EXACT.number(0.0 if exact else TOLERANCE)):
        return Verdict(False, "the mechanism is not the one that is proved")
    return verify_tiers(problems, replace(certificate, rho=prior[:, None] * q), allow_float)


def _other_table(p: Array, q: Array, rho: Array, unit: Any) -> bool:
    """Whether rho is not p(x) q(s|x), or a state of probability zero has another row than the null row."""
    null = p.dot(q) / p.sum()
    away = (abs(row - null) > unit for row in q[p == 0])
    return bool((abs(rho - p[:, None] * q) > unit * p[:, None]).any()) or any(row.any() for row in away)


def _all(problems: Sequence[Problem]) -> bool:
    return all(problem.exact for problem in problems)
