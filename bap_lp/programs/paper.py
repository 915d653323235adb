"""The paper's program: a signal for every pair (i, j) of recommended decisions.

    min  sum (B(x,i) - lam E(x,j)) rho[i,j,x]
    s.t. sum_ij rho[i,j,x] = p(x);  sum_x (B(x,i) - B(x,i')) rho[i,j,x] <= 0;  sum_x (E(x,j) - E(x,j')) rho[i,j,x] <= 0.

It is the reference formulation. Several Eves act on the product of their decision spaces, their losses added.
Every obedience row has right-hand side zero, so on badly scaled data the exact walk from a wrong basis can be very
long. Then the compact optimum rho is lifted: signal i with Eve's best reply to it is obeyed by both, hence feasible,
and its value is the bound that the certificate proves for all mechanisms, hence optimal here too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp.linear.optimum import LongWalk, optimum
from bap_lp.linear.program import LinearProgram, ProgramBuilder
from bap_lp.model.arrays import Arrays
from bap_lp.model.signal_sums import signal_losses
from bap_lp.rational import Array

_STEPS = 20  # exact repairs before the compact optimum is lifted


def paper_program(arrays: Arrays, lam: Any) -> LinearProgram:
    """The program for one Eve. Column rho[x,i,j] at (x*b + i)*e + j; rows: marginals, Bob's, Eve's."""
    (N, b, e), B, E = arrays.shape, arrays.B, arrays.E
    make = ProgramBuilder(arrays.field)
    rho = make.columns((N, b, e), B[:, :, None] - lam * E[:, None, :])
    make.rows(N, [(np.arange(N)[:, None, None], rho, arrays.field.one)], arrays.p, equality=True)
    signal = np.arange(b * e).reshape(1, b, e)
    bob = [(signal * b + other, rho, (B - B[:, [other]])[:, :, None]) for other in range(b)]
    make.rows(b * e * b, bob)  # row (i, j, other): Bob, told i, must not prefer `other`
    eve = [(signal * e + other, rho, (E - E[:, [other]])[:, None, :]) for other in range(e)]
    make.rows(b * e * e, eve)
    return make.build()


def solve_paper(arrays: Arrays, lam: Any, rho: Array) -> tuple[Array, str]:
    """The joint table, states x (Bob's decision, Eves' decisions), and how it was found; rho is the compact optimum."""
    E = arrays.E[:, arrays.groups[0]]
    for g in arrays.groups[1:]:
        E = (E[:, :, None] + arrays.E[:, None, g]).reshape(len(E), -1)
    one_eve = Arrays(arrays.p, arrays.B, E, (slice(0, E.shape[1]),))
    try:
        found = optimum(paper_program(one_eve, lam), limit=_STEPS)
    except LongWalk:
        replies = signal_losses(rho, E).argmin(axis=1)
        joint = arrays.field.zeros((len(rho), rho.shape[1] * E.shape[1]))
        joint[:, np.arange(rho.shape[1]) * E.shape[1] + replies] = rho
        return joint, "paper's program, its optimum lifted from the compact program's"
    return found.z.reshape(len(arrays.p), -1), f"paper's program, {found.how}"
