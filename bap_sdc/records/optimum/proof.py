"""The check of an optimum of records: marginals, replies, v, and value = bound, with arithmetic alone.

In a part, B(x,i) - sum_g u[i,g].E_g(x) >= v(x) is asked for every record type and every decision. Floats with a
proved error bound decide where they can, rationals elsewhere. Nothing here imports a solver.

In floats the rows of rho are scaled to the probabilities and the replies to lam, and v is what the replies prove, less
their rounding errors. The gap may be TOLERANCE of the spread between full and null release, plus what rounding can
change. All this is computed with the least loss of every row subtracted, which changes no gap. So the allowed gap does
not grow with a huge loss of a decision that nobody takes, or with a constant in the losses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.proof.certificate import Verdict
from bap_lp.rational import TOLERANCE, UNIT, Array, field_of, floats, tree_sum
from bap_sdc.records.optimum.parts import EveRows, eve_rows
from bap_sdc.records.optimum.program import RecordProgram
from bap_sdc.records.optimum.result import RecordComponent, RecordOptimum, joint_table
from bap_sdc.records.optimum.risks import column_risks, eve_risk, extremes_of, summed, weighted_risk


def verify_records(found: RecordOptimum) -> Verdict:
    """Check marginals, replies, v and the values of an optimum; no solver takes part."""
    program, lam = found.program, found._lam
    judged, field = program if program.exact else _lowered(program), field_of(program.p)
    rows = eve_rows(judged)
    seen = np.concatenate([part.states for part in found.components])
    if len(seen) != found.types or len(np.unique(seen)) != found.types:
        return Verdict(False, "the components do not hold every record type once")
    # Eve hears all records of a group at once: with replies of its own in two parts it would be two Eves
    groups = [group for part in found.components for group in part.groups]
    if len(set(groups)) != len(groups):
        return Verdict(False, "a group of records that an Eve cannot tell apart is in two components")
    state, decision, rho = joint_table(found.components)
    if len(rho) and (rho < 0).any():
        return Verdict(False, "rho must not be negative")
    off = summed(rho, state, found.types) - program.p
    wrong = np.flatnonzero(~(np.abs(off) <= field.tolerance * program.p))
    if len(wrong):
        return Verdict(False, f"rho of record type {wrong[0]} does not sum to its probability {program.p[wrong[0]]}")
    if not program.exact:
        sums = summed(rho, state, found.types)
        rho = rho * (program.p / np.where(sums > 0, sums, 1.0))[state]
    bound = field.zero
    for number_, part in enumerate(found.components):
        wrong_part, lower = _unproved(found, judged, part, rows, lam)
        if wrong_part:
            return Verdict(False, f"component {number_}: {wrong_part}")
        bound = bound + tree_sum(program.p[part.states] * lower)

    def risks_with(losses: RecordProgram) -> tuple[Any, list[Any], Any, Any]:
        columns = column_risks(losses, state, decision, rho)
        risks = [eve_risk(eve, state, decision, rho) for eve in losses.eves]
        return columns, risks, sum(columns[1:], columns[0]), weighted_risk(losses, risks)

    columns, risks, bob, eve = risks_with(program)
    value, gap = bob - lam * eve, bob - lam * eve - bound
    slack: Any = 0
    if not program.exact:
        _, _, less_bob, less_eve = risks_with(judged)
        gap = less_bob - lam * less_eve - bound
        most = _allowance(judged, lam, less_bob + lam * less_eve)
        slack = most + _rounding(program, bob + lam * eve)
        bound = value - gap
        if not gap <= most:  # also if it is not a number
            return Verdict(False, f"rho has value {value}, the replies prove {bound}")
    if not (gap <= slack and abs(value - field.number(found.value)) <= slack):
        return Verdict(False, f"rho has value {value}, v proves {bound}, the optimum claims {found.value}")
    own = {"R_B": (found.bob, bob), "R_E": (found.eve, eve), "bound": (found.bound, bound)}
    own["gap"] = (found.gap, gap)
    claimed = [*own.items(), *(("a risk of Eve", pair) for pair in zip(found.eves, risks, strict=True))]
    claimed += [("the risk of a column", pair) for pair in zip(found.columns, columns, strict=True)]
    for name, (claim, true) in claimed:
        if not abs(field.number(claim) - true) <= slack:
            return Verdict(False, f"rho and v give {true} for {name}, the optimum claims {claim}")
    if program.exact:
        return Verdict(True, f"R_A = {value} is optimal: rho attains it and u proves that no release goes below")
    return Verdict(True, f"R_A = {value:.12g} is within {max(gap, 0.0):.2g} of optimal")


def _allowance(program: RecordProgram, lam: float, size: float) -> float:
    """The largest gap of a float optimum; size is R_B + lam R_E."""
    (full_bob, full), (null_bob, null) = extremes_of(program)
    spread = null_bob - full_bob + lam * (weighted_risk(program, null) - weighted_risk(program, full))
    return float(TOLERANCE * spread + _rounding(program, size))


def _rounding(program: RecordProgram, size: float) -> float:
    """What rounding can change in sums over n record types: n units of their size."""
    return float(16 * (len(program.p) + 20) * UNIT * max(size, 1e-300))


def _lowered(program: RecordProgram) -> RecordProgram:
    """The least loss of every row subtracted."""
    losses = tuple(table - table.min(axis=1)[:, None] for table in program.losses)
    eves = tuple(replace(e, loss=e.loss - e.loss.min(axis=1)[:, None]) for e in program.eves)
    return RecordProgram(program.p, program.codes, losses, eves)


_BLOCK = 1 << 20


def _unproved(
    found: RecordOptimum, program: RecordProgram, part: RecordComponent, rows: Sequence[EveRows], lam: Any
) -> tuple[str, Array]:
    """Why v is not proved in a part, if it is not, and v; in floats what the replies prove in its place.

    Floats decide where they can, rationals elsewhere.
    """
    exact = found.exact
    u, lower = None, part.v if exact else np.zeros(len(part.states))
    if part.groups:
        u = found._all_replies(part)
        if u.shape != (found.decisions, sum(rows[n].guesses for n, _ in part.groups)):
            return f"the replies have shape {u.shape}", lower
        if not (u >= 0).all():
            return "a reply is negative", lower
        u = u if exact else u.copy()
    starts: dict[tuple[int, int], int] = {}
    width = 0
    for n, z in part.groups:
        starts[n, z] = width
        if u is not None:
            total = u[:, width : width + rows[n].guesses].sum(axis=1)
            if not (np.abs(total - lam) <= (0 if exact else TOLERANCE * lam)).all():
                return f"replies of Eve {n} who knows {z} do not sum to lambda", lower
            if not exact and lam > 0:
                u[:, width : width + rows[n].guesses] *= (lam / total)[:, None]
        width += rows[n].guesses
    small, b = floats(part.v), found.decisions
    reply = None if u is None else floats(u)
    tables = [floats(table) for table in program.losses]
    for cut in range(0, len(part.states), max(1, _BLOCK // b)):
        states = part.states[cut : cut + max(1, _BLOCK // b)]
        score = np.zeros((len(states), 1))
        for k, table in enumerate(tables):
            score = (score[:, :, None] + table[program.codes[states, k]][:, None, :]).reshape(len(states), -1)
        size = score.copy()
        for n, eve in enumerate(program.eves):
            loss = floats(eve.loss * eve.weight)[eve.secret[states]]
            chance = np.ones(len(states)) if eve.chance is None else floats(eve.chance)[states]
            loss = loss * chance[:, None]
            at = np.array([starts.get((n, int(z)), -1) for z in eve.known[states]])
            live = (rows[n].group[states] >= 0) & (at >= 0)
            if (live != (rows[n].group[states] >= 0)).any():
                return "a record touches a group of another component", lower
            # outside her open groups Eve's best guess is the same for all replies of the proof: her least loss
            least = floats(rows[n].least)[eve.secret[states]] * float(lam) * chance
            score -= np.where(live, 0.0, least)[:, None]
            size += np.where(live, 0.0, np.abs(least))[:, None]
            for z in np.unique(at[live]).tolist():
                assert reply is not None
                mine = np.flatnonzero(live & (at == z))
                paid = loss[mine] @ reply[:, z : z + rows[n].guesses].T
                score[mine] -= paid
                size[mine] += paid
        unit = 16 * (len(program.losses) + width + 8) * UNIT
        if not exact:
            lower[cut : cut + len(states)] = (score - unit * size).min(axis=1)
            continue
        gap = score - small[cut : cut + len(states), None]
        error = unit * (size + np.abs(small[cut : cut + len(states), None])) + 1e-290
        if (gap < -error).any():
            return f"v of record type {states[np.argwhere(gap < -error)[0][0]]} is too large", lower
        for x, i in np.argwhere(gap <= error).tolist():
            if _exact_score(found, part, rows, starts, int(states[x]), i, lam, u) < part.v[cut + x]:
                return f"v of record type {states[x]} is too large", lower
    return "", lower


def _exact_score(
    found: RecordOptimum, part: RecordComponent, rows: Sequence[EveRows], starts: dict[tuple[int, int], int],
    x: int, i: int, lam: Any, u: Array | None,
) -> Any:  # fmt: skip
    program = found.program
    levels = program.published(i)
    score = sum(table[program.codes[x, k], levels[k]] for k, table in enumerate(program.losses))
    for n, eve in enumerate(program.eves):
        s, z, chance = int(eve.secret[x]), int(eve.known[x]), 1 if eve.chance is None else eve.chance[x]
        if rows[n].group[x] < 0:
            score = score - lam * rows[n].least[s] * chance
        else:
            assert u is not None
            at = starts[n, z]
            score = score - u[i, at : at + rows[n].guesses].dot(eve.loss[s]) * eve.weight * chance
    return score
