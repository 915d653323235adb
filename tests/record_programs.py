"""The program of a table of records as an ordinary problem, for comparison: one Eve per value of what each Eve
knows."""

from __future__ import annotations

from typing import Any

import numpy as np

from bap_lp import Agent, Problem
from bap_sdc.records.optimum.program import RecordProgram


def undivided(program: RecordProgram) -> Problem:
    """Every Eve with knowledge z ~ a function of the record is one Eve per z, whose loss vanishes elsewhere."""
    bobs = [Agent(loss[program.codes[:, k]], name=f"Bob {k}") for k, loss in enumerate(program.losses)]
    eves: list[Any] = []
    for n, eve in enumerate(program.eves):
        for z in np.unique(eve.known).tolist():
            loss = eve.loss[eve.secret]
            loss = np.where((eve.known == z)[:, None], loss, loss * 0)
            eves.append(Agent(loss, name=f"Eve {n} at {z}", weight=eve.weight))
    return Problem(program.p, bobs=bobs, eves=eves)
