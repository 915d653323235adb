"""The compact program by its columns: few decisions to start with, the others priced, every one of them proved.

States touch groups of Eve's replies: E_g(x,.) is not constant there. Relative to least losses (B' = B - min_i B,
E' = E - min_j E, which only shifts the value) the dual of the compact program asks for v and, for every decision i and
group g, u[i,g] in lam times the simplex with
    R(x,i) = B'(x,i) - sum_{g touched by x} u[i,g].E'_g(x) - v(x) >= 0       for all x and i.
The program on some columns (x,i) gives v, and u[i,g] wherever a chosen column of i touches g. Elsewhere u[i,g] is
free: it is placed so that the smallest R over the states of g is as large as this method can make it. Columns with R
< 0 enter, and the program is solved again. At the end R >= 0 everywhere: decisions without columns are proved unused,
with their own u[i,g]. Each state touches few groups, so nothing of the size states x all replies is ever built.

Columns with R = 0 enter as well before the last solution, so that the choice among several optima (module `ties`) is
made over all of them. In exact arithmetic R is settled by a float filter wherever that decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from flint import fmpq

from bap_lp.engines.linear.highs import SolverError, Start, solve_interior, solve_lp
from bap_lp.engines.linear.optimum import optimum, scaled
from bap_lp.engines.ties import weight_at
from bap_lp.rational import EXACT, TOLERANCE, UNIT, Array, field_of, floats, lifted, objects
from bap_sdc.records.pricing.master import PricedMaster, PricedProgram, first_columns, smallest
from bap_sdc.records.pricing.placed_replies import ReplyPricing

_ENTER = 3.0  # columns that enter in a round, per state
_CLEAR = 1e-9  # reduced costs above minus this, of the largest cost, count as non-negative in floats
_TIED = 1e-8  # below this they count as zero
_ROUNDS = 500
_LARGE = 2_000  # rows from which an interior point is faster than the simplex method from the last basis
_FEW = 0.05  # new columns per state below which the last basis is a good start


@dataclass(frozen=True, eq=False)
class PricedOptimum:
    """Non-zero entries (x, i, rho), v relative to the least losses, and u (b, groups, w), in lam times simplices."""

    state: Array
    decision: Array
    rho: Array
    v: Array
    u: Array


def solve_priced(program: PricedProgram) -> PricedOptimum:
    """The optimum of a component, exact if its numbers are, with replies for every decision and group.

    Floats are rationals too: where the data outrun the solver's tolerances, they are solved exactly and rounded.
    """
    if program.field.exact:
        return _solved(program)
    size = max(float(program.table.max()), float(program.lam) * float(program.loss.max()), 1e-300)
    try:
        found = _solved(program)
        if _value(program, found) - float(program.p @ found.v) <= 0.1 * TOLERANCE * size * float(program.p.sum()):
            return found
    except ArithmeticError:
        pass
    whole = replace(
        program,
        p=lifted(program.p),
        entries=lambda x, i: lifted(program.table[x, i]),
        loss=lifted(program.loss),
        lam=EXACT.number(program.lam),
    )
    exact, pricing = _solved(whole), ReplyPricing(program)
    pricing.u = floats(exact.u)
    v = (program.table - pricing.paid()).min(axis=1)
    return PricedOptimum(exact.state, exact.decision, floats(exact.rho), v, pricing.u)


def _solved(program: PricedProgram) -> PricedOptimum:
    master, pricing = PricedMaster(program), ReplyPricing(program)
    own = program.table.argmin(axis=1)
    master.add(first_columns(program, own))
    master.keys(own)
    size = max(float(program.table.max()), float(program.lam) * float(pricing.loss.max()), 1e-300)
    _in_floats(master, pricing, size)
    for _ in range(_ROUNDS):
        lp = master.program_on(program.field)
        found = optimum(lp, ties=_ties(master), start=Start(master.start(lp)))
        master.remember(found.basic, lp)
        v, u = found.y[: master.n], master.replies(found.y)
        R = pricing.place(master, floats(u), floats(v))
        if program.field.exact:
            replies = _lifted_replies(master, pricing, u)
            late = _exact_late(master, pricing, replies, v)
        else:
            replies, late = pricing.u, _late(master, R, _CLEAR * size)
        if not len(late):
            return _concluded(master, pricing, found.z, v, replies)
        master.add(late)
    raise ArithmeticError(f"a component of {master.n} states is not priced out after {_ROUNDS} rounds")


def _in_floats(master: PricedMaster, pricing: ReplyPricing, size: float) -> None:
    """Solve and price in floats until no reduced cost is negative; then let the tied columns enter."""
    many = True
    for _ in range(_ROUNDS):
        lp, _, rows = scaled(master.program_on(field_of(master.program.table)))
        try:
            fresh = many and lp.shape[0] > _LARGE
            vertex = solve_interior(lp) if fresh else solve_lp(lp, start=Start(master.start(lp)))
        except SolverError:
            return
        master.remember(vertex.basic, lp)
        y = vertex.y * rows
        R = pricing.place(master, master.replies(y), y[: master.n])
        late = _late(master, R, _CLEAR * size)
        many = len(late) > _FEW * master.n
        if not len(late):
            master.add(np.flatnonzero((_TIED * size >= R).ravel()))
            return
        master.add(late)


def _late(master: PricedMaster, R: Array, slack: float) -> Array:
    """Columns outside the master with a negative reduced cost: the most negative of every state and decision."""
    bad = -slack > R
    if not bad.any():
        return np.zeros(0, dtype=np.int64)
    bad.ravel()[master.columns] = False
    if np.count_nonzero(bad) > _ENTER * master.n:
        bad &= smallest(np.where(bad, R, np.inf), 2)
    return np.flatnonzero(bad)


def _ties(master: PricedMaster) -> list[Array]:
    x, i = master.entries
    field, places = master.program.field, master.program.places[x] + i
    private = field.zeros(len(x) + len(master.pairs))
    private[len(x) :] = -field.one
    return [private, np.append(weight_at(places, field), field.zeros(len(master.pairs)))]


def _lifted_replies(master: PricedMaster, pricing: ReplyPricing, u: Array) -> Array:
    """u of all pairs as rationals: those of the master as they are, the others rounded to the simplex."""
    lam, (b, G, w) = master.program.lam, pricing.u.shape
    bits = 1 << 30
    share = np.rint(pricing.u * (bits / max(float(lam), 1e-300))).astype(np.int64) if lam else np.zeros((b, G, w), int)
    # the largest entry takes what rounding left
    at = np.indices((b, G))
    share[(*at, pricing.u.argmax(axis=2))] += bits - share.sum(axis=2)
    values = {int(k): fmpq(int(k), bits) * lam for k in np.unique(share)}
    out = objects(values[k] for k in share.ravel().tolist()).reshape(b, G, w)
    i, g = np.divmod(master.pairs, master.G)
    out[i, g] = u
    return out


def _exact_late(master: PricedMaster, pricing: ReplyPricing, u: Array, v: Array) -> Array:
    """Columns outside the master whose reduced cost is not positive, exactly; floats decide where they can."""
    program = master.program
    pricing.u = floats(u)
    paid = pricing.paid()
    small = floats(v)[:, None]
    R = program.table - paid - small
    terms = master.w * program.group.shape[1] + 8
    error = 4 * terms * UNIT * (program.table + paid + np.abs(small)) + 1e-290
    near = error >= R
    near.ravel()[master.columns] = False
    x, i = np.nonzero(near)
    late = []
    for state, decision, cost in zip(x.tolist(), i.tolist(), program.entries(x, i).tolist(), strict=True):
        for s, g in enumerate(program.group[state].tolist()):
            if g >= 0:
                cost = cost - u[decision, g].dot(program.loss[state, s])
        if cost <= v[state]:
            late.append(state * master.b + decision)
    return np.array(late, dtype=np.int64)


def _concluded(master: PricedMaster, pricing: ReplyPricing, z: Array, v: Array, u: Array) -> PricedOptimum:
    program = master.program
    x, i = master.entries
    rho = z[: len(x)]
    if program.field.exact:
        live = np.flatnonzero([bool(r) for r in rho])
        return PricedOptimum(x[live], i[live], rho[live], v, u)
    margins = program.table - pricing.paid()
    rho = np.where(rho > 1e-13 * program.p[x], rho, 0.0)
    total = np.bincount(x, weights=rho, minlength=master.n)
    lost = np.flatnonzero(total < 1e-9 * program.p)  # a row the solver lost follows the rule of u
    rho = np.where(np.isin(x, lost), 0.0, rho)
    rho = rho * (program.p / np.where(total > 0, total, 1.0))[x]
    live = np.flatnonzero(rho)
    state, decision = np.append(x[live], lost), np.append(i[live], margins[lost].argmin(axis=1))
    rho = np.append(rho[live], program.p[lost])
    # v is what the replies prove, whatever the solver did
    return PricedOptimum(state, decision, rho, margins.min(axis=1), u)


def _value(program: PricedProgram, found: PricedOptimum) -> float:
    """R_A of a float joint table, relative to the least losses."""
    x, i, rho = found.state, found.decision, found.rho
    total = float((program.table[x, i] * rho).sum())
    pairs, losses = [], []
    for s in range(program.group.shape[1]):
        live = np.flatnonzero(program.group[x, s] >= 0)
        pairs.append(i[live] * len(program.widths) + program.group[x[live], s])
        losses.append(rho[live, None] * program.loss[x[live], s])
    pair, heard = np.concatenate(pairs), np.concatenate(losses)
    names, place = np.unique(pair, return_inverse=True)
    sums = np.zeros((len(names), heard.shape[1]))
    np.add.at(sums, place.ravel(), heard)
    inside = np.arange(heard.shape[1]) < program.widths[names % len(program.widths)][:, None]
    return total - float(program.lam) * float(np.where(inside, sums, np.inf).min(axis=1, initial=np.inf).sum())
