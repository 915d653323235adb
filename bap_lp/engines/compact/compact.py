"""The compact program: one signal per decision of Bob.

Pool all signals on which Bob does the same. His decision stays optimal, since the posteriors at which it is form a
convex cone; Eve's risk is concave in the posterior, so pooling can only raise it. Hence
    min  sum B(x,i) rho[x,i] - lam sum_ig t[i,g]
    s.t. sum_i rho[x,i] = p(x);  t[i,g] <= sum_x E(x,j) rho[x,i] for j in group g
has the value of all mechanisms, with t[i,g] the risk of Eve g at signal i.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from bap_lp.clock import OutOfTime, SolveProgress
from bap_lp.engines.compact.choice import (
    BRIEF,
    FEW,
    brief_try,
    choose,
    coarse,
    interior_first,
    perturbed_first,
    primal_pivots,
)
from bap_lp.engines.compact.structured import CompactBasis, StructuredVertex, exact_vertex
from bap_lp.engines.compact.ties import float_ties, table_weights
from bap_lp.engines.compact.tiny import JointOptimum, is_tiny, tiny_optimum
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.exact import FEW_ROWS, optimise
from bap_lp.engines.linear.highs import SolverError, few_pivots, solve_interior, solve_lp
from bap_lp.engines.linear.looks import looked
from bap_lp.engines.linear.optimum import optimum, scaled
from bap_lp.engines.linear.program import LinearProgram
from bap_lp.engines.many_states import solve_game
from bap_lp.model.display import counted
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.program.bound import Dual, compact
from bap_lp.program.finish import STOPPED, priced
from bap_lp.rational import EXACT, FLOAT, Array, floats, tree_sum

# perturbations that lead to the vertex that the ties choose: of the largest cost, by the weights, and of lam, since R_E
# comes before the weights. Losses of few values are coarser than that, and the solver sees differences of 1e-9. The
# first basis was the one that is chosen in 142 of 144 such problems, and in 118 with 1e-6 and none of lam
_NOISE, _MORE_PRIVATE = 1e-5, 1e-3
_MANY = 300_000  # products up to which a gap is computed in rationals
_COMPARED = 10**8  # losses: less than a second
_MANY_DECISIONS = 256  # of Bob, from which those that are worse than others in every state are left out


def _whole(arrays: Arrays, lam: Any, weight: Array, perturbed: bool) -> tuple[LinearProgram | None, Array | None]:
    """The float program if it is solved as a whole, and its basis where it is perturbed first.

    Where the structured method would be long, a few pivots are tried before it: if they are enough, it is not needed.
    """
    direct = choose(arrays)
    if not direct and not brief_try(arrays):
        return None, None
    lp, basic = compact_program(arrays.rounded, float(lam)), None
    if perturbed or not direct:
        basic = _simplex_basis(arrays, lp, lam, weight, True, brief=not direct)
    return (lp, basic) if direct or basic is not None else (None, None)


def compact_program(arrays: Arrays, lam: Any) -> LinearProgram:
    """Columns: rho[x,i] at x*b + i, then t[i,g] at N*b + i*G + g. Rows: x, then N + i*e + j.

    p may be scaled by any positive number: rho and t scale with it.
    """
    return LinearForm.of(compact(arrays, lam)).lp


def start_basis(arrays: Arrays, sent: Array) -> Array:
    """The basis at which state x sends sent[x]: these columns, every t, all slacks but those of Eve's best replies."""
    (N, b, e), G = arrays.shape, len(arrays.groups)
    slack, heard = np.ones((b, e), dtype=bool), signal_losses(arrays.rule_table(sent), arrays.E)
    slack[np.arange(b)[:, None], arrays.reply_columns(heard)] = False
    t, slacks = N * b + np.arange(b * G), N * b + b * G + N + np.flatnonzero(slack.ravel())
    return np.concatenate([np.arange(N) * b + sent, t, slacks])


def _first_guess(arrays: Arrays, lam: float, weight: Array) -> Array:
    """A feasible basis of a float program: Bob's best decisions or the null release, whichever has less R_A."""
    return start_basis(arrays, _simple_rule(arrays, lam, weight)[0])


def _simple_rule(arrays: Arrays, lam: float, weight: Array) -> tuple[Array, Array]:
    """The decision that each state sends in full or null release, whichever has less R_A, and its joint table.

    Of several best decisions the one of least weight is sent, as in the optimum that is chosen: on 0-1 losses that
    saves three quarters of the pivots.
    """
    best = arrays.B.min(axis=1)[:, None] == arrays.B
    own, null = np.where(best, weight, np.inf).argmin(axis=1), int((arrays.p @ arrays.B).argmin())
    rules = [(sent, arrays.rule_table(sent)) for sent in (own, own * 0 + null)]
    return min(rules, key=lambda rule: arrays.value(rule[1], lam))


def _simple_pair(arrays: Arrays, lam: float, weight: Array) -> tuple[Array, Array]:
    """Full or null release, and the better of two replies of Eve: her best to either of them."""
    rho = _simple_rule(arrays, lam, weight)[1]
    blind = lam * arrays.null_replies(arrays.shape[1])
    seen = np.zeros_like(blind)
    seen[np.arange(len(seen))[:, None], arrays.reply_columns(signal_losses(rho, arrays.E))] = lam
    return rho, max(blind, seen, key=arrays.bound)


def solve_undivided(
    arrays: Arrays, lam: Any, progress: SolveProgress | None = None, places: Array | None = None
) -> JointOptimum:
    """The optimum of the program as a whole. places: the numbers of (x, 0) among the weights; x * b by default."""
    weight, better = table_weights(arrays, places), _better(arrays.rounded.B)
    kept = np.flatnonzero(better == np.arange(len(better)))
    whole, arrays = arrays, replace(arrays, B=arrays.B[:, kept]) if len(kept) < len(better) else arrays
    if arrays.exact:
        found = _exactly(arrays, lam, progress, weight[:, kept])
    else:
        found = _in_floats(arrays, float(lam), progress, weight[:, kept])
    if arrays is whole:
        return found
    rho = arrays.field.zeros(whole.B.shape)
    rho[:, kept] = found.rho
    return replace(found, rho=rho, u=found.u[np.searchsorted(kept, better)])


def _better(B: Array) -> Array:
    """For each of many decisions one that is better in every state, or itself; B in floats, as rounding keeps order.

    No optimum sends a signal for which another is better in every state: pooled with that one it costs Bob less and
    tells Eve no more. With the replies of the other its margins B(x,i) - u.E(x) are above those of the other, so the
    bound is the same. What is looked at next is the least on average, in units of the states, so it has no better one.
    """
    b, out = B.shape[1], np.arange(B.shape[1])
    if b < _MANY_DECISIONS:
        return out
    most = max(_COMPARED // B.size, 1)
    sizes = B / np.maximum(B.max(axis=1, keepdims=True), 1e-300)
    for j in np.argsort(sizes.sum(axis=0), kind="stable").tolist():
        if out[j] == j and most > 0:
            out[(B[:, [j]] < B).all(axis=0) & (out == np.arange(b))] = j
            most -= 1
    return out


def _in_floats(arrays: Arrays, lam: float, progress: SolveProgress | None, weight: Array) -> JointOptimum:
    """The bound holds whatever the solver did; an interrupt leaves the best pair so far.

    Floats are rationals too: where the data outrun the solver's tolerances, they are solved exactly and rounded.
    """
    N, b, e = arrays.shape
    basic: Array | None

    def concluded(rho: Array, u: Array, how: str) -> JointOptimum:
        u = arrays.on_simplex(u, lam)
        rho = arrays.obedient(normalised(rho, arrays, u))
        return JointOptimum(rho, u, arrays.bound(u), how)

    try:
        lp, start = _whole(arrays, lam, weight, perturbed_first(arrays))
        if lp is not None:
            start = _first_guess(arrays, lam, weight) if start is None else start
            vertex = optimum(lp, ties=float_ties(arrays, weight), start=start)
    except OutOfTime:
        return concluded(*_simple_pair(arrays, lam, weight), f"compact program, {STOPPED}")
    if lp is not None:
        rho, u = vertex.z[: N * b].reshape(N, b), -vertex.y[N:].reshape(b, e)
        basic, how = vertex.basic, f"compact program, {vertex.how}"
    else:
        rho, u, basic, how = _structured_basis(arrays, lam, progress, weight, stoppable=True)
    found = concluded(rho, u, how)
    gap = arrays.value(found.rho, lam) - found.bound
    if basic is None or gap <= 0.1 * FLOAT.tolerance * arrays.spread(lam):
        return found
    if arrays.close(gap, lam) and _certified(arrays, lam, found):
        return found
    try:
        exact = _exactly(arrays.lifted(), EXACT.number(lam), None, weight)
    except OutOfTime:
        return replace(found, how=f"{how}, {STOPPED}")
    rho, u = floats(exact.rho), arrays.on_simplex(floats(exact.u), lam)
    rho = rho * (arrays.p / rho.sum(axis=1))[:, None]  # as it is: here tiny probabilities are not noise
    return JointOptimum(rho, u, arrays.bound(u), f"{how}, finished in exact arithmetic")


def _certified(arrays: Arrays, lam: float, found: JointOptimum) -> bool:
    """Whether the gap is small in rationals, where it cannot be told from rounding in floats."""
    if arrays.B.size * arrays.shape[2] > _MANY:
        return True
    exact, price = arrays.lifted(), EXACT.number(lam)
    rho = EXACT.array(found.rho)
    rho = rho * (exact.p / rho.sum(axis=1))[:, None]
    program = compact(exact, price)
    dual = priced(program, Dual({"eve": found.u}, {}))
    return bool(program.value(rho) - program.bound(dual) <= EXACT.number(FLOAT.tolerance) * exact.spread(price))


def _exactly(arrays: Arrays, lam: Any, progress: SolveProgress | None, weight: Array) -> JointOptimum:
    N, b, e = arrays.shape
    if is_tiny(arrays):
        return tiny_optimum(arrays, lam, weight)
    if arrays.narrow:
        lowered, constant = arrays.lowered(lam)
        if not lowered.narrow:
            best = _exactly(lowered, lam, progress, weight)
            return replace(best, bound=best.bound + constant)
    ties, whole = float_ties(arrays, weight), arrays.integers
    few = whole is not None and max(whole[1].max(), whole[2].max()) < FEW
    perturbed = few or coarse(arrays.rounded) or perturbed_first(arrays.rounded)
    small, basic = _whole(arrays, lam, weight, perturbed)
    if small is not None:
        basic = _simplex_basis(arrays, small, lam, weight, False) if basic is None else basic
        how = "compact program, HiGHS simplex"
    else:
        _, _, basic, how = _structured_basis(arrays.rounded, float(lam), progress, weight, stoppable=False)

    def vertex_of(basic: Array | None) -> StructuredVertex | None:
        return None if basic is None else exact_vertex(arrays, lam, CompactBasis.of(basic, arrays), ties)

    tied, found = basic, vertex_of(basic)
    if not (found is not None and found.chosen) and (small is not None or found is not None):
        small = compact_program(arrays.rounded, float(lam)) if small is None else small
        tied = _simplex_basis(arrays, small, lam, weight, False, ties, basic)
        found = vertex_of(tied)
    if found is not None and found.chosen:
        return JointOptimum(found.rho, found.u, found.value, f"{how}, exact basis")
    lp = compact_program(arrays, lam)
    slacks = np.arange(lp.shape[1], sum(lp.shape))
    first, second = (slacks if guess is None else guess for guess in (tied, basic))
    look_closer = found is None and lp.shape[0] >= FEW_ROWS
    look = looked(lp, second) if look_closer else None
    if look is not None and look.optimal:
        how, first, found = f"{how}, {counted(look.number, 'closer look')}", look.basic, vertex_of(look.basic)
        if found is not None and found.chosen:
            return JointOptimum(found.rho, found.u, found.value, f"{how}, exact basis")
    vertex = optimise(lp, first, [EXACT.array(cost) for cost in ties], None, second, refined=look_closer)
    rho, u = vertex.z[: N * b].reshape(N, b), -vertex.y[N:].reshape(b, e)
    return JointOptimum(rho, u, tree_sum(lp.cost * vertex.z), f"{how}, {vertex.how}")


def _simplex_basis(
    arrays: Arrays,
    program: LinearProgram,
    lam: Any,
    weight: Array,
    perturbed: bool,
    ties: Sequence[Array] = (),
    start: Array | None = None,
    brief: bool = False,
) -> Array | None:
    """The basis of the whole float program; `perturbed`: its costs, as the ties choose; `brief`: if it is near."""
    small = arrays.rounded
    lp, columns, _ = scaled(program)
    if perturbed:
        noise = np.append(_NOISE * 2.0**-32 * weight.ravel(), _MORE_PRIVATE * lp.cost[weight.size :])
        lp = replace(lp, cost=lp.cost + noise)
    start = _first_guess(small, float(lam), weight) if start is None else start
    try:
        if ties:
            return solve_lp(lp, [cost * columns for cost in ties], start).basic
        if brief:
            return few_pivots(lp, start, BRIEF)
        pivots = primal_pivots(small, lp.shape[0])
        if pivots and (found := few_pivots(lp, start, pivots)) is not None:
            return found
        if interior_first(small):
            with suppress(SolverError):
                return solve_interior(lp).basic
        return solve_lp(lp).basic
    except SolverError:
        return None


def _structured_basis(
    arrays: Arrays, lam: float, progress: SolveProgress | None, weight: Array, stoppable: bool
) -> tuple[Array, Array, Array | None, str]:
    """rho, u and the basis (variable numbers of the compact program; None if there is none), by the game.

    Where `stoppable`, an interrupt leaves the best pair so far, without a basis.
    """
    game = solve_game(
        arrays.p, arrays.B, arrays.E, arrays.groups, lam,
        progress=progress, stoppable=stoppable, noise=weight * 2.0**-32,
    )  # fmt: skip
    how = "compact program, structured interior point and simplex"
    if not game.vertex:
        return game.rho, game.u, None, f"{how}, {STOPPED}" if game.interrupted else how
    flags = [game.basic_columns.ravel(), game.basic_t.ravel(), np.zeros(len(arrays.p), dtype=bool)]
    return game.rho, game.u, np.flatnonzero(np.concatenate([*flags, game.basic_slack.ravel()])), how


def normalised(rho: Array, arrays: Arrays, u: Array | None = None) -> Array:
    """Float joint table with exact zeros and rows that sum to p; a row the solver lost follows the rule of u."""
    p = arrays.p
    rho[rho <= 1e-13 * p[:, None]] = 0.0
    total = rho.sum(axis=1)
    lost = np.flatnonzero(total < 1e-9 * p)
    if len(lost):
        margins = arrays.B[lost] if u is None else arrays.B[lost] - arrays.E[lost] @ u.T
        width = rho.shape[1] // arrays.B.shape[1]  # signals per Bob decision: 1 in the compact program
        rho[lost] = 0.0
        rho[lost, margins.argmin(axis=1) * width] = total[lost] = p[lost]
    rho *= (p / total)[:, None]
    return rho
