"""The one driver: a program goes in, its optimum comes out as a feasible table with multipliers that prove a bound.

Ties. Where the optimum is not unique, further costs choose in turn: the first minimises over the optimal face, the next
over what is left, and so on; with a generic last cost one vertex remains, whatever way led to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bap_lp.engines.exactly import exact_pair
from bap_lp.engines.form import LinearForm
from bap_lp.engines.in_floats import FloatSolver, free_pair, inner_channel, slack_program
from bap_lp.engines.linear.linear_optimum import Infeasible, optimum
from bap_lp.engines.linear.linear_program import ProgramBuilder
from bap_lp.engines.ties import Tie
from bap_lp.program.bound import Dual, Program
from bap_lp.program.finish import Pair
from bap_lp.support.clock import SolveProgress
from bap_lp.support.rational import EXACT, Array, lifted

__all__ = ["Infeasible", "Tie", "inner_channel", "nearest_table", "optimise", "slack_program", "unfeasible"]


def optimise(
    program: Program,
    ties: Sequence[Tie] = (),
    *,
    exact: bool = True,
    near: float = 0.0,
    allowed: Array | None = None,
    simple: Sequence[Array] = (),
    hasty: bool = False,
    progress: SolveProgress | None = None,
) -> Pair:
    """The optimum as a pair; raises Infeasible if nothing is feasible.

    exact: whether the gap must be zero. near: a gap that is small enough otherwise. allowed: which signals each state
    may send. simple: channels that may be strictly feasible. hasty: in floats the bound counts, as in a search, and
    the table may break rows by rounding. progress: of a large free problem.
    """
    if exact:
        return exact_pair(program, ties, allowed, progress=progress)
    if not program.field.exact:
        return free_pair(program, ties, near, progress)
    return FloatSolver(program, ties, near, allowed, simple, hasty).solve()


def nearest_table(program: Program, q: Array) -> Array:
    """The table that meets the rows and is nearest to a float channel, exactly: min sum |rho - mass q|."""
    near = program.mass[:, None] * lifted(np.maximum(q, 0.0))

    def apart(make: ProgramBuilder, rho: Array) -> None:
        up, down = (make.columns(rho.size, EXACT.one) for _ in range(2))
        at = np.arange(rho.size)
        entries = [(at, rho.ravel(), EXACT.one), (at, up, -EXACT.one), (at, down, EXACT.one)]
        make.rows(rho.size, entries, near.ravel(), equality=True)

    form = LinearForm.of(program.silent, apart)
    table: Array = optimum(form.lp).z[form.rho]
    return table


def unfeasible(program: Program, allowed: Array | None = None) -> Dual | None:
    """Multipliers that prove that nothing is feasible; None if something is."""
    dual = exact_pair(slack_program(program), (), allowed).dual
    return dual if program.silent.bound(dual, allowed) > 0 else None
