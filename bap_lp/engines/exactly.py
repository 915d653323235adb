"""The exact optimum: the basis of a float solution, carried to the rationals.

Where one observer stands without rows, as in the free problem, the structure leaves a small system (`structured`);
elsewhere the whole basis is solved (`linear`). A basis that is not optimal is refined, then repaired by exact pivots.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bap_lp.engines.centring import least_off, narrow
from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.exact_simplex import FEW_ROWS, exact_optimum
from bap_lp.engines.linear.highs import SolverError, solve_lp
from bap_lp.engines.linear.iterative_refinement import refine
from bap_lp.engines.linear.linear_optimum import optimum
from bap_lp.engines.rounded import RoundedProgram
from bap_lp.engines.start import choose
from bap_lp.engines.structured import exact_vertex
from bap_lp.engines.ties import Tie
from bap_lp.program.bound import Dual, Program
from bap_lp.program.finish import Pair
from bap_lp.support.clock import SolveProgress
from bap_lp.support.display import counted
from bap_lp.support.rational import EXACT, Array, floats


def exact_pair(
    program: Program,
    ties: Sequence[Tie] = (),
    allowed: Array | None = None,
    guess: Array | None = None,
    progress: SolveProgress | None = None,
) -> Pair:
    """The optimal vertex that the ties choose, with its multipliers. guess: a basis of the columns that are allowed."""
    if program.free is not None and allowed is None and guess is None:
        return _structured_pair(program, ties, progress)
    small = RoundedProgram(program, ties, allowed)
    form = LinearForm.of(program)
    lp, costs = form.lp, [tie.cost(form) for tie in ties]
    if allowed is not None:
        lp, costs = lp.on_columns(small.keep), [cost[small.keep] for cost in costs]
    if guess is None:
        found = optimum(lp, ties=costs, start=small.start, lazy=small.lazy)
    else:
        found = exact_optimum(lp, guess, costs, refined=lp.shape[0] < FEW_ROWS)
    z = EXACT.zeros(len(small.keep))
    z[small.keep] = found.z
    rho, dual = z[form.rho], form.dual(found.y)
    return Pair(rho, dual, program.value(rho), program.bound(dual, allowed), found.how)


def _structured_pair(program: Program, ties: Sequence[Tie], progress: SolveProgress | None) -> Pair:
    """The free problem by its structure, from the bases that `_bases` tries; exact pivots from the last of them."""
    plain = least_off(program) if narrow(program) else program
    small, costs = RoundedProgram(plain, ties, None, progress), [_column_cost(plain, tie) for tie in ties]
    tried: list[tuple[Array, Any]] = []
    for basic, how in _bases(small, tried):
        found = exact_vertex(plain, basic, costs)
        tried.append((basic, found))
        if found is not None and found.chosen:
            rho, dual = found.rho, Dual({program.observers[0].name: found.u}, {})
            ends = (found.value,) * 2 if plain is program else (program.value(rho), program.bound(dual))
            return Pair(rho, dual, *ends, f"{how}, exact basis")
    form = LinearForm.of(plain)
    guesses = [basic for basic, _ in tried] or [np.arange(form.lp.shape[1], sum(form.lp.shape))]
    refined = len(tried) > 2 or form.lp.shape[0] < FEW_ROWS
    end = exact_optimum(form.lp, guesses[-1], [tie.cost(form) for tie in ties], None, guesses[0], refined=refined)
    rho, dual = end.z[form.rho], form.dual(end.y)
    return Pair(rho, dual, program.value(rho), program.bound(dual), f"HiGHS simplex, {end.how}")


def _bases(small: RoundedProgram, tried: list[Any]) -> Iterator[tuple[Array, str]]:
    """Bases that may be optimal and the one that the ties choose: what is tried next depends on what was found."""
    first, how = None, "HiGHS simplex"
    try:
        if choose(small.program).pivots == 0:
            *_, first, how = small.many_states()
        elif small.ties:
            first = small.perturbed()
        if first is not None:
            yield first, how
        vertex = small.vertex(first)
    except SolverError:
        return
    yield vertex.basic, how
    if tried[-1][1] is None:
        plain = vertex.before_ties[1]
        if len(plain) == len(vertex.basic) and (plain != vertex.basic).any():
            yield plain, how
        for cold in (False, True) if small.lp.shape[0] >= FEW_ROWS else ():  # it may lose its way from one of them
            if tried[-1][1] is None:
                better = refine(LinearForm.of(small.program).lp, solve_lp(small.scaled[0]).basic if cold else plain)
                if better is not None:
                    yield better.basic, f"{how}, {counted(better.number, 'refinement')}"


def _column_cost(program: Program, tie: Tie) -> Array:
    """The cost of a tie on all columns of a free problem, in floats that hold it."""
    (N, S), groups = program.shape, len(program.observers[0].starts)
    table = np.zeros((N, S)) if tie.table is None else floats(tie.table)
    return np.append(table, np.full(S * groups, sum(float(c) for _, c in tie.hidden)))
