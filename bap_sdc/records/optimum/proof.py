"""The check of an optimum of records: the joint table, the bound of every part, and what is claimed of them.

A part is a program (`bap_lp.program`) with mass p, Bob's cost as a sum over columns, and one observer: the Eves with
the least loss of every row subtracted, a group of columns per (Eve, z). That takes lam sum_x p(x) min_j E_n(x,j) off
every R_A, and Eve's risk is then zero outside of the groups. The bound of the whole is the sum over the parts.
Every number is a fraction: a program of floats is one of the fractions they are, and its gap is stated. Nothing here
imports a solver.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bap_lp.program.bound import Dual, NoProof, Observer
from bap_lp.proof.certificate import NEAR, Verdict, nearest, reported
from bap_lp.support.rational import Array, field_of, shown, stated, tree_sum
from bap_sdc.records.optimum.parts import EveRows, eve_rows
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.result import RecordComponent, RecordOptimum, joint_table
from bap_sdc.records.optimum.risks import extremes_of, risks_of, summed, weighted_risk
from bap_sdc.records.optimum.summed import SummedCost, SummedProgram


def bound_of(program: RecordProgram, parts: Sequence[RecordComponent], lam: Any, rows: Sequence[EveRows] = ()) -> Any:
    """No release has a smaller R_A on the record types of these parts; raises NoProof."""
    rows = rows or eve_rows(program)
    total = field_of(program.p).zero
    for number, part in enumerate(parts):
        try:
            total = total + _part_bound(program, part, lam, rows)
        except NoProof as error:
            raise NoProof(f"component {number}: {error}") from None
    return total


def _part_bound(program: RecordProgram, part: RecordComponent, lam: Any, rows: Sequence[EveRows]) -> Any:
    mass = program.p[part.states]
    base = field_of(mass).zeros(len(mass))
    for own, eve in zip(rows, program.eves, strict=True):
        base = base + eve.heard(own.least[eve.secret[part.states]], part.states)
    cost = SummedCost(program.losses, program.codes[part.states])
    observers: tuple[Observer, ...] = ()
    replies: dict[str, Array] = {}
    losses, starts = part_losses(program, part, rows)
    if part.groups:
        observers = (Observer("eve", np.arange(program.decisions), losses, starts, lam),)
        replies = {"eve": part.replies_of(program)}
    return SummedProgram(mass, cost, observers).bound(Dual(replies, {})) - lam * tree_sum(mass * base)


def part_losses(program: RecordProgram, part: RecordComponent, rows: Sequence[EveRows]) -> tuple[Array, Array]:
    """The lowered losses of the Eves in a part, states x columns, and where each of its groups starts."""
    starts: dict[tuple[int, int], int] = {}
    width = 0
    for n, z in part.groups:
        starts[n, z] = width
        width += rows[n].guesses
    out = field_of(program.p).zeros((len(part.states), width))
    for n, (own, eve) in enumerate(zip(rows, program.eves, strict=True)):
        live = np.flatnonzero(own.group[part.states] >= 0)
        at = np.array([starts.get((n, z), -1) for z in eve.known[part.states[live]].tolist()], dtype=np.int64)
        if (at < 0).any():
            raise NoProof("a record touches a group of another component")
        columns = at[:, None] + np.arange(own.guesses)
        relative = own.relative[eve.secret[part.states[live]]]
        out[live[:, None], columns] = eve.heard(relative.T, part.states[live]).T
    return out, np.array(list(starts.values()), dtype=np.int64)


def whole_bound(program: RecordProgram, parts: Sequence[RecordComponent], lam: Any) -> Any:
    """No release has a smaller R_A; raises NoProof, also if the parts are not those of a release of all records."""
    seen, count = np.concatenate([part.states for part in parts]), len(program.p)
    if len(seen) != count or len(np.unique(seen)) != count:
        raise NoProof("the components do not hold every record type once")
    # Eve hears all records of a group at once: with replies of its own in two parts it would be two Eves
    groups = [group for part in parts for group in part.groups]
    if len(set(groups)) != len(groups):
        raise NoProof("a group of records that an Eve cannot tell apart is in two components")
    state, _, rho = joint_table(parts)
    if len(rho) and (rho < 0).any():
        raise NoProof("rho must not be negative")
    wrong = np.flatnonzero(summed(rho, state, count) != program.p)
    if len(wrong):
        raise NoProof(f"rho of record type {wrong[0]} does not sum to its probability {program.p[wrong[0]]}")
    return bound_of(program, parts, lam)


def verify_records(found: RecordOptimum) -> Verdict:
    """Check the joint table, the bound and the claims of an optimum; no solver takes part."""
    program, lam, exact = found.program, found._lam, found.exact
    try:
        bound = whole_bound(program, found.components, lam)
    except NoProof as error:
        return Verdict(False, str(error))
    columns, risks, bob, eve = risks_of(program, *joint_table(found.components))
    value = bob - lam * eve
    told, low, gap = reported(value, bound, exact)
    claims = [("value", found.value, told), ("bound", found.bound, low), ("gap", found.gap, gap)]
    claims += [("R_B", found.bob, stated(bob, exact)), ("R_E", found.eve, stated(eve, exact))]
    claims += [("a risk of Eve", a, stated(b, exact)) for a, b in zip(found.eves, risks, strict=True)]
    claims += [("the risk of a column", a, stated(b, exact)) for a, b in zip(found.columns, columns, strict=True)]
    for name, claim, true in claims:
        if claim != true:
            return Verdict(False, f"rho and u give {true} for {name}, the optimum claims {claim}", told, low, gap)
    if gap == 0:
        words = f"R_A = {shown(value, not exact)} is optimal: rho attains it and u proves that no release goes below"
        return Verdict(True, words, told, low, gap, True)
    words = f"R_A = {shown(value, not exact)} is within {float(gap):.2g} of optimal"
    near = not exact and nearest(value - bound) <= NEAR * float(spread_of(program, lam))
    return Verdict(True, words, told, low, gap, near)


def spread_of(program: RecordProgram, lam: Any) -> Any:
    """What the data are worth to Bob, plus lam times what they are worth to the Eves."""
    (full_bob, full), (null_bob, null) = extremes_of(program)
    return null_bob - full_bob + lam * (weighted_risk(program, null) - weighted_risk(program, full))
