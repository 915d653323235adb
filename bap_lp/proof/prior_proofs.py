"""Both ends of the worst case over a set of priors, from a certificate, with arithmetic alone.

The listed priors lie in the set, so that the bound of their program holds for the whole set. The first of them is the
worst one of the channel: R_A under it is the value, and the search of `program.worst_prior`, which needs nothing but
sorting (and the multipliers of a polytope), proves that no prior of the set has a larger one. If the first prior does
not attain the value, the value is an upper end, and is proved as such.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from bap_lp.model.problem import Problem
from bap_lp.program.bound import NoProof
from bap_lp.program.credal import Credal, Polytope, Transport
from bap_lp.program.lowering import signals_of
from bap_lp.program.several import Audience
from bap_lp.program.worst_prior import Search, conditions_program, listed_program, most_nodes
from bap_lp.proof.certificate import reported
from bap_lp.proof.statement import Statement
from bap_lp.support.rational import EXACT, Array, InputError, is_exact, lifted, shown

if TYPE_CHECKING:
    from bap_lp.conditions.given import Conditions
    from bap_lp.proof.certificate import Certificate


def refuse_beliefs(problem: Problem, conditions: Conditions) -> None:
    """Refuse what has no meaning, or no program of this form, over a set of priors."""
    if problem.misaligned:
        raise InputError("priors", None, "cannot be a set where an agent has a prior or harm of his own")
    for name, kind in conditions.kinds().items():
        if kind.tuples or not kind.convex:
            raise InputError(f"conditions.{name}", None, "cannot be combined with a set of priors")


def ends_over_priors(problem: Problem, certificate: Certificate) -> tuple[Any, Any, bool]:
    """Value, bound, and whether the value is attained; raises NoProof, and InputError if the parts do not fit."""
    if certificate.priors is None or certificate.listed is None or certificate.channel is None:
        raise NoProof("the certificate has no set of priors, or lists none of it")
    whole = problem.exactly if certificate.exact else problem.as_float().exactly
    refuse_beliefs(whole, certificate.conditions)
    arrays, lam = whole.arrays, EXACT.number(certificate.lam)
    credal = certificate.priors.on(whole.p, certificate.exact)
    credal = _inside(credal, certificate.listed, certificate.witness)
    signals, demands = signals_of(whole, False), certificate.conditions.demands(whole)
    base = conditions_program(arrays, signals, demands)
    q = certificate.channel if is_exact(certificate.channel) else lifted(certificate.channel)
    audience = Audience(arrays, signals, np.arange(len(signals)), demands)
    if wrong := Statement(base, audiences=(audience,)).broken(q):
        raise NoProof(wrong)
    bound = listed_program(base, arrays, lam, certificate.listed).bound(certificate.dual)
    search = Search(arrays, lam, q, credal.support, certificate.listed[0], credal)
    attained = reported(search.best, search.best, certificate.exact)[0] == certificate.value
    claim = search.best if attained else EXACT.number(certificate.value)
    if claim < search.best:
        raise NoProof(f"a listed prior has R_A = {shown(search.best, not certificate.exact)}, above the value")
    top = search.run(claim, most_nodes(credal))
    if top > claim:
        most = shown(top, not certificate.exact)
        raise NoProof(f"the worst case over the set is only proved to be at most {most}, not the value")
    return claim, bound, attained


def _inside(credal: Credal, listed: Array, witness: Array | None) -> Credal:
    """The set, with the multipliers of the certificate if it is a polytope; refuses priors that are not in it."""
    K, N = len(listed), credal.states
    if listed.shape != (K, N) or not K or not is_exact(listed):
        raise NoProof(f"the listed priors have shape {listed.shape}, must have {N} columns")
    if isinstance(credal, Polytope):
        fits = witness is None or (witness.ndim == 2 and len(witness) > 0 and witness.shape[1] == len(credal.b))
    else:
        fits = witness is None if not isinstance(credal, Transport) else getattr(witness, "shape", ()) == (K * N, N)
    if not fits or (witness is not None and (witness < 0).any()):
        raise NoProof("the moves or multipliers of the certificate do not fit the set")
    for k, p in enumerate(listed):
        if (p < 0).any() or p.sum() != 1:
            raise NoProof(f"listed prior {k} is not a distribution")
        moved = witness[k * N : (k + 1) * N] if isinstance(credal, Transport) and witness is not None else None
        wrong = credal.outside(p, moved)
        if wrong:
            raise NoProof(f"listed prior {k} {wrong}")
    return replace(credal, proofs=witness) if isinstance(credal, Polytope) else credal
