"""solve with a Bob who reports probabilities: both ends of the optimum, from finite problems that become finer.

The finite problem of a subdivision (`program.forecasts`) has an optimum that no mechanism goes below; its channel is a
mechanism with a true R_A. A signal sent with mass w at the corner v of a simplex with centre m leaves an error of about
w D(v,m), where D is the divergence of the loss: sum v log(v/m), or (v - m)^2. Simplices with large errors are halved,
and the next problem is solved, until the two ends meet. Around a signal of the optimum the error falls with the square
of the diameter, and away from it large simplices are enough: so their number grows with the logarithm of 1/gap if the
reports form a line, and faster in more dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from time import monotonic
from typing import Any

import numpy as np

from bap_lp.clock import OutOfTime, SolveProgress, check, remaining
from bap_lp.engines.solve import Infeasible, optimise
from bap_lp.model.calibration import extremes
from bap_lp.model.display import counted
from bap_lp.model.evaluation import risks as risks_of
from bap_lp.model.problem import Problem
from bap_lp.notions.conditions import Conditions
from bap_lp.program.bound import Dual
from bap_lp.program.forecasts import ReportTangents, ToldProblem
from bap_lp.proof.certificate import Certificate, ConflictError, reported
from bap_lp.proof.statement import Statement, rounds
from bap_lp.questions.optimum.asked import AskedProblem, numbers_of
from bap_lp.questions.optimum.conflicts import refusal, within_range
from bap_lp.questions.optimum.reported import ReportedProblem
from bap_lp.questions.optimum.solution import Solution, mechanism_on
from bap_lp.rational import EXACT, Array, InputError, floats
from bap_lp.rational import stated as as_stated

_FINE = 10**9  # what the release can change, over a gap that is small enough
_LARGE = 0.02  # of the largest error of a simplex: which simplices are halved
_CELLS = 3000  # simplices, multiplied over Bobs, beyond which the gap is stated as it is
_ROUNDS = 80


@dataclass(frozen=True, eq=False)
class _Proof:
    """A finite problem with multipliers, and the bound that they prove for all mechanisms."""

    told: ToldProblem
    splits: tuple[str, ...]
    statement: Statement
    dual: Dual
    bound: Any
    reports: tuple[Array, ...] = ()  # of Eves, if they report probabilities too
    own: Any = EXACT.zero  # the gap of the cone program then, which finer simplices do not close

    def value(self, channel: Array) -> Any:
        """R_A of a channel on the signals of the finite problem, when Bob reports what he believes."""
        rho = self.told.problem.p[:, None] * channel
        return self.statement.value(channel) + self.told.excess(rho)


def solve_forecast(
    problem: Problem, lam: Any, exact: bool | None, conditions: Conditions, progress: SolveProgress | None = None
) -> Solution:
    """The least R_A where a Bob reports probabilities, up to the gap that is stated."""
    for name, kind in conditions.kinds().items():
        if not kind.with_reports:
            value = conditions.given()[name]
            rule = "is not possible with a Bob who reports probabilities"
            raise InputError(name, None if isinstance(value, tuple) else value, rule)
    problem, price, exact = numbers_of(problem, lam, exact, conditions)
    whole = problem.exactly
    tangents = [ReportTangents(one) for one in whole.forecasters.values()]
    (bob_full, eve_full), (bob_null, eve_null) = extremes(whole)
    enough = (bob_null - bob_full + price * (eve_null - eve_full)) / _FINE
    splits = tuple(_first(len(each.start)) for each in tangents)
    proof: _Proof | None = None
    sent, value, how = None, EXACT.zero, ""
    took = 0.0
    for step in range(_ROUNDS):
        began = monotonic()
        try:
            check()
            if remaining() < took:  # a finer problem takes longer than the last one
                raise OutOfTime
            found, channel = _solved(ToldProblem.of(whole, splits, tangents), splits, price, conditions, enough / 8)
        except ConflictError as error:
            error.proof = error.proof and replace(error.proof, exact=exact, splits=splits)
            raise
        except OutOfTime:
            if proof is None:
                raise
            how = ", stopped at the time limit"
            break
        if proof is None or found.bound > proof.bound:
            proof = found
        for other in (channel, _pooled(found, channel)):
            own = found.value(other)
            if sent is None or own < value:
                sent, value = other[:, (other != 0).any(axis=0)], own
        if progress is not None:
            progress(step, float(proof.bound), float(value))
        if value - proof.bound <= max(enough, 2 * found.own):
            break
        finer = _finer(found, channel)
        if finer == splits or prod(each.count(".") for each in finer) > _CELLS:
            how = f", stopped at {sum(each.count('.') for each in splits)} parts"
            break
        splits, took = finer, monotonic() - began
    assert proof is not None
    assert sent is not None
    best = _solution(problem, price, exact, conditions, proof, sent, how)
    if conditions.empty:
        return best
    try:
        return replace(best, without=solve_forecast(problem, lam, exact, Conditions()).value)
    except OutOfTime:
        return best


def _first(corners: int) -> str:
    """The first subdivision: an edge in sixteen parts, a triangle in four."""
    splits = "."
    for _ in range({1: 0, 2: 4}.get(corners, 2)):
        splits = splits.replace(".", "s..")
    return splits


def _solved(
    told: ToldProblem, splits: tuple[str, ...], lam: Any, conditions: Conditions, near: Any
) -> tuple[_Proof, Array]:
    """The optimum of a finite problem, up to a small gap, with its proof on all states."""
    if told.finite.reporting:
        ends = ReportedProblem(told.finite, conditions, lam).proved()
        own = ends.value - ends.bound
        return _Proof(told, splits, ends.statement, ends.dual, ends.bound - told.added, ends.reports, own), ends.channel
    asked = AskedProblem.of(told.finite, conditions, True)
    if not conditions.empty:
        within_range(asked)
    layout = asked.layout
    try:
        pair = optimise(layout.program(lam), exact=False, near=float(near), simple=asked.simple())
    except Infeasible:
        raise refusal(asked) from None
    program = layout.whole_program(lam)
    statement = Statement(program, layout, conditions, lam)
    dual = asked.whole_dual(program, pair.dual)
    return _Proof(told, splits, statement, dual, program.bound(dual) - told.added), layout.rows(pair.rho)


def _places(told: ToldProblem) -> list[Array]:
    """The corner of every Bob who reports, and the decision of any other one, that every signal names."""
    sizes = [bob.loss.shape[1] for bob in told.finite.bobs]
    return list(np.unravel_index(np.arange(int(np.prod(sizes))), sizes))


def _pooled(proof: _Proof, channel: Array) -> Array:
    """The channel with signals pooled whose reports are corners of one simplex: the optimum may lie between them."""
    places, near = _places(proof.told), []
    for k, place in enumerate(places):
        bob, own = proof.told.bobs.get(k), {(i, i) for i in place.tolist()}
        if bob is not None:
            own |= {(i, j) for cell in bob.numbered.tolist() for i in cell for j in cell}
        near.append(own)
    out, used = channel.copy(), np.flatnonzero((channel != 0).any(axis=0)).tolist()
    for n, s in enumerate(used):
        for other in used[:n]:
            close = all((place[s], place[other]) in own for place, own in zip(places, near, strict=True))
            if close and (out[:, other] != 0).any():
                out[:, s], out[:, other] = out[:, s] + out[:, other], out[:, other] * 0
    return out


def _finer(proof: _Proof, channel: Array) -> tuple[str, ...]:
    """Subdivisions with the simplices halved twice where the reports that are sent leave the largest errors."""
    told = proof.told
    mass, places, errors = floats(told.problem.p.dot(channel)), _places(told), []
    for k, bob in told.bobs.items():
        own = np.bincount(places[k], mass, len(bob.reports))[bob.numbered]
        v = floats(bob.reports)[bob.numbered]
        m = v.mean(axis=1, keepdims=True)
        if told.problem.forecasters[k].kind == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                far = np.where(v > 0, v * np.log(v / m), 0.0).sum(axis=2)
        else:
            far = ((v - m) ** 2).sum(axis=2)
        errors.append(float(told.problem.forecasters[k].weight) * (own * far).max(axis=1))
    limit = _LARGE * max(float(each.max()) for each in errors)
    out = []
    for splits, each in zip(proof.splits, errors, strict=True):
        parts = iter((each > limit).tolist())
        out.append("".join(step if step == "s" or not next(parts) else "ss..s.." for step in splits))
    return tuple(out)


def _placed(told: ToldProblem, sent: Array) -> Array:
    """Columns of a channel on the signals whose reports are nearest to what Bob then believes."""
    rho, places = floats(told.problem.p)[:, None] * floats(sent), _places(told)
    far = np.zeros((sent.shape[1], len(places[0])))
    for k, place in enumerate(places):
        if k in told.bobs:
            m = floats(told.problem.forecasters[k].law).T @ rho
            far += ((floats(told.bobs[k].reports)[place] - (m / m.sum(axis=0)).T[:, None]) ** 2).sum(axis=2)
        else:
            loss = floats(told.finite.bobs[k].loss).T @ rho
            far += (loss > loss.min(axis=0)).T[:, place]
    out = EXACT.zeros((len(sent), far.shape[1]))
    for column in range(sent.shape[1]):
        nearest = int(far[column].argmin())
        out[:, nearest], far[:, nearest] = sent[:, column], np.inf
    return out


def _solution(
    problem: Problem, lam: Any, exact: bool, conditions: Conditions, proof: _Proof, sent: Array, how: str
) -> Solution:
    channel = _placed(proof.told, sent)
    rounded = rounds(proof.statement.program) or proof.told.rounds
    value, least, gap = reported(proof.value(channel), proof.bound, exact, rounded)
    mechanism = mechanism_on(channel, proof.told.finite.bob_decisions, problem.states, "optimum", exact)
    at, prior = as_stated(lam, exact), proof.told.problem.p
    certificate = Certificate(
        (at,), value, gap, channel, proof.dual, exact, conditions, prior=prior, reports=proof.reports,
        splits=proof.splits,
    )  # fmt: skip
    simplices = sum(each.count(".") for each in proof.splits)
    method = f"tangents on {counted(simplices, 'part')} of the reports{how}"
    return Solution(problem, at, value, mechanism, risks_of(problem, mechanism), least, gap, method, certificate)
