"""The paper's program: a signal for every tuple of recommended decisions, (i, j) with one Eve.

    min  sum (B(x,i) - lam E(x,j)) rho[i,j,x]
    s.t. sum_ij rho[i,j,x] = p(x);  sum_x (B(x,i) - B(x,i')) rho[i,j,x] <= 0;  sum_x (E(x,j) - E(x,j')) rho[i,j,x] <= 0.

It is the reference formulation, and a lowering of its own: signals are tuples of decisions, and the obedience rows are
those of a margin of zero. Every one of them has right-hand side zero, so on badly scaled data the exact walk from a
wrong basis can be very long. Then the compact optimum rho is lifted: signal i with Eve's best reply to it is obeyed by
both, hence feasible, and its value is the bound that the certificate proves for all mechanisms, hence optimal here too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.engines.form import LinearForm
from bap_lp.engines.linear.optimum import LongWalk, optimum
from bap_lp.model.problem import Problem
from bap_lp.model.sums.arrays import Arrays
from bap_lp.model.sums.signal_sums import signal_losses
from bap_lp.notions.obedience import Margin
from bap_lp.program.bound import Program
from bap_lp.program.lowering import lowered, signals_of
from bap_lp.rational import EXACT, Array

_STEPS = 20  # exact repairs before the compact optimum is lifted


def paper_program(problem: Problem, lam: Any, arrays: Arrays | None = None) -> Program:
    """The program in the channel's own variables, on the states of an exact problem or on merged ones."""
    demands: list[Any] = [Margin.obeyed(EXACT.zero, problem)]
    return lowered(problem.arrays if arrays is None else arrays, signals_of(problem, True), demands, lam)


def solve_paper(problem: Problem, arrays: Arrays, lam: Any, rho: Array) -> tuple[Array, str]:
    """The joint table on merged states, states x tuples, and how it was found; rho is the compact optimum."""
    exact = problem.exactly
    program = paper_program(exact, EXACT.number(lam), arrays.lifted())
    form = LinearForm.of(program if problem.exact else program.rounded)
    try:
        found = optimum(form.lp, limit=_STEPS)
        return arrays.p[:, None] * found.z[form.rho], f"paper's program, {found.how}"
    except LongWalk:
        joint = arrays.field.zeros((len(rho), rho.shape[1], program.shape[1] // rho.shape[1]))
        losses = signal_losses(rho, arrays.E)
        best = np.zeros(len(losses), dtype=int)
        for g in arrays.groups:
            best = best * (g.stop - g.start) + losses[:, g].argmin(axis=1)
        joint[:, np.arange(rho.shape[1]), best] = rho
        return joint.reshape(len(rho), -1), "paper's program, its optimum lifted from the compact program's"
